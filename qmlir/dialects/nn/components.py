"""Evaluation of quantized composites by their parts, whose types the property `components` holds.

Float composites keep their direct evaluators, because a profiled range does not change any value. Recurrent layers are
evaluated step by step: the parts of only three steps are built, however long the sequence is. Several runs take their
steps together, because a step costs the calls of its functions rather than their elements.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, Float32Type, TensorType
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic.arrays import Array, magnitude
from qmlir.dialects.nn.base import NnOp, is_per_tensor, plain_type
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.contraction.evaluate import matmul_by
from qmlir.dialects.nn.contraction.ops import MatMulOp
from qmlir.dialects.nn.decomposition import current, with_types
from qmlir.dialects.nn.elementwise.ops import UnaryOp
from qmlir.dialects.nn.evaluation import centering, is_quantized
from qmlir.dialects.nn.recurrent.decompose import WALKS, Direction, StepParts, unrolled
from qmlir.dialects.nn.recurrent.ops import DynamicLstmOp, Layer, LstmLayer
from qmlir.dialects.nn.requantize import decompose, hand_on_requantization, temporary_parts
from qmlir.dialects.quant.infer import storage_dtype
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir import evaluation
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.decomposition import Parts
from qmlir.ir.evaluation import (
    ByOperation,
    Evaluator,
    Layout,
    RegionEvaluator,
    Results,
    Together,
    evaluate,
    operand_groups,
)
from qmlir.ir.provenance import Origin, origins_of, set_origins

Watch = Callable[[str, Operation, Sequence[Any]], None]
"""A callback that receives each part: its role, the operation, and its results."""


def _by_operand(op: NnOp, arguments: tuple[Any, ...]) -> dict[SSAValue, Any]:
    """Returns the value of each operand of `op`."""
    values: dict[SSAValue, Any] = {}
    for (_, _, operands), argument in zip(operand_groups(op), arguments, strict=True):
        each = cast(tuple[Any, ...], argument) if isinstance(argument, tuple) else (argument,)
        values.update(zip(operands, each, strict=False))
    return values


def of_parts(op: NnOp, *arguments: Any, watch: Watch | None = None) -> Results:
    """Evaluates a composite part by part."""
    (found,) = of_parts_together(op, [arguments], [watch])
    return found


def of_parts_together(op: NnOp, runs: Sequence[Sequence[Any]], watches: Sequence[Watch | None]) -> list[Results]:
    """Evaluates a composite part by part in several runs, each with its own `watch`.

    The parts of recurrent layers are evaluated on all runs at once, `[S, N, H]` instead of `[1, N, H]`.
    """
    values = [_by_operand(op, tuple(run)) for run in runs]
    found: dict[int, Results] = {}
    groups: dict[_Known, list[int]] = {}
    for number, own in enumerate(values):
        if isinstance(op, Layer) and (known := _known(op, own)) is not None:
            groups.setdefault(known, []).append(number)
        else:
            found[number] = _of_all_parts(op, tuple(runs[number]), own, watches[number])
    for known, numbers in groups.items():
        plan = _plan(known)
        if isinstance(plan, str):
            raise InterpretationError(f"the components of {op.name} {plan}")
        size = len(numbers) if plan.is_joint else 1
        for start in range(0, len(numbers), size):
            chosen = numbers[start : start + size]
            results = plan.run([_Run(_of_operands(cast(Layer, op), values[each]), watches[each]) for each in chosen])
            found.update(zip(chosen, results, strict=True))
    return [found[number] for number in range(len(runs))]


def _of_all_parts(op: NnOp, arguments: tuple[Any, ...], values: dict[SSAValue, Any], watch: Watch | None) -> Results:
    with temporary_parts(op, may_be_excerpt=False) as parts:
        results = decompose(op, parts)
        if results is None:
            raise InterpretationError(f"'components' of {op.name} {parts.missing_type()}")
        if parts.is_excerpt:
            return _of_known_sizes(op, values, arguments, watch)
        for role, part in zip(parts.roles, parts.operations, strict=True):
            found = evaluate(part, [values[operand] for operand in part.operands])
            if found is None:
                raise InterpretationError(f"part '{part.name}' of {op.name} cannot be interpreted")
            values.update(zip(part.results, found, strict=True))
            if watch is not None:
                watch(role, part, found)
        return tuple(values[result] for result in results)


def _of_known_sizes(
    op: NnOp, values: Mapping[SSAValue, Any], arguments: tuple[Any, ...], watch: Watch | None
) -> Results:
    """Evaluates a composite of dynamic length by all its parts, with the actual sizes of the values."""
    is_open = [DYNAMIC_INDEX in shape_of(operand) for operand in op.operands]
    types = [TensorType(cast(Any, element_of(value)), np.shape(values[value])) for value in op.operands]
    stand_ins = iter(Block(arg_types=[type_ for type_, each in zip(types, is_open, strict=True) if each]).args)
    known = type(op).create(
        operands=[next(stand_ins) if each else value for value, each in zip(op.operands, is_open, strict=True)],
        result_types=op.result_types,
        properties=dict(op.properties),
        attributes=dict(op.attributes),
    )
    try:
        _infer_sizes(known)
        return of_parts(known, *arguments, watch=watch)
    finally:
        known.erase(safe_erase=False)


def _infer_sizes(op: NnOp) -> None:
    """Gives the results of `op` the shapes that follow from its operands."""
    for result, inferred in zip(tuple(op.results), op.infer_result_types(), strict=True):
        Rewriter.replace_value_with_new_type(result, TensorType(element_of(result), inferred.get_shape()))


PARTS = Together(lambda op, runs: of_parts_together(op, runs, [None] * len(runs)))
"""The evaluator of a recurrent layer by its parts."""


def _or_parts(evaluator: Evaluator) -> ByOperation:
    def choose(op: NnOp) -> Evaluator | RegionEvaluator:
        if op.components is not None and any(is_quantized(value) for value in op.data_operands()):
            return PARTS if isinstance(op, Layer) else of_parts
        return evaluator.choose(op) if isinstance(evaluator, ByOperation) else evaluator

    return ByOperation(choose)


def with_components(evaluators: Mapping[type[Operation], Evaluator]) -> dict[type[Operation], Evaluator]:
    """Extends the evaluators of composites: those with typed parts are evaluated part by part."""
    return {operation: _or_parts(evaluator) for operation, evaluator in evaluators.items()}


# Recurrent layers.
#
# The first step reads the initial states, and the last step defines results of the layer. All other steps have the
# roles and types of the middle step. The integers are thus identical to those of the parts of all steps.

TABULATED = 16
"""The maximum width, in bits, of values whose unary functions are computed once for all stored integers."""

STEPS = 3
"""The number of steps for which parts are built."""

_KEPT = 16
"""The number of layers whose parts are cached for evaluating further samples."""


@dataclass(frozen=True)
class _Known:
    """The cache key: everything that the parts of a layer depend on."""

    kind: type[Operation]
    properties: frozenset[tuple[str, Attribute]]
    elements: tuple[Attribute, ...]
    """The element types of the results."""

    operands: tuple[tuple[Attribute, Attribute | None], ...]
    """The type of each operand, and its elements if it is a constant."""

    origins: tuple[Origin, ...]


@dataclass(frozen=True)
class _Part:
    """A part with its prepared evaluator."""

    role: str
    op: Operation
    evaluator: Evaluator
    layout: Layout
    operands: tuple[SSAValue, ...]
    results: tuple[SSAValue, ...]

    @staticmethod
    def of(role: str, op: Operation, evaluator: Evaluator) -> "_Part":
        """Prepares a part."""
        layout = evaluation.operand_layout(op)
        return _Part(role, op, _evaluator(op, evaluator), layout, tuple(op.operands), tuple(op.results))

    def run(self, values: dict[SSAValue, Any], watches: Sequence[Watch | None] = ()) -> None:
        """Evaluates the part, and adds the results to `values`; `watches` has one entry per run if any run has one."""
        found = self.evaluator(self.op, *evaluation.arguments_by(self.layout, [values[each] for each in self.operands]))
        values.update(zip(self.results, found, strict=True))
        for number, watch in enumerate(watches):
            if watch is not None:
                watch(self.role, self.op, found if len(watches) == 1 else [_of_run(each, number) for each in found])


def _of_run(array: Array, number: int) -> Array:
    """Returns the rows of a run; a single row, such as that of an omitted initial state, belongs to all runs."""
    return array if len(array) == 1 else array[number : number + 1]


@dataclass
class _Run:
    """One of the runs that are evaluated together."""

    arguments: Sequence[Any]
    watch: Watch | None
    values: dict[SSAValue, Any] = field(default_factory=dict[SSAValue, Any])


@dataclass(frozen=True)
class _Walk:
    """One direction: its steps in execution order, and the parts that vary by position."""

    direction: Direction
    parts: Mapping[int, _Part]
    """The parts that are computed in each run, by their indices."""

    running: Sequence[_Part]
    """The masks of sequences that reach each position, if the layer has lengths."""

    def _run_step(self, step: StepParts, values: dict[SSAValue, Any], watches: Sequence[Watch | None]) -> None:
        if self.running:
            self.running[step.position].run(values, watches)
        for number in range(step.start, step.end):
            if number in self.parts:
                self.parts[number].run(values, watches)

    def _is_backward(self) -> bool:
        return bool(self.direction.taken[0].position)

    def _laid_out(self, runs: Sequence[_Run], source: SSAValue) -> Array:
        """Returns the inputs of all steps in execution order, `[T, S, N, H]`."""
        arrays = [run.values[source] for run in runs]
        result = np.zeros((len(arrays[0]), len(runs), *arrays[0].shape[1:]), arrays[0].dtype)
        for number, array in enumerate(arrays):
            result[: len(array), number] = array[:: -1 if self._is_backward() else 1]
        return result

    def run(self, times: Sequence[int], runs: Sequence[_Run]) -> list[Array]:
        """Returns the hidden states of all positions in each run, `[T, N, H]`, and adds the last states to its values.

        The runs are in the order of their `times`, the longest first, so that those that go on are the first rows.
        """
        first, middle, last = self.direction.taken
        watches = [run.watch for run in runs] if any(run.watch for run in runs) else []
        inputs = [(split, self._laid_out(runs, split.operands[0])) for split in self.direction.splits]
        values = dict(runs[0].values)
        state = [_of_runs(runs, value) for value in map(current, first.before)]
        columns = {part.op.operands[1]: _of_runs(runs, part.op.operands[1]) for part in self.running}
        outputs: list[list[Array]] = [[] for _ in runs]
        ended = len(runs)
        for number in range(times[0]):
            going = sum(time > number + 1 for time in times[:ended])
            taken = [(middle if number else first, 0, going), (last, going, ended)]
            after: list[Any] = []
            for step, start, end in taken:
                if start == end:
                    continue
                rows = slice(start, end)
                for split, laid_out in inputs:
                    values[split.results[step.position]] = laid_out[number, rows]
                values.update(zip(map(current, step.before), (_rows(each, rows) for each in state), strict=True))
                if self.running:
                    positions = [time - 1 - number if self._is_backward() else number for time in times[rows]]
                    values[self.running[step.position].op.operands[0]] = np.array(positions, np.int32)[:, None, None]
                    values.update((column, _rows(array, rows)) for column, array in columns.items())
                self._run_step(step, values, watches[rows])
                for place in range(end - start):
                    outputs[start + place].append(_of_run(values[current(step.output)], place))
                if step is not last:
                    after = [values[current(each)] for each in step.after]
                    continue
                for place, run in enumerate(runs[rows]):
                    run.values.update({each: _of_run(values[each], place) for each in map(current, last.after)})
            state, ended = after, going
        return [np.concatenate(each[:: -1 if self._is_backward() else 1]) for each in outputs]


def _rows(array: Array, rows: slice) -> Array:
    return array if len(array) == 1 else array[rows]


def _of_runs(runs: Sequence[_Run], value: SSAValue) -> Array:
    """Returns a value before the steps, `[S, N, H]`; `[1, N, H]` if it is the same in all runs."""
    arrays = [run.values[value] for run in runs]
    return arrays[0] if all(each is arrays[0] for each in arrays) else np.concatenate(arrays)


@dataclass(frozen=True)
class _Plan:
    """The prepared parts of a layer."""

    arguments: Sequence[SSAValue]
    constants: Mapping[SSAValue, Array]
    parts: Mapping[int, _Part]
    walks: Mapping[int, _Walk]
    """The walks, by the index of the first part of their first step."""

    joins: Mapping[int, int]
    """Maps the index of a part that joins all hidden states of a direction to that of its walk."""

    sequences: frozenset[int]
    """The parts that add an axis of directions to the hidden states of each direction."""

    results: Sequence[SSAValue]
    count: int
    is_joint: bool
    """Whether several runs may take their steps together: weights are constant, and no step has a range of its own."""

    def run(self, runs: Sequence[_Run]) -> list[Results]:
        """Evaluates the parts on the values of the operands in each run."""
        for run in runs:
            run.values.update({**self.constants, **dict(zip(self.arguments, run.arguments, strict=True))})
        lengths = [len(run.values[self.arguments[0]]) for run in runs]
        order = sorted(range(len(runs)), key=lambda number: -lengths[number])
        times, ranked = [lengths[number] for number in order], [runs[number] for number in order]
        joined: dict[int, list[Array]] = {}
        number = 0
        while number < self.count:
            if (walk := self.walks.get(number)) is not None:
                joined[number] = walk.run(times, ranked)
                number = walk.direction.taken[-1].end
                continue
            part = self.parts.get(number)
            for rank, run in enumerate(ranked if part is not None else ()):
                assert part is not None
                if number in self.joins:
                    run.values[part.op.results[0]] = joined[self.joins[number]][rank]
                elif number in self.sequences:
                    run.values[part.op.results[0]] = run.values[part.op.operands[0]][:, None]
                else:
                    part.run(run.values, [run.watch])
            number += 1
        return [tuple(run.values[result] for result in self.results) for run in runs]


def _tabulated(part: UnaryOp, evaluator: Evaluator) -> Evaluator:
    """Returns an evaluator that looks up the results for all stored values of at most 16 bits."""
    element = element_of(part.input)
    is_plain = is_per_tensor(element) and is_per_tensor(element_of(part.result))
    if not is_plain or not isinstance(element, UniformQuantizedType) or element.bits > TABULATED:
        return evaluator
    if not element.storage_min <= 0 <= element.storage_max:
        return evaluator

    @cache
    def table() -> Array:
        stored = np.arange(element.storage_min, element.storage_max + 1, dtype=storage_dtype(element))
        stored = np.roll(stored, element.storage_min)  # from 0 up, and negative values from the end, like indices
        return evaluator(part, stored.reshape(*(1 for _ in shape_of(part.input)[1:]), -1))[0].reshape(-1)

    def evaluate_by_table(op: Operation, stored: Array) -> Results:
        return (table()[stored],)

    return evaluate_by_table


def _evaluator(part: Operation, evaluator: Evaluator) -> Evaluator:
    """Returns an evaluator for a part of every step, which computes once whatever doesn't depend on the step."""
    if isinstance(part, UnaryOp):
        return _tabulated(part, evaluator)
    weight = part.rhs.owner if isinstance(part, MatMulOp) else None
    if not isinstance(part, MatMulOp) or not isinstance(weight, ConstantOp):
        return evaluator
    if not is_per_tensor(element := element_of(part.lhs)):
        return evaluator
    center, scale = centering(part.lhs, (1,) * len(shape_of(part.lhs)))
    ends = center(np.array([element.storage_min, element.storage_max]))
    multiply = matmul_by(part, weight.array, scale, magnitude(ends))

    def evaluate_product(op: Operation, lhs: Array, rhs: Array) -> Results:
        return multiply(center(lhs)) or evaluator(op, lhs, rhs)  # `None` if the terms of a sum differ in scale

    return evaluate_product


