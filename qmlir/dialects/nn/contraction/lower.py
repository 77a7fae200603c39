"""Lowering of matrix products and convolutions: channels last, padded, with bias and rounding in the kernel's region.

A remark reports the bound on the sums that determined the accumulator type.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import IntegerType, i64
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.requantization import f32_multiplier
from qmlir.dialects.kernel.lowering import quantized
from qmlir.dialects.kernel.lowering.lowering import Input, Lower, Lowering, unchanged
from qmlir.dialects.kernel.lowering.scalars import Scalar
from qmlir.dialects.nn import accumulators
from qmlir.dialects.nn.contraction import lower_products, ops
from qmlir.dialects.nn.contraction.lower_products import (
    LARGEST,
    Contraction,
    Convolution,
    Factor,
    MatrixProduct,
    arranged,
    factor,
    finish_plain,
)
from qmlir.dialects.nn.lowering import axes_map, channels_first, channels_last
from qmlir.dialects.nn.requantize import product_scale
from qmlir.dialects.nn.result_shapes import Windows
from qmlir.dialects.quant.infer import broadcast_parameters
from qmlir.dialects.quant.types import Granularity
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.diagnostics import emit_remark
from qmlir.text.elements import stored_integers


def _has_blocks(at: Lowering, weight: SSAValue) -> bool:
    element = quantized.uniform_element(at, weight)
    return element is not None and element.granularity is Granularity.BLOCK


def _largest_of(at: Lowering, bias: SSAValue | None) -> int:
    """Returns a bound of the absolute value of a bias."""
    if bias is None:
        return 0
    known = at.known(bias)
    element, is_unsigned = element_of(at.value(bias)), at.signedness(bias)
    if known is None or not known.size:
        return (1 << element.bitwidth - (not is_unsigned)) if isinstance(element, IntegerType) else 0
    stored = stored_integers(known, element, is_unsigned=is_unsigned)
    return max(abs(int(stored.min())), abs(int(stored.max())))


def _refuse_overflow(at: Lowering, scale: npt.ArrayLike, bias: SSAValue | None) -> None:
    """Rejects a result that is the accumulator itself, if constants prove that 32 bits don't hold every sum.

    All results saturate, but one with the scale of the accumulator promises to hold the sums exactly.
    """
    element = quantized.uniform_element(at, at.op.results[0])
    if element is None or element.bits != accumulators.BITS or not element.is_signed or element.zero_points.any():
        return
    scales, _ = broadcast_parameters(element, at.result_shape())
    if not (f32_multiplier(scale, scales) == 1).all():
        return
    limits = accumulators.refuted_limits(at.op, bias, at.known)
    if limits is not None:
        low, high = accumulators.LIMITS
        raise at.error(
            f"has sums in [{limits[0]}, {limits[1]}], which overflow its result type '{element}'; sums must be "
            f"in [{low}, {high}], or the result needs a larger scale"
        )


def _finish(
    at: Lowering, found: Contraction, axes: Sequence[int], bias: SSAValue | None, scales: Array | None = None,
    copies: int = 1,
) -> SSAValue:  # fmt: skip
    """Builds a contraction, with bias and rounding in its epilogue; the result has the layout of the sums.

    `axes` maps each axis of the operation's result to a dimension of the sums. `scales` holds the weight scale of each
    channel of the result, and each of these channels corresponds to `copies` adjacent channels of the sums.
    """
    biases = () if bias is None else (Input(_copied(at, bias, copies), found.channel_map, at.signedness(bias)),)
    if found.x.element is None:
        return finish_plain(at, found, at.result_element(), biases)
    assert found.w.element is not None
    largest, total = found.largest(), found.largest() + _largest_of(at, bias)
    emit_remark(
        at.op, f"sums are within ±{largest}, and within ±{total} with the bias: accumulating in {found.accumulator()}"
    )
    rank = len(found.shape)
    scales = found.w.element.scales.reshape(-1) if scales is None else scales
    scale = product_scale(at.op, found.x.element.scales.reshape(()), scales if scales.size > 1 else scales[0])
    if scale.ndim:
        scale = scale.reshape([-1 if axis == rank - 1 else 1 for axis in axes])
    _refuse_overflow(at, scale, bias)

    def spread(parameters: Array) -> Array:
        if copies == 1 or parameters.size == 1:
            return parameters
        return np.repeat(parameters, copies, int(np.argmax(parameters.shape)))  # they only differ along channels

    to_result = axes_map(rank, axes)
    writing = quantized.requantizing(at, 0, scale, total, to_result, spread=spread)

    def body(accumulator: Scalar, *scalars: Scalar) -> Scalar:
        own, parameters = quantized.split(scalars, biases, writing.inputs)
        wide = accumulator.to(i64) if total > LARGEST else accumulator
        integer = wide + own[0].to(wide.type) if own else wide
        return writing.write(integer, parameters)

    return found.build(at, at.result_element(), [*biases, *writing.inputs], body)


def _copied(at: Lowering, bias: SSAValue, copies: int) -> SSAValue:
    """Repeats each element of the bias `copies` times."""
    own = at.value(bias)
    (channels,) = shape_of(own)
    if copies == 1:
        return own
    return at.reshape(at.expand(at.reshape(own, (channels, 1)), (channels, copies)), (channels * copies,))


# --- Convolutions -----------------------------------------------------------------------------------------------------


def _padded(at: Lowering, op: ops.ConvOp) -> Factor:
    """Returns the data, channels last, padded by zero points."""
    rank, windows, data = len(shape_of(op.data)), op.windows, factor(at, op.data)
    last = at.transpose(data.value, channels_last(rank))
    low, high = zip(*(windows.padding(axis) for axis in range(rank - 2)), strict=True)
    return data.at_value(at.pad(last, (0, *low, 0), (0, *high, 0), int(data.zero_points[0])))


def _conv(op: ops.ConvOp, at: Lowering) -> Sequence[SSAValue]:
    rank, windows, result = len(shape_of(op.data)), op.windows, at.result_shape()
    data = _padded(at, op)
    if _has_blocks(at, op.weight):
        return (lower_products.conv(op, at, data),)
    weight = arranged(at, factor(at, op.weight), channels_last(rank))
    found = Convolution(data, weight, result[2:], windows.strides, windows.dilations, op.group_count)
    return (at.transpose(_finish(at, found, channels_first(rank), op.bias), channels_first(rank)),)


# --- Matrix products --------------------------------------------------------------------------------------------------


def _fully_connected(op: ops.FullyConnectedOp, at: Lowering) -> Sequence[SSAValue]:
    x = factor(at, op.data)
    if _has_blocks(at, op.weight):
        return (lower_products.matrix_product(at, x, op.weight, (0, 1), op.bias),)
    return (_finish(at, MatrixProduct(x, factor(at, op.weight)), range(len(shape_of(op.data))), op.bias),)


def _matmul(op: ops.MatMulOp, at: Lowering) -> Sequence[SSAValue]:
    """Vectors become matrices with one row or column; trailing batch axes that the weights lack share a matrix."""
    left, right = shape_of(op.lhs), shape_of(op.rhs)
    x = replace(factor(at, op.lhs), row_total=None if op.lhs_total is None else op.lhs_total.value.data)
    rows = (1, *left) if len(left) == 1 else left
    columns = (1, *right) if len(right) == 1 else right
    is_transposed = op.is_rhs_transposed or len(right) == 1
    rank = len(columns)
    order = tuple(range(rank)) if is_transposed else (*range(rank - 2), rank - 1, rank - 2)
    batches = np.broadcast_shapes(rows[:-2], columns[:-2])
    axes = list(range(len(batches) + 2))
    for position, operand in ((len(batches) + 1, right), (len(batches), left)):
        if len(operand) == 1:
            axes.remove(position)
    x = x.at_value(at.expand(at.reshape(x.value, rows), (*batches, *rows[-2:])))
    if _has_blocks(at, op.rhs):
        return (lower_products.matrix_product(at, x, op.rhs, order),)
    w = arranged(at, factor(at, op.rhs).reshaped(at, columns), order)
    *own_batches, channels, terms = shape_of(w.value)
    own_batches = [1] * (len(batches) - len(own_batches)) + own_batches
    while own_batches and own_batches[-1] == 1:
        own_batches.pop()
    w = w.reshaped(at, (*own_batches, channels, terms))
    w = w.at_value(at.expand(w.value, (*batches[: len(own_batches)], channels, terms)), w.known)
    return (at.reshape(_finish(at, MatrixProduct(x, w), axes, None), at.result_shape()),)


# --- Transposed convolutions, without multiplications by zeros --------------------------------------------------------
#
# Element `o` of the result is the sum of `x[i] * w[t]` over all `i` and `t` with `o + pad = stride * i + dilation * t`.
# Elements of the same phase, `(o + pad) mod stride`, use the same kernel elements `t`, and adjacent ones use adjacent
# `i`. Each phase is therefore a convolution with its kernel elements in reverse order. If all phases have the same
# number of kernel elements, they become additional channels of a single convolution, and a transpose interleaves the
# results. Otherwise each phase has a separate convolution, whose results are inserted with stride `stride`.


@dataclass(frozen=True)
class _Phase:
    """A phase: the elements `first`, `first + stride`, … of one axis of the result, `count` of them."""

    first: int
    count: int
    taps: tuple[int, ...]
    """The kernel elements of the phase, in descending order."""
    start: int
    """The index of the data element that the first tap multiplies for the first result; it may be out of bounds."""
    step: int
    """The distance between adjacent taps, in data elements."""
    tap_step: int
    """The distance between adjacent taps, in kernel elements."""

    @property
    def reach(self) -> int:
        """The number of data elements that the results of the phase read."""
        return self.count + (len(self.taps) - 1) * self.step


def _phases(windows: Windows, axis: int, size: int) -> list[_Phase]:
    """Returns the phases of an axis of the result with `size` elements, except for those without taps.

    Their number is at most that of the taps, however large the stride is.
    """
    stride, dilation, pad = windows.strides[axis], windows.dilations[axis], windows.pads[axis]
    found: list[_Phase] = []
    taps_of: dict[int, list[int]] = {}
    for tap in reversed(range(windows.kernel[axis])):
        taps_of.setdefault(tap * dilation % stride, []).append(tap)
    for phase, taps in sorted(taps_of.items()):
        first = (phase - pad) % stride
        if first >= size:
            continue
        start = (first + pad - taps[0] * dilation) // stride
        shared = math.gcd(stride, dilation)
        count = -(-(size - first) // stride)
        found.append(_Phase(first, count, tuple(taps), start, dilation // shared, stride // shared))
    return found


def _covered(at: Lowering, data: Factor, phases: Sequence[_Phase]) -> Factor:
    """Returns the range of channels-last data that the windows of the phases cover, padded by the zero point."""
    shape, zero = shape_of(data.value), int(data.zero_points[0])
    offsets, sizes, low, high = [0], [shape[0]], [0], [0]
    for phase, size in zip(phases, shape[1:-1], strict=True):
        begin = min(max(phase.start, 0), size)
        end = min(max(phase.start + phase.reach, begin), size)
        offsets.append(begin)
        sizes.append(end - begin)
        low.append(min(max(-phase.start, 0), phase.reach) if end > begin else 0)
        high.append(phase.reach - (end - begin) - low[-1])
    if not all(sizes):
        reach = (phase.reach for phase in phases)
        return data.at_value(at.fill((shape[0], *reach, shape[-1]), element_of(data.value), zero))
    part = at.slice(data.value, (*offsets, 0), (*sizes, shape[-1]))
    return data.at_value(at.pad(part, (*low, 0), (*high, 0), zero))


def _with_gaps(at: Lowering, data: Factor, windows: Windows, sizes: Sequence[int]) -> Factor:
    """Dilates channels-last data with zero points, so that a convolution with the reversed kernel yields the result."""
    shape, zero = shape_of(data.value), int(data.zero_points[0])
    offsets, begins, counts, whole = [0], [0], [shape[0]], [shape[0]]
    for axis, (size, given) in enumerate(zip(sizes, shape[1:-1], strict=True)):
        stride, reach = windows.strides[axis], (windows.kernel[axis] - 1) * windows.dilations[axis]
        first = reach - windows.pads[axis]  # the position of the first element, possibly out of bounds
        begin = max(0, -(first // stride))
        end = max(min(given, -(-(size + reach - first) // stride)), begin)
        offsets.append(first + begin * stride)
        begins.append(begin)
        counts.append(end - begin)
        whole.append(size + reach)
    empty = at.fill((*whole, shape[-1]), element_of(data.value), zero)
    if not all(counts):
        return data.at_value(empty)
    part = at.slice(data.value, (*begins, 0), (*counts, shape[-1]))
    return data.at_value(at.put(part, empty, (*offsets, 0), (1, *windows.strides, 1)))


def _kernels(at: Lowering, weight: Factor, groups: int, phases: Sequence[_Phase]) -> Factor:
    """Converts weights `[C, O / groups, …]` to `[O, taps of the phases…, C / groups]`."""
    channels, outputs, *kernel = shape_of(weight.value)
    shape, rank = (groups, channels // groups, outputs, *kernel), 3 + len(kernel)
    taps = [phase.taps for phase in phases]
    target = (groups * outputs, *(len(each) for each in taps), channels // groups)
    if weight.known is not None:
        chosen = weight.known.reshape(shape)[(slice(None), slice(None), slice(None), *np.ix_(*taps))]
        return weight.at_constant(at, chosen.transpose(0, 2, *range(3, rank), 1).reshape(target))
    dims = [AffineExpr.dimension(axis) for axis in range(rank)]  # [G, O / groups, taps…, C / groups]
    positions = [dims[2 + axis] * -phase.tap_step + max(phase.taps) for axis, phase in enumerate(phases)]
    map_ = AffineMap(rank, 0, (dims[0], dims[-1], dims[1], *positions))
    sizes = (groups, outputs, *target[1:])
    moved = at.compute([Input(at.reshape(weight.value, shape), map_)], sizes, element_of(weight.value), unchanged)
    return weight.at_value(at.reshape(moved, target))


def _is_uniform(windows: Windows) -> bool:
    """Whether all phases of every axis have the same number of taps, on the same data elements."""
    pairs = zip(windows.kernel, windows.strides, windows.dilations, strict=True)
    return all(dilation == 1 and size % stride == 0 for size, stride, dilation in pairs)


def _kernels_of_all_phases(at: Lowering, weight: Factor, groups: int, strides: Sequence[int]) -> Factor:
    """Converts weights `[C, O / groups, …]` to `[O * phases, taps of a phase…, C / groups]`, the taps descending."""
    channels, outputs, *kernel = shape_of(weight.value)
    spatial = len(kernel)
    taps = [size // stride for size, stride in zip(kernel, strides, strict=True)]
    split = [each for pair in zip(taps, strides, strict=True) for each in pair]
    shape = (groups, channels // groups, outputs, *split)
    target = (groups * outputs * math.prod(strides), *taps, channels // groups)
    if weight.known is not None:
        turned = np.flip(weight.known.reshape(shape), tuple(range(3, 3 + 2 * spatial, 2)))
        order = (0, 2, *range(4, 4 + 2 * spatial, 2), *range(3, 3 + 2 * spatial, 2), 1)
        return weight.at_constant(at, turned.transpose(order).reshape(target))
    dims = list(map(AffineExpr.dimension, range(3 + 2 * spatial)))  # [G, O / groups, phases…, taps…, C / groups]
    positions: list[AffineExpr] = []
    for axis, count in enumerate(taps):
        positions += [dims[2 + spatial + axis] * -1 + (count - 1), dims[2 + axis]]
    map_ = AffineMap(len(dims), 0, (dims[0], dims[-1], dims[1], *positions))
    sizes = (groups, outputs, *strides, *taps, channels // groups)
    moved = at.compute([Input(at.reshape(weight.value, shape), map_)], sizes, element_of(weight.value), unchanged)
    return weight.at_value(at.reshape(moved, target))


def _of_all_phases(
    op: ops.ConvTransposeOp, at: Lowering, data: Factor, weight: Factor, scales: Array | None
) -> SSAValue:
    """Computes all phases by one convolution, `[N, …, O * phases]`, and reorders the result, including its padding."""
    windows, result = op.windows, at.result_shape()
    batch, channels, *sizes = result
    strides, spatial = windows.strides, len(sizes)
    pads = [windows.pads[axis] for axis in range(spatial)]
    taps = [size // stride for size, stride in zip(windows.kernel, strides, strict=True)]
    counts = tuple(-(-(size + pad) // stride) for size, pad, stride in zip(sizes, pads, strides, strict=True))
    reach = [_Phase(0, count, tuple(range(each)), 1 - each, 1, 1) for count, each in zip(counts, taps, strict=True)]
    x, copies = _covered(at, data, reach), math.prod(strides)
    w = _kernels_of_all_phases(at, weight, op.group_count, strides)
    if w.zero_points.size > 1:
        w = replace(w, zero_points=np.repeat(w.zero_points, copies))
    found = Convolution(x, w, counts, (1,) * spatial, (1,) * spatial, op.group_count)
    sums = _finish(at, found, channels_first(len(result)), op.bias, scales, copies)
    phases = at.reshape(sums, (batch, *counts, channels, *strides))
    pairs = [each for axis in range(spatial) for each in (1 + axis, 2 + spatial + axis)]
    in_order = at.transpose(phases, (0, 1 + spatial, *pairs))
    whole = [count * stride for count, stride in zip(counts, strides, strict=True)]
    return at.slice(at.reshape(in_order, (batch, channels, *whole)), (0, 0, *pads), result)


def _conv_transpose(op: ops.ConvTransposeOp, at: Lowering) -> Sequence[SSAValue]:
    windows, groups, result = op.windows, op.group_count, at.result_shape()
    rank, element = len(result), at.result_element()
    data, weight = factor(at, op.data), factor(at, op.weight)
    data = data.at_value(at.transpose(data.value, channels_last(rank)))
    if weight.element is not None and weight.element.granularity is Granularity.BLOCK:
        return (lower_products.conv_transpose(op, at, _with_gaps(at, data, windows, result[2:])),)
    scales = None if weight.element is None else op.of_channels(weight.element.scales)
    weight = replace(weight, zero_points=op.of_channels(weight.zero_points))
    if _is_uniform(windows):
        return (_of_all_phases(op, at, data, weight, scales),)
    shape = (result[0], *result[2:], result[1])

    def convolved(counts: Sequence[int], x: Factor, phases: Sequence[_Phase]) -> SSAValue:
        w, steps = _kernels(at, weight, groups, phases), tuple(phase.step for phase in phases)
        found = Convolution(x, w, tuple(counts), (1,) * len(counts), steps, groups)
        return _finish(at, found, channels_first(rank), op.bias, scales)

    along = [_phases(windows, axis, size) for axis, size in enumerate(result[2:])]
    limits = map(min, windows.strides, result[2:])
    if all(len(phases) == limit for phases, limit in zip(along, limits, strict=True)):
        whole = at.empty(shape, element)
    elif data.element is not None:  # without taps, the sums are 0
        one = (1,) * (rank - 2)
        zeros = at.fill((1, *one, shape_of(data.value)[-1]), element_of(data.value), int(data.zero_points[0]))
        nowhere = [_Phase(0, 1, (0,), 0, 1, 1)] * (rank - 2)
        whole = at.expand(convolved(one, data.at_value(zeros), nowhere), shape)
    elif op.bias is not None:  # without taps, only the bias remains
        whole = at.expand(at.value(op.bias), shape)
    else:
        whole = at.fill(shape, element, 0)
    for phases in product(*along):
        part = convolved([phase.count for phase in phases], _covered(at, data, phases), phases)
        offsets, strides = [phase.first for phase in phases], windows.strides
        whole = at.put(part, whole, (0, *offsets, 0), (1, *strides, 1))
    return (at.transpose(whole, channels_first(rank)),)


LOWERINGS: dict[type[Operation], Lower] = {
    ops.ConvOp: _conv,
    ops.ConvTransposeOp: _conv_transpose,
    ops.FullyConnectedOp: _fully_connected,
    ops.MatMulOp: _matmul,
}
