"""Lowering of pooling to reductions over channels-last windows; quantized means sum exactly and round once."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from xdsl.dialects.builtin import AnyFloat, f32, f64, i1, i32, i64
from xdsl.dialects.math import PowFOp, SqrtOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.requantization import Mode
from qmlir.dialects.kernel.attributes import RequantizeAttr
from qmlir.dialects.kernel.lowering import quantized
from qmlir.dialects.kernel.lowering.lowering import Lower, Lowering
from qmlir.dialects.kernel.lowering.scalars import Number, Scalar, constant, position
from qmlir.dialects.nn.base import element_limits
from qmlir.dialects.nn.lowering.elements import between_casts
from qmlir.dialects.nn.lowering.indexing import SlidingWindows, channels_first, channels_last, sliding
from qmlir.dialects.nn.pooling import ops
from qmlir.dialects.nn.requantize import is_qlinear
from qmlir.dialects.nn.result_shapes import Windows, covered_elements
from qmlir.dialects.quant.infer import broadcast_parameters, same_along
from qmlir.dialects.quant.types import UniformQuantizedType, storage_limits
from qmlir.ir.builtin_types import element_of, shape_of, tensor

PoolOp = ops.PoolOp | ops.GlobalPoolOp


def _windows(op: PoolOp) -> SlidingWindows:
    """Returns the windows of a pool; a global pool has a single window, the whole channel."""
    shape = shape_of(op.data)
    if isinstance(op, ops.PoolOp):
        return sliding(op.windows, op.counts(shape[2:]), shape)
    return sliding(Windows.of(shape[2:], None, None, None), [1] * (len(shape) - 2), shape)


def _reduced(
    at: Lowering,
    found: SlidingWindows,
    padded: SSAValue,
    start: tuple[Number, Attribute],
    body: Callable[[Scalar, Scalar], Scalar],
    unsigned: bool,
) -> SSAValue:
    """Reduces the elements of each window by `body(element, accumulator)`, `[N, windows…, C]`."""
    init = at.fill(found.shape, start[1], start[0])
    inputs = found.inputs(at, padded, unsigned)
    outputs = [(init, found.result_map)]

    def combine(element: Scalar, _: Scalar, so_far: Scalar) -> Scalar:
        return body(element, so_far)

    return at.generic(inputs, outputs, combine)[0]


def _max_pool(op: ops.MaxPoolOp | ops.GlobalMaxPoolOp, at: Lowering) -> Sequence[SSAValue]:
    found, rank, is_unsigned = _windows(op), len(shape_of(op.data)), at.signedness(op.data)
    element, source = tensor(op.data.type).get_element_type(), tensor(op.result.type).get_element_type()
    if element != source:
        raise at.error(
            f"cannot be compiled: data '{element}' and result '{source}' must have the same type; run "
            "quant-propagate-types first"
        )
    start, _ = element_limits(element)
    last = found.padded(at, at.transpose(at.value(op.data), channels_last(rank)), start)

    def larger(element: Scalar, so_far: Scalar) -> Scalar:
        return Scalar(so_far.value, so_far.builder, is_unsigned).maximum(element)

    pooled = _reduced(at, found, last, (start, element_of(last)), larger, is_unsigned)
    return (at.transpose(pooled, channels_first(rank)),)


def _max_pool_with_indices(op: ops.MaxPoolWithIndicesOp, at: Lowering) -> Sequence[SSAValue]:
    """Tracks the maximum and its index: that of the first of equal elements, or of the first NaN."""
    found, sizes, is_unsigned = _windows(op), shape_of(op.data), at.signedness(op.data)
    start, _ = element_limits(element_of(op.data))
    last = found.padded(at, at.transpose(at.value(op.data), channels_last(len(sizes))), start)
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
    return [at.transpose(each, channels_first(len(sizes))) for each in pooled]


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


def window_map(found: SlidingWindows) -> AffineMap:
    """Returns the indexing map of the window operand, from the dimensions `[N, windows…, C]`."""
    dims = 2 + found.spatial
    return AffineMap(dims, 0, tuple(AffineExpr.dimension(1 + axis) for axis in range(found.spatial)))


def _average_pool(op: ops.AveragePoolOp | ops.GlobalAveragePoolOp, at: Lowering) -> Sequence[SSAValue]:
    found, shape, rank = _windows(op), shape_of(op.data), len(shape_of(op.data))
    with_padding = isinstance(op, ops.AveragePoolOp) and bool(op.count_include_pad.value.data)
    counts = covered_elements(found.windows, found.counts, shape[2:], with_padding)
    last = at.transpose(at.value(op.data), channels_last(rank))
    element = quantized.uniform_element(at, op.data)
    if element is None or quantized.uniform_element(at, op.result) is None:
        return (at.transpose(_plain_mean(at, found, last, counts), channels_first(rank)),)
    if not counts.all():
        raise at.error("has a window that covers no element, whose mean is undefined")
    scales, zero_points = (np.asarray(each) for each in broadcast_parameters(element, shape))
    scales = same_along(scales, range(2, scales.ndim))
    if scales is None:
        return between_casts(op, at)
    order = channels_last(rank)
    low, high = storage_limits(element.storage)
    largest = (high - low) * math.prod(found.windows.kernel)
    wide = i32 if largest < 1 << 31 else i64
    dims = 2 + found.spatial
    to_result = AffineMap(dims, 0, tuple(AffineExpr.dimension(order.index(axis)) for axis in range(rank)))
    border, is_signed = int(zero_points.reshape(-1)[0]), element.is_signed
    if (zero_points != border).any():  # the border is 0 once the integers are centered
        last, border, is_signed = _centered(at, op, element, to_result), 0, True
    init = at.fill(found.shape, wide, 0)

    def add(stored: Scalar, _: Scalar, so_far: Scalar) -> Scalar:
        integer = stored.to(quantized.wide_type(element))
        return so_far + (integer - border if border else integer).to(wide)

    inputs = found.inputs(at, found.padded(at, last, border), not is_signed)
    total = at.generic(inputs, [(init, found.result_map)], add)[0]
    # In mode `qlinear`, only global pools get here.
    mode = RequantizeAttr.of(Mode.F32) if is_qlinear(op) else None
    writing = quantized.requantizing(at, 0, scales, largest, to_result, counts, mode)
    identity = AffineMap.identity(dims)

    def body(sum_: Scalar, *scalars: Scalar) -> Scalar:
        return writing.write(sum_, scalars)

    from_sum = [quantized.Input(total, identity), *writing.inputs]
    pooled = at.compute(from_sum, found.shape, at.result_element(), body)
    return (at.transpose(pooled, channels_first(rank)),)


def _centered(
    at: Lowering, op: ops.AveragePoolOp | ops.GlobalAveragePoolOp, element: UniformQuantizedType, from_last: AffineMap
) -> SSAValue:
    """Returns the centered integers of the data, channels last."""
    shape, held = shape_of(op.data), quantized.wide_type(element)
    reading = quantized.centered(at, op.data, from_last)

    def body(*scalars: Scalar) -> Scalar:
        return reading.read(scalars).to(held)

    return at.compute(reading.inputs, [shape[axis] for axis in channels_last(len(shape))], held, body)


def _computing(element: Attribute) -> AnyFloat:
    return f64 if element == f64 else f32


def _plain_mean(at: Lowering, found: SlidingWindows, last: SSAValue, counts: Array) -> SSAValue:
    """Sums in row-major order of the kernel, in f64 rounded once, and divides by the number of elements of each
    window."""
    computing = _computing(element_of(last))
    total = _float_sum(at, found, last, lambda value: value)
    dtype = np.float64 if computing == f64 else np.float32
    divisor = quantized.parameter(at, counts.astype(dtype), computing, window_map(found))

    def divide(sum_: Scalar, *rest: Scalar) -> Scalar:
        rounded = sum_.to(computing)
        return (rounded / divisor.of(rest, rounded)).to(at.result_element())

    inputs = [quantized.Input(total, AffineMap.identity(2 + found.spatial)), *divisor.inputs]
    return at.compute(inputs, found.shape, at.result_element(), divide)


def _float_sum(at: Lowering, found: SlidingWindows, last: SSAValue, function: Callable[[Scalar], Scalar]) -> SSAValue:
    """Returns the sums of `function` of the elements of each window, in f64."""
    computing = _computing(element_of(last))
    padded = found.padded(at, last, 0.0)

    def add(element: Scalar, so_far: Scalar) -> Scalar:
        return so_far + function(element.to(computing)).to(f64)

    return _reduced(at, found, padded, (0.0, f64), add, False)


def _lp_pool(op: ops.LpPoolOp | ops.GlobalLpPoolOp, at: Lowering) -> Sequence[SSAValue]:
    found, rank, p = _windows(op), len(shape_of(op.data)), op.p.value.data
    last = at.transpose(at.value(op.data), channels_last(rank))
    computing = _computing(element_of(last))

    def raised(x: Scalar) -> Scalar:
        size = x.absolute()
        return x * x if p == 2 else size if p == 1 else size.apply(PowFOp, x.constant(p))

    def root(sum_: Scalar) -> Scalar:
        rounded = sum_.to(computing)
        if p > 2:
            rounded = rounded.apply(PowFOp, rounded.constant(1 / p))
        return (rounded.apply(SqrtOp) if p == 2 else rounded).to(at.result_element())

    total = _float_sum(at, found, last, raised)

    identity = AffineMap.identity(2 + found.spatial)
    pooled = at.compute([quantized.Input(total, identity)], found.shape, at.result_element(), root)
    return (at.transpose(pooled, channels_first(rank)),)


LOWERINGS: dict[type[Operation], Lower] = {
    ops.MaxPoolOp: _max_pool,
    ops.GlobalMaxPoolOp: _max_pool,
    ops.MaxPoolWithIndicesOp: _max_pool_with_indices,
    ops.AveragePoolOp: _average_pool,
    ops.GlobalAveragePoolOp: _average_pool,
    ops.LpPoolOp: _lp_pool,
    ops.GlobalLpPoolOp: _lp_pool,
}
