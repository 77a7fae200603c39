"""Softmax operations: composites on one tensor, along one axis.

ONNX's operators before version 13 flatten their input; the importer does that by reshapes.
"""

import math
from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, StringAttr, TensorType, i1, i64
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.requantization import Affine
from qmlir.dialects.nn.base import KeptOp, Kind, OneOperandOp, shapes_agree, tensor_like
from qmlir.dialects.nn.elementwise.ops import broadcast_shapes
from qmlir.dialects.nn.movement.ops import normalized_axis
from qmlir.dialects.nn.requantize import is_qlinear
from qmlir.dialects.nn.result_shapes import check_choice
from qmlir.ir.builtin_types import AnyTensor, element_of, shape_of
from qmlir.ir.interfaces import FixedRange, QuantizationSlots

_SMALLEST_SCALE = 2.0**-30
"""The smallest scale for which `floor(1 / s_y)` of mode `qlinear` has at most 31 bits."""


class SoftmaxLikeOp(OneOperandOp, ABC):
    """A softmax-like operation; the result has the shape of `input`, and `axis` may count from the back."""

    ACCEPTS: ClassVar[Kind] = Kind.FLOAT

    axis = opt_prop_def(IntegerAttr, IntegerAttr(-1, i64))

    def infer_result_types(self) -> Sequence[AnyTensor]:
        normalized_axis(self.axis.value.data, len(shape_of(self.input)))
        return [tensor_like(self.input, shape_of(self.input))]


EMPTY_ROWS = ("zero", "uniform")
"""The probabilities of a row whose elements are all masked: 0, or `1 / n` for each of its `n` elements."""


@irdl_op_definition
class SoftmaxOp(SoftmaxLikeOp):
    """Computes `e^x / sum(e^x)` along one axis (ONNX Softmax from opset 13), over the unmasked elements.

    Elements with `mask` (i1, broadcast to the input) false have probability 0, and affect neither maximum nor sum. A
    fully masked row is 0 (`empty_rows = "zero"`), or `1 / n`. With `fill`, masked elements count as `x + fill`, which
    need
    not be in the range of the input.
    """

    name = "nn.softmax"
    ACCEPTS: ClassVar[Kind] = Kind.FLOAT | Kind.QUANTIZED
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots(
        {"mask": None}, fixed_output=FixedRange(0.0, 1.0), divides_one=True
    )

    input = operand_def(TensorType)
    mask = opt_operand_def(TensorType)
    result = result_def(TensorType)

    empty_rows = opt_prop_def(StringAttr, StringAttr(EMPTY_ROWS[0]))
    fill = opt_prop_def(FloatAttr)

    @property
    def is_uniform_if_empty(self) -> bool:
        """Whether a fully masked row yields `1 / n`."""
        return self.empty_rows.data == "uniform"

    def infer_result_types(self) -> Sequence[AnyTensor]:
        if self.mask is not None:
            self._check_mask(self.mask)
        if self.fill is not None and (self.mask is None or self.is_uniform_if_empty):
            raise VerifyException("fill requires a mask, and 'empty_rows' other than uniform")
        check_choice("empty_rows", self.empty_rows.data, EMPTY_ROWS)
        return super().infer_result_types()

    def _check_mask(self, mask: SSAValue) -> None:
        if element_of(mask) != i1:
            raise VerifyException(f"mask must have elements of type i1, but got '{mask.type}'")
        shape = shape_of(self.input)
        if not shapes_agree(broadcast_shapes(shape_of(mask), shape), shape):
            raise VerifyException(f"mask must broadcast to the input '{self.input.type}', but got '{mask.type}'")
        if is_qlinear(self):
            raise VerifyException("requantization mode 'qlinear' does not support a mask")

    def qlinear_bound(self, values: Sequence[Affine]) -> float:
        has_elements = shape_of(self.input)[self.axis.value.data] != 0
        return 0.0 if has_elements and values[-1].scale >= _SMALLEST_SCALE else math.inf


@irdl_op_definition
class LogSoftmaxOp(KeptOp, SoftmaxLikeOp):
    """Computes `x - log(sum(e^x))` along one axis (ONNX LogSoftmax from opset 13)."""

    name = "nn.log_softmax"


@irdl_op_definition
class HardmaxOp(SoftmaxLikeOp):
    """Computes 1 at the first maximum along one axis, 0 elsewhere (ONNX Hardmax from opset 13); NaN is the largest
    value."""

    name = "nn.hardmax"
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots(fixed_output=FixedRange(0.0, 1.0))
