"""Ranges of contractions: accumulators per channel, packed pairs, 16-bit accumulators and Winograd transforms."""

import math
from collections.abc import Hashable
from dataclasses import dataclass
from itertools import count, takewhile
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from xdsl.dialects.arith import AddfOp, ConstantOp, MulfOp, SIToFPOp
from xdsl.dialects.builtin import FloatAttr, f32
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from qmlir.analysis.intervals import (
    Interval,
    bits_of,
    constant_elements,
    range_of_array,
    range_of_type,
    signed,
    times,
    unsigned,
)
from qmlir.arithmetic.arrays import Array, integer_limits, limits_of_sums, sums_by_sign
from qmlir.dialects.kernel.attributes import LayoutAttr
from qmlir.dialects.kernel.contraction import ContractionOp, ConvOp, EpilogueOp, MatMulOp
from qmlir.dialects.kernel.ops import YieldOp, shaped
from qmlir.dialects.kernel.packed_ops import weights_of
from qmlir.dialects.kernel.variants import Variant, WeightLayout
from qmlir.dialects.kernel.winograd import F2, KERNEL_SIZE, Algorithm, Matrix, WinogradOp, transformed_taps
from qmlir.ir.builtin_types import integer_list
from qmlir.text.elements import stored_integers

LARGEST_INPUT = 255
"""The largest element of the data, which are unsigned bytes."""

NEIGHBOURS = 2
"""The number of adjacent products that one instruction adds up."""

REACH = integer_limits(16)[1] // LARGEST_INPUT
"""The largest total of same-sign weights in a 16-bit sum: 128, since 255 * 128 is 32640 and 255 * 129 is 32895."""

# Matmuls with block-wise scales: the reduction axis is divided into blocks, and each block has its own scales.


def summed_over_blocks(op: ContractionOp) -> GenericOp | None:
    """Returns the operation that sums the results of a matmul with block-wise scales over its blocks.

    Returns `None` unless `op` is a matmul with constant weights that computes `[blocks, M, N]`, scaled in f32 by a
    constant for each block and channel, times `factor_of_blocks`. The returned operation adds the blocks in ascending
    order, starting from 0.
    """
    if not isinstance(op, MatMulOp) or op.result is None or len(shaped(op.target)[0]) != 3:
        return None
    if not isinstance(op.w.owner, ConstantOp) or len(shaped(op.w)[0]) != 3 or factor_of_blocks(op) is None:
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


def factor_of_blocks(op: MatMulOp) -> float | None:
    """Returns the `factor` of a region `(factor * scale) * f32(sum)`, with a constant for each block and channel.

    It is 1 for `scale * f32(sum)`, and `None` for other regions.
    """
    block_and_channel = AffineMap(3, 0, (AffineExpr.dimension(0), AffineExpr.dimension(2)))
    if len(op.epilogue) != 1 or not isinstance(op.epilogue[0].owner, ConstantOp):
        return None
    sum_, scale = op.body.block.args
    product = op.body.block.last_op.operands[0].owner if isinstance(op.body.block.last_op, YieldOp) else None
    if op.epilogue_maps.data[0].data != block_and_channel or not isinstance(product, MulfOp):
        return None
    wide = product.rhs.owner if isinstance(product.rhs.owner, SIToFPOp) else product.lhs.owner
    if not isinstance(wide, SIToFPOp) or wide.input is not sum_ or product.result.type != f32:
        return None
    scaled = product.lhs if product.rhs is wide.result else product.rhs
    if scaled is scale:
        return 1.0
    if not isinstance(scaled.owner, MulfOp) or scaled.owner.rhs is not scale:
        return None
    factor = scaled.owner.lhs.owner
    return factor.value.value.data if isinstance(factor, ConstantOp) and isinstance(factor.value, FloatAttr) else None


def _is_zero(value: SSAValue) -> bool:
    """Returns True if a tensor is filled with +0.0."""
    fill = value.owner
    number = fill.inputs[0].owner if isinstance(fill, FillOp) else None
    if not isinstance(number, ConstantOp) or not isinstance(number.value, FloatAttr):
        return False
    return math.copysign(1.0, number.value.value.data) > 0 and not number.value.value.data


# Bounds of the sums of a contraction per channel, of the operands of packed pairs, and of Winograd transforms.
#
# The bounds of sums are tight if each element of `x` can independently be any number of its interval: the largest sum
# has the largest element at each positive weight, and the smallest element at each negative one.


