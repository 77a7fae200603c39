"""Elements in C: storage types, signed and unsigned values, arithmetic modulo 2^N, and literals.

An integer of N bits is stored sign-extended in the smallest C type that can hold it. An `i1` is stored as 0 or 1, and
`f16` and `bf16` as their bits.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from xdsl.ir import Attribute, Operation

from qmlir.targets.cpu.emitters.elements import memory_name, register_name

_FLOATS = {"f16": "uint16_t", "bf16": "uint16_t", "f32": "float", "f64": "double"}

HALVES = ("f16", "bf16")


@dataclass(frozen=True)
class CElement:
    """An element type, by its name in registers, such as `i32`, `index` or `f16`."""

    name: str

    @property
    def is_float(self) -> bool:
        """True for a floating-point type."""
        return self.name in _FLOATS

    @property
    def is_half(self) -> bool:
        """True for a 16-bit float, which is stored as its bits."""
        return self.name in HALVES

    @cached_property
    def bits(self) -> int:
        """The width in bits."""
        return 64 if self.name == "index" else int(self.name.lstrip("bfi"))

    @cached_property
    def held_bits(self) -> int:
        """The width of its storage type in bits."""
        return max(8, 1 << (self.bits - 1).bit_length())

    @property
    def type(self) -> str:
        """The C type that stores an element."""
        if self.is_float:
            return _FLOATS[self.name]
        return "uint8_t" if self.bits == 1 else f"int{self.held_bits}_t"

    @property
    def wide(self) -> str:
        """The unsigned C type for arithmetic: at least 32 bits, because C promotes smaller types to `int`."""
        return f"uint{max(32, self.held_bits)}_t"

    def signed(self, text: str) -> str:
        """Returns a C expression for the signed value of the element `text`."""
        return f"-(int32_t){text}" if self.bits == 1 else text

    def unsigned(self, text: str) -> str:
        """Returns a C expression for the unsigned value of the element `text`."""
        if self.bits == 1:
            return text
        if self.bits == self.held_bits:
            return f"(uint{self.held_bits}_t){text}"
        return f"(({self.wide}){text} & {(1 << self.bits) - 1}u)"

    def wrapped(self, text: str) -> str:
        """Returns a C expression for the element that equals the unsigned expression `text` modulo 2^N."""
        if self.bits == 1:
            return f"(uint8_t)(({text}) & 1)"
        if self.bits == self.held_bits:
            return f"({self.type})({text})"
        width = max(32, self.held_bits)
        return f"({self.type})((int{width}_t)(({self.wide})({text}) << {width - self.bits}) >> {width - self.bits})"


def element_of(op: Operation, type_: Attribute) -> CElement:
    """Returns the element type of a scalar or a vector. Raises `DiagnosticError` if it cannot be compiled."""
    return CElement(register_name(op, type_))


_MEMORY = {"float32": "float", "float64": "double", "uint16": "uint16_t"}


def memory_type(op: Operation, element: Attribute) -> str:
    """Returns the C type of elements in memory."""
    name = memory_name(op, element)
    return _MEMORY[name] if name in _MEMORY else f"{name}_t" if name.startswith("int") else "int8_t"


def integer_literal(number: int) -> str:
    """Returns the C literal of an integer of up to 64 bits."""
    if -(1 << 31) < number < 1 << 31:
        return str(number)
    if number == -(1 << 63):
        return f"(-INT64_C({-(number + 1)}) - 1)"
    return f"INT64_C({number})" if number >= 0 else f"(-INT64_C({-number}))"


def array_literals(array: Any) -> tuple[str, list[str]]:
    """Returns the C type and the literals of a constant array.

    An array with floats that are not finite is written as bits.
    """
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
