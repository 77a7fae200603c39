"""A process that compiles some kernels of a program into numba's cache: `python helper.py PROGRAM CLAIMS`.

PROGRAM is the folder of the program, CLAIMS one in which each kernel that a process compiles gets an empty file first,
so that no other does. The process that the program is compiled for takes part in the same way.
"""

import gc
import importlib
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

COLLECTED = 1_000_000
"""Objects more from which on Python collects cycles while a program is compiled: looking took a
seventh of the time."""


def claimed(claims: Path, kernel: str) -> bool:
    """Whether the kernel is the caller's from now on: no other process was first."""
    try:
        os.close(os.open(claims / kernel, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return False
    return True


def compile_some(program: Path, claims: Path) -> None:
    """Compile the kernels of `program` that no other process claims."""
    name = "helped_program"
    package = ModuleType(name)
    package.__path__ = [str(program)]
    sys.modules[name] = package
    runtime: Any = importlib.import_module(f"{name}.{Path(__file__).parent.name}.operations.kernels")

    class Help(runtime.Work):
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
