"""Softmax and what is like it: one tensor, and one axis along which its elements compete. All of them are composites.

ONNX's operators before version 13 flatten their input; the importer does that with reshapes.
"""

import math
from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.irdl import irdl_op_definition, opt_prop_def

from qmlir.arithmetic.qlinear import Affine
from qmlir.dialects.nn.base import KeptOp, Kind, OneOperandOp, tensor_like
from qmlir.dialects.nn.infer.movement import normalized_axis
from qmlir.ir.builtin_types import AnyTensor, shape_of
from qmlir.ir.interfaces import FixedRange, QuantizationSlots

_SMALLEST_SCALE = 2.0**-30
"""From here on, `floor(1 / s_y)` of the mode `qlinear` has 31 bits at most."""


class SoftmaxLikeOp(OneOperandOp, ABC):
    """A tensor of the shape of `input`; `axis` may be counted from the back."""

    ACCEPTS: ClassVar[Kind] = Kind.FLOAT

    axis = opt_prop_def(IntegerAttr, IntegerAttr(-1, i64))

    def infer_result_types(self) -> Sequence[AnyTensor]:
        normalized_axis(self.axis.value.data, len(shape_of(self.input)))
        return [tensor_like(self.input, shape_of(self.input))]


@irdl_op_definition
class SoftmaxOp(SoftmaxLikeOp):
    """`e^x / sum(e^x)` along one axis (ONNX Softmax from opset 13)."""

    name = "nn.softmax"
    ACCEPTS: ClassVar[Kind] = Kind.FLOAT | Kind.QUANTIZED
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots(fixed_output=FixedRange(0.0, 1.0))

    def qlinear_bound(self, values: Sequence[Affine]) -> float:
        has_elements = shape_of(self.input)[self.axis.value.data] != 0
        return 0.0 if has_elements and values[-1].scale >= _SMALLEST_SCALE else math.inf


@irdl_op_definition
class LogSoftmaxOp(KeptOp, SoftmaxLikeOp):
    """`x - log(sum(e^x))` along one axis (ONNX LogSoftmax from opset 13)."""

    name = "nn.log_softmax"


@irdl_op_definition
class HardmaxOp(SoftmaxLikeOp):
    """1 at the first largest element along one axis, 0 elsewhere (ONNX Hardmax from opset 13); NaN is the largest."""

    name = "nn.hardmax"
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots(fixed_output=FixedRange(0.0, 1.0))
