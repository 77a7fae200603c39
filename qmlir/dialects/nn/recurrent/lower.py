"""Lowering of recurrent layers to matrix products on the whole sequence, and a loop over time that carries the states.

The step is not implemented a second time: its parts, with their types, come from the same decomposition that unrolls
the layer. They are placed in the body of the loop as `nn` operations on the slice of the current step, and lowered
there like any other operations. Quantized and float layers are thus bit-identical to their parts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.dialects import scf, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    Float16Type,
    IndexType,
    TensorType,
    UnrealizedConversionCastOp,
    i32,
)
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import Rewriter

from qmlir.dialects.kernel.lowering.lowering import Lower, Lowering, plain_element
from qmlir.dialects.kernel.lowering.quantized import requantization_of
from qmlir.dialects.kernel.lowering.scalars import Scalar
from qmlir.dialects.nn.base import is_per_tensor
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.decomposition import assign_elements, components_of, current, is_quantized
from qmlir.dialects.nn.recurrent import ops
from qmlir.dialects.nn.recurrent.decompose import WALKS, AtTimeStep, Direction, State, Walk, prefix_of
from qmlir.dialects.nn.requantize import hand_on_requantization
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.builtin_types import tensor as tensor_type
from qmlir.ir.decomposition import Parts

TakeStep = Callable[[int, State], tuple[State, SSAValue]]
"""A function that computes the state after a position of the sequence, and the output, from the state before it."""

Place = SSAValue | int
"""The position of a step in the sequence: an `index` from the loop, or a constant."""


def _stand_in(element: Attribute, shape: Sequence[int]) -> SSAValue:
    """Returns a placeholder of an `nn` type, for a value that only the loop provides."""
    type_ = TensorType(cast(Any, element), shape)
    return UnrealizedConversionCastOp.get([], [type_]).outputs[0]


@dataclass
class _Slices:
    """The slice `[1, N, H]` of a value `[T, N, H]` at the loop's position; each step requests its own once."""

    walk: "_Rolled"
    whole: SSAValue

    def __getitem__(self, position: int, /) -> SSAValue:
        slice_ = _stand_in(element_of(self.whole), (1, *shape_of(self.whole)[1:]))
        self.walk.slices.append((slice_, self.whole))
        return slice_


@dataclass
class _Running:
    """The mask of sequences that reach the loop's position."""

    walk: "_Rolled"
    column: SSAValue

    def __getitem__(self, position: int, /) -> SSAValue:
        if self.walk.number_here is None:
            self.walk.number_here = _stand_in(i32, ())
            self.walk.runs_here = self.walk.runs(self.walk.number_here, self.column)
        assert self.walk.runs_here is not None
        return self.walk.runs_here


@dataclass
class _Rolled(Direction):
    """A direction of which one step is built, on placeholders for values that vary by step."""

    slices: list[tuple[SSAValue, SSAValue]] = field(default_factory=list[tuple[SSAValue, SSAValue]])
    """Placeholders for slices at the current position, each with the whole sequence that is sliced."""

    number_here: SSAValue | None = None
    """The placeholder for the current position as an i32."""

    runs_here: SSAValue | None = None
    """The mask of the sequences that reach the current position."""

    def at_steps(self, role: str, value: SSAValue) -> AtTimeStep:
        return _Slices(self, value)

    def running(self, column: SSAValue) -> AtTimeStep:
        return _Running(self, column)


@dataclass
class _Step:
    """The detached parts of one step, on placeholders for the states and for values of its position."""

    parts: Parts
    before: State
    after: State
    output: SSAValue
    slices: list[tuple[SSAValue, SSAValue]]
    number_here: SSAValue | None

    @staticmethod
    def of(walk: _Rolled, take: TakeStep, before: State) -> "_Step":
        """Builds the step by applying `take` to the states `before`."""
        walk.parts, walk.slices, walk.number_here = Parts(walk.op), [], None
        after, output = take(0, before)
        return _Step(walk.parts, before, after, output, walk.slices, walk.number_here)

    def role(self, value: SSAValue) -> str:
        """Returns the role of the part that defines `value`."""
        return self.parts.roles[self.parts.operations.index(cast(OpResult, value).op)]


def _typed(op: ops.Layer, parts: Parts, giving: Mapping[Operation, Attribute]) -> bool:
    """Sets the types and the requantization of quantized parts; returns `False` if a type is unknown."""
    if not is_quantized(op):
        return True
    if not assign_elements(op, parts, giving):
        return False
    hand_on_requantization(op, parts.operations)
    return True


