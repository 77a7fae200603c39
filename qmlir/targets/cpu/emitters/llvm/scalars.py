"""Emits `arith` and `math` as LLVM IR, on scalars and vectors. Sums of indices stay symbolic."""

from collections.abc import Mapping
from typing import cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects import arith, math
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr
from xdsl.dialects.math import Math
from xdsl.ir import Operation, SSAValue

from qmlir.arithmetic.arrays import wrapped
from qmlir.dialects.simd.base import as_vector
from qmlir.ir.builtin_types import AnyDense, as_dense
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.emitters.llvm.function import EmitOperation, IRWriter
from qmlir.targets.cpu.emitters.writing import FOLDED, Index, mnemonic
from qmlir.targets.cpu.runtime.semantics import lanes
from qmlir.targets.cpu.runtime.semantics.arithmetic import (
    EXTREMES_BY_COMPARISONS,
    FLOATS,
    FUSED_BY_SUMS,
    INTEGERS,
    Lowering,
    compared,
    converted,
    float_to_integer_power,
    high_product,
    same_bits,
)
from qmlir.targets.cpu.runtime.semantics.builder import Builder
from qmlir.targets.cpu.runtime.semantics.values import IRValue, constant, integer, lane_texts
from qmlir.text.elements import dense_array


def _rows(family: Mapping[str, Lowering]) -> dict[type[Operation], Lowering]:
    """Returns the lowering of each operation of `arith` and `math` whose name is in `family`."""
    operations = (*Arith.operations, *Math.operations)
    return {op: row for op in operations if (row := family.get(mnemonic(op))) is not None}


def _selected(build: Builder, condition: IRValue, a: IRValue, b: IRValue) -> IRValue:
    return build.select(condition, a, b)


FUNCTIONS: Mapping[type[Operation], Lowering] = {
    **_rows(INTEGERS),
    **_rows(FLOATS),
    math.FPowIOp: float_to_integer_power,
    arith.SelectOp: _selected,
}
"""Operations whose single result has the type of an operand."""


_BY_COMPARISONS: Mapping[type[Operation], Lowering] = _rows(EXTREMES_BY_COMPARISONS)


def _function(write: IRWriter, op: Operation) -> None:
    by_comparisons = None if write.parts.processor.has_extremes else _BY_COMPARISONS.get(type(op))
    lower = by_comparisons or FUNCTIONS[type(op)]
    write.define(op.results[0], lower(write.build, *write.operands(op)))


def fused(write: IRWriter, op: Operation) -> None:
    """Emits a fused multiply-add; WebAssembly lacks one, so that f32 and 16-bit floats are computed in f64 there."""
    values = write.operands(op)
    by_sums = write.parts.processor.is_wasm and values[0].type.element != "f64"
    write.define(op.results[0], (FUSED_BY_SUMS if by_sums else FLOATS["fma"])(write.build, *values))


def _folded(write: IRWriter, op: Operation) -> None:
    result = op.results[0]
    if isinstance(result.type, IndexType):
        found = write.folded(op)
        if found is not None:
            write.values[result] = found
            return
    _function(write, op)


SIGNED: Mapping[type[Operation], bool] = {
    arith.ExtSIOp: True,
    arith.ExtUIOp: False,
    arith.TruncIOp: True,
    arith.IndexCastOp: True,
    arith.SIToFPOp: True,
    arith.UIToFPOp: False,
    arith.FPToSIOp: True,
    arith.FPToUIOp: False,
    arith.ExtFOp: True,
    arith.TruncFOp: True,
}
"""Conversions; the value is True if their integers, operand or result, are signed."""


def _conversion(write: IRWriter, op: Operation) -> None:
    source, result = op.operands[0], op.results[0]
    if isinstance(source.type, IndexType) and isinstance(result.type, IndexType):
        write.values[result] = write.values[source]
        return
    define_converted(write, op, source, result, is_signed=SIGNED[type(op)])


def define_converted(write: IRWriter, op: Operation, source: SSAValue, result: SSAValue, *, is_signed: bool) -> None:
    """Binds `result` to `source` converted to the element type of `result`."""
    element = write.type(op, result.type).element
    write.define(result, converted(write.build, write.value(source), element, is_signed=is_signed))


