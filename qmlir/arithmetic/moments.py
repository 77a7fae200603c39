"""Sums of values and squares, for mean and deviation, that do not depend on the order of the values within a run.

Each value is divided by the power of two above the largest magnitude in the run, and rounded to a multiple of a unit.
The multiples are integers, which can be added in any order. The unit is large enough that their sum fits in 63 bits,
and small enough that rounding errors do not exceed those of plain f64 sums. Squares are summed in the same way. The
sums of several runs are added in f64, in the order of the runs.
"""

import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import numpy as np

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.schemes import F64

_CHUNK = 1 << 13
"""The number of elements summed at a time, so that intermediate arrays stay in the L1 and L2 caches."""

_SMALLEST_EXPONENT = -1000
"""The smallest exponent of a run: the reciprocal of this power of two is still a normal f64."""

_MOST = sys.float_info.max

_LARGEST_DENOMINATOR = 2 * 1074
"""The exponent of 2 in the denominator of the square of the smallest f64."""


AGREEMENT = 1e-7
"""The tolerance of mean and deviation, relative to the largest magnitude, between the exact sums of version 0.1 and f64
sums."""

SPARE_BITS = 10
"""The number of bits by which an i64 sum may be wider than a multiple of the unit."""


def rounding_addend(count: int) -> float:
    """Returns an f64 `1.5 * 2^b` for sums of `count` values: adding it to `|y| < 1` rounds `y` to a multiple of the
    unit.

    The unit is the last bit of numbers near the addend, `2^(b - 52)`, so the multiple is the difference between the
    bits of the sum and of the addend. `b` is the width of `count` minus `SPARE_BITS`, but at least 1, so that a sum of
    multiples is below 2^62.
    """
    return 1.5 * 2.0 ** max(count.bit_length() - SPARE_BITS, 1)


def run_sums(values: Array, magnitudes: F64) -> F64:
    """Returns, for each run, the sum of the values and the sum of their squares, `[runs, 2]`.

    Args:
        values: Finite f32 or f64, `[repeats, runs, elements]`.
        magnitudes: The largest magnitude in each run.
    """
    repeats, runs, inner = values.shape
    units = np.zeros((runs, 2), np.int64)
    addend = rounding_addend(repeats * inner)
    exponents = np.maximum(np.frexp(magnitudes)[1], _SMALLEST_EXPONENT)
    scales = np.ldexp(1.0, -exponents)[:, None]
    wide, width = max(_CHUNK // max(inner, 1), 1), min(max(inner, 1), _CHUNK)
    memory = np.empty((2, wide * width))
    for repeat in range(repeats):
        for first in range(0, runs, wide):
            part = slice(first, first + wide)
            for begin in range(0, inner, _CHUNK):
                chunk = values[repeat, part, begin : begin + _CHUNK]
                scaled, squares = (each[: chunk.size].reshape(chunk.shape) for each in memory)
                np.multiply(chunk, scales[part], out=scaled, dtype=np.float64)
                np.multiply(scaled, scaled, out=squares)
                for position, terms in enumerate((scaled, squares)):
                    terms += addend
                    # The bits of the addend are subtracted at the end: the sum is modulo 2^64.
                    units[part, position] += terms.view(np.int64).sum(axis=1)
    units -= np.float64(addend).view(np.int64) * np.array([repeats * inner])  # an array overflows without a warning
    unit = math.ulp(addend)
    with np.errstate(over="ignore"):
        return np.clip(np.ldexp(units * unit, np.stack([exponents, 2 * exponents], axis=1)), -_MOST, _MOST)


def sum_of(value: Any) -> float:
    """Parses a sum from a file: a number or, in version 0.1, an exact fraction (numerator, exponent of the
    denominator).

    Raises `ValueError` for anything else, and for an exponent that no sum of floats can have.
    """
    if type(value) is float and math.isfinite(value):
        return value
    parts = cast(list[Any], value) if isinstance(value, list) else []
    if len(parts) != 2 or not all(type(each) is int for each in parts) or not 0 <= parts[1] <= _LARGEST_DENOMINATOR:
        raise ValueError(
            f"a sum must be a float, or a whole number and an exponent, but got {str(cast(Any, value))[:40]}"
        )
    try:
        return float(Fraction(parts[0], 1 << parts[1]))
    except OverflowError:
        return math.copysign(_MOST, parts[0])


@dataclass(frozen=True)
class Moments:
    """The number of values, the number of zeros among them, and the sums of the values and of their squares.

    If a sum overflows f64, which can happen only for f64 values, it saturates to the largest f64.
    """

    count: int = 0
    zeros: int = 0
    total: float = 0.0
    squares: float = 0.0

    def __post_init__(self) -> None:
        for name in ("total", "squares"):
            object.__setattr__(self, name, min(max(getattr(self, name), -_MOST), _MOST))

    @staticmethod
    def of(values: Array, magnitude: float) -> "Moments":
        """Returns the sums of one run: contiguous finite f32 or f64 values with the largest magnitude `magnitude`."""
        sums = run_sums(values.reshape(1, 1, -1), np.array([magnitude]))[0]
        return Moments(values.size, int(np.count_nonzero(values == 0)), *map(float, sums))

    def merged(self, other: "Moments") -> "Moments":
        """Returns the sums over the values on both sides; the last bits depend on the order of merges."""
        return Moments(
            self.count + other.count,
            self.zeros + other.zeros,
            self.total + other.total,
            self.squares + other.squares,
        )

    @property
    def mean(self) -> float:
        """The mean. Raises `ZeroDivisionError` if there are no values."""
        return self.total / self.count

    @property
    def deviation(self) -> float:
        """The population's standard deviation, infinite if the sum of squares overflows f64. Raises `ZeroDivisionError`
        if there are no values."""
        if self.squares == _MOST:
            return math.inf
        return math.sqrt(max(self.squares / self.count - self.mean * self.mean, 0.0))

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as numbers that JSON represents exactly."""
        return dict(vars(self))

    @staticmethod
    def from_dict(fields: dict[str, Any]) -> "Moments":
        """Restores the result of `to_dict`, from this version or version 0.1. Raises `ValueError` for impossible
        counts."""
        count, zeros = int(fields["count"]), int(fields["zeros"])
        if not 0 <= zeros <= count:
            raise ValueError(f"the number of zeros must be in [0, {count}], but got {zeros}")
        return Moments(count, zeros, sum_of(fields["total"]), sum_of(fields["squares"]))
