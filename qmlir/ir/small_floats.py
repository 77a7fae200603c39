"""Floats of 8 bits and fewer: which there are, the NumPy type that holds one in a byte, and its particular codes.

xDSL's type of each says its bits, its bias, and what it has instead of infinities and NaN (`SEMANTICS`). All that reads
or writes such floats goes by that, so one more format is one more row of `DTYPES`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import (
    Float4E2M1FNType,
    Float6E2M3FNType,
    Float6E3M2FNType,
    Float8E3M4Type,
    Float8E4M3B11FNUZType,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E4M3Type,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    FloatNanEncoding,
    FloatNonfiniteBehavior,
    FloatSemantics,
)
from xdsl.ir import Attribute

SmallFloat: TypeAlias = (
    Float4E2M1FNType
    | Float6E2M3FNType
    | Float6E3M2FNType
    | Float8E3M4Type
    | Float8E4M3Type
    | Float8E4M3FNType
    | Float8E4M3FNUZType
    | Float8E4M3B11FNUZType
    | Float8E5M2Type
    | Float8E5M2FNUZType
    | Float8E8M0FNUType
)

DTYPES: Mapping[type[Attribute], npt.DTypeLike] = {
    Float4E2M1FNType: ml_dtypes.float4_e2m1fn,
    Float6E2M3FNType: ml_dtypes.float6_e2m3fn,
    Float6E3M2FNType: ml_dtypes.float6_e3m2fn,
    Float8E3M4Type: ml_dtypes.float8_e3m4,
    Float8E4M3Type: ml_dtypes.float8_e4m3,
    Float8E4M3FNType: ml_dtypes.float8_e4m3fn,
    Float8E4M3FNUZType: ml_dtypes.float8_e4m3fnuz,
    Float8E4M3B11FNUZType: ml_dtypes.float8_e4m3b11fnuz,
    Float8E5M2Type: ml_dtypes.float8_e5m2,
    Float8E5M2FNUZType: ml_dtypes.float8_e5m2fnuz,
    Float8E8M0FNUType: ml_dtypes.float8_e8m0fnu,
}
"""The NumPy type of each: one value in a byte, a narrower one in its low bits."""


def as_small_float(type_: Attribute) -> SmallFloat | None:
    """`type_` where it is a float of 8 bits or fewer."""
    return type_ if isinstance(type_, SmallFloat) else None


def small_dtype(type_: SmallFloat) -> np.dtype[Any]:
    """The NumPy type that holds one value."""
    return np.dtype(DTYPES[type(type_)])


@dataclass(frozen=True)
class Codes:
    """The bits of the values of a format that its exponent and mantissa do not give, without the sign."""

    largest: int
    """The largest finite value."""

    nan: int | None
    """NaN (quiet where there are several); in a format without a negative zero this is the sign bit."""

    infinity: int | None
    """Infinity; larger codes are NaN."""

    sign: int
    """The sign bit, 0 where there is none."""

    has_negative_zero: bool

    @staticmethod
    def of(format_: FloatSemantics) -> "Codes":
        """The codes of a format."""
        ones = (1 << format_.exponent_bits + format_.mantissa_bits) - 1
        sign = 1 << format_.sign_shift if format_.has_sign else 0
        if format_.nonfinite is FloatNonfiniteBehavior.FINITE_ONLY:
            return Codes(ones, None, None, sign, True)
        if format_.nonfinite is FloatNonfiniteBehavior.IEEE:
            infinity = format_.max_exponent << format_.mantissa_bits
            return Codes(infinity - 1, infinity | 1 << format_.mantissa_bits - 1, infinity, sign, True)
        if format_.nan_encoding is FloatNanEncoding.NEGATIVE_ZERO:
            return Codes(ones, sign, None, sign, False)
        return Codes(ones - 1, ones, None, sign, True)
