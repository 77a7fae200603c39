"""Element types in the emitted code: the name of the register, the array that holds them in memory, and literals."""

import math

import numpy as np
from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    i1,
)
from xdsl.ir import Attribute, Operation

from qmlir.arithmetic.integers import wrapped
from qmlir.dialects.simd.base import as_vector
from qmlir.ir.builtin_types import as_integer
from qmlir.ir.diagnostics import op_error
from qmlir.ir.small_floats import as_small_float
from qmlir.text.elements import dense_dtype

_FLOATS: dict[type[Attribute], str] = {
    Float16Type: "f16",
    BFloat16Type: "bf16",
    Float32Type: "f32",
    Float64Type: "f64",
}


def register_name(op: Operation, type_: Attribute) -> str:
    """The name of an element type in registers. Raises `DiagnosticError` where there is none."""
    vector = as_vector(type_)
    element = type_ if vector is None else vector.get_element_type()
    if isinstance(element, IndexType):
        return "index" if vector is None else "i64"
    integer = as_integer(element)
    if integer is not None and 1 <= integer.width.data <= 64:
        return f"i{integer.width.data}"
    if type(element) in _FLOATS:
        return _FLOATS[type(element)]
    raise op_error(op, f"has a value of {type_}: compiled are integers of up to 64 bits, f16, bf16, f32, f64 and index")


def memory_name(op: Operation, element: Attribute) -> str:
    """The NumPy type of flat arrays of an element type, as compiled code sees them: short floats as their bits."""
    dtype = dense_dtype(element)
    if dtype is None:
        raise op_error(op, f"has memory of {element}, which no NumPy type holds")
    return "uint16" if isinstance(element, Float16Type | BFloat16Type) else str(dtype).replace("uint", "int")


def caller_dtype(op: Operation, element: Attribute) -> str:
    """The NumPy type of the caller's array."""
    dtype = dense_dtype(element)
    if dtype is None:
        raise op_error(op, f"has elements of {element}, which no NumPy type holds")
    return "bool" if element == i1 else str(dtype)


def unfilled_bits(element: Attribute) -> int:
    """The width of elements that do not fill those of the caller's array, integers or bits of floats; 0 for others."""
    held = as_integer(element) or as_small_float(element)
    if held is None or element == i1:
        return 0
    return held.bitwidth if held.bitwidth < 8 * item_size(element) else 0


def item_size(element: Attribute) -> int:
    """The bytes of an element in memory."""
    dtype = dense_dtype(element)
    assert dtype is not None
    return dtype.itemsize


def literal(op: Operation, value: Attribute) -> tuple[str, tuple[str, ...]]:
    """A scalar constant as Python, and the operations that it calls."""
    match value:
        case IntegerAttr() if isinstance(value.type, IndexType):
            return str(value.value.data), ()
        case IntegerAttr():
            name = register_name(op, value.type)
            bits = int(name[1:])
            return f"{name}({wrapped(value.value.data, bits)})", (name,)
        case FloatAttr():
            name = register_name(op, value.type)
            return _float_literal(name, value.value.data, value.type)
        case _:
            raise op_error(op, f"is the constant {value}: compiled are numbers and dense<…>")


def _float_literal(name: str, number: float, element: AnyFloat) -> tuple[str, tuple[str, ...]]:
    if math.isfinite(number):
        dtype = dense_dtype(element)
        short = str(np.float32(number)) if name == "f32" else repr(float(number))
        assert dtype is not None
        # The compiler reads a literal as f64: a short text is kept only where that rounds to the same value.
        if name == "f32" and np.float32(float(short)) != np.float32(number):
            short = repr(float(number))
        return f"{name}({short})", (name,)
    bits = int.from_bytes(element.pack((number,)), "little", signed=True)
    integer = f"i{element.bitwidth}"
    return f"bits_{name}({integer}({bits}))", (f"bits_{name}", integer)
