"""The instructions of the device: tensors of integers in and out, each as wide as its type says.

Nothing is rounded or cut off but by `fxp.shift`: sums are exact, and a sum that its type does not hold is an error of
the interpreter; who lowers to these instructions proves that there is none.
"""

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.ir import Operation, SSAValue, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import ConstantLike, Pure
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.nn.elementwise.ops import broadcast_shapes
from qmlir.dialects.nn.result_shapes import Windows, output_sizes
from qmlir.ir.builtin_types import as_integer, integer_list, ranked_tensor, tensor
from qmlir.ir.interfaces import InferResultTypes, RegisteredCanonicalization

TIES = ("even", "up", "away")


def width(value: SSAValue) -> int:
    """The bits of an element. Raises `VerifyException` where it is not a signless integer."""
    integer = as_integer(tensor(value.type).get_element_type()) if ranked_tensor(value.type) is not None else None
    if integer is None:
        raise VerifyException(f"takes and gives tensors of signless integers, found {value.type}")
    return integer.width.data


def shape_of(value: SSAValue) -> tuple[int, ...]:
    return tensor(value.type).get_shape()


class Instruction(IRDLOperation, InferResultTypes):
    """An instruction: one result, whose shape follows from the operands, and whose width its type says."""

    traits = traits_def(Pure(), RegisteredCanonicalization())
    irdl_options = (ParsePropInAttrDict(),)

    def shape(self) -> Sequence[int]:
        """The shape of the result."""
        return shape_of(self.operands[0])

    def infer_result_types(self) -> Sequence[TypeAttribute]:
        return [TensorType(tensor(self.results[0].type).get_element_type(), self.shape())]

    def verify_(self) -> None:
        for value in (*self.operands, *self.results):
            width(value)
        expected = tuple(self.shape())
        if shape_of(self.results[0]) != expected:
            raise VerifyException(f"result has type {self.results[0].type}, the operands give the shape {expected}")


@irdl_op_definition
class ConstantOp(Instruction):
    """Integers that the program brings along."""

    name = "fxp.constant"

    value = prop_def(DenseIntOrFPElementsAttr)
    result = result_def(TensorType)

    traits = traits_def(ConstantLike(), Pure())
    assembly_format = "$value attr-dict `->` type($result)"

    def shape(self) -> Sequence[int]:
        return self.value.get_shape()


def _numbers(attribute: DenseArrayBase | None) -> tuple[int, ...] | None:
    return None if attribute is None else integer_list(attribute)


@irdl_op_definition
class CorrelateOp(Instruction):
    """Exact sums of products: data `[N, C, …]`, weights `[M, C / groups, …]`; what lies outside the data is 0."""

    name = "fxp.correlate"

    data = operand_def(TensorType)
    weights = operand_def(TensorType)
    strides = opt_prop_def(DenseArrayBase)
    dilations = opt_prop_def(DenseArrayBase)
    pads = opt_prop_def(DenseArrayBase)
    groups = opt_prop_def(IntegerAttr, IntegerAttr(1, i64))
    result = result_def(TensorType)

    assembly_format = "$data `,` $weights attr-dict `:` `(` type($data) `,` type($weights) `)` `->` type($result)"

    @property
    def windows(self) -> Windows:
        """How the kernel slides."""
        lists = (_numbers(each) for each in (self.strides, self.dilations, self.pads))
        return Windows.of(shape_of(self.weights)[2:], *lists)

    def shape(self) -> Sequence[int]:
        data, weights = shape_of(self.data), shape_of(self.weights)
        if len(data) < 3 or len(data) != len(weights):
            raise VerifyException(f"data and weights have one rank of at least 3, found {list(data)}, {list(weights)}")
        groups = self.groups.value.data
        if data[1] != weights[1] * groups or weights[0] % groups:
            raise VerifyException(f"weights {list(weights)} in {groups} groups do not go with data {list(data)}")
        return (data[0], weights[0], *output_sizes(data[2:], self.windows))


@irdl_op_definition
class AddBiasOp(Instruction):
    """A number for each channel, added to sums `[N, C, …]`."""

    name = "fxp.add_bias"

    sums = operand_def(TensorType)
    bias = operand_def(TensorType)
    result = result_def(TensorType)

    assembly_format = "$sums `,` $bias attr-dict `:` `(` type($sums) `,` type($bias) `)` `->` type($result)"

    def shape(self) -> Sequence[int]:
        sums, bias = shape_of(self.sums), shape_of(self.bias)
        if len(sums) < 2 or bias != sums[1:2]:
            raise VerifyException(f"the bias has one number for each channel of {list(sums)}, found {list(bias)}")
        return sums


@irdl_op_definition
class AddOp(Instruction):
    """The exact sum of two tensors, broadcast against each other."""

    name = "fxp.add"

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)

    assembly_format = "$lhs `,` $rhs attr-dict `:` `(` type($lhs) `,` type($rhs) `)` `->` type($result)"

    def shape(self) -> Sequence[int]:
        return broadcast_shapes(shape_of(self.lhs), shape_of(self.rhs))


@irdl_op_definition
class ShiftOp(Instruction):
    """`round(x * 2^-places)`, cut off at the limits of the result's width.

    `places` is one number, or one for each channel of `[N, C, …]`; below 0 it multiplies. `ties` says where a half
    goes.
    """

    name = "fxp.shift"

    input = operand_def(TensorType)
    places = prop_def(DenseArrayBase)
    ties = opt_prop_def(StringAttr, StringAttr("even"))
    result = result_def(TensorType)

    assembly_format = "$input attr-dict `:` `(` type($input) `)` `->` type($result)"

    @property
    def numbers(self) -> tuple[int, ...]:
        """The places of each channel, or of all."""
        return integer_list(self.places)

    def verify_(self) -> None:
        super().verify_()
        shape = shape_of(self.input)
        if len(self.numbers) != 1 and (len(shape) < 2 or len(self.numbers) != shape[1]):
            raise VerifyException(
                f"places are one number or one for each channel of {list(shape)}, found {self.places}"
            )
        if self.ties.data not in TIES:
            raise VerifyException(f"ties are {', '.join(TIES)}, found '{self.ties.data}'")


@irdl_op_definition
class LimitOp(Instruction):
    """`min(max(x, minimum), maximum)`, either of which may be left out."""

    name = "fxp.limit"

    input = operand_def(TensorType)
    minimum = opt_prop_def(IntegerAttr)
    maximum = opt_prop_def(IntegerAttr)
    result = result_def(TensorType)

    assembly_format = "$input attr-dict `:` `(` type($input) `)` `->` type($result)"

    def verify_(self) -> None:
        super().verify_()
        if self.input.type != self.result.type:
            raise VerifyException(f"keeps the width of its input, found {self.input.type} and {self.result.type}")


INSTRUCTIONS: tuple[type[Operation], ...] = (ConstantOp, CorrelateOp, AddBiasOp, AddOp, ShiftOp, LimitOp)
