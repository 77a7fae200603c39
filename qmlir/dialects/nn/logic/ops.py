"""Elementwise logic: booleans, the bits of integers, and questions about floats. None of it is ever quantized."""

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
    """Whether both hold."""

    name = "nn.and"
    ACCEPTS: ClassVar[Kind] = Kind.BOOLEAN


@irdl_op_definition
class OrOp(BinaryOp):
    """Whether one or both hold."""

    name = "nn.or"
    ACCEPTS: ClassVar[Kind] = Kind.BOOLEAN


@irdl_op_definition
class XorOp(BinaryOp):
    """Whether one holds and the other does not."""

    name = "nn.xor"
    ACCEPTS: ClassVar[Kind] = Kind.BOOLEAN


@irdl_op_definition
class NotOp(UnaryOp):
    """Whether it does not hold."""

    name = "nn.not"
    ACCEPTS: ClassVar[Kind] = Kind.BOOLEAN


@irdl_op_definition
class BitwiseAndOp(BinaryOp):
    """The bits that are set in both."""

    name = "nn.bitwise_and"
    ACCEPTS: ClassVar[Kind] = Kind.INTEGER


@irdl_op_definition
class BitwiseOrOp(BinaryOp):
    """The bits that are set in one or both."""

    name = "nn.bitwise_or"
    ACCEPTS: ClassVar[Kind] = Kind.INTEGER


@irdl_op_definition
class BitwiseXorOp(BinaryOp):
    """The bits that differ."""

    name = "nn.bitwise_xor"
    ACCEPTS: ClassVar[Kind] = Kind.INTEGER


@irdl_op_definition
class BitwiseNotOp(UnaryOp):
    """Every bit turned over."""

    name = "nn.bitwise_not"
    ACCEPTS: ClassVar[Kind] = Kind.INTEGER


@irdl_op_definition
class BitShiftOp(BinaryOp):
    """The bits of `a` moved by `b` places to the left or right; to the right, a signed `a` keeps its sign.

    Where `b` is negative, or no less than the number of bits, all of them are gone: the result is 0, or -1 for a
    negative `a` to the right.
    """

    name = "nn.bit_shift"
    ACCEPTS: ClassVar[Kind] = Kind.INTEGER

    direction = prop_def(StringAttr)

    def verify_(self) -> None:
        check_choice("direction", self.direction.data, SHIFT_DIRECTIONS)
        super().verify_()


class PredicateOp(UnaryOp, ABC):
    """A question about each float; the result is i1."""

    ACCEPTS: ClassVar[Kind] = Kind.FLOAT

    @classmethod
    def default_result_type(cls, operand: SSAValue) -> AnyTensor:
        return TensorType(i1, shape_of(operand))


@irdl_op_definition
class IsNaNOp(PredicateOp):
    """Whether it is NaN."""

    name = "nn.is_nan"


@irdl_op_definition
class IsInfOp(PredicateOp):
    """Whether it is infinite, of the signs that are asked for."""

    name = "nn.is_inf"

    detect_negative = opt_prop_def(BoolAttr, BoolAttr.from_bool(True))
    detect_positive = opt_prop_def(BoolAttr, BoolAttr.from_bool(True))
