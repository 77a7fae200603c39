"""`kernel-tabulate-long-rows`: what a long row computes of its bytes is computed of all 256 bytes, and looked up."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import (
    AffineMapAttr,
    FloatAttr,
    IntegerAttr,
    ModuleOp,
    TensorType,
    f32,
    f64,
    i8,
    i32,
)
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.dialects.linalg.ops import FillOp, GenericOp, IndexOp, YieldOp
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from qmlir.analysis.readings import (
    INTEGER_DIVISIONS,
    Reading,
    computes_only,
    element_of,
    is_elementwise,
    kinds_of,
    output_maps,
    ranges_of,
    readings_of,
    shape_of,
)
from qmlir.dialects.simd.memory import BYTE_VALUES
from qmlir.ir.builtin_types import dense
from qmlir.ir.preservation import EVERY_BIT, Preservation
from qmlir.ir.provenance import merged_origins, origins_of, set_origins
from qmlir.ir.rewriting import apply_patterns_greedily
from qmlir.ir.statistics import count
from qmlir.targets.cpu.scheduled.row_tables import RowTable, lowest_bit, place_of, row_table_of

FEWEST_IN_ROW = 256
"""Elements of a row from which on a table of 256 bytes, and sums of bytes, take less than they save.

On Zen 4, in ns a row of a softmax: 47, 90 and 176 for 128, 256 and 512 elements one by one, 63, 79 and 109 by tables.
"""

MOST_PLANES = 6
"""The bytes of a whole number that are summed one by one: those of more take as long as floats."""

MOST_IN_ROW = 1 << 23
"""Bytes, each of at most 255, whose sum a signed integer of 32 bits holds."""

_BASE = 1 << 8


@dataclass(frozen=True)
class _Planes:
    """The numbers of a table as whole multiples of a unit, byte by byte."""

    bytes: npt.NDArray[np.uint8]
    """`[largest byte, place, byte]`, the highest place first."""
    unit: float


def _planes(numbers: npt.NDArray[np.float32]) -> _Planes | None:
    """The bytes of all numbers; `None` where one is negative, or has too many."""
    if not np.isfinite(numbers).all() or np.signbit(numbers).any():
        return None
    lowest = lowest_bit(numbers) if numbers.any() else 0
    places = max(1, -(-(int(np.frexp(numbers.max())[1]) - lowest) // 8))
    if places > MOST_PLANES:
        return None
    multiples = np.ldexp(numbers.astype(np.float64), -lowest).astype("<u8")
    parts = np.ascontiguousarray(multiples).view(np.uint8).reshape(*numbers.shape, multiples.itemsize)
    return _Planes(
        np.ascontiguousarray(parts[..., :places][..., ::-1].transpose(0, 2, 1)), float(np.ldexp(1.0, lowest))
    )


def _is_long(op: GenericOp) -> bool:
    ranges = ranges_of(op)
    return bool(ranges) and FEWEST_IN_ROW <= ranges[-1] <= MOST_IN_ROW


def _is_identity(map_: AffineMap) -> bool:
    return map_ == AffineMap.identity(map_.num_dims)


def _is_free_sum(op: Operation, values: SSAValue) -> bool:
    """Whether `op` sums the floats of each row of `values` in f64, in any order, from 0 on."""
    if not isinstance(op, GenericOp) or list(op.inputs) != [values] or len(op.res) != 1:
        return False
    (reading,), (output,), end = readings_of(op), output_maps(op), op.body.block.last_op
    *rows, last = kinds_of(op)
    is_by_rows = last is IteratorType.REDUCTION and all(kind is IteratorType.PARALLEL for kind in rows)
    total = None if end is None else end.operands[0].owner
    if not is_by_rows or not isinstance(total, arith.AddfOp) or total.result.type != f64:
        return False
    terms = [operand.owner for operand in total.operands if operand is not op.body.block.args[-1]]
    is_widened = len(terms) == 1 and isinstance(terms[0], arith.ExtFOp) and terms[0].input is reading.argument
    is_free = FastMathFlag.REASSOC in total.fastmath.data and len(list(op.body.block.ops)) == 3
    return is_widened and is_free and _is_identity(reading.map_) and len(rows) not in output.used_dims()


def _is_of_values(op: Operation, values: SSAValue) -> bool:
    """Whether `op` computes bytes from the elements of `values`, and what else it reads is the same in a whole row."""
    if not isinstance(op, GenericOp) or not is_elementwise(op) or element_of(op.res[0]) != i8:
        return False
    *body, _ = op.body.block.ops
    if any(each.regions or isinstance(each, INTEGER_DIVISIONS) or not computes_only(each) for each in body):
        return False
    if any(isinstance(each, IndexOp | tensor.ExtractOp) for each in body) or not _is_identity(output_maps(op)[0]):
        return False
    last = len(op.iterator_types) - 1
    return all(
        _is_identity(each.map_) if each.value is values else last not in each.map_.used_dims()
        for each in readings_of(op)
    )


class TabulateLongRow(RewritePattern):
    """Sum the floats of a table byte by byte, and compute what is made of them and of their sum once for each byte."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: GenericOp, rewriter: PatternRewriter, /) -> None:
        if len(op.res) != 1 or not is_elementwise(op) or not _is_long(op):
            return
        table = row_table_of(op.res[0])
        users = list(dict.fromkeys(use.operation for use in op.res[0].uses))
        if table is None or len(users) != 2 or not all(map(_is_identity, (table.byte.map_, output_maps(op)[0]))):
            return
        if len(op.iterator_types) - 1 in table.largest.map_.used_dims():
            return
        sums = [each for each in users if _is_free_sum(each, op.res[0])]
        results = [each for each in users if _is_of_values(each, op.res[0])]
        planes = _planes(table.numbers) if len(sums) == len(results) == 1 else None
        if planes is None:
            return
        (total,), (result,) = sums, results
        assert isinstance(total, GenericOp)
        assert isinstance(result, GenericOp)
        _sum_bytes(table, total, planes, rewriter)
        _look_up(table, result, rewriter)
        rewriter.erase(op)
        if not table.constant.result.uses:
            rewriter.erase(table.constant)


