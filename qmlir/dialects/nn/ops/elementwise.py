"""Elementwise operations: one operand, two that broadcast, comparisons, selection, type conversion.

Semantics are ONNX's for the operator of the same name; on quantized values the real result is rounded to the type
of the result.
"""

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, FloatAttr, TensorType, f32, i1
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.nn.base import NnOp, element_of, shape_of, tensor_like
from qmlir.dialects.nn.elements import Kind, kind_of, plain_type
from qmlir.dialects.nn.infer.elementwise import broadcast_shapes
from qmlir.ir.builtin_types import AnyTensor
from qmlir.ir.interfaces import FixedRange, QuantizationSlots, Slot


class UnaryOp(NnOp, ABC):
    """One operand, a result of the same shape and plain element type."""

    input = operand_def(TensorType)
    result = result_def(TensorType)

    ACCEPTS: ClassVar[Kind] = Kind.FLOAT | Kind.QUANTIZED
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots({"input": Slot.INPUT})

    def __init__(self, value: SSAValue, result_type: Attribute | None = None):
        super().__init__(operands=[value], result_types=[result_type or tensor_like(value, shape_of(value))])

    def infer_result_types(self) -> Sequence[AnyTensor]:
        return [tensor_like(self.input, shape_of(self.input))]


@irdl_op_definition
class ReluOp(UnaryOp):
    """`max(x, 0)`."""

    name = "nn.relu"
    ACCEPTS: ClassVar[Kind] = Kind.NUMBER


@irdl_op_definition
class AbsOp(UnaryOp):
    """`|x|`."""

    name = "nn.abs"
    ACCEPTS: ClassVar[Kind] = Kind.NUMBER


@irdl_op_definition
class NegOp(UnaryOp):
    """`-x`."""

    name = "nn.neg"
    ACCEPTS: ClassVar[Kind] = Kind.NUMBER


@irdl_op_definition
class SqrtOp(UnaryOp):
    """The square root; NaN below 0."""

    name = "nn.sqrt"


@irdl_op_definition
class ExpOp(UnaryOp):
    """`e^x`."""

    name = "nn.exp"


@irdl_op_definition
class LogOp(UnaryOp):
    """The natural logarithm."""

    name = "nn.log"


@irdl_op_definition
class ReciprocalOp(UnaryOp):
    """`1 / x`."""

    name = "nn.reciprocal"


@irdl_op_definition
class ErfOp(UnaryOp):
    """The error function."""

    name = "nn.erf"
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots({"input": Slot.INPUT}, fixed_output=FixedRange(-1.0, 1.0))


@irdl_op_definition
class SigmoidOp(UnaryOp):
    """`1 / (1 + e^-x)`."""

    name = "nn.sigmoid"
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots({"input": Slot.INPUT}, fixed_output=FixedRange(0.0, 1.0))


@irdl_op_definition
class TanhOp(UnaryOp):
    """The hyperbolic tangent."""

    name = "nn.tanh"
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots({"input": Slot.INPUT}, fixed_output=FixedRange(-1.0, 1.0))


@irdl_op_definition
class HardSwishOp(UnaryOp):
    """`x * max(0, min(1, x / 6 + 1 / 2))`; a composite."""

    name = "nn.hard_swish"


@irdl_op_definition
class GeluOp(UnaryOp):
    """`x / 2 * (1 + erf(x / sqrt(2)))`, or its tanh approximation; a composite."""

    name = "nn.gelu"

    tanh_approximation = opt_prop_def(BoolAttr, BoolAttr.from_bool(False))


@irdl_op_definition
class LeakyReluOp(UnaryOp):
    """`x` from 0 up, `alpha * x` below."""

    name = "nn.leaky_relu"

    alpha = opt_prop_def(FloatAttr, FloatAttr(0.01, f32))


@irdl_op_definition
class ClipOp(UnaryOp):
    """`min(max(x, minimum), maximum)`; a bound that is left out does not hold."""

    name = "nn.clip"
    ACCEPTS: ClassVar[Kind] = Kind.NUMBER

    minimum = opt_prop_def(FloatAttr)
    maximum = opt_prop_def(FloatAttr)

    @staticmethod
    def between(value: SSAValue, minimum: float, maximum: float) -> "ClipOp":
        """`value` kept inside `[minimum, maximum]`."""
        return ClipOp.create(
            operands=[value],
            result_types=[tensor_like(value, shape_of(value))],
            properties={"minimum": FloatAttr(minimum, f32), "maximum": FloatAttr(maximum, f32)},
        )


