"""Operations that read or write elements by index, and that select or order elements by their values.

Negative indices count from the end.
"""

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, BoolAttr, IntegerAttr, StringAttr, TensorType, i64
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, result_def, traits_def
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.nn.base import Kind, NnOp, OneOperandOp, UnsupportedFormError, kind_of, plain_type, shapes_agree
from qmlir.dialects.nn.movement.ops import MovementOp, has_axis_parameters, moved_element, normalized_axis
from qmlir.dialects.nn.requantize import Accumulator
from qmlir.dialects.nn.result_shapes import check_choice, check_shape, shape_text
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.ir.builtin_types import AnyTensor, as_integer, element_of, shape_of
from qmlir.ir.interfaces import DataDependentShape, QuantizationSlots, Slot

# Result shapes of gather and scatter operations, and the new positions of the data axes.


def gathered_axes(rank: int, axis: int, indices_rank: int) -> dict[int, int]:
    """Maps each axis of the data to its position after a gather along `axis`; `axis` itself is removed."""
    return {
        position: position if position < axis else position + indices_rank - 1
        for position in range(rank)
        if position != axis
    }


def check_element_indices(data: Sequence[int], indices: Sequence[int], axis: int) -> None:
    """Verifies that the `indices` of an elementwise gather or scatter fit the data along all axes except `axis`."""
    if len(indices) != len(data):
        raise VerifyException(
            f"indices must have the rank of the data ({len(data)}), but got shape {shape_text(indices)}"
        )
    for position, (size, limit) in enumerate(zip(indices, data, strict=True)):
        if position != axis and DYNAMIC_INDEX not in (size, limit) and size > limit:
            raise VerifyException(
                f"indices of shape {shape_text(indices)} are larger than the data {shape_text(data)} "
                f"along axis {position}"
            )


def tuple_length(data: Sequence[int], indices: Sequence[int], batch_dims: int) -> int:
    """Returns the length of the index tuples; data and indices share their first `batch_dims` axes."""
    if not indices or not data:
        raise VerifyException(
            f"data and indices must have rank >= 1, but got shapes {shape_text(data)} and {shape_text(indices)}"
        )
    length = indices[-1]
    if length == DYNAMIC_INDEX:
        raise UnsupportedFormError("the last dimension of indices must be static")
    if not 0 <= batch_dims < min(len(data), len(indices)):
        raise VerifyException(
            f"batch_dims must be smaller than the ranks of data ({len(data)}) and indices ({len(indices)}), but got "
            f"{batch_dims}"
        )
    if not shapes_agree(data[:batch_dims], indices[:batch_dims]):
        raise VerifyException(
            f"data {shape_text(data)} and indices {shape_text(indices)} must agree in the first {batch_dims} dimensions"
        )
    if not 1 <= length <= len(data) - batch_dims:
        raise VerifyException(
            f"the last dimension of indices must be between 1 and the number of indexed axes, but got {length} for "
            f"data of rank {len(data)}"
        )
    return length


def slices_by_tuple(data: Sequence[int], indices: Sequence[int], batch_dims: int = 0) -> tuple[int, ...]:
    """Returns the result shape of a gather of slices by index tuples."""
    length = tuple_length(data, indices, batch_dims)
    return (*indices[:-1], *data[batch_dims + length :])


def axes_by_tuple(data: Sequence[int], indices: Sequence[int], batch_dims: int = 0) -> dict[int, int]:
    """Maps the axes of the data that index tuples keep to their positions in the selected slices."""
    first = batch_dims + tuple_length(data, indices, batch_dims)
    batch = {axis: axis for axis in range(batch_dims)}
    return batch | {axis: axis - first + len(indices) - 1 for axis in range(first, len(data))}


_OF_TABLES = QuantizationSlots({"input": Slot.WEIGHT, "indices": None}, weight_channel_axis=0)


class GatheringOp(NnOp, ABC):
    """Selects elements of `input` by `indices`."""

    ACCEPTS: ClassVar[Kind] = Kind.MOVED
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots({"indices": None}, shares_parameters=True)

    input = operand_def(TensorType)
    indices = operand_def(TensorType)
    result = result_def(TensorType)

    def verify_indices(self) -> None:
        """Raises `VerifyException` unless the indices are integers."""
        if as_integer(element_of(self.indices)) is None:
            raise VerifyException(f"indices must be integers, but got '{self.indices.type}'")


