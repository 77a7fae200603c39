"""Bisection: only the first passes run, so that a search over their number finds the one that is at fault.

LLVM's `-opt-bisect-limit`, with its words: each pass on each operation counts as one.
"""

from dataclasses import dataclass, field
from typing import IO

from xdsl.ir import Operation
from xdsl.passes import ModulePass

from qmlir.passmanager.instrumentation import Instrumentation, op_title
from qmlir.passmanager.pipeline import step_text


@dataclass
class Bisection(Instrumentation):
    """Skips all passes after the first `limit`, and lists to `stream` what runs and what does not; -1: all run."""

    stream: IO[str]
    limit: int
    _count: int = field(default=0, init=False)

    def is_skipped(self, step: ModulePass, op: Operation) -> bool:
        self._count += 1
        is_skipped = 0 <= self.limit < self._count
        what = "NOT running" if is_skipped else "running"
        self.stream.write(f"BISECT: {what} pass ({self._count}) {step_text(step)} on {op_title(op)}\n")
        return is_skipped
