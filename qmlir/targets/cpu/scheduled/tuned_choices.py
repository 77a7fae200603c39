"""The schedules of a search where passes ask for them: by kernel, each checked against what the operation may have."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from qmlir.dialects.kernel.attributes import ScheduleAttr
from qmlir.dialects.kernel.contraction import ContractionOp
from qmlir.ir.diagnostics import Diagnostic, Severity, emit, op_error
from qmlir.targets.cpu.scheduled.candidates import candidates
from qmlir.targets.cpu.scheduled.kernel_identity import kernel_identity
from qmlir.targets.cpu.scheduled.tuning_file import Tuning, key_of


@dataclass(frozen=True)
class TunedChoices:
    """The file at `path`, or nothing where that is empty, for an instruction set and so many threads."""

    path: str
    isa: str
    threads: int

    @cached_property
    def _tuning(self) -> Tuning:
        """Raises `DiagnosticError` where the file cannot be read or is none."""
        found = Tuning.read(Path(self.path)) if self.path else Tuning({})
        if found.damaged:
            many = "entries are" if found.damaged > 1 else "entry is"
            emit(Diagnostic(Severity.WARNING, f"'{self.path}': {found.damaged} damaged {many} left out"))
        return found

    def schedule(self, op: ContractionOp) -> ScheduleAttr | None:
        """The schedule that a search found for `op`, `None` where the table has the fastest, or nobody searched.

        A schedule that `op` cannot have is told, and left out.
        """
        if not self._tuning.kernels:
            return None
        found = self._tuning.kernels.get(key_of(kernel_identity(op, self.isa, self.threads)))
        if found is None or found.schedule is None:
            return None
        for each in candidates(op, self.isa, self.threads):
            if str(each) == found.schedule:
                return each
        told = op_error(op, f"cannot have {found.schedule}, which '{self.path}' says: left out").diagnostic
        emit(replace(told, severity=Severity.WARNING))
        return None
