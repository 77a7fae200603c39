"""Elementary f32 functions, computed in f64 and rounded once at the end, with errors of at most 0.51 ulp.

They are Taylor series, truncated where the remainder is below 2^-34 of the result. Every nonzero f32 is a normal f64,
and so are all intermediate values, so no step overflows or underflows.
"""

import math

import numpy as np

from qmlir.arithmetic.functions.single import clamped, polynomial
from qmlir.arithmetic.functions.steps import Definition, Steps, Value

_LN2 = math.log(2)
_INTEGER = 1.5 * 2.0**52
"""Adding this number to a float rounds the float to an integer, which is the offset of the bits of the sum."""
_INTEGER_BITS = int(np.float64(_INTEGER).view(np.int64))
_ONE_BITS = 1023 << 52
_SQRT_HALF_BITS = int(np.float64(0.5**0.5).view(np.int64))

_EXPONENTIAL = tuple(1 / math.factorial(n) for n in range(10, -1, -1))
_LOGARITHM = tuple(1 / (2 * n + 1) for n in range(8, -1, -1))
_SINE = tuple((-1) ** n / math.factorial(2 * n + 1) for n in range(5, -1, -1))
_COSINE = tuple((-1) ** n / math.factorial(2 * n) for n in range(6, -1, -1))
_ARC_TANGENT = tuple((-1) ** n / (2 * n + 1) for n in range(13, -1, -1))
_HYPERBOLIC_SINE = tuple(1 / math.factorial(2 * n + 1) for n in range(6, -1, -1))
_LARGEST_EXPONENT = 300.0
"""A bound that exceeds the exponents of f32 in both directions and is within those of f64."""


def rounded_once(function: Definition) -> Definition:
    """Returns the function of f32 that widens its operands to f64, and rounds the result of `function` on them."""

    def rounded(e: Steps, *operands: Value) -> Value:
        return e.narrow(function(e, *map(e.wide, operands)))

    return rounded


# --- Exponentials and logarithms --------------------------------------------------------------------------------------


def _power_of_two(e: Steps, shifted: Value, r: Value) -> Value:
    """Computes `2^n e^r` for `|r| <= ln 2 / 2`; `shifted` is `n + _INTEGER`."""
    return polynomial(_EXPONENTIAL, r) * e.of_bits(((e.bits(shifted) - _INTEGER_BITS) << 52) + _ONE_BITS)


def exp2(e: Steps, x: Value) -> Value:
    """Computes the base-2 exponential `2^x`."""
    x = clamped(e, x, -_LARGEST_EXPONENT, _LARGEST_EXPONENT)
    shifted = x + _INTEGER
    return _power_of_two(e, shifted, (x - (shifted - _INTEGER)) * _LN2)


def _exp(e: Steps, x: Value) -> Value:
    x = clamped(e, x, -_LARGEST_EXPONENT, _LARGEST_EXPONENT)
    shifted = x * (1 / _LN2) + _INTEGER
    return _power_of_two(e, shifted, x - (shifted - _INTEGER) * _LN2)


def _log_parts(e: Steps, x: Value) -> tuple[Value, Value]:
    """Returns the exponent `n` and `ln(x / 2^n)` of positive finite `x`; both are arbitrary large numbers for 0 and
    infinity."""
    bits = e.bits(x)
    exponent = (bits - _SQRT_HALF_BITS) >> 52
    mantissa = e.of_bits(bits - (exponent << 52))
    s = (mantissa - 1.0) / (mantissa + 1.0)
    return e.of_bits(exponent + _INTEGER_BITS) - _INTEGER, polynomial(_LOGARITHM, s * s) * (s + s)


def _log(e: Steps, x: Value) -> Value:
    n, rest = _log_parts(e, x)
    return n * _LN2 + rest


def _log2(e: Steps, x: Value) -> Value:
    n, rest = _log_parts(e, x)
    return rest * (1 / _LN2) + n


def _of_positive(e: Steps, x: Value, result: Value) -> Value:
    """Completes a logarithm that is valid for positive finite `x` with the results for all other `x`."""
    finite = e.where(x < np.inf, result, x)
    return e.where(x > 0.0, finite, e.where(x == 0.0, -np.inf, x * np.nan))


def log1p(e: Steps, x: Value) -> Value:
    """Computes `ln(1 + x)`, accurately even near 0."""
    above = x + 1.0
    # First-order correction of the rounding error of the sum (Kahan).
    result = _log(e, above) + (x - (above - 1.0)) / above
    return _of_positive(e, above, e.where(above == 1.0, x, result))


