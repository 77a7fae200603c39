"""Floats of few bits that are integers of a smaller scale."""

import numpy as np
from xdsl.dialects.builtin import Float32Type, IntegerType

from qmlir.arithmetic.schemes import SMALLEST_SCALE
from qmlir.dialects.quant.types import Granularity, UniformFloatType, UniformQuantizedType
from qmlir.ir.small_floats import Codes

_WIDEST = 8
"""The bits of integers that weights may have."""


def same_integers(type_: UniformFloatType) -> tuple[UniformQuantizedType, int] | None:
    """Integers of the same numbers, each `2^n` times what was stored, and `n`; `None` where 8 bits do not hold them."""
    format_ = type_.storage.SEMANTICS
    codes = Codes.of(format_)
    below = format_.exponent_bias + format_.mantissa_bits - 1  # the smallest value is 2^-below
    exponent, mantissa = divmod(codes.largest, 1 << format_.mantissa_bits)
    largest = ((1 << format_.mantissa_bits) + mantissa) << (exponent - 1)
    bits = largest.bit_length() + 1
    scales = np.ldexp(type_.scales, -below)
    is_finite_only = codes.nan is None and codes.infinity is None
    if bits > _WIDEST or not is_finite_only or not isinstance(type_.expressed_type, Float32Type):
        return None
    if (scales < SMALLEST_SCALE).any():
        return None
    storage, expressed, limits = IntegerType(bits), type_.expressed_type, (-largest, largest)
    match type_.granularity:
        case Granularity.TENSOR:
            found = UniformQuantizedType.per_tensor(storage, expressed, float(scales.item()), 0, limits)
        case Granularity.AXIS:
            found = UniformQuantizedType.per_axis(storage, expressed, type_.axis, scales, 0, limits)
        case Granularity.BLOCK:
            blocks = dict(zip(type_.axes, type_.block_sizes, strict=True))
            found = UniformQuantizedType.per_block(storage, expressed, blocks, scales, 0, limits)
    return found, below
