"""Scalar constants in the emitted code: numbers as Python."""

import math

import numpy as np
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IndexType, IntegerAttr
from xdsl.ir import Attribute, Operation

from qmlir.arithmetic.arrays import wrapped
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.emitters.elements import register_name
from qmlir.text.elements import dense_dtype


def literal(op: Operation, value: Attribute) -> tuple[str, tuple[str, ...]]:
    """Returns a scalar constant as Python text, and the runtime operations that it calls."""
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
            raise op_error(op, f"must be a number or dense<…>, but got constant {value}")


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
