"""Arithmetic that builds IR, written as formulas: a builder of `arith` operations, and values with operators.

An `ArithBuilder` creates operations on scalars; its subclasses insert constants elsewhere, or operate on vector lanes.
A `Scalar` is a value together with its signedness, which signless integers do not carry. Both operands of an operator
must have the same type; a Python number takes the type of the other operand. `STEPS` evaluates the definitions in
`qmlir.arithmetic.functions` on scalars, so that the IR performs the same steps as NumPy.
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
    f64,
    i1,
    i32,
    i64,
)
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, Operation, SSAValue

from qmlir.arithmetic.arrays import wrapped
from qmlir.arithmetic.functions.steps import FunctionSteps
from qmlir.dialects.kernel.ops import scalar_of
from qmlir.ir.builtin_types import tensor as tensor_type

Number = int | float
OperationClass = type[Operation]

_BINARY: dict[str, tuple[OperationClass, OperationClass, OperationClass]] = {
    "add": (arith.AddfOp, arith.AddiOp, arith.AddiOp),
    "sub": (arith.SubfOp, arith.SubiOp, arith.SubiOp),
    "mul": (arith.MulfOp, arith.MuliOp, arith.MuliOp),
    "div": (arith.DivfOp, arith.DivSIOp, arith.DivUIOp),
    "floordiv": (arith.DivfOp, arith.FloorDivSIOp, arith.DivUIOp),
    "minimum": (arith.MinimumfOp, arith.MinSIOp, arith.MinUIOp),
    "maximum": (arith.MaximumfOp, arith.MaxSIOp, arith.MaxUIOp),
    "rem": (arith.RemSIOp, arith.RemSIOp, arith.RemUIOp),
    "and_": (arith.AndIOp, arith.AndIOp, arith.AndIOp),
    "or_": (arith.OrIOp, arith.OrIOp, arith.OrIOp),
    "xor": (arith.XOrIOp, arith.XOrIOp, arith.XOrIOp),
    "shift_left": (arith.ShLIOp, arith.ShLIOp, arith.ShLIOp),
    "shift_right": (arith.ShRSIOp, arith.ShRSIOp, arith.ShRUIOp),
}
"""The operation classes of each operator, for floats, signed integers and unsigned integers."""

_PREDICATES = {
    "lt": ("olt", "slt", "ult"),
    "le": ("ole", "sle", "ule"),
    "gt": ("ogt", "sgt", "ugt"),
    "ge": ("oge", "sge", "uge"),
    "eq": ("oeq", "eq", "eq"),
    "ne": ("une", "ne", "ne"),
}


def number_attribute(number: Number, type_: Attribute) -> FloatAttr[Any] | IntegerAttr[Any]:
    """Returns the constant attribute of `number` for a float type, an integer type (modulo its width) or `index`."""
    if isinstance(type_, AnyFloat):
        return FloatAttr(float(np.float32(number) if type_ == f32 else number), type_)
    if isinstance(type_, IndexType):
        return IntegerAttr(int(number), type_)
    assert isinstance(type_, IntegerType)
    value = wrapped(int(number), type_.bitwidth, is_signed=type_ != i1)
    return IntegerAttr(value, cast(IntegerType, type_))


class ArithBuilder:
    """Creates `arith` operations at the insertion point of `builder`; calls do not share constants.

    A subclass for vectors overrides `typed` (the value type for an element type), `constant`, `convert`, `compare` and
    `select`; all other methods work for both scalars and vectors.
    """

    def __init__(self, builder: Builder):
        self.builder = builder

    def insert(self, op: Operation) -> SSAValue:
        """Inserts `op` and returns its first result."""
        self.builder.insert(op)
        return op.results[0]

    def typed(self, element: Attribute) -> Attribute:
        """Returns the type of values that have elements of type `element` in this builder."""
        return element

    def scalar_constant(self, number: Number, element: Attribute) -> SSAValue:
        """Creates a scalar constant of an integer, index or float type."""
        return self.insert(arith.ConstantOp(number_attribute(number, element)))

    def constant(self, number: Number, element: Attribute) -> SSAValue:
        """Creates a constant that is equal in all lanes."""
        return self.scalar_constant(number, element)

    def binary(self, kind: type[Operation], a: SSAValue, b: SSAValue) -> SSAValue:
        """Creates a binary operation on two operands of the same type, scalars or vectors."""
        return self.insert(kind.create(operands=(a, b), result_types=(a.type,)))

    def convert(self, kind: type[Operation], value: SSAValue, element: Attribute) -> SSAValue:
        """Creates an `arith` conversion (`ExtSIOp`, `SIToFPOp`, …) to element type `element`."""
        return self.insert(kind.create(operands=(value,), result_types=(self.typed(element),)))

    def compare(self, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        """Creates a comparison with a predicate as in `arith.cmpi` or `arith.cmpf`."""
        kind = arith.CmpfOp if isinstance(scalar_of(a.type), AnyFloat) else arith.CmpiOp
        return self.insert(kind(a, b, predicate))

    def select(self, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
        """Creates a select: `a` if the condition is true, otherwise `b`."""
        return self.insert(arith.SelectOp(condition, a, b))


def _operator(name: str, *, is_reversed: bool = False) -> "Callable[[Scalar, Scalar | Number], Scalar]":
    """Returns the method of an operator, a row of the table; `is_reversed` exchanges its operands."""

    def method(self: "Scalar", other: "Scalar | Number") -> "Scalar":
        return self.binary(name, other, is_reversed=is_reversed)

    return method


@dataclass(frozen=True, eq=False)
class Scalar:
    """A scalar or vector value whose operators create operations at the insertion point of `builder`."""

    value: SSAValue
    builder: ArithBuilder
    unsigned: bool = False

    @property
    def type(self) -> Attribute:
        """The element type of the value."""
        return scalar_of(self.value.type)

    @property
    def is_float(self) -> bool:
        """Whether the value is a float."""
        return isinstance(self.type, AnyFloat)

    @property
    def bits(self) -> int:
        """The width of the element type in bits; `index` counts as 64."""
        type_ = self.type
        return 64 if isinstance(type_, IndexType) else cast(AnyFloat | IntegerType, type_).bitwidth

    def made(self, value: SSAValue, unsigned: bool | None = None) -> "Scalar":
        """Wraps another value of this builder; it inherits the signedness unless `unsigned` is given."""
        return Scalar(value, self.builder, self.unsigned if unsigned is None else unsigned)

    def constant(self, number: Number) -> "Scalar":
        """Returns `number` as a constant of this value's type."""
        return self.made(self.builder.constant(number, self.type))

    def _other(self, other: "Scalar | Number") -> "Scalar":
        return other if isinstance(other, Scalar) else self.constant(other)

    def _choice(self) -> int:
        return 0 if self.is_float else 2 if self.unsigned else 1

    def binary(self, name: str, other: "Scalar | Number", *, is_reversed: bool = False) -> "Scalar":
        """Applies the operator `name` of the table to this value and another one."""
        operation = _BINARY[name][self._choice()]
        pair = self.value, self._other(other).value
        return self.made(self.builder.binary(operation, *(reversed(pair) if is_reversed else pair)))

    __add__ = _operator("add")
    __sub__ = _operator("sub")
    __mul__ = _operator("mul")
    __truediv__ = _operator("div")
    __floordiv__ = _operator("floordiv")
    __mod__ = _operator("rem")
    __and__ = _operator("and_")
    __or__ = _operator("or_")
    __xor__ = _operator("xor")
    __lshift__ = _operator("shift_left")
    __rshift__ = _operator("shift_right")
    __radd__ = _operator("add", is_reversed=True)
    __rsub__ = _operator("sub", is_reversed=True)
    __rmul__ = _operator("mul", is_reversed=True)
    __rtruediv__ = _operator("div", is_reversed=True)

    def __neg__(self) -> "Scalar":
        return self.apply(arith.NegfOp) if self.is_float else self.constant(0) - self

    def minimum(self, other: "Scalar | Number") -> "Scalar":
        """Returns the minimum of two values; NaN if either float is NaN."""
        return self.binary("minimum", other)

    def maximum(self, other: "Scalar | Number") -> "Scalar":
        """Returns the maximum of two values; NaN if either float is NaN."""
        return self.binary("maximum", other)

    def clamp(self, low: Number, high: Number) -> "Scalar":
        """Returns the value clamped to `[low, high]`."""
        return self.maximum(low).minimum(high)

    def compare(self, predicate: str, other: "Scalar | Number") -> "Scalar":
        """Compares with `lt`, `le`, `gt`, `ge`, `eq` or `ne`, and returns an i1; for NaN, only `ne` is true."""
        name = _PREDICATES[predicate][self._choice()]
        return self.made(self.builder.compare(name, self.value, self._other(other).value), unsigned=True)

    def __lt__(self, other: "Scalar | Number") -> "Scalar":
        return self.compare("lt", other)

    def __le__(self, other: "Scalar | Number") -> "Scalar":
        return self.compare("le", other)

    def __gt__(self, other: "Scalar | Number") -> "Scalar":
        return self.compare("gt", other)

    def __ge__(self, other: "Scalar | Number") -> "Scalar":
        return self.compare("ge", other)

    def __eq__(self, other: object) -> Any:
        return self.compare("eq", cast(Any, other))

    def __ne__(self, other: object) -> Any:
        return self.compare("ne", cast(Any, other))

    def __bool__(self) -> bool:
        raise TypeError("IR values have no truth value while a kernel is built")

    def select(self, true: "Scalar", false: "Scalar | Number") -> "Scalar":
        """Returns `true` if this i1 is set, otherwise `false`."""
        other = true._other(false)
        return true.made(self.builder.select(self.value, true.value, other.value))

    def logical_not(self) -> "Scalar":
        """Returns the negation of this i1."""
        return self ^ 1

    def apply(self, operation: OperationClass, *others: "Scalar") -> "Scalar":
        """Applies an operation to this value and others of its type; the result has the same type."""
        return self.made(self.builder.insert(cast(Any, operation)(self.value, *(other.value for other in others))))

    def absolute(self) -> "Scalar":
        """Returns the absolute value of a float or integer."""
        if self.unsigned:
            return self
        return self.apply(math.AbsFOp) if self.is_float else self.maximum(-self)

    def round_even(self) -> "Scalar":
        """Rounds a float to an integral value, ties to even."""
        return self.apply(math.RoundEvenOp)

    def bitcast(self, type_: Attribute, unsigned: bool = False) -> "Scalar":
        """Reinterprets the bits as another type of the same width."""
        return self._converted(arith.BitcastOp, type_, unsigned)

    def _converted(self, operation: OperationClass, type_: Attribute, unsigned: bool = False) -> "Scalar":
        return self.made(self.builder.convert(operation, self.value, type_), unsigned)

    def over_row(self, reduction: OperationClass, row: Sequence[int]) -> "Scalar":
        """Reduces this value over the row that the iterators `row` span."""
        return self.made(self.builder.insert(cast(Any, reduction)(self.value, row)))

    def to(self, type_: Attribute, unsigned: bool = False) -> "Scalar":
        """Converts the value: floats to integers by truncation, integers to i1 by comparison with 0.

        Wider integers are sign- or zero-extended according to this value's signedness; narrower ones keep the low bits.
        `unsigned` is the signedness of the result.
        """
        if type_ == self.type:
            return self.made(self.value, unsigned)
        if isinstance(self.type, IndexType) or isinstance(type_, IndexType):
            return self._converted(arith.IndexCastOp, type_, unsigned)
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
        return self._converted(operation, cast(IntegerType, type_), unsigned)

    def _to_float(self, type_: AnyFloat) -> "Scalar":
        if not self.is_float:
            operation: Any = arith.UIToFPOp if self.unsigned else arith.SIToFPOp
        elif type_.bitwidth == self.bits:  # f16 and bf16: through f32, which represents both
            return self._to_float(f32)._to_float(type_)
        else:
            operation = arith.TruncFOp if type_.bitwidth < self.bits else arith.ExtFOp
        return self._converted(operation, type_)


