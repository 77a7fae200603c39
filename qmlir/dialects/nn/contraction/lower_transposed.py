"""Transposed convolutions as convolutions, without multiplications by zeros.

Element `o` of the result is the sum of `x[i] * w[t]` over all `i` and `t` with `o + pad = stride * i + dilation * t`.
Elements of the same phase, `(o + pad) mod stride`, use the same kernel elements `t`, and adjacent ones use adjacent
`i`. Each phase is therefore a convolution with its kernel elements in reverse order. If all phases have the same number
of kernel elements, they become additional channels of a single convolution, and a transpose interleaves the results.
Otherwise each phase has a separate convolution, whose results are inserted with stride `stride`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.kernel.lowering.lowering import Input, Lower, Lowering, unchanged
from qmlir.dialects.nn.contraction import lower_products, ops
from qmlir.dialects.nn.contraction.lower import finish
from qmlir.dialects.nn.contraction.lower_products import Convolution, Factor, factor
from qmlir.dialects.nn.lowering.indexing import channels_first, channels_last
from qmlir.dialects.nn.result_shapes import Windows
from qmlir.dialects.quant.types import Granularity
from qmlir.ir.builtin_types import element_of, shape_of


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
        known = np.ascontiguousarray(chosen.transpose(0, 2, *range(3, rank), 1).reshape(target))
        return weight.at_value(at.constant(known, element_of(weight.value)), known)
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
        known = np.ascontiguousarray(turned.transpose(order).reshape(target))
        return weight.at_value(at.constant(known, element_of(weight.value)), known)
    dims = [
        AffineExpr.dimension(axis) for axis in range(3 + 2 * spatial)
    ]  # [G, O / groups, phases…, taps…, C / groups]
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
    sums = finish(at, found, channels_first(len(result)), op.bias, scales, copies)
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
        return finish(at, found, channels_first(rank), op.bias, scales)

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


LOWERINGS: dict[type[Operation], Lower] = {ops.ConvTransposeOp: _conv_transpose}
