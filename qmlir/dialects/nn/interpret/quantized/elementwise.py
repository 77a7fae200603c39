"""Quantized elementwise operations: exact integers where one scale rules, products, and comparisons of real values."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation

from qmlir.arithmetic.requantization import accumulator_scale, magnitude, widened
from qmlir.dialects.nn.interpret import elementwise as plain
from qmlir.dialects.nn.interpret.quantized.parameters import centred, exact_reals, rescaled, uniform_of
from qmlir.dialects.nn.ops import elementwise as ops
from qmlir.dialects.nn.ops.activations import ReluOp
from qmlir.dialects.quant.interpret import quantize

Array = npt.NDArray[Any]
Result = tuple[Array, ...] | None


def _relu(integers: Array) -> Array:
    return np.maximum(integers, 0)


def _unary(function: Callable[[Array], Array]) -> Callable[..., Result]:
    def meaning(op: ops.UnaryOp, x: Array) -> Result:
        operand = centred(op.input, x)
        return (rescaled(op, np.asarray(function(operand.integers)), operand.scale),)

    return meaning


def _clip(op: ops.ClipOp, x: Array) -> Result:
    operand = centred(op.input, x)
    result = rescaled(op, operand.integers, operand.scale)
    for bound, limit in ((op.minimum, np.maximum), (op.maximum, np.minimum)):
        if bound is not None:
            result = limit(result, quantize(np.full(result.shape, bound.value.data), uniform_of(op.result)))
    return (np.asarray(result),)


def _on_one_scale(function: Callable[[Array, Array], Array]) -> Callable[..., Result]:
    """`function` of two operands whose scales are the same, element by element."""

    def meaning(op: ops.BinaryOp, lhs: Array, rhs: Array) -> Result:
        a, b = centred(op.lhs, lhs), centred(op.rhs, rhs)
        if not np.all(a.scale == b.scale):
            return None
        return (rescaled(op, np.asarray(function(a.integers, b.integers)), a.scale),)

    return meaning


def _mul(op: ops.MulOp, lhs: Array, rhs: Array) -> Result:
    a, b = centred(op.lhs, lhs), centred(op.rhs, rhs)
    largest = magnitude(a.integers) * magnitude(b.integers)
    product = np.asarray(widened(a.integers, largest) * widened(b.integers, largest))
    return (rescaled(op, product, accumulator_scale(a.scale, b.scale)),)


def _compare(op: ops.ComparisonOp, lhs: Array, rhs: Array) -> Result:
    return plain.MEANINGS[type(op)](op, exact_reals(op.lhs, lhs), exact_reals(op.rhs, rhs))


QUANTIZED: dict[type[Operation], Callable[..., Result]] = {
    ReluOp: _unary(_relu),
    ops.AbsOp: _unary(np.abs),
    ops.NegOp: _unary(np.negative),
    ops.ClipOp: _clip,
    ops.AddOp: _on_one_scale(np.add),
    ops.SubOp: _on_one_scale(np.subtract),
    ops.MinOp: _on_one_scale(np.minimum),
    ops.MaxOp: _on_one_scale(np.maximum),
    ops.MulOp: _mul,
    ops.EqualOp: _compare,
    ops.GreaterOp: _compare,
    ops.GreaterOrEqualOp: _compare,
    ops.LessOp: _compare,
    ops.LessOrEqualOp: _compare,
}