_MATH = {operation.name: operation for operation in math.Math.operations}
_SAME_SIZE: dict[Attribute, Attribute] = {f32: i32, i32: f32, f64: i64, i64: f64}


class _ScalarSteps:
    """Implements the steps of definitions and formulas on scalars by creating operations."""

    def constant(self, number: float, like: Scalar) -> Scalar:
        return like.constant(number)

    def where(self, condition: Scalar, chosen: Scalar | Number, otherwise: Scalar | Number) -> Scalar:
        if isinstance(chosen, Scalar):
            return condition.select(chosen, otherwise)
        assert isinstance(otherwise, Scalar)
        return condition.select(otherwise.constant(chosen), otherwise)

    def sqrt(self, x: Scalar) -> Scalar:
        return x.apply(math.SqrtOp)

    def round_even(self, x: Scalar) -> Scalar:
        return x.round_even()

    def absolute(self, x: Scalar) -> Scalar:
        return x.absolute()

    def copysign(self, x: Scalar | Number, sign: Scalar) -> Scalar:
        value = x if isinstance(x, Scalar) else sign.constant(x)
        return value.apply(math.CopySignOp, sign)

    def bits(self, x: Scalar) -> Scalar:
        return x.bitcast(_SAME_SIZE[x.type])

    of_bits = bits

    def shift_in_zeros(self, x: Scalar, count: Scalar | Number) -> Scalar:
        amount = count if isinstance(count, Scalar) else x.constant(count)
        return x.apply(arith.ShRUIOp, amount)

    def wide(self, x: Scalar) -> Scalar:
        return x.to(f64 if x.is_float else i64)

    def narrow(self, x: Scalar) -> Scalar:
        return x.to(f32)

    def real(self, x: Scalar) -> Scalar:
        return x.to(f64)

    def whole(self, x: Scalar) -> Scalar:
        return x.to(i64)

    def function(self, name: str, *operands: Scalar) -> Scalar:
        first, *others = operands
        return first.apply(_MATH[f"math.{name}"], *others)

    def floor(self, x: Scalar) -> Scalar:
        return x.apply(math.FloorOp)

    def ceil(self, x: Scalar) -> Scalar:
        return x.apply(math.CeilOp)

    def maximum(self, x: Scalar, other: Scalar | Number) -> Scalar:
        return x.maximum(other)

    def minimum(self, x: Scalar, other: Scalar | Number) -> Scalar:
        return x.minimum(other)


