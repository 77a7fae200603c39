"""Sums of products along labelled axes (ONNX Einsum)."""

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.irdl import irdl_op_definition, prop_def, result_def, var_operand_def
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.nn.base import Kind, NnOp, tensor_like
from qmlir.dialects.nn.infer.einsum import ELLIPSIS, Equation
from qmlir.ir.builtin_types import AnyTensor, shape_of
from qmlir.ir.interfaces import MultipliesAndAdds, volume


@irdl_op_definition
class EinsumOp(NnOp, MultipliesAndAdds):
    """The sum of products that `equation` states: `"bij,bjk->bik"`, `"...ii->...i"`, `"i,i"` (ONNX Einsum)."""

    name = "nn.einsum"
    ACCEPTS: ClassVar[Kind] = Kind.FLOAT | Kind.INTEGER

    inputs = var_operand_def(TensorType)
    result = result_def(TensorType)

    equation = prop_def(StringAttr)

    @property
    def parsed(self) -> Equation:
        """The parsed equation. Raises `VerifyException` for a text that is none."""
        return Equation.parse(self.equation.data)

    def infer_result_types(self) -> Sequence[AnyTensor]:
        if not self.inputs:
            raise VerifyException("sums at least one tensor")
        shape = self.parsed.shape([shape_of(value) for value in self.inputs])
        return [tensor_like(self.inputs[0], shape)]

    def multiply_adds(self) -> int:
        # A product for every choice of all labels; of n operands, n - 1 multiplications each.
        terms = self.parsed.operands
        labels = "".join(sorted({letter for term in terms for letter in term if letter != "."}))
        everything = Equation(terms, ELLIPSIS + labels).shape([shape_of(value) for value in self.inputs])
        return volume(everything) * (len(terms) - 1)
