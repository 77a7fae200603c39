"""Operations that take elements by index."""

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, TensorType, i64
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, result_def

from qmlir.dialects.nn.base import NnOp, element_of, shape_of
from qmlir.dialects.nn.elements import Kind
from qmlir.dialects.nn.infer.movement import moved_element, normalized_axis
from qmlir.ir.builtin_types import AnyTensor
from qmlir.ir.interfaces import QuantizationSlots, Slot


@irdl_op_definition
class GatherOp(NnOp):
    """The slices of `input` along `axis` that `indices` names, negative ones from the end (ONNX Gather)."""

    name = "nn.gather"
    ACCEPTS: ClassVar[Kind] = Kind.ANY
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots(
        {"input": Slot.INPUT, "indices": None}, shares_parameters=True
    )

    input = operand_def(TensorType)
    indices = operand_def(TensorType)
    result = result_def(TensorType)

    axis = opt_prop_def(IntegerAttr, IntegerAttr(0, i64))

    def infer_result_types(self) -> Sequence[AnyTensor]:
        data, indices = shape_of(self.input), shape_of(self.indices)
        axis = normalized_axis(self.axis.value.data, len(data))
        places = {
            place: place if place < axis else place + len(indices) - 1 for place in range(len(data)) if place != axis
        }
        element = moved_element(element_of(self.input), places)
        return [TensorType(element, (*data[:axis], *indices, *data[axis + 1 :]))]


OPERATIONS = (GatherOp,)
