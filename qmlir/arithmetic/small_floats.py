"""Conversion to floats of 8 bits and fewer, as ONNX Cast and QuantizeLinear define it (their tables of special values).

Values are rounded to the nearest, half-way cases to even, by way of f32. What is then beyond the largest finite value
saturates, infinities too; where it does not, it becomes infinity, or NaN in formats without one. Formats with neither
always saturate, and NaN becomes a zero of the other sign in them, as in `ml_dtypes`, which ONNX's reference takes.
"""

from enum import StrEnum
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
