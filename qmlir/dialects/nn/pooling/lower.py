"""Lowering of pooling to reductions over channels-last windows; quantized means sum exactly and round once."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import IntegerType, f32, f64, i1, i32, i64
from xdsl.dialects.math import PowFOp, SqrtOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from qmlir.arithmetic import litert
from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.requantization import Mode
from qmlir.dialects.kernel.attributes import RequantizeAttr
from qmlir.dialects.kernel.lowering import quantized
from qmlir.dialects.kernel.lowering.lowering import Input, Lower, Lowering
from qmlir.dialects.kernel.lowering.scalars import STEPS, Number, Scalar, constant, position
from qmlir.dialects.nn import lowering
from qmlir.dialects.nn.base import computing_type, element_limits
from qmlir.dialects.nn.pooling import ops
from qmlir.dialects.nn.requantize import affine, is_qlinear, unsigned_offset
from qmlir.dialects.nn.result_shapes import Windows, covered_elements
from qmlir.dialects.quant.infer import broadcast_parameters, same_along
from qmlir.dialects.quant.types import storage_limits
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.text.elements import dtype_of

PoolOp = ops.PoolOp | ops.GlobalPoolOp
MeanOp = ops.AveragePoolOp | ops.GlobalAveragePoolOp
Combine = Callable[[Scalar, Scalar], Scalar]
Start = tuple[Number, Attribute]


@dataclass(frozen=True)
class SlidingWindows:
    """The iteration space `[N, windows…, C, taps…]` of windows over channels-last data."""

    windows: Windows
    counts: tuple[int, ...]
    """The number of windows along each spatial axis."""
    batch: int
    channels: int

    @property
    def spatial(self) -> int:
        """The number of spatial axes."""
        return len(self.counts)

    @property
    def dims(self) -> int:
        """The number of iterators."""
        return 2 + 2 * self.spatial

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a result with one element per window and channel, `[N, windows…, C]`."""
        return (self.batch, *self.counts, self.channels)

    @property
    def window_map(self) -> AffineMap:
        """The map from the indices of a result to those of the window."""
        return lowering.axes_map(2 + self.spatial, range(1, 1 + self.spatial))

    @property
    def result_map(self) -> AffineMap:
        """The map from the iterators to the result element of the window."""
        return lowering.axes_map(self.dims, range(2 + self.spatial))

    def data_map(self) -> AffineMap:
        """Returns the map from the iterators to an element of the padded data."""
        positions = [AffineExpr.dimension(0)]
        for axis in range(self.spatial):
            window, tap = AffineExpr.dimension(1 + axis), AffineExpr.dimension(2 + self.spatial + axis)
            positions.append(window * self.windows.strides[axis] + tap * self.windows.dilations[axis])
        return AffineMap(self.dims, 0, (*positions, AffineExpr.dimension(1 + self.spatial)))

    def padded(self, at: Lowering, last: SSAValue, number: Number) -> SSAValue:
        """Pads channels-last data with `number` as far as the windows extend."""
        low, high = [0], [0]
        for axis, (count, size) in enumerate(zip(self.counts, shape_of(last)[1:-1], strict=True)):
            begin, end = self.windows.padding(axis)
            reach = (count - 1) * self.windows.strides[axis] + self.windows.extent(axis)
            low.append(begin)
            high.append(max(end, reach - begin - size))
        return at.pad(last, (*low, 0), (*high, 0), number)

    def inputs(self, at: Lowering, padded: SSAValue, unsigned: bool = False) -> list[Input]:
        """Returns the padded data, and an unread operand whose shape defines the bounds of the kernel taps."""
        taps = at.empty(self.windows.kernel, element_of(padded))
        map_ = lowering.axes_map(self.dims, range(2 + self.spatial, self.dims))
        return [Input(padded, self.data_map(), unsigned), Input(taps, map_)]


def _windows(op: PoolOp) -> SlidingWindows:
    """Returns the windows of a pool; a global pool has a single window, the whole channel."""
    batch, channels, *sizes = shape_of(op.data)
    if isinstance(op, ops.PoolOp):
        return SlidingWindows(op.windows, op.counts(sizes), batch, channels)
    return SlidingWindows(Windows.of(sizes), (1,) * len(sizes), batch, channels)


