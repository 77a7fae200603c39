"""`canonicalize`: every operation's canonicalization patterns and folds, to a fixpoint."""

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.traits import HasCanonicalizationPatternsTrait
from xdsl.transforms.dead_code_elimination import region_dce

from qmlir import registry
from qmlir.ir.interfaces import RegisteredCanonicalization
from qmlir.ir.preservation import ROUNDED, Preservation
from qmlir.ir.rewriting import DEFAULT_BUDGET, apply_patterns_greedily, pattern_name
from qmlir.ir.statistics import count


class OwnPatterns(RewritePattern):
    """Applies the patterns that the operation itself names through its traits, and those registered for its dialect."""

    def __init__(self) -> None:
        self._patterns: dict[type[Operation], tuple[RewritePattern, ...]] = {}
        self.pattern_name = type(self).__name__
        """The pattern that was tried last, by which messages know it."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        kind = type(op)
        if kind not in self._patterns:
            traits = op.get_traits_of_type(HasCanonicalizationPatternsTrait)
            own = [pattern for trait in traits for pattern in trait.get_patterns(kind)]
            if not any(isinstance(trait, RegisteredCanonicalization) for trait in traits):
                own += registry.patterns(f"{op.dialect_name()}.canonicalize")
            self._patterns[kind] = tuple(own)
        for pattern in self._patterns[kind]:
            self.pattern_name = pattern_name(pattern)
            pattern.match_and_rewrite(op, rewriter)
            if rewriter.has_done_action:
                return


@dataclass(frozen=True)
class Canonicalize(ModulePass):
    """Bring operations into their canonical form: fold, simplify, and erase what nothing uses.

    Each operation brings its own patterns, from whichever package; only what changes no number is done. A rewrite
    that does not end within `budget` rewrites for each operation is an error that names the pattern.

    Before:

    ```mlir
    func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
      %0 = nn.transpose %x {permutation = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32>
      %1 = nn.transpose %0 {permutation = [1, 0]} : (tensor<3x2xf32>) -> tensor<2x3xf32>
      func.return %1 : tensor<2x3xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
      func.return %x : tensor<2x3xf32>
    }
    ```
    """

    name = "canonicalize"
    preserves: ClassVar[Preservation] = ROUNDED

    budget: int = DEFAULT_BUDGET

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        statistics = apply_patterns_greedily(op, [OwnPatterns()], ctx, folding=True, budget=self.budget)
        region_dce(op.body)
        count("rewrites", sum(statistics.counts.values()))
