"""Functions that dominate the run time of networks, computed in f32 so that AVX-512 processes 16 values at a time.

Polynomials are near-minimax: they are least-squares fits on 400 Chebyshev nodes, reweighted (Lawson) until the error is
level. Coefficients are rounded to f32 one at a time, and the remaining ones are fitted again. `ln 2` is split into a
short and a small part as in Cody and Waite ("Software Manual for the Elementary Functions", 1980).
docs/reference/float-arithmetic.md lists the largest errors.
"""

import numpy as np
import numpy.typing as npt

from qmlir.arithmetic.functions.steps import NUMPY, Steps, Value

_LOG2_E = 1.4426950408889634
_LN2_SHORT = 0.693359375
"""The leading 10 bits of ln 2, so that its product with an exponent is exact."""
_LN2_REST = -2.12194440e-4

_INTEGER = 1.5 * 2.0**23
"""Adding this number to a float rounds the float to an integer, which is the offset of the bits of the sum."""
_INTEGER_BITS = int(np.float32(_INTEGER).view(np.int32))
_ONE_BITS = 127 << 23
_SQRT_HALF_BITS = int(np.float32(0.5**0.5).view(np.int32))

# (e^r - 1 - r) / r^2, |r| <= ln 2 / 2; coefficients from the highest power down, as in all tables below
_EXPONENTIAL = (1.9944255e-04, 1.3932686e-03, 8.333208e-03, 4.166649e-02, 1.6666667e-01, 0.5)

# (ln(1 + f) - f + f^2 / 2) / f^3, sqrt(1/2) - 1 <= f <= sqrt(2) - 1
_LOGARITHM = (
    6.749539e-02, -1.1670183e-01, 1.1883471e-01, -1.2406208e-01, 1.4220363e-01, -1.666799e-01, 2.0002072e-01,
    -2.500001e-01, 3.3333313e-01,
)  # fmt: skip

# (tanh(x) / x - 1) / x^2 in x^2, |x| <= 0.55
_TANH_NEAR = (-6.295665e-03, 2.1088311e-02, -5.385685e-02, 1.3332637e-01, -3.333332e-01)
_TANH_NEAR_END = 0.55

# erf(x) / x - 1 in x^2, |x| <= 0.921875
_ERF_NEAR = (
    7.9651676e-05, -8.043123e-04, 5.191912e-03, -2.6855582e-02, 1.1283624e-01, -3.761263e-01, 1.2837917e-01,
)  # fmt: skip
_ERF_NEAR_END = 0.921875

# -ln(1 - erf(x)) / x - 1, 0.921875 <= x <= 4
_ERF_FAR = (
    1.130084e-05, -3.2350642e-04, 3.645338e-03, -2.376819e-02, 1.0624403e-01, 6.35147e-01, 1.2864956e-01,
)  # fmt: skip
_ERF_FAR_END = 4.0
"""The end of the approximated range; erf is 1 in f32 for x >= 3.92."""


def polynomial(coefficients: tuple[float, ...], x: Value) -> Value:
    """Evaluates a polynomial by Horner's rule; `coefficients` starts with the highest power."""
    result = x * coefficients[0] + coefficients[1]
    for coefficient in coefficients[2:]:
        result = result * x + coefficient
    return result


def _power_of_two(e: Steps, exponent: Value) -> Value:
    """Computes 2 to an integer power from -126 to 127."""
    return e.of_bits((exponent << 23) + _ONE_BITS)


def _reduced(e: Steps, x: Value) -> tuple[Value, Value]:
    """Returns the integer `n` nearest to `x / ln 2`, and `e^(x - n ln 2) - 1`."""
    shifted = x * _LOG2_E + _INTEGER
    n = shifted - _INTEGER
    most, rest = x - n * _LN2_SHORT, n * _LN2_REST
    r = most - rest
    # The rounding error of `r` does not affect the linear term.
    return e.bits(shifted) - _INTEGER_BITS, (r * r * polynomial(_EXPONENTIAL, r) - rest) + most


def clamped(e: Steps, x: Value, lowest: float, highest: float) -> Value:
    """Clamps `x` to `[lowest, highest]`; NaN is preserved."""
    x = e.where(x < lowest, lowest, x)
    return e.where(x > highest, highest, x)


def exp(e: Steps, x: Value) -> Value:
    """Computes the exponential `e^x`."""
    exponent, above_one = _reduced(e, clamped(e, x, -104.0, 104.0))
    # In two steps, because the power of two itself may not be a normal float if the result is subnormal or infinite.
    half = exponent >> 1
    return (above_one + 1.0) * _power_of_two(e, half) * _power_of_two(e, exponent - half)


def expm1(e: Steps, x: Value) -> Value:
    """Computes `e^x - 1`, accurately even near 0."""
    exponent, above_one = _reduced(e, clamped(e, x, -20.0, 104.0))
    # 2^n (q + (1 - 2^-n)): one more rounding than `q` has.
    inverse = _power_of_two(e, e.where(exponent > 64, -64, 0 - exponent))
    half = exponent >> 1
    grown = (above_one + (1.0 - inverse)) * _power_of_two(e, half) * _power_of_two(e, exponent - half)
    return e.where(x == 0.0, x, grown)


