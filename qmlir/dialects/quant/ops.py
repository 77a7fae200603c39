"""The operations of the `quant` dialect: casts between expressed, quantized and stored values.

The semantics are those of the arithmetic contract: `qcast` computes `saturate(round_half_even(x / scale) + zero_point)`
with a true f32 division, `dcast` computes `scale * (stored - zero_point)`, and `scast` reinterprets the stored
integers.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, cast

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, SSAValue, TypeAttribute
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.quant.infer import element_type, verify_quantized_tensor
from qmlir.dialects.quant.syntax import brief_text
from qmlir.dialects.quant.types import QuantizedType, StoredType, UniformFloatType
from qmlir.ir.builtin_types import as_integer, ranked_tensor, reshaped_like, unranked_tensor
from qmlir.ir.interfaces import InferResultTypes, RegisteredCanonicalization


def _verify_shapes(source: Attribute, result: Attribute) -> None:
    ranked = [ranked_tensor(type_) for type_ in (source, result)]
    is_unranked = [unranked_tensor(type_) is not None for type_ in (source, result)]
    shapes = [None if each is None else each.get_shape() for each in ranked]
    if is_unranked[0] != is_unranked[1] or shapes[0] != shapes[1]:
        found = f"'{brief_text(source)}' and '{brief_text(result)}'"
        raise VerifyException(f"operand and result must both be scalars or both tensors of one shape, but got {found}")


class CastOperation(IRDLOperation, InferResultTypes, ABC):
    """A cast of a scalar or a tensor to a different element type, which preserves the shape."""

    input = operand_def()
    result = result_def()

    assembly_format: ClassVar[str | None] = "$input attr-dict `:` type($input) `to` type($result)"
    traits = traits_def(Pure(), RegisteredCanonicalization())

    def __init__(self, source: SSAValue, result_type: Attribute):
        super().__init__(operands=[source], result_types=[result_type])

    def verify_(self) -> None:
        _verify_shapes(self.input.type, self.result.type)
        self.verify_elements(element_type(self.input.type), element_type(self.result.type))
        for type_ in (self.input.type, self.result.type):
            verify_quantized_tensor(type_)

    @abstractmethod
    def verify_elements(self, source: Attribute, result: Attribute) -> None:
        """Verifies the element types of the operand and the result against each other."""

    def infer_result_types(self) -> Sequence[TypeAttribute]:
        """Returns the result type: the operand's shape with the element type that the operation specifies."""
        return [reshaped_like(cast(TypeAttribute, self.result.type), self.input.type)]


def _verify_expressed(expressed: Attribute, quantized: Attribute, roles: tuple[str, str]) -> None:
    if not isinstance(quantized, QuantizedType):
        raise VerifyException(f"{roles[1]} must be a quantized type, but got '{brief_text(quantized)}'")
    if quantized.expressed_type is None:
        raise VerifyException(f"{roles[1]} must have expressed type {expressed}, but got '{quantized}'")
    if quantized.expressed_type != expressed:
        types = f"{quantized.expressed_type} and {expressed}"
        raise VerifyException(f"expressed type in quantized type expected to match {roles[0]} type: {types}")


@irdl_op_definition
class QuantizeCastOp(CastOperation):
    """Quantizes a float: `saturate(round_half_even(x / scale) + zero_point)`."""

    name = "quant.qcast"

    def verify_elements(self, source: Attribute, result: Attribute) -> None:
        _verify_expressed(source, result, ("operand", "result"))


@irdl_op_definition
class DequantizeCastOp(CastOperation):
    """Dequantizes a stored value: `scale * (stored - zero_point)`."""

    name = "quant.dcast"

    def verify_elements(self, source: Attribute, result: Attribute) -> None:
        _verify_expressed(result, source, ("result", "operand"))


@irdl_op_definition
class StorageCastOp(CastOperation):
    """Reinterprets a quantized value as its stored integers or low-precision floats, or vice versa."""

    name = "quant.scast"

    def verify_elements(self, source: Attribute, result: Attribute) -> None:
        integer, quantized = (source, result) if isinstance(result, QuantizedType) else (result, source)
        if isinstance(quantized, UniformFloatType):
            if integer != quantized.storage:
                found = f"'{integer}' and '{quantized}'"
                raise VerifyException(f"expected a quantized type and its storage type, but got {found}")
            return
        stored = as_integer(integer)
        if stored is None or not isinstance(quantized, QuantizedType):
            found = f"'{brief_text(source)}' and '{brief_text(result)}'"
            raise VerifyException(f"expected one quantized type and its storage type, but got {found}")
        if stored != IntegerType(stored.width.data):
            raise VerifyException(f"storage must be a signless integer, but got '{stored}'")
        if not isinstance(quantized, StoredType) or stored != IntegerType(quantized.bits):
            raise VerifyException(f"storage type in quantized type expected to match {stored}: {brief_text(quantized)}")
