"""The errors of programs: invalid calls and damaged files. All programs of a process share these classes.

Each saved program has a copy of this file, so the first one that is loaded defines the classes for all.
"""

import sys
from types import ModuleType
from typing import TypeVar

_SHARED = "qmlir_errors"
"""The name of the module that contains the classes, as pickles record it."""

_Class = TypeVar("_Class", bound=type)


def _one(made: _Class) -> _Class:
    made.__module__ = _SHARED
    return vars(sys.modules.setdefault(_SHARED, ModuleType(_SHARED))).setdefault(made.__qualname__, made)


class _Line(ValueError):
    """An error with a one-line message; unprintable characters are escaped."""

    def __init__(self, message: str) -> None:
        super().__init__(message if message.isprintable() else message.encode("unicode_escape").decode())


@_one
class InputError(_Line):
    """Raised if an argument does not fit a program. It is a `ValueError` with a one-line message.

    Example:
        >>> program = qmlir.compile("docs/examples/fully_connected.mlir", codegen="llvm")
        >>> try:
        ...     program(np.ones((1, 3), np.float32))
        ... except qmlir.InputError as error:
        ...     print(error)
        input 'input0' must have shape 1x4, but got 1x3
    """


@_one
class CorruptProgramError(_Line):
    """Raised if a file of a program differs from the one written, or doesn't fit this machine."""


def damaged(path: object) -> CorruptProgramError:
    """Returns the error for a file whose digest is wrong."""
    return CorruptProgramError(
        f"{path} is damaged: it differs from the file written with the program; compile the model again"
    )
