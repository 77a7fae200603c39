"""Emission of `arith` and `math` as C: operators and helpers, on scalars and on each lane of vectors."""

from collections.abc import Callable, Mapping
from typing import Any, cast

from xdsl.dialects import arith, math
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IndexType, IntegerAttr
from xdsl.dialects.math import Math
from xdsl.ir import Attribute, Operation, SSAValue

from qmlir.dialects.simd.base import as_vector
from qmlir.extensions.aot.c.elements import (
    CElement,
    array_literals,
    element_of,
    float_bits,
    float_literal,
    integer_literal,
    number_of,
)
from qmlir.extensions.aot.c.function import CWriter, EmitOperation
from qmlir.extensions.aot.c.helpers import FLOATS, INTEGERS
from qmlir.extensions.aot.c.statements import LANE
from qmlir.ir.builtin_types import AnyDense, as_dense, as_integer
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.emitters.writing import Index, Text, mnemonic, reads_of
from qmlir.text.elements import dense_array

_FLOAT_SYMBOLS: Mapping[type[Operation], str] = {
    arith.AddfOp: "+",
    arith.SubfOp: "-",
    arith.MulfOp: "*",
    arith.DivfOp: "/",
}
"""The float operations that C has an operator for."""

_NAMES: Mapping[type[Operation], str] = {
    arith.AddiOp: "add",
    arith.SubiOp: "sub",
    arith.MuliOp: "mul",
    arith.AndIOp: "and",
    arith.OrIOp: "or",
    arith.XOrIOp: "xor",
    arith.ShLIOp: "shli",
    math.RoundOp: "round_away",
}
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
    element = write.element(op, op.results[0])
    a, b = (widened(write, element, write.text(value)) for value in op.operands)
    write.define(op, op.results[0], narrowed(write, element, infix(_FLOAT_SYMBOLS[type(op)], a, b)))


def helper_call(write: CWriter, name: str, element: CElement, *texts: Text) -> Text:
    """Returns a call of the helper function `name` for the element type `element`."""
    if not element.is_half:
        return write.call(f"{name}_{element.name}", *texts)
    wide = (widened(write, element, text) for text in texts)
    return narrowed(write, element, write.call(f"{name}_f32", *wide))


def _function(write: CWriter, op: Operation) -> None:
    result = op.results[0]
    if isinstance(result.type, IndexType) and (folded := write.folded(op)) is not None:
        write.define(op, result, folded)
        return
    element = write.element(op, result)
    found = helper_call(write, FUNCTIONS[type(op)], element, *map(write.text, op.operands))
    write.define(op, result, Index.of(found) if isinstance(result.type, IndexType) else found)


def _negated(write: CWriter, op: arith.NegfOp) -> None:
    element, value = write.element(op, op.result), write.text(op.operand)
    if element.is_half:
        write.define(op, op.result, Text(f"(uint16_t)({value.inner} ^ 0x8000)", value.reads))
        return
    write.define(op, op.result, Text(f"-{value.inner}", value.reads, is_atom=False))


# --- Conversions ------------------------------------------------------------------------------------------------------


def _resized(write: CWriter, op: Operation, source: CElement, target: CElement, text: Text, prefix: str) -> Text:
    """Converts an integer to another width, reading it as signed or `unsigned`."""
    read = Text((source.unsigned if prefix == "unsigned" else source.signed)(text.inner), text.reads)
    if target.bits > source.bits:
        return read if target.type != "int64_t" or target.name != "index" else cast_text("int64_t", read)
    if target.bits == target.held_bits:
        return text if target.bits == source.bits else cast_text(target.type, text)
    return write.call(f"wrap_{target.name}", text)


def _of_integer(write: CWriter, op: Operation, source: CElement, target: CElement, text: Text, prefix: str) -> Text:
    is_unsigned = prefix == "unsigned"
    read = Text((source.unsigned if is_unsigned else source.signed)(text.inner), text.reads)
    if not target.is_half:
        return cast_text(target.type, Text(f"({read})", read.reads) if read.text.startswith("-") else read)
    if source.bits > 53:
        read = write.call("sticky_u64" if is_unsigned else "sticky_i64", read)
    if source.bits <= 24:
        return narrowed(write, target, cast_text("float", Text(f"({read})", read.reads)))
    return narrowed(write, target, write.call("odd_f32", cast_text("double", Text(f"({read})", read.reads))))


