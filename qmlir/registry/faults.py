"""Faults of packages: each is reported once, with the name of the package, and everything else goes on.

A listener receives them (`qmlir.ir.diagnostics` for the tools); without a listener they go to Python's logging.
"""

import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

_logger = logging.getLogger("qmlir")
_LONGEST = 400


RAISED = (Exception, SystemExit)
"""What code of a package may raise, and what one line must be made of: `sys.exit` would end the process silently."""


class PackageError(Exception):
    """A name that was requested belongs to a package and does not work; the one-line message names the package."""


def _log(message: str) -> None:
    _logger.warning("warning: %s", message)


_listener: ContextVar[Callable[[str], None]] = ContextVar("qmlir_fault_listener", default=_log)


@contextmanager
def fault_listener(listener: Callable[[str], None]) -> Generator[None]:
    """Send faults of packages inside the `with` block to `listener`, instead of the outer one."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def silence() -> None:
    """Report nothing more in this process."""
    _listener.set(lambda _: None)


def say(message: str) -> None:
    """Tell the innermost listener."""
    _listener.get()(message)


def one_line(error: BaseException) -> str:
    """An exception as one line of bounded length."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
