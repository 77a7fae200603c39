"""Reductions along axes (ONNX Reduce…): all axes where none are named."""

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, DenseArrayBase, TensorType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, result_def

from qmlir.dialects.nn.base import NnOp, element_of, shape_of, tensor_like
from qmlir.dialects.nn.elements import Kind
from qmlir.dialects.nn.infer.movement import reduced_shape
from qmlir.dialects.nn.ops.contraction import values_of
from qmlir.ir.builtin_types import AnyTensor
from qmlir.ir.interfaces import QuantizationSlots, Slot


class ReduceOp(NnOp, ABC):
    """A tensor whose reduced axes have size 1, or are gone."""

    input = operand_def(TensorType)
    result = result_def(TensorType)

    axes = opt_prop_def(DenseArrayBase)
    keep_dims = opt_prop_def(BoolAttr, BoolAttr.from_bool(True))

    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots({"input": Slot.INPUT})

    def __init__(self, value: SSAValue, axes: Sequence[int], keep_dims: bool = True):
        super().__init__(
            operands=[value],
            result_types=[tensor_like(value, reduced_shape(shape_of(value), axes, keep_dims))],
            properties={
                "axes": DenseArrayBase.from_list(i64, list(axes)),
                "keep_dims": BoolAttr.from_bool(keep_dims),
            },
        )

    @property
    def reduced_axes(self) -> tuple[int, ...] | None:
        """The axes that are reduced, `None` for all."""
        return values_of(self.axes)

    def infer_result_types(self) -> Sequence[AnyTensor]:
        shape = reduced_shape(shape_of(self.input), self.reduced_axes, bool(self.keep_dims.value.data))
        return [tensor_like(self.input, shape, self.result_element())]

    def result_element(self) -> Attribute | None:
        """The element type of the result; `None` for the plain type of the input."""
        return None


@irdl_op_definition
class ReduceSumOp(ReduceOp):
    """The sum."""

    name = "nn.reduce_sum"


@irdl_op_definition
class ReduceMeanOp(ReduceOp):
    """The mean."""

    name = "nn.reduce_mean"
    ACCEPTS: ClassVar[Kind] = Kind.FLOAT | Kind.QUANTIZED


@irdl_op_definition
class ReduceMaxOp(ReduceOp):
    """The largest element."""

    name = "nn.reduce_max"
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots({"input": Slot.INPUT}, shares_parameters=True)

    def result_element(self) -> Attribute | None:
        return element_of(self.input)


@irdl_op_definition
class ReduceMinOp(ReduceOp):
    """The smallest element."""

    name = "nn.reduce_min"
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots({"input": Slot.INPUT}, shares_parameters=True)

    def result_element(self) -> Attribute | None:
        return element_of(self.input)


OPERATIONS = (ReduceSumOp, ReduceMeanOp, ReduceMaxOp, ReduceMinOp)