def define_bits(write: IRWriter, op: Operation, source: SSAValue, result: SSAValue) -> None:
    """Binds `result` to a bitcast of `source`."""
    write.define(result, same_bits(write.build, write.value(source), write.type(op, result.type).element))


def _bitcast(write: IRWriter, op: arith.BitcastOp) -> None:
    define_bits(write, op, op.input, op.result)


def _compare_integers(write: IRWriter, op: arith.CmpiOp) -> None:
    predicate = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
    write.define(op.result, compared(write.build, predicate, write.value(op.lhs), write.value(op.rhs)))


def _compare_floats(write: IRWriter, op: arith.CmpfOp) -> None:
    predicate = arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]
    write.define(op.result, compared(write.build, predicate, write.value(op.lhs), write.value(op.rhs)))


def _constant(write: IRWriter, op: arith.ConstantOp) -> None:
    value = op.value
    if isinstance(value, IntegerAttr) and isinstance(value.type, IndexType):
        write.values[op.result] = Index(constant=value.value.data)
        return
    dense = as_dense(value)
    if dense is not None:
        write.values[op.result] = dense_vector(write, op, dense)
        return
    write.values[op.result] = _number(write, op)


def _number(write: IRWriter, op: arith.ConstantOp) -> IRValue:
    value, type_ = op.value, write.type(op, op.result.type)
    match value:
        case IntegerAttr():
            return integer(type_, wrapped(value.value.data, type_.bits))
        case FloatAttr():
            bits = int.from_bytes(value.type.pack((value.value.data,)), "little")
            return IRValue(type_, str(bits)) if type_.is_half else constant(type_, _bits_array(bits, type_.bits))
        case _:
            raise op_error(op, f"must be a number or dense<…>, but got constant {value}")


def _bits_array(bits: int, width: int) -> npt.NDArray[np.generic]:
    return np.array([bits], f"u{width // 8}").view(f"f{width // 8}")


def dense_vector(write: IRWriter, op: Operation, dense: AnyDense) -> IRValue:
    """Returns a dense attribute as a constant vector. Raises `DiagnosticError` unless it is a vector of rank 1."""
    vector = as_vector(dense.type)
    if vector is None or vector.get_num_dims() != 1:
        raise op_error(op, f"must be a scalar or a vector of rank 1, but got constant {dense.type}")
    type_, array = write.type(op, dense.type), dense_array(dense)
    texts = lane_texts(type_.element, array)
    if len(set(texts)) == 1:
        return splatted(write, IRValue(type_.scalar(), texts[0]), type_.lanes)
    return constant(type_, array)


def splatted(write: IRWriter, value: IRValue, count: int) -> IRValue:
    """Broadcasts a scalar to a vector of `count` lanes."""
    processor = write.parts.processor
    return lanes.splat(write.build, value, count, lambda name: processor.is_x86 and name in processor.features)


def _add_with_carry(write: IRWriter, op: arith.AddUIExtendedOp) -> None:
    a, b = write.value(op.lhs), write.value(op.rhs)
    total = write.build.binary("add", a, b)
    write.define(op.sum, total)
    write.define(op.overflow, write.build.compare("icmp ult", total, a))


def _multiply_extended(write: IRWriter, op: arith.MulSIExtendedOp | arith.MulUIExtendedOp) -> None:
    a, b = write.value(op.lhs), write.value(op.rhs)
    extend = "sext" if isinstance(op, arith.MulSIExtendedOp) else "zext"
    write.define(op.results[0], write.build.binary("mul", a, b))
    write.define(op.results[1], high_product(extend)(write.build, a, b))


EMISSIONS: dict[type[Operation], EmitOperation] = {
    **dict.fromkeys(FUNCTIONS, _function),
    math.FmaOp: fused,
    **dict.fromkeys(FOLDED, _folded),
    **dict.fromkeys(SIGNED, _conversion),
} | cast(
    dict[type[Operation], EmitOperation],
    {
        arith.BitcastOp: _bitcast,
        arith.ConstantOp: _constant,
        arith.CmpiOp: _compare_integers,
        arith.CmpfOp: _compare_floats,
        arith.AddUIExtendedOp: _add_with_carry,
        arith.MulSIExtendedOp: _multiply_extended,
        arith.MulUIExtendedOp: _multiply_extended,
    },
)
