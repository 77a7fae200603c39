"""Operations that move values and change none: their results have the quantized type of their operands."""

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.nn.base import NnOp, element_of, shape_of
from qmlir.dialects.nn.elements import Kind, kind_of
from qmlir.dialects.nn.infer.movement import (
    check_reshape,
    concatenated_shape,
    moved_element,
    normalized_axis,
    sliced_shape,
    surviving_axes,
    transposed_shape,
)
from qmlir.dialects.nn.ops.contraction import values_of
from qmlir.ir.builtin_types import AnyTensor
from qmlir.ir.interfaces import QuantizationSlots, Slot


def integers(values: Sequence[int]) -> DenseArrayBase:
    """A list property."""
    return DenseArrayBase.from_list(i64, list(values))


class MovementOp(NnOp, ABC):
    """One tensor in, the same values out, in another order or shape."""

    input = operand_def(TensorType)
    result = result_def(TensorType)

    ACCEPTS: ClassVar[Kind] = Kind.ANY
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots({"input": Slot.INPUT}, shares_parameters=True)


@irdl_op_definition
class ReshapeOp(MovementOp):
    """The same elements in another shape: that of the result type (ONNX Reshape, Flatten, Squeeze, Unsqueeze)."""

    name = "nn.reshape"

    def __init__(self, value: SSAValue, shape: Sequence[int]):
        element = moved_element(element_of(value), surviving_axes(shape_of(value), shape))
        super().__init__(operands=[value], result_types=[TensorType(element, shape)])

    def infer_result_types(self) -> Sequence[AnyTensor]:
        before, after = shape_of(self.input), shape_of(self.result)
        check_reshape(before, after)
        return [TensorType(moved_element(element_of(self.input), surviving_axes(before, after)), after)]


@irdl_op_definition
class TransposeOp(MovementOp):
    """Axis `i` of the result is axis `permutation[i]` of the operand."""

    name = "nn.transpose"

    permutation = prop_def(DenseArrayBase)

    def __init__(self, value: SSAValue, permutation: Sequence[int]):
        super().__init__(
            operands=[value],
            result_types=[self._type(value, permutation)],
            properties={"permutation": integers(permutation)},
        )

    @staticmethod
    def _type(value: SSAValue, permutation: Sequence[int]) -> AnyTensor:
        shape = transposed_shape(shape_of(value), permutation)
        axis_map = {axis: place for place, axis in enumerate(permutation)}
        return TensorType(moved_element(element_of(value), axis_map), shape)

    @property
    def order(self) -> tuple[int, ...]:
        """The permutation."""
        return values_of(self.permutation) or ()

    def infer_result_types(self) -> Sequence[AnyTensor]:
        return [self._type(self.input, self.order)]


@irdl_op_definition
class SliceOp(MovementOp):
    """Every `steps[i]`-th element from `starts[i]` to before `ends[i]` along `axes[i]`, negative numbers as in ONNX."""

    name = "nn.slice"

    starts = prop_def(DenseArrayBase)
    ends = prop_def(DenseArrayBase)
    axes = opt_prop_def(DenseArrayBase)
    steps = opt_prop_def(DenseArrayBase)

    @property
    def bounds(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Starts, ends, axes and steps, with the defaults filled in."""
        starts, ends = values_of(self.starts) or (), values_of(self.ends) or ()
        axes = values_of(self.axes)
        steps = values_of(self.steps)
        return (
            starts,
            ends,
            tuple(range(len(starts))) if axes is None else axes,
            (1,) * len(starts) if steps is None else steps,
        )

    def infer_result_types(self) -> Sequence[AnyTensor]:
        shape = sliced_shape(shape_of(self.input), *self.bounds)
        whole = {axis: axis for axis, size in enumerate(shape) if size == shape_of(self.input)[axis]}
        return [TensorType(moved_element(element_of(self.input), whole), shape)]


@irdl_op_definition
class ConcatOp(NnOp):
    """Tensors one behind the other along `axis`; quantized operands have one type, which the result has too."""

    name = "nn.concat"
    ACCEPTS: ClassVar[Kind] = Kind.ANY
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots({"inputs": Slot.INPUT}, shares_parameters=True)

    inputs = var_operand_def(TensorType)
    result = result_def(TensorType)

    axis = prop_def(IntegerAttr)

    def __init__(self, values: Sequence[SSAValue], axis: int):
        shape = concatenated_shape([shape_of(value) for value in values], axis)
        element: Attribute = element_of(values[0])
        super().__init__(
            operands=[values],
            result_types=[TensorType(element, shape)],
            properties={"axis": IntegerAttr(axis, i64)},
        )

    def infer_result_types(self) -> Sequence[AnyTensor]:
        if not self.inputs:
            raise VerifyException("concatenates at least one tensor")
        shapes = [shape_of(value) for value in self.inputs]
        axis = normalized_axis(self.axis.value.data, len(shapes[0]))
        elements = {element_of(value) for value in self.inputs}
        if len(elements) > 1 and any(kind_of(element) is Kind.QUANTIZED for element in elements):
            raise VerifyException(f"joins without a rescale: operands have {', '.join(map(str, elements))}")
        kept = {index: index for index in range(len(shapes[0])) if index != axis}
        return [TensorType(moved_element(element_of(self.inputs[0]), kept), concatenated_shape(shapes, axis))]


OPERATIONS = (ReshapeOp, TransposeOp, SliceOp, ConcatOp)