def elements_of_constant(value: SSAValue) -> Array | None:
    """Returns the elements of a constant tensor, or `None` if the tensor is not constant."""
    return constant_elements(value.owner.value) if isinstance(value.owner, ConstantOp) else None


def stored_elements(value: SSAValue, *, is_unsigned: bool) -> Array | None:
    """Returns the integers of a constant tensor, read as signed or unsigned; `None` if it is not constant, or floats.

    The integers of an unsigned tensor of 64 bits are not known, either.
    """
    known, bits = elements_of_constant(value), bits_of(value.type)
    if known is None or bits is None or (bits == 64 and is_unsigned):
        return None
    return stored_integers(known, shaped(value)[1], is_unsigned=is_unsigned)


def _centered(value: SSAValue, interval: Interval | None, zeros: Interval, *, is_unsigned: bool) -> Interval | None:
    bits, whole = bits_of(value.type), (interval or range_of_type(value.type)).whole
    if bits is None:
        return None
    if whole.is_empty:
        return Interval(0, 0)
    read = unsigned(whole, bits) if is_unsigned else signed(whole, bits)
    return Interval(read.low - zeros.high, read.high - zeros.low)


def centered_input(op: ContractionOp, x: Interval | None = None) -> Interval | None:
    """Returns the range of `x - z_x`, given the range `x` of the data, by default of its type; `None` for floats."""
    zero = op.input_zero_point.value.data
    return _centered(op.x, x, Interval(zero, zero), is_unsigned=op.input_unsigned is not None)


def _zero_points(op: ContractionOp) -> Interval:
    zero = op.weight_zero_point.value.data
    if op.weight_zero_points is None:
        return Interval(zero, zero)
    known = elements_of_constant(op.weight_zero_points)
    return range_of_type(shaped(op.weight_zero_points)[1]) if known is None else range_of_array(known)


def known_weights(op: ContractionOp) -> Array | None:
    """Returns constant weights minus their zero points, in their memory layout; `None` if they are not constant."""
    stored = stored_elements(op.w, is_unsigned=op.weight_unsigned is not None)
    zero_points: Any = op.weight_zero_point.value.data
    if stored is None:
        return None
    if op.weight_zero_points is not None:
        own = elements_of_constant(op.weight_zero_points)
        if own is None:
            return None
        rows = own.astype(np.int64)
        zero_points = rows[:, None] if isinstance(op, MatMulOp) else rows.reshape(-1, *(1,) * (stored.ndim - 1))
    elif not zero_points and op.weight_unsigned is None:
        return stored
    return np.asarray(stored.astype(np.int64 if stored.itemsize <= 4 else object) - zero_points)


def centered_weights(op: ContractionOp, w: Interval | None = None) -> Interval | None:
    """Returns the range of `w - z_w`, given the range `w` of the weights, by default of their type; `None` for floats.

    If the weights are constant, it is the range of these constants.
    """
    is_unsigned = op.weight_unsigned is not None
    if op.weight_zero_points is None:  # no element is converted to subtract one zero point from all
        known, zero = stored_elements(op.w, is_unsigned=is_unsigned), op.weight_zero_point.value.data
    else:
        known, zero = known_weights(op), 0
    if known is None:
        return _centered(op.w, w, _zero_points(op), is_unsigned=is_unsigned)
    return Interval(int(known.min()) - zero, int(known.max()) - zero) if known.size else Interval(0, 0)


def sum_interval(op: ContractionOp, x: Interval, w: Interval) -> Interval | None:
    """Returns the range of the sums, per output channel if the weights are constant; `None` for floats."""
    left = centered_input(op, x)
    if left is None or bits_of(op.w.type) is None:
        return None
    return _sums(op, left, w)


