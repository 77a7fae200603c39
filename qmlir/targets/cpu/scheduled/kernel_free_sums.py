"""`kernel-free-sums`: sums of floats that are exact in any order say so."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, ModuleOp, f64
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.dialects.utils import FastMathFlag
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from qmlir.analysis.readings import defining, kinds_of, ranges_of, readings_of
from qmlir.ir.preservation import EVERY_BIT, Preservation
from qmlir.ir.rewriting import apply_patterns_greedily
from qmlir.ir.statistics import count
from qmlir.passes.integer.fusion import scalar_of
from qmlir.targets.cpu.scheduled.row_tables import MANTISSA, lowest_bit, row_table_of

_FREE = arith.FastMathFlagsAttr([FastMathFlag.REASSOC])


def is_exact_in_any_order(numbers: npt.NDArray[Any], terms: int) -> bool:
    """Whether f64 holds every sum of up to so many of the numbers: all are whole multiples of one unit."""
    if not np.isfinite(numbers).all():
        return False
    if not numbers.any():
        return True
    largest = math.frexp(float(np.abs(numbers).max()) * terms)[1]
    return bool(largest - lowest_bit(numbers) <= MANTISSA)


class FreeSum(RewritePattern):
    """A sum in f64 of floats that are all known may add them in any order."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: GenericOp, rewriter: PatternRewriter, /) -> None:
        kinds = kinds_of(op)
        block = op.body.block
        if len(op.res) != 1 or len(op.inputs) != 1 or IteratorType.REDUCTION not in kinds or block.last_op is None:
            return
        total = defining(block.last_op.operands[0])
        start = scalar_of(op.outputs[0])
        if not isinstance(total, arith.AddfOp) or total.result.type != f64 or total.fastmath == _FREE:
            return
        if not isinstance(start, FloatAttr) or start.value.data != 0:
            return
        (reading,) = readings_of(op)
        others = [operand for operand in total.operands if operand is not block.args[-1]]
        widened = others[0].owner if len(others) == 1 else None
        if not isinstance(widened, arith.ExtFOp) or widened.input is not reading.argument:
            return
        table = row_table_of(reading.value)
        terms = math.prod(
            size for size, kind in zip(ranges_of(op), kinds, strict=True) if kind is IteratorType.REDUCTION
        )
        if table is not None and is_exact_in_any_order(np.unique(table.numbers), terms):
            total.fastmath = _FREE
            rewriter.notify_op_modified(op)


@dataclass(frozen=True)
class KernelFreeSums(ModulePass):
    """Mark sums in f64 that come out the same in any order, with `fastmath<reassoc>`: loops may have partial sums.

    Sums of floats keep their order. But where all terms are from one table, f64 may be proven to hold each sum of so
    many of them exactly: they are whole multiples of one unit, and the largest sum is less than 2^53 units. Nothing is
    rounded then, and the order does not matter. For exponentials of a softmax that is so where the smallest is not
    below about 2^-20, at 512 elements in a row.

    Before:

    ```mlir
    func.func @main(%x: tensor<2x8xi8>, %m: tensor<2xi8>) -> tensor<2xf64> {
      %table = arith.constant dense<64> : tensor<256x4x256xi8>
      %0 = tensor.empty() : tensor<2x8xf32>
      %1 = linalg.generic {
          indexing_maps = [
              affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>],
          iterator_types = ["parallel", "parallel"]}
          ins(%x, %m : tensor<2x8xi8>, tensor<2xi8>) outs(%0 : tensor<2x8xf32>) {
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
      } -> tensor<2x8xf32>
      %zero = arith.constant 0.000000e+00 : f64
      %9 = tensor.empty() : tensor<2xf64>
      %10 = linalg.fill ins(%zero : f64) outs(%9 : tensor<2xf64>) -> tensor<2xf64>
      %11 = linalg.generic {
          indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
          iterator_types = ["parallel", "reduction"]}
          ins(%1 : tensor<2x8xf32>) outs(%10 : tensor<2xf64>) {
      ^bb0(%a: f32, %o: f64):
        %12 = arith.extf %a : f32 to f64
        %13 = arith.addf %o, %12 : f64
        linalg.yield %13 : f64
      } -> tensor<2xf64>
      func.return %11 : tensor<2xf64>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<2x8xi8>, %m: tensor<2xi8>) -> tensor<2xf64> {
      %table = arith.constant dense<64> : tensor<256x4x256xi8>
      %0 = tensor.empty() : tensor<2x8xf32>
      %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>,
          affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>],
          iterator_types = ["parallel", "parallel"]} ins(%x, %m : tensor<2x8xi8>, tensor<2xi8>)
          outs(%0 : tensor<2x8xf32>) {
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
      } -> tensor<2x8xf32>
      %zero = arith.constant 0.000000e+00 : f64
      %9 = tensor.empty() : tensor<2xf64>
      %10 = linalg.fill ins(%zero : f64) outs(%9 : tensor<2xf64>) -> tensor<2xf64>
      %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>,
          affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%1 : tensor<2x8xf32>)
          outs(%10 : tensor<2xf64>) {
      ^bb0(%a_1: f32, %o_1: f64):
        %12 = arith.extf %a_1 : f32 to f64
        %13 = arith.addf %o_1, %12 fastmath<reassoc> : f64
        linalg.yield %13 : f64
      } -> tensor<2xf64>
      func.return %11 : tensor<2xf64>
    }
    ```
    """

    name = "kernel-free-sums"
    preserves: ClassVar[Preservation] = EVERY_BIT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        statistics = apply_patterns_greedily(op, [FreeSum()], ctx, folding=False)
        count("sums in any order", statistics.counts[FreeSum.__name__])
