"""Evaluation of elementwise operations, on floats and on quantized values."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic import functions
from qmlir.arithmetic.arrays import Array, magnitude, maximum, minimum
from qmlir.arithmetic.requantization import Mode, Sum, accumulator_scale, requantizer, sigmoid
from qmlir.arithmetic.requantization import widened as widened_integers
from qmlir.arithmetic.small_floats import PowerRounding, to_small_float
from qmlir.dialects.nn import evaluation
from qmlir.dialects.nn.activations.ops import ReluOp, SigmoidOp
from qmlir.dialects.nn.base import plain_type
from qmlir.dialects.nn.elementwise import ops
from qmlir.dialects.nn.evaluation import (
    centered,
    centering,
    is_integral,
    of_arrays,
    of_operation,
    of_question,
    prepared,
    rescaled,
    rescaling,
    widened,
)
from qmlir.dialects.nn.formulas import FORMULAS, Formula
from qmlir.dialects.nn.requantize import affine, common_scale, headroom, mode_of
from qmlir.dialects.quant.evaluate import dequantize, quantize
from qmlir.ir.builtin_types import as_integer, as_small_float, element_of
from qmlir.ir.evaluation import Evaluator
from qmlir.text.elements import dtype_of, narrowed

# Elementwise arithmetic on float, integer and boolean arrays, in the precision of their operands.


def _of_formula(formula: Formula) -> Evaluator:
    def on_arrays(op: Operation, *arrays: Array) -> Array:
        return formula.of(op, functions.ON_ARRAYS, *arrays)

    return of_operation(on_arrays)


def _refuse_zero(divisor: Array) -> None:
    if (divisor == 0).any():
        raise InterpretationError("integer division by zero")


def _divide(a: Array, b: Array) -> Array:
    if not is_integral(a):
        return a / b
    _refuse_zero(b)
    floor = a // b
    is_below = (floor * b != a) & ((a < 0) != (b < 0))  # NumPy rounds down, ONNX and C towards zero
    return floor + is_below.astype(a.dtype)


def _power(a: Array, b: Array) -> Array:
    if not is_integral(a):
        return functions.power(a, b)
    inverse = b < 0
    if not inverse.any():
        return np.power(a, b)
    if ((a == 0) & inverse).any():
        raise InterpretationError("cannot raise integer 0 to a negative power")
    ones = np.where(a == 1, 1, np.where(a == -1, 1 - 2 * (b & 1), 0))
    return np.where(inverse, ones, np.power(a, np.where(inverse, 0, b)))


def _remainder(op: ops.ModOp, a: Array, b: Array) -> Array:
    if is_integral(a):
        _refuse_zero(b)
    return np.fmod(a, b) if op.fmod.value.data else np.mod(a, b)


def _clip(op: ops.ClipOp, x: Array) -> Array:
    if op.minimum is not None:
        x = maximum(x, _bound(op.minimum.value.data, math.ceil, x))
    if op.maximum is not None:
        x = minimum(x, _bound(op.maximum.value.data, math.floor, x))
    return x


def _bound(number: float, towards_the_others: Callable[[float], int], x: Array) -> Any:
    """Converts a bound to the type of `x`: for integers, the last one inside the bound."""
    if not is_integral(x):
        return x.dtype.type(number)
    limits = np.iinfo(x.dtype)
    return x.dtype.type(towards_the_others(min(max(number, limits.min), limits.max)))


def _where(op: ops.WhereOp, condition: Array, a: Array, b: Array) -> tuple[Array]:
    return (np.where(condition.astype(bool), a, b),)


_TWO_TO_64 = 2.0**64


def _truncated(x: Array) -> npt.NDArray[np.uint64]:
    """Truncates floats towards zero, modulo 2^64; NaN and infinities become 0."""
    whole = np.trunc(widened(x).astype(np.float64))
    whole = np.fmod(np.where(np.isfinite(whole), whole, 0.0), _TWO_TO_64)  # exact, as is what follows
    return np.abs(whole).astype(np.uint64) * np.where(whole < 0, -1, 1).astype(np.int64).view(np.uint64)


def converted(
    x: Array, element: Attribute, *, saturates: bool = True, rounding: PowerRounding = PowerRounding.UP
) -> Array:
    """Converts values to the plain type `element`; integers and f64 become bf16 through f32, as in ONNX Runtime.

    `saturates` and `rounding` apply only to floats of at most 8 bits.
    """
    dtype = dtype_of(element)
    if as_small_float(element) is not None:
        return to_small_float(widened(x), dtype, saturates=saturates, rounding=rounding)
    if element == i1:
        return (widened(x) != 0).astype(dtype)
    if dtype.kind not in "iu":
        return x.astype(dtype)
    integers = x if is_integral(x) else _truncated(x)
    return narrowed(integers.astype(dtype), element)


def _cast(op: ops.CastOp, x: Array) -> tuple[Array]:
    source, element = plain_type(element_of(op.input)), plain_type(element_of(op.result))
    with np.errstate(all="ignore"):
        if source == element:
            return (x,)
        return (np.asarray(converted(x, element, saturates=op.saturates, rounding=op.rounding)),)


def _bit_cast(op: ops.BitCastOp, x: Array) -> tuple[Array]:
    element = plain_type(element_of(op.result))
    dtype = dtype_of(element)
    bits = x.view(dtype)
    if element == i1:
        return ((bits != 0).astype(dtype),)
    small = as_small_float(element)
    if small is not None:
        return ((bits.view(np.uint8) & ((1 << small.bitwidth) - 1)).view(dtype),)
    return (narrowed(bits, element) if is_integral(bits) else bits,)


def _not(x: Array) -> Array:
    return x ^ 1


def _bit_shift(op: ops.BitShiftOp, x: Array, amount: Array) -> Array:
    integer = as_integer(element_of(op.lhs))
    assert integer is not None
    is_inside = (amount >= 0) & (amount < integer.width.data)
    shift = np.left_shift if op.direction.data == "left" else np.right_shift
    emptied = np.where((x < 0) & (op.direction.data == "right"), -1, 0).astype(x.dtype)
    return np.where(is_inside, shift(x, np.where(is_inside, amount, 0)), emptied)


def _is_inf(op: ops.IsInfOp, x: Array) -> Array:
    signs = (op.detect_negative.value.data, -np.inf), (op.detect_positive.value.data, np.inf)
    found = np.zeros(x.shape, np.bool_)
    for is_wanted, infinity in signs:
        if is_wanted:
            found |= x == infinity
    return found


_FUNCTIONS: dict[type[Operation], Callable[..., Any]] = {
    ops.AbsOp: np.abs,
    ops.NegOp: np.negative,
    ops.SignOp: np.sign,
    ops.AddOp: np.add,
    ops.SubOp: np.subtract,
    ops.MulOp: np.multiply,
    ops.DivOp: _divide,
    ops.PowOp: _power,
    ops.MinOp: minimum,
    ops.MaxOp: maximum,
    **dict.fromkeys((ops.AndOp, ops.BitwiseAndOp), np.bitwise_and),
    **dict.fromkeys((ops.OrOp, ops.BitwiseOrOp), np.bitwise_or),
    **dict.fromkeys((ops.XorOp, ops.BitwiseXorOp), np.bitwise_xor),
    ops.NotOp: _not,
    ops.BitwiseNotOp: np.bitwise_not,
}

_COMPARISONS: dict[type[Operation], Callable[..., Any]] = {
    ops.EqualOp: np.equal,
    ops.GreaterOp: np.greater,
    ops.GreaterOrEqualOp: np.greater_equal,
    ops.LessOp: np.less,
    ops.LessOrEqualOp: np.less_equal,
}

EVALUATORS: dict[type[Operation], Evaluator] = {
    **{operation: _of_formula(formula) for operation, formula in FORMULAS.items()},
    **{operation: of_operation(of_arrays(function)) for operation, function in _FUNCTIONS.items()},
    **{operation: of_question(of_arrays(function)) for operation, function in _COMPARISONS.items()},
    ops.IsNaNOp: of_question(of_arrays(np.isnan)),
    ops.IsInfOp: of_question(_is_inf),
    ops.BitShiftOp: of_operation(_bit_shift),
    ops.ModOp: of_operation(_remainder),
    ops.ClipOp: of_operation(_clip),
    ops.WhereOp: _where,
    ops.CastOp: _cast,
    ops.BitCastOp: _bit_cast,
}


# Quantized elementwise operations: exact integers on a common scale, products, and comparisons of real values.

Result = tuple[Array, ...] | None

_ANY = (-(1 << 61), 1 << 61)
"""Limits beyond all operands."""


def _unary(function: Callable[[Array], Array]) -> Evaluator:
    def prepare(op: ops.UnaryOp, shape: tuple[int, ...]) -> Callable[[Array], Result]:
        center, scale = centering(op.input, shape)
        rescale = rescaling(op, shape, scale)
        return lambda x: (rescale(np.asarray(function(center(x)))),)

    return prepared(prepare)


def _quantized_clip(op: ops.ClipOp, x: Array) -> Result:
    operand = centered(op.input, x)
    result = rescaled(op, operand.integers, operand.scale)
    for bound, limit in ((op.minimum, np.maximum), (op.maximum, np.minimum)):
        if bound is not None:
            result = limit(result, evaluation.stored_bound(op, bound.value.data, result.shape))
    return (np.asarray(result),)


def _on_one_scale(function: Callable[[Array, Array], Array]) -> Evaluator:
    """Applies `function` elementwise to two operands with equal or common scales."""

    def prepare(op: ops.BinaryOp, *shapes: tuple[int, ...]) -> Callable[[Array, Array], Result] | None:
        (left, left_scale), (right, right_scale) = map(centering, op.operands, shapes)
        shape = np.broadcast_shapes(*shapes)
        scale = left_scale
        if not np.all(left_scale == right_scale) or mode_of(op).is_litert:
            if evaluation.requantization_of(op)[0] is Mode.F32:
                return None
            scale = common_scale(op, left_scale, right_scale)
            left, right = (
                _brought(op, value, center, own, scale)
                for value, center, own in ((op.lhs, left, left_scale), (op.rhs, right, right_scale))
            )
        rescale = rescaling(op, shape, scale)
        return lambda lhs, rhs: (rescale(np.asarray(function(left(lhs), right(rhs)))),)

    return prepared(prepare)


def _brought(
    op: ops.BinaryOp, value: SSAValue, center: Callable[[Array], Array], own: npt.NDArray[np.float32],
    scale: npt.NDArray[np.float32],
) -> Callable[[Array], Array]:  # fmt: skip
    """Returns a function from stored integers to integers of `scale`: exact by a shift, otherwise rounded."""
    mode, ties = evaluation.requantization_of(op)
    bits = 0 if mode is Mode.SHIFT else headroom(op, value)
    mode = Mode.DOUBLE_ROUND if mode.is_litert else mode  # LiteRT's kernels of sums round so
    rescale = requantizer(np.ldexp(own, -bits), scale, 0, _ANY, mode, ties)
    return lambda stored: rescale(center(stored) << bits)


def _product(op: ops.MulOp, *shapes: tuple[int, ...]) -> Callable[[Array, Array], Result]:
    """Computes the exact products of two quantized operands, and requantizes them."""
    (left, left_scale), (right, right_scale) = map(centering, op.operands, shapes)
    rescale = rescaling(op, np.broadcast_shapes(*shapes), accumulator_scale(left_scale, right_scale))
    bound = 1 << sum(evaluation.uniform_of(value).bits for value in op.operands)  # |q - z| < 2^bits

    def multiplied(lhs: Array, rhs: Array) -> Result:
        a, b = left(lhs), right(rhs)
        largest = bound if bound < 2**63 else magnitude(a) * magnitude(b)
        return (rescale(np.asarray(widened_integers(a, largest) * widened_integers(b, largest))),)

    return multiplied


def _compare(op: ops.ComparisonOp, lhs: Array, rhs: Array) -> Result:
    return EVALUATORS[type(op)](op, evaluation.exact_reals(op.lhs, lhs), evaluation.exact_reals(op.rhs, rhs))


QUANTIZED: dict[type[Operation], Callable[..., Result]] = {
    ReluOp: _unary(lambda integers: np.maximum(integers, 0)),
    ops.AbsOp: _unary(np.abs),
    ops.NegOp: _unary(np.negative),
    ops.ClipOp: _quantized_clip,
    ops.AddOp: _on_one_scale(np.add),
    ops.SubOp: _on_one_scale(np.subtract),
    ops.MinOp: _on_one_scale(np.minimum),
    ops.MaxOp: _on_one_scale(np.maximum),
    ops.MulOp: prepared(_product),
    **dict.fromkeys(_COMPARISONS, _compare),
}


def _qlinear_add(op: ops.AddOp, lhs: Array, rhs: Array) -> tuple[Array]:
    steps = Sum.of(*(affine(evaluation.uniform_of(value)) for value in (op.lhs, op.rhs, op.result)))
    return (evaluation.nearest(steps.apply(lhs, rhs), evaluation.uniform_of(op.result)),)


def _qlinear_sigmoid(op: SigmoidOp, x: Array) -> tuple[Array]:
    return (quantize(sigmoid(dequantize(x, evaluation.uniform_of(op.input))), evaluation.uniform_of(op.result)),)


QLINEAR: dict[type[Operation], Evaluator] = {
    SigmoidOp: _qlinear_sigmoid,
    ops.AddOp: _qlinear_add,
    ops.MulOp: prepared(_product),
}
