"""Quantized average pools: the exact sum of a window, and one requantization by its count."""

import math
from collections.abc import Callable

import numpy as np
from xdsl.ir import Operation
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.infer.windows import covered_elements, output_size
from qmlir.dialects.nn.interpret.quantized.parameters import Centred, centred, rescaled
from qmlir.dialects.nn.interpret.quantized.reduction import exact_sum
from qmlir.dialects.nn.interpret.windows import window_view
from qmlir.dialects.nn.ops import pooling
from qmlir.dialects.quant.infer import same_along

Result = tuple[Array] | None


def _counts(op: pooling.PoolOp, data: Array) -> tuple[int, ...]:
    """How many windows there are along each spatial axis."""
    is_ceil = bool(op.ceil_mode.value.data)
    return tuple(output_size(size, op.windows, axis, is_ceil) for axis, size in enumerate(data.shape[2:]))


def _mean(op: NnOp, operand: Centred, total: Array, count: Array | int) -> Result:
    """The requantized means of sums `total` over `count` elements of one scale."""
    scale = same_along(operand.scale, range(2, total.ndim))
    if scale is None:
        return None
    if not np.all(count):
        raise InterpretationError("the mean of zero elements is undefined")
    return (rescaled(op, total, scale, count),)


def _average_pool(op: pooling.AveragePoolOp, data: Array) -> Result:
    operand, windows, counts = centred(op.data, data), op.windows, _counts(op, data)
    axes = tuple(range(data.ndim, data.ndim + len(counts)))
    total = exact_sum(window_view(operand.integers, windows, counts, 0), axes, keep_dims=False)
    return _mean(
        op, operand, total, covered_elements(windows, counts, data.shape[2:], bool(op.count_include_pad.value.data))
    )


def _global_average_pool(op: pooling.GlobalAveragePoolOp, data: Array) -> Result:
    operand = centred(op.data, data)
    total = exact_sum(operand.integers, tuple(range(2, data.ndim)))
    return _mean(op, operand, total, math.prod(data.shape[2:]))


QUANTIZED: dict[type[Operation], Callable[..., Result]] = {
    pooling.AveragePoolOp: _average_pool,
    pooling.GlobalAveragePoolOp: _global_average_pool,
}