def _constant(parts: npt.NDArray[np.generic], element: Attribute, source: Operation) -> arith.ConstantOp:
    made = arith.ConstantOp(dense(parts.tobytes(), TensorType(element, parts.shape)))
    set_origins(made, origins_of(source))
    return made


def _generic(
    readings: Sequence[Reading], output: SSAValue, map_: AffineMap, block: Block, sources: Sequence[Operation],
    *, reduced: bool = False,
) -> GenericOp:  # fmt: skip
    """An operation on rows, whose last iterator reduces or not."""
    kinds = [IteratorTypeAttr(IteratorType.PARALLEL)] * map_.num_dims
    if reduced:
        kinds[-1] = IteratorTypeAttr(IteratorType.REDUCTION)
    maps = [AffineMapAttr(each) for each in (*(reading.map_ for reading in readings), map_)]
    values = [reading.value for reading in readings]
    made = GenericOp(values, [output], Region(block), maps, kinds, [output.type])
    set_origins(made, merged_origins(sources))
    return made


def _sum_bytes(table: RowTable, total: GenericOp, planes: _Planes, rewriter: PatternRewriter) -> None:
    """Sum each byte of the whole numbers by itself; all together, times the unit, are what `total` has summed."""
    rank = len(total.iterator_types)
    *rows, _ = shape_of(table.op.res[0])
    places = planes.bytes.shape[1]
    sources = (table.op, total)
    rowwise = [AffineExpr.dimension(dim) for dim in range(rank - 1)]
    place, column = AffineExpr.dimension(rank - 1), AffineExpr.dimension(rank)
    constant = _constant(planes.bytes, i8, total)
    zero = arith.ConstantOp(IntegerAttr(0, i32))
    type_ = TensorType(i32, [*rows, places])
    empty = tensor.EmptyOp((), type_)
    fill = FillOp([zero.result], [empty.tensor], [type_])
    readings = [table.byte.through([*rowwise, column], rank + 1), table.largest.through([*rowwise, column], rank + 1)]
    block = Block(arg_types=[i8, i8, i32])
    builder = Builder(InsertPoint.at_end(block))
    byte, largest = (place_of(builder, argument) for argument in block.args[:2])
    number = builder.insert(IndexOp(rank - 1)).result
    part = builder.insert(tensor.ExtractOp(constant.result, [largest, number, byte], i8)).result
    wide = builder.insert(arith.ExtUIOp(part, i32)).result
    builder.insert(YieldOp(builder.insert(arith.AddiOp(block.args[2], wide)).result))
    parts = _generic(readings, fill.results[0], AffineMap(rank + 1, 0, (*rowwise, place)), block, sources, reduced=True)
    block = Block(arg_types=[i32, f64])
    builder = Builder(InsertPoint.at_end(block))
    base = builder.insert(arith.ConstantOp(FloatAttr(_BASE, f64))).result
    unit = builder.insert(arith.ConstantOp(FloatAttr(planes.unit, f64))).result
    before = builder.insert(arith.MulfOp(block.args[1], base)).result
    units = builder.insert(arith.SIToFPOp(block.args[0], f64)).result
    here = builder.insert(arith.MulfOp(units, unit)).result
    builder.insert(YieldOp(builder.insert(arith.AddfOp(before, here)).result))
    whole = _generic(
        [Reading(parts.res[0], AffineMap.identity(rank))], total.outputs[0], output_maps(total)[0], block, sources,
        reduced=True,
    )  # fmt: skip
    rewriter.replace(total, [constant, zero, empty, fill, parts, whole], list(whole.res))


