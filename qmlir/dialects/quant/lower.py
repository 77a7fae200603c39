"""How the `quant` casts become arithmetic on stored integers."""

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap

from qmlir.dialects.kernel.lowering import quantized
from qmlir.dialects.kernel.lowering.lowering import Input, Lower, Lowering, is_unsigned, unchanged
from qmlir.dialects.kernel.lowering.scalars import Scalar
from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.quant.ops import CastOperation, DequantizeCastOp, QuantizeCastOp, StorageCastOp
from qmlir.dialects.quant.types import StoredType, UniformFloatType


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
