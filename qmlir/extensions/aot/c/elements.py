"""Elements in C: the type that holds one, its readings with and without a sign, numbers modulo 2^N, and literals.

An integer of N bits is held sign-extended in the smallest type that has room for it; an `i1` as 0 or 1; `f16` and
`bf16` as their bits.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IndexType, IntegerAttr
from xdsl.ir import Attribute, Operation

from qmlir.arithmetic.arrays import wrapped
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.emitters.elements import memory_name, register_name

_FLOATS = {"f16": "uint16_t", "bf16": "uint16_t", "f32": "float", "f64": "double"}

HALVES = ("f16", "bf16")


@dataclass(frozen=True)
class CElement:
    """An element type, by its name in registers: `i32`, `index`, `f16`."""

    name: str

    @property
    def is_float(self) -> bool:
        """Whether it is a float."""
        return self.name in _FLOATS

    @property
    def is_half(self) -> bool:
        """Whether it is held as its bits."""
        return self.name in HALVES

    @cached_property
    def bits(self) -> int:
        """Its width."""
        return 64 if self.name == "index" else int(self.name.lstrip("bfi"))

    @cached_property
    def held_bits(self) -> int:
        """The width of the type that holds it."""
        return max(8, 1 << (self.bits - 1).bit_length())

    @property
    def type(self) -> str:
        """The type that holds it."""
        if self.is_float:
            return _FLOATS[self.name]
        return "uint8_t" if self.bits == 1 else f"int{self.held_bits}_t"

    @property
    def wide(self) -> str:
        """The type without a sign in which it is computed: no smaller one, which C would make an `int`."""
        return f"uint{max(32, self.held_bits)}_t"

    def signed(self, text: str) -> str:
        """An integer with its sign, as a number in C."""
        return f"-(int32_t){text}" if self.bits == 1 else text

    def unsigned(self, text: str) -> str:
        """An integer without a sign, as a number in C."""
        if self.bits == 1:
            return text
        if self.bits == self.held_bits:
            return f"(uint{self.held_bits}_t){text}"
        return f"(({self.wide}){text} & {(1 << self.bits) - 1}u)"

    def wrapped(self, text: str) -> str:
        """The integer that equals `text`, which is computed without a sign, modulo 2^N."""
        if self.bits == 1:
            return f"(uint8_t)(({text}) & 1)"
        if self.bits == self.held_bits:
            return f"({self.type})({text})"
        width = max(32, self.held_bits)
        return f"({self.type})((int{width}_t)(({self.wide})({text}) << {width - self.bits}) >> {width - self.bits})"


def element_of(op: Operation, type_: Attribute) -> CElement:
    """The element of a scalar or a vector. Raises `DiagnosticError` for one that has no compiled form."""
    return CElement(register_name(op, type_))


_MEMORY = {"float32": "float", "float64": "double", "uint16": "uint16_t"}


def memory_type(op: Operation, element: Attribute) -> str:
    """The type of elements in memory."""
    name = memory_name(op, element)
    return _MEMORY[name] if name in _MEMORY else f"{name}_t" if name.startswith("int") else "int8_t"


def integer_literal(number: int) -> str:
    """An integer of up to 64 bits."""
    if -(1 << 31) < number < 1 << 31:
        return str(number)
    if number == -(1 << 63):
        return f"(-INT64_C({-(number + 1)}) - 1)"
    return f"INT64_C({number})" if number >= 0 else f"(-INT64_C({-number}))"


def float_literal(number: float, element: CElement) -> str | None:
    """A float that C reads as the same bits; `None` for what is not finite."""
    if not math.isfinite(number):
        return None
    return f"{np.float32(number)!s}f" if element.name == "f32" else repr(float(number))


def float_bits(number: float, type_: AnyFloat) -> int:
    """The bits of a float."""
    return int.from_bytes(type_.pack((number,)), "little")


def number_of(op: Operation, value: Attribute) -> tuple[CElement, int | float, AnyFloat | None]:
    """A scalar constant: its element, its number modulo 2^N, and its type where it is a float."""
    match value:
        case IntegerAttr():
            element = CElement("index") if isinstance(value.type, IndexType) else element_of(op, value.type)
            number = value.value.data
            return element, (number & 1 if element.bits == 1 else wrapped(number, element.bits)), None
        case FloatAttr():
            return element_of(op, value.type), value.value.data, value.type
        case _:
            raise op_error(op, f"must be a number or dense<…>, but got constant {value}")


def array_literals(array: Any) -> tuple[str, list[str]]:
    """The type and the elements of a constant array: floats that are not finite make it one of bits."""
    flat = array.reshape(-1)
    if flat.dtype.kind in "iu" or flat.dtype.itemsize < 4:
        kind = {1: "int8_t", 2: "int16_t", 4: "int32_t", 8: "int64_t"}[flat.dtype.itemsize]
        if flat.dtype.kind not in "iu" and flat.dtype.itemsize == 2:
            return "uint16_t", [str(each) for each in flat.view(np.uint16)]
        return kind, [integer_literal(int(each)) for each in flat.view(f"i{flat.dtype.itemsize}")]
    if not np.isfinite(flat).all():
        bits = flat.view(f"u{flat.dtype.itemsize}")
        return f"uint{8 * flat.dtype.itemsize}_t", [f"{int(each):#x}u" for each in bits]
    if flat.dtype.itemsize == 4:
        return "float", [f"{each!s}f" for each in flat]
    return "double", [repr(float(each)) for each in flat]