def _reduced(
    at: Lowering, found: SlidingWindows, padded: SSAValue, start: Start, body: Combine, unsigned: bool
) -> SSAValue:
    """Reduces the elements of each window by `body(element, accumulator)`, `[N, windows…, C]`."""
    outputs = [(at.fill(found.shape, start[1], start[0]), found.result_map)]

    def combine(element: Scalar, _: Scalar, so_far: Scalar) -> Scalar:
        return body(element, so_far)

    return at.generic(found.inputs(at, padded, unsigned), outputs, combine)[0]


def _max_pool(op: ops.MaxPoolOp | ops.GlobalMaxPoolOp, at: Lowering) -> Sequence[SSAValue]:
    found, rank, is_unsigned = _windows(op), len(shape_of(op.data)), at.signedness(op.data)
    element, source = element_of(op.data), element_of(op.result)
    if element != source:
        raise at.error(
            f"cannot be compiled: data '{element}' and result '{source}' must have the same type; run "
            "quant-propagate-types first"
        )
    start, _ = element_limits(element)
    last = found.padded(at, at.transpose(at.value(op.data), lowering.channels_last(rank)), start)

    def larger(element: Scalar, so_far: Scalar) -> Scalar:
        return Scalar(so_far.value, so_far.builder, is_unsigned).maximum(element)

    pooled = _reduced(at, found, last, (start, element_of(last)), larger, is_unsigned)
    return (at.transpose(pooled, lowering.channels_first(rank)),)


def _max_pool_with_indices(op: ops.MaxPoolWithIndicesOp, at: Lowering) -> Sequence[SSAValue]:
    """Tracks the maximum and its index: that of the first of equal elements, or of the first NaN."""
    found, sizes, is_unsigned = _windows(op), shape_of(op.data), at.signedness(op.data)
    start, _ = element_limits(element_of(op.data))
    last = found.padded(at, at.transpose(at.value(op.data), lowering.channels_last(len(sizes))), start)
    is_column_major = bool(op.column_major.value.data)

    def body(element: Scalar, _: Scalar, so_far: Scalar, number: Scalar) -> Sequence[Scalar]:
        best = Scalar(so_far.value, so_far.builder, is_unsigned)
        is_inside, own = _element_number(found, sizes[2:], is_column_major, number)
        is_better = element.compare("gt", best) | number.compare("lt", 0)
        if element.is_float:
            is_better = is_better | (element.compare("ne", element) & best.compare("eq", best))
        is_better = is_better & is_inside
        return is_better.select(element, best), is_better.select(own, number)

    outputs = [
        (at.fill(found.shape, kind, first), found.result_map) for kind, first in ((element_of(last), start), (i64, -1))
    ]
    pooled = at.generic(found.inputs(at, last, is_unsigned), outputs, body)
    return [at.transpose(each, lowering.channels_first(len(sizes))) for each in pooled]


def _element_number(
    found: SlidingWindows, sizes: Sequence[int], is_column_major: bool, near: Scalar
) -> tuple[Scalar, Scalar]:
    """Returns whether a kernel element lies in the data, whose spatial axes have `sizes`, and the index of that
    element."""
    builder, windows, spatial = near.builder, found.windows, found.spatial
    is_inside, within, step = constant(builder, 1, i1, unsigned=True), near.constant(0), 1
    axes = range(spatial) if is_column_major else reversed(range(spatial))
    for axis in axes:
        window, tap = (position(builder, index).to(i64) for index in (1 + axis, 2 + spatial + axis))
        index = window * windows.strides[axis] + tap * windows.dilations[axis] - windows.padding(axis)[0]
        is_inside = is_inside & index.compare("ge", 0) & index.compare("lt", sizes[axis])
        within, step = within + index * step, step * sizes[axis]
    image, channel = (position(builder, index).to(i64) for index in (0, 1 + spatial))
    return is_inside, within + (image * found.channels + channel) * step


