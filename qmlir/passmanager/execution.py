"""Verification by execution: the module runs before and after each pass, and the pass must preserve what it declares.

The caller provides what runs a module.
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
    """Runs modules, and caches the outputs of the last one."""

    def prepare(self, module: ModuleOp) -> None:
        """Run `module`, unless its outputs are cached. Raises `DiagnosticError` if it does not run."""

    def forget(self) -> None:
        """The outputs of the module have changed."""

    def check(self, before: ModuleOp, after: ModuleOp, preservation: Preservation) -> None:
        """Raise `DiagnosticError` if the numbers of `after` differ from `before` by more than `preservation` allows."""


@dataclass(frozen=True)
class VerifyExecution(Instrumentation):
    """Runs the whole module before and after each pass, and names the first pass that changes a number.

    A pass declares what it preserves (`qmlir.ir.preservation`); for `MEANING` nothing is compared.
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
