"""Ranges of contractions: sums by channel, packed pairs, 16-bit accumulators, and Winograd's transforms."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.arith import AddfOp, ConstantOp, MulfOp, SIToFPOp
from xdsl.dialects.builtin import FloatAttr, f32
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from qmlir.analysis.intervals import Interval, constant_elements, range_of_array, range_of_type, signed, times, unsigned
from qmlir.arithmetic.arrays import Array, integer_limits
from qmlir.arithmetic.exact_sums import limits_of_sums
from qmlir.dialects.kernel.attributes import LayoutAttr
from qmlir.dialects.kernel.contraction import ContractionOp, ConvOp, EpilogueOp, MatMulOp
from qmlir.dialects.kernel.ops import YieldOp, shaped
from qmlir.dialects.kernel.packed_ops import product_weights, window_weights
from qmlir.dialects.kernel.variants import Variant, WeightLayout
from qmlir.dialects.kernel.winograd import F2, KERNEL_SIZE, Algorithm, Matrix, WinogradOp, transformed
from qmlir.ir.builtin_types import as_integer, integer_list
from qmlir.text.elements import integers_of

LARGEST_INPUT = 255
"""What is read of the data at most: bytes without a sign."""

NEIGHBOURS = 2
"""The products that one instruction adds."""

REACH = integer_limits(16)[1] // LARGEST_INPUT
"""What the weights of one sign in a sum may add up to: 128, as 255 * 128 is 32640, and 255 * 129 is 32895."""

# Products of a matrix whose terms are cut into blocks, each with scales of its own.


def summed_over_blocks(op: ContractionOp) -> GenericOp | None:
    """What adds up the products of a matrix by blocks of terms, each block in f32 by a constant scale for each channel.

    These are `[blocks, M, N]`, of constant weights; they are added in ascending order from 0.
    """
    if not isinstance(op, MatMulOp) or op.result is None or len(shaped(op.target)[0]) != 3:
        return None
    if not isinstance(op.w.owner, ConstantOp) or len(shaped(op.w)[0]) != 3 or not _is_scaled_by_block(op):
        return None
    user = op.result.get_user_of_unique_use()
    if not isinstance(user, GenericOp) or len(user.operands) != 2 or user.inputs[0] is not op.result:
        return None
    block, row, channel = (AffineExpr.dimension(axis) for axis in range(3))
    maps = [AffineMap(3, 0, each) for each in ((block, row, channel), (row, channel))]
    kinds = [kind.data for kind in user.iterator_types]
    if [each.data for each in user.indexing_maps] != maps or kinds[0] is not IteratorType.REDUCTION:
        return None
    part, total = user.body.block.args
    added, last = user.body.block.first_op, user.body.block.last_op
    if not isinstance(added, AddfOp) or (added.lhs, added.rhs) != (total, part):
        return None
    if last is None or added.next_op is not last or last.operands[0] is not added.result:
        return None
    return user if _is_zero(user.outputs[0]) else None


def _is_scaled_by_block(op: MatMulOp) -> bool:
    """Whether the region is `scale * f32(sum)`, by a constant for each block and channel."""
    block = op.body.block
    first, second, last = (*block.ops, None, None, None)[:3]
    if not isinstance(first, SIToFPOp) or not isinstance(second, MulfOp) or not isinstance(last, YieldOp):
        return False
    block_and_channel = AffineMap(3, 0, (AffineExpr.dimension(0), AffineExpr.dimension(2)))
    return (
        len(op.epilogue) == 1
        and isinstance(op.epilogue[0].owner, ConstantOp)
        and op.epilogue_maps.data[0].data == block_and_channel
        and first.input is block.args[0]
        and {second.lhs, second.rhs} == {block.args[1], first.result}
        and last.arguments[0] is second.result
        and second.result.type == f32
    )


def _is_zero(value: SSAValue) -> bool:
    """Whether a tensor is filled with 0, which has no sign."""
    fill = value.owner
    number = fill.inputs[0].owner if isinstance(fill, FillOp) else None
    if not isinstance(number, ConstantOp) or not isinstance(number.value, FloatAttr):
        return False
    return math.copysign(1.0, number.value.value.data) > 0 and not number.value.value.data


# Bounds of contractions: of their sums by channel, of the operands of packed pairs, of those of Winograd's
# transforms.
#
# The bounds of sums are tight where every element of `x` may be any number of its interval: the largest sum takes
# the largest element where the weight is positive, the smallest where it is negative.


def elements_of_constant(value: SSAValue) -> Array | None:
    """The elements of a constant tensor."""
    return constant_elements(value.owner.value) if isinstance(value.owner, ConstantOp) else None


def _bits(value: SSAValue) -> int | None:
    integer = as_integer(shaped(value)[1])
    return None if integer is None else integer.width.data


def _centred(interval: Interval, value: SSAValue, zero_points: Interval, *, is_unsigned: bool) -> Interval | None:
    bits = _bits(value)
    if bits is None:
        return None
    if interval.is_empty:
        return Interval(0, 0)
    read = unsigned(interval, bits) if is_unsigned else signed(interval, bits)
    return Interval(read.low - zero_points.high, read.high - zero_points.low)


def centred_input(op: ContractionOp, x: Interval) -> Interval | None:
    """What `x - z_x` may be, for elements in an interval; `None` of floats."""
    zero = op.input_zero_point.value.data
    return _centred(x.whole, op.x, Interval(zero, zero), is_unsigned=op.input_unsigned is not None)


def _zero_points(op: ContractionOp) -> Interval:
    zero = op.weight_zero_point.value.data
    if op.weight_zero_points is None:
        return Interval(zero, zero)
    known = elements_of_constant(op.weight_zero_points)
    return range_of_type(shaped(op.weight_zero_points)[1]) if known is None else range_of_array(known)


def known_weights(op: ContractionOp) -> Array | None:
    """Constant weights without their zero points, as they lie in memory; `None` where they are computed."""
    known, bits = elements_of_constant(op.w), _bits(op.w)
    if known is None or bits is None or (bits == 64 and op.weight_unsigned is not None):
        return None
    zero_points: Any = op.weight_zero_point.value.data
    if op.weight_zero_points is not None:
        own = elements_of_constant(op.weight_zero_points)
        if own is None:
            return None
        rows = own.astype(np.int64)
        zero_points = rows[:, None] if isinstance(op, MatMulOp) else rows.reshape(-1, *(1,) * (known.ndim - 1))
    elif not zero_points and op.weight_unsigned is None and bits > 1:
        return known
    wide: Array = integers_of(known, shaped(op.w)[1], is_unsigned=op.weight_unsigned is not None)
    return np.asarray(wide.astype(np.int64 if bits <= 32 else object) - zero_points)


def centred_weights(op: ContractionOp, w: Interval) -> Interval | None:
    """What `w - z_w` may be; `None` of floats."""
    known = known_weights(op)
    if known is not None and known.dtype != object:
        found = range_of_array(known)
        return Interval(0, 0) if found.is_empty else found
    return _centred(w.whole, op.w, _zero_points(op), is_unsigned=op.weight_unsigned is not None)


def sum_interval(op: ContractionOp, x: Interval, w: Interval) -> Interval | None:
    """What the sums may be, an array of bounds by output channel where the weights are constants; `None` of floats."""
    left = centred_input(op, x)
    if left is None or _bits(op.w) is None:
        return None
    return _sums(op, left, w)


def _sums(op: ContractionOp, left: Interval, w: Interval, parts: int = 1) -> Interval:
    """The sums of elements of `x` in the interval `left`, or all of those of so many runs of channels each."""
    if isinstance(op, WinogradOp):
        # Whatever they are, after the shift.
        shift, own = op.form.shift_of_sums, op.part_count
        return Interval(own * (-(1 << 31) >> shift), own * ((1 << 31) - 1 >> shift))
    known = known_weights(op)
    if known is None:
        right = centred_weights(op, w)
        assert right is not None
        return times(times(left, right), Interval(op.terms() // parts, op.terms() // parts))
    if parts > 1:  # each as if it were one of several batches of weights
        known = np.stack(np.split(known, parts, axis=-1))
    axes = tuple(range(1 + (parts > 1), known.ndim)) if isinstance(op, ConvOp) else (-1,)
    low, high = limits_of_sums(known, axes, (left.low, left.high))
    if low.ndim > 1:  # batches of weights: a channel has the bound of all of them
        batches = tuple(range(low.ndim - 1))
        low, high = low.min(axis=batches), high.max(axis=batches)
    return Interval(low, high)


def channel_interval(op: EpilogueOp, value: SSAValue, map_: AffineMap, whole: Interval) -> Interval:
    """An epilogue operand: constants that have an element for each channel have bounds for each, too."""
    last = AffineDimExpr(len(shaped(op.target)[0]) - 1)
    known = elements_of_constant(value)
    if known is None or known.dtype.kind not in "iu" or map_.results != (last,):
        return whole
    elements = known[: op.channels()].astype(object)
    return Interval(elements, elements)


# --- Winograd ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Winograd:
    """What one of Winograd's algorithms computes with along each axis: 2^shift times the sums are what 32 bits hold."""

    form: Algorithm
    axes: int
    input: Interval
    """Transformed elements of `x - z_x`."""

    weights: Interval
    """Transformed `w - z_w`."""

    sums: Interval
    """The true sums times a power of two, once an odd factor is divided off; what is between wraps and unwraps."""

    parts: int = 1
    """The runs of channels whose sums these are."""

    @property
    def name(self) -> str:
        """F(2x2, 3x3) and so on."""
        return self.form.title(self.axes)

    def __str__(self) -> str:
        of_parts = f" of {self.parts} parts" if self.parts > 1 else ""
        return f"{self.name} with {self.input} by {self.weights} and sums{of_parts} in {self.sums}"

    @property
    def fits(self) -> bool:
        """Whether 16 bits hold both operands, and 32 the scaled sums."""
        narrow = all(each.within(-(1 << 15), (1 << 15) - 1) for each in (self.input, self.weights))
        return narrow and self.sums.within(-(1 << 31), (1 << 31) - 1)


