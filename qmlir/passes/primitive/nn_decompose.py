"""`nn-decompose`: composites become primitives whose roles are remembered."""

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from qmlir import registry
from qmlir.dialects.nn.requantize import hand_on_requantization
from qmlir.ir.conversion import Legality, convert_partially
from qmlir.ir.decomposition import Keep, Parts, mark_composite
from qmlir.ir.preservation import ROUNDED, Preservation
from qmlir.ir.statistics import count


class Decompose(RewritePattern):
    """Replaces a composite by the parts that its dialect, or another package, registered for it."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        decomposition = registry.decompositions()[type(op)]
        parts = Parts(op)
        results = decomposition(op, parts)
        if results is not None:
            hand_on_requantization(op, parts.operations)
            mark_composite(op, results, parts.operations)
            rewriter.replace(op, parts.operations, results)
            count("composites decomposed")


@dataclass(frozen=True)
class NnDecompose(ModulePass):
    """Replace each composite by its parts, unless `keep` names its kind, its node in the model, or a glob of either.

    Every part carries the composite's node and its role there, so that it has a profile and parameters of its own.
    Those that give results carry what the composite was, for `nn-raise`.

    Before:

    ```mlir
    func.func @main(%x: tensor<1x4xf32>, %w: tensor<2x4xf32>, %b: tensor<2xf32>) -> tensor<1x2xf32> {
      %0 = nn.fully_connected %x, %w, %b
          : (tensor<1x4xf32>, tensor<2x4xf32>, tensor<2xf32>) -> tensor<1x2xf32> {origin = "fc"}
      func.return %0 : tensor<1x2xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<1x4xf32>, %w: tensor<2x4xf32>, %b: tensor<2xf32>) -> tensor<1x2xf32> {
      %0 = nn.matmul %x, %w {transpose_b = true}
          : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<1x2xf32> {origin = "fc", role = "matmul"}
      %1 = nn.add %0, %b : (tensor<1x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
          {origin = "fc", role = "bias_add", composite = {op = "nn.fully_connected"}}
      func.return %1 : tensor<1x2xf32>
    }
    ```
    """

    name = "nn-decompose"
    preserves: ClassVar[Preservation] = ROUNDED

    keep: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        keep = Keep(self.keep)
        composites = Legality(
            illegal_operations=tuple(registry.decompositions()), is_kept=lambda composite: composite in keep
        )
        # What has no parts as it is, a convolution without bias or a quantized composite that does not say the types of
        # its parts, stays.
        convert_partially(op, [Decompose()], composites, ctx)
