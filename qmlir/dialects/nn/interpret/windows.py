"""What convolutions, pools and matrix products compute: windows as strided views, sums through BLAS."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation

from qmlir.dialects.nn.base import shape_of
from qmlir.dialects.nn.infer.windows import Windows
from qmlir.dialects.nn.ops import contraction, pooling

Array = npt.NDArray[Any]


def window_view(data: Array, windows: Windows, counts: tuple[int, ...], fill: Any) -> Array:
    """A view `[N, C, *counts, *kernel]` of `data`, padded with `fill` as far as the windows reach."""
    pads = [(0, 0), (0, 0)]
    for axis, count in enumerate(counts):
        begin, end = windows.padding(axis)
        reach = (count - 1) * windows.strides[axis] + windows.extent(axis)
        pads.append((begin, max(end, reach - begin - data.shape[axis + 2])))
    padded = np.pad(data, pads, constant_values=fill)
    spatial = tuple(range(2, data.ndim))
    extents = tuple(windows.extent(axis) for axis in range(len(counts)))
    view = np.lib.stride_tricks.sliding_window_view(padded, extents, axis=spatial)
    steps = tuple(
        slice(None, (count - 1) * stride + 1, stride) for count, stride in zip(counts, windows.strides, strict=True)
    )
    taps = tuple(slice(None, None, dilation) for dilation in windows.dilations)
    return view[(slice(None), slice(None), *steps, *taps)]


def convolve(data: Array, weight: Array, windows: Windows, groups: int, counts: tuple[int, ...]) -> Array:
    """The correlation of each group of channels; the sum runs in the type of `data`."""
    batch, channels = data.shape[:2]
    rows = weight.shape[0] // groups
    view = window_view(data, windows, counts, 0)
    view = view.reshape(batch, groups, channels // groups, *counts, *windows.kernel)
    spatial = len(counts)
    order = (1, 0, *range(3, 3 + spatial), 2, *range(3 + spatial, 3 + 2 * spatial))
    columns = view.transpose(order).reshape(groups, batch * math.prod(counts), -1)
    kernels = weight.reshape(groups, rows, -1).transpose(0, 2, 1)
    result = (columns @ kernels).reshape(groups, batch, *counts, rows)
    return np.moveaxis(result, (0, -1), (1, 2)).reshape(batch, groups * rows, *counts)


def _with_bias(result: Array, bias: Array | None, spatial: int) -> tuple[Array]:
    return (result if bias is None else result + bias.reshape(-1, *(1,) * spatial),)


def _conv(op: contraction.ConvOp, data: Array, weight: Array, bias: Array | None) -> tuple[Array]:
    spatial = data.ndim - 2
    counts = op.infer_result_types()[0].get_shape()[2:]
    return _with_bias(convolve(data, weight, op.windows, op.groups.value.data, counts), bias, spatial)


def _matmul(op: contraction.MatMulOp, lhs: Array, rhs: Array) -> tuple[Array]:
    return (np.matmul(lhs, np.swapaxes(rhs, -1, -2) if op.is_rhs_transposed else rhs),)


def _fully_connected(op: contraction.FullyConnectedOp, data: Array, weight: Array, bias: Array | None) -> tuple[Array]:
    return _with_bias(data @ weight.T, bias, 0)


def _counts(op: pooling.PoolOp) -> tuple[int, ...]:
    return op.pooled_shape()[2:]


def _max_pool(op: pooling.MaxPoolOp, data: Array) -> tuple[Array]:
    lowest = np.iinfo(data.dtype).min if np.issubdtype(data.dtype, np.integer) else -np.inf
    view = window_view(data, op.windows, _counts(op), lowest)
    return (view.max(axis=tuple(range(-len(op.windows.kernel), 0))),)


def _average_pool(op: pooling.AveragePoolOp, data: Array) -> tuple[Array]:
    windows, counts = op.windows, _counts(op)
    axes = tuple(range(-len(windows.kernel), 0))
    total = window_view(data, windows, counts, 0).sum(axis=axes)
    # The divisor counts the elements of the input, and of its padding where the operation says so; what a window of
    # ceil_mode reaches beyond the padding never counts.
    inside = np.ones((1, 1, *shape_of(op.data)[2:]), dtype=data.dtype)
    if op.count_include_pad.value.data:
        pads = [(0, 0), (0, 0), *(windows.padding(axis) for axis in range(len(counts)))]
        inside = np.pad(inside, pads, constant_values=1)
        windows = Windows(windows.kernel, windows.strides, windows.dilations, (0,) * 2 * len(counts))
    return (total / window_view(inside, windows, counts, 0).sum(axis=axes),)


def _global_average_pool(op: pooling.GlobalAveragePoolOp, data: Array) -> tuple[Array]:
    return (data.mean(axis=tuple(range(2, data.ndim)), keepdims=True, dtype=data.dtype),)


MEANINGS: dict[type[Operation], Callable[..., tuple[Array, ...]]] = {
    contraction.ConvOp: _conv,
    contraction.MatMulOp: _matmul,
    contraction.FullyConnectedOp: _fully_connected,
    pooling.MaxPoolOp: _max_pool,
    pooling.AveragePoolOp: _average_pool,
    pooling.GlobalAveragePoolOp: _global_average_pool,
}
