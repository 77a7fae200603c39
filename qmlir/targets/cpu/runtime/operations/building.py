"""Inserts the textual instructions of `Builder` into functions that numba lowers, as llvmlite instructions."""

# numba and llvmlite have no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUntypedBaseClass=false

from collections.abc import Sequence
from functools import cache
from typing import Any

from llvmlite import ir

from ..semantics.builder import Builder
from ..semantics.values import IRValue, Type, integer


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