def winograd(
    op: ContractionOp, x: Interval, w: Interval, *, form: Algorithm = F2, with_zero_point: bool = False, parts: int = 1
) -> Winograd | None:
    """The bounds of an algorithm, where the operation is a convolution of 3 taps along each axis, without gaps.

    `parts` runs of its channels are summed by themselves, so it is their sums that have to fit. With `with_zero_point`
    they are also those of `x` as it is read, for loops that correct the sums afterwards.
    """
    if not isinstance(op, ConvOp) or op.group_count != 1:
        return None
    taps = shaped(op.w)[0][1:-1]
    if set(taps) != {KERNEL_SIZE} or {*integer_list(op.strides), *integer_list(op.dilations)} != {1}:
        return None
    left, right = centred_input(op, x), centred_weights(op, w)
    if left is None or right is None:
        return None
    seen, sums = _transformed(form.input, left, len(taps)), _sums(op, left, w, parts)
    if with_zero_point:
        zero = op.input_zero_point.value.data
        read = Interval(left.low + zero, left.high + zero)
        seen, sums = seen.joined(_transformed(form.input, read, len(taps))), sums.joined(_sums(op, read, w, parts))
    found = _transformed(form.weights, right, len(taps))
    known = known_weights(op)
    if known is not None and not found.within(-(1 << 15), (1 << 15) - 1):
        found = _exact_transform(form.weights, known, len(taps))
    scale = 1 << (form.shift * len(taps))
    return Winograd(form, len(taps), seen.whole, found, Interval(sums.low * scale, sums.high * scale), parts)