@dataclass
class _Way:
    """One direction of a layer that is being lowered to a loop."""

    op: ops.Layer
    at: Lowering
    walk: Walk
    way: int
    is_reversed: bool

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape of a state, `[1, N, H]`."""
        return (1, *ops.state_shape(self.op)[1:])

    @property
    def time(self) -> int:
        """The length of the sequence."""
        return shape_of(self.op.data)[0]

    def _state_element(self, number: int) -> Attribute:
        """Returns the element type of a state, which is that of the last one."""
        return element_of(self.op.results[1 + number])

    # --- States -------------------------------------------------------------------------------------------------------

    def _zeros(self, element: Attribute) -> tuple[SSAValue, Attribute]:
        zero = int(element.zero_points.reshape(-1)[0]) if isinstance(element, UniformQuantizedType) else 0
        return self.at.fill(self.shape, plain_element(element), zero), element

    def _initial(self, number: int) -> tuple[SSAValue, Attribute]:
        """Returns the initial state, at the integer level, and its original element type.

        Zeros take the type of the later states, which represents 0 exactly, so that all steps are equal. But integer
        modes round both terms of a sum to a scale that depends on their types; there, zeros keep their own type.
        """
        name = self.walk.states[number]
        given: SSAValue | None = getattr(self.op, f"initial_{name}")
        wanted = self._state_element(number)
        keeps_type = is_quantized(self.op) and not requantization_of(self.at).mode.uses_floats
        if given is None:
            own = components_of(self.op).get(f"{prefix_of(self.way)}{name}/initial", wanted)
            return self._zeros(own if keeps_type else wanted)
        if element_of(given) != wanted and not keeps_type and self._is_zero(given):
            return self._zeros(wanted)
        value = self.at.value(given)
        if self.op.directions > 1:
            value = self.at.slice(value, (self.way, 0, 0), self.shape)
        return value, element_of(given)

    def _is_zero(self, value: SSAValue) -> bool:
        known, element = self.at.known(value), element_of(value)
        return known is not None and is_per_tensor(element) and bool((known == element.zero_point).all())

    # --- The parts ----------------------------------------------------------------------------------------------------

    def _giving(self, step: _Step) -> dict[Operation, Attribute] | None:
        """Returns the element types of the parts that define the states and the output of a step.

        Returns `None` if they vary by step, or differ from those of the results: then there is no loop.
        """
        components = components_of(self.op)
        pairs = [(value, self._state_element(number)) for number, value in enumerate(step.after)]
        giving: dict[Operation, Attribute] = {}
        for value, element in [*pairs, (step.output, element_of(self.op.results[0]))]:
            part = cast(OpResult, value).op
            if giving.setdefault(part, element) != element or components.get(step.role(value), element) != element:
                return None
        return giving

    def _finish(self, step: _Step) -> bool:
        """Sets the types of the parts of a step, and of its slices of values known so far."""
        for index, (slice_, whole) in enumerate(step.slices):
            type_ = TensorType(cast(Any, element_of(current(whole))), shape_of(slice_))
            step.slices[index] = Rewriter.replace_value_with_new_type(slice_, type_), current(whole)
        giving = self._giving(step)
        if giving is None or not _typed(self.op, step.parts, giving):
            return False
        step.after, step.output = tuple(map(current, step.after)), current(step.output)
        return True

    def _steps(self, elements: Sequence[Attribute]) -> list[_Step] | None:
        """Builds the parts of the loop's step and, if the initial states have other types, of a first step before it.

        Inserts the parts common to all steps before the layer.
        """
        common = Parts(self.op)
        walk = _Rolled(self.op, common, self.way)
        take = self.walk.step(walk)
        wanted = [self._state_element(number) for number in range(len(self.walk.states))]
        kinds = [wanted] if list(elements) == wanted else [wanted, elements]
        steps = [
            _Step.of(walk, take, tuple(_stand_in(element, self.shape) for element in each)) for each in kinds
        ]  # build all before typing any: a new type creates a new value, but `take` refers to old ones
        if not _typed(self.op, common, {}) or not all(map(self._finish, steps)):
            for parts in (*(step.parts for step in steps), common):
                parts.discard()
            return None
        constants = [part for step in steps for part in step.parts.operations if isinstance(part, ConstantOp)]
        self.at.rewriter.insert([*common.operations, *constants])
        return steps

    # --- The loop -----------------------------------------------------------------------------------------------------

    def _slice(self, at: Lowering, whole: SSAValue, position: Place, like: SSAValue) -> SSAValue:
        """Returns the slice of a step, in its own type."""
        plain, shape = at.types.operand(at.rewriter, whole), shape_of(like)
        type_ = TensorType(cast(Any, element_of(plain)), shape)
        offsets = [position, *(0 for _ in shape[1:])]
        part = at.insert(tensor.ExtractSliceOp(plain, offsets, shape, [1] * len(shape), type_))
        return at.types.restored(at.rewriter, part, like.type)

    def _number(self, at: Lowering, position: Place) -> SSAValue:
        scalar = at.scalar(position, i32) if isinstance(position, int) else Scalar(position, at.builder).to(i32).value
        empty = at.empty((), i32)
        return at.insert(linalg.FillOp([scalar], [empty], [empty.type]))

    def _put(self, at: Lowering, whole: SSAValue, output: SSAValue, position: Place) -> SSAValue:
        """Inserts the output of a step into `[T, D, N, H]`."""
        sizes = (1, *self.shape)
        offsets, dynamic = ([position], []) if isinstance(position, int) else ([DYNAMIC_INDEX], [position])
        part = at.reshape(output, sizes)
        return at.insert(tensor.InsertSliceOp.get(part, whole, sizes, [*offsets, self.way, 0, 0], offsets=dynamic))

    def _emit(self, at: Lowering, step: _Step, position: Place, carried: Sequence[SSAValue]) -> list[SSAValue]:
        """Inserts the parts of a step at the insertion point of `at`; returns the carried values: states, then all
        outputs."""
        values = [*step.after, step.output]
        count = len(step.before)
        stands_for = [
            (each, at.types.restored(at.rewriter, state, each.type))
            for each, state in zip(step.before, carried, strict=False)
        ]
        stands_for += [(each, self._slice(at, whole, position, each)) for each, whole in step.slices]
        if step.number_here is not None:
            stands_for.append((step.number_here, self._number(at, position)))
        for stand_in, value in stands_for:
            stand_in.replace_all_uses_with(value)
            cast(OpResult, stand_in).op.erase()
        at.rewriter.insert([part for part in step.parts.operations if not isinstance(part, ConstantOp)])
        *states, output = (at.types.operand(at.rewriter, value) for value in values)
        return [*states, *(self._put(at, whole, output, position) for whole in carried[count:])]

    def _position(self, at: Lowering, index: SSAValue) -> SSAValue:
        """Returns the position of the walk after `index` steps."""
        return ((self.time - 1) - Scalar(index, at.builder)).value if self.is_reversed else index

    def run(self, whole: SSAValue | None) -> list[SSAValue] | None:
        """Returns the last states, and `whole` with the outputs of this direction; `None` if the layer cannot be a
        loop."""
        initial = [self._initial(number) for number in range(len(self.walk.states))]
        steps = self._steps([element for _, element in initial])
        if steps is None:
            return None
        body, *first = steps
        carried = [*(value for value, _ in initial), *(() if whole is None else (whole,))]
        for step in first:
            carried = self._emit(self.at, step, self.time - 1 if self.is_reversed else 0, carried)
        block = Block(arg_types=[IndexType(), *(value.type for value in carried)])
        end = scf.YieldOp()
        block.add_op(end)
        rewriter = PatternRewriter(end)
        rewriter.extend_from_listener(self.at.rewriter)
        inside = Lowering(end, rewriter, self.at.types)
        index, *so_far = block.args
        end.operands = self._emit(inside, body, self._position(inside, index), so_far)
        start, stop, stride = (self.at.scalar(number, IndexType()) for number in (len(first), self.time, 1))
        loop = scf.ForOp(start, stop, stride, carried, block)
        self.at.rewriter.insert(loop)
        return list(loop.results)


def _take_constants(op: ops.Layer, at: Lowering) -> None:
    """Restores constant operands of the layer to `nn` constants, which the parts slice."""
    for index, operand in enumerate(op.operands):
        known = at.known(operand)
        if known is not None:
            constant = ConstantOp.of(known, tensor_type(operand.type))
            at.rewriter.insert(constant)
            op.operands[index] = constant.result


def _layer(op: ops.Layer, at: Lowering) -> Sequence[SSAValue] | None:
    at.value(op.data)  # raises if the length is dynamic
    if isinstance(element_of(op.data), Float16Type | BFloat16Type):
        return None  # its parts: the layer in f32, whose results are rounded once
    _take_constants(op, at)
    elements = [element_of(result) for result in op.results]
    if any(isinstance(each, UniformQuantizedType) and each.granularity is not Granularity.TENSOR for each in elements):
        return None  # its parts, one step after another
    is_used = op.results[0].first_use is not None
    whole = at.empty(at.result_shape(0), at.result_element(0))
    walked: list[list[SSAValue]] = []
    for way, is_reversed in enumerate(op.walks):
        found = _Way(op, at, WALKS[type(op)], way, is_reversed).run(whole if is_used else None)
        if found is None:
            return None
        if is_used:
            whole = found.pop()
        walked.append(found)
    return [whole, *(at.concat(states, 0) for states in zip(*walked, strict=True))]


LOWERINGS: dict[type[Operation], Lower] = dict.fromkeys(WALKS, _layer)
