"""Weights in the layout of a schedule: padded, in blocks of channels, groups of terms beside each other.

A packed weight is `[groups, blocks, taps…, steps, vectors * lanes * group]`: what one step of the loop multiplies lies
in one piece, and each step follows the one before. Constants are packed here, with NumPy; weights that are computed are
packed by structured operations.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import AnyFloat, IntegerType, f32, f64, i8, i16, i32, i64
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from qmlir.analysis.readings import is_movement, output_maps, permutation_of, readings_of
from qmlir.dialects.kernel.attributes import ScheduleAttr
from qmlir.dialects.kernel.interleaved import QUAD
from qmlir.dialects.kernel.lowering.lowering import Input, Lowering, constant_array, unchanged
from qmlir.dialects.kernel.lowering.scalars import Scalar
from qmlir.dialects.kernel.ops import ContractionOp, ConvOp, MatMulOp, shaped
from qmlir.dialects.kernel.variants import (
    DEPTHWISE,
    DEPTHWISE_DOT,
    DEPTHWISE_PAIRS,
    I16_PAIRS,
    INTERLEAVED,
    S8S8_DOT,
    SHORT_STEPS,
    U8S2_DOT,
    U8S4_DOT,
    U8S8_DOT,
    WEIGHT_BITS,
    WINOGRAD,
    WINOGRAD_F4,
    WINOGRAD_F4_TAPS,
)
from qmlir.dialects.kernel.winograd import WinogradOp
from qmlir.ir.builtin_types import integer_list
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.isa.conditions import has_offset_bytes
from qmlir.text.elements import integers_of

Array = npt.NDArray[Any]

_NARROW: dict[str, IntegerType] = {
    U8S8_DOT: i8,
    U8S4_DOT: i8,
    U8S2_DOT: i8,
    **dict.fromkeys(SHORT_STEPS, i8),
    S8S8_DOT: i8,
    I16_PAIRS: i16,
    WINOGRAD: i16,
    WINOGRAD_F4: i16,
    WINOGRAD_F4_TAPS: i8,
    DEPTHWISE_DOT: i8,
    DEPTHWISE_PAIRS: i16,
}
"""What packed weights are held in; otherwise in the type of the sum."""

_DTYPES: dict[Attribute, type[np.generic]] = {
    i8: np.int8, i16: np.int16, i32: np.int32, i64: np.int64, f32: np.float32, f64: np.float64,
}  # fmt: skip


@dataclass(frozen=True)
class WeightLayout:
    """The sizes of a packed weight: `groups` by `channels` by `taps` by runs of `run` terms."""

    groups: int
    channels: int
    taps: tuple[int, ...]
    run: int
    schedule: ScheduleAttr

    @property
    def width(self) -> int:
        """The channels of a block."""
        return self.schedule.vectors * self.schedule.lanes

    @property
    def blocks(self) -> int:
        """The blocks of a group."""
        return -(-self.channels // self.width)

    @property
    def steps(self) -> int:
        """The groups of terms of a run, the last one padded; of weights that share bytes, groups of these."""
        return -(-self.run // (self.schedule.k_unroll * self.parts))

    @property
    def parts(self) -> int:
        """How many weights share a byte of memory: those of steps behind each other."""
        return 8 // WEIGHT_BITS.get(self.schedule.variant, 8)

    @property
    def reads_past(self) -> bool:
        """Whether the last step of a run reads terms of `x` that are not its own."""
        return self.run % (self.schedule.k_unroll * self.parts) != 0

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the packed weight."""
        return (self.groups, self.blocks, *self.taps, self.steps, self.width * self.schedule.k_unroll)

    @property
    def _unpadded(self) -> tuple[int, ...]:
        return (self.groups, self.channels, *self.taps, self.run)

    @property
    def _padded(self) -> tuple[int, ...]:
        return (self.groups, self.blocks * self.width, *self.taps, self.steps * self.parts * self.schedule.k_unroll)

    @property
    def _split(self) -> tuple[int, ...]:
        return (self.groups, self.blocks, self.width, *self.taps, self.steps * self.parts, self.schedule.k_unroll)

    @property
    def _order(self) -> tuple[int, ...]:
        rank = len(self._split)
        return (0, 1, *range(3, rank - 1), 2, rank - 1)

    def pack(self, weights: Array) -> Array:
        """Weights of any shape with these elements in this order, packed."""
        source = weights.reshape(self._unpadded)
        border = [(0, after - before) for before, after in zip(self._unpadded, self._padded, strict=True)]
        ordered = np.pad(source, border).reshape(self._split).transpose(self._order)
        return self._joined(ordered.reshape(*self.shape[:-2], self.steps, self.parts, self.shape[-1]))

    def _joined(self, steps: Array) -> Array:
        """Steps `[…, parts, width]` as bytes: the first one in the lowest bits."""
        if self.parts == 1:
            return np.ascontiguousarray(steps[..., 0, :])
        bits = 8 // self.parts
        placed = (steps.astype(np.int64) & ((1 << bits) - 1)) << (np.arange(self.parts) * bits)[:, None]
        return np.ascontiguousarray(placed.sum(axis=-2).astype(np.uint8).view(np.int8))

    def pack_computed(self, at: Lowering, weights: SSAValue) -> SSAValue:
        """The same by operations, for weights that nobody knows yet; where these were only moved, from there."""
        if self._padded == self._unpadded and not self.taps and self.parts == 1:
            return at.reshape(self._packed_from_source(at, weights), self.shape)
        source = at.reshape(weights, self._unpadded)
        border = [after - before for before, after in zip(self._unpadded, self._padded, strict=True)]
        padded = at.pad(source, [0] * len(border), border, 0)
        return at.reshape(at.transpose(at.reshape(padded, self._split), self._order), self.shape)

    def _packed_from_source(self, at: Lowering, weights: SSAValue) -> SSAValue:
        """`[groups, blocks, steps, channels, terms]`, each read where it lay before it was moved."""
        group, block, step, channel, term = (AffineExpr.dimension(axis) for axis in range(5))
        *batches, _, _ = shaped(weights)[0]
        sizes = (self.groups, self.blocks, self.steps, self.width, self.schedule.k_unroll)
        results = [
            *_unravelled(group, batches),
            _joined_axes(block, self.blocks, channel, self.width),
            _joined_axes(step, self.steps, term, self.schedule.k_unroll),
        ]
        source, place = moved_from(weights, results)
        map_ = AffineMap(len(sizes), 0, tuple(place))
        return at.compute([Input(source, map_)], sizes, shaped(weights)[1], unchanged)


