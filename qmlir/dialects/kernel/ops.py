"""Operations of the `kernel` dialect on scalars and shapes: requantization, reciprocal roots, reinterpretation."""

import math
from collections.abc import Sequence
from typing import ClassVar, cast

from xdsl.dialects.builtin import (
    IntegerAttr,
    IntegerType,
    MemRefType,
    Signedness,
    TensorType,
    VectorType,
    f32,
    f64,
    i8,
    i32,
    i64,
)
from xdsl.dialects.utils import AbstractYieldOperation
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.arrays import integer_limits
from qmlir.arithmetic.requantization import Mode
from qmlir.dialects.kernel.attributes import RequantizeAttr
from qmlir.ir.builtin_types import as_integer


def shaped(value: SSAValue) -> tuple[tuple[int, ...], Attribute]:
    """Returns the shape and the element type of a tensor or memref."""
    type_ = value.type
    assert isinstance(type_, TensorType | MemRefType)
    holder = cast(TensorType[Attribute] | MemRefType[Attribute], type_)
    return holder.get_shape(), holder.get_element_type()


def scalar_of(type_: Attribute) -> Attribute:
    """Returns the element type of a vector type; any other type is returned unchanged."""
    return cast(VectorType[Attribute], type_).get_element_type() if isinstance(type_, VectorType) else type_


@irdl_op_definition
class YieldOp(AbstractYieldOperation[Attribute]):
    """Terminates the region of an epilogue or of a row fusion, and yields the result elements or the written values."""

    name = "kernel.yield"

    assembly_format = "$arguments attr-dict `:` type($arguments)"
    traits = traits_def(IsTerminator(), Pure())


@irdl_op_definition
class ReshapeOp(IRDLOperation):
    """Reinterprets the elements, in row-major order, as another shape. On contiguous memory, the result is a view."""

    name = "kernel.reshape"

    source = operand_def()
    result = result_def()

    assembly_format = "$source attr-dict `:` type($source) `to` type($result)"
    traits = traits_def(Pure())

    def __init__(self, source: SSAValue, result_type: Attribute):
        super().__init__(operands=[source], result_types=[result_type])

    def verify_(self) -> None:
        types = self.source.type, self.result.type
        if not all(isinstance(type_, TensorType) for type_ in types) and not all(
            isinstance(type_, MemRefType) for type_ in types
        ):
            raise VerifyException(
                f"operand and result must be both tensors or both memrefs, but got '{types[0]}' and '{types[1]}'"
            )
        (shape, element), (new_shape, new_element) = shaped(self.source), shaped(self.result)
        if element != new_element:
            raise VerifyException(f"element type must not change, but got {element} and {new_element}")
        if any(size < 0 for size in (*shape, *new_shape)):
            raise VerifyException("shapes must be static")
        if math.prod(shape) != math.prod(new_shape):
            raise VerifyException(
                f"number of elements must not change, but got {math.prod(shape)} and {math.prod(new_shape)}"
            )