@irdl_op_definition
class GatherOp(GatheringOp):
    """Selects slices of `input` along `axis` by `indices` (ONNX Gather).

    If each slice has its own quantization parameters, like the rows of an embedding table, the result has a single
    scale, and the integers of each slice are rescaled to it.
    """

    name = "nn.gather"

    axis = opt_prop_def(IntegerAttr, IntegerAttr(0, i64))

    @property
    def position(self) -> int:
        """The `axis` counted from the front."""
        return normalized_axis(self.axis.value.data, len(shape_of(self.input)))

    @property
    def rescales(self) -> bool:
        """Whether the parameters of `input` differ along `axis`, or in blocks."""
        element = element_of(self.input)
        if not isinstance(element, UniformQuantizedType) or element.granularity is Granularity.TENSOR:
            return False
        return element.granularity is Granularity.BLOCK or element.axis == self.position

    @property
    def accumulator(self) -> Accumulator | None:
        return Accumulator.OPERAND if self.rescales else None

    def quantization_slots(self) -> QuantizationSlots:
        return _OF_TABLES if self.rescales else self.SLOTS

    def infer_result_types(self) -> Sequence[AnyTensor]:
        self.verify_indices()
        data, indices, axis = shape_of(self.input), shape_of(self.indices), self.position
        element = element_of(self.input)
        if self.rescales:
            element = plain_type(element)
        else:
            element = moved_element(element, gathered_axes(len(data), axis, len(indices)))
        return [TensorType(element, (*data[:axis], *indices, *data[axis + 1 :]))]

    def verify_quantization(self) -> None:
        result = element_of(self.result)
        if self.rescales and has_axis_parameters(result):
            raise VerifyException(f"a gather that requantizes must have a result with one scale, but got '{result}'")
        super().verify_quantization()


@irdl_op_definition
class GatherElementsOp(GatheringOp):
    """Selects one element per index: at the position of the index, with the index as its coordinate along `axis` (ONNX
    GatherElements)."""

    name = "nn.gather_elements"

    axis = opt_prop_def(IntegerAttr, IntegerAttr(0, i64))

    def infer_result_types(self) -> Sequence[AnyTensor]:
        self.verify_indices()
        data, indices = shape_of(self.input), shape_of(self.indices)
        axis = normalized_axis(self.axis.value.data, len(data))
        check_element_indices(data, indices, axis)
        kept = {
            position: position for position, size in enumerate(indices) if position != axis and size == data[position]
        }
        return [TensorType(moved_element(element_of(self.input), kept), indices)]


@irdl_op_definition
class GatherNDOp(GatheringOp):
    """Selects slices of `input` by the index tuples along the last axis of `indices` (ONNX GatherND).

    The first `batch_dims` axes of `input` and `indices` are shared batch axes."""

    name = "nn.gather_nd"

    batch_dims = opt_prop_def(IntegerAttr, IntegerAttr(0, i64))

    def infer_result_types(self) -> Sequence[AnyTensor]:
        self.verify_indices()
        data, indices, batch = shape_of(self.input), shape_of(self.indices), self.batch_dims.value.data
        element = moved_element(element_of(self.input), axes_by_tuple(data, indices, batch))
        return [TensorType(element, slices_by_tuple(data, indices, batch))]


class ScatteringOp(NnOp, ABC):
    """Writes `updates` into `input` at the positions in `indices`.

    `reduction` selects how an update is combined with the existing element: `none` replaces the element (the last of
    several updates wins); `add`, `mul`, `min` and `max` combine the two. Quantized updates must have the parameters of
    the data.
    """

    ACCEPTS: ClassVar[Kind] = Kind.ANY
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots({"indices": None}, shares_parameters=True)
    REDUCTIONS: ClassVar[tuple[str, ...]] = ("none", "add", "mul", "min", "max")
    ARITHMETIC: ClassVar[tuple[str, ...]] = ("add", "mul")
    """Reductions that compute new values, which the shared quantization parameters may be unable to represent."""

    input = operand_def(TensorType)
    indices = operand_def(TensorType)
    updates = operand_def(TensorType)
    result = result_def(TensorType)

    reduction = opt_prop_def(StringAttr, StringAttr("none"))

    def verify_scatter(self, updates: Sequence[int], axes: dict[int, int]) -> None:
        """Verifies the indices, the reduction, and the shape of the updates; `axes` maps data axes to axes of the
        updates."""
        if as_integer(element_of(self.indices)) is None:
            raise VerifyException(f"indices must be integers, but got '{self.indices.type}'")
        check_choice("reduction", self.reduction.data, self.REDUCTIONS)
        check_shape("updates", self.updates, updates)
        if kind_of(element_of(self.input)) is not Kind.QUANTIZED:
            return
        if self.reduction.data in self.ARITHMETIC:
            raise VerifyException(f"reduction '{self.reduction.data}' is not supported on quantized values")
        wanted, found = moved_element(element_of(self.input), axes), element_of(self.updates)
        if found != wanted:
            raise VerifyException(
                f"cannot requantize the updates: expected elements of type '{wanted}', but got '{found}'"
            )


@irdl_op_definition
class ScatterElementsOp(ScatteringOp):
    """Writes one update per index: at the position of the update, with the index as its coordinate along `axis` (ONNX
    ScatterElements)."""

    name = "nn.scatter_elements"

    axis = opt_prop_def(IntegerAttr, IntegerAttr(0, i64))

    def infer_result_types(self) -> Sequence[AnyTensor]:
        data, indices = shape_of(self.input), shape_of(self.indices)
        axis = normalized_axis(self.axis.value.data, len(data))
        check_element_indices(data, indices, axis)
        self.verify_scatter(indices, {position: position for position in range(len(data)) if position != axis})
        return [TensorType(element_of(self.input), data)]


