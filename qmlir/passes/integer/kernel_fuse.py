"""`kernel-fuse`: fewer and larger kernels, each bit as before."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from qmlir.analysis.operand_accesses import forget_origins_in_bodies
from qmlir.ir.passes import count
from qmlir.ir.rewriting import apply_patterns_greedily
from qmlir.passes.integer import fusion, scalar_simplification


@dataclass(frozen=True)
class KernelFuse(ModulePass):
    """Fuse elementwise work into what reads it, and into the epilogues of contractions.

    A `linalg.generic` that computes each element by itself goes into its reader where nothing else reads it and its
    elements are read once each; one that only moves elements goes into every reader. What reads the result of a
    contraction element by element becomes part of the contraction's epilogue, its other operands epilogue operands: so
    do bias, requantization, activation and a residual sum with its rescale. Tensors full of one constant become
    constants of the body, and integer extremes and extensions that change nothing go. A fused body has at most 96
    operations and 12 operands. No operation on an element changes, so no bit does.

    Before:

    ```mlir
    func.func @main(%x: tensor<4x8xi8>, %w: tensor<2x8xi8>, %r: tensor<4x2xi32>) -> tensor<4x2xi32> {
      %0 = kernel.matmul ins(%x, %w : tensor<4x8xi8>, tensor<2x8xi8>) -> tensor<4x2xi32> {
      ^bb0(%sum: i32):
        kernel.yield %sum : i32
      }
      %1 = tensor.empty() : tensor<4x2xi32>
      %2 = linalg.generic {
          indexing_maps = [
              affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
          iterator_types = ["parallel", "parallel"]}
          ins(%0, %r : tensor<4x2xi32>, tensor<4x2xi32>) outs(%1 : tensor<4x2xi32>) {
      ^bb0(%a: i32, %b: i32, %o: i32):
        %3 = arith.addi %a, %b : i32
        linalg.yield %3 : i32
      } -> tensor<4x2xi32>
      func.return %2 : tensor<4x2xi32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<4x8xi8>, %w: tensor<2x8xi8>, %r: tensor<4x2xi32>) -> tensor<4x2xi32> {
      %0 = kernel.matmul ins(%x, %w : tensor<4x8xi8>, tensor<2x8xi8>)
          epilogue(%r : tensor<4x2xi32>) -> tensor<4x2xi32>
          attributes {epilogue_maps = [affine_map<(d0, d1) -> (d0, d1)>]} {
      ^bb0(%sum: i32, %b: i32):
        %1 = arith.addi %sum, %b : i32
        kernel.yield %1 : i32
      }
      func.return %0 : tensor<4x2xi32>
    }
    ```
    """

    name = "kernel-fuse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        patterns = (*scalar_simplification.PATTERNS, *fusion.PATTERNS)
        statistics = apply_patterns_greedily(op, patterns, ctx)
        forget_origins_in_bodies(op)
        for pattern in ("FuseProducer", "FuseEpilogue"):
            count(f"{pattern} applied", statistics.counts[pattern])
