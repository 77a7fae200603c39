"""Runs functions by calling the evaluator of each operation in turn; values are freed after their last use.

Evaluators come from the registry. This module only handles control flow: a block ends at its terminator, whose operands
are the results of the region. A listener receives every value with its operation, and thus its provenance.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.dialects.vector import FMAOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import ConstantLike, IsTerminator
from xdsl.utils.exceptions import InterpretationError

from qmlir.dialects.simd.base import as_vector, lanes_of
from qmlir.dialects.simd.lanes import CompareOp, ConvertOp, NarrowOp, RoundToIntOp, SelectOp
from qmlir.dialects.simd.memory import StorePartialOp
from qmlir.interpreter.values import check_result, check_value
from qmlir.ir import evaluation
from qmlir.ir.diagnostics import DiagnosticError, op_error, text_error
from qmlir.ir.limits import budget, over
from qmlir.specialization.inputs import function_of

_BUDGET = "interpreted-operations"


class Listener:
    """Observes a run. By default, its methods do nothing. Listeners must not change values."""

    def on_arguments(self, function: FuncOp, values: Sequence[Any]) -> None:
        """Called before `function` runs on `values`."""

    def on_results(self, op: Operation, operands: Sequence[Any], results: Sequence[Any]) -> None:
        """Called after `op` has computed `results` from `operands`."""

    def on_run(self, number: int) -> None:
        """Called in lockstep: the next results belong to the run `number`."""

    def on_runs(self, op: Operation, operands: Sequence[Sequence[Any]], results: Sequence[Sequence[Any]]) -> None:
        """Called in lockstep after `op` has computed the results of all runs at once."""
        for number, (given, found) in enumerate(zip(operands, results, strict=True)):
            self.on_run(number)
            self.on_results(op, given, found)


@contextmanager
def about(op: Operation) -> Generator[None]:
    """Turns an `InterpretationError` inside the `with` block into a `DiagnosticError` about `op`."""
    try:
        yield
    except InterpretationError as error:
        raise op_error(op, str(error)) from error


@dataclass(slots=True)
class _Step:
    """A prepared operation of a block: its evaluator, and the values whose last use it is."""

    op: Operation
    operands: tuple[SSAValue, ...]
    results: tuple[SSAValue, ...]
    evaluator: evaluation.Evaluator | evaluation.RegionEvaluator
    layout: evaluation.Layout
    ends: tuple[SSAValue, ...]
    checked: list[tuple[Any, Any] | None]
    """The NumPy type and shape of the last array that was checked for each result."""


@dataclass(slots=True)
class _Plan:
    """A prepared block: its steps and its terminator."""

    steps: list[_Step]
    terminator: Operation | None


def _last_uses(block: Block) -> Mapping[Operation, tuple[SSAValue, ...]]:
    """Returns, for each operation of `block`, the values used there for the last time, and its unused results."""
    order = {op: position for position, op in enumerate(block.ops)}
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
        evaluator = evaluation.evaluator_of(op)
        if evaluator is None:
            raise op_error(op, "has no evaluator in the interpreter")
        with about(op):
            for result in op.results:
                check_result(result.type)
        operands, results = tuple(op.operands), tuple(op.results)
        checked: list[tuple[Any, Any] | None] = [None] * len(results)
        steps.append(_Step(op, operands, results, evaluator, evaluation.operand_layout(op), ends.get(op, ()), checked))
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
        """Yields the functions of the module in order."""
        return iter(self._functions.values())

    def function(self, name: str) -> FuncOp:
        """Returns the function named `name`. Raises `DiagnosticError` if it doesn't exist or has no body."""
        function = self._functions.get(name)
        return function_of(self.module, name) if function is None or function.is_declaration else function

    def call(self, name: str, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Runs the function named `name` on `arguments`, which must have its argument types; returns its results.

        Raises `DiagnosticError` with the name of the operation if an operation can't be computed or an expectation
        fails.
        """
        function = self.function(name)
        for listener in self.listeners:
            listener.on_arguments(function, arguments)
        return Frame(self, {}).run(function.body, *arguments)

    def plan(self, block: Block) -> _Plan:
        """Returns the cached plan of `block`. Raises `DiagnosticError` if the run exceeds its operation limit."""
        plan = self._plans.get(block)
        if plan is None:
            plan = self._plans[block] = _prepare(block)
        self._left -= 1 + len(plan.steps)
        if self._left < 0:
            raise text_error(f"the run does not end: the number of executed operations is {over(_BUDGET)}")
        return plan


class Frame:
    """A running function: its values, and methods that run regions and call other functions."""

    __slots__ = ("interpreter", "point", "steps", "values")

    def __init__(self, interpreter: Interpreter, values: dict[SSAValue, Any]):
        self.interpreter = interpreter
        self.values = values
        self.point: tuple[Any, ...] = ()
        """The current point of the innermost structured operation: for each iterator, an index or all indices."""
        self.steps: tuple[int, ...] = ()
        """The trip counts of that operation's iterators if its body runs on whole arrays; otherwise empty."""

    def call(self, name: str, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Calls another function of the module and returns its results."""
        return self.interpreter.call(name, arguments)

    def run(self, region: Region, *arguments: Any) -> tuple[Any, ...]:
        """Runs the single block of `region` on `arguments`; returns the operands of its terminator."""
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
        """Computes and stores the results of one operation."""
        values = self.values
        operands = [values[operand] for operand in step.operands]
        results = self._compute(step, operands)
        for result, value in zip(step.results, results, strict=True):
            values[result] = value
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
            for position, (result, value) in enumerate(zip(step.results, results, strict=True)):
                is_array = type(value) is np.ndarray
                if not is_array or step.checked[position] != (value.dtype, value.shape):
                    check_value(value, result.type)
                    step.checked[position] = (value.dtype, value.shape) if is_array else None
        except DiagnosticError:
            raise
        except Exception as error:
            raise evaluation.not_computed(op, error) from error
        return results

    def _results(self, step: _Step, operands: Sequence[Any]) -> tuple[Any, ...]:
        op, evaluator = step.op, step.evaluator
        arguments = evaluation.arguments_by(step.layout, operands)
        # The IEEE result of a division by 0 or an overflow is the correct result.
        with np.errstate(all="ignore"):
            if isinstance(evaluator, evaluation.RegionEvaluator):
                return evaluator.function(self, op, *arguments)
            return evaluator(op, *arguments)


class Lockstep:
    """Runs one function on several inputs in lockstep, operation by operation.

    Between two operations, the caller can read the values of each run. It may also change a constant that is used
    later, if it calls `again` to recompute the constant. Values that don't depend on any input are computed only once,
    and reported as those of the first run.
    """

    def __init__(self, module: ModuleOp, name: str, runs: Sequence[Sequence[Any]], listeners: Sequence[Listener] = ()):
        interpreter = Interpreter(module, listeners)
        self._listeners = interpreter.listeners
        block = interpreter.function(name).body.blocks[0]
        self._plan = interpreter.plan(block)
        self._frames = [Frame(interpreter, dict(zip(block.args, arguments, strict=True))) for arguments in runs]
        self._known: set[SSAValue] = set()

    def __iter__(self) -> Iterator[Operation]:
        """Yields each operation before it is computed. Raises `DiagnosticError` if one can't be computed."""
        for step in self._plan.steps:
            yield step.op
            self._take(step)
            for value in step.ends:
                for frame in self._frames:
                    del frame.values[value]

    def results(self) -> list[tuple[Any, ...]]:
        """Computes all operations, and returns the results of each run."""
        for _ in self:
            pass
        returned = self._plan.terminator.operands if self._plan.terminator else ()
        return [tuple(frame.values[value] for value in returned) for frame in self._frames]

    def values(self, value: SSAValue) -> list[Any]:
        """Returns the value that `value` has in each run."""
        return [frame.values[value] for frame in self._frames]

    def again(self, op: Operation) -> None:
        """Recomputes the constant `op`, and all values computed so far that depend only on it and other constants."""
        held = {value for value in self._known if value in self._frames[0].values}
        anew: set[SSAValue] = set()
        for step in self._plan.steps:
            is_made_of_it = step.op is op or not anew.isdisjoint(step.operands)
            if is_made_of_it and self._known.issuperset(step.results):
                self._take(step)
                anew.update(step.results)
        for value in anew - held:
            for frame in self._frames:
                del frame.values[value]

    def _take(self, step: _Step) -> None:
        first, *others = self._frames
        is_known = isinstance(step.evaluator, evaluation.RegionEvaluator) is False and all(
            operand in self._known for operand in step.operands
        )
        if not is_known and others and isinstance(step.evaluator, evaluation.Together):
            self._take_together(step, step.evaluator)
            return
        for number, frame in enumerate(self._frames[:1] if is_known else self._frames):
            for listener in self._listeners:
                listener.on_run(number)
            frame.take(step)
        if not is_known:
            return
        self._known.update(step.results)
        for frame in others:
            frame.values.update({result: first.values[result] for result in step.results})

    def _take_together(self, step: _Step, evaluator: evaluation.Together) -> None:
        operands = [[frame.values[operand] for operand in step.operands] for frame in self._frames]
        try:
            with np.errstate(all="ignore"):
                found = evaluator.function(step.op, [evaluation.arguments_by(step.layout, each) for each in operands])
            for frame, results in zip(self._frames, found, strict=True):
                for result, value in zip(step.results, results, strict=True):
                    check_value(value, result.type)
                    frame.values[result] = value
        except DiagnosticError:
            raise
        except Exception as error:
            raise evaluation.not_computed(step.op, error) from error
        for listener in self._listeners:
            listener.on_runs(step.op, operands, found)


_RUNS = 8
"""The number of runs of a module in lockstep if it has operations that compute several runs at once."""


def runs_together(module: ModuleOp) -> int:
    """Returns the number of runs that should be interpreted in lockstep: 1 if this saves no time."""
    evaluators = (evaluation.evaluator_of(op) for op in module.walk())
    return _RUNS if any(isinstance(each, evaluation.Together) for each in evaluators) else 1


# Demanded lanes: the lanes of a vector that reach memory, a scalar or another block.
#
# A row whose length isn't a multiple of the vector length ends in a partial vector. A load returns 0 in its excess
# lanes, even if no element of the row can be 0: a quotient there may be NaN, which has no integer value. Compiled code
# computes these lanes and never stores them. Like poison in LLVM, they are harmless unless they are observed.

Lanes = npt.NDArray[np.bool_]

_DIALECTS = frozenset({"arith", "math"})
"""The dialects in which all operations are lane-wise."""
_OPERATIONS = (FMAOp, CompareOp, ConvertOp, RoundToIntOp, SelectOp)
"""Operations of other dialects that are lane-wise if they keep the number of lanes (a `bitcast` may not)."""


def _lanes(value: SSAValue) -> int | None:
    """Returns the number of lanes of a 1-D vector, or `None` for any other type."""
    type_ = as_vector(value.type)
    return type_.get_shape()[0] if type_ is not None and type_.get_num_dims() == 1 else None


def _is_lanewise(op: Operation) -> bool:
    """Returns True if each lane of the only result depends on the same lane of the operands, all 1-D vectors."""
    sizes = {_lanes(value) for value in (*op.operands, *op.results)}
    is_known = op.dialect_name() in _DIALECTS or isinstance(op, _OPERATIONS)
    return is_known and len(op.results) == 1 and len(sizes) == 1 and None not in sizes


def _observed_by(user: Operation, position: int, known: Mapping[SSAValue, Lanes]) -> Lanes | bool:
    """Returns the lanes of the operand at `position` that `user` observes or passes on to observed lanes."""
    match user:
        case StorePartialOp():
            count = ConstantLike.get_constant_value(user.count)
            return not isinstance(count, IntegerAttr) or np.arange(lanes_of(user.vector)) < count.value.data
        case NarrowOp():
            ends = np.cumsum([lanes_of(value) for value in user.values])
            return np.split(known[user.result], ends[:-1])[position]
        case _:
            return not _is_lanewise(user) or known[user.results[0]]


def _from(op: Operation) -> Iterator[Operation]:
    """Yields `op` and the operations after it in its block."""
    each: Operation | None = op
    while each is not None:
        yield each
        each = each.next_op


def _observed_lanes(op: Operation, block: Block) -> Lanes:
    """Returns the observed lanes of the result of `op`, by a backward walk from the end of its block."""
    known: dict[SSAValue, Lanes] = {}
    for each in reversed(list(_from(op))):
        for value in each.results:
            if (lanes := _lanes(value)) is None:
                continue
            known[value] = np.zeros(lanes, np.bool_)
            for use in value.uses:
                user = use.operation
                known[value] |= user.parent is not block or _observed_by(user, use.index, known)
    return known[op.results[0]]


def with_observed_lanes(op: Operation, operands: Sequence[Any]) -> list[Any] | None:
    """Returns `operands` with every unobserved lane replaced with an observed lane.

    Returns `None` if `op` isn't lane-wise, if all of its lanes are observed, or if none are.
    """
    if op.parent is None or not _is_lanewise(op):
        return None
    observed = _observed_lanes(op, op.parent)
    if observed.all() or not observed.any():
        return None
    return [np.where(observed, value, value[observed.argmax()]) for value in operands]
