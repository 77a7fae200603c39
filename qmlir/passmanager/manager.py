"""The pass manager: runs a pipeline on a module and tells instrumentations what happens."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from qmlir.ir.diagnostics import DiagnosticError, op_error
from qmlir.passmanager.pipeline import Nest, Pipeline


class Instrumentation:
    """Watches a run; each method does nothing until a subclass says otherwise."""

    def before_pass(self, step: ModulePass, op: Operation) -> None:
        """`step` is about to run on `op`."""

    def after_pass(self, step: ModulePass, op: Operation) -> None:
        """`step` has run on `op`."""

    def pass_failed(self, step: ModulePass, op: Operation) -> None:
        """`step` raised an error on `op`, which is as the pass left it."""

    def before_nest(self, anchor: str) -> None:
        """The passes of a nest are about to run on one operation named `anchor`."""

    def after_nest(self, anchor: str) -> None:
        """The passes of a nest have run on one operation named `anchor`."""


@dataclass(frozen=True)
class PassManager:
    """Runs `pipeline`; instrumentations see each pass, the first listed outermost."""

    ctx: Context
    pipeline: Pipeline
    instrumentations: Sequence[Instrumentation] = ()

    def run(self, module: ModuleOp) -> None:
        """Run every pass on `module`. Raises `DiagnosticError` where one fails."""
        self._run_steps(self.pipeline.steps, module)

    def _run_steps(self, steps: Sequence[ModulePass | Nest], op: Operation) -> None:
        for step in steps:
            if isinstance(step, Nest):
                self._run_nest(step, op)
            else:
                self._run_pass(step, op)

    def _run_nest(self, nest: Nest, op: Operation) -> None:
        anchored = [
            child
            for region in op.regions
            for block in region.blocks
            for child in block.ops
            if child.name == nest.anchor
        ]
        for child in anchored:
            for instrumentation in self.instrumentations:
                instrumentation.before_nest(nest.anchor)
            self._run_steps(nest.steps, child)
            for instrumentation in reversed(self.instrumentations):
                instrumentation.after_nest(nest.anchor)

    def _run_pass(self, step: ModulePass, op: Operation) -> None:
        for instrumentation in self.instrumentations:
            instrumentation.before_pass(step, op)
        try:
            _apply(step, self.ctx, op)
        except Exception as error:
            for instrumentation in reversed(self.instrumentations):
                instrumentation.pass_failed(step, op)
            raise _pass_error(step, op, error) from error
        for instrumentation in reversed(self.instrumentations):
            instrumentation.after_pass(step, op)


def _pass_error(step: ModulePass, op: Operation, error: Exception) -> Exception:
    if isinstance(error, DiagnosticError):
        return error
    text = str(error).strip()
    message = text.splitlines()[0] if text else ""
    if not isinstance(error, DiagnosticException):
        message = f"{type(error).__name__}: {message}"
    return op_error(op, f"pass '{step.name}' failed: {message}")


def _apply(step: ModulePass, ctx: Context, op: Operation) -> None:
    """Run a pass on a module, or on another operation wrapped in a module of its own while the pass runs."""
    if isinstance(op, ModuleOp):
        step.apply(ctx, op)
        return
    block = op.parent
    if block is None:
        raise ValueError(f"'{op.name}' is in no block")
    following = op.next_op
    op.detach()
    wrapper = ModuleOp([op])
    try:
        step.apply(ctx, wrapper)
    finally:
        inner = list(wrapper.body.block.ops)
        for each in inner:
            each.detach()
        if following is None:
            block.add_ops(inner)
        else:
            block.insert_ops_before(inner, following)
    if inner != [op]:
        raise op_error(op, f"pass '{step.name}' replaced the operation that it was nested on; run it on the module")
