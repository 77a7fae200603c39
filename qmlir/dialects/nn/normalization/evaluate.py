"""Evaluation of softmax and normalization with NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import Operation

from qmlir.arithmetic import functions
from qmlir.arithmetic.arrays import Array, ordered_mean, ordered_sum
from qmlir.arithmetic.requantization import SOFTMAX_LARGEST, softmax_powers, softmax_steps
from qmlir.arithmetic.row_norms import normalized_rows
from qmlir.dialects.nn.evaluation import centered, uniform_of, widened
from qmlir.dialects.nn.normalization import ops
from qmlir.dialects.nn.requantize import affine
from qmlir.dialects.quant.evaluate import quantize
from qmlir.dialects.quant.infer import storage_dtype
from qmlir.ir.evaluation import Evaluator
from qmlir.text.elements import dtype_of

# Evaluation of softmax operations; f16 and bf16 are rounded after each step, like separate operations.
#
# ONNX defines these operators, and their decompositions compute, in this way. Sums have the order and precision of
# `qmlir.arithmetic.arrays`, functions those of `qmlir.arithmetic.functions`.

Rounding = Callable[[Array], Array]
"""A function that rounds values to the precision of a type, and returns them in the type used for computation."""


def rounding(dtype: np.dtype[Any]) -> Rounding:
    """Returns the function that rounds to `dtype`."""
    return lambda x: widened(x.astype(dtype, copy=False))


def _shifted(x: Array, axis: int, rounded: Rounding) -> Array:
    """Subtracts the maximum of `x` along `axis`, which may be empty."""
    x = rounded(x)
    return rounded(x - x.max(axis=axis, keepdims=True, initial=-np.inf))


def softmax(x: Array, axis: int, rounded: Rounding) -> Array:
    """Computes `e^x / sum(e^x)` along `axis`."""
    raised = rounded(functions.exp(_shifted(x, axis, rounded)))
    return rounded(raised / rounded(ordered_sum(raised, (axis,))))


def _masked_softmax(x: Array, mask: Array, op: ops.SoftmaxOp, rounded: Rounding) -> Array:
    """Computes the softmax of the unmasked elements: the others affect neither maximum nor sum, and yield 0."""
    axis, keep, x = op.axis.value.data, np.broadcast_to(mask != 0, x.shape), rounded(x)
    selected = np.where(keep, x, x.min(axis=axis, keepdims=True, initial=np.inf))
    kept = np.where(keep, rounded(functions.exp(_shifted(selected, axis, rounded))), x.dtype.type(0))
    total = rounded(ordered_sum(kept, (axis,)))
    is_empty, count = ~keep.any(axis=axis, keepdims=True), max(x.shape[axis], 1)
    empty = rounded(np.asarray(1 / count, x.dtype)) if op.is_uniform_if_empty else x.dtype.type(0)
    return np.where(is_empty, empty, rounded(kept / np.maximum(total, x.dtype.type(1))))


def _softmax(op: ops.SoftmaxOp, x: Array, mask: Array | None) -> tuple[Array]:
    rounded = rounding(x.dtype)
    with np.errstate(all="ignore"):  # infinities yield NaN, as in IEEE 754
        if mask is not None and op.fill is not None:
            addend: Array = np.where(mask != 0, 0.0, op.fill.value.data).astype(x.dtype)
            x, mask = rounded(x + addend), None
        found = softmax(x, op.axis.value.data, rounded) if mask is None else _masked_softmax(x, mask, op, rounded)
        return (found.astype(x.dtype, copy=False),)


def _log_softmax(x: Array, axis: int, rounded: Rounding) -> Array:
    shifted = _shifted(x, axis, rounded)
    total = rounded(ordered_sum(rounded(functions.exp(shifted)), (axis,)))
    return shifted - rounded(functions.log(total))


def _hardmax(x: Array, axis: int, rounded: Rounding) -> Array:
    x = rounded(x)
    result = np.zeros_like(x)
    if x.size:
        np.put_along_axis(result, np.expand_dims(x.argmax(axis=axis), axis), 1, axis=axis)
    return result


def _along_axis(function: Callable[[Array, int, Rounding], Array]) -> Evaluator:
    def evaluator(op: ops.SoftmaxLikeOp, x: Array) -> tuple[Array]:
        with np.errstate(all="ignore"):  # infinities yield NaN, as in IEEE 754
            return (function(x, op.axis.value.data, rounding(x.dtype)).astype(x.dtype, copy=False),)

    return evaluator


# Float normalizations.
#
# Two-stage normalizations round between the stages, as ONNX specifies; the others compute f16 and bf16 in f32, and
# round once. Sums have the order and precision of `qmlir.arithmetic.arrays`; every other step rounds in the computing
# type.


def per_channel(parameter: Array, rank: int) -> Array:
    """Reshapes `[C]` to `[C, 1, …]`, which broadcasts along the axes after the channels."""
    return parameter.reshape(-1, *(1,) * (rank - 2))


def number(attribute: FloatAttr, like: Array) -> Any:
    """Returns the number in a property, converted to the type of `like`."""
    return like.dtype.type(attribute.value.data)


def _standardized(op: ops.RowNormOp, x: Array, first: int) -> Array:
    """Normalizes the rows of `x`, its axes from `first` on, to mean 0 and variance 1, or to mean square 1."""
    axes = tuple(range(first, x.ndim))
    with np.errstate(invalid="ignore", divide="ignore"):  # the mean of no elements
        x = x - ordered_mean(x, axes) if op.IS_CENTERED else x
        return x / np.sqrt(ordered_mean(x * x, axes) + number(op.epsilon, x))


def _first_stage(op: ops.GroupNormOp | ops.TrailingNormOp, data: Array, first: int) -> Array:
    """Normalizes rows in the type of the first stage and rounds to it; f16 and bf16 are computed in f32."""
    dtype = dtype_of(op.first_stage_type(op.operands[0]))
    normalized = _standardized(op, widened(data.astype(dtype, copy=False)), first)
    return normalized.astype(dtype, copy=False).astype(data.dtype, copy=False)


def affine_by_channel(x: Array, scale: Array, bias: Array, mean: Array, variance: Array, epsilon: FloatAttr) -> Array:
    """Computes `x * f + (bias - mean * f)` with `f = scale / sqrt(variance + epsilon)`, per channel."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):  # a variance below -epsilon gives NaN
        factor = scale / np.sqrt(variance + number(epsilon, variance))
        offset = bias - mean * factor
        return x * per_channel(factor, x.ndim) + per_channel(offset, x.ndim)


