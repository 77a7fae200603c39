"""Emits `arith` and `math` as Python operators and calls of runtime operations, on scalars and vectors.

Tables map each operation to its operator or function. Sums of indices are folded into one expression.
"""

from collections.abc import Mapping
from typing import Any, cast

from xdsl.dialects import arith, math
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IndexType, IntegerAttr
from xdsl.dialects.math import Math
from xdsl.ir import Attribute, Operation, SSAValue

from qmlir.dialects.simd.base import as_vector
from qmlir.ir.builtin_types import AnyDense, as_dense, as_integer
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.emitters.elements import memory_name, register_name
from qmlir.targets.cpu.emitters.numba.function import EmitOperation, FunctionWriter, literal
from qmlir.targets.cpu.emitters.writing import Index, Text, mnemonic, reads_of
from qmlir.targets.cpu.runtime import operations
from qmlir.text.elements import dense_array

INFIX: Mapping[type[Operation], str] = {
    arith.AddiOp: "+",
    arith.SubiOp: "-",
    arith.MuliOp: "*",
    arith.AndIOp: "&",
    arith.OrIOp: "|",
    arith.XOrIOp: "^",
    arith.ShLIOp: "<<",
    arith.ShRSIOp: ">>",
    arith.AddfOp: "+",
    arith.SubfOp: "-",
    arith.MulfOp: "*",
    arith.DivfOp: "/",
}
"""The Python operator of each operation that has one."""


FUNCTIONS: Mapping[type[Operation], str] = {
    **{op: mnemonic(op) for op in (*Arith.operations, *Math.operations) if hasattr(operations, mnemonic(op))},
    math.PowFOp: "pow",
    math.RoundOp: "round_away",
}
"""The runtime function of each operation that has one, usually of the same name."""

CONVERSIONS: Mapping[type[Operation], str] = {
    arith.ExtSIOp: "",
    arith.ExtUIOp: "unsigned_",
    arith.TruncIOp: "",
    arith.IndexCastOp: "",
    arith.SIToFPOp: "",
    arith.UIToFPOp: "unsigned_",
    arith.FPToSIOp: "",
    arith.FPToUIOp: "unsigned_",
    arith.ExtFOp: "",
    arith.TruncFOp: "",
    arith.BitcastOp: "bits_",
}
"""Conversions; the runtime function has this prefix, followed by the element type of the result."""

SYMBOLS = {"eq": "==", "ne": "!=", "slt": "<", "sle": "<=", "sgt": ">", "sge": ">="}
"""The Python operator of each integer predicate that has one."""

FLOAT_SYMBOLS = {"oeq": "==", "une": "!=", "olt": "<", "ole": "<=", "ogt": ">", "oge": ">="}
"""The Python operator of each float predicate that has one."""


def infix(symbol: str, a: Text, b: Text) -> Text:
    """Returns the expression `a symbol b`, with parentheses where necessary."""
    return Text(f"{a.inner} {symbol} {b.inner}", reads_of((a, b)), is_atom=False)


def _infix(write: FunctionWriter, op: Operation) -> None:
    result = op.results[0]
    if not isinstance(result.type, IndexType):
        write.define(result, infix(INFIX[type(op)], *(write.text(value) for value in op.operands)))
        return
    found = write.folded(op)
    if found is None:
        a, b = (write.index(value).as_text() for value in op.operands)
        found = Index.of(infix(INFIX[type(op)], a, b))
    write.define(result, found)


def define_call(write: FunctionWriter, result: SSAValue, call: Text) -> None:
    """Binds `result` to the result of a function call."""
    write.define(result, Index.of(call) if isinstance(result.type, IndexType) else call)


def _function(write: FunctionWriter, op: Operation) -> None:
    define_call(write, op.results[0], write.call(FUNCTIONS[type(op)], *map(write.text, op.operands)))


def _negated(write: FunctionWriter, op: arith.NegfOp) -> None:
    value = write.text(op.operand)
    write.define(op.result, Text(f"-{value.inner}", value.reads, is_atom=False))


def _conversion(write: FunctionWriter, op: Operation) -> None:
    source, result = op.operands[0], op.results[0]
    if isinstance(source.type, IndexType) and isinstance(result.type, IndexType):
        write.define(result, write.index(source))
        return
    define_call(write, result, converted(write, op, CONVERSIONS[type(op)], source, result.type))


def converted(write: FunctionWriter, op: Operation, prefix: str, source: SSAValue, type_: Attribute) -> Text:
    """Returns the conversion of `source` to the element type of `type_`, by the function with this `prefix`."""
    name = register_name(op, type_)
    if name == "index" and prefix == "bits_":
        prefix = ""
    return write.call(f"{prefix}{name}", write.text(source))


