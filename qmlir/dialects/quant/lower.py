"""Lowering of `quant` casts to arithmetic on stored integers."""

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import Float32Type, IntegerType
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap

from qmlir.arithmetic.schemes import SMALLEST_SCALE
from qmlir.dialects.kernel.lowering import quantized
from qmlir.dialects.kernel.lowering.lowering import Input, Lower, Lowering, is_unsigned, unchanged
from qmlir.dialects.kernel.lowering.scalars import Scalar
from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.quant.ops import CastOperation, DequantizeCastOp, QuantizeCastOp, StorageCastOp
from qmlir.dialects.quant.types import Granularity, StoredType, UniformFloatType, UniformQuantizedType
from qmlir.ir.builtin_types import Codes

# Floats of few bits that are integers of a smaller scale.

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


# How the `quant` casts become arithmetic on stored integers.


def _through_reals(op: CastOperation, at: Lowering) -> Sequence[SSAValue]:
    """`qcast` and `dcast`: the real number that the operand is, stored as the result has it."""
    identity = AffineMap.identity(len(at.result_shape()))
    reading, writing = quantized.real(at, op.input, identity), quantized.writing(at, 0, identity)
    return (quantized.compute(at, [reading], writing, unchanged),)


def _storage_cast(op: StorageCastOp, at: Lowering) -> Sequence[SSAValue]:
    """`scast` keeps the bits; as the stored type may have fewer than the plain one, they are cut and extended."""
    source = at.value(op.input)
    element, result = element_type(op.input.type), at.result_element()
    if isinstance(element, UniformFloatType) or isinstance(element_type(op.result.type), UniformFloatType):
        return (source,)
    held = element.bits if isinstance(element, StoredType) else None
    identity = AffineMap.identity(len(at.result_shape()))
    if element_type(source.type) == result:
        return (source,)
    unsigned = is_unsigned(element) if held is not None else is_unsigned(element_type(op.result.type))

    def resize(bits: Scalar) -> Scalar:
        return Scalar(bits.value, bits.builder, unsigned).to(result)

    return (at.compute([Input(source, identity)], at.result_shape(), result, resize),)


LOWERINGS: dict[type[Operation], Lower] = {
    QuantizeCastOp: _through_reals,
    DequantizeCastOp: _through_reals,
    StorageCastOp: _storage_cast,
}
