"""Conversion with legality: patterns run until no illegal operation is left, or the first that stays is named.

A lowering states what is legal where it ends, as data; a pattern need not know when to stop, and an operation that no
pattern takes is an error that names the operation, its node in the model, and what would be accepted.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from qmlir.ir.diagnostics import op_error
from qmlir.ir.rewriting import RewriteStatistics, apply_patterns_greedily


@dataclass(frozen=True)
class Legality:
    """What may stand at the end of a conversion.

    An operation is illegal where its dialect is in `illegal_dialects` or its class in `illegal_operations`, unless
    `is_kept` says that this one may stay.
    """

    illegal_dialects: frozenset[str] = frozenset()
    illegal_operations: tuple[type[Operation], ...] = ()
    is_kept: Callable[[Operation], bool] | None = None
    accepted: str = ""
    """What an error says would be accepted."""

    def forbids(self, op: Operation) -> bool:
        """Whether `op` must not be left."""
        if op.dialect_name() not in self.illegal_dialects and not isinstance(op, self.illegal_operations):
            return False
        return self.is_kept is None or not self.is_kept(op)


@dataclass(frozen=True)
class _OnIllegal(RewritePattern):
    """Applies a pattern to illegal operations only."""

    pattern: RewritePattern
    legality: Legality

    @property
    def pattern_name(self) -> str:
        return type(self.pattern).__name__

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if self.legality.forbids(op):
            self.pattern.match_and_rewrite(op, rewriter)


def convert_partially(
    root: Operation, patterns: Iterable[RewritePattern], legality: Legality, ctx: Context
) -> RewriteStatistics:
    """Apply `patterns` to the illegal operations nested in `root`; those that no pattern takes stay."""
    return apply_patterns_greedily(root, [_OnIllegal(pattern, legality) for pattern in patterns], ctx)


def convert(root: Operation, patterns: Sequence[RewritePattern], legality: Legality, ctx: Context) -> RewriteStatistics:
    """Apply `patterns` until every operation nested in `root` is legal.

    Raises `DiagnosticError` with the first illegal operation that is left.
    """
    statistics = convert_partially(root, patterns, legality, ctx)
    for op in root.walk():
        if op is not root and legality.forbids(op):
            accepted = f"; accepted: {legality.accepted}" if legality.accepted else ""
            raise op_error(op, f"is left where it is not legal, and no pattern converts it{accepted}")
    return statistics