def log2(e: Steps, x: Value) -> Value:
    """Computes the logarithm to base 2, exactly for powers of 2."""
    return _of_positive(e, x, _log2(e, x))


def log10(e: Steps, x: Value) -> Value:
    """Computes the logarithm to base 10."""
    return _of_positive(e, x, _log(e, x) * (1 / math.log(10)))


def power(e: Steps, x: Value, y: Value) -> Value:
    """Computes `x^y`; special cases are those of C's `pow`, such as NaN for negative `x` with noninteger `y`."""
    size = e.absolute(x)
    logarithm = _of_positive(e, size, _log2(e, size))
    result = exp2(e, logarithm * y)
    half = y * 0.5
    is_odd = (e.round_even(y) == y) & (e.round_even(half) != half)
    result = e.where(is_odd, e.copysign(result, x), result)
    result = e.where((x < 0.0) & (x > -np.inf) & (e.round_even(y) != y), np.nan, result)
    result = e.where((size == 1.0) & (e.absolute(y) == np.inf), 1.0, result)
    return e.where((x == 1.0) | (y == 0.0), 1.0, result)


def cbrt(e: Steps, x: Value) -> Value:
    """Computes the cube root, also of negative numbers."""
    # The computed logarithms of 0 and infinity are large enough to yield the correct results.
    root = e.copysign(_exp(e, _log(e, e.absolute(x)) * (1 / 3)), x)
    return e.where(x == x, root, x)


# --- Trigonometry -----------------------------------------------------------------------------------------------------

_TWO_OVER_PI = (0x0, 0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041, 0xFE5163ABDEBBC561)
"""The fraction bits of 2 / pi, after 64 zeros."""

_BELOW_EIGHTH_TURN = 0.7853981
_LOW_HALF = (1 << 32) - 1
_HALF_TURN_OF_BITS = math.pi / 2 * 2.0**-62


def _float_of(e: Steps, x: Value) -> Value:
    """Converts an i64 to f64 by halves through the bit trick of `_INTEGER`, since few CPUs have a vector conversion."""
    high = e.of_bits((x >> 32) + _INTEGER_BITS) - _INTEGER
    low = e.of_bits((x & _LOW_HALF) + _INTEGER_BITS) - _INTEGER
    return high * 2.0**32 + low


def _quarter_turns(e: Steps, size: Value) -> tuple[Value, Value]:
    """Reduces an angle `size >= 0` in f32: returns the nearest number of quarter turns modulo 4, and the remainder in
    f64.

    This is Payne and Hanek's method ("Radian Reduction for Trigonometric Functions", 1983): only the bits of 2 / pi
    that don't yield whole turns are multiplied, in integers with units of 2^-62 quarter turns.
    """
    bits = e.wide(e.bits(size))
    mantissa = (bits & 0x7FFFFF) | 0x800000
    # The index of the first bit that counts: of weight 2 in the product with the mantissa's last bit.
    start = (bits >> 23) - (150 - 62)
    start = e.where(start < 0, 0, start)
    offset = start & 63
    after_64, after_128 = start >= 64, start >= 128
    w: list[int] = np.array(_TWO_OVER_PI, np.uint64).view(np.int64).tolist()

    def word(position: int) -> Value:
        return e.where(after_128, w[position + 2], e.where(after_64, w[position + 1], e.constant(w[position], start)))

    first, second, third = word(0), word(1), word(2)
    # Shifted by 63 - offset, then by 1, since a shift by 64 is undefined.
    top = (first << offset) | e.shift_in_zeros(e.shift_in_zeros(second, 1), 63 - offset)
    rest = (second << offset) | e.shift_in_zeros(e.shift_in_zeros(third, 1), 63 - offset)
    product = mantissa * top + e.shift_in_zeros(mantissa * e.shift_in_zeros(rest, 32), 32)
    turns = (product + (1 << 61)) >> 62
    left = _float_of(e, product - (turns << 62)) * _HALF_TURN_OF_BITS
    is_small = size < _BELOW_EIGHTH_TURN
    return e.where(is_small, 0, turns & 3), e.where(is_small, e.wide(size), left)


def _sine_and_cosine(e: Steps, r: Value) -> tuple[Value, Value]:
    square = r * r
    return polynomial(_SINE, square) * r, polynomial(_COSINE, square)


def _of_finite(e: Steps, x: Value, result: Value) -> Value:
    return e.narrow(e.where(e.absolute(e.wide(x)) < np.inf, result, np.nan))


def sin(e: Steps, x: Value) -> Value:
    """Computes the sine of any angle in radians."""
    turns, r = _quarter_turns(e, e.absolute(x))
    sine, cosine = _sine_and_cosine(e, r)
    result = e.where((turns & 1) == 0, sine, cosine)
    result = e.where((turns & 2) == 0, result, 0.0 - result)
    return _of_finite(e, x, result * e.copysign(1.0, e.wide(x)))