def _of_float(write: CWriter, op: Operation, source: CElement, target: CElement, text: Text, prefix: str) -> Text:
    if source == target:
        return text
    value = widened(write, source, text)
    if target.is_float:
        if target.is_half:
            return narrowed(write, target, write.call("odd_f32", value) if source.name == "f64" else value)
        return cast_text(target.type, value)
    if target.bits == 1 and prefix != "unsigned":
        raise op_error(op, "converts a float to i1, which cannot be emitted as C")
    kind = "f32" if source.is_half else source.name
    name = target.name if prefix != "unsigned" else f"u{target.bits}"
    return write.call(f"{name}_of_{kind}", value)


def _bits(write: CWriter, op: Operation, source: CElement, target: CElement, text: Text, prefix: str) -> Text:
    """Reinterprets the bits as another type of equal width."""
    if source.name in ("f32", "f64"):
        bits = write.call(f"bits_of_{source.name}", text)
        return bits if target.is_float else cast_text(target.type, bits)
    if target.name in ("f32", "f64"):
        return write.call(f"{target.name}_of", cast_text(f"uint{target.bits}_t", text))
    return text if source.type == target.type else cast_text(target.type, text)


def converted(write: CWriter, op: Operation, kind: str, source: SSAValue, type_: Attribute) -> Text:
    """Returns the conversion of a scalar or a lane that `kind`, a name in `arith`, denotes."""
    convert, prefix = _CONVERSIONS[kind]
    return convert(write, op, write.element(op, source), element_of(op, type_), write.text(source), prefix)


_Convert = Callable[[CWriter, Operation, CElement, CElement, Text, str], Text]

_CONVERSIONS: Mapping[str, tuple[_Convert, str]] = {
    "extsi": (_resized, ""),
    "extui": (_resized, "unsigned"),
    "trunci": (_resized, ""),
    "index_cast": (_resized, ""),
    "sitofp": (_of_integer, ""),
    "uitofp": (_of_integer, "unsigned"),
    "fptosi": (_of_float, ""),
    "fptoui": (_of_float, "unsigned"),
    "extf": (_of_float, ""),
    "truncf": (_of_float, ""),
    "bitcast": (_bits, ""),
}
"""The conversions, by their names in `arith`."""

_CONVERTING = (
    arith.ExtSIOp, arith.ExtUIOp, arith.TruncIOp, arith.IndexCastOp, arith.SIToFPOp, arith.UIToFPOp, arith.FPToSIOp,
    arith.FPToUIOp, arith.ExtFOp, arith.TruncFOp, arith.BitcastOp,
)  # fmt: skip


def _conversion(write: CWriter, op: Operation) -> None:
    source, result = op.operands[0], op.results[0]
    if isinstance(source.type, IndexType) and isinstance(result.type, IndexType):
        write.define(op, result, write.index(source))
        return
    found = converted(write, op, mnemonic(type(op)), source, result.type)
    write.define(op, result, Index.of(found) if isinstance(result.type, IndexType) else found)


# --- Comparisons ------------------------------------------------------------------------------------------------------

_INTEGER_SYMBOLS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def compared(write: CWriter, op: Operation, predicate: str, a: SSAValue, b: SSAValue) -> Text:
    """Returns a comparison, with the value 1 or 0, by a predicate of `arith.cmpi` or `arith.cmpf`."""
    element, texts = write.element(op, a), (write.text(a), write.text(b))
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


def _compare_integers(write: CWriter, op: arith.CmpiOp) -> None:
    predicate = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
    write.define(op, op.result, compared(write, op, predicate, op.lhs, op.rhs))


def _compare_floats(write: CWriter, op: arith.CmpfOp) -> None:
    predicate = arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]
    write.define(op, op.result, compared(write, op, predicate, op.lhs, op.rhs))


