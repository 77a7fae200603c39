"""Running functions: the evaluator of each operation in turn; a value is dropped after its last use.

Evaluators come from the registry. This module handles control flow only: a block ends at its terminator, whose operands
are the results of the region. A listener receives every value with its operation, and so with its provenance.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import InterpretationError

from qmlir.analysis.demanded_lanes import with_observed_lanes
from qmlir.interpreter.values import check_result, check_value
from qmlir.ir.diagnostics import DiagnosticError, op_error, text_error, unknown
from qmlir.ir.evaluation import Evaluator, Layout, RunsRegions, arguments_by, evaluator_of, not_computed, operand_layout
from qmlir.ir.limits import budget, over

_BUDGET = "interpreted-operations"


class Listener:
    """Observes a run; by default each method does nothing. Values must not be changed."""

    def on_arguments(self, function: FuncOp, values: Sequence[Any]) -> None:
        """`function` is about to run on `values`."""

    def on_results(self, op: Operation, operands: Sequence[Any], results: Sequence[Any]) -> None:
        """`op` has computed `results` from `operands`."""


@contextmanager
def about(op: Operation) -> Generator[None]:
    """Inside the `with` block, the refusal of a value becomes an error of `op`."""
    try:
        yield
    except InterpretationError as error:
        raise op_error(op, str(error)) from error


@dataclass(slots=True)
class _Step:
    """One operation of a block, prepared: what runs it, and which values end with it."""

    op: Operation
    evaluator: Evaluator | RunsRegions
    layout: Layout
    ends: tuple[SSAValue, ...]


@dataclass(slots=True)
class _Plan:
    """A block, prepared: its steps, and the operands of its terminator."""

    steps: list[_Step]
    terminator: Operation | None


def _last_uses(block: Block) -> Mapping[Operation, tuple[SSAValue, ...]]:
    """For each operation of `block`, the values of the block that no later operation uses."""
    order = {op: place for place, op in enumerate(block.ops)}
    ends: dict[Operation, list[SSAValue]] = {}

    def end(value: SSAValue, at: Operation | None) -> None:
        users = (block.find_ancestor_op_in_block(use.operation) for use in value.uses)
        last = max((user for user in users if user is not None), key=order.__getitem__, default=at)
        if last is not None:
            ends.setdefault(last, []).append(value)

    for argument in block.args:
        end(argument, None)
    for op in block.ops:
        for result in op.results:
            end(result, op)
    return {op: tuple(values) for op, values in ends.items()}


def _prepare(block: Block) -> _Plan:
    ends = _last_uses(block)
    steps: list[_Step] = []
    terminator = None
    for op in block.ops:
        if op.has_trait(IsTerminator, value_if_unregistered=False):
            terminator = op
            break
        evaluator = evaluator_of(op)
        if evaluator is None:
            raise op_error(op, "has no evaluator in the interpreter")
        with about(op):
            for result in op.results:
                check_result(result.type)
        steps.append(_Step(op, evaluator, operand_layout(op), ends.get(op, ())))
    if terminator is not None and terminator.successors:
        raise op_error(terminator, "branches between blocks, which the interpreter does not support; use scf")
    return _Plan(steps, terminator)


class Interpreter:
    """Runs the functions of `module`, which must not change while it runs."""

    def __init__(self, module: ModuleOp, listeners: Sequence[Listener] = ()):
        self.module = module
        self.listeners = tuple(listeners)
        self._functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
        self._plans: dict[Block, _Plan] = {}
        self._left = budget(_BUDGET)

    def functions(self) -> Iterator[FuncOp]:
        """The functions of the module in order."""
        return iter(self._functions.values())

    def function(self, name: str) -> FuncOp:
        """The function `name`. Raises `DiagnosticError` where there is none with a body."""
        function = self._functions.get(name)
        if function is None:
            raise text_error(unknown("function", name, self._functions))
        if function.is_declaration:
            raise op_error(function, f"@{name} has no body")
        return function

    def call(self, name: str, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """The results of the function `name` on `arguments`, which have its argument types.

        Raises `DiagnosticError`, naming the operation, where one cannot be computed or an expectation fails.
        """
        function = self.function(name)
        for listener in self.listeners:
            listener.on_arguments(function, arguments)
        return Frame(self, {}).run(function.body, *arguments)

    def plan(self, block: Block) -> _Plan:
        """How `block` runs; made once. Raises `DiagnosticError` where the run has taken too many operations."""
        plan = self._plans.get(block)
        if plan is None:
            plan = self._plans[block] = _prepare(block)
        self._left -= 1 + len(plan.steps)
        if self._left < 0:
            raise text_error(f"the run does not end: the number of executed operations is {over(_BUDGET)}")
        return plan


class Frame:
    """One running function: its values, and the way to run regions and to call other functions."""

    __slots__ = ("interpreter", "point", "steps", "values")

    def __init__(self, interpreter: Interpreter, values: dict[SSAValue, Any]):
        self.interpreter = interpreter
        self.values = values
        self.point: tuple[Any, ...] = ()
        """Where the innermost running nest of loops is: a number for each iterator, or an array of all its numbers."""
        self.steps: tuple[int, ...] = ()
        """How often each iterator of that nest runs, where its body computes whole arrays at once."""

    def call(self, name: str, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Call another function of the module."""
        return self.interpreter.call(name, arguments)

    def run(self, region: Region, *arguments: Any) -> tuple[Any, ...]:
        """Run the one block of `region` on `arguments`: the operands of its terminator."""
        block = region.blocks[0]
        plan = self.interpreter.plan(block)
        values = self.values
        for argument, value in zip(block.args, arguments, strict=True):
            values[argument] = value
        for step in plan.steps:
            self.take(step)
            for value in step.ends:
                del values[value]
        return tuple(values[operand] for operand in plan.terminator.operands) if plan.terminator else ()

    def take(self, step: _Step) -> None:
        """Compute the results of one operation."""
        operands = [self.values[operand] for operand in step.op.operands]
        results = self._compute(step, operands)
        for result, value in zip(step.op.results, results, strict=True):
            self.values[result] = value
        for listener in self.interpreter.listeners:
            listener.on_results(step.op, operands, results)

    def _compute(self, step: _Step, operands: Sequence[Any]) -> tuple[Any, ...]:
        op = step.op
        try:
            try:
                results = self._results(step, operands)
            except InterpretationError:
                defined = with_observed_lanes(op, operands)
                if defined is None:
                    raise
                results = self._results(step, defined)
            for result, value in zip(op.results, results, strict=True):
                check_value(value, result.type)
        except DiagnosticError:
            raise
        except Exception as error:
            raise not_computed(op, error) from error
        return results

    def _results(self, step: _Step, operands: Sequence[Any]) -> tuple[Any, ...]:
        op, evaluator = step.op, step.evaluator
        arguments = arguments_by(step.layout, operands)
        # What IEEE gives for a division by 0 or an overflow is the answer.
        with np.errstate(all="ignore"):
            if isinstance(evaluator, RunsRegions):
                return evaluator.function(self, op, *arguments)
            return evaluator(op, *arguments)


