"""`canonicalize`: applies the canonicalization patterns and folds of every operation until nothing changes."""

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.traits import HasCanonicalizationPatternsTrait

from qmlir import registry
from qmlir.ir.effects import erase_dead
from qmlir.ir.interfaces import RegisteredCanonicalization
from qmlir.ir.passes import ROUNDED, Preservation, count
from qmlir.ir.rewriting import DEFAULT_BUDGET, apply_patterns_greedily, pattern_name


class OwnPatterns(RewritePattern):
    """Applies the patterns from an operation's traits, and those registered for its dialect."""

    def __init__(self) -> None:
        self._patterns: dict[type[Operation], tuple[RewritePattern, ...]] = {}
        self.tried: RewritePattern = self
        """The pattern that was tried last."""

    def may_match(self, kind: type[Operation], /) -> bool:
        """Returns True if operations of the class `kind` have patterns."""
        return bool(self._patterns_of(kind))

    @property
    def pattern_name(self) -> str:
        """The name of the pattern that was tried last, for messages."""
        return type(self).__name__ if self.tried is self else pattern_name(self.tried)

    def _patterns_of(self, kind: type[Operation]) -> tuple[RewritePattern, ...]:
        if kind not in self._patterns:
            traits = kind.get_traits_of_type(HasCanonicalizationPatternsTrait)
            own = [pattern for trait in traits for pattern in trait.get_patterns(kind)]
            if not any(isinstance(trait, RegisteredCanonicalization) for trait in traits):
                own += registry.patterns(f"{kind.dialect_name()}.canonicalize")
            self._patterns[kind] = tuple(own)
        return self._patterns[kind]

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        for pattern in self._patterns_of(type(op)):
            self.tried = pattern
            pattern.match_and_rewrite(op, rewriter)
            if rewriter.has_done_action:
                return


@dataclass(frozen=True)
class Canonicalize(ModulePass):
    """Canonicalizes a module: folds and simplifies operations, and erases unused ones.

    Each operation provides its own patterns, including operations defined by other packages. Patterns never change a
    result. If there are more than `budget` rewrites per operation, the pass fails with an error that names the pattern.

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
        erase_dead(op.body)
        count("rewrites", sum(statistics.counts.values()))
