"""The key of a compiled program in the cache: all that decides what its code is.

That is the module, the compiler's own source and the packages that take part, the processor, and versions.
"""

import hashlib
import json
import platform
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

import llvmlite
import numba
import numpy as np
from xdsl.dialects.builtin import ModuleOp

from qmlir import registry
from qmlir.environment import UNIVERSE_GROUP
from qmlir.ir.fingerprint import fingerprint
from qmlir.targets.cpu.host import host_features, host_name


@cache
def _code_digest() -> str:
    """A digest of the compiler itself and of the packages that take part: other code makes other programs."""
    root = Path(registry.__file__).parent
    found = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        found.update(path.read_bytes())
    for group in (registry.CONTRIBUTIONS_GROUP, UNIVERSE_GROUP):
        for point in entry_points(group=group):
            if point.dist is not None:
                found.update(f"{point.dist.name} {point.dist.version}".encode())
    return found.hexdigest()


def program_key(module: ModuleOp, isa: str, threads: int, tuned: str = "") -> str:
    """What the program of a static module is kept under; `tuned` is a digest of the schedules that a search found."""
    parts = {
        "module": fingerprint(module),
        "code": _code_digest(),
        "isa": isa,
        "threads": threads,
        "tuned": tuned,
        "processor": [host_name(), sorted(host_features())],
        "versions": [platform.python_version(), numba.__version__, llvmlite.__version__, np.__version__],
    }
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