@irdl_op_definition
class RequantizeOp(IRDLOperation):
    """Rescales an integer, adds the zero point and clamps the result, in the given mode.

    The parameters depend on the mode: `f32` and `qlinear` take a multiplier (f32), `f64` one in f64, `single_round` and
    `double_round` a multiplier (i32) and a shift (i8), and `shift` a shift (i8). The modes of LiteRT have none: their
    operations are lowered to other modes. Vectors are processed lane by lane. The formulas are in
    `qmlir.arithmetic.requantization`; a multiplier of 1 is not treated specially here.
    """

    name = "kernel.requantize"

    accumulator = operand_def()
    parameters = var_operand_def()
    mode = prop_def(RequantizeAttr)
    zero_point = prop_def(IntegerAttr)
    minimum = prop_def(IntegerAttr)
    maximum = prop_def(IntegerAttr)
    result = result_def()

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$accumulator `,` $parameters attr-dict `:` type($accumulator) `,` type($parameters) `->` type($result)"
    )
    traits = traits_def(Pure())

    PARAMETERS: ClassVar[dict[Mode, tuple[Attribute, ...]]] = {
        Mode.F32: (f32,),
        Mode.SINGLE_ROUND: (i32, i8),
        Mode.DOUBLE_ROUND: (i32, i8),
        Mode.SHIFT: (i8,),
        Mode.QLINEAR: (f32,),
        Mode.F64: (f64,),
    }

    def __init__(
        self,
        accumulator: SSAValue,
        parameters: Sequence[SSAValue],
        result_type: Attribute,
        mode: RequantizeAttr,
        zero_point: int,
        limits: tuple[int, int],
    ):
        super().__init__(
            operands=[accumulator, list(parameters)],
            properties={
                "mode": mode,
                "zero_point": IntegerAttr(zero_point, i64),
                "minimum": IntegerAttr(limits[0], i64),
                "maximum": IntegerAttr(limits[1], i64),
            },
            result_types=[result_type],
        )

    @property
    def limits(self) -> tuple[int, int]:
        """The smallest and the largest possible result."""
        return self.minimum.value.data, self.maximum.value.data

    def verify_(self) -> None:
        if self.mode.mode.is_litert:
            raise VerifyException(f"mode {self.mode.mode} has no parameters: the operations of a model decide about it")
        wanted = tuple(map(str, self.PARAMETERS[self.mode.mode]))
        found = tuple(str(scalar_of(value.type)) for value in self.parameters)
        if found != wanted:
            raise VerifyException(
                f"mode {self.mode.mode} expects parameters {', '.join(wanted)}, but got {', '.join(found) or 'none'}"
            )
        for value in (self.accumulator, self.result):
            integer = as_integer(scalar_of(value.type))
            if integer is None or integer.signedness.data is not Signedness.SIGNLESS:
                raise VerifyException(f"operands and results must be signless integers, but got '{value.type}'")
        (low, high), zero_point = self.limits, self.zero_point.value.data
        bits = cast(IntegerType, scalar_of(self.result.type)).width.data
        lowest, highest = integer_limits(bits)[0], integer_limits(bits, is_signed=False)[1]  # either sign, not both
        least, most = min(low, zero_point), max(high, zero_point)  # narrow limits may exclude the zero point
        if low > high or low < lowest or high > highest or high - low > highest:
            raise VerifyException(f"limits [{low}, {high}] do not fit '{self.result.type}'")
        if least < lowest or most > highest or most - least > highest:
            raise VerifyException(
                f"zero point must be in the range of '{self.result.type}' that has the limits [{low}, {high}], "
                f"but got {zero_point}"
            )


@irdl_op_definition
class ReciprocalRootOp(IRDLOperation):
    """Computes the f32 nearest to `1 / sqrt(x)` for an integer `0 < x < 2^62`, to normalize a row of integers.

    `math-expand` expands the operation to the steps of `qmlir.arithmetic.functions.single`.
    """

    name = "kernel.reciprocal_root"

    value = operand_def(i64)
    result = result_def(f32)

    assembly_format = "$value attr-dict"
    traits = traits_def(Pure())

    def __init__(self, value: SSAValue):
        super().__init__(operands=[value], result_types=[f32])


@irdl_op_definition
class JoinOp(IRDLOperation):
    """Joins four bytes into a 32-bit integer, lowest byte first, such as those read from four lookup tables."""

    name = "kernel.join"

    parts = var_operand_def(i8)
    result = result_def()

    assembly_format = "$parts attr-dict `:` type($result)"
    traits = traits_def(Pure())

    COUNT: ClassVar[int] = 4
    """The number of bytes in the result."""

    def __init__(self, parts: Sequence[SSAValue], result_type: Attribute):
        super().__init__(operands=[list(parts)], result_types=[result_type])

    def verify_(self) -> None:
        if len(self.parts) != self.COUNT or self.result.type not in (i32, f32):
            raise VerifyException(
                f"expected {self.COUNT} bytes per i32 or f32 element, but got {len(self.parts)} for "
                f"'{self.result.type}'"
            )