class RunsInStep:
    """Runs of one function on several inputs that go forward together, operation by operation.

    Between two operations the caller sees what each run has computed, and may change a constant that is still to be
    used: `again` computes it anew. What depends on no input is computed once.
    """

    def __init__(self, module: ModuleOp, name: str, runs: Sequence[Sequence[Any]]):
        interpreter = Interpreter(module)
        block = interpreter.function(name).body.blocks[0]
        self._plan = interpreter.plan(block)
        self._frames = [Frame(interpreter, dict(zip(block.args, arguments, strict=True))) for arguments in runs]
        self._known: set[SSAValue] = set()

    def __iter__(self) -> Iterator[Operation]:
        """Each operation of the function, before it is computed. Raises `DiagnosticError` where one cannot be."""
        for step in self._plan.steps:
            yield step.op
            self._take(step)
            for value in step.ends:
                for frame in self._frames:
                    del frame.values[value]

    def values(self, value: SSAValue) -> list[Any]:
        """What `value` is in each run."""
        return [frame.values[value] for frame in self._frames]

    def again(self, op: Operation) -> None:
        """Compute what was computed of the constant `op`, and what was made of it and of constants alone."""
        held = {value for value in self._known if value in self._frames[0].values}
        anew: set[SSAValue] = set()
        for step in self._plan.steps:
            is_made_of_it = step.op is op or not anew.isdisjoint(step.op.operands)
            if is_made_of_it and self._known.issuperset(step.op.results):
                self._take(step)
                anew.update(step.op.results)
        for value in anew - held:
            for frame in self._frames:
                del frame.values[value]

    def _take(self, step: _Step) -> None:
        first, *others = self._frames
        is_known = isinstance(step.evaluator, RunsRegions) is False and all(
            operand in self._known for operand in step.op.operands
        )
        if not is_known:
            for frame in self._frames:
                frame.take(step)
            return
        first.take(step)
        self._known.update(step.op.results)
        for frame in others:
            frame.values.update({result: first.values[result] for result in step.op.results})