def compared(write: FunctionWriter, predicate: str, a: SSAValue, b: SSAValue) -> Text:
    """Returns the comparison of `a` and `b` by a predicate of `arith.cmpi` or `arith.cmpf`."""
    operands = write.text(a), write.text(b)
    vector = as_vector(a.type)
    element = a.type if vector is None else vector.get_element_type()
    is_float = predicate in _FLOAT_PREDICATES and bool(isinstance(element, AnyFloat))
    symbol = (FLOAT_SYMBOLS if is_float else SYMBOLS).get(predicate)
    if symbol is not None and not isinstance(element, IndexType):
        return infix(symbol, *operands)
    names = {"eq": "ieq", "ne": "ine", "ord": "ordered", "uno": "unordered"}
    return write.call(names.get(predicate, predicate), *operands)


_FLOAT_PREDICATES = frozenset(arith.CMPF_COMPARISON_OPERATIONS)


def constant_predicate(write: FunctionWriter, op: Operation, predicate: str, result: SSAValue) -> bool:
    """Emits the predicates `true` and `false`, which ignore the operands; returns False for all other predicates."""
    if predicate not in ("true", "false"):
        return False
    value = Text(f"i1({-1 if predicate == 'true' else 0})")
    write.use("i1")
    vector = as_vector(result.type)
    if vector is not None:
        *tile, lanes = vector.get_shape()
        value = write.call("splat", value, lanes)
        value = write.call("repeat", value, *tile) if tile else value
    write.define(result, value)
    return True


def _compare_integers(write: FunctionWriter, op: arith.CmpiOp) -> None:
    predicate = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
    write.define(op.result, compared(write, predicate, op.lhs, op.rhs))


def _compare_floats(write: FunctionWriter, op: arith.CmpfOp) -> None:
    predicate = arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]
    if not constant_predicate(write, op, predicate, op.result):
        write.define(op.result, compared(write, predicate, op.lhs, op.rhs))


def _constant(write: FunctionWriter, op: arith.ConstantOp) -> None:
    if isinstance(op.result.type, IndexType):
        text, _ = literal(op, op.value)
        write.values[op.result] = Index(constant=int(text))
        return
    dense = as_dense(op.value)
    if dense is not None:
        write.define(op.result, dense_vector(write, op, dense))
        return
    text, calls = literal(op, op.value)
    write.use(*calls)
    write.values[op.result] = Text(text)


def dense_vector(write: FunctionWriter, op: Operation, dense: AnyDense) -> Text:
    """Returns a dense attribute as a vector expression: a splat, or a load from a table in the emitted module."""
    vector = as_vector(dense.type)
    if vector is None or vector.get_num_dims() != 1:
        raise op_error(op, f"must be a scalar or a vector of rank 1, but got constant {dense.type}")
    lanes, element = vector.get_shape()[0], vector.get_element_type()
    array = dense_array(dense)
    memory = memory_name(op, element)
    name = register_name(op, dense.type)
    raw = array.view(f"u{array.itemsize}")
    if (raw == raw[0]).all():
        text, calls = literal(op, _attribute(array[0], element))
        write.use(*calls)
        return write.call("splat", text, lanes)
    bits = array.view("uint16") if memory == "uint16" else array
    if bits.dtype.kind == "f":
        numbers = ", ".join(float(each).hex() for each in bits)
        key = (memory, f"[float.fromhex(text) for text in {numbers.split(', ')}]")
    else:
        key = (memory, str(bits.tolist()))
    table = write.tables.lanes.setdefault(key, f"LANES_{len(write.tables.lanes)}")
    return as_register(write, name, write.call("load", Text(table), 0, lanes))


def _attribute(value: Any, element: Attribute) -> Attribute:
    if isinstance(element, AnyFloat):
        return FloatAttr(float(value), element)
    return IntegerAttr(int(value), as_integer(element) or IndexType())


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
    write.values[op.sum] = Text(total, frozenset({total}))
    write.define(op.overflow, write.call("ult", Text(total, frozenset({total})), a))


def _multiply_extended(write: FunctionWriter, op: arith.MulSIExtendedOp | arith.MulUIExtendedOp) -> None:
    a, b = write.text(op.lhs), write.text(op.rhs)
    name = "mulsi_high" if isinstance(op, arith.MulSIExtendedOp) else "mului_high"
    write.define(op.results[0], infix("*", a, b))
    write.define(op.results[1], write.call(name, a, b))


EMISSIONS: dict[type[Operation], EmitOperation] = {
    **dict.fromkeys(INFIX, _infix),
    **dict.fromkeys(FUNCTIONS, _function),
    **dict.fromkeys(CONVERSIONS, _conversion),
} | cast(
    dict[type[Operation], EmitOperation],
    {
        arith.ConstantOp: _constant,
        arith.NegfOp: _negated,
        arith.CmpiOp: _compare_integers,
        arith.CmpfOp: _compare_floats,
        arith.AddUIExtendedOp: _add_with_carry,
        arith.MulSIExtendedOp: _multiply_extended,
        arith.MulUIExtendedOp: _multiply_extended,
    },
)
