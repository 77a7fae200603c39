"""Exact normalization of integer rows: the constants for a row length, and the bounds that prove exactness.

A row has `n` elements `s d_i`, where the integers `d = q - z` have at most `bits` bits, and `t` is their sum (0 for a
root mean square norm). In units of `s / n`, the deviations from the mean are the integers `c_i = n d_i - t`, and their
mean square is the integer `v = n sum(d^2) - t^2`. The normalized element is `c_i / sqrt(v + n^2 epsilon / s^2)`.

The radicand is scaled to an integer `2^k v + e` below `2^ROOT_BITS`, where `e` is the integer nearest to
`2^k n^2 epsilon / s^2`, but at least 1. `k` is even, and as large as the largest `v` permits. If `v` is 0, all `c_i`
are 0 and the root does not matter. Otherwise `v` is at least `n - 1`, so rounding `e` changes the root by at most a
relative `2^-k / (2 (n - 1))`.

`n^2 epsilon / s^2` is computed as an f64 quotient, whose numerator is rounded once and whose denominator is the exact
square of the f32 scale. A program therefore computes the same `k` and `e` for a run-time scale as this module does for
a static one.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.functions.single import ROOT_BITS, reciprocal_roots
from qmlir.arithmetic.functions.steps import NUMPY, Steps, Value

DEVIATION_BITS = 31
"""The width of deviations, which are signed."""

_MANTISSA, _BIAS = 52, 1023
"""The fraction width and the exponent bias of f64."""


@dataclass(frozen=True)
class RowNorm:
    """The normalization of rows of `count` integers with one scale; fields are numbers or values in a program
    (`Steps`)."""

    count: int
    """The number `n` of elements in a row."""

    is_centered: bool
    """Whether the mean is subtracted."""

    shift: Value
    """The shift `k`, a 64-bit integer."""

    epsilon: Value
    """The addend `e`, a 64-bit integer."""

    factor: Value
    """`2^(k / 2)` in f32, which converts the root of `2^k v + e` to that of `v + 2^-k e`; NaN if no `k` is possible."""


@dataclass(frozen=True)
class RowBounds:
    """The part of a normalization of integer rows that does not depend on the scale."""

    count: int
    bits: int
    epsilon: float
    is_centered: bool

    def __post_init__(self) -> None:
        """Raises `ValueError` if no norm is exact.

        `|d| < 2^bits` for any zero point, so `|c| <= n |d| < 2^31` bounds the sum of a row and its deviations, and
        `(n d)^2 < 2^62` the mean square.
        """
        if self.count * self.largest >= 1 << DEVIATION_BITS:
            most = ((1 << DEVIATION_BITS) - 1) // self.largest
            held = f"sums of 32 bits hold at most {most} elements of {self.bits} bits"
            raise ValueError(f"{held}, but rows have {self.count}")
        if not 0 < self.epsilon < math.inf:
            raise ValueError(f"epsilon must be positive and finite, but got {self.epsilon:g}")

    @property
    def largest(self) -> int:
        """An upper bound on `|d|`."""
        return (1 << self.bits) - 1

    def norm(self, e: Steps, scale: Value) -> RowNorm:
        """Returns the normalization of integers with `scale`, an f64 value that was converted from f32.

        Let `V` be the largest `v`, and `w = V + 2 + n^2 epsilon / s^2`. Every radicand is below `2^k w`, and
        `2^k w < 2^62` if `k <= 61 - exponent(w)`. f64 addition is monotonic, so the bound also holds for the rounded
        sum.
        """
        # The variance of integers in an interval of length `largest` is at most a quarter of its square.
        squares = self.count * self.count // 4 if self.is_centered else self.count * self.count
        most = squares * self.largest**2 + 2
        bound = float(most) if int(float(most)) >= most else math.nextafter(float(most), math.inf)
        quotient = e.constant(float(Fraction(self.epsilon) * self.count * self.count), scale) / (scale * scale)
        exponent = (e.bits(quotient + bound) >> _MANTISSA) - _BIAS
        is_beyond = exponent > ROOT_BITS - 1
        shift = e.where(is_beyond, 0, (ROOT_BITS - 1 - exponent) & -2)
        power = e.of_bits((shift + _BIAS) << _MANTISSA)
        nearest = e.where(is_beyond, 1.0, e.round_even(quotient * power))
        factor = e.narrow(e.of_bits(((shift >> 1) + _BIAS) << _MANTISSA))
        factor = e.where(is_beyond, e.constant(math.nan, factor), factor)
        epsilon = e.whole(e.where(nearest > 1.0, nearest, 1.0))
        return RowNorm(self.count, self.is_centered, shift, epsilon, factor)

    def norm_of(self, scale: float) -> RowNorm:
        """Returns the normalization of integers with this f32 scale, as numbers. Raises `ValueError` if it cannot be
        exact."""
        with np.errstate(over="ignore", divide="ignore"):
            found = self.norm(NUMPY, np.asarray(scale, np.float64))
        if math.isnan(found.factor):
            rows = f"rows of {self.count} elements of {self.bits} bits (epsilon {self.epsilon:g}, scale {scale:g})"
            raise ValueError(f"the squares of {rows} exceed {ROOT_BITS} bits")
        return RowNorm(self.count, self.is_centered, int(found.shift), int(found.epsilon), float(found.factor))


def normalized_rows(norm: RowNorm, d: Array, axes: tuple[int, ...]) -> Array:
    """Computes `f32(f32(n d - t) * r)` for 64-bit integers `d` with rows along `axes`; `r` is the reciprocal root."""
    total = d.sum(axes, keepdims=True) if norm.is_centered else np.zeros((), np.int64)
    squares = norm.count * (d * d).sum(axes, keepdims=True) - total * total
    root = reciprocal_roots((squares << norm.shift) + norm.epsilon) * np.float32(norm.factor)
    return (norm.count * d - total).astype(np.float32) * root
