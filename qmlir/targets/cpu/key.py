"""The key of a compiled program in the cache: all that decides what its code is.

That is the module, the compiler's own source and the packages that take part, the processor, and versions.
"""

import ast
import hashlib
import json
import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import llvmlite
import numpy as np
from xdsl.dialects.builtin import ModuleOp

from qmlir import registry
from qmlir.ir.fingerprint import fingerprint
from qmlir.targets.cpu.host import host_features
from qmlir.targets.cpu.runtime.processor import processor_name


def program_key(module: ModuleOp, isa: str, threads: int, tuned: str = "", emitter: str = "numba") -> str:
    """What the program of a static module is kept under; `tuned` is a digest of the schedules that a search found."""
    parts = {
        "module": fingerprint(module),
        "code": registry.code_digest(registry.packages()),
        "isa": isa,
        "emitter": emitter,
        "threads": threads,
        "tuned": tuned,
        **_surroundings(),
    }
    return _digest(parts)


def saved_key(card: str, source: str) -> str:
    """What the machine code is kept under that numba makes here of a saved program, by the digest of its card.

    `source` is that of its kernels, which may call functions of packages that are installed here.
    """
    imports = (node for node in ast.parse(source).body if isinstance(node, ast.ImportFrom) and not node.level)
    return _digest({"saved": card, "code": registry.sources_digest(map(_package, imports)), **_surroundings()})


def _package(node: ast.ImportFrom) -> str:
    return (node.module or "").partition(".")[0]


def _surroundings() -> dict[str, Any]:
    return {
        "processor": [processor_name(), sorted(host_features())],
        "versions": [platform.python_version(), version("numba"), llvmlite.__version__, np.__version__],
    }


def _digest(parts: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
