"""What is wrong with a package from outside: said once, with its name, while all else goes on.

Whoever wants to hear of it listens (`qmlir.ir.diagnostics` does for the tools); without a listener it goes to Python's
logging.
"""

import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

_logger = logging.getLogger("qmlir")
_LONGEST = 400


class PackageError(Exception):
    """What was asked for by name comes from a package and does not work; the message, one line, names the package."""


def _log(message: str) -> None:
    _logger.warning("warning: %s", message)


_listener: ContextVar[Callable[[str], None]] = ContextVar("qmlir_fault_listener", default=_log)


@contextmanager
def fault_listener(listener: Callable[[str], None]) -> Generator[None]:
    """Send what is wrong with packages inside the `with` block to `listener`, in place of the outer one."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def silence() -> None:
    """Say nothing more in this process."""
    _listener.set(lambda _: None)


def say(message: str) -> None:
    """Tell the innermost listener."""
    _listener.get()(message)


def one_line(error: BaseException) -> str:
    """An exception on one line, which is not too long."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
