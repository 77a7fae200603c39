"""Dynamic quantization: parameters are computed at run time from the range of the quantized values.

The results are plain tensors, because a quantized type contains its parameters, which are known only at run time.
"""

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntegerType, Signedness, StringAttr, TensorType, f32
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, result_def, traits_def
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.nn.base import Kind, NnOp, plain_type
from qmlir.dialects.nn.result_shapes import check_choice
from qmlir.ir.builtin_types import AnyTensor, element_of, shape_of
from qmlir.ir.interfaces import NumericallyDiscontinuous

STORAGE = IntegerType(8, Signedness.UNSIGNED)
"""The storage type of the result and of its zero point."""

STEPS = 255.0
"""The number of quantization steps of the range."""

SPANS_OF_ZEROS = {"onnx": 1.0, "onnxruntime": STEPS}
"""The width of the range that a runtime assumes if all values are 0."""


@irdl_op_definition
class DynamicQuantizeOp(NnOp):
    """Quantizes the operand to u8 by its range; also returns scale and zero point (ONNX DynamicQuantizeLinear).

    The range `[min, max]` of the elements is extended to contain 0. Then `scale = (max - min) / 255`,
    `zero_point = round(clip(0 - min / scale, 0, 255))`, and the integers are
    `clip(round(x / scale) + zero_point, 0, 255)`. Each step is computed in f32, and ties round to even. If all elements
    are 0, `zeros` selects the scale: 1 / 255 as in ONNX's reference implementation (`onnx`), or 1 (`onnxruntime`).
    """

    name = "nn.dynamic_quantize"
    ACCEPTS: ClassVar[Kind] = Kind.FLOAT

    traits = traits_def(NumericallyDiscontinuous())

    input = operand_def(TensorType)
    zeros = opt_prop_def(StringAttr, StringAttr("onnx"))
    result = result_def(TensorType)
    scale = result_def(TensorType)
    zero_point = result_def(TensorType)

    @property
    def span_of_zeros(self) -> float:
        """The width of the range if all elements are 0."""
        return SPANS_OF_ZEROS[self.zeros.data]

    def verify_(self) -> None:
        super().verify_()
        check_choice("zeros", self.zeros.data, SPANS_OF_ZEROS)

    def infer_result_types(self) -> Sequence[AnyTensor]:
        if plain_type(element_of(self.input)) != f32:
            raise VerifyException(f"input must be a tensor of f32, but got '{self.input.type}'")
        return [TensorType(STORAGE, shape_of(self.input)), TensorType(f32, []), TensorType(STORAGE, [])]
