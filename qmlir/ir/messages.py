"""Messages without IR: diagnostics as data, the handlers that receive them, and errors about texts and files.

Tools import this module before they know that they need the compiler, so it imports no IR. `qmlir.ir.diagnostics` adds
the diagnostics about operations.
"""

import difflib
import logging
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from xdsl.utils.exceptions import DiagnosticException

from qmlir.registry.faults import fault_listener

if TYPE_CHECKING:
    from xdsl.ir import Operation

    from qmlir.ir.provenance import Origin

_logger = logging.getLogger("qmlir")


def printable(text: str, keep: str = "") -> str:
    """Replaces unprintable characters (controls, bidirectional marks, line ends) with escapes such as `\\u202e`.

    Names come from models, so they must not be able to control a terminal or imitate other text.

    Characters in `keep` are not replaced. The escapes are those of JSON and TOML, so strings in these formats keep
    their values.
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each in keep else _escaped(each) for each in text)


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[position]:02x}{units[position + 1]:02x}" for position in range(0, len(units), 2))


LINES = "\n\t"
"""The characters that `printable` keeps in multi-line text."""


def nearest_name(name: str, known: Iterable[str]) -> str:
    """Returns `; did you mean 'x'?`, the end of a message, if a known name is similar; otherwise an empty string."""
    folded: dict[str, list[str]] = {}
    for each in known:
        folded.setdefault(each.lower(), []).append(each)
    matches = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.6)
    if not matches:
        return ""
    (nearest,) = difflib.get_close_matches(name, folded[matches[0]], n=1, cutoff=0.0)
    return f"; did you mean '{nearest}'?"


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """Returns the message for an unknown `name`: `unknown target 'nqu'; did you mean 'npu'? (available: …)`."""
    names = list(known)
    return f"unknown {kind} '{name}'{nearest_name(name, names)} (available: {', '.join(names) or 'none'})"


class Severity(StrEnum):
    """The severity of a diagnostic, as in upstream MLIR."""

    ERROR = "error"
    WARNING = "warning"
    REMARK = "remark"
    NOTE = "note"


@dataclass(frozen=True)
class SourceLocation:
    """A position in a text: `line` and `column` count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


_WHOLE_SENTENCES = ("input ", "output ", "dimension ", "expected ", "no ", "cannot ")
"""Beginnings of messages about a function from which the subject can be omitted."""


@dataclass(frozen=True)
class Diagnostic:
    """A message with its severity, and with its operation and location if they are known."""

    severity: Severity
    message: str
    location: SourceLocation | None = None
    op: "Operation | None" = field(default=None, compare=False, repr=False)
    origins: tuple["Origin", ...] = ()
    notes: tuple["Diagnostic", ...] = ()
    subject: str = field(default="", compare=False, repr=False)
    """The words of the message that name the main function; empty if it is about another operation."""

    def __str__(self) -> str:
        prefix = f"{self.location}: " if self.location else ""
        return printable(f"{prefix}{self.severity}: {self.message}")

    def for_caller(self) -> "Diagnostic":
        """Returns the diagnostic reworded for users of models, who don't see functions.

        `@main` becomes "the model", or is omitted.
        """
        if not self.subject:
            return self
        before, subject, rest = self.message.partition(self.subject)
        needs_subject = subject and not rest.startswith(_WHOLE_SENTENCES)
        return replace(self, message=f"{before}{'the model ' if needs_subject else ''}{rest}")


class DiagnosticError(DiagnosticException):
    """An error with its operation or location; tools print it as one line.

    If several independent errors were found, `diagnostics` contains all of them.
    """

    def __init__(self, diagnostic: Diagnostic, *more: Diagnostic):
        super().__init__(str(diagnostic.for_caller()))
        self.diagnostic = diagnostic
        self.diagnostics = (diagnostic, *more)

    def ending(self, text: str) -> "DiagnosticError":
        """Returns this error, to be raised, with `text` at the end of the message of each diagnostic."""
        return DiagnosticError(*(replace(each, message=each.message + text) for each in self.diagnostics))


def text_error(
    message: str, location: SourceLocation | None = None, notes: Sequence[Diagnostic] = ()
) -> DiagnosticError:
    """Returns an error, to be raised, about a position in a text or about a file as a whole."""
    return DiagnosticError(Diagnostic(Severity.ERROR, message, location, notes=tuple(notes)))


def together(errors: Sequence[DiagnosticError]) -> DiagnosticError:
    """Combines several errors into one, to be raised."""
    return errors[0] if len(errors) == 1 else DiagnosticError(*(said for each in errors for said in each.diagnostics))


Handler = Callable[[Diagnostic], None]

_LOG_LEVELS = {
    Severity.ERROR: logging.ERROR,
    Severity.WARNING: logging.WARNING,
    Severity.REMARK: logging.INFO,
    Severity.NOTE: logging.INFO,
}


def _log(diagnostic: Diagnostic) -> None:
    _logger.log(_LOG_LEVELS[diagnostic.severity], "%s", diagnostic)


_handler: ContextVar[Handler] = ContextVar("qmlir_diagnostic_handler", default=_log)


_told_here: set[str] = set()

_told: ContextVar[set[str]] = ContextVar("qmlir_told", default=_told_here)
"""The messages that `warn_once` has emitted to the outermost handler or, without a handler, in this process."""


@contextmanager
def diagnostic_handler(handler: Handler) -> Generator[None]:
    """Sends the diagnostics emitted inside the `with` block to `handler` instead of the outer one."""
    told = _told.set(set() if _told.get() is _told_here else _told.get())
    try:
        with _handled_by(handler):
            yield
    finally:
        _told.reset(told)


@contextmanager
def _handled_by(handler: Handler) -> Generator[None]:
    token = _handler.set(handler)
    try:
        with fault_listener(lambda message: handler(Diagnostic(Severity.WARNING, message))):
            yield
    finally:
        _handler.reset(token)


def emit(diagnostic: Diagnostic) -> None:
    """Passes `diagnostic` to the innermost handler."""
    _handler.get()(diagnostic)


def warn(message: str) -> None:
    """Emits a warning without an operation."""
    emit(Diagnostic(Severity.WARNING, message))


def warn_once(message: str) -> None:
    """Emits a warning without an operation, only once per outermost handler.

    Data may be processed many times, and would otherwise cause the same warning each time.
    """
    if message not in _told.get():
        _told.get().add(message)
        warn(message)


@contextmanager
def revised(change: Callable[[Diagnostic], Diagnostic | None]) -> Generator[None]:
    """Applies `change` to each diagnostic emitted inside the `with` block, and drops it if `change` returns `None`."""
    outer = _handler.get()

    def pass_on(diagnostic: Diagnostic) -> None:
        if (made := change(diagnostic)) is not None:
            outer(made)

    with _handled_by(pass_on):
        yield


def without_remarks() -> AbstractContextManager[None]:
    """Suppresses remarks inside the `with` block; errors and warnings pass."""
    return revised(lambda each: None if each.severity is Severity.REMARK else each)