def _joined_axes(outer: AffineExpr, count: int, inner: AffineExpr, size: int) -> AffineExpr:
    """The place along an axis that was cut in two."""
    if count == 1:
        return inner
    return outer if size == 1 else outer * size + inner


def _unravelled(place: AffineExpr, sizes: Sequence[int]) -> list[AffineExpr]:
    """The place along each axis of what was numbered through."""
    found: list[AffineExpr] = []
    for axis, size in enumerate(sizes):
        behind = math.prod(sizes[axis + 1 :])
        if size == 1:
            found.append(AffineExpr.constant(0))
            continue
        part = place if behind == 1 else place // behind
        found.append(part if math.prod(sizes[:axis]) == 1 else part % size)
    return found


def moved_from(value: SSAValue, place: Sequence[AffineExpr]) -> tuple[SSAValue, Sequence[AffineExpr]]:
    """What `value` was moved from, and where the element at `place` lay there."""
    while isinstance(op := value.owner, GenericOp) and is_movement(op):
        (reading,), (written,) = readings_of(op), output_maps(op)
        order = permutation_of(written)
        assert order is not None
        dims = [place[order.index(dim)] for dim in range(len(order))]
        place = [each.replace_dims_and_symbols(dims, ()) for each in reading.map_.results]
        value = reading.value
    return value, place


