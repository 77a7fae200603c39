"""Evaluation of reductions and scans, on floats and on quantized values."""

import math
from collections.abc import Callable

import numpy as np
from xdsl.ir import Operation
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic import functions
from qmlir.arithmetic.arrays import (
    Array,
    Extreme,
    magnitude,
    maximum,
    minimum,
    ordered_mean,
    ordered_product,
    ordered_sum,
)
from qmlir.arithmetic.requantization import widened as widened_integers
from qmlir.dialects.nn.base import element_limits
from qmlir.dialects.nn.evaluation import centered, exact_reals, is_integral, rescaled, widened
from qmlir.dialects.nn.reduction import ops
from qmlir.dialects.quant.infer import same_along
from qmlir.ir.builtin_types import element_of
from qmlir.ir.evaluation import Evaluator
from qmlir.text.elements import narrowed

# Reductions and scans: floats are summed as in `qmlir.arithmetic.arrays`, f16 and bf16 in f32 and rounded once;
# integers wrap. Scans use the precision of their operand.

Reduction = Callable[[Array, tuple[int, ...]], Array]
"""A function that reduces values along axes, and keeps these axes with size 1."""


def _sum(x: Array, axes: tuple[int, ...]) -> Array:
    return np.sum(x, axis=axes, keepdims=True, dtype=x.dtype) if is_integral(x) else ordered_sum(x, axes)