@irdl_op_definition
class ScatterNDOp(ScatteringOp):
    """Writes a slice of `updates` at the position of each index tuple along the last axis of `indices` (ONNX
    ScatterND)."""

    name = "nn.scatter_nd"

    def infer_result_types(self) -> Sequence[AnyTensor]:
        data, indices = shape_of(self.input), shape_of(self.indices)
        self.verify_scatter(slices_by_tuple(data, indices), axes_by_tuple(data, indices))
        return [TensorType(element_of(self.input), data)]


@irdl_op_definition
class OneHotOp(NnOp):
    """One-hot encoding along a new `axis` of size `depth`: `values[1]` at the index, `values[0]` elsewhere (ONNX
    OneHot).

    If an index is out of range, all elements are `values[0]`. Float indices are truncated.
    """

    name = "nn.one_hot"
    ACCEPTS: ClassVar[Kind] = Kind.ANY
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots({"indices": None}, shares_parameters=True)
    PARAMETERS: ClassVar[tuple[str, ...]] = ("depth",)
    SCALARS: ClassVar[tuple[str, ...]] = ("depth",)

    indices = operand_def(TensorType)
    values = operand_def(TensorType)
    depth_value = opt_operand_def(TensorType)
    result = result_def(TensorType)

    depth = opt_prop_def(IntegerAttr)
    axis = opt_prop_def(IntegerAttr, IntegerAttr(-1, i64))

    def infer_result_types(self) -> Sequence[AnyTensor]:
        if kind_of(element_of(self.indices)) not in (Kind.INTEGER, Kind.FLOAT):
            raise VerifyException(f"indices must be numbers, but got '{self.indices.type}'")
        if not shapes_agree(shape_of(self.values), (2,)):
            raise VerifyException(f"values must be two elements (off, on), but got '{self.values.type}'")
        indices = shape_of(self.indices)
        axis = normalized_axis(self.axis.value.data, len(indices) + 1)
        (depth,) = self.integers("depth") or (DYNAMIC_INDEX,)
        if depth < 0 and depth != DYNAMIC_INDEX:
            raise VerifyException(f"depth must be >= 0, but got {depth}")
        element = moved_element(element_of(self.values), None)
        return [TensorType(element, (*indices[:axis], depth, *indices[axis:]))]


# Operations that select or order elements by their values.


@irdl_op_definition
class TopKOp(NnOp):
    """Returns the `k` largest or smallest elements along `axis`, in order, and their indices (ONNX TopK).

    Equal elements keep their order in the input.
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
        kept = {position: position for position in range(len(shape)) if position != axis}
        return [TensorType(moved_element(element_of(self.input), kept), shape), TensorType(i64, shape)]


@irdl_op_definition
class NonZeroOp(OneOperandOp):
    """Returns the indices of the nonzero elements in row-major order, with one row per axis (ONNX NonZero)."""

    name = "nn.non_zero"
    ACCEPTS: ClassVar[Kind] = Kind.FLOAT | Kind.INTEGER | Kind.BOOLEAN

    traits = traits_def(DataDependentShape())

    def infer_result_types(self) -> Sequence[AnyTensor]:
        return [TensorType(i64, [len(shape_of(self.input)), DYNAMIC_INDEX])]


@irdl_op_definition
class UniqueOp(NnOp):
    """Returns the distinct elements, or slices along `axis`, sorted or in order of first appearance (ONNX Unique).

    Further results are the index of the first occurrence of each distinct value, the index of the distinct value that
    each element equals, and the number of occurrences of each distinct value.
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

    traits = traits_def(DataDependentShape())

    def infer_result_types(self) -> Sequence[AnyTensor]:
        shape = list(shape_of(self.input))
        open_list = TensorType(i64, [DYNAMIC_INDEX])
        if self.axis is None:
            values = TensorType(moved_element(element_of(self.input), None), [DYNAMIC_INDEX])
            return [values, open_list, open_list, open_list]
        axis = normalized_axis(self.axis.value.data, len(shape))
        inverse = TensorType(i64, [shape[axis]])
        shape[axis] = DYNAMIC_INDEX
        kept = {position: position for position in range(len(shape)) if position != axis}
        return [TensorType(moved_element(element_of(self.input), kept), shape), open_list, inverse, open_list]


@irdl_op_definition
class ReverseSequenceOp(MovementOp):
    """Reverses the first `lengths[i]` elements along `time_axis` for each index `i` along `batch_axis` (ONNX
    ReverseSequence)."""

    name = "nn.reverse_sequence"
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots({"lengths": None}, shares_parameters=True)

    input = operand_def(TensorType)
    lengths = operand_def(TensorType)

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