def _prepared(parts: Parts, skipped: frozenset[Operation]) -> Iterator[tuple[int, _Part]]:
    for number, (role, part) in enumerate(zip(parts.roles, parts.operations, strict=True)):
        if isinstance(part, ConstantOp) or part in skipped:
            continue
        evaluator = evaluation.evaluator_of(part)
        if evaluator is None or isinstance(evaluator, RegionEvaluator):
            raise InterpretationError(f"{part.name}, a part of {parts.composite.name}, has no evaluator")
        yield number, _Part.of(role, part, evaluator)


@lru_cache(_KEPT)
def _plan(known: _Known) -> _Plan | str:
    """Returns the plan of a layer, or the reason why its components are incomplete."""
    types = [type_ for type_, elements in known.operands if elements is None]
    arguments = iter(Block(arg_types=types).args)
    operands = [
        next(arguments)
        if elements is None
        else ConstantOp.create(properties={"value": elements}, result_types=[type_]).results[0]
        for type_, elements in known.operands
    ]
    op = cast(
        Layer,
        known.kind.create(
            operands=operands,
            result_types=[TensorType(cast(Any, element), [1]) for element in known.elements],
            properties=dict(known.properties),
        ),
    )
    set_origins(op, known.origins)
    _infer_sizes(op)
    parts, directions = Parts(op), list[Direction]()
    results = with_types(unrolled(WALKS[known.kind], directions))(op, parts)
    if results is None:
        return parts.missing_type()
    hand_on_requantization(op, parts.operations)
    splits = frozenset[Operation](split for each in directions for split in each.splits)
    prepared = dict(_prepared(parts, splits))
    numbers = {part: number for number, part in enumerate(parts.operations)}
    walks: dict[int, _Walk] = {}
    for each in directions:
        running = [prepared.pop(numbers[cast(OpResult, value).op]) for value in each.running_at]
        walks[each.taken[0].start] = _Walk(each, prepared, running)
    ends = {first: f"{walk.direction.prefix}hidden/" for first, walk in walks.items()}
    joins = {parts.roles.index(f"{end}sequence"): first for first, end in ends.items()}
    sequences = frozenset(parts.roles.index(f"{end}reshape") for end in ends.values())
    given = (value.op for value in operands if isinstance(value, OpResult))
    made = (each for each in (*given, *parts.operations) if isinstance(each, ConstantOp))
    by_run = op.data, op.lengths, op.initial_hidden, op.initial_cell if isinstance(op, LstmLayer) else None
    is_joint = not isinstance(op, DynamicLstmOp) and all(each in by_run or _is_held(op, each) for each in operands)
    constants: dict[SSAValue, Array] = {each.result: each.array for each in made}
    return _Plan(
        [each for each in operands if not isinstance(each, OpResult)],
        constants, prepared, walks, joins, sequences, results, len(parts.operations), is_joint,
    )  # fmt: skip