def _average_pool(op: MeanOp, at: Lowering) -> Sequence[SSAValue]:
    found, shape, rank = _windows(op), shape_of(op.data), len(shape_of(op.data))
    with_padding = isinstance(op, ops.AveragePoolOp) and bool(op.count_include_pad.value.data)
    counts = covered_elements(found.windows, found.counts, shape[2:], with_padding)
    last = at.transpose(at.value(op.data), lowering.channels_last(rank))
    element = quantized.uniform_element(at, op.data)
    if element is None or quantized.uniform_element(at, op.result) is None:
        return (_plain_mean(at, found, last, counts),)
    if not counts.all():
        raise at.error("has a window that covers no element, whose mean is undefined")
    scales, zero_points = (np.asarray(each) for each in broadcast_parameters(element, shape))
    scales = same_along(scales, range(2, scales.ndim))
    if scales is None:
        return lowering.between_casts(op, at)
    low, high = storage_limits(element.storage)
    largest = (high - low) * math.prod(found.windows.kernel)
    wide = i32 if largest < 1 << 31 else i64
    to_result, held = lowering.axes_map(rank, lowering.channels_first(rank)), quantized.wide_type(element)
    border, is_signed = int(zero_points.reshape(-1)[0]), element.is_signed
    if (zero_points != border).any():  # the border is 0 once the integers are centered
        last, border, is_signed = lowering.exact_integers(at, op.data, held, lowering.channels_last(rank)), 0, True
    init = at.fill(found.shape, wide, 0)

    def add(stored: Scalar, _: Scalar, so_far: Scalar) -> Scalar:
        integer = stored.to(held)
        return so_far + (integer - border if border else integer).to(wide)

    inputs = found.inputs(at, found.padded(at, last, border), not is_signed)
    total = at.generic(inputs, [(init, found.result_map)], add)[0]
    # In mode `qlinear`, only global pools get here.
    mode = RequantizeAttr.of(Mode.F32) if is_qlinear(op) else None
    writing = quantized.requantizing(at, 0, scales, largest, to_result, counts, mode)
    return (_finished(at, found, total, writing.inputs, writing.write),)


def _finished(
    at: Lowering, found: SlidingWindows, total: SSAValue, inputs: Sequence[Input], write: Callable[..., Scalar]
) -> SSAValue:
    """Computes the elements of the result by `write(total, scalars of the inputs)`, and moves the channels back."""
    from_total = [Input(total, AffineMap.identity(2 + found.spatial)), *inputs]

    def body(sum_: Scalar, *scalars: Scalar) -> Scalar:
        return write(sum_, scalars)

    pooled = at.compute(from_total, found.shape, at.result_element(), body)
    return at.transpose(pooled, lowering.channels_first(2 + found.spatial))


def _plain_mean(at: Lowering, found: SlidingWindows, last: SSAValue, counts: Array) -> SSAValue:
    """Sums in row-major order of the kernel, in f64 rounded once, and divides by the number of elements of each
    window."""
    computing = computing_type(element_of(last))
    total = _float_sum(at, found, last, lambda value: value)
    divisor = quantized.parameter(at, counts.astype(dtype_of(computing)), computing, found.window_map)

    def divide(sum_: Scalar, rest: Sequence[Scalar]) -> Scalar:
        rounded = sum_.to(computing)
        return (rounded / divisor.of(rest, rounded)).to(at.result_element())

    return _finished(at, found, total, divisor.inputs, divide)


def _float_sum(at: Lowering, found: SlidingWindows, last: SSAValue, function: Callable[[Scalar], Scalar]) -> SSAValue:
    """Returns the sums of `function` of the elements of each window, in f64."""
    computing = computing_type(element_of(last))
    padded = found.padded(at, last, 0.0)

    def add(element: Scalar, so_far: Scalar) -> Scalar:
        return so_far + function(element.to(computing)).to(f64)

    return _reduced(at, found, padded, (0.0, f64), add, False)


