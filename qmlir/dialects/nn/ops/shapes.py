"""Shapes as values, for models whose sizes are known at run time only."""

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, TensorType, i64
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, result_def

from qmlir.dialects.nn.base import NnOp, shape_of
from qmlir.dialects.nn.elements import Kind
from qmlir.ir.builtin_types import AnyTensor
from qmlir.ir.interfaces import QuantizationSlots


@irdl_op_definition
class ShapeOp(NnOp):
    """The sizes of the axes from `start` to before `end` as a list of i64 (ONNX Shape)."""

    name = "nn.shape"
    ACCEPTS: ClassVar[Kind] = Kind.ANY
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots({"input": None})

    input = operand_def(TensorType)
    result = result_def(TensorType)

    start = opt_prop_def(IntegerAttr, IntegerAttr(0, i64))
    end = opt_prop_def(IntegerAttr)

    @property
    def bounds(self) -> slice:
        """The axes whose sizes are given."""
        return slice(self.start.value.data, None if self.end is None else self.end.value.data)

    def infer_result_types(self) -> Sequence[AnyTensor]:
        return [TensorType(i64, [len(shape_of(self.input)[self.bounds])])]


@irdl_op_definition
class SizeOp(NnOp):
    """The number of elements (ONNX Size)."""

    name = "nn.size"
    ACCEPTS: ClassVar[Kind] = Kind.ANY
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots({"input": None})

    input = operand_def(TensorType)
    result = result_def(TensorType)

    def infer_result_types(self) -> Sequence[AnyTensor]:
        return [TensorType(i64, [])]


OPERATIONS = (ShapeOp, SizeOp)
