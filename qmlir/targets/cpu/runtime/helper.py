"""A process that compiles some kernels of a program into numba's cache: `python helper.py PROGRAM CLAIMS`.

PROGRAM is the folder of the program. CLAIMS is a folder in which a process creates an empty file for each kernel before
it compiles it, so that no other process compiles the same kernel. The process that requested the program claims kernels
in the same way.
"""

import gc
import importlib
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

COLLECTED = 1_000_000
"""The threshold of Python's cyclic garbage collector during compilation, in new objects.

With the default threshold, collection took a seventh of the compile time.
"""


def claimed(claims: Path, kernel: str) -> bool:
    """Claims `kernel` for this process; returns False if another process has claimed it first."""
    try:
        os.close(os.open(claims / kernel, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return False
    return True


def compile_some(program: Path, claims: Path) -> None:
    """Compiles the kernels of `program` that no other process claims."""
    name = "helped_program"
    package = ModuleType(name)
    package.__path__ = [str(program)]
    sys.modules[name] = package
    runtime: Any = importlib.import_module(f"{name}.{Path(__file__).parent.name}.operations.kernels")

    class Help(runtime.CompileShare):
        """Takes kernels that no other process has claimed."""

        is_helper = True

        def takes(self, kernel: str) -> bool:
            return claimed(claims, kernel)

    runtime.work = Help()
    importlib.import_module(f"{name}.kernels")


if __name__ == "__main__":
    sys.path[:] = [each for each in sys.path if each != str(Path(__file__).parent)]  # no place for imports
    gc.set_threshold(COLLECTED, *gc.get_threshold()[1:])
    compile_some(*map(Path, sys.argv[1:]))
