"""Emits `arith` and `math`, and the conversions and comparisons of `simd`, as Python operators and calls.

Tables map each operation to its operator or runtime function.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IndexType, IntegerAttr
from xdsl.dialects.math import Math
from xdsl.ir import Attribute, Operation, SSAValue

from qmlir.arithmetic.arrays import wrapped
from qmlir.dialects.simd.base import as_vector
from qmlir.dialects.simd.lanes import Conversion
from qmlir.ir.builtin_types import AnyDense, as_dense
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.emitters.elements import common_lane, lanes_of_constant, memory_name, register_name
from qmlir.targets.cpu.emitters.numba.function import FunctionWriter
from qmlir.targets.cpu.emitters.writing import (
    COMPARISONS,
    CONVERSIONS,
    UNSIGNED,
    Text,
    conversion_of,
    mnemonic,
    name_text,
    predicate_of,
    reads_of,
)
from qmlir.targets.cpu.runtime import operations

INFIX: Mapping[type[Operation], str] = {
    arith.AddiOp: "+", arith.SubiOp: "-", arith.MuliOp: "*",
    arith.AndIOp: "&", arith.OrIOp: "|", arith.XOrIOp: "^", arith.ShLIOp: "<<", arith.ShRSIOp: ">>",
    arith.AddfOp: "+", arith.SubfOp: "-", arith.MulfOp: "*", arith.DivfOp: "/",
}  # fmt: skip
"""The Python operator of each operation that has one."""


FUNCTIONS: Mapping[type[Operation], str] = {
    **{op: mnemonic(op) for op in (*Arith.operations, *Math.operations) if hasattr(operations, mnemonic(op))},
    math.PowFOp: "pow",
    math.RoundOp: "round_away",
}
"""The runtime function of each operation that has one, usually of the same name."""

PREFIXES = {Conversion.BITCAST: "bits_", **dict.fromkeys(UNSIGNED, "unsigned_")}
"""The prefix of the runtime function of a conversion, before the element type of the result."""

SYMBOLS = {"eq": "==", "ne": "!=", "slt": "<", "sle": "<=", "sgt": ">", "sge": ">="}
"""The Python operator of each integer predicate that has one."""

FLOAT_SYMBOLS = {"oeq": "==", "une": "!=", "olt": "<", "ole": "<=", "ogt": ">", "oge": ">="}
"""The Python operator of each float predicate that has one."""


def infix(symbol: str, a: Text, b: Text) -> Text:
    """Returns the expression `a symbol b`, with parentheses where necessary."""
    return Text(f"{a.inner} {symbol} {b.inner}", reads_of((a, b)), is_atom=False)


def _infix(write: FunctionWriter, op: Operation) -> None:
    write.define(op.results[0], infix(INFIX[type(op)], *map(write.text, op.operands)))


def _function(write: FunctionWriter, op: Operation) -> None:
    write.define(op.results[0], write.call(FUNCTIONS[type(op)], *map(write.text, op.operands)))


def _negated(write: FunctionWriter, op: arith.NegfOp) -> None:
    value = write.text(op.operand)
    write.define(op.result, Text(f"-{value.inner}", value.reads, is_atom=False))


def _conversion(write: FunctionWriter, op: Operation) -> None:
    name, prefix = register_name(op, op.results[0].type), PREFIXES.get(conversion_of(op), "")
    if name == "index" and prefix == "bits_":
        prefix = ""
    write.define(op.results[0], write.call(f"{prefix}{name}", write.text(op.operands[0])))


def _compare(write: FunctionWriter, op: Operation) -> None:
    predicate, (a, b), (result,) = predicate_of(op), op.operands, op.results
    if predicate in ("true", "false"):
        write.define(result, _truth(write, predicate == "true", result))
        return
    operands = write.text(a), write.text(b)
    vector = as_vector(a.type)
    element = a.type if vector is None else vector.get_element_type()
    symbol = (FLOAT_SYMBOLS if isinstance(element, AnyFloat) else SYMBOLS).get(predicate)
    if symbol is not None and not isinstance(element, IndexType):
        write.define(result, infix(symbol, *operands))
    else:
        names = {"eq": "ieq", "ne": "ine", "ord": "ordered", "uno": "unordered"}
        write.define(result, write.call(names.get(predicate, predicate), *operands))


def _truth(write: FunctionWriter, is_true: bool, result: SSAValue) -> Text:
    """Returns the result of a predicate that ignores its operands."""
    value = write.call("i1", -1 if is_true else 0)
    vector = as_vector(result.type)
    if vector is None:
        return value
    *tile, lanes = vector.get_shape()
    value = write.call("splat", value, lanes)
    return write.call("repeat", value, *tile) if tile else value


def literal(write: FunctionWriter, op: Operation, value: Attribute) -> Text:
    """Returns a scalar constant as a Python expression."""
    match value:
        case IntegerAttr() if isinstance(value.type, IndexType):
            return Text(str(value.value.data))
        case IntegerAttr():
            name = register_name(op, value.type)
            return write.call(name, wrapped(value.value.data, int(name[1:])))
        case FloatAttr():
            return _float_literal(write, register_name(op, value.type), value.value.data, value.type)
        case _:
            raise op_error(op, f"must be a number or dense<…>, but got constant {value}")


def _float_literal(write: FunctionWriter, name: str, number: float, element: AnyFloat) -> Text:
    if not np.isfinite(number):
        bits = int.from_bytes(element.pack((number,)), "little", signed=True)
        return write.call(f"bits_{name}", write.call(f"i{element.bitwidth}", bits))
    # The compiler reads a literal as f64: a short text is kept only where that rounds to the same value.
    short = str(np.float32(number)) if name == "f32" else repr(float(number))
    is_same = name != "f32" or np.float32(float(short)) == np.float32(number)
    return write.call(name, short if is_same else repr(float(number)))


def _constant(write: FunctionWriter, op: arith.ConstantOp) -> None:
    dense = as_dense(op.value)
    if dense is None:
        write.values[op.result] = literal(write, op, op.value)
    else:
        write.define(op.result, _dense_vector(write, op, dense))


def _dense_vector(write: FunctionWriter, op: Operation, dense: AnyDense) -> Text:
    """Returns a dense attribute as a vector expression: a splat, or a load from a table in the emitted module."""
    array, element = lanes_of_constant(op, dense), dense.get_element_type()
    memory = memory_name(op, element)
    if (common := common_lane(array, element)) is not None:
        return write.call("splat", literal(write, op, common), len(array))
    bits = array.view("uint16") if memory == "uint16" else array
    if bits.dtype.kind == "f":
        numbers = [float(each).hex() for each in bits]
        key = (memory, f"[float.fromhex(text) for text in {numbers}]")
    else:
        key = (memory, str(bits.tolist()))
    table = write.tables.lanes.setdefault(key, f"LANES_{len(write.tables.lanes)}")
    return as_register(write, register_name(op, dense.type), write.call("load", Text(table), 0, len(array)))


WHOLE = frozenset({"i8", "i16", "i32", "i64", "f32", "f64"})
"""Element types with the same representation in registers and in memory."""


def as_register(write: FunctionWriter, name: str, loaded: Text) -> Text:
    """Converts loaded elements to the representation of element type `name` in registers."""
    if name in WHOLE:
        return loaded
    return write.call(f"bits_{name}" if name in ("f16", "bf16") else name, loaded)


def _add_with_carry(write: FunctionWriter, op: arith.AddUIExtendedOp) -> None:
    a, b = write.text(op.lhs), write.text(op.rhs)
    total = write.names.new("total")
    write.line(f"{total} = {infix('+', a, b)}")
    write.values[op.sum] = name_text(total)
    write.define(op.overflow, write.call("ult", name_text(total), a))


def _multiply_extended(write: FunctionWriter, op: arith.MulSIExtendedOp | arith.MulUIExtendedOp) -> None:
    a, b = write.text(op.lhs), write.text(op.rhs)
    name = "mulsi_high" if isinstance(op, arith.MulSIExtendedOp) else "mului_high"
    write.define(op.results[0], infix("*", a, b))
    write.define(op.results[1], write.call(name, a, b))


EMISSIONS: dict[type[Operation], Any] = {
    **dict.fromkeys(INFIX, _infix),
    **dict.fromkeys(FUNCTIONS, _function),
    **dict.fromkeys(CONVERSIONS, _conversion),
    **dict.fromkeys(COMPARISONS, _compare),
    arith.ConstantOp: _constant,
    arith.NegfOp: _negated,
    arith.AddUIExtendedOp: _add_with_carry,
    arith.MulSIExtendedOp: _multiply_extended,
    arith.MulUIExtendedOp: _multiply_extended,
}