class InterleavedLayout(WeightLayout):
    """The sizes of weights of interleaved rows: a lane holds a group of rows of the window, `taps` are its sizes."""

    @property
    def _row_groups(self) -> int:
        return -(-self.taps[0] // self.schedule.k_unroll)

    @property
    def reads_past(self) -> bool:
        return False

    @property
    def shape(self) -> tuple[int, ...]:
        return (1, self.blocks, self._row_groups, self.taps[1], 1, self.width * self.schedule.k_unroll)

    @property
    def _unpadded(self) -> tuple[int, ...]:
        return (self.channels, *self.taps)

    @property
    def _padded(self) -> tuple[int, ...]:
        return (self.blocks * self.width, self._row_groups * self.schedule.k_unroll, self.taps[1])

    @property
    def _split(self) -> tuple[int, ...]:
        # A channel is a block of 128 bits, a register, and a place in the block.
        schedule, rows = self.schedule, (self._row_groups, self.schedule.k_unroll)
        return (self.blocks, schedule.lanes // QUAD, schedule.vectors, QUAD, *rows, self.taps[1])

    @property
    def _order(self) -> tuple[int, ...]:
        return (0, 4, 6, 2, 1, 3, 5)


class TapsTogetherLayout(WeightLayout):
    """The sizes of weights whose step has all taps of its terms: they are read, and transformed, together."""

    @property
    def _apart(self) -> WeightLayout:
        return WeightLayout(self.groups, self.channels, self.taps, self.run, self.schedule)

    @property
    def shape(self) -> tuple[int, ...]:
        groups, blocks, *taps, steps, elements = self._apart.shape
        return (groups, blocks, steps, *taps, elements)

    def pack(self, weights: Array) -> Array:
        return np.ascontiguousarray(np.moveaxis(self._apart.pack(weights), -2, 2))


def layout_of(op: ContractionOp, schedule: ScheduleAttr) -> WeightLayout:
    """How `schedule` wants the weights of `op`, which are not packed yet."""
    shape = shaped(op.w)[0]
    if isinstance(op, WinogradOp):
        kind = TapsTogetherLayout if op.form.takes_taps else WeightLayout
        return kind(1, shape[0], shape[1:-1], shape[-1], schedule)
    if not isinstance(op, ConvOp):
        return WeightLayout(math.prod(shape[:-2]), shape[-2], (), shape[-1], schedule)
    channels, taps, terms = shape[0], shape[1:-1], shape[-1]
    if schedule.variant in INTERLEAVED:
        if len(taps) != 2:
            raise op_error(op, f"has {len(taps)} axes of taps: '{schedule.variant}' packs rows and columns")
        return InterleavedLayout(1, channels, taps, terms, schedule)
    if schedule.variant == DEPTHWISE:
        return WeightLayout(1, channels, taps, terms, schedule)
    if op.group_count == 1 and integer_list(op.dilations)[-1] == 1:
        # The last taps lie beside each other in memory, as the channels do: one run through both.
        return WeightLayout(1, channels, (*taps[:-1], 1), taps[-1] * terms, schedule)
    return WeightLayout(op.group_count, channels // op.group_count, taps, terms, schedule)


def packed_element(op: ContractionOp, variant: str) -> Attribute:
    """The type that packed weights are held in."""
    return _NARROW.get(variant, op.accumulator_type)


@dataclass(frozen=True)
class PackedWeights:
    """Weights in the type they are packed in: numbers, or a value where they are computed."""

    array: Array | None
    value: SSAValue | None
    offset: int = 0
    """What each is more than without its zero point."""


def _rows(op: ContractionOp, rank: int) -> AffineMap:
    """From the axes of the weights to their output channel."""
    axis = rank - 2 if isinstance(op, MatMulOp) else 0
    return AffineMap(rank, 0, (AffineExpr.dimension(axis),))


def packed_weights(op: ContractionOp, at: Lowering, element: Attribute) -> PackedWeights:
    """Each weight in the type `element`, exactly: without its zero point, or as a signed byte where that is no byte."""
    number = op.weight_zero_point.value.data
    if element == i8 and has_offset_bytes(op):
        taken = 128 if op.weight_unsigned is not None else 0
        return replace(_less(op, at, element, taken), offset=number - taken)
    return _less(op, at, element, number)


def _less(op: ContractionOp, at: Lowering, element: Attribute, number: int) -> PackedWeights:
    """Each weight less its zero point, of which `number` is the one of all of them, in the type `element`."""
    source, shape = shaped(op.w)[1], shaped(op.w)[0]
    is_unsigned = op.weight_unsigned is not None
    known = at.known(op.w)
    zero_points = None if op.weight_zero_points is None else at.known(op.weight_zero_points)
    if known is not None and (op.weight_zero_points is None or zero_points is not None):
        if isinstance(source, AnyFloat):
            return PackedWeights(known.astype(_DTYPES[element]), None)
        wide = integers_of(known, source, is_unsigned=is_unsigned)
        offset: Any = number
        if zero_points is not None:
            rows = zero_points.astype(np.int64)
            offset = rows[:, None] if isinstance(op, MatMulOp) else rows.reshape(-1, *(1,) * (len(shape) - 1))
        return PackedWeights((wide - offset).astype(_DTYPES[element]), None)
    if source == element and not number and op.weight_zero_points is None:
        return PackedWeights(None, op.w)
    inputs = [Input(op.w, AffineMap.identity(len(shape)), is_unsigned)]
    if op.weight_zero_points is not None:
        inputs.append(Input(op.weight_zero_points, _rows(op, len(shape))))

    def body(weight: Scalar, *offsets: Scalar) -> Scalar:
        if weight.is_float:
            return weight.to(element)
        wide = weight.to(i64 if element == i64 else i32)
        wide = wide - (offsets[0].to(wide.type) if offsets else number)
        return wide.to(element)

    return PackedWeights(None, at.compute(inputs, shape, element, body))


def correction(op: ContractionOp, at: Lowering, weights: PackedWeights, offset: int) -> SSAValue | Array | None:
    """`-offset * sum(w)` of each output channel (in each batch of weights), `None` where the offset is 0.

    With weights `w = w' - z_w + p` and an input `x = x' - z_x + offset`, `sum (x' - z_x)(w' - z_w)` is
    `sum x w - offset * sum(w) - p * sum (x' - z_x)`: the last is `row_correction`.
    """
    element = op.accumulator_type
    if not offset or isinstance(element, AnyFloat):
        return None
    is_product = isinstance(op, MatMulOp)
    if weights.array is not None:
        known = op.form.sums_of_taps(weights.array) if isinstance(op, WinogradOp) else weights.array
        axes = (-1,) if is_product else tuple(range(1, known.ndim))
        sums = known.astype(np.int64).sum(axis=axes)
        return cast(Array, -offset * sums).astype(_DTYPES[element])
    assert weights.value is not None
    shape = shaped(weights.value)[0]
    axes = (len(shape) - 1,) if is_product else tuple(range(1, len(shape)))
    kept = [size for axis, size in enumerate(shape) if axis not in axes]
    sums = at.reduce(
        Input(weights.value, AffineMap.identity(len(shape))),
        axes,
        at.fill(kept, element, 0),
        lambda weight, so_far: so_far + weight.to(element),
    )
    identity = AffineMap.identity(len(kept))
    return at.compute([Input(sums, identity)], kept, element, partial(Scalar.__mul__, other=-offset))


def row_correction(op: ContractionOp, at: Lowering, weights: PackedWeights) -> SSAValue | None:
    """`-offset * sum(x - z_x)` of each row, `None` where weights have no offset."""
    if not weights.offset:
        return None
    shape, element = shaped(op.x)[0], op.accumulator_type
    kept, rank = shape[:-1], len(shape)
    sums = at.reduce(
        Input(op.x, AffineMap.identity(rank), op.input_unsigned is not None),
        (rank - 1,),
        at.fill(kept, element, -op.input_zero_point.value.data * shape[-1]),
        lambda each, so_far: so_far + each.to(element),
    )
    identity = AffineMap.identity(rank - 1)
    return at.compute([Input(sums, identity)], kept, element, partial(Scalar.__mul__, other=-weights.offset))


def constant_of(value: SSAValue) -> Array | None:
    """The elements of a constant tensor, `None` for a value that is computed."""
    return constant_array(value.owner) if isinstance(value.owner, Operation) else None


def row_map(op: ContractionOp) -> AffineMap:
    """From the dimensions of the result to those of a correction of its rows."""
    rank = len(shaped(op.target)[0])
    return AffineMap(rank, 0, tuple(AffineExpr.dimension(axis) for axis in range(rank - 1)))


def channel_map(op: ContractionOp, correction_rank: int) -> AffineMap:
    """From the dimensions of the result to those of a correction: the channel, behind the batches of weights."""
    rank = len(shaped(op.target)[0])
    batches = range(correction_rank - 1)
    return AffineMap(rank, 0, tuple(AffineExpr.dimension(axis) for axis in (*batches, rank - 1)))
