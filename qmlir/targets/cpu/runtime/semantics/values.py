"""LLVM IR values, their types (by MLIR's element names), and the text of constants.

f16 and bf16 are represented by their bits, as i16. `index` is i64.
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

HALVES = ("f16", "bf16")
FLOATS = (*HALVES, "f32", "f64")
MEMORY = {
    "int8": "i8", "uint8": "i8", "int16": "i16", "uint16": "i16", "int32": "i32", "uint32": "i32", "int64": "i64",
    "uint64": "i64", "float32": "f32", "float64": "f64",
}  # fmt: skip
"""The element type of arrays of each NumPy type."""

_TEXTS = {"f32": "float", "f64": "double", "f16": "i16", "bf16": "i16", "ptr": "ptr"}


@dataclass(frozen=True)
class Type:
    """A scalar (0 lanes) or vector type. `type_of` creates it, so that equal types are the same object."""

    element: str
    lanes: int
    text: str = field(compare=False)
    """The spelling in LLVM IR."""

    bits: int = field(compare=False)
    """The width of an element, in bits."""

    suffix: str = field(compare=False)
    """The suffix of overloaded LLVM intrinsics, such as `i32` or `v16f32`."""

    @property
    def is_float(self) -> bool:
        """True if the elements are floats, including f16 and bf16."""
        return self.element in FLOATS

    @property
    def is_half(self) -> bool:
        """True if the elements are f16 or bf16, which are represented by their bits."""
        return self.element in HALVES

    def of(self, element: str) -> "Type":
        """Returns the type with the same number of lanes and another element."""
        return type_of(element, self.lanes)

    def scalar(self) -> "Type":
        """Returns the type of one lane."""
        return type_of(self.element)


@cache
def type_of(element: str, lanes: int = 0) -> Type:
    """Returns the type of an element by its MLIR name, or of a vector of `lanes` elements."""
    text = _TEXTS.get(element, element)
    bits = 64 if element == "ptr" else int(element.lstrip("bfi"))
    held = f"i{bits}" if element in HALVES else element
    if not lanes:
        return Type(element, 0, text, bits, held)
    return Type(element, lanes, f"<{lanes} x {text}>", bits, f"v{lanes}{held}")


I1, I8, I32, I64, F32, F64, PTR = (type_of(name) for name in ("i1", "i8", "i32", "i64", "f32", "f64", "ptr"))


class IRValue(NamedTuple):
    """An operand: a constant, or the result of an instruction."""

    type: Type
    text: str

    @property
    def typed(self) -> str:
        """The operand preceded by its type, as in most instructions."""
        return f"{self.type.text} {self.text}"


def integer(type_: Type, number: int) -> IRValue:
    """Returns an integer constant, or a splat of it."""
    text = ("true" if number & 1 else "false") if type_.bits == 1 else str(number)
    return IRValue(type_, f"splat ({type_.scalar().text} {text})" if type_.lanes else text)


def numbers(type_: Type, lanes: Iterable[int]) -> IRValue:
    """Returns a constant vector of the integers `lanes`."""
    scalar = type_.scalar().text
    return IRValue(type_, f"<{', '.join(f'{scalar} {lane}' for lane in lanes)}>")


def _double_text(number: float) -> str:
    return f"0x{struct.pack('>d', number).hex().upper()}"


def _of_f32_bits(bits: int) -> str:
    """Returns LLVM's spelling of the f32 with these bits: the f64 of the same value; a NaN payload is preserved."""
    if bits & 0x7F800000 != 0x7F800000:
        return _double_text(float(np.uint32(bits).view(np.float32)))
    wide = (bits & 0x80000000) << 32 | 0x7FF0000000000000 | (bits & 0x007FFFFF) << 29
    return f"0x{wide:016X}"


def lane_texts(element: str, array: npt.NDArray[np.generic]) -> list[str]:
    """Returns the elements of an array as LLVM constants."""
    if element == "i1":
        return ["true" if each else "false" for each in array.astype(bool).tolist()]
    if element == "f32":
        return [_of_f32_bits(each) for each in array.view(np.uint32).tolist()]
    if element == "f64":
        return [f"0x{each:016X}" for each in array.view(np.uint64).tolist()]
    held = array.view(np.uint16) if element in HALVES else array
    return [str(each) for each in held.tolist()]


def constant(type_: Type, array: npt.NDArray[np.generic]) -> IRValue:
    """Returns a constant with the elements of an array: one for a scalar, otherwise one per lane."""
    texts, scalar = lane_texts(type_.element, array), type_.scalar().text
    if not type_.lanes:
        return IRValue(type_, texts[0])
    if len(set(texts)) == 1:
        return IRValue(type_, f"splat ({scalar} {texts[0]})")
    return IRValue(type_, f"<{', '.join(f'{scalar} {each}' for each in texts)}>")


def number(type_: Type, value: float) -> IRValue:
    """Returns an f32 or f64 constant, or a splat of it."""
    dtype = np.float32 if type_.element == "f32" else np.float64
    return constant(type_, np.full(type_.lanes or 1, value, dtype))


def poison(type_: Type) -> IRValue:
    """Returns a poison value."""
    return IRValue(type_, "poison")
