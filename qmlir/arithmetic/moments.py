"""Sums over values, exact: however the values are divided and ordered, mean and standard deviation are the same.

A float is a significand times a power of two. Significands are cut into limbs so short that f64 holds the sums of
their products over a whole block, and added up for each sign and exponent; Python's integers carry the rest.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from qmlir.arithmetic.arrays import Array

_CHUNK = 1 << 13
"""Elements at a time. With 2^16 their intermediate arrays go back to the system each time: half the speed."""

_LARGEST_DENOMINATOR = 2 * 1074
"""As an exponent of 2: that of the square of the smallest number of f64."""


@dataclass(frozen=True)
class _Layout:
    """Where an IEEE format keeps its parts, and into how many limbs of how many bits a significand is cut."""

    bits: npt.DTypeLike
    fraction_bits: int
    exponent_bits: int
    smallest_exponent: int  # of the lowest bit of a subnormal number
    limbs: int
    limb_bits: int
    block: int  # elements between two carries: `limbs * 2^(2 * limb_bits)` times this is at most 2^53


_F32 = _Layout(np.uint32, 23, 8, -149, 2, 12, 1 << 28)
_F64 = _Layout(np.uint64, 52, 11, -1074, 3, 18, 1 << 15)


def dyadic_to_list(value: Fraction) -> list[int]:
    """A fraction whose denominator is a power of two, as its numerator and the exponent of the denominator."""
    return [value.numerator, value.denominator.bit_length() - 1]


def dyadic_from_list(parts: Sequence[int]) -> Fraction:
    """What `dyadic_to_list` made. Raises `ValueError` where no sum of floats, or of their squares, is that fine."""
    numerator, exponent = parts
    if not 0 <= exponent <= _LARGEST_DENOMINATOR:
        raise ValueError(f"exponent of a denominator must be in [0, {_LARGEST_DENOMINATOR}], but got {exponent}")
    return Fraction(numerator, 1 << exponent)


def square_root(value: Fraction) -> float:
    """The root of a number that is not negative, cut off after 64 bits and rounded to f64."""
    if value == 0:
        return 0.0
    magnitude = value.numerator.bit_length() - value.denominator.bit_length()
    shift = 128 - magnitude + magnitude % 2  # even
    scaled = (value.numerator << max(shift, 0)) // (value.denominator << max(-shift, 0))
    return math.ldexp(float(math.isqrt(scaled)), -shift // 2)


def _add(sums: npt.NDArray[np.float64], chunk: Array, layout: _Layout) -> None:
    """Adds to each bucket, one for a sign and an exponent: a row for each limb, then one for each place of squares."""
    bits = chunk.view(layout.bits)
    buckets = (bits >> bits.dtype.type(layout.fraction_bits)).astype(np.intp)
    implicit = 1 << layout.fraction_bits
    significands = (bits & bits.dtype.type(implicit - 1)).astype(np.int64)
    significands |= np.where(buckets & ((1 << layout.exponent_bits) - 1), implicit, 0)
    mask = (1 << layout.limb_bits) - 1
    limbs = [((significands >> (i * layout.limb_bits)) & mask).astype(np.float64) for i in range(layout.limbs)]
    for row, limb in enumerate(limbs):
        sums[row] += np.bincount(buckets, limb, sums.shape[1])
    for place in range(2 * layout.limbs - 1):
        first, *others = (limbs[i] * limbs[place - i] for i in range(layout.limbs) if 0 <= place - i < layout.limbs)
        sums[layout.limbs + place] += np.bincount(buckets, sum(others, first), sums.shape[1])


def _carried(sums: npt.NDArray[np.float64], layout: _Layout) -> tuple[int, int, int]:
    """The sums of values, of their sizes and of their squares; the unit is the smallest number, and its square."""
    total = sizes = squares = 0
    signs = 1 << layout.exponent_bits
    for bucket in np.flatnonzero(sums.any(axis=0)).tolist():
        rows = [int(each) << (row * layout.limb_bits) for row, each in enumerate(sums[: layout.limbs, bucket])]
        square = [int(each) << (row * layout.limb_bits) for row, each in enumerate(sums[layout.limbs :, bucket])]
        # Exponent 0 is that of subnormal numbers, whose lowest bit weighs as much as that of exponent 1.
        shift = max(bucket & (signs - 1), 1) - 1
        size = sum(rows) << shift
        total += -size if bucket & signs else size
        sizes += size
        squares += sum(square) << (2 * shift)
    return total, sizes, squares


@dataclass(frozen=True)
class Moments:
    """The number of values and of zeros among them, and the exact sums of values, of their sizes and their squares."""

    count: int = 0
    zeros: int = 0
    total: Fraction = Fraction(0)
    sizes: Fraction = Fraction(0)
    squares: Fraction = Fraction(0)

    @staticmethod
    def of(values: Array) -> "Moments":
        """The sums over finite values, one-dimensional and contiguous, f32 or f64."""
        layout = _F32 if values.dtype == np.float32 else _F64
        total = sizes = squares = 0
        for start in range(0, values.size, layout.block):
            sums = np.zeros((3 * layout.limbs - 1, 2 << layout.exponent_bits))
            block = values[start : start + layout.block]
            for place in range(0, block.size, _CHUNK):
                _add(sums, block[place : place + _CHUNK], layout)
            carried = _carried(sums, layout)
            total, sizes, squares = total + carried[0], sizes + carried[1], squares + carried[2]
        unit = 1 << -layout.smallest_exponent
        sums = (Fraction(total, unit), Fraction(sizes, unit), Fraction(squares, unit * unit))
        return Moments(values.size, values.size - int(np.count_nonzero(values)), *sums)

    def merged(self, other: "Moments") -> "Moments":
        """The sums over the values of both, exactly."""
        return Moments(
            self.count + other.count,
            self.zeros + other.zeros,
            self.total + other.total,
            self.sizes + other.sizes,
            self.squares + other.squares,
        )

    @property
    def mean(self) -> float:
        """The mean, rounded once to f64. Without values there is none: `ZeroDivisionError`."""
        return float(self.total / self.count)

    @property
    def deviation(self) -> float:
        """The population's standard deviation, rounded to f64 from 64 bits."""
        return square_root((self.squares - self.total * self.total / self.count) / self.count)

    def to_dict(self) -> dict[str, Any]:
        """Whole numbers alone; each sum as its numerator and the exponent of its denominator, a power of two."""
        sums = {name: dyadic_to_list(getattr(self, name)) for name in ("total", "sizes", "squares")}
        return {"count": self.count, "zeros": self.zeros, **sums}

    @staticmethod
    def from_dict(fields: dict[str, Any]) -> "Moments":
        """The moments that `to_dict` wrote. Raises `ValueError` for sums that no numbers have."""
        count, zeros = int(fields["count"]), int(fields["zeros"])
        total, sizes, squares = (dyadic_from_list(fields[name]) for name in ("total", "sizes", "squares"))
        # The last bound is Cauchy and Schwarz's inequality: without it, a variance could be negative.
        if not 0 <= zeros <= count or not abs(total) <= sizes or not sizes * sizes <= (count - zeros) * squares:
            raise ValueError(
                f"moments contradict each other: no values have count {count}, zeros {zeros} and these sums"
            )
        return Moments(count, zeros, total, sizes, squares)
