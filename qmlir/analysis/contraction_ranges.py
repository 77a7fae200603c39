"""Bounds of contractions: of their sums by channel, of the operands of packed pairs, of those of Winograd's transforms.

The bounds of sums are tight where every element of `x` may be any number of its interval: the largest sum takes the
largest element where the weight is positive, the smallest where it is negative.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.arith import ConstantOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from qmlir.analysis.intervals import Interval, constant_elements, range_of_array, range_of_type, signed, times, unsigned
from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.exact_sums import limits_of_sums
from qmlir.dialects.kernel.contraction import ContractionOp, ConvOp, EpilogueOp, MatMulOp
from qmlir.dialects.kernel.ops import shaped
from qmlir.dialects.kernel.winograd import F2, KERNEL_SIZE, Algorithm, Matrix, WinogradOp, transformed
from qmlir.ir.builtin_types import as_integer, integer_list
from qmlir.text.elements import integers_of


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
