"""The reciprocal root of an integer, rounded exactly: the f32 number that is nearest to `1 / sqrt(x)`.

`g = 1 / sqrt(x)` in f64 lies within 2.5 units of the last place of the true root: the integer is rounded to f64, then
the root and the quotient are, each by half a unit at most, and a unit is at most twice as large relative to the one
number as to the other. So `g` says between which two neighbours in f32 the root lies, and on which side of the middle
`h` of the two, unless it is itself within 2.5 units of `h`. There integers decide: `h = m * 2^(e - 24)` with an odd `m`
of 25 bits, and the root is above `h` where `x m^2 < 2^(48 - 2e)`. The two sides differ by less than `2^-48` of the
power, which is at most `2^110` for `x < 2^62`: the difference fits 64 bits, and their wrapped difference is the true
one. It is never 0, since no odd `m > 1` divides a power of two.
"""

import numpy as np
import numpy.typing as npt

from qmlir.arithmetic.functions.steps import NUMPY, Steps, Value

ROOT_BITS = 62
"""Integers of so many bits, and above 0, have a reciprocal root."""

_MANTISSA = 52
"""Fraction bits of f64."""

_BIAS = 1023
"""What is added to the exponent of f64."""

_DROPPED = 29
"""Fraction bits that f64 has and f32 has not."""

_NEAR = 4
"""Units of the last place of f64 from the middle of two f32 numbers within which integers decide; 2.5 suffice."""


def reciprocal_root(e: Steps, x: Value) -> Value:
    """The f32 nearest to `1 / sqrt(x)` for integers `0 < x < 2^ROOT_BITS` of 64 bits."""
    bits = e.bits(1.0 / e.sqrt(e.real(x)))
    low = bits & ((1 << _DROPPED) - 1)
    past_middle = low - (1 << _DROPPED - 1)
    width = _MANTISSA - _DROPPED + 1  # fraction bits of a middle, whose last one is 1
    middle = ((bits >> _DROPPED - 1) & ((1 << width) - 1)) | (1 << width | 1)
    places = 2 * (width + _BIAS) - ((bits >> _MANTISSA) << 1)
    power = e.where(places > 63, 0, e.constant(1, x) << (places & 63))
    is_below = x * middle * middle - power < 0
    is_near = (past_middle > -_NEAR) & (past_middle < _NEAR)
    is_above = (is_near & is_below) | (past_middle > _NEAR - 1)
    return e.narrow(e.of_bits(bits - low + e.where(is_above, e.constant(1 << _DROPPED, x), 0)))


def reciprocal_roots(x: npt.ArrayLike) -> npt.NDArray[np.float32]:
    """The f32 nearest to `1 / sqrt(x)`, element by element. Raises `ValueError` for integers that have none."""
    integers = np.atleast_1d(np.asarray(x, np.int64))
    if integers.size and not (integers.min() > 0 and integers.max() < 1 << ROOT_BITS):
        wrong = integers[(integers <= 0) | (integers >= 1 << ROOT_BITS)][0]
        raise ValueError(f"reciprocal square root requires 0 < x < 2^{ROOT_BITS}, but got {wrong}")
    with np.errstate(over="ignore"):  # differences of 64 bits, wrapped
        return reciprocal_root(NUMPY, integers).reshape(np.shape(x))
