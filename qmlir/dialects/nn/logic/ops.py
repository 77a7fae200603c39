"""Elementwise logic on booleans, bitwise operations on integers, and predicates on floats; never quantized."""

from abc import ABC
from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, StringAttr, TensorType, i1
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def

from qmlir.dialects.nn.base import Kind
from qmlir.dialects.nn.elementwise.ops import BinaryOp, UnaryOp
from qmlir.dialects.nn.result_shapes import check_choice
from qmlir.ir.builtin_types import AnyTensor, shape_of

SHIFT_DIRECTIONS = ("left", "right")


@irdl_op_definition
class AndOp(BinaryOp):
    """Elementwise logical conjunction (ONNX And)."""

    name = "nn.and"
    ACCEPTS: ClassVar[Kind] = Kind.BOOLEAN


@irdl_op_definition
class OrOp(BinaryOp):
    """Elementwise logical disjunction (ONNX Or)."""

    name = "nn.or"
    ACCEPTS: ClassVar[Kind] = Kind.BOOLEAN


@irdl_op_definition
class XorOp(BinaryOp):
    """Elementwise exclusive disjunction (ONNX Xor)."""

    name = "nn.xor"
    ACCEPTS: ClassVar[Kind] = Kind.BOOLEAN


@irdl_op_definition
class NotOp(UnaryOp):
    """Elementwise logical negation (ONNX Not)."""

    name = "nn.not"
    ACCEPTS: ClassVar[Kind] = Kind.BOOLEAN


@irdl_op_definition
class BitwiseAndOp(BinaryOp):
    """Elementwise bitwise AND of integers."""

    name = "nn.bitwise_and"
    ACCEPTS: ClassVar[Kind] = Kind.INTEGER


@irdl_op_definition
class BitwiseOrOp(BinaryOp):
    """Elementwise bitwise OR of integers."""

    name = "nn.bitwise_or"
    ACCEPTS: ClassVar[Kind] = Kind.INTEGER


@irdl_op_definition
class BitwiseXorOp(BinaryOp):
    """Elementwise bitwise XOR of integers."""

    name = "nn.bitwise_xor"
    ACCEPTS: ClassVar[Kind] = Kind.INTEGER


@irdl_op_definition
class BitwiseNotOp(UnaryOp):
    """Elementwise bitwise complement of integers."""

    name = "nn.bitwise_not"
    ACCEPTS: ClassVar[Kind] = Kind.INTEGER


@irdl_op_definition
class BitShiftOp(BinaryOp):
    """Shifts the bits of `a` by `b` to the left or right; if `a` is signed, a right shift is arithmetic.

    If `b` is negative or not less than the width, all bits are shifted out: the result is 0, or -1 for a right shift of
    a negative `a`.
    """

    name = "nn.bit_shift"
    ACCEPTS: ClassVar[Kind] = Kind.INTEGER

    direction = prop_def(StringAttr)

    def verify_(self) -> None:
        check_choice("direction", self.direction.data, SHIFT_DIRECTIONS)
        super().verify_()


class PredicateOp(UnaryOp, ABC):
    """A predicate on each float; the result has element type i1."""

    ACCEPTS: ClassVar[Kind] = Kind.FLOAT

    @classmethod
    def default_result_type(cls, operand: SSAValue) -> AnyTensor:
        return TensorType(i1, shape_of(operand))


@irdl_op_definition
class IsNaNOp(PredicateOp):
    """Whether each element is NaN (ONNX IsNaN)."""

    name = "nn.is_nan"


@irdl_op_definition
class IsInfOp(PredicateOp):
    """Whether each element is infinite, restricted to the selected signs (ONNX IsInf)."""

    name = "nn.is_inf"

    detect_negative = opt_prop_def(BoolAttr, BoolAttr.from_bool(True))
    detect_positive = opt_prop_def(BoolAttr, BoolAttr.from_bool(True))
