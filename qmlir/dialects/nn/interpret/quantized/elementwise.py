"""Quantized elementwise operations: exact integers where one scale rules, products, and comparisons of real values."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation, SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.requantization import Mode, accumulator_scale, magnitude, requantize, widened
from qmlir.dialects.nn.interpret import elementwise as plain
from qmlir.dialects.nn.interpret.quantized.parameters import (
    Centred,
    centred,
    exact_reals,
    requantization_of,
    rescaled,
    uniform_of,
)
from qmlir.dialects.nn.ops import elementwise as ops
from qmlir.dialects.nn.ops.activations import ReluOp
from qmlir.dialects.nn.requantize import common_scale, headroom
from qmlir.dialects.quant.interpret import quantize

Result = tuple[Array, ...] | None

_ANY = (-(1 << 61), 1 << 61)
"""Limits that no operand reaches."""


def _unary(function: Callable[[Array], Array]) -> Callable[..., Result]:
    def evaluator(op: ops.UnaryOp, x: Array) -> Result:
        operand = centred(op.input, x)
        return (rescaled(op, np.asarray(function(operand.integers)), operand.scale),)

    return evaluator


def _clip(op: ops.ClipOp, x: Array) -> Result:
    operand = centred(op.input, x)
    result = rescaled(op, operand.integers, operand.scale)
    for bound, limit in ((op.minimum, np.maximum), (op.maximum, np.minimum)):
        if bound is not None:
            result = limit(result, quantize(np.full(result.shape, bound.value.data), uniform_of(op.result)))
    return (np.asarray(result),)


def _on_one_scale(function: Callable[[Array, Array], Array]) -> Callable[..., Result]:
    """`function` of two operands whose scales are the same, element by element."""

    def evaluator(op: ops.BinaryOp, lhs: Array, rhs: Array) -> Result:
        a, b = centred(op.lhs, lhs), centred(op.rhs, rhs)
        if np.all(a.scale == b.scale):
            return (rescaled(op, np.asarray(function(a.integers, b.integers)), a.scale),)
        if requantization_of(op)[0] is Mode.F32:
            return None
        scale = common_scale(op, a.scale, b.scale)
        integers = np.asarray(function(_brought(op, op.lhs, a, scale), _brought(op, op.rhs, b, scale)))
        return (rescaled(op, integers, scale),)

    return evaluator


def _brought(op: ops.BinaryOp, value: SSAValue, operand: Centred, scale: npt.NDArray[np.float32]) -> Array:
    """The integers of `operand` in steps of `scale`: exactly where it is a shift, rounded by the mode otherwise."""
    mode, ties = requantization_of(op)
    places = 0 if mode is Mode.SHIFT else headroom(value)
    source = np.ldexp(operand.scale, -places)
    return requantize(operand.integers << places, source, scale, 0, _ANY, mode, ties)


def product(op: ops.MulOp, lhs: Array, rhs: Array) -> tuple[Array]:
    """The exact products, requantized."""
    a, b = centred(op.lhs, lhs), centred(op.rhs, rhs)
    largest = magnitude(a.integers) * magnitude(b.integers)
    exact = np.asarray(widened(a.integers, largest) * widened(b.integers, largest))
    return (rescaled(op, exact, accumulator_scale(a.scale, b.scale)),)


def _compare(op: ops.ComparisonOp, lhs: Array, rhs: Array) -> Result:
    return plain.EVALUATORS[type(op)](op, exact_reals(op.lhs, lhs), exact_reals(op.rhs, rhs))


QUANTIZED: dict[type[Operation], Callable[..., Result]] = {
    ReluOp: _unary(lambda integers: np.maximum(integers, 0)),
    ops.AbsOp: _unary(np.abs),
    ops.NegOp: _unary(np.negative),
    ops.ClipOp: _clip,
    ops.AddOp: _on_one_scale(np.add),
    ops.SubOp: _on_one_scale(np.subtract),
    ops.MinOp: _on_one_scale(np.minimum),
    ops.MaxOp: _on_one_scale(np.maximum),
    ops.MulOp: product,
    ops.EqualOp: _compare,
    ops.GreaterOp: _compare,
    ops.GreaterOrEqualOp: _compare,
    ops.LessOp: _compare,
    ops.LessOrEqualOp: _compare,
}
