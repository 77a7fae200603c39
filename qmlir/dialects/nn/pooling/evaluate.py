"""Evaluation of pooling, on floats and on quantized values."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.ir import Operation
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic import functions
from qmlir.arithmetic.arrays import Array, maximum, ordered_mean, ordered_sum
from qmlir.arithmetic.requantization import accumulator_scale, moved_mean, requantize
from qmlir.dialects.nn import evaluation
from qmlir.dialects.nn.base import NnOp, element_limits
from qmlir.dialects.nn.evaluation import Centered, centered, nearest, rescaled, uniform_of, widened, window_view
from qmlir.dialects.nn.pooling import ops
from qmlir.dialects.nn.reduction.evaluate import exact_sum
from qmlir.dialects.nn.requantize import affine
from qmlir.dialects.nn.result_shapes import Windows, taps
from qmlir.dialects.quant.evaluate import dequantize
from qmlir.dialects.quant.infer import same_along, storage_dtype
from qmlir.ir.builtin_types import element_of
from qmlir.ir.evaluation import Evaluator

# Pooling, one kernel element at a time; f16 and bf16 in f32, rounded once.
#
# Sums run in f64 over the elements of a window in row-major order, as in `qmlir.arithmetic.arrays`; other pools process
# one axis after the other.


def _along(axis: int, position: slice) -> tuple[slice, ...]:
    """Returns the index of `position` along spatial axis `axis` of `[N, C, …]`."""
    return (slice(None),) * (axis + 2) + (position,)


def _with_count(data: Array, axis: int, count: int, fill: Any, dtype: np.dtype[Any] | None = None) -> Array:
    shape = list(data.shape)
    shape[axis + 2] = count
    return np.full(shape, fill, data.dtype if dtype is None else dtype)


def _lowest(op: ops.PoolOp | ops.GlobalPoolOp) -> float:
    return element_limits(element_of(op.data))[0]


def _max_pool(op: ops.MaxPoolOp, data: Array) -> tuple[Array]:
    for axis, count in enumerate(op.counts(data.shape[2:])):
        result = _with_count(data, axis, count, _lowest(op))
        for tap in taps(op.windows, axis, data.shape[axis + 2], count):
            into = _along(axis, tap.windows)
            result[into] = maximum(result[into], data[_along(axis, tap.elements)])
        data = result
    return (data,)


def _element_numbers(shape: tuple[int, ...], column_major: bool) -> Array:
    """Returns the index of each element of `[N, C, …]` data; `column_major` is the order within a channel."""
    channels, spatial = shape[:2], shape[2:]
    size = math.prod(spatial)
    within = np.arange(size, dtype=np.int64).reshape(spatial, order="F" if column_major else "C")
    first = np.arange(math.prod(channels), dtype=np.int64).reshape(*channels, *(1,) * len(spatial)) * size
    return first + within


def _max_pool_with_indices(op: ops.MaxPoolWithIndicesOp, data: Array) -> tuple[Array, Array]:
    windows = op.windows
    numbers = _element_numbers(data.shape, bool(op.column_major.value.data))
    counts = op.counts(data.shape[2:])
    # The last axis comes first, so that of equal elements the first in row-major order is found.
    for axis in reversed(range(len(counts))):
        result = _with_count(data, axis, counts[axis], _lowest(op))
        found = _with_count(data, axis, counts[axis], -1, np.dtype(np.int64))
        for tap in taps(windows, axis, data.shape[axis + 2], counts[axis]):
            into, elements = _along(axis, tap.windows), _along(axis, tap.elements)
            best, candidate = result[into], data[elements]
            is_better = (candidate > best) | ((candidate != candidate) & (best == best)) | (found[into] < 0)
            result[into] = np.where(is_better, candidate, best)
            found[into] = np.where(is_better, numbers[elements], found[into])
        data, numbers = result, found
    return data, numbers


def _summed(data: Array, windows: Windows, counts: tuple[int, ...]) -> Array:
    """Returns the sums of the windows, in the type of `data`; padding is ignored."""
    total = np.zeros((*data.shape[:2], *counts))
    for position in evaluation.positions(windows, data.shape[2:], counts):
        total[(..., *position.windows)] += data[(..., *position.elements)]
    return total.astype(data.dtype)


def _average_pool(op: ops.AveragePoolOp, data: Array) -> tuple[Array]:
    values, sizes = widened(data), data.shape[2:]
    total = _summed(values, op.windows, op.counts(sizes))
    return ((total / op.covered_elements(sizes).astype(values.dtype)).astype(data.dtype, copy=False),)


def _raised(x: Array, p: int) -> Array:
    """Computes the power `|x|^p`."""
    return x * x if p == 2 else np.abs(x) if p == 1 else functions.power(np.abs(x), x.dtype.type(p))


def _root(x: Array, p: int) -> Array:
    return np.sqrt(x) if p == 2 else x if p == 1 else functions.power(x, x.dtype.type(1 / p))


def _lp_pool(op: ops.LpPoolOp, data: Array) -> tuple[Array]:
    p = op.p.value.data
    total = _summed(_raised(widened(data), p), op.windows, op.counts(data.shape[2:]))
    return (_root(total, p).astype(data.dtype, copy=False),)


def _spatial(data: Array) -> tuple[int, ...]:
    return tuple(range(2, data.ndim))


def _global_average_pool(op: ops.GlobalAveragePoolOp, data: Array) -> tuple[Array]:
    return (ordered_mean(widened(data), _spatial(data)).astype(data.dtype, copy=False),)


def _global_max_pool(op: ops.GlobalMaxPoolOp, data: Array) -> tuple[Array]:
    return (maximum.along(data, _spatial(data), initial=_lowest(op), keepdims=True),)


def _global_lp_pool(op: ops.GlobalLpPoolOp, data: Array) -> tuple[Array]:
    p = op.p.value.data
    total = ordered_sum(_raised(widened(data), p), _spatial(data))
    return (_root(total, p).astype(data.dtype, copy=False),)


EVALUATORS: dict[type[Operation], Evaluator] = {
    ops.MaxPoolOp: _max_pool,
    ops.MaxPoolWithIndicesOp: _max_pool_with_indices,
    ops.AveragePoolOp: _average_pool,
    ops.LpPoolOp: _lp_pool,
    ops.GlobalAveragePoolOp: _global_average_pool,
    ops.GlobalMaxPoolOp: _global_max_pool,
    ops.GlobalLpPoolOp: _global_lp_pool,
}


# Quantized average pools: the exact sum of a window, and one requantization by its count.

Result = tuple[Array] | None


def _mean(op: NnOp, operand: Centered, total: Array, count: Array | int) -> Result:
    """Requantizes the means of sums `total` over `count` elements of one scale."""
    scale = same_along(operand.scale, range(2, total.ndim))
    if scale is None:
        return None
    if not np.all(count):
        raise InterpretationError("the mean of zero elements is undefined")
    return (rescaled(op, total, scale, count),)


def _quantized_average_pool(op: ops.AveragePoolOp, data: Array) -> Result:
    operand, counts = centered(op.data, data), op.counts(data.shape[2:])
    axes = tuple(range(data.ndim, data.ndim + len(counts)))
    total = exact_sum(window_view(operand.integers, op.windows, counts, 0), axes, keep_dims=False)
    return _mean(op, operand, total, op.covered_elements(data.shape[2:]))


def _quantized_global_average_pool(op: ops.GlobalAveragePoolOp, data: Array) -> Result:
    operand = centered(op.data, data)
    total = exact_sum(operand.integers, _spatial(data))
    return _mean(op, operand, total, math.prod(data.shape[2:]))


QUANTIZED: dict[type[Operation], Callable[..., Result]] = {
    ops.AveragePoolOp: _quantized_average_pool,
    ops.GlobalAveragePoolOp: _quantized_global_average_pool,
}


def _qlinear_average_pool(op: ops.AveragePoolOp, data: Array) -> tuple[Array]:
    sizes, source, result = data.shape[2:], uniform_of(op.data), uniform_of(op.result)
    if op.is_whole_image(sizes):
        total = (data.astype(np.int64) - source.zero_point).sum(axis=_spatial(data), keepdims=True)
        scale = accumulator_scale(result.scale, math.prod(sizes))
        limits = result.storage_min, result.storage_max
        return (requantize(total, source.scale, scale, result.zero_point, limits).astype(storage_dtype(result)),)
    windows, counts = op.windows, op.counts(sizes)
    taps = window_view(dequantize(data, source), windows, counts, 0).reshape(*data.shape[:2], *counts, -1)
    total = np.zeros(taps.shape[:-1], np.float32)
    for tap in range(taps.shape[-1]):
        total = total + taps[..., tap]
    # With `count_include_pad`, a window counts the whole kernel, even beyond the padding.
    counts_padding = bool(op.count_include_pad.value.data)
    count = math.prod(windows.kernel) if counts_padding else op.covered_elements(sizes)
    return (nearest(moved_mean(total, count, affine(result)), result),)


QLINEAR: dict[type[Operation], Evaluator] = {ops.AveragePoolOp: _qlinear_average_pool}
