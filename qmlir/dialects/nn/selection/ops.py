"""Operations that select or order elements by their values."""

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, BoolAttr, IntegerAttr, TensorType, i64
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, result_def, traits_def
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.nn.base import Kind, NnOp, OneOperandOp, shapes_agree
from qmlir.dialects.nn.movement.ops import MovementOp, moved_element, normalized_axis
from qmlir.ir.builtin_types import AnyTensor, as_integer, element_of, shape_of
from qmlir.ir.interfaces import QuantizationSlots, SizesKnownInRun


@irdl_op_definition
class TopKOp(NnOp):
    """Returns the `k` largest or smallest elements along `axis` in order, and their indices (ONNX TopK).

    The first of equal elements comes first.
    """

    name = "nn.top_k"
    ACCEPTS: ClassVar[Kind] = Kind.NUMBER
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots(shares_parameters=True)
    PARAMETERS: ClassVar[tuple[str, ...]] = ("k",)
    SCALARS: ClassVar[tuple[str, ...]] = ("k",)

    input = operand_def(TensorType)
    k_value = opt_operand_def(TensorType)
    values = result_def(TensorType)
    indices = result_def(TensorType)

    k = opt_prop_def(IntegerAttr)
    axis = opt_prop_def(IntegerAttr, IntegerAttr(-1, i64))
    largest = opt_prop_def(BoolAttr, BoolAttr.from_bool(True))

    def infer_result_types(self) -> Sequence[AnyTensor]:
        shape = list(shape_of(self.input))
        axis = normalized_axis(self.axis.value.data, len(shape))
        if not self.is_known("k"):
            count = DYNAMIC_INDEX
        else:
            (count,) = self.integers("k") or (-1,)
            if count < 0 or (shape[axis] != DYNAMIC_INDEX and count > shape[axis]):
                raise VerifyException(f"k must be in [0, {shape[axis]}] along axis {axis}, but got {count}")
        shape[axis] = count
        kept = {place: place for place in range(len(shape)) if place != axis}
        return [TensorType(moved_element(element_of(self.input), kept), shape), TensorType(i64, shape)]


@irdl_op_definition
class NonZeroOp(OneOperandOp):
    """Returns the indices of the nonzero elements, in row-major order, with a row per axis (ONNX NonZero)."""

    name = "nn.non_zero"
    ACCEPTS: ClassVar[Kind] = Kind.FLOAT | Kind.INTEGER | Kind.BOOLEAN

    traits = traits_def(SizesKnownInRun())

    def infer_result_types(self) -> Sequence[AnyTensor]:
        return [TensorType(i64, [len(shape_of(self.input)), DYNAMIC_INDEX])]


@irdl_op_definition
class UniqueOp(NnOp):
    """Returns the distinct elements, or slices along `axis`, sorted or in order of first appearance (ONNX Unique).

    Further results are the index of the first appearance of each value, the index of the value of each element, and the
    number of appearances of each value.
    """

    name = "nn.unique"
    ACCEPTS: ClassVar[Kind] = Kind.ANY
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots(shares_parameters=True)

    input = operand_def(TensorType)
    values = result_def(TensorType)
    first_indices = result_def(TensorType)
    inverse_indices = result_def(TensorType)
    counts = result_def(TensorType)

    axis = opt_prop_def(IntegerAttr)
    sorted_values = opt_prop_def(BoolAttr, BoolAttr.from_bool(True))

    traits = traits_def(SizesKnownInRun())

    def infer_result_types(self) -> Sequence[AnyTensor]:
        shape = list(shape_of(self.input))
        open_list = TensorType(i64, [DYNAMIC_INDEX])
        if self.axis is None:
            values = TensorType(moved_element(element_of(self.input), None), [DYNAMIC_INDEX])
            return [values, open_list, open_list, open_list]
        axis = normalized_axis(self.axis.value.data, len(shape))
        inverse = TensorType(i64, [shape[axis]])
        shape[axis] = DYNAMIC_INDEX
        kept = {place: place for place in range(len(shape)) if place != axis}
        return [TensorType(moved_element(element_of(self.input), kept), shape), open_list, inverse, open_list]


@irdl_op_definition
class ReverseSequenceOp(MovementOp):
    """Reverses the first `lengths[i]` elements along `time_axis`, for each `i` of `batch_axis` (ONNX
    ReverseSequence)."""

    name = "nn.reverse_sequence"
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots({"lengths": None}, shares_parameters=True)

    input = operand_def(TensorType)
    lengths = operand_def(TensorType)
    result = result_def(TensorType)

    batch_axis = opt_prop_def(IntegerAttr, IntegerAttr(1, i64))
    time_axis = opt_prop_def(IntegerAttr, IntegerAttr(0, i64))

    def infer_result_types(self) -> Sequence[AnyTensor]:
        shape = shape_of(self.input)
        batch, time = (normalized_axis(axis.value.data, len(shape)) for axis in (self.batch_axis, self.time_axis))
        if batch == time:
            raise VerifyException(f"batch_axis and time_axis must differ, but both are {time}")
        if as_integer(element_of(self.lengths)) is None or not shapes_agree(shape_of(self.lengths), (shape[batch],)):
            raise VerifyException(
                f"lengths must be one integer for each of {shape[batch]} sequences, but got '{self.lengths.type}'"
            )
        kept = {axis: axis for axis in range(len(shape)) if axis != time}
        return [TensorType(moved_element(element_of(self.input), kept), shape)]