def _sums(op: ContractionOp, left: Interval, w: Interval, parts: int = 1) -> Interval:
    """Returns the range of the sums of data in `left`, or of the sums of each of `parts` runs of channels."""
    if isinstance(op, WinogradOp):
        # The sums may be any 32-bit numbers before the shift.
        shift, own = op.form.shift_of_sums, op.part_count
        return Interval(own * (-(1 << 31) >> shift), own * ((1 << 31) - 1 >> shift))
    by_sign = _weights_by_sign(op, parts)
    if by_sign is None:
        right = centered_weights(op, w)
        assert right is not None
        sums = times(times(left, right), Interval(op.terms() // parts, op.terms() // parts))
        if op.input_total is None or right.is_empty:
            return sums
        most = op.input_total.value.data * max(map(abs, right.values))
        return Interval(max(sums.low, -most), min(sums.high, most))
    low, high = limits_of_sums(by_sign, (left.low, left.high))
    if low.ndim > 1:  # the bound of a channel covers all batches of weights
        batches = tuple(range(low.ndim - 1))
        low, high = low.min(axis=batches), high.max(axis=batches)
    return Interval(low, high)


_BY_SIGN: WeakKeyDictionary[Attribute, dict[Hashable, tuple[Array, Array]]] = WeakKeyDictionary()
"""Cached results of `_weights_by_sign`, by weights; several passes bound the same sums."""


def _weights_by_sign(op: ContractionOp, parts: int) -> tuple[Array, Array] | None:
    """Returns the sums of the positive and the negative constant weights of each channel, or of each of its runs."""
    weights, zero_points = op.w.owner, None if op.weight_zero_points is None else op.weight_zero_points.owner
    if not isinstance(weights, ConstantOp) or not isinstance(zero_points, ConstantOp | None):
        return None
    points = op.weight_zero_point if zero_points is None else zero_points.value
    key = (parts, isinstance(op, ConvOp), points, op.weight_unsigned)
    found = _BY_SIGN.setdefault(weights.value, {})
    if key not in found and (known := known_weights(op)) is not None:
        if parts > 1:  # treat each run as a batch of weights
            known = np.stack(np.split(known, parts, axis=-1))
        axes = tuple(range(1 + (parts > 1), known.ndim)) if isinstance(op, ConvOp) else (-1,)
        found[key] = sums_by_sign(known, axes)
    return found.get(key)


def channel_interval(op: EpilogueOp, value: SSAValue, map_: AffineMap, whole: Interval) -> Interval:
    """Returns the range of an epilogue operand: per channel if it is a constant with one element each, else `whole`."""
    last = AffineDimExpr(len(shaped(op.target)[0]) - 1)
    known = elements_of_constant(value)
    if known is None or known.dtype.kind not in "iu" or map_.results != (last,):
        return whole
    elements = known[: op.channels()].astype(object)
    return Interval(elements, elements)


# --- Winograd ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Winograd:
    """The bounds on the transformed operands and the scaled 32-bit sums of a Winograd algorithm along `axes` axes."""

    form: Algorithm
    axes: int
    input: Interval
    """The range of the transformed data `x - z_x`."""

    weights: Interval
    """The range of the transformed weights `w - z_w`."""

    sums: Interval
    """The range of the true sums times a power of two, after division by the odd factor. Intermediate overflow cancels
    out."""

    parts: int = 1
    """The number of groups of consecutive channels that are summed separately."""

    @property
    def name(self) -> str:
        """The usual name of the algorithm, such as `F(2x2, 3x3)`."""
        return self.form.title(self.axes)

    def __str__(self) -> str:
        of_parts = f" of {self.parts} parts" if self.parts > 1 else ""
        return f"{self.name} with {self.input} by {self.weights} and sums{of_parts} in {self.sums}"

    @property
    def fits(self) -> bool:
        """Whether both operands fit in 16 bits and the scaled sums fit in 32 bits."""
        narrow = all(each.within(-(1 << 15), (1 << 15) - 1) for each in (self.input, self.weights))
        return narrow and self.sums.within(-(1 << 31), (1 << 31) - 1)


def winograd(
    op: ContractionOp, x: Interval, w: Interval, *, form: Algorithm = F2, with_zero_point: bool = False, parts: int = 1
) -> Winograd | None:
    """Returns the bounds on a Winograd algorithm for a convolution of 3 taps per axis, with strides and dilations of 1.

    Returns `None` for any other operation. The channels are split into `parts` groups that are summed separately, so
    only the sums of one group have to fit. With `with_zero_point`, the bounds also hold for loops that read `x` without
    subtracting its zero point and correct the sums afterwards.
    """
    if not isinstance(op, ConvOp) or op.group_count != 1:
        return None
    taps = shaped(op.w)[0][1:-1]
    if set(taps) != {KERNEL_SIZE} or {*integer_list(op.strides), *integer_list(op.dilations)} != {1}:
        return None
    left, right = centered_input(op, x), centered_weights(op, w)
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
        found = _exact_transform(form.weights, known)
    scale = 1 << (form.shift * len(taps))
    return Winograd(form, len(taps), seen.whole, found, Interval(sums.low * scale, sums.high * scale), parts)


def _transformed(matrix: Matrix, elements: Interval, axes: int) -> Interval:
    """Returns the range of tiles transformed by `matrix` along each axis, given the range of their elements.

    A row of the matrix adds some elements and subtracts others. Over several axes, the coefficients are the products
    of those of the rows, so their counts by sign multiply like signs.
    """
    own = {(sum(max(each, 0) for each in row), sum(max(-each, 0) for each in row)) for row in matrix}
    counts = {(1, 0)}
    for _ in range(axes):
        counts = {
            (plus * more + minus * less, plus * less + minus * more) for plus, minus in counts for more, less in own
        }
    low, high = elements.values
    ends = [end for plus, minus in counts for end in (plus * low - minus * high, plus * high - minus * low)]
    return Interval(min(0, *ends), max(0, *ends))


def _exact_transform(matrix: Matrix, weights: Array) -> Interval:
    moved = transformed_taps(matrix, weights)
    return Interval(int(moved.min()), int(moved.max()))


# Sums of products of bytes that fit 16 bits, decided from the constant weights in their packed order.
#
# `vpmaddubsw` multiplies unsigned bytes by signed bytes and adds adjacent products to 16 bits, saturating. With `x` in
# 0 to 255, a sum is largest if `x` is 255 at every positive weight and 0 at every negative one. So it never saturates,
# whatever `x` is, if the positive weights of each sum add up to at most 128 (255 * 128 is 32640) and the negative ones
# to at least -128. This holds for 75% of all 65,536 pairs of weights. If several steps are added before they are
# widened, each partial sum also fits, because it has fewer weights.


def runs_of(op: ContractionOp) -> WeightLayout | None:
    """Returns the packed layout of convolution or matmul weights, without register blocking; `None` for other `op`s."""
    return weights_of(LayoutAttr.of("u8s8_short", 1, 1), op) if isinstance(op, ConvOp | MatMulOp) else None


def largest_sums(weights: Array, group: int, steps: int) -> tuple[int, int]:
    """Returns the smallest sum of negative weights and the largest sum of positive weights within any 16-bit sum.

    `weights` holds runs of consecutive terms, `[..., run]`. Each step reads `group` terms and adds adjacent pairs of
    products. The results of `steps` steps, or of fewer at the end of a run, are accumulated in 16 bits.
    """
    terms = weights.shape[-1]
    border = [(0, 0)] * (weights.ndim - 1) + [(0, -terms % (group * steps))]
    runs = np.pad(weights, border).astype(np.int16).reshape(-1, steps, group // NEIGHBOURS, NEIGHBOURS)
    low, high = (_added(limit(runs, 0)) for limit in (np.minimum, np.maximum))
    return int(low.min(initial=0)), int(high.max(initial=0))


def _added(runs: Array) -> Array:
    """Returns the sums of adjacent weights over all steps. Slices are faster than `sum` over short axes."""
    pairs = runs[..., 0] + runs[..., 1]
    return sum((pairs[:, step] for step in range(1, pairs.shape[1])), pairs[:, 0])


def _constant_runs(op: ContractionOp) -> Array | None:
    """Returns the weights as `[runs, terms]`; `None` if they are not constant."""
    layout, known = runs_of(op), known_weights(op)
    if layout is None or known is None or layout.fault or not known.size:
        return None
    return known.reshape(-1, layout.unpadded[-1])


def short_sums(op: ContractionOp, variant: Variant) -> tuple[int, int] | None:
    """Returns the `largest_sums` of the weights of `op` for `variant`; `None` if the weights are not constant."""
    runs = _constant_runs(op)
    return None if runs is None else largest_sums(runs, variant.group, variant.short_steps)


_FIRST_RUNS = 8
"""How many runs of weights are tested first, and then twice as many each time. Most layers fail in the first."""


def fit_short_sums(op: ContractionOp, variant: Variant) -> bool:
    """Returns True if sums over `short_steps` steps of `variant` fit in 16 bits with the constant weights of `op`."""
    runs = _constant_runs(op)
    if runs is None:
        return False
    ends = takewhile(lambda end: end < len(runs), (_FIRST_RUNS << power for power in count()))
    sums = (largest_sums(part, variant.group, variant.short_steps) for part in np.split(runs, list(ends)))
    return all(low >= -REACH and high <= REACH for low, high in sums)