class BinaryOp(NnOp, ABC):
    """Two operands that broadcast against each other."""

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)

    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots({"lhs": Slot.INPUT, "rhs": Slot.INPUT})

    def __init__(self, lhs: SSAValue, rhs: SSAValue, result_type: Attribute | None = None):
        shape = broadcast_shapes(shape_of(lhs), shape_of(rhs))
        super().__init__(operands=[lhs, rhs], result_types=[result_type or self.default_result_type(lhs, shape)])

    @classmethod
    def default_result_type(cls, operand: SSAValue, shape: Sequence[int]) -> AnyTensor:
        """The type of the result where nobody chose another."""
        return tensor_like(operand, shape)

    def infer_result_types(self) -> Sequence[AnyTensor]:
        shape = broadcast_shapes(shape_of(self.lhs), shape_of(self.rhs))
        return [self.default_result_type(self.lhs, shape)]


@irdl_op_definition
class AddOp(BinaryOp):
    """`a + b`."""

    name = "nn.add"


@irdl_op_definition
class SubOp(BinaryOp):
    """`a - b`."""

    name = "nn.sub"


@irdl_op_definition
class MulOp(BinaryOp):
    """`a * b`."""

    name = "nn.mul"


@irdl_op_definition
class DivOp(BinaryOp):
    """`a / b`; integers are divided towards zero."""

    name = "nn.div"


@irdl_op_definition
class PowOp(BinaryOp):
    """`a ^ b`."""

    name = "nn.pow"
    ACCEPTS: ClassVar[Kind] = Kind.FLOAT


@irdl_op_definition
class MinOp(BinaryOp):
    """The smaller of `a` and `b`."""

    name = "nn.min"


@irdl_op_definition
class MaxOp(BinaryOp):
    """The larger of `a` and `b`."""

    name = "nn.max"


class ComparisonOp(BinaryOp, ABC):
    """A comparison of real values; the result is i1."""

    @classmethod
    def default_result_type(cls, operand: SSAValue, shape: Sequence[int]) -> AnyTensor:
        return TensorType(i1, shape)


@irdl_op_definition
class EqualOp(ComparisonOp):
    """`a == b`."""

    name = "nn.equal"
    ACCEPTS: ClassVar[Kind] = Kind.ANY


@irdl_op_definition
class GreaterOp(ComparisonOp):
    """`a > b`."""

    name = "nn.greater"


@irdl_op_definition
class GreaterOrEqualOp(ComparisonOp):
    """`a >= b`."""

    name = "nn.greater_or_equal"


@irdl_op_definition
class LessOp(ComparisonOp):
    """`a < b`."""

    name = "nn.less"


@irdl_op_definition
class LessOrEqualOp(ComparisonOp):
    """`a <= b`."""

    name = "nn.less_or_equal"


@irdl_op_definition
class WhereOp(NnOp):
    """`a` where the condition holds, `b` elsewhere."""

    name = "nn.where"
    ACCEPTS: ClassVar[Kind] = Kind.ANY
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots({"condition": None}, shares_parameters=True)

    condition = operand_def(TensorType)
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)

    def infer_result_types(self) -> Sequence[AnyTensor]:
        if element_of(self.condition) != i1:
            raise VerifyException(f"the condition must be i1, found {self.condition.type}")
        if kind_of(element_of(self.lhs)) is Kind.QUANTIZED and element_of(self.lhs) != element_of(self.rhs):
            raise VerifyException(f"chooses without a rescale: operands have {self.lhs.type} and {self.rhs.type}")
        shape = broadcast_shapes(*(shape_of(operand) for operand in self.operands))
        return [TensorType(element_of(self.lhs), shape)]


@irdl_op_definition
class CastOp(NnOp):
    """Convert each element to the result's plain type, as C does; for quantized types there is `quant.qcast`."""

    name = "nn.cast"
    ACCEPTS: ClassVar[Kind] = Kind.FLOAT | Kind.INTEGER | Kind.BOOLEAN

    input = operand_def(TensorType)
    result = result_def(TensorType)

    def infer_result_types(self) -> Sequence[AnyTensor]:
        element = element_of(self.result)
        if kind_of(element) not in (Kind.FLOAT, Kind.INTEGER, Kind.BOOLEAN):
            raise VerifyException(f"cannot cast to {element}")
        return [TensorType(plain_type(element), shape_of(self.input))]


OPERATIONS = (
    ReluOp, AbsOp, NegOp, SqrtOp, ExpOp, LogOp, ReciprocalOp, ErfOp, SigmoidOp, TanhOp, HardSwishOp, GeluOp,
    LeakyReluOp, ClipOp, AddOp, SubOp, MulOp, DivOp, PowOp, MinOp, MaxOp, EqualOp, GreaterOp, GreaterOrEqualOp,
    LessOp, LessOrEqualOp, WhereOp, CastOp,
)  # fmt: skip
