"""`kernel-fuse-rows`: what reduces rows of memory and goes over them again does so row by row, in one kernel."""

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from qmlir.ir.preservation import EVERY_BIT, Preservation
from qmlir.ir.statistics import count
from qmlir.targets.cpu.scheduled.row_chains import chains_of
from qmlir.targets.cpu.scheduled.row_loops import rows_together, write_rows


@dataclass(frozen=True)
class KernelFuseRows(ModulePass):
    """Let a chain of operations that begins with a reduction of rows go over a few rows at a time, all of it.

    A softmax takes the largest of each row, the exponentials, their sum and the quotients; a layer normalization mean,
    differences, variance and result. Each by itself goes through all of memory. Where the reduced axes are the
    innermost ones and every later operation has the same rows, loops over the rows go around all of them: so many rows
    at a time as the nearest cache holds, at least eight where that divides them, since sums of so many run side by
    side. What nothing else reads is scratch memory of these rows. Each operation computes the same elements in the
    same order. Where one of them is divided among threads, the loops over rows are instead.

    Before:

    ```mlir
    func.func @main(%x: memref<64x512xf32>, %y: memref<64x512xf32> {nn.result}) {
      %least = arith.constant 0xFF800000 : f32
      %0 = memref.alloc() {alignment = 64 : i64} : memref<64xf32>
      linalg.fill ins(%least : f32) outs(%0 : memref<64xf32>)
      linalg.generic {
          indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
          iterator_types = ["parallel", "reduction"]} ins(%x : memref<64x512xf32>) outs(%0 : memref<64xf32>) {
      ^bb0(%a: f32, %o: f32):
        %1 = arith.maximumf %a, %o : f32
        linalg.yield %1 : f32
      }
      linalg.generic {
          indexing_maps = [
              affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>],
          iterator_types = ["parallel", "parallel"]}
          ins(%x, %0 : memref<64x512xf32>, memref<64xf32>) outs(%y : memref<64x512xf32>) {
      ^bb0(%a: f32, %b: f32, %o: f32):
        %2 = arith.subf %a, %b : f32
        linalg.yield %2 : f32
      }
      func.return
    }
    ```

    After:

    ```mlir
    func.func @main(%x: memref<64x512xf32>, %y: memref<64x512xf32> {nn.result}) {
      %least = arith.constant 0xFF800000 : f32
      %0 = arith.constant 0 : index
      %1 = arith.constant 64 : index
      %2 = arith.constant 8 : index
      scf.for %3 = %0 to %1 step %2 {
        %4 = memref.alloca() {alignment = 64 : i64} : memref<8xf32>
        linalg.fill ins(%least : f32) outs(%4 : memref<8xf32>)
        %x_1 = memref.subview %x[%3, 0] [8, 512] [1, 1] : memref<64x512xf32>
            to memref<8x512xf32, strided<[512, 1], offset: ?>>
        linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>,
            affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
            ins(%x_1 : memref<8x512xf32, strided<[512, 1], offset: ?>>) outs(%4 : memref<8xf32>) {
        ^bb0(%a: f32, %o: f32):
          %5 = arith.maximumf %a, %o : f32
          linalg.yield %5 : f32
        }
        %y_1 = memref.subview %y[%3, 0] [8, 512] [1, 1] : memref<64x512xf32>
            to memref<8x512xf32, strided<[512, 1], offset: ?>>
        linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>,
            affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>],
            iterator_types = ["parallel", "parallel"]}
            ins(%x_1, %4 : memref<8x512xf32, strided<[512, 1], offset: ?>>, memref<8xf32>)
            outs(%y_1 : memref<8x512xf32, strided<[512, 1], offset: ?>>) {
        ^bb0(%a_1: f32, %b: f32, %o_1: f32):
          %6 = arith.subf %a_1, %b : f32
          linalg.yield %6 : f32
        }
      }
      func.return
    }
    ```
    """

    name = "kernel-fuse-rows"
    preserves: ClassVar[Preservation] = EVERY_BIT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, FuncOp) and not function.is_declaration:
                for chain in chains_of(function.body.block):
                    rows = rows_together(chain)
                    if not rows:
                        continue
                    write_rows(chain, rows)
                    count("chains that go row by row")
                    count("operations in them", len(chain.steps))
