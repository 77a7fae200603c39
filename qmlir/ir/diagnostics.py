"""Diagnostics: messages about an operation, before they are rendered.

A pass raises `op_error(op, …)` to stop, or emits a warning or a remark and goes on. The caller of the pass receives
them by `diagnostic_handler`, as well as those about faulty packages; without a handler, warnings and remarks go to
Python's logging, so that a library user sees them. `qmlir.text.diagnostics` makes their text (file, line, excerpt).
"""

import difflib
import logging
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from enum import StrEnum

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import DiagnosticException

from qmlir.ir.provenance import Origin, describe, origins_of
from qmlir.registry.faults import fault_listener

_logger = logging.getLogger("qmlir")


def printable(text: str, keep: str = "") -> str:
    """`text` with escape sequences, `\\u202e`, for what does not print: controls, marks of direction, ends of lines.

    Names come from models: they must not control a terminal, or imitate other text.

    Characters in `keep` stay. The sequences are those of JSON and TOML, so that strings of these stay the same strings.
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each in keep else _escaped(each) for each in text)


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[place]:02x}{units[place + 1]:02x}" for place in range(0, len(units), 2))


LINES = "\n\t"
"""The characters that `printable` keeps in text with several lines."""


def nearest_name(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` if a known name is similar, otherwise empty: the end of a message."""
    folded: dict[str, list[str]] = {}
    for each in known:
        folded.setdefault(each.lower(), []).append(each)
    matches = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.6)
    if not matches:
        return ""
    (nearest,) = difflib.get_close_matches(name, folded[matches[0]], n=1, cutoff=0.0)
    return f"; did you mean '{nearest}'?"


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """The message about a `name` that is not in `known`: `unknown target 'nqu'; did you mean 'npu'? (available: …)`."""
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
    """A place in a text: `line` and `column` count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


_WHOLE_SENTENCES = ("input ", "output ", "dimension ", "expected ", "no ", "cannot ")
"""Beginnings of messages about a function that need no subject."""


@dataclass(frozen=True)
class Diagnostic:
    """One message, with its operation and its place if they are known."""

    severity: Severity
    message: str
    location: SourceLocation | None = None
    op: Operation | None = field(default=None, compare=False, repr=False)
    origins: tuple[Origin, ...] = ()
    notes: tuple["Diagnostic", ...] = ()

    def __str__(self) -> str:
        place = f"{self.location}: " if self.location else ""
        return printable(f"{place}{self.severity}: {self.message}")

    def for_caller(self) -> "Diagnostic":
        """For a user of models, who has no function: `@main` is called the model, or goes without saying."""
        if not isinstance(self.op, FuncOp) or self.op.sym_name.data != "main":
            return self
        before, subject, rest = self.message.partition(f"{describe(self.op)} ")
        needs_subject = subject and not rest.startswith(_WHOLE_SENTENCES)
        return replace(self, message=f"{before}{'the model ' if needs_subject else ''}{rest}")


class DiagnosticError(DiagnosticException):
    """An error that names its operation or its place in the text; the tools print it as one line.

    Where several faults were found that do not follow from each other, `diagnostics` has them all.
    """

    def __init__(self, diagnostic: Diagnostic, *more: Diagnostic):
        super().__init__(str(diagnostic.for_caller()))
        self.diagnostic = diagnostic
        self.diagnostics = (diagnostic, *more)


def source_location(location: Attribute) -> SourceLocation | None:
    """The first place in a file that `location` names, `None` where it names none."""
    match location:
        case FileLineColLoc():
            return SourceLocation(location.filename.data, location.line.data, location.column.data)
        case NameLoc():
            return source_location(location.location)
        case FusedLoc(locations=ArrayAttr() as locations):
            places = map(source_location, locations)
            return next((place for place in places if place is not None), None)
        case CallSiteLoc():
            return source_location(location.callee)
        case _:
            return None


def _diagnostic(severity: Severity, op: Operation, message: str, notes: Sequence[Diagnostic]) -> Diagnostic:
    return Diagnostic(
        severity,
        f"{describe(op)} {message}",
        source_location(op.location),
        op,
        origins_of(op),
        tuple(notes),
    )


def op_error(op: Operation, message: str, notes: Sequence[Diagnostic] = ()) -> DiagnosticError:
    """The error, to be raised, about `op`: what was found, and what would be accepted."""
    return DiagnosticError(_diagnostic(Severity.ERROR, op, message, notes))


def text_error(
    message: str, location: SourceLocation | None = None, notes: Sequence[Diagnostic] = ()
) -> DiagnosticError:
    """The error, to be raised, about a place in a text, or about a file as a whole."""
    return DiagnosticError(Diagnostic(Severity.ERROR, message, location, notes=tuple(notes)))


def together(errors: Sequence[DiagnosticError]) -> DiagnosticError:
    """One error, to be raised, of several."""
    return errors[0] if len(errors) == 1 else DiagnosticError(*(said for each in errors for said in each.diagnostics))


def note(op: Operation, message: str) -> Diagnostic:
    """A note to go with another diagnostic, placed at `op`."""
    return _diagnostic(Severity.NOTE, op, message, ())


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
"""What `warn_once` has told the outermost handler; without one, this process."""


@contextmanager
def diagnostic_handler(handler: Handler) -> Generator[None]:
    """Send the diagnostics emitted inside the `with` block to `handler`, instead of the outer one."""
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
    """Pass `diagnostic` to the innermost handler."""
    _handler.get()(diagnostic)


def warn_once(message: str) -> None:
    """Emit a warning about no operation, but once in an outermost handler: data may be gone over many times."""
    if message not in _told.get():
        _told.get().add(message)
        emit(Diagnostic(Severity.WARNING, message))


@contextmanager
def revised(change: Callable[[Diagnostic], Diagnostic | None]) -> Generator[None]:
    """Inside the `with` block the handler gets what `change` makes of each diagnostic, and nothing for `None`."""
    outer = _handler.get()

    def pass_on(diagnostic: Diagnostic) -> None:
        if (made := change(diagnostic)) is not None:
            outer(made)

    with _handled_by(pass_on):
        yield


def without_remarks() -> AbstractContextManager[None]:
    """Suppress remarks inside the `with` block; errors and warnings pass."""
    return revised(lambda each: None if each.severity is Severity.REMARK else each)


def emit_remark(op: Operation, message: str, notes: Sequence[Diagnostic] = ()) -> None:
    """Emit a remark: what was decided about `op`, and why."""
    emit(_diagnostic(Severity.REMARK, op, message, notes))


def emit_warning(op: Operation, message: str, notes: Sequence[Diagnostic] = ()) -> None:
    """Emit a warning: what a user of `op` may not want."""
    emit(_diagnostic(Severity.WARNING, op, message, notes))
