"""Conversion to floats of at most 8 bits, according to the tables of special values in ONNX Cast and QuantizeLinear.

Values are converted to f32 and then rounded to the nearest value of the format, ties to even. Results beyond the
largest finite value, including infinities, saturate. Without saturation, they become infinity, or NaN in formats
without infinity. Formats that have neither always saturate, and map NaN to a zero of the opposite sign, like
`ml_dtypes`, which ONNX's reference implementation uses.
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
    """How values are rounded to a power of two (f8E8M0FNU): the `round_mode` of ONNX Cast."""

    UP = "up"
    """Rounds to the next larger power of two."""

    DOWN = "down"
    """Rounds to the next smaller power of two."""

    NEAREST = "nearest"
    """Rounds to the nearest power of two, ties up."""


def to_small_float(
    values: Array, dtype: npt.DTypeLike, *, saturates: bool = True, rounding: PowerRounding = PowerRounding.UP
) -> Array:
    """Converts numbers of any type to the low-precision float `dtype`; `rounding` applies to powers of two only."""
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
    """Rounds to powers of two from 2^-127 to 2^127, as biased exponents. Zero becomes the smallest; negatives become
    NaN."""
    fraction, exponent = np.frexp(reals)  # the fraction lies in [1/2, 1)
    is_raised = {PowerRounding.UP: fraction > 0.5, PowerRounding.NEAREST: fraction >= 0.75}.get(rounding, False)
    codes = (exponent - 1 + is_raised).astype(np.int64) + _BIAS
    codes = np.where(reals == 0, -1, np.where(np.isinf(reals), _NAN, codes))
    inside = np.clip(codes, 0, _NAN - 1)
    if not saturates:
        inside = np.where(codes == inside, inside, _NAN)
    is_number = ~np.isnan(reals) & (reals >= 0)
    return np.where(is_number, inside, _NAN).astype(np.uint8).view(_POWERS)


_SINGLE_MANTISSA, _SINGLE_BIAS = 23, 127
"""Mantissa width and exponent bias of f32."""


@dataclass(frozen=True)
class PlainFloat:
    """A float format of at most 8 bits in which all encodings are finite numbers, including a zero of each sign.

    The sign is followed by the exponent and the mantissa; encodings with exponent 0 are subnormal. Every number in the
    float formats that models use is one of these times a power of two, so loops multiply in these formats.
    """

    exponent_bits: int
    mantissa_bits: int

    @property
    def bits(self) -> int:
        """The width of an encoded value, in bits."""
        return 1 + self.exponent_bits + self.mantissa_bits

    @property
    def bias(self) -> int:
        """The exponent bias of the format."""
        return (1 << self.exponent_bits - 1) - 1

    @cached_property
    def _table(self) -> Array:
        codes = np.arange(1 << self.bits - 1)
        exponents, mantissas = codes >> self.mantissa_bits, codes & ((1 << self.mantissa_bits) - 1)
        whole = mantissas + ((exponents > 0) << self.mantissa_bits)
        found = np.ldexp(whole.astype(np.float32), np.maximum(exponents, 1) - self.bias - self.mantissa_bits)
        return np.concatenate([found, -found])

    def values(self, codes: Array) -> Array:
        """Decodes encoded values to f32, ignoring bits above their width."""
        return self._table[codes.astype(np.int64) & ((1 << self.bits) - 1)]

    def scaled_codes(self, numbers: Array) -> tuple[Array, int] | None:
        """Encodes f32 numbers exactly as codes times `2^n`; returns the codes as int8 and `n`, or `None` if impossible.

        The largest number gets the highest exponent, so that as few small numbers as possible are subnormal.
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
