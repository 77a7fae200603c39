"""Emits `arith` and `math`, and what `simd` has in common with them, as LLVM IR, on scalars and vectors."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.dialects.math import Math
from xdsl.ir import Operation

from qmlir.arithmetic.arrays import wrapped
from qmlir.dialects.simd.lanes import Conversion, ReduceAddOp, SelectOp
from qmlir.ir.builtin_types import AnyDense, as_dense
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.emitters.elements import lanes_of_constant
from qmlir.targets.cpu.emitters.llvm.function import IRWriter
from qmlir.targets.cpu.emitters.writing import COMPARISONS, CONVERSIONS, UNSIGNED, conversion_of, mnemonic, predicate_of
from qmlir.targets.cpu.runtime.semantics import arithmetic, lanes
from qmlir.targets.cpu.runtime.semantics.builder import Builder
from qmlir.targets.cpu.runtime.semantics.values import IRValue, constant, integer, lane_texts


def _rows(family: Mapping[str, arithmetic.Lowering]) -> dict[type[Operation], arithmetic.Lowering]:
    """Returns the lowering of each operation of `arith` and `math` whose name is in `family`."""
    operations = (*Arith.operations, *Math.operations)
    return {op: row for op in operations if (row := family.get(mnemonic(op))) is not None}


FUNCTIONS: Mapping[type[Operation], arithmetic.Lowering] = {
    **_rows(arithmetic.INTEGERS),
    **_rows(arithmetic.FLOATS),
    math.FPowIOp: arithmetic.float_to_integer_power,
    arith.SelectOp: Builder.select,
    SelectOp: Builder.select,
    ReduceAddOp: lanes.added_by_halves,
}
"""Operations with a lowering that needs only their operands."""


_BY_COMPARISONS: Mapping[type[Operation], arithmetic.Lowering] = _rows(arithmetic.EXTREMES_BY_COMPARISONS)


def _function(write: IRWriter, op: Operation) -> None:
    by_comparisons = None if write.parts.processor.has_extremes else _BY_COMPARISONS.get(type(op))
    lower = by_comparisons or FUNCTIONS[type(op)]
    write.define(op.results[0], lower(write.build, *write.operands(op)))


def fused(write: IRWriter, op: Operation) -> None:
    """Emits a fused multiply-add; WebAssembly lacks one, so that f32 and 16-bit floats are computed in f64 there."""
    values = write.operands(op)
    by_sums = write.parts.processor.is_wasm and values[0].type.element != "f64"
    lower = arithmetic.FUSED_BY_SUMS if by_sums else arithmetic.FLOATS["fma"]
    write.define(op.results[0], lower(write.build, *values))


def _conversion(write: IRWriter, op: Operation) -> None:
    kind, value, element = conversion_of(op), write.value(op.operands[0]), write.type(op, op.results[0].type).element
    if kind is Conversion.BITCAST:
        write.define(op.results[0], arithmetic.same_bits(write.build, value, element))
    else:
        write.define(op.results[0], arithmetic.converted(write.build, value, element, is_signed=kind not in UNSIGNED))


def _compare(write: IRWriter, op: Operation) -> None:
    write.define(op.results[0], arithmetic.compared(write.build, predicate_of(op), *write.operands(op)))


def _constant(write: IRWriter, op: arith.ConstantOp) -> None:
    dense = as_dense(op.value)
    write.values[op.result] = _number(write, op) if dense is None else _dense_vector(write, op, dense)


def _number(write: IRWriter, op: arith.ConstantOp) -> IRValue:
    value, type_ = op.value, write.type(op, op.result.type)
    match value:
        case IntegerAttr():
            return integer(type_, wrapped(value.value.data, type_.bits))
        case FloatAttr():
            kind = "u" if type_.is_half else "f"  # f16 and bf16 are represented by their bits
            return constant(type_, np.frombuffer(value.type.pack((value.value.data,)), f"{kind}{type_.bits // 8}"))
        case _:
            raise op_error(op, f"must be a number or dense<…>, but got constant {value}")


def _dense_vector(write: IRWriter, op: Operation, dense: AnyDense) -> IRValue:
    """Returns a dense attribute as a constant vector. Raises `DiagnosticError` unless it is a vector of rank 1."""
    array, type_ = lanes_of_constant(op, dense), write.type(op, dense.type)
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
    write.define(op.results[1], arithmetic.high_product(extend)(write.build, a, b))


EMISSIONS: dict[type[Operation], Any] = {
    **dict.fromkeys(FUNCTIONS, _function),
    **dict.fromkeys(CONVERSIONS, _conversion),
    **dict.fromkeys(COMPARISONS, _compare),
    math.FmaOp: fused,
    arith.ConstantOp: _constant,
    arith.AddUIExtendedOp: _add_with_carry,
    arith.MulSIExtendedOp: _multiply_extended,
    arith.MulUIExtendedOp: _multiply_extended,
}
