"""`math-expand`: expands math functions without CPU instructions to the steps that define them."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ContainerType, ModuleOp, VectorType
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from qmlir.dialects.kernel.ops import ReciprocalRootOp
from qmlir.ir.rewriting import apply_patterns_greedily
from qmlir.targets.cpu.loops.emitter import Emitter, VectorEmitter, expanded, expanded_root, function_name


class Expand(RewritePattern):
    """Expands a function of f32, f16 or bf16, or the reciprocal root of an integer, to its definition."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, ReciprocalRootOp):
            rewriter.replace(op, [], [expanded_root(Emitter(rewriter, rewriter), op.value)])
            return
        name = function_name(op)
        if name is None:
            return
        type_, emitter = op.results[0].type, Emitter(rewriter, rewriter)
        if isinstance(type_, VectorType) and type_.get_num_dims() == 1:
            emitter = VectorEmitter.of(emitter, type_.get_shape()[0])
        elif isinstance(type_, ContainerType):
            return
        rewriter.replace(op, [], [expanded(emitter, name, op.operands)])


@dataclass(frozen=True)
class MathExpand(ModulePass):
    """Expands `math` functions on f32, f16 and bf16, scalars or vectors, to the steps that define them.

    The interpreter computes `math.exp` of f32 by the same steps, so results stay bit-identical, also in compiled code
    that rounds after each step. The expansion contains additions, products, divisions, square roots, comparisons,
    selects and bit operations, which a compiler can vectorize. Functions of f64 are not expanded: the C library
    provides them. `kernel.reciprocal_root`, the reciprocal square root of an integer, is also expanded.

    Before:

    ```mlir
    func.func @main(%x: f32) -> f32 {
      %0 = math.rsqrt %x : f32
      func.return %0 : f32
    }
    ```

    After:

    ```mlir
    func.func @main(%x: f32) -> f32 {
      %0 = math.sqrt %x : f32
      %1 = arith.constant 1.0 : f32
      %2 = arith.divf %1, %0 : f32
      func.return %2 : f32
    }
    ```
    """

    name = "math-expand"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns_greedily(op, [Expand()], ctx, folding=False)