STEPS: FunctionSteps = _ScalarSteps()


def constant(builder: ArithBuilder, number: Number, type_: Attribute, unsigned: bool = False) -> Scalar:
    """Returns a constant scalar of type `type_`."""
    return Scalar(builder.constant(number, type_), builder, unsigned)


def position(builder: ArithBuilder, axis: int) -> Scalar:
    """Returns the current index of an iterator in a `linalg.generic` body, as `index`."""
    return Scalar(builder.insert(linalg.IndexOp(axis)), builder)


def extracted(builder: ArithBuilder, table: SSAValue, positions: Sequence[Scalar], unsigned: bool = False) -> Scalar:
    """Returns the element of a tensor at the indices `positions`, one `index` per axis; they must be in bounds."""
    element = tensor_type(table.type).get_element_type()
    op = tensor.ExtractOp(table, [index.value for index in positions], element)
    return Scalar(builder.insert(op), builder, unsigned)


def inserted(builder: ArithBuilder, value: Scalar, whole: SSAValue, positions: Sequence[Scalar]) -> SSAValue:
    """Returns `whole` with the element at the indices `positions` replaced; they must be in bounds."""
    op = tensor.InsertOp(value.value, whole, [index.value for index in positions])
    return builder.insert(op)


Body = Callable[..., Scalar | Sequence[Scalar]]
"""A formula that computes one or more scalars from scalars."""