def cos(e: Steps, x: Value) -> Value:
    """Computes the cosine of any angle in radians."""
    turns, r = _quarter_turns(e, e.absolute(x))
    sine, cosine = _sine_and_cosine(e, r)
    result = e.where((turns & 1) == 0, cosine, sine)
    return _of_finite(e, x, e.where(((turns + 1) & 2) == 0, result, 0.0 - result))


def tan(e: Steps, x: Value) -> Value:
    """Computes the tangent of any angle in radians."""
    turns, r = _quarter_turns(e, e.absolute(x))
    sine, cosine = _sine_and_cosine(e, r)
    is_even = (turns & 1) == 0
    result = e.where(is_even, sine, 0.0 - cosine) / e.where(is_even, cosine, sine)
    return _of_finite(e, x, result * e.copysign(1.0, e.wide(x)))


def _arc_tangent(e: Steps, x: Value) -> Value:
    """Computes the arctangent of `x >= 0`, in `[0, pi / 2]`."""
    # Reduction at tan(pi / 8) and its inverse: the remainder is the angle to pi / 4, or to pi / 2.
    is_middle, is_far = x > math.sqrt(2) - 1, x > math.sqrt(2) + 1
    above = e.where(is_far, -1.0, e.where(is_middle, x - 1.0, x))
    below = e.where(is_far, x, e.where(is_middle, x + 1.0, 1.0))
    r = above / below
    base = e.where(is_far, math.pi / 2, e.where(is_middle, math.pi / 4, e.constant(0.0, x)))
    return polynomial(_ARC_TANGENT, r * r) * r + base


def asin(e: Steps, x: Value) -> Value:
    """Computes the arcsine, in `[-pi / 2, pi / 2]`."""
    size = e.absolute(x)
    square = (1.0 - size) * (size + 1.0)  # negative beyond 1
    return e.copysign(_arc_tangent(e, size / e.sqrt(square)), x)


def acos(e: Steps, x: Value) -> Value:
    """Computes the arccosine, in `[0, pi]`."""
    return _arc_tangent(e, e.sqrt((1.0 - x) / (x + 1.0))) * 2.0


def atan(e: Steps, x: Value) -> Value:
    """Computes the arctangent, in `[-pi / 2, pi / 2]`."""
    return e.copysign(_arc_tangent(e, e.absolute(x)), x)


def atan2(e: Steps, y: Value, x: Value) -> Value:
    """Computes the angle of the point `(x, y)`, in `[-pi, pi]`; zeros and infinities are treated as in C's `atan2`."""
    rise, run = e.absolute(y), e.absolute(x)
    are_equal = (rise == run) & ((rise == 0.0) | (rise == np.inf))
    tangent = e.where(are_equal, e.where(rise == 0.0, rise, 1.0), rise / run)
    angle = _arc_tangent(e, tangent)
    is_behind = e.copysign(1.0, x) < 0.0
    return e.copysign(e.where(is_behind, math.pi - angle, angle), y)


# --- Hyperbolic functions ---------------------------------------------------------------------------------------------


def sinh(e: Steps, x: Value) -> Value:
    """Computes the hyperbolic sine."""
    raised = _exp(e, e.absolute(x))
    far = e.copysign((raised - 1.0 / raised) * 0.5, x)
    return e.where(e.absolute(x) < 1.0, polynomial(_HYPERBOLIC_SINE, x * x) * x, far)


def cosh(e: Steps, x: Value) -> Value:
    """Computes the hyperbolic cosine."""
    raised = _exp(e, e.absolute(x))
    return (raised + 1.0 / raised) * 0.5


def asinh(e: Steps, x: Value) -> Value:
    """Computes the inverse hyperbolic sine."""
    size = e.absolute(x)
    square = size * size
    result = log1p(e, square / (e.sqrt(square + 1.0) + 1.0) + size)
    return e.where(size < np.inf, e.copysign(result, x), x)


def acosh(e: Steps, x: Value) -> Value:
    """Computes the inverse hyperbolic cosine for `x >= 1`; NaN below 1."""
    above = x - 1.0
    return e.where(x >= 1.0, log1p(e, above + e.sqrt(above * (x + 1.0))), np.nan)


def atanh(e: Steps, x: Value) -> Value:
    """Computes the inverse hyperbolic tangent for `|x| <= 1`."""
    size = e.absolute(x)
    return e.copysign(log1p(e, (size + size) / (1.0 - size)) * 0.5, x)
