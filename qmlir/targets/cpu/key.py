"""The key of a compiled program in the cache: all that decides what its code is.

That is the module, the compiler's own source and the packages that take part, the processor, and versions.
"""

import hashlib
import json
import platform
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import llvmlite
import numpy as np
from xdsl.dialects.builtin import ModuleOp

from qmlir import registry
from qmlir.ir.fingerprint import fingerprint
from qmlir.targets.cpu.emitters.numba.runtime.processor import processor_name
from qmlir.targets.cpu.host import host_features

_SUFFIXES = (".py", ".mlir")


def _sources(module: str) -> list[Path]:
    """The files of a package that takes part: Python, and the patterns that it ships."""
    spec = find_spec(module)
    if spec is None:
        return []
    folders = [Path(each) for each in spec.submodule_search_locations or ()]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in _SUFFIXES]
    if folders or spec.origin is None:
        return sorted(files)
    return [Path(spec.origin)]


@cache
def code_digest(packages: tuple[registry.Package, ...]) -> str:
    """A digest of the compiler itself and of the packages that take part: other code makes other programs."""
    found = hashlib.sha256()
    for package in packages:
        found.update(f"{package.name} {package.version}".encode())
        if package.name != registry.UPSTREAM:  # a version of it is one code, what is developed here may be any
            for path in (path for module in sorted(package.modules) for path in _sources(module)):
                found.update(path.read_bytes())
    return found.hexdigest()


def program_key(module: ModuleOp, isa: str, threads: int, tuned: str = "") -> str:
    """What the program of a static module is kept under; `tuned` is a digest of the schedules that a search found."""
    parts = {
        "module": fingerprint(module),
        "code": code_digest(registry.packages()),
        "isa": isa,
        "threads": threads,
        "tuned": tuned,
        "processor": [processor_name(), sorted(host_features())],
        "versions": [platform.python_version(), version("numba"), llvmlite.__version__, np.__version__],
    }
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