def _batch_norm(
    op: ops.BatchNormOp, data: Array, scale: Array, bias: Array, mean: Array | None, variance: Array | None
) -> tuple[Array]:
    x, factor, offset = (widened(array) for array in (data, scale, bias))
    if mean is not None and variance is not None:
        result = affine_by_channel(x, factor, offset, widened(mean), widened(variance), op.epsilon)
    else:
        result = x * per_channel(factor, x.ndim) + per_channel(offset, x.ndim)
    return (result.astype(data.dtype, copy=False),)


def _instance_norm(op: ops.InstanceNormOp, data: Array, scale: Array, bias: Array) -> tuple[Array]:
    normalized = _standardized(op, widened(data), 2)
    factor, offset = (per_channel(widened(array), data.ndim) for array in (scale, bias))
    return ((normalized * factor + offset).astype(data.dtype, copy=False),)


def _group_norm(op: ops.GroupNormOp, data: Array, scale: Array, bias: Array) -> tuple[Array]:
    groups = op.groups.value.data
    grouped = data.reshape(data.shape[0], groups, data.shape[1] // groups, *data.shape[2:])
    result = _first_stage(op, grouped, 2).reshape(data.shape)
    return (result * per_channel(scale, data.ndim) + per_channel(bias, data.ndim),)


def _trailing_norm(op: ops.TrailingNormOp, data: Array, scale: Array | None, bias: Array | None = None) -> tuple[Array]:
    result = _first_stage(op, data, op.first_axis)
    result = result if scale is None else result * scale
    return (result if bias is None else result + bias,)


def _lp_norm(op: ops.LpNormOp, data: Array) -> tuple[Array]:
    x = widened(data)
    axis = op.axis.value.data
    if op.p.value.data == 1:
        norm = ordered_sum(np.abs(x), (axis,))
    else:
        norm = np.sqrt(ordered_sum(x * x, (axis,)))
    if op.epsilon is not None:
        norm = np.maximum(norm, number(op.epsilon, x))
    result = np.divide(x, norm, out=np.zeros_like(x), where=np.broadcast_to(norm != 0, x.shape))
    return (result.astype(data.dtype, copy=False),)


def _local_response_norm(op: ops.LocalResponseNormOp, data: Array) -> tuple[Array]:
    x = widened(data)
    size = op.size.value.data
    below, above = (size - 1) // 2, size // 2
    squares, channels = x * x, x.shape[1]
    total = np.zeros(x.shape)
    reach = channels - 1
    for offset in range(-min(below, reach), min(above, reach) + 1):  # the channels of each window in ascending order
        first, end = max(0, -offset), min(channels, channels - offset)
        total[:, first:end] += squares[:, first + offset : end + offset]
    alpha, beta, bias = (number(attribute, x) for attribute in (op.alpha, op.beta, op.bias))
    with np.errstate(invalid="ignore", divide="ignore"):  # a base below 0 gives NaN, a base of 0 infinity
        base = bias + alpha / x.dtype.type(size) * total.astype(x.dtype)
        result = x / functions.power(base, beta)
    return (result.astype(data.dtype, copy=False),)


EVALUATORS: dict[type[Operation], Evaluator] = {
    ops.SoftmaxOp: _softmax,
    ops.LogSoftmaxOp: _along_axis(_log_softmax),
    ops.HardmaxOp: _along_axis(_hardmax),
    ops.BatchNormOp: _batch_norm,
    ops.InstanceNormOp: _instance_norm,
    ops.GroupNormOp: _group_norm,
    ops.LayerNormOp: _trailing_norm,
    ops.RmsNormOp: _trailing_norm,
    ops.LpNormOp: _lp_norm,
    ops.LocalResponseNormOp: _local_response_norm,
}


# Quantized row norms: exact sums, an exactly rounded reciprocal root per row, then steps in f32.

Result = tuple[Array]


def _normalized(op: ops.RowNormOp, data: Array, grouped: tuple[int, ...], first: int) -> Array:
    """Normalizes the integers of the rows of shape `grouped`, which are its axes from `first` on."""
    integers = centered(op.operands[0], data).integers.reshape(grouped)
    return normalized_rows(op.integer_norm(), integers, tuple(range(first, len(grouped))))


def _result(op: ops.RowNormOp, x: Array, scale: Array | None, bias: Array | None) -> Result:
    with np.errstate(all="ignore"):  # nonfinite values saturate
        x = x if scale is None else x * scale
        return (quantize(x if bias is None else x + bias, uniform_of(op.results[0])),)


def _quantized_trailing_norm(
    op: ops.TrailingNormOp, data: Array, scale: Array | None, bias: Array | None = None
) -> Result:
    return _result(op, _normalized(op, data, data.shape, op.first_axis), scale, bias)


def _channel_norm(op: ops.ScaledChannelNormOp, data: Array, scale: Array, bias: Array) -> Result:
    """Normalizes rows of `[N, G, C / G, …]`, whose groups are single channels for an instance norm."""
    batch, channels, *sizes = data.shape
    groups = op.groups.value.data if isinstance(op, ops.GroupNormOp) else channels
    normalized = _normalized(op, data, (batch, groups, channels // groups, *sizes), 2).reshape(data.shape)
    along = (-1, *(1,) * len(sizes))
    return _result(op, normalized, scale.reshape(along), bias.reshape(along))


QUANTIZED: dict[type[Operation], Callable[..., Result]] = {
    ops.GroupNormOp: _channel_norm,
    ops.InstanceNormOp: _channel_norm,
    ops.LayerNormOp: _quantized_trailing_norm,
    ops.RmsNormOp: _quantized_trailing_norm,
}


def _qlinear_softmax(op: ops.SoftmaxOp, x: Array, mask: None) -> tuple[Array]:
    axis, result = op.axis.value.data, uniform_of(op.result)
    source, target = affine(uniform_of(op.input)), affine(result)
    powers = softmax_powers(source.scale, x.shape[axis])
    wide = x.astype(np.int64)
    raised = powers[255 + wide - wide.max(axis=axis, keepdims=True)]
    total = np.add.accumulate(raised, axis=axis).take([-1], axis=axis)
    with np.errstate(over="ignore"):
        steps = np.minimum(raised * softmax_steps(target.scale) / total, SOFTMAX_LARGEST)
    stored = np.rint(steps).astype(np.int64) + target.zero_point
    return (np.asarray(stored.clip(result.storage_min, result.storage_max), storage_dtype(result)),)


QLINEAR: dict[type[Operation], Evaluator] = {ops.SoftmaxOp: _qlinear_softmax}
