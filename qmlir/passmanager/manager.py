"""The pass manager: runs a pipeline on a module, with instrumentations around each pass."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, LiteralString

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from qmlir.environment import default_environment
from qmlir.ir.diagnostics import DiagnosticError, nearest_name, op_error
from qmlir.ir.verification import verify
from qmlir.passmanager.instrumentation import Instrumentation
from qmlir.passmanager.pipeline import NestedPipeline, Pipeline, parse_pipeline, pipeline_error
from qmlir.registry import PackageError, asked_about, at_code, in_package, is_outside
from qmlir.registry.faults import RAISED


@dataclass(frozen=True)
class PassManager:
    """Runs `pipeline` with instrumentations around each pass; the first instrumentation is the outermost."""

    ctx: Context
    pipeline: Pipeline
    instrumentations: Sequence[Instrumentation] = ()
    verifies_packages: bool = True
    """Whether to verify the module after each pass of a package, independently of the instrumentations."""

    def run(self, module: ModuleOp) -> None:
        """Runs every pass on `module`. Raises `DiagnosticError` if one fails or a nest names an unknown operation."""
        for anchor in _anchors(self.pipeline.steps):
            if self.ctx.get_optional_op(anchor) is None:
                known = [op.name for op in self.ctx.loaded_ops]
                raise pipeline_error(f"unknown operation '{anchor}'{nearest_name(anchor, known)}")
        self._run_steps(self.pipeline.steps, module)

    def _run_steps(self, steps: Sequence[ModulePass | NestedPipeline], op: Operation) -> None:
        for step in steps:
            if isinstance(step, NestedPipeline):
                self._run_nest(step, op)
            else:
                self._run_pass(step, op)

    def _run_nest(self, nest: NestedPipeline, op: Operation) -> None:
        children = [child for region in op.regions for block in region.blocks for child in block.ops]
        for child in children:
            if child.name == nest.anchor:
                with ExitStack() as stack:
                    for instrumentation in self.instrumentations:
                        stack.enter_context(instrumentation.around_nest(child))
                    self._run_steps(nest.steps, child)

    def _run_pass(self, step: ModulePass, op: Operation) -> None:
        if any(instrumentation.is_skipped(step, op) for instrumentation in self.instrumentations):
            return
        with ExitStack() as stack:
            for instrumentation in self.instrumentations:
                stack.enter_context(instrumentation.around_pass(step, op))
            try:
                _apply(step, self.ctx, op)
            except DiagnosticError:
                raise
            except RAISED as error:  # a pass of a package may raise anything; the message names the pass
                raise _pass_error(step, op, error) from error
            if self.verifies_packages and is_outside(type(step)):
                _verify_after(step, op)


def _anchors(steps: Sequence[ModulePass | NestedPipeline]) -> Iterator[str]:
    for step in steps:
        if isinstance(step, NestedPipeline):
            yield step.anchor
            yield from _anchors(step.steps)


def _pass_error(step: ModulePass, op: Operation, error: BaseException) -> DiagnosticError:
    text = str(error).strip()
    message = text.splitlines()[0] if text else ""
    if not isinstance(error, DiagnosticException | PackageError):
        message = f"{type(error).__name__}: {message}"
    return op_error(asked_about(error, Operation) or op, f"pass '{step.name}' failed: {message}{in_package(error)}")


def _verify_after(step: ModulePass, op: Operation) -> None:
    """Verifies the module after a pass of a package. An error names the pass and the location of its class."""
    try:
        verify(op)
    except DiagnosticError as error:
        raise error.ending(f" (after pass '{step.name}'){at_code(type(step))}") from error


def _apply(step: ModulePass, ctx: Context, op: Operation) -> None:
    """Runs a pass on a module, or on another operation that is temporarily wrapped in a module."""
    if isinstance(op, ModuleOp):
        step.apply(ctx, op)
        return
    block = op.parent
    if block is None:
        raise ValueError(f"'{op.name}' is not in a block")
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
        raise op_error(
            op, f"pass '{step.name}' replaced the operation that it is nested on; run it on the module instead"
        )


# Running passes with the dialects of the default environment.


def run_pipeline(
    module: ModuleOp, passes: LiteralString | Pipeline, instrumentations: Sequence[Instrumentation] = (), **given: Any
) -> ModuleOp:
    """Runs `passes` on `module` in place and returns `module`; `given` are the values for `Pipeline.given`.

    Pipeline text must be a literal in the source, which the type checker enforces; computed values belong in the
    options of a `Pipeline`. Use `parse_pipeline` for text from users or packages. Raises `DiagnosticError` if the text
    is malformed or a pass fails.
    """
    environment = default_environment()
    pipeline = passes if isinstance(passes, Pipeline) else parse_pipeline(passes, environment.passes)
    PassManager(environment.new_context(), pipeline.given(**given), instrumentations).run(module)
    return module
