"""Quantized reductions: exact integer sums along axes of one scale, requantized once; places of exact real values."""

import math
from collections.abc import Callable

import numpy as np
from xdsl.ir import Operation
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.requantization import magnitude, widened
from qmlir.dialects.nn.interpret import reduction as plain
from qmlir.dialects.nn.interpret.quantized.parameters import centred, exact_reals, rescaled
from qmlir.dialects.nn.ops import reduction as ops
from qmlir.dialects.quant.infer import same_along

Result = tuple[Array, ...] | None


def exact_sum(integers: Array, axes: tuple[int, ...], keep_dims: bool = True) -> Array:
    """The sum of int64 values along `axes`, wide enough for every intermediate one."""
    count = math.prod(integers.shape[axis] for axis in axes)
    wide = widened(integers, magnitude(integers) * max(count, 1))
    return np.asarray(wide.sum(axis=axes, keepdims=keep_dims), wide.dtype)


def _reduction(is_mean: bool) -> Callable[..., Result]:
    def evaluator(op: ops.ReduceOp, x: Array, axes: Array | None) -> Result:
        operand, gone = centred(op.input, x), op.reduced_axes(x.ndim, axes)
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


def _arg_extreme(op: ops.ArgExtremeOp, x: Array) -> Result:
    return plain.EVALUATORS[type(op)](op, exact_reals(op.input, x))


QUANTIZED: dict[type[Operation], Callable[..., Result]] = {
    ops.ReduceSumOp: _reduction(is_mean=False),
    ops.ReduceMeanOp: _reduction(is_mean=True),
    ops.ArgMaxOp: _arg_extreme,
    ops.ArgMinOp: _arg_extreme,
}
