"""Shapes as values, for models with dynamic sizes, and ranges computed from them."""

import math
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, TensorType, i64
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, result_def, traits_def
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.nn.base import Kind, NnOp, OneOperandOp
from qmlir.ir.builtin_types import AnyTensor, element_of, shape_of
from qmlir.ir.interfaces import QuantizationSlots, ReadsShapesOnly

# The number of elements of a range.


def range_size(start: float, limit: float, delta: float) -> int:
    """Returns the length of `start, start + delta, …` up to `limit`. Raises `ZeroDivisionError` for a step of 0."""
    if all(isinstance(number, int) for number in (start, limit, delta)):
        return max(-int(-(limit - start) // delta), 0)
    return max(math.ceil((limit - start) / delta), 0)


@irdl_op_definition
class ShapeOp(OneOperandOp):
    """Returns the sizes of the axes from `start` up to `end` as a list of i64 (ONNX Shape)."""

    name = "nn.shape"
    ACCEPTS: ClassVar[Kind] = Kind.ANY
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots({"input": None})

    traits = traits_def(ReadsShapesOnly())

    start = opt_prop_def(IntegerAttr, IntegerAttr(0, i64))
    end = opt_prop_def(IntegerAttr)

    @property
    def bounds(self) -> slice:
        """The axes whose sizes are returned."""
        return slice(self.start.value.data, None if self.end is None else self.end.value.data)

    def infer_result_types(self) -> Sequence[AnyTensor]:
        return [TensorType(i64, [len(shape_of(self.input)[self.bounds])])]


@irdl_op_definition
class SizeOp(OneOperandOp):
    """Returns the number of elements (ONNX Size)."""

    name = "nn.size"
    ACCEPTS: ClassVar[Kind] = Kind.ANY
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots({"input": None})

    traits = traits_def(ReadsShapesOnly())

    def infer_result_types(self) -> Sequence[AnyTensor]:
        return [TensorType(i64, [])]


@irdl_op_definition
class RangeOp(NnOp):
    """Returns the numbers `start + i * delta` up to `limit`, three scalars of one type (ONNX Range)."""

    name = "nn.range"
    ACCEPTS: ClassVar[Kind] = Kind.FLOAT | Kind.INTEGER

    SIZE_OPERANDS: ClassVar[tuple[str, ...]] = ("start", "limit", "delta")

    start = operand_def(TensorType)
    limit = operand_def(TensorType)
    delta = operand_def(TensorType)
    result = result_def(TensorType)

    def infer_result_types(self) -> Sequence[AnyTensor]:
        bounds = (self.start, self.limit, self.delta)
        if any(size not in (1, DYNAMIC_INDEX) for bound in bounds for size in shape_of(bound)):
            raise VerifyException(
                f"start, limit and delta must be scalars, but got {', '.join(str(bound.type) for bound in bounds)}"
            )
        return [TensorType(element_of(self.start), [DYNAMIC_INDEX])]
