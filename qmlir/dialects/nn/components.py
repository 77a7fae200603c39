"""Evaluation of quantized composites by their parts, whose types the property `components` holds.

Float composites keep their direct evaluators, because a profiled range does not change any value. Recurrent layers are
evaluated step by step: the parts of only three steps are built, however long the sequence is.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, Float32Type, TensorType
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.base import NnOp, plain_type
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.decomposition import current, with_types
from qmlir.dialects.nn.evaluation import is_quantized
from qmlir.dialects.nn.recurrent.decompose import WALKS, Direction, StepParts, unrolled
from qmlir.dialects.nn.recurrent.ops import Layer
from qmlir.dialects.nn.requantize import decompose, hand_on_requantization, temporary_parts
from qmlir.ir import evaluation
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.decomposition import Parts
from qmlir.ir.evaluation import ByOperation, Evaluator, Layout, RegionEvaluator, Results, evaluate, operand_groups
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
    values = _by_operand(op, arguments)
    if isinstance(op, Layer) and (found := of_steps(op, values, watch)) is not None:
        return found
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


def _or_parts(evaluator: Evaluator) -> ByOperation:
    def choose(op: NnOp) -> Evaluator | RegionEvaluator:
        if op.components is not None and any(is_quantized(value) for value in op.data_operands()):
            return of_parts
        return evaluator.choose(op) if isinstance(evaluator, ByOperation) else evaluator

    return ByOperation(choose)


def with_components(evaluators: Mapping[type[Operation], Evaluator]) -> dict[type[Operation], Evaluator]:
    """Extends the evaluators of composites: those with typed parts are evaluated part by part."""
    return {operation: _or_parts(evaluator) for operation, evaluator in evaluators.items()}


# Recurrent layers.
#
# The first step reads the initial states, and the last step defines results of the layer. All other steps have the
# roles and types of the middle step. The integers are thus identical to those of the parts of all steps.

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

    def run(self, values: dict[SSAValue, Any], watch: Watch | None) -> None:
        """Evaluates the part, and adds the results to `values`."""
        found = self.evaluator(
            self.op, *evaluation.arguments_by(self.layout, [values[each] for each in self.op.operands])
        )
        values.update(zip(self.op.results, found, strict=True))
        if watch is not None:
            watch(self.role, self.op, found)


@dataclass(frozen=True)
class _Walk:
    """One direction: its steps in execution order, and the parts that vary by position."""

    direction: Direction
    parts: Mapping[int, _Part]
    """The parts that are computed in each run, by their indices."""

    running: Sequence[_Part]
    """The masks of sequences that reach each position, if the layer has lengths."""

    def _run_step(
        self, step: StepParts, position: int, values: dict[SSAValue, Any], watch: Watch | None
    ) -> tuple[list[Any], Any]:
        """Returns the states after `step` at `position` in the sequence, and its output."""
        for split in self.direction.splits:
            values[split.results[step.position]] = values[split.operands[0]][position : position + 1]
        if self.running:
            runs = self.running[step.position]
            values[runs.op.operands[0]] = np.array(position, np.int32)
            runs.run(values, watch)
        for number in range(step.start, step.end):
            if number in self.parts:
                self.parts[number].run(values, watch)
        return [values[current(each)] for each in step.after], values[current(step.output)]

    def run(self, time: int, values: dict[SSAValue, Any], watch: Watch | None) -> Array:
        """Returns the hidden states of all positions, `[T, N, H]`, and adds the last states to `values`."""
        first, middle, last = self.direction.taken
        positions = range(time)[:: -1 if first.position else 1]
        outputs: dict[int, Any] = {}
        for number, position in enumerate(positions):
            step = first if number == 0 else last if number == time - 1 else middle
            after, outputs[position] = self._run_step(step, position, values, watch)
            if number < time - 2:
                values.update(zip(map(current, middle.before), after, strict=True))
        return np.concatenate([outputs[position] for position in range(time)])


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

    def run(self, time: int, arguments: Sequence[Any], watch: Watch | None) -> Results:
        """Evaluates the parts on the values of the operands."""
        values = {**self.constants, **dict(zip(self.arguments, arguments, strict=True))}
        joined: dict[int, Array] = {}
        number = 0
        while number < self.count:
            if (walk := self.walks.get(number)) is not None:
                joined[number] = walk.run(time, values, watch)
                number = walk.direction.taken[-1].end
                continue
            part = self.parts.get(number)
            if part is not None and number in self.joins:
                values[part.op.results[0]] = joined[self.joins[number]]
            elif part is not None and number in self.sequences:
                values[part.op.results[0]] = values[part.op.operands[0]][:, None]
            elif part is not None:
                part.run(values, watch)
            number += 1
        return tuple(values[result] for result in self.results)


def _prepared(parts: Parts, skipped: frozenset[Operation]) -> Iterator[tuple[int, _Part]]:
    for number, (role, part) in enumerate(zip(parts.roles, parts.operations, strict=True)):
        if isinstance(part, ConstantOp) or part in skipped:
            continue
        evaluator = evaluation.evaluator_of(part)
        if evaluator is None or isinstance(evaluator, RegionEvaluator):
            raise InterpretationError(f"{part.name}, a part of {parts.composite.name}, has no evaluator")
        yield number, _Part(role, part, evaluator, evaluation.operand_layout(part))


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
    constants: dict[SSAValue, Array] = {each.result: each.array for each in made}
    return _Plan(
        [each for each in operands if not isinstance(each, OpResult)],
        constants, prepared, walks, joins, sequences, results, len(parts.operations),
    )  # fmt: skip


def of_steps(op: Layer, values: Mapping[SSAValue, Any], watch: Watch | None) -> Results | None:
    """Evaluates `op` by its parts on the `values` of its operands.

    Returns `None` if the parts of all steps must be built. `watch` is called for each part of each step.
    """
    time = len(values[op.data])
    if time <= STEPS or plain_type(element_of(op.data)) != Float32Type():
        return None
    operands: list[tuple[Attribute, Attribute | None]] = []
    arguments: list[Any] = []
    for value in op.operands:
        if value is not op.data and isinstance(value, OpResult) and isinstance(value.op, ConstantOp):
            operands.append((value.type, value.op.value))
            continue
        shape = np.shape(values[value])
        shape = (STEPS, *shape[1:]) if value is op.data else shape
        operands.append((TensorType(cast(Any, element_of(value)), shape), None))
        arguments.append(values[value])
    known = _Known(
        type(op), frozenset(op.properties.items()), tuple(map(element_of, op.results)), tuple(operands),
        tuple(origins_of(op)),
    )  # fmt: skip
    plan = _plan(known)
    if isinstance(plan, str):
        raise InterpretationError(f"the components of {op.name} {plan}")
    return plan.run(time, arguments, watch)
