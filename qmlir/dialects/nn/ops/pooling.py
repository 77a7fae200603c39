"""Pools over the spatial axes of `[N, C, …]` (ONNX MaxPool, AveragePool, GlobalAveragePool)."""

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, DenseArrayBase, TensorType
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.nn.base import NnOp, element_of, shape_of, tensor_like
from qmlir.dialects.nn.elements import Kind
from qmlir.dialects.nn.infer.windows import Windows, output_size
from qmlir.dialects.nn.ops.contraction import values_of
from qmlir.ir.builtin_types import AnyTensor
from qmlir.ir.interfaces import QuantizationSlots, Slot


class PoolOp(NnOp, ABC):
    """One number for each window of each channel."""

    data = operand_def(TensorType)
    result = result_def(TensorType)

    kernel = prop_def(DenseArrayBase)
    strides = opt_prop_def(DenseArrayBase)
    dilations = opt_prop_def(DenseArrayBase)
    pads = opt_prop_def(DenseArrayBase)
    ceil_mode = opt_prop_def(BoolAttr, BoolAttr.from_bool(False))

    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots({"data": Slot.INPUT})

    @property
    def windows(self) -> Windows:
        """How the kernel slides."""
        kernel = values_of(self.kernel) or ()
        return Windows.of(kernel, values_of(self.strides), values_of(self.dilations), values_of(self.pads))

    def pooled_shape(self) -> tuple[int, ...]:
        """The shape of the result."""
        data, windows = shape_of(self.data), self.windows
        if len(data) != len(windows.kernel) + 2:
            raise VerifyException(f"a kernel of rank {len(windows.kernel)} does not fit data of type {self.data.type}")
        ceil = bool(self.ceil_mode.value.data)
        return (*data[:2], *(output_size(size, windows, axis, ceil) for axis, size in enumerate(data[2:])))


@irdl_op_definition
class MaxPoolOp(PoolOp):
    """The largest element of each window; padding never wins."""

    name = "nn.max_pool"
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots({"data": Slot.INPUT}, shares_parameters=True)

    def infer_result_types(self) -> Sequence[AnyTensor]:
        return [TensorType(element_of(self.data), self.pooled_shape())]


@irdl_op_definition
class AveragePoolOp(PoolOp):
    """The mean of each window, with or without its padding."""

    name = "nn.average_pool"
    ACCEPTS: ClassVar[Kind] = Kind.FLOAT | Kind.QUANTIZED

    count_include_pad = opt_prop_def(BoolAttr, BoolAttr.from_bool(False))

    def infer_result_types(self) -> Sequence[AnyTensor]:
        return [tensor_like(self.data, self.pooled_shape())]


@irdl_op_definition
class GlobalAveragePoolOp(NnOp):
    """The mean of each channel; the spatial axes stay with size 1."""

    name = "nn.global_average_pool"
    ACCEPTS: ClassVar[Kind] = Kind.FLOAT | Kind.QUANTIZED
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots({"data": Slot.INPUT})

    data = operand_def(TensorType)
    result = result_def(TensorType)

    def infer_result_types(self) -> Sequence[AnyTensor]:
        data = shape_of(self.data)
        if len(data) < 3:
            raise VerifyException(f"data has spatial axes, found {self.data.type}")
        return [tensor_like(self.data, (*data[:2], *(1 for _ in data[2:])))]


OPERATIONS = (MaxPoolOp, AveragePoolOp, GlobalAveragePoolOp)