def _litert_average_pool(op: ops.AveragePoolOp, at: Lowering) -> Sequence[SSAValue]:
    """Divides the sums of stored integers inside the data."""
    element, result, found = lowering.uniform_type(at, op.data), lowering.uniform_type(at, op.result), _windows(op)
    sizes, offset = shape_of(op.data)[2:], unsigned_offset(element)
    covered = op.covered_elements(sizes)
    if not covered.all():
        raise at.error("has a window that covers no element, whose mean is undefined")
    last = at.transpose(at.value(op.data), lowering.channels_last(2 + found.spatial))
    moved = element.zero_point * op.counted_padding(sizes) - offset * covered
    counts, rest = (
        quantized.parameter(at, np.asarray(each, np.int32), i32, found.window_map) for each in (covered, moved)
    )

    def add(stored: Scalar, _: Scalar, so_far: Scalar) -> Scalar:
        return so_far + stored.to(i32)

    inputs = found.inputs(at, found.padded(at, last, 0), not element.is_signed)
    total = at.generic(inputs, [(at.fill(found.shape, i32, 0), found.result_map)], add)[0]

    def write(sum_: Scalar, scalars: Sequence[Scalar]) -> Scalar:
        of_counts, of_rest = quantized.split(scalars, counts.inputs, rest.inputs)
        mean = litert.mean(STEPS, sum_ + rest.of(of_rest, sum_), counts.of(of_counts, sum_)) + offset
        return mean.clamp(result.storage_min, result.storage_max).to(IntegerType(result.bits))

    return (_finished(at, found, total, [*counts.inputs, *rest.inputs], write),)


def _lp_pool(op: ops.LpPoolOp | ops.GlobalLpPoolOp, at: Lowering) -> Sequence[SSAValue]:
    found, rank, p = _windows(op), len(shape_of(op.data)), op.p.value.data
    last = at.transpose(at.value(op.data), lowering.channels_last(rank))
    computing = computing_type(element_of(last))

    def raised(x: Scalar) -> Scalar:
        size = x.absolute()
        return x * x if p == 2 else size if p == 1 else size.apply(PowFOp, x.constant(p))

    def root(sum_: Scalar, _: Sequence[Scalar]) -> Scalar:
        rounded = sum_.to(computing)
        if p > 2:
            rounded = rounded.apply(PowFOp, rounded.constant(1 / p))
        return (rounded.apply(SqrtOp) if p == 2 else rounded).to(at.result_element())

    return (_finished(at, found, _float_sum(at, found, last, raised), (), root),)


def _qlinear_average_pool(op: ops.AveragePoolOp, at: Lowering) -> Sequence[SSAValue] | None:
    """Sums over the kernel in f32, one element after the other; `None` for a single window, which is a global pool."""
    source, result = lowering.uniform_type(at, op.data), lowering.uniform_type(at, op.result)
    sizes = shape_of(op.data)[2:]
    if op.is_whole_image(sizes):
        return None
    target, found = affine(result), _windows(op)
    last = at.transpose(at.value(op.data), lowering.channels_last(2 + found.spatial))
    init, zero_point, scale = at.fill(found.shape, f32, 0.0), source.zero_point, source.scale

    def add(stored: Scalar, _: Scalar, so_far: Scalar) -> Scalar:
        integer = stored.to(i32)
        real = (integer - zero_point if zero_point else integer).to(f32) * scale
        return so_far + real

    inputs = found.inputs(at, found.padded(at, last, zero_point), not source.is_signed)
    total = at.generic(inputs, [(init, found.result_map)], add)[0]
    counted: Array = np.array(math.prod(op.windows.kernel))
    if not op.count_include_pad.value.data:
        counted = op.covered_elements(sizes)
        if not counted.all():
            raise at.error("has a window that covers no element, whose mean is undefined")
    divisor = quantized.parameter(at, counted.astype(np.float32), f32, found.window_map)

    def write(sum_: Scalar, scalars: Sequence[Scalar]) -> Scalar:
        mean = sum_ / divisor.of(scalars, sum_)
        return lowering.nearest(result, mean / float(target.scale) + float(target.zero_point))

    return (_finished(at, found, total, divisor.inputs, write),)


LOWERINGS: dict[type[Operation], Lower] = {
    ops.MaxPoolOp: _max_pool,
    ops.GlobalMaxPoolOp: _max_pool,
    ops.MaxPoolWithIndicesOp: _max_pool_with_indices,
    ops.AveragePoolOp: _average_pool,
    ops.GlobalAveragePoolOp: _average_pool,
    ops.LpPoolOp: _lp_pool,
    ops.GlobalLpPoolOp: _lp_pool,
}

QLINEAR: dict[type[Operation], Lower] = {ops.AveragePoolOp: _qlinear_average_pool}
LITERT: dict[type[Operation], Lower] = {ops.AveragePoolOp: _litert_average_pool}
