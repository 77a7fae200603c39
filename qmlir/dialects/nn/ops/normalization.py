"""Normalizations, all of them composites: batch norm, layer norm, softmax."""

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, TensorType, f32, i64
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.nn.base import NnOp, shape_of, shapes_agree, tensor_like
from qmlir.dialects.nn.elements import Kind
from qmlir.dialects.nn.infer.movement import normalized_axis
from qmlir.ir.builtin_types import AnyTensor
from qmlir.ir.interfaces import FixedRange, QuantizationSlots, Slot


@irdl_op_definition
class BatchNormOp(NnOp):
    """`(x - mean) / sqrt(variance + epsilon) * scale + bias` for each channel of `[N, C, …]`."""

    name = "nn.batch_norm"
    ACCEPTS: ClassVar[Kind] = Kind.FLOAT

    data = operand_def(TensorType)
    scale = operand_def(TensorType)
    bias = operand_def(TensorType)
    mean = operand_def(TensorType)
    variance = operand_def(TensorType)
    result = result_def(TensorType)

    epsilon = opt_prop_def(FloatAttr, FloatAttr(1e-5, f32))

    def infer_result_types(self) -> Sequence[AnyTensor]:
        data = shape_of(self.data)
        if len(data) < 2:
            raise VerifyException(f"data has a channel axis, found {self.data.type}")
        for value in (self.scale, self.bias, self.mean, self.variance):
            if not shapes_agree(shape_of(value), data[1:2]):
                raise VerifyException(f"parameters have one element for each of {data[1]} channels, found {value.type}")
        return [tensor_like(self.data, data)]


@irdl_op_definition
class LayerNormOp(NnOp):
    """Mean 0 and variance 1 over the axes from `axis` on, then `* scale + bias` (ONNX LayerNormalization)."""

    name = "nn.layer_norm"
    ACCEPTS: ClassVar[Kind] = Kind.FLOAT

    data = operand_def(TensorType)
    scale = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    result = result_def(TensorType)

    axis = opt_prop_def(IntegerAttr, IntegerAttr(-1, i64))
    epsilon = opt_prop_def(FloatAttr, FloatAttr(1e-5, f32))

    @property
    def first_axis(self) -> int:
        """The first normalized axis, counted from the front."""
        return normalized_axis(self.axis.value.data, len(shape_of(self.data)))

    def infer_result_types(self) -> Sequence[AnyTensor]:
        data = shape_of(self.data)
        normalized = data[self.first_axis :]
        for value in (self.scale, *([self.bias] if self.bias is not None else [])):
            if not shapes_agree(shape_of(value), normalized):
                raise VerifyException(f"scale and bias have the shape {list(normalized)}, found {value.type}")
        return [tensor_like(self.data, data)]


@irdl_op_definition
class SoftmaxOp(NnOp):
    """`e^x / sum(e^x)` along one axis (ONNX Softmax from opset 13)."""

    name = "nn.softmax"
    ACCEPTS: ClassVar[Kind] = Kind.FLOAT | Kind.QUANTIZED
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots({"input": Slot.INPUT}, fixed_output=FixedRange(0.0, 1.0))

    input = operand_def(TensorType)
    result = result_def(TensorType)

    axis = opt_prop_def(IntegerAttr, IntegerAttr(-1, i64))

    def infer_result_types(self) -> Sequence[AnyTensor]:
        normalized_axis(self.axis.value.data, len(shape_of(self.input)))
        return [tensor_like(self.input, shape_of(self.input))]


OPERATIONS = (BatchNormOp, LayerNormOp, SoftmaxOp)
