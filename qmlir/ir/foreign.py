"""The border to xDSL and to packages: what their code raises by mistake becomes a diagnostic, ours stays a fault.

A package may raise anything: an error out of its code names the package. xDSL means `ParseError` and `VerifyException`;
a `KeyError` out of its parser, or an `IndexError` out of a verifier of its dialects, are faults of it that an input has
found. Who raised is read off the traceback: the innermost frame that is of xDSL or of this tree. So a mistake in this
tree is never taken for one of xDSL's, unless it hands xDSL what xDSL doesn't take, and stays visible as the fault that
it is.
"""

import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager

from xdsl.utils.exceptions import DiagnosticException, ParseError, UnregisteredConstructException

from qmlir.ir.diagnostics import DiagnosticError
from qmlir.registry import in_package
from qmlir.registry.faults import RAISED, one_line

_FOREIGN, _OURS = "xdsl", "qmlir"

_MEANT = (
    ParseError, UnregisteredConstructException, OverflowError, ValueError, RecursionError, MemoryError,
)  # fmt: skip
"""Exceptions about the input itself: attributes that are made of it raise `ValueError` and its kin."""


def _is_of_xdsl(error: BaseException) -> bool:
    """Whether xDSL's own code raised `error`, or called what raised it."""
    frames = (frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(error.__traceback__))
    roots = [root for root in (name.partition(".")[0] for name in frames) if root in (_FOREIGN, _OURS)]
    return bool(roots) and roots[-1] == _FOREIGN


@contextmanager
def faults_from_outside(told: Callable[[str], DiagnosticError]) -> Generator[None]:
    """Inside the `with` block a fault of xDSL or of a package becomes the error that `told` makes of the reason."""
    try:
        yield
    except DiagnosticException:
        raise
    except RAISED as error:
        if where := in_package(error):
            raise told(f"{one_line(error)}{where}") from error
        if isinstance(error, _MEANT) or not _is_of_xdsl(error):
            raise
        text = " ".join(str(error).split())
        raise told(f"xDSL fails on it ({text})" if text else "xDSL fails on it") from error