def selected(write: CWriter, op: Operation, condition: SSAValue, a: SSAValue, b: SSAValue) -> None:
    """Emits the selection of `a` or `b` by a condition."""
    texts = [write.text(value) for value in (condition, a, b)]
    found = Text(f"({texts[0].inner} ? {texts[1]} : {texts[2]})", reads_of(texts))
    write.define(op, op.results[0], Index.of(found) if isinstance(op.results[0].type, IndexType) else found)


# --- Constants --------------------------------------------------------------------------------------------------------


def literal(write: CWriter, op: Operation, value: Attribute) -> Text:
    """Returns the C literal of a scalar constant."""
    element, number, float_type = number_of(op, value)
    if float_type is None:
        return Text(integer_literal(int(number)))
    if element.is_half:
        return Text(f"{float_bits(number, float_type):#x}")
    found = float_literal(number, element)
    if found is not None:
        return Text(found)
    return write.call(f"{element.name}_of", f"{float_bits(number, float_type):#x}u")


def _constant(write: CWriter, op: arith.ConstantOp) -> None:
    if isinstance(op.result.type, IndexType):
        assert isinstance(op.value, IntegerAttr)
        write.values[op.result] = Index(constant=op.value.value.data)
        return
    dense = as_dense(op.value)
    write.values[op.result] = literal(write, op, op.value) if dense is None else _dense(write, op, dense)


def _dense(write: CWriter, op: Operation, dense: AnyDense) -> Text:
    """Returns the literal of a splat, or a lane of a table in the file."""
    vector = as_vector(dense.type)
    if vector is None or vector.get_num_dims() != 1:
        raise op_error(op, f"must be a scalar or a vector of rank 1, but got constant {dense.type}")
    array, element = dense_array(dense), vector.get_element_type()
    raw = array.view(f"u{array.itemsize}")
    if (raw == raw[0]).all():
        return literal(write, op, _attribute(array[0], element))
    type_, numbers = array_literals(array)
    if type_ != element_of(op, dense.type).type and not element_of(op, dense.type).bits == 1:
        raise op_error(op, f"must have only finite lanes, but got constant {dense.type}")
    return Text(f"{write.unit.table(type_, numbers)}[{LANE}]")


def _attribute(value: Any, element: Attribute) -> Attribute:
    if isinstance(element, AnyFloat):
        return FloatAttr(float(value), element)
    return IntegerAttr(int(value), as_integer(element) or IndexType())


def _add_with_carry(write: CWriter, op: arith.AddUIExtendedOp) -> None:
    element = write.element(op, op.sum)
    write.keep(op, op.sum, helper_call(write, "add", element, write.text(op.lhs), write.text(op.rhs)))
    write.define(op, op.overflow, compared(write, op, "ult", op.sum, op.lhs))


def _multiply_extended(write: CWriter, op: arith.MulSIExtendedOp | arith.MulUIExtendedOp) -> None:
    texts, element = [write.text(value) for value in op.operands], write.element(op, op.results[0])
    name = "mulsi_high" if isinstance(op, arith.MulSIExtendedOp) else "mului_high"
    write.define(op, op.results[0], helper_call(write, "mul", element, *texts))
    write.define(op, op.results[1], helper_call(write, name, element, *texts))


def _select(write: CWriter, op: arith.SelectOp) -> None:
    selected(write, op, op.cond, op.lhs, op.rhs)


EMISSIONS = cast(
    dict[type[Operation], EmitOperation],
    {
        **dict.fromkeys(FUNCTIONS, _function),
        **dict.fromkeys(_FLOAT_SYMBOLS, _float_operator),
        **dict.fromkeys(_CONVERTING, _conversion),
        arith.ConstantOp: _constant,
        arith.NegfOp: _negated,
        arith.CmpiOp: _compare_integers,
        arith.CmpfOp: _compare_floats,
        arith.SelectOp: _select,
        arith.AddUIExtendedOp: _add_with_carry,
        arith.MulSIExtendedOp: _multiply_extended,
        arith.MulUIExtendedOp: _multiply_extended,
    },
)