def tanh(e: Steps, x: Value) -> Value:
    """Computes the hyperbolic tangent: a polynomial near 0, `1 - 2 / (e^(2|x|) + 1)` elsewhere."""
    square = x * x
    near = polynomial(_TANH_NEAR, square) * square * x + x
    size = e.absolute(x)
    exponent, above_one = _reduced(e, clamped(e, size + size, 0.0, 40.0))
    far = 1.0 - 2.0 / ((above_one + 1.0) * _power_of_two(e, exponent) + 1.0)
    return e.copysign(e.where(size > _TANH_NEAR_END, far, near), x)


def log(e: Steps, x: Value) -> Value:
    """Computes the natural logarithm."""
    is_subnormal = x < 2.0**-126
    bits = e.bits(e.where(is_subnormal, x * 2.0**23, x))
    exponent = (bits - _SQRT_HALF_BITS) >> 23
    f = e.of_bits(bits - (exponent << 23)) - 1.0
    n = e.of_bits(exponent + _INTEGER_BITS) - _INTEGER
    n = e.where(is_subnormal, n - 23.0, n)
    square = f * f
    small = square * f * polynomial(_LOGARITHM, f) + n * _LN2_REST
    result = (small - square * 0.5 + f) + n * _LN2_SHORT
    finite = e.where(x < np.inf, result, x)
    return e.where(x > 0.0, finite, e.where(x == 0.0, -np.inf, x * np.nan))


def erf(e: Steps, x: Value) -> Value:
    """Computes the error function."""
    size = e.absolute(x)
    square = x * x
    near = polynomial(_ERF_NEAR, square) * x + x
    # NaN takes the branch near 0.
    t = e.where(size > _ERF_FAR_END, _ERF_FAR_END, size)
    far = 1.0 - exp(e, 0.0 - (polynomial(_ERF_FAR, t) * t + t))
    return e.where(size > _ERF_NEAR_END, e.copysign(far, x), near)


def rsqrt(e: Steps, x: Value) -> Value:
    """Computes the reciprocal square root `1 / sqrt(x)`."""
    return 1.0 / e.sqrt(x)


# The correctly rounded reciprocal root of an integer: the f32 nearest to `1 / sqrt(x)`.
#
# `g = 1 / sqrt(x)` in f64 lies within 2.5 ulp of the true root: the integer, the root and the quotient are each
# rounded by at most half an ulp, and an ulp is at most twice as large relative to one of these numbers as to
# another. So `g` determines between which adjacent f32 numbers the root lies, and on which side of their midpoint
# `h`, unless it is itself within 2.5 ulp of `h`. Integers decide that case: `h = m * 2^(e - 24)` with an odd 25-bit
# `m`, and the root is above `h` if `x m^2 < 2^(48 - 2e)`. The two sides differ by less than `2^-48` of the power,
# which is at most `2^110` for `x < 2^62`: the difference fits 64 bits, so the wrapped difference is exact. It is
# never 0, since no odd `m > 1` divides a power of two.

ROOT_BITS = 62
"""The maximum width, in bits, of the positive integers that `reciprocal_root` accepts."""

_MANTISSA = 52
"""The fraction bits of f64."""

_BIAS = 1023
"""The exponent bias of f64."""

_DROPPED = 29
"""The number of fraction bits that f64 has in addition to those of f32."""

_NEAR = 4
"""The distance from the midpoint between two f32 numbers, in f64 ulps, below which integer arithmetic decides the
rounding; 2.5 would suffice."""


def reciprocal_root(e: Steps, x: Value) -> Value:
    """Returns the f32 nearest to `1 / sqrt(x)` for 64-bit integers `0 < x < 2^ROOT_BITS`."""
    bits = e.bits(1.0 / e.sqrt(e.real(x)))
    low = bits & ((1 << _DROPPED) - 1)
    past_middle = low - (1 << _DROPPED - 1)
    width = _MANTISSA - _DROPPED + 1  # fraction bits of a midpoint, the last of which is 1
    middle = ((bits >> _DROPPED - 1) & ((1 << width) - 1)) | (1 << width | 1)
    positions = 2 * (width + _BIAS) - ((bits >> _MANTISSA) << 1)
    power = e.where(positions > 63, 0, e.constant(1, x) << (positions & 63))
    is_below = x * middle * middle - power < 0
    is_near = (past_middle > -_NEAR) & (past_middle < _NEAR)
    is_above = (is_near & is_below) | (past_middle > _NEAR - 1)
    return e.narrow(e.of_bits(bits - low + e.where(is_above, e.constant(1 << _DROPPED, x), 0)))


def reciprocal_roots(x: npt.ArrayLike) -> npt.NDArray[np.float32]:
    """Returns the f32 nearest to `1 / sqrt(x)` elementwise. Raises `ValueError` for integers out of range."""
    integers = np.atleast_1d(np.asarray(x, np.int64))
    if integers.size and not (integers.min() > 0 and integers.max() < 1 << ROOT_BITS):
        wrong = integers[(integers <= 0) | (integers >= 1 << ROOT_BITS)][0]
        raise ValueError(f"reciprocal square root requires 0 < x < 2^{ROOT_BITS}, but got {wrong}")
    with np.errstate(over="ignore"):  # differences of 64 bits, wrapped
        return reciprocal_root(NUMPY, integers).reshape(np.shape(x))
