"""Weights as the layout of a variant takes them, and what that changes of the sums.

Constants are packed with NumPy; weights that are computed are packed by structured operations.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import AnyFloat, f32, f64, i8, i16, i32, i64
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from qmlir.analysis.readings import is_movement, output_maps, permutation_of, readings_of
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.kernel.attributes import LayoutAttr
from qmlir.dialects.kernel.contraction import ContractionOp, ConvOp, MatMulOp
from qmlir.dialects.kernel.lowering.lowering import Input, Lowering, constant_array, unchanged
from qmlir.dialects.kernel.lowering.scalars import Scalar
from qmlir.dialects.kernel.ops import shaped
from qmlir.dialects.kernel.packed_ops import product_weights, window_weights, winograd_weights
from qmlir.dialects.kernel.variants import WeightLayout
from qmlir.dialects.kernel.winograd import WinogradOp
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.isa.conditions import has_offset_bytes
from qmlir.targets.cpu.scheduled.dequantized import FUSED, dequantized_weights
from qmlir.targets.cpu.scheduled.expansion import expanded_weights
from qmlir.text.elements import integers_of

_DTYPES: dict[Attribute, type[np.generic]] = {
    i8: np.int8, i16: np.int16, i32: np.int32, i64: np.int64, f32: np.float32, f64: np.float64,
}  # fmt: skip


def pack_computed(layout: WeightLayout, at: Lowering, weights: SSAValue) -> SSAValue:
    """Weights that are computed in a run, packed by operations.

    Those that were only moved are read from there; those that are computed of constants come packed.
    """
    expanded = expanded_weights(at, weights, layout)
    if expanded is not None:
        return expanded
    if layout.padded == layout.unpadded and layout.variant.parts == 1:
        packed = _packed_from_source(layout, at, weights)
        if packed is not None:
            return at.reshape(packed, layout.shape)
    source = at.reshape(weights, layout.unpadded)
    border = [after - before for before, after in zip(layout.unpadded, layout.padded, strict=True)]
    padded = at.pad(source, [0] * len(border), border, 0)
    return at.reshape(at.transpose(at.reshape(padded, layout.split), layout.order), layout.shape)


def _packed_from_source(layout: WeightLayout, at: Lowering, weights: SSAValue) -> SSAValue | None:
    """The elements in the order of packed weights, each read where it lay before it was moved.

    `None` where an axis of the weights and one of the layout each hold a part of the other.
    """
    shape, element = shaped(weights)
    own, split = _starts(shape), _starts(layout.split)
    steps = sorted({*own, *split, math.prod(shape)})
    if any(large % small for small, large in itertools.pairwise(steps)):
        return None
    sizes = {small: large // small for small, large in itertools.pairwise(steps)}

    def parts(starts: Sequence[int], shape: Sequence[int], axis: int) -> list[int]:
        """The steps, the longest first, in which an axis moves through memory."""
        return [step for step in reversed(sizes) if starts[axis] <= step < starts[axis] * shape[axis]]

    order = [step for axis in layout.order for step in parts(split, layout.split, axis)]
    place: list[AffineExpr] = []
    for axis, start in enumerate(own):
        terms = [AffineExpr.dimension(order.index(step)) * (step // start) for step in parts(own, shape, axis)]
        place.append(sum(terms[1:], terms[0]) if terms else AffineExpr.constant(0))
    source, found = moved_from(weights, place)
    map_ = AffineMap(len(order), 0, tuple(found))
    return at.compute([Input(source, map_)], [sizes[step] for step in order], element, unchanged)


def _starts(shape: Sequence[int]) -> list[int]:
    """How many elements lie between neighbours along each axis."""
    return [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]


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


def weights_of(op: ContractionOp, layout: LayoutAttr) -> WeightLayout:
    """How `layout` wants the weights of `op`, which are not packed yet."""
    match op:
        case WinogradOp():
            found = winograd_weights(layout, op)
        case ConvOp():
            found = window_weights(layout, op)
        case _:
            *batches, channels, terms = shaped(op.w)[0]
            found = product_weights(layout, math.prod(batches), channels, terms)
    if found.fault:
        raise op_error(op, found.fault)
    return found


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


BYTE_MIDDLE = 128
"""What an unsigned byte is less of as a signed one of the same order."""


def signed_byte(byte: Scalar) -> Scalar:
    """An unsigned byte less 128: its highest bit is flipped, in a lane of one byte."""
    return byte ^ -BYTE_MIDDLE


def packed_weights(op: ContractionOp, at: Lowering, element: Attribute, more: int = 0) -> PackedWeights:
    """Each weight in the type `element`, exactly: without its zero point, or as a signed byte where that is none.

    Each of them is `more` than that.
    """
    number = op.weight_zero_point.value.data
    if more:
        return replace(_less(op, at, element, number, more), offset=more)
    if element == i8 and has_offset_bytes(op):
        taken = BYTE_MIDDLE if op.weight_unsigned is not None else 0
        return replace(_less(op, at, element, taken), offset=number - taken)
    return _less(op, at, element, number)


def _less(op: ContractionOp, at: Lowering, element: Attribute, number: int, more: int = 0) -> PackedWeights:
    """Each weight less its zero point, of which `number` is the one of all of them, and `more`, in the type `element`.

    Raises `DiagnosticError` for a constant that the type does not hold: a schedule written by hand may ask for one.
    """
    source, shape = shaped(op.w)[1], shaped(op.w)[0]
    is_unsigned = op.weight_unsigned is not None
    known = at.known(op.w)
    if known is None and element == f32 == source and (op.schedule is None or op.schedule.variant != FUSED):
        stored = dequantized_weights(op.w)
        known = None if stored is None else stored.reals()
    zero_points = None if op.weight_zero_points is None else at.known(op.weight_zero_points)
    if known is not None and (op.weight_zero_points is None or zero_points is not None):
        if isinstance(source, AnyFloat):
            return PackedWeights(known.astype(_DTYPES[element]), None)
        wide = integers_of(known, source, is_unsigned=is_unsigned)
        offset: Any = number
        if zero_points is not None:
            rows = zero_points.astype(np.int64)
            offset = rows[:, None] if isinstance(op, MatMulOp) else rows.reshape(-1, *(1,) * (len(shape) - 1))
        moved = wide - offset + more
        made = moved.astype(_DTYPES[element])
        if not np.array_equal(made, moved):
            raise at.error(f"has weights in [{moved.min()}, {moved.max()}], but its schedule packs them as {element}")
        return PackedWeights(made, None)
    if source == element and not number and not more and op.weight_zero_points is None:
        return PackedWeights(None, op.w)
    inputs = [Input(op.w, AffineMap.identity(len(shape)), is_unsigned)]
    if op.weight_zero_points is not None:
        inputs.append(Input(op.weight_zero_points, _rows(op, len(shape))))

    is_flipped = is_unsigned and source == element == i8 and number - more == BYTE_MIDDLE and len(inputs) == 1

    def body(weight: Scalar, *offsets: Scalar) -> Scalar:
        if weight.is_float:
            return weight.to(element)
        if is_flipped:
            return signed_byte(weight)
        wide = weight.to(i64 if element == i64 else i32)
        wide = wide - (offsets[0].to(wide.type) if offsets else number)
        return (wide + more if more else wide).to(element)

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
        known = op.form.sums_of_weights(weights.array) if isinstance(op, WinogradOp) else weights.array
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