def _is_held(op: Layer, value: SSAValue) -> bool:
    """Returns True if a plan holds the operand `value`, because it is constant."""
    return value is not op.data and isinstance(value, OpResult) and isinstance(value.op, ConstantOp)


def _of_operands(op: Layer, values: Mapping[SSAValue, Any]) -> list[Any]:
    """Returns the values of the operands that are arguments of a plan."""
    return [values[value] for value in op.operands if not _is_held(op, value)]


def _known(op: Layer, values: Mapping[SSAValue, Any]) -> _Known | None:
    """Returns the key of the plan for the `values` of operands; `None` if the parts of all steps must be built."""
    if len(values[op.data]) <= STEPS or plain_type(element_of(op.data)) != Float32Type():
        return None
    operands: list[tuple[Attribute, Attribute | None]] = []
    for value in op.operands:
        if _is_held(op, value):
            operands.append((value.type, cast(ConstantOp, value.owner).value))
            continue
        shape = np.shape(values[value])
        shape = (STEPS, *shape[1:]) if value is op.data else shape
        operands.append((TensorType(cast(Any, element_of(value)), shape), None))
    return _Known(
        type(op), frozenset(op.properties.items()), tuple(map(element_of, op.results)), tuple(operands),
        tuple(origins_of(op)),
    )  # fmt: skip