def _transformed(matrix: Matrix, elements: Interval, axes: int) -> Interval:
    """The bounds of tiles transformed by `matrix` along each axis, from those of their elements.

    A row adds some elements and takes others off: along several axes these numbers multiply, as signs do.
    """
    own = {(sum(max(each, 0) for each in row), sum(max(-each, 0) for each in row)) for row in matrix}
    counts = {(1, 0)}
    for _ in range(axes):
        counts = {
            (plus * more + minus * less, plus * less + minus * more) for plus, minus in counts for more, less in own
        }
    low, high = elements.values
    found = Interval(0, 0)
    for plus, minus in counts:
        found = found.joined(Interval(plus * low - minus * high, plus * high - minus * low))
    return found.whole


def _exact_transform(matrix: Matrix, weights: Array, axes: int) -> Interval:
    wide = weights.astype(np.int64 if weights.dtype != object else object)
    moved = transformed(matrix, wide, range(1, axes + 1))
    return range_of_array(moved) if moved.dtype != object else Interval(moved.min(), moved.max())


# Whether sums of some products of bytes fit 16 bits: by the constant weights, in the order in which they are packed.
#
# One instruction (`vpmaddubsw`) multiplies bytes without a sign by bytes with one and adds neighbours to 16 bits,
# where it saturates. With `x` from 0 to 255 a sum is largest where `x` is 255 at every positive weight and 0 at
# every negative one. So it never saturates, whatever `x` is, if the positive weights of each sum add up to at most
# 128 (255 * 128 is 32640) and the negative ones to at least -128. Of all 65,536 pairs of weights 75% are such. Of
# some steps that are added before they are widened every partial sum fits, too: it has fewer weights.