def _look_up(table: RowTable, result: GenericOp, rewriter: PatternRewriter) -> None:
    """Compute `result` for each byte that a row may have, and look it up for those that it has."""
    rank = len(result.iterator_types)
    *rows, _ = shape_of(result.res[0])
    sources = (table.op, result)
    constant = _constant(table.numbers, f32, result)
    type_ = TensorType(i8, [*rows, BYTE_VALUES])
    empty = tensor.EmptyOp((), type_)
    others = [each for each in readings_of(result) if each.value is not table.op.res[0]]
    readings = [table.largest, *others]
    block = Block(arg_types=[*(element_of(each.value) for each in readings), i8])
    builder = Builder(InsertPoint.at_end(block))
    largest = place_of(builder, block.args[0])
    number = builder.insert(IndexOp(rank - 1)).result
    element = builder.insert(tensor.ExtractOp(constant.result, [largest, number], f32)).result
    values: dict[SSAValue, SSAValue] = {}
    for each, argument in zip(others, block.args[1:], strict=False):
        assert each.argument is not None
        values[each.argument] = argument
    for each in readings_of(result):
        if each.value is table.op.res[0] and each.argument is not None:
            values[each.argument] = element
    for each in result.body.block.ops:
        builder.insert(each.clone(values))
    every = _generic(readings, empty.tensor, AffineMap.identity(rank), block, sources)
    block = Block(arg_types=[i8, i8])
    builder = Builder(InsertPoint.at_end(block))
    numbers = [builder.insert(IndexOp(dim)).result for dim in range(rank - 1)]
    place = place_of(builder, block.args[0])
    builder.insert(YieldOp(builder.insert(tensor.ExtractOp(every.res[0], [*numbers, place], i8)).result))
    made = _generic([table.byte], result.outputs[0], output_maps(result)[0], block, sources)
    rewriter.replace(result, [constant, empty, every, made], list(made.res))


