"""The key of a compiled program in the cache: all that decides what its code is.

That is the module, the compiler's own source and the packages that take part, the processor, and versions.
"""

import hashlib
import json
import platform
from importlib.metadata import version

import llvmlite
import numpy as np
from xdsl.dialects.builtin import ModuleOp

from qmlir import registry
from qmlir.ir.fingerprint import fingerprint
from qmlir.targets.cpu.emitters.numba.runtime.processor import processor_name
from qmlir.targets.cpu.host import host_features


def program_key(module: ModuleOp, isa: str, threads: int, tuned: str = "", emitter: str = "numba") -> str:
    """What the program of a static module is kept under; `tuned` is a digest of the schedules that a search found."""
    parts = {
        "module": fingerprint(module),
        "code": registry.code_digest(registry.packages()),
        "isa": isa,
        "emitter": emitter,
        "threads": threads,
        "tuned": tuned,
        "processor": [processor_name(), sorted(host_features())],
        "versions": [platform.python_version(), version("numba"), llvmlite.__version__, np.__version__],
    }
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
