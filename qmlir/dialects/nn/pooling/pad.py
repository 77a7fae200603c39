"""Padding rules of pooling: windows and global pools read a neutral element beyond the valid part of an image."""

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Operation, SSAValue

from qmlir.arithmetic.symbolic_sizes import Extent, quotient
from qmlir.dialects.nn import padding_rules as padding
from qmlir.dialects.nn.contraction.pad import slide
from qmlir.dialects.nn.elementwise.ops import CastOp, MaxOp
from qmlir.dialects.nn.movement.ops import ConcatOp, SliceOp
from qmlir.dialects.nn.pooling import ops
from qmlir.dialects.nn.reduction.pad import mean_of_the_run, reduce_along
from qmlir.dialects.nn.requantize import is_qlinear
from qmlir.dialects.nn.shapes.ops import PadOp
from qmlir.dialects.nn.terms import Expr


def _pool(fill: padding.Fill) -> padding.Rule:
    """Returns the rule of a pool whose results don't change if its input is padded with `fill`."""

    def rule(op: ops.PoolOp, at: padding.PaddingSite) -> Sequence[padding.PaddedValue]:
        spatial, _ = slide(at, op.data, op.windows, fill, is_ceil=bool(op.ceil_mode.value.data))
        return [padding.PaddedValue((*at.axes(op.data)[:2], *spatial))]

    return padding.on_images(rule)


def _global_pool(fill: padding.Fill, *, is_mean: bool = False) -> padding.Rule:
    """Returns the rule of a pool over whole images: a reduction along their spatial axes."""

    def rule(op: ops.GlobalPoolOp, at: padding.PaddingSite) -> Sequence[padding.PaddedValue] | None:
        return reduce_along(op, at, range(2, len(at.axes(op.data))), fill, is_mean=is_mean)

    return padding.on_images(rule)


def _pool_with_indices(op: ops.MaxPoolWithIndicesOp, at: padding.PaddingSite) -> Sequence[padding.PaddedValue] | None:
    data = at.axes(op.data)
    if not at.is_sized and any(axis.names for axis in data[1:]):
        at.decline("returns flat indices, which change if a dimension is padded")
    at.count(data[0])
    return padding.each_sample(op, at)


# --- Means of windows -------------------------------------------------------------------------------------------------


def _average_pool(op: ops.AveragePoolOp, at: padding.PaddingSite) -> Sequence[padding.PaddedValue]:
    data, is_ceil = at.axes(op.data), bool(op.ceil_mode.value.data)
    spatial, is_reached = slide(at, op.data, op.windows, padding.zero_of, is_ceil=is_ceil)
    if is_qlinear(op):
        at.decline(f"rescales means of {op.data.type}, which may round differently for another size")
    found = padding.PaddedValue((*data[:2], *spatial))
    if is_reached and (is_ceil or not op.count_include_pad.value.data):
        stacked = _stacked(op, at, spatial)
        mean_of_the_run(op, at, stacked, [len(data)], found, keeps=False, count=_covered(op, at, data, spatial))
    return [found]


def _stacked(op: ops.AveragePoolOp, at: padding.PaddingSite, spatial: Sequence[Extent]) -> SSAValue:
    """Stacks the elements of each window along a new last axis, in row-major order; elements outside are 0."""
    windows, axes = op.windows, at.axes(op.data)
    rank, counts = len(axes), [each.at(at.capacities) for each in spatial]
    spans = [(count - 1) * stride + 1 for count, stride in zip(counts, windows.strides, strict=True)]
    pads = [0] * 2 * rank
    for axis, span in enumerate(spans):
        begin = windows.padding(axis)[0]
        pads[2 + axis] = begin
        pads[rank + 2 + axis] = max(0, span - 1 + windows.extent(axis) - begin - axes[2 + axis].at(at.capacities))
    padded = at.here.add(PadOp, op.data, pads=pads).result
    parts: list[SSAValue] = []
    for taps in product(*map(range, windows.kernel)):
        starts = [tap * dilation for tap, dilation in zip(taps, windows.dilations, strict=True)]
        ends = [start + span for start, span in zip(starts, spans, strict=True)]
        steps = list(windows.strides)
        part = at.here.add(SliceOp, padded, starts=starts, ends=ends, axes=list(range(2, rank)), steps=steps).result
        parts.append(at.here.unsqueezed(part, [rank]))
    stacked = at.here.add(ConcatOp, parts, axis=rank).result
    return at.keep(stacked, padding.PaddedValue((*axes[:2], *spatial, Extent.of(len(parts)))))


def _covered(op: ops.AveragePoolOp, at: padding.PaddingSite, data: padding.Axes, spatial: Sequence[Extent]) -> Expr:
    """Computes the number of elements that each window covers at run time, `[*spatial]`; 1 for padding windows."""
    windows, with_padding = op.windows, bool(op.count_include_pad.value.data)
    total = at.size(padding.ONE)
    for axis, extent in enumerate(spatial):
        count, (begin, end) = extent.at(at.capacities), windows.padding(axis)
        starts = np.arange(count) * windows.strides[axis] - begin
        positions = starts[:, None] + np.arange(windows.kernel[axis]) * windows.dilations[axis]
        first, behind = (-begin, end) if with_padding else (0, 0)
        bound = at.size(quotient(data[2 + axis], behind, 1))
        is_there = at.constant(np.where(positions >= first, positions, np.iinfo(np.int64).max)) < bound
        ones = at.start.add(CastOp, is_there.value, result_types=[TensorType(i64, positions.shape)]).result
        some = Expr(at.start, at.start.sum(ones, [1])).apply(MaxOp, at.size(padding.ONE))
        shaped = at.start.reshaped(some.value, [count, *(1,) * (len(spatial) - axis - 1)])
        total = total * Expr(at.start, shaped)
    return total


RULES: Mapping[type[Operation], padding.Rule] = {
    ops.MaxPoolOp: _pool(padding.lowest_of),
    ops.LpPoolOp: _pool(padding.zero_of),
    ops.AveragePoolOp: padding.on_images(_average_pool),
    ops.MaxPoolWithIndicesOp: _pool_with_indices,
    ops.GlobalMaxPoolOp: _global_pool(padding.lowest_of),
    ops.GlobalLpPoolOp: _global_pool(padding.zero_of),
    ops.GlobalAveragePoolOp: _global_pool(padding.zero_of, is_mean=True),
}
