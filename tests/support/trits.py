"""A plug-in with types of its own: elements that integers, unsigned integers and floats hold, and a container."""

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.dialects.builtin import AnyFloat, ArrayAttr, Float32Type, IntegerType, Signedness, TensorType, f32, i8
from xdsl.ir import Attribute, Dialect, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    param_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure
from xdsl.universe import Universe

from qmlir.dialects.kernel.lowering.lowering import Lowering
from qmlir.dialects.kernel.lowering.scalars import Scalar
from qmlir.ir.builtin_types import tensor
from qmlir.ir.interfaces import Container, HeldElement
from qmlir.registry import INTERFACE, Contribution


@irdl_attr_definition
class TritType(ParametrizedAttribute, HeldElement):
    """-1, 0 or 1, in a byte."""

    name = "trit.t"

    @property
    def held_as(self) -> AnyFloat | IntegerType:
        return i8

    @property
    def limits(self) -> tuple[int, int]:
        return (-1, 1)


@irdl_attr_definition
class ShadeType(ParametrizedAttribute, HeldElement):
    """0 to 255, in a byte without a sign."""

    name = "trit.shade"

    @property
    def held_as(self) -> AnyFloat | IntegerType:
        return IntegerType(8, Signedness.UNSIGNED)


@irdl_attr_definition
class ShareType(ParametrizedAttribute, HeldElement):
    """A float of another name."""

    name = "trit.share"

    @property
    def held_as(self) -> AnyFloat | IntegerType:
        return f32


@irdl_attr_definition
class TupleType(ParametrizedAttribute, Container):
    """Values of these types, as many."""

    name = "trit.tuple"

    types: ArrayAttr[Attribute] = param_def()

    @property
    def count(self) -> int:
        return len(self.types)

    def part(self, position: int) -> TypeAttribute:
        found = self.types.data[position]
        assert isinstance(found, TypeAttribute)
        return found

    def with_parts(self, converted: Callable[[TypeAttribute], TypeAttribute]) -> TypeAttribute:
        return TupleType(ArrayAttr([converted(self.part(position)) for position in range(self.count)]))


class _Elementwise(IRDLOperation):
    x = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(Pure())
    assembly_format = "$x attr-dict `:` type($x) `->` type($result)"


@irdl_op_definition
class OfOp(_Elementwise):
    """The sign of floats."""

    name = "trit.of"


@irdl_op_definition
class ToOp(_Elementwise):
    """Numbers, as floats."""

    name = "trit.to"


@irdl_op_definition
class PackOp(IRDLOperation):
    name = "trit.pack"

    parts = var_operand_def()
    result = result_def(TupleType)

    traits = traits_def(Pure())
    assembly_format = "$parts attr-dict `:` type($parts) `->` type($result)"


@irdl_op_definition
class UnpackOp(IRDLOperation):
    name = "trit.unpack"

    x = operand_def(TupleType)
    parts = var_result_def()

    traits = traits_def(Pure())
    assembly_format = "$x attr-dict `:` type($x) `->` type($parts)"


def _lower_of(op: OfOp, at: Lowering) -> Sequence[SSAValue]:
    shape = tensor(op.x.type).get_shape()

    def body(x: Scalar) -> Scalar:
        return (x > 0).select(x.constant(1), (x < 0).select(x.constant(-1), 0)).to(i8)

    return [at.compute([at.broadcast(at.value(op.x), shape)], shape, i8, body)]


def _lower_to(op: ToOp, at: Lowering) -> Sequence[SSAValue]:
    element = tensor(op.x.type).element_type
    assert isinstance(element, HeldElement)
    shape, held = tensor(op.x.type).get_shape(), element.held_as
    unsigned = isinstance(held, IntegerType) and held.signedness.data is Signedness.UNSIGNED
    value = at.broadcast(at.value(op.x), shape, unsigned)
    return [at.compute([value], shape, f32, lambda x: x if isinstance(held, AnyFloat) else x.to(Float32Type()))]


EVALUATORS = {
    OfOp: lambda op, x: (np.sign(x).astype(np.int8),),
    ToOp: lambda op, x: (x.astype(np.float32),),
    PackOp: lambda op, parts: (tuple(parts),),
    UnpackOp: lambda op, x: x,
}
LOWERINGS = {OfOp: _lower_of, ToOp: _lower_to}
TRIT = Dialect("trit", [OfOp, ToOp, PackOp, UnpackOp], [TritType, ShadeType, ShareType, TupleType])
UNIVERSE = Universe(all_dialects={"trit": lambda: TRIT})
CONTRIBUTION = Contribution(
    evaluators={"trit": "tests.support.trits:EVALUATORS"},
    lowerings={"trit": "tests.support.trits:LOWERINGS"},
    built_for=INTERFACE,
)