@dataclass(frozen=True)
class KernelTabulateLongRows(ModulePass):
    """Compute what a long row makes of its bytes for all 256 bytes, and look it up; sum its floats byte by byte.

    The exponentials of a softmax are looked up by a byte and the largest byte of its row (`kernel-tabulate-rows`), and
    two operations read them. The sum of a row is exact in any order (`kernel-free-sums`): its terms are whole multiples
    of one unit. So each byte of these whole numbers is looked up and summed by itself, and all sums together, times the
    unit, are that sum; four bytes go into one lane at a time. Behind the sum, the bytes that the row becomes depend on
    its own bytes alone: what computes them does so for 256 bytes, from the row of the table, and each element is looked
    up. The floats themselves are gone. That takes the same time for a row of any length, and less than a quotient for
    each element from 256 elements on.

    Before:

    ```mlir
    func.func @main(%x: tensor<2x512xi8>, %m: tensor<2xi8>) -> tensor<2x512xi8> {
      %table = arith.constant dense<0> : tensor<256x4x256xi8>
      %0 = tensor.empty() : tensor<2x512xf32>
      %1 = linalg.generic {
          indexing_maps = [
              affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>],
          iterator_types = ["parallel", "parallel"]}
          ins(%x, %m : tensor<2x512xi8>, tensor<2xi8>) outs(%0 : tensor<2x512xf32>) {
      ^bb0(%a: i8, %b: i8, %o: f32):
        %least = arith.constant -128 : index
        %place = arith.index_cast %a : i8 to index
        %2 = arith.subi %place, %least : index
        %largest = arith.index_cast %b : i8 to index
        %3 = arith.subi %largest, %least : index
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %c3 = arith.constant 3 : index
        %4 = tensor.extract %table[%3, %c0, %2] : tensor<256x4x256xi8>
        %5 = tensor.extract %table[%3, %c1, %2] : tensor<256x4x256xi8>
        %6 = tensor.extract %table[%3, %c2, %2] : tensor<256x4x256xi8>
        %7 = tensor.extract %table[%3, %c3, %2] : tensor<256x4x256xi8>
        %8 = kernel.join %4, %5, %6, %7 : f32
        linalg.yield %8 : f32
      } -> tensor<2x512xf32>
      %zero = arith.constant 0.000000e+00 : f64
      %9 = tensor.empty() : tensor<2xf64>
      %10 = linalg.fill ins(%zero : f64) outs(%9 : tensor<2xf64>) -> tensor<2xf64>
      %11 = linalg.generic {
          indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
          iterator_types = ["parallel", "reduction"]}
          ins(%1 : tensor<2x512xf32>) outs(%10 : tensor<2xf64>) {
      ^bb0(%a: f32, %o: f64):
        %12 = arith.extf %a : f32 to f64
        %13 = arith.addf %o, %12 fastmath<reassoc> : f64
        linalg.yield %13 : f64
      } -> tensor<2xf64>
      %14 = tensor.empty() : tensor<2x512xi8>
      %15 = linalg.generic {
          indexing_maps = [
              affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>],
          iterator_types = ["parallel", "parallel"]}
          ins(%1, %11 : tensor<2x512xf32>, tensor<2xf64>) outs(%14 : tensor<2x512xi8>) {
      ^bb0(%a: f32, %s: f64, %o: i8):
        %16 = arith.truncf %s : f64 to f32
        %17 = arith.divf %a, %16 : f32
        %18 = arith.constant 1.200000e+02 : f32
        %19 = arith.mulf %17, %18 : f32
        %20 = arith.fptosi %19 : f32 to i8
        linalg.yield %20 : i8
      } -> tensor<2x512xi8>
      func.return %15 : tensor<2x512xi8>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<2x512xi8>, %m: tensor<2xi8>) -> tensor<2x512xi8> {
      %zero = arith.constant 0.000000e+00 : f64
      %0 = tensor.empty() : tensor<2xf64>
      %1 = linalg.fill ins(%zero : f64) outs(%0 : tensor<2xf64>) -> tensor<2xf64>
      %2 = arith.constant dense<0> : tensor<256x1x256xi8>
      %3 = arith.constant 0 : i32
      %4 = tensor.empty() : tensor<2x1xi32>
      %5 = linalg.fill ins(%3 : i32) outs(%4 : tensor<2x1xi32>) -> tensor<2x1xi32>
      %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1,
          d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel",
          "reduction"]} ins(%x, %m : tensor<2x512xi8>, tensor<2xi8>) outs(%5 : tensor<2x1xi32>) {
      ^bb0(%7: i8, %8: i8, %9: i32):
        %10 = arith.index_cast %7 : i8 to index
        %11 = arith.constant -128 : index
        %12 = arith.subi %10, %11 : index
        %13 = arith.index_cast %8 : i8 to index
        %14 = arith.constant -128 : index
        %15 = arith.subi %13, %14 : index
        %16 = linalg.index 1 : index
        %17 = tensor.extract %2[%15, %16, %12] : tensor<256x1x256xi8>
        %18 = arith.extui %17 : i8 to i32
        %19 = arith.addi %9, %18 : i32
        linalg.yield %19 : i32
      } -> tensor<2x1xi32>
      %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
          iterator_types = ["parallel", "reduction"]} ins(%6 : tensor<2x1xi32>) outs(%1 : tensor<2xf64>) {
      ^bb0(%21: i32, %22: f64):
        %23 = arith.constant 2.560000e+02 : f64
        %24 = arith.constant 1.000000e+00 : f64
        %25 = arith.mulf %22, %23 : f64
        %26 = arith.sitofp %21 : i32 to f64
        %27 = arith.mulf %26, %24 : f64
        %28 = arith.addf %25, %27 : f64
        linalg.yield %28 : f64
      } -> tensor<2xf64>
      %29 = tensor.empty() : tensor<2x512xi8>
      %30 = arith.constant dense<0.000000e+00> : tensor<256x256xf32>
      %31 = tensor.empty() : tensor<2x256xi8>
      %32 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>,
          affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%m,
          %20 : tensor<2xi8>, tensor<2xf64>) outs(%31 : tensor<2x256xi8>) {
      ^bb0(%33: i8, %34: f64, %35: i8):
        %36 = arith.index_cast %33 : i8 to index
        %37 = arith.constant -128 : index
        %38 = arith.subi %36, %37 : index
        %39 = linalg.index 1 : index
        %40 = tensor.extract %30[%38, %39] : tensor<256x256xf32>
        %41 = arith.truncf %34 : f64 to f32
        %42 = arith.divf %40, %41 : f32
        %43 = arith.constant 1.200000e+02 : f32
        %44 = arith.mulf %42, %43 : f32
        %45 = arith.fptosi %44 : f32 to i8
        linalg.yield %45 : i8
      } -> tensor<2x256xi8>
      %46 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
          iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2x512xi8>) outs(%29 : tensor<2x512xi8>) {
      ^bb0(%47: i8, %48: i8):
        %49 = linalg.index 0 : index
        %50 = arith.index_cast %47 : i8 to index
        %51 = arith.constant -128 : index
        %52 = arith.subi %50, %51 : index
        %53 = tensor.extract %32[%49, %52] : tensor<2x256xi8>
        linalg.yield %53 : i8
      } -> tensor<2x512xi8>
      func.return %46 : tensor<2x512xi8>
    }
    ```
    """

    name = "kernel-tabulate-long-rows"
    preserves: ClassVar[Preservation] = EVERY_BIT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        statistics = apply_patterns_greedily(op, [TabulateLongRow()], ctx, folding=False)
        count("long rows whose bytes are computed once", statistics.counts[TabulateLongRow.__name__])
