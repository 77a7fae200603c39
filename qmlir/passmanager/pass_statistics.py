"""What passes count of their work (see `qmlir.ir.statistics`), summed by pass."""

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

from xdsl.ir import Operation
from xdsl.passes import ModulePass

from qmlir.ir.statistics import collected
from qmlir.passmanager.instrumentation import Instrumentation


class PassStatistics(Instrumentation):
    """Sums each number of each pass over the run."""

    def __init__(self) -> None:
        self._sums: dict[str, Counter[str]] = {}

    @contextmanager
    def around_pass(self, step: ModulePass, op: Operation) -> Generator[None]:
        with collected() as counter:
            try:
                yield
            finally:
                self._sums.setdefault(step.name, Counter()).update(counter)

    def report(self) -> str:
        """One line for each number, passes in the order in which they first ran."""
        rows = [
            f"  {name}: {number} {what}" for name, sums in self._sums.items() for what, number in sorted(sums.items())
        ]
        return "\n".join(["===== pass statistics =====", *rows]) + "\n"
