"""Conversion to floats of 8 bits and fewer, as ONNX Cast and QuantizeLinear define it (their tables of special values).

Values are rounded to the nearest, half-way cases to even, by way of f32. What is then beyond the largest finite value
saturates, infinities too; where it does not, it becomes infinity, or NaN in formats without one. Formats with neither
always saturate, and NaN becomes a zero of the other sign in them, as in `ml_dtypes`, which ONNX's reference takes.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, cast

import ml_dtypes
import numpy as np
import numpy.typing as npt

from qmlir.arithmetic.arrays import Array

_POWERS = np.dtype(ml_dtypes.float8_e8m0fnu)
_NAN, _BIAS = 0xFF, 127


class PowerRounding(StrEnum):
    """How a value becomes a power of two (f8E8M0FNU): ONNX Cast's `round_mode`."""

    UP = "up"
    """To the next larger one."""

    DOWN = "down"
    """To the next smaller one."""

    NEAREST = "nearest"
    """To the nearest one, half-way cases up."""


def to_small_float(
    values: Array, dtype: npt.DTypeLike, *, saturates: bool = True, rounding: PowerRounding = PowerRounding.UP
) -> Array:
    """Numbers of any type in the small float `dtype`; `rounding` is for powers of two alone."""
    with np.errstate(all="ignore"):
        reals = np.asarray(values).astype(np.float32)
        if np.dtype(dtype) == _POWERS:
            return _to_powers(reals, saturates, rounding)
        rounded = np.asarray(reals.astype(dtype))
        if not saturates:
            return rounded
        largest = np.asarray(cast(Any, ml_dtypes.finfo(dtype)).max, dtype).astype(np.float32)
        is_beyond = ~np.isfinite(rounded.astype(np.float32)) & ~np.isnan(reals)
        return np.where(is_beyond, np.copysign(largest, reals).astype(dtype), rounded)


def _to_powers(reals: npt.NDArray[np.float32], saturates: bool, rounding: PowerRounding) -> Array:
    """Powers of two from 2^-127 to 2^127, as their biased exponents. Zero is below all; numbers below it are NaN."""
    fraction, exponent = np.frexp(reals)  # the fraction lies in [1/2, 1)
    match rounding:
        case PowerRounding.UP:
            codes = exponent - 1 + (fraction > 0.5)
        case PowerRounding.DOWN:
            codes = exponent - 1
        case PowerRounding.NEAREST:
            codes = exponent - 1 + (fraction >= 0.75)
    codes = codes.astype(np.int64) + _BIAS
    codes = np.where(reals == 0, -1, np.where(np.isinf(reals), _NAN, codes))
    inside = np.clip(codes, 0, _NAN - 1)
    if not saturates:
        inside = np.where(codes == inside, inside, _NAN)
    is_number = ~np.isnan(reals) & (reals >= 0)
    return np.where(is_number, inside, _NAN).astype(np.uint8).view(_POWERS)


_SINGLE_MANTISSA, _SINGLE_BIAS = 23, 127
"""Of f32."""


@dataclass(frozen=True)
class PlainFloat:
    """Floats of 8 bits and fewer all of whose codes are numbers: no infinity, no NaN, a zero of each sign.

    Below the sign lies the exponent and below that the mantissa; values of the exponent 0 are subnormal. Every number
    of the formats that models have is one of these times a power of two, so these are what loops multiply by.
    """

    exponent_bits: int
    mantissa_bits: int

    @property
    def bits(self) -> int:
        """Of a code."""
        return 1 + self.exponent_bits + self.mantissa_bits

    @property
    def bias(self) -> int:
        """What an exponent is more than that of the power of two."""
        return (1 << self.exponent_bits - 1) - 1

    @cached_property
    def _table(self) -> Array:
        codes = np.arange(1 << self.bits - 1)
        exponents, mantissas = codes >> self.mantissa_bits, codes & ((1 << self.mantissa_bits) - 1)
        whole = mantissas + ((exponents > 0) << self.mantissa_bits)
        found = np.ldexp(whole.astype(np.float32), np.maximum(exponents, 1) - self.bias - self.mantissa_bits)
        return np.concatenate([found, -found])

    def values(self, codes: Array) -> Array:
        """The numbers in f32 that codes stand for; what lies above their bits does not count."""
        return self._table[codes.astype(np.int64) & ((1 << self.bits) - 1)]

    def scaled_codes(self, numbers: Array) -> tuple[Array, int] | None:
        """Codes in int8 and an `n` by which numbers of f32 are `2^n` times their values, exactly; `None` without such.

        The largest number gets the highest exponent: so the smallest ones have most room, and few are subnormal.
        """
        largest = float(np.abs(numbers).max(initial=0))
        if not np.isfinite(largest):
            return None
        highest = (1 << self.exponent_bits) - 1 - self.bias
        power = int(np.frexp(largest)[1]) - 1 - highest if largest else 0
        scaled = np.ldexp(np.asarray(numbers, np.float32), -power)
        magnitudes = np.abs(scaled)
        shift = _SINGLE_MANTISSA - self.mantissa_bits
        normal = (magnitudes.view(np.int32) >> shift) - ((_SINGLE_BIAS - self.bias) << self.mantissa_bits)
        is_subnormal = magnitudes < np.ldexp(1.0, 1 - self.bias)
        below = np.where(is_subnormal, np.ldexp(magnitudes, self.bias - 1 + self.mantissa_bits), 0)
        codes = np.where(is_subnormal, below.astype(np.int32), normal)
        codes |= np.signbit(scaled).astype(np.int32) << (self.bits - 1)
        if not np.array_equal(np.ldexp(self.values(codes), power), numbers):
            return None
        return codes.astype(np.uint8).view(np.int8), power
