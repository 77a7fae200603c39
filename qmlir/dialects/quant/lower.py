"""Lowering of `quant` casts to arithmetic on stored integers, and their padding rule."""

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import Float32Type, IntegerType
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap

from qmlir.arithmetic.schemes import SMALLEST_SCALE
from qmlir.dialects.kernel.lowering import quantized
from qmlir.dialects.kernel.lowering.lowering import Input, Lower, Lowering, is_unsigned, unchanged
from qmlir.dialects.kernel.lowering.scalars import Scalar
from qmlir.dialects.nn.padding_rules import PaddedValue, PaddingSite, Rule, zero_of
from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.quant.ops import CastOperation, DequantizeCastOp, QuantizeCastOp, StorageCastOp
from qmlir.dialects.quant.types import StoredType, UniformFloatType, UniformQuantizedType
from qmlir.ir.builtin_types import Codes

# Low-precision floats that equal integers times a power of two.

_WIDEST = 8
"""The maximum width, in bits, of integer weights."""


def same_integers(type_: UniformFloatType) -> tuple[UniformQuantizedType, int] | None:
    """Returns an integer type that holds the stored floats times `2^n`, and `n`; `None` if 8 bits are too few."""
    format_ = type_.storage.SEMANTICS
    codes = Codes.of(format_)
    below = format_.exponent_bias + format_.mantissa_bits - 1  # the smallest value is 2^-below
    exponent, mantissa = divmod(codes.largest, 1 << format_.mantissa_bits)
    largest = ((1 << format_.mantissa_bits) + mantissa) << (exponent - 1)
    bits = largest.bit_length() + 1
    scales = np.ldexp(type_.scales, -below)
    is_finite_only = codes.nan is None and codes.infinity is None
    is_f32 = isinstance(type_.expressed_type, Float32Type) and not (scales < SMALLEST_SCALE).any()
    if bits > _WIDEST or not is_finite_only or not is_f32:
        return None
    return UniformQuantizedType.like(type_, IntegerType(bits), scales, limits=(-largest, largest)), below


# Lowering of the `quant` casts to arithmetic on stored integers.


def _through_reals(op: CastOperation, at: Lowering) -> Sequence[SSAValue]:
    """Lowers `qcast` and `dcast`: reads the operand as a real number, and stores it in the result's type."""
    identity = AffineMap.identity(len(at.result_shape()))
    reading, writing = quantized.real(at, op.input, identity), quantized.writing(at, 0, identity)
    return (quantized.compute(at, [reading], writing, unchanged),)


def _storage_cast(op: StorageCastOp, at: Lowering) -> Sequence[SSAValue]:
    """Lowers `scast`, which keeps the bits; they are truncated and extended, since the stored type may be narrower."""
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


# The padding rule of casts: an element that is 0 remains 0.


def _cast(op: CastOperation, at: PaddingSite) -> Sequence[PaddedValue]:
    at.data()
    facts = at.facts(op.input)
    has_zero = zero_of(op.input) is not None and zero_of(op.result) is not None
    return [PaddedValue(facts.axes, facts.zeros if has_zero else frozenset())]


PADDINGS: Mapping[type[Operation], Rule] = {CastOperation: _cast}