def _mean(x: Array, axes: tuple[int, ...]) -> Array:
    if not is_integral(x):
        return ordered_mean(x, axes)
    count = int(np.prod([x.shape[axis] for axis in axes], dtype=np.int64))
    if not count:
        raise InterpretationError("the integer mean of zero elements is undefined")
    total: Array = np.asarray(x.astype(np.object_).sum(axis=axes, keepdims=True))
    return np.where(total < 0, -(-total // count), total // count)


def _product(x: Array, axes: tuple[int, ...]) -> Array:
    return np.prod(x, axis=axes, keepdims=True, dtype=x.dtype) if is_integral(x) else ordered_product(x, axes)


def _sum_square(x: Array, axes: tuple[int, ...]) -> Array:
    return _sum(x * x, axes)


def _in_float(function: Reduction) -> Reduction:
    """Wraps a reduction to compute integers in f64; results are truncated, and saturate."""

    def computed(x: Array, axes: tuple[int, ...]) -> Array:
        return function(x.astype(np.float64) if is_integral(x) else x, axes)

    return computed


def _log_sum_exp(x: Array, axes: tuple[int, ...]) -> Array:
    largest: Array = np.max(x, axis=axes, keepdims=True, initial=-np.inf)
    # An infinite shift would turn infinities into NaN; they need none.
    shift: Array = np.where(np.isfinite(largest), largest, x.dtype.type(0))
    return functions.log(_sum(functions.exp(x - shift), axes)) + shift


def _reduction(function: Reduction) -> Evaluator:
    def evaluator(op: ops.ReduceOp, x: Array, axes: Array | None) -> tuple[Array]:
        gone = op.reduced_axes(x.ndim, axes)
        with np.errstate(all="ignore"):  # logarithms of 0 and overflows have IEEE results
            found = function(widened(x), gone)
            if is_integral(x) and not is_integral(found):
                low, high = element_limits(element_of(op.input))
                found = np.minimum(np.where(found >= low, found, low), high)
            result = narrowed(found.astype(x.dtype), element_of(op.input))
        return (result if op.keeps_axes else result.squeeze(gone),)

    return evaluator


def _extreme(function: Extreme) -> Evaluator:
    """Returns the evaluator of a maximum or minimum; the result for no elements is the limit that every element
    replaces."""

    def evaluator(op: ops.ExtremeOp, x: Array, axes: Array | None) -> tuple[Array]:
        lowest, highest = element_limits(element_of(op.input))
        initial = lowest if function is maximum else highest
        gone = op.reduced_axes(x.ndim, axes)
        return (function.along(widened(x), gone, initial=initial, keepdims=op.keeps_axes).astype(x.dtype),)

    return evaluator


def _arg_extreme(function: Callable[..., Array]) -> Evaluator:
    def evaluator(op: ops.ArgExtremeOp, x: Array) -> tuple[Array]:
        axis, keeps, values = op.axis.value.data, bool(op.keep_dims.value.data), widened(x)
        if not op.select_last_index.value.data:
            return (np.asarray(function(values, axis=axis, keepdims=keeps), np.int64),)
        from_end = function(np.flip(values, axis), axis=axis, keepdims=keeps)
        return (np.asarray(x.shape[axis] - 1 - from_end, np.int64),)

    return evaluator


def _scan(ufunc: np.ufunc) -> Evaluator:
    def evaluator(op: ops.ScanOp, x: Array, axis: Array | None) -> tuple[Array]:
        values = np.moveaxis(widened(x), op.scanned_axis(x.ndim, axis), 0)
        if op.reverse.value.data:
            values = values[::-1]
        with np.errstate(all="ignore"):
            result = ufunc.accumulate(values, axis=0, dtype=values.dtype)
        if op.exclusive.value.data:
            neutral = np.full((min(1, len(values)), *values.shape[1:]), ufunc.identity, values.dtype)
            result = np.concatenate([neutral, result[:-1]])
        if op.reverse.value.data:
            result = result[::-1]
        result = np.moveaxis(result, 0, op.scanned_axis(x.ndim, axis))
        return (narrowed(result.astype(x.dtype), element_of(op.input)),)

    return evaluator


EVALUATORS: dict[type[Operation], Evaluator] = {
    ops.ReduceSumOp: _reduction(_sum),
    ops.ReduceMeanOp: _reduction(_mean),
    ops.ReduceProdOp: _reduction(_product),
    ops.ReduceL1Op: _reduction(lambda x, axes: _sum(np.abs(x), axes)),
    ops.ReduceL2Op: _reduction(_in_float(lambda x, axes: np.sqrt(_sum_square(x, axes)))),
    ops.ReduceLogSumOp: _reduction(_in_float(lambda x, axes: functions.log(_sum(x, axes)))),
    ops.ReduceLogSumExpOp: _reduction(_in_float(_log_sum_exp)),
    ops.ReduceSumSquareOp: _reduction(_sum_square),
    ops.ReduceMaxOp: _extreme(maximum),
    ops.ReduceMinOp: _extreme(minimum),
    ops.ArgMaxOp: _arg_extreme(np.argmax),
    ops.ArgMinOp: _arg_extreme(np.argmin),
    ops.CumSumOp: _scan(np.add),
    ops.CumProdOp: _scan(np.multiply),
}


# Quantized reductions: exact integer sums along axes of one scale, requantized once; indices of exact real values.

Result = tuple[Array, ...] | None


def exact_sum(integers: Array, axes: tuple[int, ...], keep_dims: bool = True) -> Array:
    """Returns the sum of int64 values along `axes`, in a type wide enough for every intermediate sum."""
    count = math.prod(integers.shape[axis] for axis in axes)
    wide = widened_integers(integers, magnitude(integers) * max(count, 1))
    return np.asarray(wide.sum(axis=axes, keepdims=keep_dims), wide.dtype)


def _quantized_reduction(is_mean: bool) -> Callable[..., Result]:
    def evaluator(op: ops.ReduceOp, x: Array, axes: Array | None) -> Result:
        operand, gone = centered(op.input, x), op.reduced_axes(x.ndim, axes)
        scale = same_along(operand.scale, gone)
        if scale is None:
            return None
        total = exact_sum(operand.integers, gone)
        scale = np.broadcast_to(scale, total.shape)
        if not op.keeps_axes:
            total, scale = total.squeeze(gone), scale.squeeze(gone)
        if not is_mean:
            return (rescaled(op, total, scale),)
        count = math.prod(x.shape[axis] for axis in gone)
        if not count:
            raise InterpretationError("the mean of zero elements is undefined")
        return (rescaled(op, total, scale, count),)

    return evaluator


def _quantized_arg_extreme(op: ops.ArgExtremeOp, x: Array) -> Result:
    return EVALUATORS[type(op)](op, exact_reals(op.input, x))


QUANTIZED: dict[type[Operation], Callable[..., Result]] = {
    ops.ReduceSumOp: _quantized_reduction(is_mean=False),
    ops.ReduceMeanOp: _quantized_reduction(is_mean=True),
    ops.ArgMaxOp: _quantized_arg_extreme,
    ops.ArgMinOp: _quantized_arg_extreme,
}