def runs_of(op: ContractionOp) -> WeightLayout | None:
    """How the weights of `op` are packed, as far as no register decides; `None` where an algorithm changes them."""
    layout = LayoutAttr.of("u8s8_short", 1, 1)
    match op:
        case ConvOp():
            return window_weights(layout, op)
        case MatMulOp():
            *batches, channels, terms = shaped(op.w)[0]
            return product_weights(layout, int(np.prod(batches)), channels, terms)
        case _:
            return None


def largest_sums(weights: Array, group: int, steps: int) -> tuple[int, int]:
    """The smallest and the largest sum of the weights of one sign in 16 bits, of runs of terms `[…, run]`.

    A step has `group` terms, whose neighbours are one sum; `steps` steps are added, and what is left at the end of a
    run.
    """
    terms = weights.shape[-1]
    border = [(0, 0)] * (weights.ndim - 1) + [(0, -terms % (group * steps))]
    runs = np.pad(weights, border).astype(np.int16).reshape(-1, steps, group // NEIGHBOURS, NEIGHBOURS)
    low, high = (_added(limit(runs, 0)) for limit in (np.minimum, np.maximum))
    return int(low.min(initial=0)), int(high.max(initial=0))


def _added(runs: Array) -> Array:
    """The sums of neighbours of all steps, `[runs, neighbours]`: slices are faster than a sum over short axes."""
    pairs = runs[..., 0] + runs[..., 1]
    return sum((pairs[:, step] for step in range(1, pairs.shape[1])), pairs[:, 0])


def short_sums(op: ContractionOp, variant: Variant) -> tuple[int, int] | None:
    """The `largest_sums` of the constant weights of `op` in the steps of `variant`; `None` where there are none."""
    layout, known = runs_of(op), known_weights(op)
    if layout is None or known is None or layout.fault or not known.size:
        return None
    return largest_sums(known.reshape(layout.unpadded), variant.group, variant.short_steps)


def fit_short_sums(op: ContractionOp, variant: Variant) -> bool:
    """Whether 16 bits hold the sums of `short_steps` steps of `variant`, by constant weights."""
    found = short_sums(op, variant)
    return found is not None and found[0] >= -REACH and found[1] <= REACH
