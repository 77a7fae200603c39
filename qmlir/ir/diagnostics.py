"""Diagnostics: messages about operations or texts, and the handlers that receive them; rendering is separate.

A pass raises `op_error(op, …)` to stop, or emits a warning or remark and continues. The caller of the pass receives
these, and diagnostics about faulty packages, through `diagnostic_handler`; without a handler, warnings and remarks go
to Python's logging, so that library users see them. `qmlir.text.diagnostics` renders them (file, line, excerpt).
"""

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from qmlir.ir.messages import LINES as LINES
from qmlir.ir.messages import Diagnostic as Diagnostic
from qmlir.ir.messages import DiagnosticError as DiagnosticError
from qmlir.ir.messages import Severity as Severity
from qmlir.ir.messages import SourceLocation as SourceLocation
from qmlir.ir.messages import diagnostic_handler as diagnostic_handler
from qmlir.ir.messages import emit as emit
from qmlir.ir.messages import nearest_name as nearest_name
from qmlir.ir.messages import printable as printable
from qmlir.ir.messages import revised as revised
from qmlir.ir.messages import text_error as text_error
from qmlir.ir.messages import together as together
from qmlir.ir.messages import unknown as unknown
from qmlir.ir.messages import warn as warn
from qmlir.ir.messages import warn_once as warn_once
from qmlir.ir.messages import without_remarks as without_remarks
from qmlir.ir.provenance import describe, origins_of


def source_location(location: Attribute) -> SourceLocation | None:
    """Returns the first file position in `location`; `None` if there is none."""
    match location:
        case FileLineColLoc():
            return SourceLocation(location.filename.data, location.line.data, location.column.data)
        case NameLoc():
            return source_location(location.location)
        case FusedLoc(locations=ArrayAttr() as locations):
            found = map(source_location, locations)
            return next((each for each in found if each is not None), None)
        case CallSiteLoc():
            return source_location(location.callee)
        case _:
            return None


def _diagnostic(severity: Severity, op: Operation, message: str, notes: Sequence[Diagnostic] = ()) -> Diagnostic:
    return Diagnostic(
        severity,
        f"{describe(op)} {message}",
        source_location(op.location),
        op,
        origins_of(op),
        tuple(notes),
        f"{describe(op)} " if isinstance(op, FuncOp) and op.sym_name.data == "main" else "",
    )


def op_error(op: Operation, message: str, notes: Sequence[Diagnostic] = ()) -> DiagnosticError:
    """Returns an error about `op`, to be raised. The message should name the actual and the expected value."""
    return DiagnosticError(_diagnostic(Severity.ERROR, op, message, notes))


def note(op: Operation, message: str) -> Diagnostic:
    """Returns a note, located at `op`, to attach to another diagnostic."""
    return _diagnostic(Severity.NOTE, op, message)


def emit_remark(op: Operation, message: str) -> None:
    """Emits a remark, which explains a decision about `op`."""
    emit(_diagnostic(Severity.REMARK, op, message))


def emit_warning(op: Operation, message: str) -> None:
    """Emits a warning about a property of `op` that users may not want."""
    emit(_diagnostic(Severity.WARNING, op, message))
