"""Evaluation of softmax operations; f16 and bf16 are rounded after each step, like separate operations.

ONNX defines these operators, and their decompositions compute, in this way. Sums have the order and precision of
`qmlir.arithmetic.arrays`, functions those of `qmlir.arithmetic.functions`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.ir import Operation

from qmlir.arithmetic import functions
from qmlir.arithmetic.arrays import Array, ordered_sum
from qmlir.dialects.nn.evaluation.arrays import widened
from qmlir.dialects.nn.softmax import ops
from qmlir.ir.evaluation import Evaluator

Rounding = Callable[[Array], Array]
"""Rounds to the precision of a type, and returns the values in its computing type."""


def rounding(dtype: np.dtype[Any]) -> Rounding:
    """Returns the rounding to `dtype`."""
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


EVALUATORS: dict[type[Operation], Evaluator] = {
    ops.SoftmaxOp: _softmax,
    ops.LogSoftmaxOp: _along_axis(_log_softmax),
    ops.HardmaxOp: _along_axis(_hardmax),
}
