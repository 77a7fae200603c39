"""The evaluators of `math`: float functions in the precision of their operands, and integer functions modulo 2^N.

`qmlir.arithmetic.functions` defines the functions for which there is no CPU instruction; `nn` and `math-expand` also
use these definitions. The fused multiply-add rounds once in every type.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, cast

import numpy as np
from xdsl.dialects import math
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic.arrays import sum_to_odd
from qmlir.arithmetic.functions import FUNCTIONS
from qmlir.interpreter.upstream.arith import elementwise, exact, has_any, of_floats
from qmlir.interpreter.upstream.scalars import is_array, round_to, signed, unsigned, width_of, wrap
from qmlir.ir.builtin_types import element_or_self
from qmlir.ir.evaluation import Evaluator, RegionEvaluator

Function = Callable[..., Any]


def _round_half_away(x: Any) -> Any:
    # |x| + 0.5 would round up just below a half; the fractional part is exact.
    whole: Any = np.trunc(x)
    one: Any = np.copysign(np.ones_like(x), x)
    away: Any = cast(Any, np.where)(np.abs(x - whole) >= 0.5, whole + one, whole)
    return np.copysign(away, x)


_STEPS: dict[type[Operation], Function] = {
    math.AbsFOp: np.abs,
    math.CeilOp: np.ceil,
    math.CopySignOp: np.copysign,
    math.FloorOp: np.floor,
    math.RoundOp: _round_half_away,
    math.RoundEvenOp: np.rint,
    math.SqrtOp: np.sqrt,
    math.TruncOp: np.trunc,
}
"""Functions whose results are defined exactly by IEEE 754."""

_DEFINED: dict[type[Operation], Function] = {
    operation: FUNCTIONS[name]
    for operation in math.Math.operations
    if (name := operation.name.removeprefix("math.")) in FUNCTIONS
}


# --- Fused multiply-add -----------------------------------------------------------------------------------------------


def _fused_f64(a: float, b: float, c: float) -> float:
    if not np.isfinite([a, b, c]).all():
        # The exact product of finite factors is finite, even if it overflows in f64.
        return c if np.isfinite([a, b]).all() else a * b + c
    exact_sum = Fraction(a) * Fraction(b) + Fraction(c)
    if exact_sum == 0:
        return a * b + c if c == 0 and 0 in (a, b) else 0.0  # the sum is -0 only if all terms are -0
    try:
        return exact_sum.numerator / exact_sum.denominator  # Python rounds the quotient of integers once
    except OverflowError:
        return np.inf if exact_sum > 0 else -np.inf


_fused_f64_arrays = np.frompyfunc(_fused_f64, 3, 1)


def fused_multiply_add(a: Any, b: Any, c: Any) -> Any:
    """Returns `a * b + c` rounded once, ties to even, for scalars or arrays of one float type."""
    x, y, z = (np.asarray(value) for value in (a, b, c))
    if x.dtype == np.float64:
        return np.asarray(_fused_f64_arrays(x, y, z)).astype(np.float64)
    # The product of two values of at most 32 bits is exact in f64, and so is the error of the sum.
    product = np.asarray(x.astype(np.float64) * y.astype(np.float64))
    return round_to(sum_to_odd(product, z.astype(np.float64)), x.dtype)


# --- Integers ---------------------------------------------------------------------------------------------------------


def _count(count: Callable[[int, int], int]) -> Function:
    """Returns the evaluator of a function of an unsigned integer and its width in bits."""
    counts = np.frompyfunc(count, 2, 1)

    def counted(element: Attribute, value: Any) -> Any:
        number, bits = unsigned(value, element), width_of(element)
        return wrap(counts(exact(number), bits) if is_array(value) else count(number, bits), element)

    return counted


def _absolute(element: Attribute, value: Any) -> Any:
    return wrap(abs(signed(value, element)), element)


def _power(base: int, exponent: int, bits: int) -> int:
    if exponent >= 0:
        return pow(base, exponent, 1 << bits)
    # 1 / base^-exponent, truncated
    return base ** (exponent % 2) if abs(base) == 1 else 0


_powers = np.frompyfunc(_power, 3, 1)


def _integer_power(element: Attribute, base: Any, exponent: Any) -> Any:
    x, n = signed(base, element), signed(exponent, element)
    if has_any((x == 0) & (n < 0)):
        raise InterpretationError(f"cannot raise 0 of type {element} to a negative power")
    return wrap(_powers(exact(x), exact(n), width_of(element)), element)


def _float_to_integer_power(op: math.FPowIOp, base: Any, exponent: Any) -> tuple[Any]:
    n = signed(exponent, element_or_self(op.rhs.type))
    magnitude = np.power(np.abs(np.asarray(base).astype(np.float64)), np.asarray(n).astype(np.float64))
    # The sign is computed separately, because f64 can't represent whether a large exponent is odd.
    is_negative = np.signbit(base) & (np.asarray(n % 2) == 1)
    result = round_to(np.asarray(np.where(is_negative, -magnitude, magnitude)), np.asarray(base).dtype)
    return (result if is_array(base) or is_array(exponent) else result[()],)


_FUNCTIONS: dict[type[Operation], Function] = {
    **{operation: of_floats(function) for operation, function in (_STEPS | _DEFINED).items()},
    math.FmaOp: of_floats(fused_multiply_add),
    math.AbsIOp: _absolute,
    math.CountLeadingZerosOp: _count(lambda number, bits: bits - number.bit_length()),
    math.CountTrailingZerosOp: _count(lambda number, bits: (number & -number).bit_length() - 1 if number else bits),
    math.CtPopOp: _count(lambda number, bits: number.bit_count()),
    math.IPowIOp: _integer_power,
}

EVALUATORS: dict[type[Operation], Evaluator | RegionEvaluator] = {
    **{operation: elementwise(function) for operation, function in _FUNCTIONS.items()},
    math.FPowIOp: _float_to_integer_power,
}
