"""Reductions along axes (ONNX Reduce…), indices of maxima and minima, and cumulative sums and products."""

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import DYNAMIC_INDEX, BoolAttr, DenseArrayBase, IntegerAttr, IntegerType, TensorType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, result_def

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.litert import Multiplier
from qmlir.dialects.nn.base import Kind, NnOp, OneOperandOp, tensor_like
from qmlir.dialects.nn.movement.ops import known_length, list_length, moved_element, normalized_axes, normalized_axis
from qmlir.dialects.nn.requantize import Accumulator
from qmlir.dialects.nn.result_shapes import known_count
from qmlir.ir.builtin_types import AnyTensor, element_of, shape_of
from qmlir.ir.interfaces import QuantizationSlots

# The axes of a reduction, and its result shape.


def reduced_axes(axes: Sequence[int] | None, rank: int, empty_is_none: bool = False) -> tuple[int, ...]:
    """Returns `axes` counted from the front; if it is empty, returns all axes, or none if `empty_is_none`."""
    if not axes:
        return () if empty_is_none else tuple(range(rank))
    return normalized_axes(axes, rank)


def reduced_shape(shape: Sequence[int], axes: Sequence[int], keep_dims: bool) -> tuple[int, ...]:
    """Returns the shape after a reduction along `axes`, which are counted from the front."""
    if keep_dims:
        return tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)


def kept_axes(rank: int, axes: Sequence[int], keep_dims: bool) -> dict[int, int]:
    """Maps the axes that are not reduced to their positions in the result."""
    kept = [axis for axis in range(rank) if axis not in axes]
    return {axis: axis if keep_dims else position for position, axis in enumerate(kept)}


def open_shape(rank: int, count: int, keep_dims: bool) -> tuple[int, ...]:
    """Returns the result shape of a reduction along `count` unknown axes, in which all sizes are dynamic."""
    return (DYNAMIC_INDEX,) * (rank if keep_dims else rank - count)


class ReduceOp(NnOp, ABC):
    """A reduction along axes; reduced axes are kept with size 1, or removed if `keep_dims` is false.

    Without `axes`, all axes are reduced. If `noop_with_empty_axes` is also set, no axis is reduced, so that each
    element is reduced by itself.
    """

    PARAMETERS: ClassVar[tuple[str, ...]] = ("axes",)

    input = operand_def(TensorType)
    axes_value = opt_operand_def(TensorType)
    result = result_def(TensorType)

    axes = opt_prop_def(DenseArrayBase[IntegerType])
    keep_dims = opt_prop_def(BoolAttr, BoolAttr.from_bool(True))
    noop_with_empty_axes = opt_prop_def(BoolAttr, BoolAttr.from_bool(False))

    ACCEPTS: ClassVar[Kind] = Kind.FLOAT | Kind.INTEGER

    def __init__(self, value: SSAValue, axes: Sequence[int], keep_dims: bool = True):
        shape = shape_of(value)
        super().__init__(
            operands=[value, None],
            result_types=[tensor_like(value, reduced_shape(shape, reduced_axes(axes, len(shape)), keep_dims))],
            properties={"axes": DenseArrayBase.from_list(i64, list(axes)), "keep_dims": BoolAttr.from_bool(keep_dims)},
        )

    @property
    def keeps_axes(self) -> bool:
        """Whether reduced axes are kept with size 1."""
        return bool(self.keep_dims.value.data)

    def reduced_axes(self, rank: int, axes: Array | None = None) -> tuple[int, ...]:
        """Returns the reduced axes, counted from the front; `axes` is the value of a constant operand."""
        return reduced_axes(self.integers("axes", axes), rank, bool(self.noop_with_empty_axes.value.data))

    def infer_result_types(self) -> Sequence[AnyTensor]:
        shape, keeps = shape_of(self.input), self.keeps_axes
        if self.axes_value is not None and list_length(self.axes_value) != 0:
            # Only the number of axes is known, and even that is irrelevant if reduced axes stay.
            count = 0 if keeps else known_length(self.axes_value, "axes")
            return [tensor_like(self.input, open_shape(len(shape), count, keeps), self.result_element(None))]
        axes = self.reduced_axes(len(shape))
        element = self.result_element(kept_axes(len(shape), axes, keeps))
        return [tensor_like(self.input, reduced_shape(shape, axes, keeps), element)]

    def result_element(self, kept: dict[int, int] | None) -> Attribute | None:
        """Returns the element type of the result, given the positions of kept axes; `None` for the plain type of the
        input."""
        return None


@irdl_op_definition
class ReduceSumOp(ReduceOp):
    """Sum along axes (ONNX ReduceSum)."""

    name = "nn.reduce_sum"
    LITERT: ClassVar[Multiplier | None] = Multiplier.SUM
    ACCUMULATOR: ClassVar[Accumulator | None] = Accumulator.OPERAND
    ACCEPTS: ClassVar[Kind] = Kind.NUMBER


