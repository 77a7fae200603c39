"""numba types for values in registers: scalars and vectors with LLVM's arithmetic.

numba promotes its own integers to 64 bits in every operation; these integers wrap at their own width. `Register("i32")`
is a scalar, `Register("i32", 16)` a vector of 16 lanes, and `Register("i32", 16, (2, 4))` a tile of 2 x 4 such vectors.
`f16` and `bf16` are represented by their bits.
"""

# numba and llvmlite have no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUntypedBaseClass=false, reportUnknownParameterType=false, reportMissingParameterType=false

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, cast

from llvmlite import ir
from numba import types
from numba.extending import models, register_model

from ..semantics.builder import Builder
from ..semantics.values import FLOATS, IRValue, Type, integer, type_of


@cache
def llvm_type(type_: Type) -> Any:
    """Returns llvmlite's type for `type_`; f16 and bf16 are represented by their bits."""
    if type_.lanes:
        return ir.VectorType(llvm_type(type_.scalar()), type_.lanes)
    match type_.element:
        case "f32":
            return ir.FloatType()
        case "f64":
            return ir.DoubleType()
        case "ptr":
            return ir.IntType(8).as_pointer()
        case _:
            return ir.IntType(type_.bits)


def declared(module: Any, name: str, result: Any, operands: list[Any]) -> Any:
    """Returns the function `name` of an LLVM module, declaring it if necessary."""
    known = module.globals.get(name)
    if known is not None:
        return known
    return ir.Function(module, ir.FunctionType(result, operands), name)


class _Instruction(ir.Instruction):
    """An llvmlite instruction that consists of given text."""

    def __init__(self, block: Any, type_: Any, text: str) -> None:
        super().__init__(block, type_, "", ())
        self._text = text

    def descr(self, buf: list[str]) -> None:
        """Appends the text of the instruction; llvmlite calls this method."""
        buf.append(f"{self._text}\n")


class NumbaBuilder(Builder):
    """Appends the instructions of one operation to the current block of numba's builder."""

    def __init__(self, builder: Any) -> None:
        super().__init__({})
        self._builder = builder
        self._values: dict[str, Any] = {}

    def _write(self, type_: Any, text: str) -> Any:
        block = self._builder.block
        made = _Instruction(block, type_, text)
        block.instructions.append(made)
        self._builder.position_at_end(block)
        return made

    def line(self, text: str) -> None:
        """Appends an instruction without a result."""
        self._write(ir.VoidType(), text)

    def give(self, type_: Type, text: str) -> IRValue:
        """Appends an instruction and returns its result."""
        return self.operand(type_, self._write(llvm_type(type_), text))

    def call(self, name: str, result: Type | None, values: Sequence[IRValue]) -> IRValue:
        """Appends a call of an intrinsic, of a libm function, or of another function of the process."""
        kind = ir.VoidType() if result is None else llvm_type(result)
        declared(self._builder.module, name, kind, [llvm_type(value.type) for value in values])
        return super().call(name, result, values)

    def cast(self, name: str, value: IRValue, type_: Type) -> IRValue:
        """Appends a conversion; folds constant integers."""
        if name in ("trunc", "sext", "zext") and value.text.lstrip("-").isdigit():
            number = int(value.text) % (1 << value.type.bits) if name == "zext" else int(value.text)
            half = 1 << (type_.bits - 1)
            return integer(type_, (number + half) % (2 * half) - half)
        return super().cast(name, value, type_)

    def operand(self, type_: Type, value: Any) -> IRValue:
        """Returns an llvmlite value as an operand."""
        text = value.get_reference()
        self._values[text] = value
        return IRValue(type_, text)

    def value(self, operand: IRValue) -> Any:
        """Returns an operand as an llvmlite value."""
        if operand.text.startswith("%"):
            return self._values[operand.text]
        constant = ir.FormattedConstant(llvm_type(operand.type), operand.text)
        constant.constant = operand.text  # of a vector, llvmlite would repeat it for each lane
        return constant


class Register(types.Type):
    """The numba type of a scalar (0 lanes), a vector, or a tile of vectors."""

    def __init__(self, element: str, lanes: int = 0, tile: tuple[int, ...] = ()) -> None:
        self.element = element
        self.lanes = lanes
        self.tile = tile
        super().__init__(name="x".join(map(str, (element, *tile, *([lanes] if lanes else [])))))

    @property
    def is_float(self) -> bool:
        """True if the elements are floats."""
        return self.element in FLOATS

    @property
    def bits(self) -> int:
        """The width of an element, in bits."""
        return self.type.bits

    @property
    def type(self) -> Type:
        """The LLVM type of a scalar or a vector, or of each vector of a tile.

        It is a property because numba's cache would pickle an attribute.
        """
        return type_of(self.element, self.lanes)

    def of(self, element: str) -> "Register":
        """Returns the type of the same shape with another element."""
        return Register(element, self.lanes, self.tile)

    def over(self, *tile: int) -> "Register":
        """Returns the type of a tile of these vectors; the type of one of them without an argument."""
        return Register(self.element, self.lanes, tile)

    @property
    def count(self) -> int:
        """The number of vectors of a tile; 1 for others."""
        return math.prod(self.tile)


@register_model(Register)
class _RegisterModel(models.PrimitiveModel):
    def __init__(self, manager: Any, register: Any) -> None:
        one = llvm_type(register.type)
        super().__init__(manager, register, ir.ArrayType(one, register.count) if register.tile else one)


INDEX = types.int64
"""The numba type of `index`: numba's own 64-bit integer."""


def as_register(type_: Any) -> Register | None:
    """Returns `type_` as a register type; `index` becomes `i64`. Returns `None` for other types, such as arrays."""
    if isinstance(type_, Register):
        return type_
    return Register("i64") if isinstance(type_, types.Integer) and cast(Any, type_).bitwidth == 64 else None


def written(number: Any) -> int | None:
    """Returns the value of an integer literal, given its numba type; `None` for any other type."""
    return number.literal_value if isinstance(number, types.IntegerLiteral) else None


def type_in_llvm(type_: Any) -> Type:
    """Returns the LLVM type of a register type or of one of numba's own number types."""
    match type_:
        case Register():
            return type_.type
        case types.Float():
            return type_of("f64")
        case types.Boolean():
            return type_of("i1")
        case _:
            return type_of(f"i{type_.bitwidth}")
