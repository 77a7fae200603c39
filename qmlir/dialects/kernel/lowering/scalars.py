"""Arithmetic on scalars that builds IR: the bodies of structured operations, written as formulas.

A `Scalar` is a value with its signedness, which signless integers leave to the operations. Both sides of an operator
have one type; a Python number takes the type of the other side.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects import arith, math, tensor
from xdsl.dialects.builtin import (
    AnyFloat,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    f32,
    i1,
)
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, Operation, SSAValue

from qmlir.ir.builtin_types import tensor as tensor_type

Number = int | float
OperationClass = type[Operation]
_BinaryTable = dict[str, tuple[type[Operation], type[Operation], type[Operation]]]

_BINARY: _BinaryTable = {
    "add": (arith.AddfOp, arith.AddiOp, arith.AddiOp),
    "sub": (arith.SubfOp, arith.SubiOp, arith.SubiOp),
    "mul": (arith.MulfOp, arith.MuliOp, arith.MuliOp),
    "div": (arith.DivfOp, arith.DivSIOp, arith.DivUIOp),
    "floordiv": (arith.DivfOp, arith.FloorDivSIOp, arith.DivUIOp),
    "minimum": (arith.MinimumfOp, arith.MinSIOp, arith.MinUIOp),
    "maximum": (arith.MaximumfOp, arith.MaxSIOp, arith.MaxUIOp),
}
"""Operator to its operation on floats, on signed integers and on unsigned ones."""

_INTEGERS_ONLY: _BinaryTable = {
    "rem": (arith.RemSIOp, arith.RemSIOp, arith.RemUIOp),
    "and_": (arith.AndIOp, arith.AndIOp, arith.AndIOp),
    "or_": (arith.OrIOp, arith.OrIOp, arith.OrIOp),
    "xor": (arith.XOrIOp, arith.XOrIOp, arith.XOrIOp),
    "shift_left": (arith.ShLIOp, arith.ShLIOp, arith.ShLIOp),
    "shift_right": (arith.ShRSIOp, arith.ShRSIOp, arith.ShRUIOp),
}

_PREDICATES = {
    "lt": ("olt", "slt", "ult"),
    "le": ("ole", "sle", "ule"),
    "gt": ("ogt", "sgt", "ugt"),
    "ge": ("oge", "sge", "uge"),
    "eq": ("oeq", "eq", "eq"),
    "ne": ("une", "ne", "ne"),
}


@dataclass(frozen=True, eq=False)
class Scalar:
    """A scalar value inside a body; operators build operations at the end of that body."""

    value: SSAValue
    builder: Builder
    unsigned: bool = False

    @property
    def type(self) -> Attribute:
        """The type of the value."""
        return self.value.type

    @property
    def is_float(self) -> bool:
        """Whether the value is a float."""
        return isinstance(self.type, AnyFloat)

    @property
    def bits(self) -> int:
        """The width of the type; that of `index` is 64."""
        type_ = self.type
        return 64 if isinstance(type_, IndexType) else cast(AnyFloat | IntegerType, type_).bitwidth

    def _made(self, op: Operation, unsigned: bool | None = None) -> "Scalar":
        self.builder.insert(op)
        return Scalar(op.results[0], self.builder, self.unsigned if unsigned is None else unsigned)

    def constant(self, number: Number) -> "Scalar":
        """`number` in the type of this value."""
        return constant(self.builder, number, self.type, self.unsigned)

    def _other(self, other: "Scalar | Number") -> "Scalar":
        return other if isinstance(other, Scalar) else self.constant(other)

    def _choice(self) -> int:
        return 0 if self.is_float else 2 if self.unsigned else 1

    def _binary(self, name: str, other: "Scalar | Number", *, is_reversed: bool = False) -> "Scalar":
        operation: Any = (_BINARY | _INTEGERS_ONLY)[name][self._choice()]
        pair = self.value, self._other(other).value
        return self._made(operation(*(reversed(pair) if is_reversed else pair)))

    def __add__(self, other: "Scalar | Number") -> "Scalar":
        return self._binary("add", other)

    def __sub__(self, other: "Scalar | Number") -> "Scalar":
        return self._binary("sub", other)

    def __mul__(self, other: "Scalar | Number") -> "Scalar":
        return self._binary("mul", other)

    def __truediv__(self, other: "Scalar | Number") -> "Scalar":
        return self._binary("div", other)

    def __floordiv__(self, other: "Scalar | Number") -> "Scalar":
        return self._binary("floordiv", other)

    def __mod__(self, other: "Scalar | Number") -> "Scalar":
        return self._binary("rem", other)

    def __and__(self, other: "Scalar | Number") -> "Scalar":
        return self._binary("and_", other)

    def __or__(self, other: "Scalar | Number") -> "Scalar":
        return self._binary("or_", other)

    def __xor__(self, other: "Scalar | Number") -> "Scalar":
        return self._binary("xor", other)

    def __lshift__(self, other: "Scalar | Number") -> "Scalar":
        return self._binary("shift_left", other)

    def __rshift__(self, other: "Scalar | Number") -> "Scalar":
        return self._binary("shift_right", other)

    def __radd__(self, other: Number) -> "Scalar":
        return self._binary("add", other, is_reversed=True)

    def __rsub__(self, other: Number) -> "Scalar":
        return self._binary("sub", other, is_reversed=True)

    def __rmul__(self, other: Number) -> "Scalar":
        return self._binary("mul", other, is_reversed=True)

    def __rtruediv__(self, other: Number) -> "Scalar":
        return self._binary("div", other, is_reversed=True)

    def __neg__(self) -> "Scalar":
        return self._made(arith.NegfOp(self.value)) if self.is_float else self.constant(0) - self

    def minimum(self, other: "Scalar | Number") -> "Scalar":
        """The smaller one; NaN where one of two floats is."""
        return self._binary("minimum", other)

    def maximum(self, other: "Scalar | Number") -> "Scalar":
        """The larger one; NaN where one of two floats is."""
        return self._binary("maximum", other)

    def clamp(self, low: Number, high: Number) -> "Scalar":
        """The value kept between two numbers."""
        return self.maximum(low).minimum(high)

    def compare(self, predicate: str, other: "Scalar | Number") -> "Scalar":
        """Whether `lt`, `le`, `gt`, `ge`, `eq` or `ne` holds, an i1; of NaN only `ne` does."""
        name = _PREDICATES[predicate][self._choice()]
        operation = arith.CmpfOp if self.is_float else arith.CmpiOp
        return self._made(operation(self.value, self._other(other).value, name), unsigned=True)

    def select(self, true: "Scalar", false: "Scalar | Number") -> "Scalar":
        """`true` where this i1 holds, otherwise `false`."""
        other = false if isinstance(false, Scalar) else true.constant(false)
        return self._made(arith.SelectOp(self.value, true.value, other.value), unsigned=true.unsigned)

    def logical_not(self) -> "Scalar":
        """The other i1."""
        return self ^ 1

    def apply(self, operation: OperationClass, *others: "Scalar") -> "Scalar":
        """An operation of `math` on this value, and on others of its type."""
        return self._made(cast(Any, operation)(self.value, *(other.value for other in others)))

    def absolute(self) -> "Scalar":
        """The absolute value."""
        if self.unsigned:
            return self
        return self.apply(math.AbsFOp) if self.is_float else self.maximum(-self)

    def round_even(self) -> "Scalar":
        """The float rounded to a whole number, ties to even."""
        return self.apply(math.RoundEvenOp)

    def bitcast(self, type_: Attribute, unsigned: bool = False) -> "Scalar":
        """The same bits as another type of the same width."""
        return self._made(arith.BitcastOp(self.value, type_), unsigned)

    def to(self, type_: Attribute, unsigned: bool = False) -> "Scalar":
        """The value as another type: floats to integers by cutting off, integers to i1 by comparing with 0.

        Integers are extended by their own sign and lose their high bits; `unsigned` is how the result is read.
        """
        if type_ == self.type:
            return Scalar(self.value, self.builder, unsigned)
        if isinstance(self.type, IndexType) or isinstance(type_, IndexType):
            return self._made(arith.IndexCastOp(self.value, type_), unsigned)
        if isinstance(type_, AnyFloat):
            return self._to_float(type_)
        assert isinstance(type_, IntegerType)
        if type_ == i1:
            return self.compare("ne", 0)
        if self.is_float:
            operation: Any = arith.FPToUIOp if unsigned else arith.FPToSIOp
        elif type_.bitwidth < self.bits:
            operation = arith.TruncIOp
        else:
            operation = arith.ExtUIOp if self.unsigned else arith.ExtSIOp
        return self._made(operation(self.value, type_), unsigned)

    def _to_float(self, type_: AnyFloat) -> "Scalar":
        if not self.is_float:
            operation: Any = arith.UIToFPOp if self.unsigned else arith.SIToFPOp
        elif type_.bitwidth == self.bits:  # f16 and bf16: by way of f32, which holds both
            return self._to_float(f32)._to_float(type_)
        else:
            operation = arith.TruncFOp if type_.bitwidth < self.bits else arith.ExtFOp
        return self._made(operation(self.value, type_), unsigned=False)


def constant(builder: Builder, number: Number, type_: Attribute, unsigned: bool = False) -> Scalar:
    """A number as a scalar of `type_`; an integer out of range is taken modulo its width."""
    if isinstance(type_, AnyFloat):
        rounded = np.float32(number) if type_ == f32 else number
        attribute: Attribute = FloatAttr(float(rounded), type_)
    elif isinstance(type_, IndexType):
        attribute = IntegerAttr(int(number), type_)
    else:
        assert isinstance(type_, IntegerType)
        bits = type_.bitwidth
        wrapped = int(number) & ((1 << bits) - 1)
        is_negative = bits > 1 and wrapped >> (bits - 1)
        value = wrapped - (1 << bits) if is_negative else wrapped
        attribute = IntegerAttr(value, cast(IntegerType, type_))
    op = builder.insert(arith.ConstantOp(cast(Any, attribute)))
    return Scalar(op.result, builder, unsigned)


def position(builder: Builder, axis: int) -> Scalar:
    """Where the body runs along an iterator, as `index`."""
    return Scalar(builder.insert(linalg.IndexOp(axis)).result, builder)


def extracted(builder: Builder, table: SSAValue, places: Sequence[Scalar], unsigned: bool = False) -> Scalar:
    """The element of a whole tensor at `places`, one `index` for each axis; they must lie inside it."""
    element = tensor_type(table.type).get_element_type()
    op = builder.insert(tensor.ExtractOp(table, [place.value for place in places], element))
    return Scalar(op.result, builder, unsigned)


def inserted(builder: Builder, value: Scalar, whole: SSAValue, places: Sequence[Scalar]) -> SSAValue:
    """`whole` with one element put at `places`, which must lie inside it."""
    op = tensor.InsertOp(value.value, whole, [place.value for place in places])
    return builder.insert(op).results[0]


Body = Callable[..., Scalar | Sequence[Scalar]]
"""A formula: scalars in, one scalar or several out."""
