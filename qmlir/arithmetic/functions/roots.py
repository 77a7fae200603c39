"""The correctly rounded reciprocal root of an integer: the f32 nearest to `1 / sqrt(x)`.

`g = 1 / sqrt(x)` in f64 lies within 2.5 ulp of the true root: the integer, the root and the quotient are each rounded
by at most half an ulp, and an ulp is at most twice as large relative to one of these numbers as to another. So `g`
determines between which adjacent f32 numbers the root lies, and on which side of their midpoint `h`, unless it is
itself within 2.5 ulp of `h`. Integers decide that case: `h = m * 2^(e - 24)` with an odd 25-bit `m`,
and the root is above `h` if `x m^2 < 2^(48 - 2e)`. The two sides differ by less than `2^-48` of the power, which is at
most `2^110` for `x < 2^62`: the difference fits 64 bits, so the wrapped difference is exact. It is never 0, since no
odd `m > 1` divides a power of two.
"""

import numpy as np
import numpy.typing as npt

from qmlir.arithmetic.functions.steps import NUMPY, Steps, Value

ROOT_BITS = 62
"""The width of integers with a reciprocal root; they must be positive."""

_MANTISSA = 52
"""The fraction bits of f64."""

_BIAS = 1023
"""The exponent bias of f64."""

_DROPPED = 29
"""The fraction bits that f64 has in addition to those of f32."""

_NEAR = 4
"""The distance, in ulps of f64, from the midpoint of two f32 numbers within which integers decide; 2.5 suffice."""


def reciprocal_root(e: Steps, x: Value) -> Value:
    """Returns the f32 nearest to `1 / sqrt(x)` for 64-bit integers `0 < x < 2^ROOT_BITS`."""
    bits = e.bits(1.0 / e.sqrt(e.real(x)))
    low = bits & ((1 << _DROPPED) - 1)
    past_middle = low - (1 << _DROPPED - 1)
    width = _MANTISSA - _DROPPED + 1  # fraction bits of a midpoint, the last of which is 1
    middle = ((bits >> _DROPPED - 1) & ((1 << width) - 1)) | (1 << width | 1)
    places = 2 * (width + _BIAS) - ((bits >> _MANTISSA) << 1)
    power = e.where(places > 63, 0, e.constant(1, x) << (places & 63))
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
