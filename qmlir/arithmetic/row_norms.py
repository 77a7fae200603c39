"""Normalizations of rows of integers: the numbers that a row of a known length needs, and the bounds that they keep.

A row has `n` elements `s d_i`, with integers `d = q - z` of at most `bits` bits and a sum `t` (0 for a norm by the root
of the mean square). Its deviations are `c_i = n d_i - t`, whole multiples of `s / n`, and their mean square is
`v = n sum(d^2) - t^2`, a multiple of `(s / n)^2`. So `c_i / sqrt(v + n^2 epsilon / s^2)` is the normalized element.

The root is that of one integer `2^k v + e` below `2^ROOT_BITS`, with `e` nearest to `2^k n^2 epsilon / s^2`, and at
least 1: `k` is even, and as large as the largest `v` allows. Where `v` is 0 all `c_i` are, and any root will do;
elsewhere it is `n - 1` or more, so that rounding `e` moves the root by `2^-k / 2 (n - 1)` of itself at most.

`n^2 epsilon / s^2` is a quotient in f64, of the numerator rounded once and of the exact square of the f32 scale. So a
program computes `k` and `e` of a scale that it is given as they are computed here of one that is known.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.functions.roots import ROOT_BITS, reciprocal_roots
from qmlir.arithmetic.functions.steps import NUMPY, Steps, Value

DEVIATION_BITS = 31
"""Deviations are integers of 32 bits, with a sign."""

_MANTISSA, _BIAS = 52, 1023
"""Fraction bits of f64, and what is added to its exponent."""


@dataclass(frozen=True)
class RowNorm:
    """A normalization of rows of so many integers of one scale: numbers, or values of a program (`Steps`)."""

    count: int
    """The elements of a row, `n`."""

    is_centred: bool
    """Whether the mean is subtracted."""

    shift: Value
    """`k`, an integer of 64 bits."""

    epsilon: Value
    """`e`, an integer of 64 bits."""

    factor: Value
    """`2^(k / 2)` in f32, which takes the root of `2^k v + e` to that of `v + 2^-k e`; NaN where no `k` is."""


@dataclass(frozen=True)
class RowBounds:
    """What is known of a normalization of rows before the scale of their integers is."""

    count: int
    bits: int
    epsilon: float
    is_centred: bool

    def __post_init__(self) -> None:
        """Raises `ValueError` where no norm is exact.

        `|d| < 2^bits` whatever the zero point, so `|c| <= n |d| < 2^31` bounds the sum of a row and its deviations,
        and `(n d)^2 < 2^62` the mean square.
        """
        if self.count * self.largest >= 1 << DEVIATION_BITS:
            raise ValueError(
                f"sums of 32 bits hold at most {((1 << DEVIATION_BITS) - 1) // self.largest} elements of "
                f"{self.bits} bits, but rows have {self.count}"
            )
        if not 0 < self.epsilon < math.inf:
            raise ValueError(f"epsilon must be positive and finite, but got {self.epsilon:g}")

    @property
    def largest(self) -> int:
        """What no `|d|` is above."""
        return (1 << self.bits) - 1

    def norm(self, e: Steps, scale: Value) -> RowNorm:
        """The norm of integers of this scale, f64 that was f32.

        With `w = V + 2 + n^2 epsilon / s^2`, `V` the largest `v`, every radicand is below `2^k w`: `2^k w < 2^62` where
        `k <= 61 - exponent(w)`. Sums in f64 keep their order, so one that was rounded keeps the bound.
        """
        # Of integers within an interval of length `largest` the variance is a quarter of its square at most.
        squares = self.count * self.count // 4 if self.is_centred else self.count * self.count
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
        return RowNorm(self.count, self.is_centred, shift, epsilon, factor)

    def norm_of(self, scale: float) -> RowNorm:
        """The norm of integers of this scale, an f32, in numbers. Raises `ValueError` where none is exact."""
        with np.errstate(over="ignore", divide="ignore"):
            found = self.norm(NUMPY, np.asarray(scale, np.float64))
        if math.isnan(found.factor):
            raise ValueError(
                f"the squares of rows of {self.count} elements of {self.bits} bits (epsilon {self.epsilon:g}, "
                f"scale {scale:g}) exceed {ROOT_BITS} bits"
            )
        return RowNorm(self.count, self.is_centred, int(found.shift), int(found.epsilon), float(found.factor))


def normalized_rows(norm: RowNorm, d: Array, axes: tuple[int, ...]) -> Array:
    """`f32(f32(n d - t) * r)` for integers of 64 bits, whose rows lie along `axes`."""
    total = d.sum(axes, keepdims=True) if norm.is_centred else np.zeros((), np.int64)
    squares = norm.count * (d * d).sum(axes, keepdims=True) - total * total
    root = reciprocal_roots((squares << norm.shift) + norm.epsilon) * np.float32(norm.factor)
    return (norm.count * d - total).astype(np.float32) * root
