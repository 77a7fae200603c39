"""`kernel-fill-borders`: what a slice will be written over is not filled before.

A padded tensor is a fill, into which a slice is inserted. Only what lies around the slice needs the fill; for an image
that is a small part of the memory.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, ModuleOp, i64
from xdsl.dialects.linalg.ops import FillOp
from xdsl.dialects.tensor import InsertSliceOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from qmlir.dialects.kernel.attributes import OVERWRITTEN
from qmlir.dialects.kernel.ops import shaped
from qmlir.ir.builtin_types import integer_list
from qmlir.ir.rewriting import apply_patterns_greedily
from qmlir.ir.statistics import count


class FillBorder(RewritePattern):
    """Say of a fill which slice of it is written over before anything is read."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: InsertSliceOp, rewriter: PatternRewriter, /) -> None:
        fill = op.dest.owner
        if not isinstance(fill, FillOp):
            return
        if OVERWRITTEN in fill.attributes or not op.dest.has_one_use():
            return
        is_known = not (op.offsets or op.sizes or op.strides)
        if not is_known or set(integer_list(op.static_strides)) != {1}:
            return
        place = integer_list(op.static_offsets), integer_list(op.static_sizes)
        if len(place[0]) != len(shaped(op.dest)[0]) or 0 in place[1]:
            return
        fill.attributes[OVERWRITTEN] = ArrayAttr([DenseArrayBase.from_list(i64, each) for each in place])
        rewriter.notify_op_modified(fill)
        count("fills of borders alone")


@dataclass(frozen=True)
class KernelFillBorders(ModulePass):
    """Mark each filled tensor of which a slice is written over: loops fill what lies around it.

    The attribute `kernel.overwritten` has the offsets and the sizes of the slice. What a fill leaves there concerns
    nobody: its one user writes over it.

    Before:

    ```mlir
    func.func @main(%x: tensor<2x3xi8>, %v: i8) -> tensor<4x5xi8> {
      %0 = tensor.empty() : tensor<4x5xi8>
      %1 = linalg.fill ins(%v : i8) outs(%0 : tensor<4x5xi8>) -> tensor<4x5xi8>
      %2 = tensor.insert_slice %x into %1[1, 1] [2, 3] [1, 1] : tensor<2x3xi8> into tensor<4x5xi8>
      func.return %2 : tensor<4x5xi8>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<2x3xi8>, %v: i8) -> tensor<4x5xi8> {
      %0 = tensor.empty() : tensor<4x5xi8>
      %1 = linalg.fill {kernel.overwritten = [array<i64: 1, 1>, array<i64: 2, 3>]} ins(%v : i8)
          outs(%0 : tensor<4x5xi8>) -> tensor<4x5xi8>
      %2 = tensor.insert_slice %x into %1[1, 1] [2, 3] [1, 1] : tensor<2x3xi8> into tensor<4x5xi8>
      func.return %2 : tensor<4x5xi8>
    }
    ```
    """

    name = "kernel-fill-borders"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns_greedily(op, [FillBorder()], ctx)
