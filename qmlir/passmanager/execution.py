"""Verification by execution: the module runs before and after each pass, which keeps of its numbers what it says.

Who runs a module is none of the pass manager's business: it is handed in.
"""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from qmlir.ir.preservation import Preservation, preservation_of
from qmlir.passmanager.checks import naming
from qmlir.passmanager.instrumentation import Instrumentation


class Executor(Protocol):
    """Runs modules, and remembers what the last one computed."""

    def prepare(self, module: ModuleOp) -> None:
        """Run `module`, unless what it computes is known. Raises `DiagnosticError` where it does not run."""

    def forget(self) -> None:
        """What the module computes has changed."""

    def check(self, before: ModuleOp, after: ModuleOp, preservation: Preservation) -> None:
        """Raise `DiagnosticError` where `after` does not keep what `preservation` says of the numbers of `before`."""


@dataclass(frozen=True)
class VerifyExecution(Instrumentation):
    """Runs the whole module before and after each pass, and names the first pass that changes a number.

    A pass declares what it keeps (`qmlir.ir.preservation`); one that keeps the meaning only is not held to anything.
    """

    executor: Executor

    @contextmanager
    def around_pass(self, step: ModulePass, op: Operation) -> Generator[None]:
        preservation = preservation_of(step)
        if not preservation.is_held:
            yield
            self.executor.forget()
            return
        root = op.get_toplevel_object()
        assert isinstance(root, ModuleOp)  # the pass manager runs on modules
        with naming(step, "before"):
            self.executor.prepare(root)
        original = root.clone()  # shares the weights' bytes
        yield
        with naming(step, "after", f", which keeps {preservation}"):
            self.executor.check(original, root, preservation)
