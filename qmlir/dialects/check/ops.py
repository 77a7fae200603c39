"""Test assertions: two values are equal, or differ by at most a tolerance."""

from typing import ClassVar

from xdsl.dialects.builtin import AnyFloat, FloatAttr, MemRefType, TensorType, f64
from xdsl.ir import Attribute
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    traits_def,
)
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.quant.infer import element_type
from qmlir.ir.interfaces import HasSideEffect


class ExpectationOp(IRDLOperation):
    """An assertion on two tensors or memrefs of one type, of which the second is the expected value."""

    T: ClassVar = VarConstraint("T", base(TensorType[Attribute]) | base(MemRefType[Attribute]))

    actual = operand_def(T)
    expected = operand_def(T)

    traits = traits_def(HasSideEffect())


@irdl_op_definition
class ExpectEqOp(ExpectationOp):
    """Asserts that all elements are equal: integers and stored values by their bits, floats by their values.

    NaN equals NaN, and -0.0 equals 0.0.
    """

    name = "check.expect_eq"

    assembly_format = "$actual `,` $expected attr-dict `:` type($actual)"


@irdl_op_definition
class ExpectCloseOp(ExpectationOp):
    """Asserts `|actual - expected| <= absolute + relative * |expected|` for all float elements; NaN equals NaN."""

    name = "check.expect_close"

    irdl_options = (ParsePropInAttrDict(),)

    relative = opt_prop_def(FloatAttr, FloatAttr(0.0, f64))
    absolute = opt_prop_def(FloatAttr, FloatAttr(0.0, f64))

    assembly_format = "$actual `,` $expected attr-dict `:` type($actual)"

    def verify_(self) -> None:
        if not isinstance(element_type(self.actual.type), AnyFloat):
            raise VerifyException(
                f"operands must be floats, but got '{self.actual.type}'; use check.expect_eq for integers"
            )
        for name, bound in (("relative", self.relative), ("absolute", self.absolute)):
            if not bound.value.data >= 0:
                raise VerifyException(f"{name} must be >= 0, but got {bound.value.data}")
