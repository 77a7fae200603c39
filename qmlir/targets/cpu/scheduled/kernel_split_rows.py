"""`kernel-split-rows`: splits a body that reduces its row into one op per reduction, and elementwise ops."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from qmlir.analysis.operand_accesses import forget_origins_in_bodies, reduces_rows
from qmlir.dialects.kernel.rows import RowReduceOp
from qmlir.ir.passes import count
from qmlir.ir.rewriting import apply_patterns_greedily
from qmlir.targets.cpu.host import resolved_isa
from qmlir.targets.cpu.isa import instruction_set
from qmlir.targets.cpu.scheduled.row_fusion import RowSplit, group_rows, grouped, mask_bytes, reduced_rows, widen_truths
from qmlir.targets.cpu.scheduled.softmax_lut import LongRow, look_up, mark_sums


@dataclass(frozen=True)
class SplitRows(RewritePattern):
    """Replaces an operation whose body reduces its row by several operations, in order."""

    has_tables: bool

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: GenericOp, rewriter: PatternRewriter, /) -> None:
        if not reduces_rows(op):
            return
        widen_truths(op, rewriter)
        mask_bytes(op, rewriter)
        table = look_up(op, rewriter) if self.has_tables else None
        if table is not None:
            mark_sums(op, table)
            count("bodies looked up by row")
        split = RowSplit(op, rewriter)
        long = None if table is None else LongRow.of(split, table)
        if long is not None:
            count("long rows whose bytes are computed once")
        _write(split, long)


def _write(split: RowSplit, long: LongRow | None) -> None:
    kept = split.kept()
    for op in split.block.ops:
        if long is not None and op is long.total:
            long.sum_bytes(split)
        elif isinstance(op, RowReduceOp):
            split.reduce(op)
        elif op in kept and (long is None or split.by_row.issuperset(op.results)):
            split.compute(op)
    made = split.finish() if long is None else long.look_up(split)
    split.rewriter.replace(split.op, [], [made])
    rows = next((rows for each in split.made if (rows := reduced_rows(each))), None)
    if rows is not None:
        grouped(split.made, rows)


@dataclass(frozen=True)
class KernelSplitRows(ModulePass):
    """Split bodies that reduce their row: one operation for each pass over the row.

    Each reduction of a row becomes a separate operation. Values that are constant along a row are computed once per
    row. Values of elements that several passes need are recomputed in each, or stored in memory if that is cheaper. If
    the axes over rows come first, one `kernel.row_fusion` contains all of these operations, because rows are
    independent. It also contains other reductions of the innermost axes, and operations that read their results row by
    row.

    If `isa` looks up a full register of bytes at a time, the exponential of a softmax of bytes is computed by a table,
    from 32,768 elements on. The table has a part for each maximum of a row, since the exponential depends on two bytes:
    the element and the maximum. If the bytes are themselves written by another table, and the values are also monotonic
    in the input of that table, both tables become one. Float sums in f64 of such a table are marked `reassoc` if all
    values are multiples of one unit, and the largest sum is below 2^53 units. From 256 elements per row on, the output
    bytes are computed for all 256 bytes and looked up, and sums are computed byte by byte. The mask of a masked softmax
    is applied to bytes.

    Before (run with `isa=avx2`):

    ```mlir
    func.func @main(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
      %0 = tensor.empty() : tensor<8x64xf32>
      %1 = linalg.generic {
          indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
          iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x64xf32>) outs(%0 : tensor<8x64xf32>) {
      ^bb0(%a: f32, %o: f32):
        %2 = arith.extf %a : f32 to f64
        %3 = kernel.row_sum %2 {dims = array<i64: 1>} : f64
        %4 = arith.truncf %3 : f64 to f32
        %5 = arith.divf %a, %4 : f32
        linalg.yield %5 : f32
      } -> tensor<8x64xf32>
      func.return %1 : tensor<8x64xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
      %0 = tensor.empty() : tensor<8x64xf32>
      %1 = arith.constant 0.000000e+00 : f64
      %2 = tensor.empty() : tensor<8xf64>
      %3 = tensor.empty() : tensor<8xf32>
      %4 = kernel.row_fusion outs(%0 : tensor<8x64xf32>) -> tensor<8x64xf32> attributes {rows = array<i64: 8>} {
      ^bb0(%5: tensor<8x64xf32>):
        %6 = linalg.fill ins(%1 : f64) outs(%2 : tensor<8xf64>) -> tensor<8xf64>
        %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
            iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8x64xf32>) outs(%6 : tensor<8xf64>) {
        ^bb0(%8: f32, %9: f64):
          %10 = arith.extf %8 : f32 to f64
          %11 = arith.addf %9, %10 : f64
          linalg.yield %11 : f64
        } -> tensor<8xf64>
        %12 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types =
            ["parallel"]} ins(%7 : tensor<8xf64>) outs(%3 : tensor<8xf32>) {
        ^bb0(%13: f64, %14: f32):
          %15 = arith.truncf %13 : f64 to f32
          linalg.yield %15 : f32
        } -> tensor<8xf32>
        %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>,
            affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %12 :
            tensor<8x64xf32>, tensor<8xf32>) outs(%5 : tensor<8x64xf32>) {
        ^bb0(%17: f32, %18: f32, %19: f32):
          %20 = arith.divf %17, %18 : f32
          linalg.yield %20 : f32
        } -> tensor<8x64xf32>
        kernel.yield %16 : tensor<8x64xf32>
      }
      func.return %4 : tensor<8x64xf32>
    }
    ```
    """

    name = "kernel-split-rows"

    isa: str = "generic"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pattern = SplitRows(bool(instruction_set(resolved_isa(self.isa)).table_bytes))
        statistics = apply_patterns_greedily(op, [pattern], ctx, folding=False)
        group_rows(op)
        forget_origins_in_bodies(op)
        count("bodies that reduce their row", statistics.counts[SplitRows.__name__])
