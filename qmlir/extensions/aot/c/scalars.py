"""Emission of `arith` and `math` as C: operators and helpers, on scalars and on each lane of vectors."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from xdsl.dialects import arith, math, vector
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr
from xdsl.dialects.math import Math
from xdsl.ir import Attribute, Operation, SSAValue

from qmlir.analysis.operand_accesses import known_integer
from qmlir.arithmetic.arrays import integer_limits, wrapped
from qmlir.dialects.simd.lanes import Conversion, SelectOp
from qmlir.extensions.aot.c.elements import CElement, array_literals, element_of, integer_literal
from qmlir.extensions.aot.c.function import CWriter, lanes_in
from qmlir.extensions.aot.c.helpers import FLOATS, INTEGERS
from qmlir.extensions.aot.c.statements import LANE
from qmlir.ir.builtin_types import AnyDense, as_dense
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.emitters.elements import common_lane, lanes_of_constant
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

_FLOAT_SYMBOLS: Mapping[type[Operation], str] = {
    arith.AddfOp: "+", arith.SubfOp: "-", arith.MulfOp: "*", arith.DivfOp: "/",
}  # fmt: skip
"""The float operations that C has an operator for."""

_NAMES: Mapping[type[Operation], str] = {
    arith.AddiOp: "add", arith.SubiOp: "sub", arith.MuliOp: "mul",
    arith.AndIOp: "and", arith.OrIOp: "or", arith.XOrIOp: "xor", arith.ShLIOp: "shli",
    math.RoundOp: "round_away",
}  # fmt: skip
"""The operations whose helper function has another name."""


FUNCTIONS: Mapping[type[Operation], str] = {
    **{
        op: mnemonic(op)
        for op in (*Arith.operations, *Math.operations)
        if mnemonic(op) in {**INTEGERS, **FLOATS} and mnemonic(op) not in ("bits_of", "wrap")
    },
    **_NAMES,
}
"""The operations that a helper function computes, which has the same name or the one listed above."""


def cast_text(type_: str, text: Text) -> Text:
    """Returns the C cast of `text` to `type_`."""
    return Text(f"({type_}){text.inner}", text.reads)


def infix(symbol: str, a: Text, b: Text) -> Text:
    """Returns the operands `a` and `b`, joined by the operator `symbol`."""
    return Text(f"{a.inner} {symbol} {b.inner}", reads_of((a, b)), is_atom=False)


def widened(write: CWriter, element: CElement, text: Text) -> Text:
    """Converts a float to the type in which C computes: 16-bit floats become f32."""
    return write.call(f"widen_{element.name}", text) if element.is_half else text


def narrowed(write: CWriter, element: CElement, text: Text) -> Text:
    """Converts a float from the type in which C computes to its storage type."""
    return write.call(f"narrow_{element.name}", text) if element.is_half else text


def _float_operator(write: CWriter, op: Operation) -> None:
    element = write.element(op.results[0])
    a, b = (widened(write, element, write.text(value)) for value in op.operands)
    write.define(op.results[0], narrowed(write, element, infix(_FLOAT_SYMBOLS[type(op)], a, b)))


def helper_call(write: CWriter, name: str, element: CElement, *texts: Text) -> Text:
    """Returns a call of the helper function `name` for the element type `element`."""
    if not element.is_half:
        return write.call(f"{name}_{element.name}", *texts)
    wide = (widened(write, element, text) for text in texts)
    return narrowed(write, element, write.call(f"{name}_f32", *wide))


def _function(write: CWriter, op: Operation) -> None:
    result = op.results[0]
    write.define(result, helper_call(write, FUNCTIONS[type(op)], write.element(result), *map(write.text, op.operands)))


def _number(value: SSAValue) -> int | None:
    """Returns the integer that a scalar, or every lane of a vector, is known to be."""
    op = value.owner
    return known_integer(op.source if isinstance(op, vector.BroadcastOp) else value)


def clamped(write: CWriter, element: CElement, text: Text, low: int, high: int) -> Text:
    """Returns `text` clamped to `[low, high]`, by one instruction if the CPU has one for these limits."""
    bits = (high + 1).bit_length() - 1
    is_power = bits > 0 and high + 1 == 1 << bits and low in (0, -high - 1)
    if write.unit.isa.saturates and element.name == "i32" and is_power:
        return write.call(f"usat_{bits}" if low == 0 else f"ssat_{bits + 1}", text)
    return write.call(f"minsi_{element.name}", write.call(f"maxsi_{element.name}", text, low), high)


def _limits(write: CWriter, value: SSAValue) -> tuple[SSAValue, int, int] | None:
    """Returns the value of which `value` is a clamp, and its limits, if the CPU clamps in one instruction."""
    least = value.owner
    most = least.lhs.owner if isinstance(least, arith.MinSIOp) else None
    if not isinstance(least, arith.MinSIOp) or not isinstance(most, arith.MaxSIOp) or not write.unit.isa.saturates:
        return None
    low, high = _number(most.rhs), _number(least.rhs)
    return None if low is None or high is None else (most.lhs, low, high)


def _minimum(write: CWriter, op: arith.MinSIOp) -> None:
    """Emits the minimum of a maximum as a clamp, if the CPU clamps in one instruction."""
    found = _limits(write, op.result)
    if found is None:
        _function(write, op)
        return
    value, low, high = found
    write.define(op.result, clamped(write, write.element(op.result), write.text(value), low, high))


def _negated(write: CWriter, op: arith.NegfOp) -> None:
    element, value = write.element(op.result), write.text(op.operand)
    if element.is_half:
        write.define(op.result, Text(f"(uint16_t)({value.inner} ^ 0x8000)", value.reads))
        return
    write.define(op.result, Text(f"-{value.inner}", value.reads, is_atom=False))


# --- Conversions ------------------------------------------------------------------------------------------------------


def _resized(write: CWriter, source: CElement, target: CElement, text: Text, is_unsigned: bool) -> Text:
    """Converts an integer to another width, reading it as signed or unsigned."""
    read = Text((source.unsigned if is_unsigned else source.signed)(text.inner), text.reads)
    if target.bits > source.bits:
        return read if target.type != "int64_t" or target.name != "index" else cast_text("int64_t", read)
    if target.bits == target.held_bits:
        return text if target.bits == source.bits else cast_text(target.type, text)
    return write.call(f"wrap_{target.name}", text)


def _of_integer(write: CWriter, source: CElement, target: CElement, text: Text, is_unsigned: bool) -> Text:
    read = Text((source.unsigned if is_unsigned else source.signed)(text.inner), text.reads)
    if not target.is_half:
        return cast_text(target.type, Text(f"({read})", read.reads) if read.text.startswith("-") else read)
    if source.bits > 53:
        read = write.call("sticky_u64" if is_unsigned else "sticky_i64", read)
    if source.bits <= 24:
        return narrowed(write, target, cast_text("float", Text(f"({read})", read.reads)))
    return narrowed(write, target, write.call("odd_f32", cast_text("double", Text(f"({read})", read.reads))))


def _of_float(write: CWriter, source: CElement, target: CElement, text: Text, is_unsigned: bool) -> Text:
    if source == target:
        return text
    value = widened(write, source, text)
    if target.is_float:
        if target.is_half:
            return narrowed(write, target, write.call("odd_f32", value) if source.name == "f64" else value)
        return cast_text(target.type, value)
    kind = "f32" if source.is_half else source.name
    name = target.name if not is_unsigned else f"u{target.bits}"
    return write.call(f"{name}_of_{kind}", value)


def _bits(write: CWriter, source: CElement, target: CElement, text: Text, is_unsigned: bool) -> Text:
    """Reinterprets the bits as another type of equal width."""
    if source.name in ("f32", "f64"):
        bits = write.call(f"bits_of_{source.name}", text)
        return bits if target.is_float else cast_text(target.type, bits)
    if target.name in ("f32", "f64"):
        return write.call(f"{target.name}_of", cast_text(f"uint{target.bits}_t", text))
    return text if source.type == target.type else cast_text(target.type, text)


_Convert = Callable[[CWriter, CElement, CElement, Text, bool], Text]

_CONVERT: Mapping[Conversion, _Convert] = {
    **dict.fromkeys((Conversion.EXTSI, Conversion.EXTUI, Conversion.TRUNCI, Conversion.INDEX_CAST), _resized),
    **dict.fromkeys((Conversion.SITOFP, Conversion.UITOFP), _of_integer),
    **dict.fromkeys((Conversion.FPTOSI, Conversion.FPTOUI, Conversion.EXTF, Conversion.TRUNCF), _of_float),
    Conversion.BITCAST: _bits,
}
"""The function that emits each conversion."""


def _conversion(write: CWriter, op: Operation) -> None:
    kind, (source,), (result,) = conversion_of(op), op.operands, op.results
    elements = write.element(source), write.element(result)
    if kind is Conversion.FPTOSI and elements[1].bits == 1:
        raise op_error(op, "converts a float to i1, which cannot be emitted as C")
    low, high = integer_limits(8)
    limits = _limits(write, source) if kind is Conversion.TRUNCI and elements[1].name == "i8" else None
    if limits is not None and low <= limits[1] <= limits[2] <= high:
        write.define(result, write.text(source))  # a cast of it would be another instruction
        return
    if lanes_in(source) == lanes_in(result):
        write.define(result, _CONVERT[kind](write, *elements, write.text(source), kind in UNSIGNED))
        return
    if any(each.bits != each.held_bits for each in elements):
        raise op_error(op, f"requires elements of whole bytes, but splits {source.type} into {result.type}")
    array = write.array(source)
    name = write.variable(result)
    write.line(f"memcpy({name}, {array}, sizeof {name});", name_text(name), name_text(array))


# --- Comparisons ------------------------------------------------------------------------------------------------------

_INTEGER_SYMBOLS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def compared(write: CWriter, predicate: str, a: SSAValue, b: SSAValue) -> Text:
    """Returns a comparison, with the value 1 or 0, by a predicate of `arith.cmpi` or `arith.cmpf`."""
    element, texts = write.element(a), (write.text(a), write.text(b))
    if predicate in ("true", "false"):
        return Text(str(int(predicate == "true")))
    if element.is_float:
        return _compared_floats(predicate, *(widened(write, element, text) for text in texts))
    read = element.unsigned if predicate[0] == "u" else element.signed
    symbol = _INTEGER_SYMBOLS[predicate if predicate in ("eq", "ne") else predicate[1:]]
    left, right = (Text(read(text.inner), text.reads) for text in texts)
    return infix(symbol, left, right)


def _compared_floats(predicate: str, a: Text, b: Text) -> Text:
    reads = reads_of((a, b))
    x, y = a.inner, b.inner
    texts = {
        "ord": f"({x} == {x} && {y} == {y})",
        "uno": f"({x} != {x} || {y} != {y})",
        "one": f"({x} < {y} || {x} > {y})",
        "ueq": f"!({x} < {y} || {x} > {y})",
        "une": f"({x} != {y})",
        "oeq": f"({x} == {y})",
    }
    if predicate in texts:
        return Text(texts[predicate], reads)
    opposite = {"lt": ">=", "le": ">", "gt": "<=", "ge": "<"}
    if predicate[0] == "u":  # unordered: true for NaN
        return Text(f"!({x} {opposite[predicate[1:]]} {y})", reads)
    return Text(f"{x} {_INTEGER_SYMBOLS[predicate[1:]]} {y}", reads, is_atom=False)


def _compare(write: CWriter, op: Operation) -> None:
    write.define(op.results[0], compared(write, predicate_of(op), *op.operands))


def _select(write: CWriter, op: Operation) -> None:
    condition, a, b = texts = [write.text(value) for value in op.operands]
    write.define(op.results[0], Text(f"({condition.inner} ? {a} : {b})", reads_of(texts)))


# --- Constants --------------------------------------------------------------------------------------------------------


def literal(write: CWriter, op: Operation, value: Attribute) -> Text:
    """Returns the C literal of a scalar constant, which has the same bits."""
    match value:
        case IntegerAttr():
            bits = 64 if isinstance(value.type, IndexType) else element_of(op, value.type).bits
            number = value.value.data
            return Text(integer_literal(number & 1 if bits == 1 else wrapped(number, bits)))
        case FloatAttr():
            element, number = element_of(op, value.type), value.value.data
            bits = int.from_bytes(value.type.pack((number,)), "little")
            if element.is_half:
                return Text(f"{bits:#x}")
            if not np.isfinite(number):
                return write.call(f"{element.name}_of", f"{bits:#x}u")
            return Text(f"{np.float32(number)!s}f" if element.name == "f32" else repr(float(number)))
        case _:
            raise op_error(op, f"must be a number or dense<…>, but got constant {value}")


def _constant(write: CWriter, op: arith.ConstantOp) -> None:
    dense = as_dense(op.value)
    write.values[op.result] = literal(write, op, op.value) if dense is None else _dense(write, op, dense)


def _dense(write: CWriter, op: Operation, dense: AnyDense) -> Text:
    """Returns the literal of a splat, or a lane of a table in the file."""
    array = lanes_of_constant(op, dense)
    if (common := common_lane(array, dense.get_element_type())) is not None:
        return literal(write, op, common)
    type_, numbers = array_literals(array)
    element = element_of(op, dense.type)
    if type_ != element.type and element.bits != 1:
        raise op_error(op, f"must have only finite lanes, but got constant {dense.type}")
    return Text(f"{write.unit.table(type_, numbers)}[{LANE}]")


def _add_with_carry(write: CWriter, op: arith.AddUIExtendedOp) -> None:
    write.keep(op.sum, helper_call(write, "add", write.element(op.sum), write.text(op.lhs), write.text(op.rhs)))
    write.define(op.overflow, compared(write, "ult", op.sum, op.lhs))


def _multiply_extended(write: CWriter, op: arith.MulSIExtendedOp | arith.MulUIExtendedOp) -> None:
    texts, element = [write.text(value) for value in op.operands], write.element(op.results[0])
    name = "mulsi_high" if isinstance(op, arith.MulSIExtendedOp) else "mului_high"
    write.define(op.results[0], helper_call(write, "mul", element, *texts))
    write.define(op.results[1], helper_call(write, name, element, *texts))


EMISSIONS: dict[type[Operation], Any] = {
    **dict.fromkeys(FUNCTIONS, _function),
    **dict.fromkeys(_FLOAT_SYMBOLS, _float_operator),
    **dict.fromkeys(CONVERSIONS, _conversion),
    **dict.fromkeys(COMPARISONS, _compare),
    arith.ConstantOp: _constant,
    arith.MinSIOp: _minimum,
    arith.NegfOp: _negated,
    arith.SelectOp: _select,
    SelectOp: _select,
    arith.AddUIExtendedOp: _add_with_carry,
    arith.MulSIExtendedOp: _multiply_extended,
    arith.MulUIExtendedOp: _multiply_extended,
}
