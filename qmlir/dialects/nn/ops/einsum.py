"""Sums of products along labelled axes (ONNX Einsum)."""

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.irdl import irdl_op_definition, prop_def, result_def, var_operand_def
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.nn.base import NnOp, tensor_like
from qmlir.dialects.nn.infer.einsum import ELLIPSIS, Equation
from qmlir.dialects.nn.requantize import Accumulator
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.ir.builtin_types import AnyTensor, element_of, shape_of
from qmlir.ir.float_reasons import FloatCause
from qmlir.ir.interfaces import MultipliesAndAdds, volume

MOST_QUANTIZED = 2
"""So many factors of quantized values have an exact product of a scale that a requantization knows."""


@irdl_op_definition
class EinsumOp(NnOp, MultipliesAndAdds):
    """The sum of products that `equation` states: `"bij,bjk->bik"`, `"...ii->...i"`, `"i,i"` (ONNX Einsum)."""

    name = "nn.einsum"
    ACCUMULATOR: ClassVar[Accumulator | None] = Accumulator.PRODUCT

    inputs = var_operand_def(TensorType)
    result = result_def(TensorType)

    equation = prop_def(StringAttr)

    @property
    def parsed(self) -> Equation:
        """The parsed equation. Raises `VerifyException` for a text that is none."""
        return Equation.parse(self.equation.data)

    def infer_result_types(self) -> Sequence[AnyTensor]:
        if not self.inputs:
            raise VerifyException("expected at least one operand")
        shape = self.parsed.shape([shape_of(value) for value in self.inputs])
        return [tensor_like(self.inputs[0], shape)]

    def accepts_quantized_values(self) -> bool:
        return len(self.inputs) <= MOST_QUANTIZED

    def float_reason(self) -> str:
        return FloatCause.TOO_MANY_OPERANDS.reason(most=MOST_QUANTIZED, count=len(self.inputs))

    def verify_quantization(self) -> None:
        if len(self.inputs) > MOST_QUANTIZED:
            raise VerifyException(self.float_reason())
        for value in self.inputs:
            element = element_of(value)
            if isinstance(element, UniformQuantizedType) and element.granularity is not Granularity.TENSOR:
                raise VerifyException(f"operands must have one scale, but got '{element}'")

    def multiply_adds(self) -> int:
        # A product for every choice of all labels; of n operands, n - 1 multiplications each.
        terms = self.parsed.operands
        labels = "".join(sorted({letter for term in terms for letter in term if letter != "."}))
        everything = Equation(terms, ELLIPSIS + labels).shape([shape_of(value) for value in self.inputs])
        return volume(everything) * (len(terms) - 1)
