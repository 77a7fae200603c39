"""Normalizations of rows of integers: the numbers that a row of a known length needs, and the bounds that they keep.

A row has `n` elements `s d_i`, with integers `d = q - z` of at most `bits` bits and a sum `t` (0 for a norm by the root
of the mean square). Its deviations are `c_i = n d_i - t`, whole multiples of `s / n`, and their mean square is
`v = n sum(d^2) - t^2`, a multiple of `(s / n)^2`. So `c_i / sqrt(v + n^2 epsilon / s^2)` is the normalized element.

The root is that of one integer `2^k v + e` below `2^ROOT_BITS`, with `e` nearest to `2^k n^2 epsilon / s^2`, and at
least 1: `k` is even, and as large as the largest `v` allows. Where `v` is 0 all `c_i` are, and any root will do;
elsewhere it is `n - 1` or more, so that rounding `e` moves the root by `2^-k / 2 (n - 1)` of itself at most.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from qmlir.arithmetic.functions.roots import ROOT_BITS

DEVIATION_BITS = 31
"""Deviations are integers of 32 bits, with a sign."""


@dataclass(frozen=True)
class RowNorm:
    """A normalization of rows of so many integers of one scale."""

    count: int
    """The elements of a row, `n`."""

    is_centred: bool
    """Whether the mean is subtracted."""

    shift: int
    """`k`."""

    epsilon: int
    """`e`."""

    @property
    def factor(self) -> float:
        """`2^(k / 2)`, which takes the root of `2^k v + e` to that of `v + 2^-k e`."""
        return float(1 << self.shift // 2)

    @staticmethod
    def of(count: int, bits: int, scale: float, epsilon: float, *, is_centred: bool) -> "RowNorm":
        """The norm of rows of `count` integers of `bits` bits and this scale. Raises `ValueError` where none is exact.

        `|d| < 2^bits` whatever the zero point, so `|c| <= n |d| < 2^31` bounds the sum of a row and its deviations,
        and `(n d)^2 < 2^62` the mean square.
        """
        largest = (1 << bits) - 1
        if count * largest >= 1 << DEVIATION_BITS:
            raise ValueError(
                f"rows of {count} elements of {bits} bits: sums of 32 bits hold "
                f"{((1 << DEVIATION_BITS) - 1) // largest} of them"
            )
        if not 0 < epsilon < math.inf:
            raise ValueError(f"epsilon {epsilon:g}: rows of equal numbers need one above 0")
        # Of integers within an interval of length `largest` the variance is a quarter of its square at most.
        most = count * count // 4 * largest**2 if is_centred else (count * largest) ** 2
        exact = Fraction(epsilon) * count * count / Fraction(scale) ** 2
        shift = (ROOT_BITS - (most + int(exact) + 2).bit_length()) // 2 * 2
        if shift < 0:
            raise ValueError(
                f"rows of {count} elements of {bits} bits whose squares, with epsilon {epsilon:g} at scale {scale:g}, "
                f"are beyond integers of {ROOT_BITS} bits"
            )
        return RowNorm(count, is_centred, shift, max(1, round(exact * (1 << shift))))