@irdl_op_definition
class ReduceMeanOp(ReduceOp):
    """Arithmetic mean along axes; for integers, rounded towards zero (ONNX ReduceMean)."""

    name = "nn.reduce_mean"
    LITERT: ClassVar[Multiplier | None] = Multiplier.MEAN
    ACCUMULATOR: ClassVar[Accumulator | None] = Accumulator.OPERAND
    ACCEPTS: ClassVar[Kind] = Kind.NUMBER

    def divisors(self) -> npt.NDArray[np.int64]:
        if self.axes_value is not None:
            return np.array([], np.int64)
        shape = shape_of(self.input)
        return known_count([shape[axis] for axis in self.reduced_axes(len(shape))])


@irdl_op_definition
class ReduceProdOp(ReduceOp):
    """Product along axes (ONNX ReduceProd)."""

    name = "nn.reduce_prod"


@irdl_op_definition
class ReduceL1Op(ReduceOp):
    """Sum of absolute values along axes (ONNX ReduceL1)."""

    name = "nn.reduce_l1"


@irdl_op_definition
class ReduceL2Op(ReduceOp):
    """Square root of the sum of squares along axes (ONNX ReduceL2)."""

    name = "nn.reduce_l2"


@irdl_op_definition
class ReduceLogSumOp(ReduceOp):
    """Natural logarithm of the sum along axes (ONNX ReduceLogSum)."""

    name = "nn.reduce_log_sum"


@irdl_op_definition
class ReduceLogSumExpOp(ReduceOp):
    """Natural logarithm of the sum of `e^x` along axes, without intermediate overflow (ONNX ReduceLogSumExp)."""

    name = "nn.reduce_log_sum_exp"


@irdl_op_definition
class ReduceSumSquareOp(ReduceOp):
    """Sum of squares along axes (ONNX ReduceSumSquare)."""

    name = "nn.reduce_sum_square"


class ExtremeOp(ReduceOp, ABC):
    """A reduction that selects an element and keeps the quantized type; an empty row yields the identity."""

    ACCEPTS: ClassVar[Kind] = Kind.ANY
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots(shares_parameters=True)

    def result_element(self, kept: dict[int, int] | None) -> Attribute | None:
        return moved_element(element_of(self.input), kept)


@irdl_op_definition
class ReduceMaxOp(ExtremeOp):
    """Maximum along axes (ONNX ReduceMax)."""

    name = "nn.reduce_max"


@irdl_op_definition
class ReduceMinOp(ExtremeOp):
    """Minimum along axes (ONNX ReduceMin)."""

    name = "nn.reduce_min"


class ArgExtremeOp(OneOperandOp, ABC):
    """The index along `axis` of an extreme element: the first of equal ones, or the last with `select_last_index`."""

    axis = opt_prop_def(IntegerAttr, IntegerAttr(0, i64))
    keep_dims = opt_prop_def(BoolAttr, BoolAttr.from_bool(True))
    select_last_index = opt_prop_def(BoolAttr, BoolAttr.from_bool(False))

    ACCEPTS: ClassVar[Kind] = Kind.NUMBER

    def infer_result_types(self) -> Sequence[AnyTensor]:
        shape = shape_of(self.input)
        axis = normalized_axis(self.axis.value.data, len(shape))
        return [TensorType(i64, reduced_shape(shape, (axis,), bool(self.keep_dims.value.data)))]


@irdl_op_definition
class ArgMaxOp(ArgExtremeOp):
    """The index of the maximum along `axis` (ONNX ArgMax)."""

    name = "nn.arg_max"


@irdl_op_definition
class ArgMinOp(ArgExtremeOp):
    """The index of the minimum along `axis` (ONNX ArgMin)."""

    name = "nn.arg_min"


class ScanOp(NnOp, ABC):
    """A scan, which replaces each element with the sum or product of the elements up to it along `axis`.

    With `exclusive`, the element itself is excluded; with `reverse`, the scan starts from the end.
    """

    PARAMETERS: ClassVar[tuple[str, ...]] = ("axis",)
    SCALARS: ClassVar[tuple[str, ...]] = ("axis",)

    input = operand_def(TensorType)
    axis_value = opt_operand_def(TensorType)
    result = result_def(TensorType)

    axis = opt_prop_def(IntegerAttr)
    exclusive = opt_prop_def(BoolAttr, BoolAttr.from_bool(False))
    reverse = opt_prop_def(BoolAttr, BoolAttr.from_bool(False))

    ACCEPTS: ClassVar[Kind] = Kind.FLOAT | Kind.INTEGER

    def scanned_axis(self, rank: int, axis: Array | None = None) -> int:
        """Returns the scanned axis, counted from the front; `axis` is the value of the constant operand."""
        (found,) = self.integers("axis", axis) or (0,)
        return normalized_axis(found, rank)

    def infer_result_types(self) -> Sequence[AnyTensor]:
        shape = shape_of(self.input)
        if self.is_known("axis"):
            self.scanned_axis(len(shape))
        return [tensor_like(self.input, shape)]


@irdl_op_definition
class CumSumOp(ScanOp):
    """Cumulative sum along an axis (ONNX CumSum)."""

    name = "nn.cum_sum"


@irdl_op_definition
class CumProdOp(ScanOp):
    """Cumulative product along an axis (ONNX CumProd)."""

    name = "nn.cum_prod"
