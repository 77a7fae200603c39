"""Elementwise algebraic simplifications that are bit-identical, including NaN and signed zeros."""

from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from qmlir.dialects.nn.activations.ops import ReluOp
from qmlir.dialects.nn.base import Kind, kind_of
from qmlir.dialects.nn.elementwise.ops import AbsOp, CastOp, NegOp
from qmlir.ir.builtin_types import element_of


class FoldIdempotent(RewritePattern):
    """Folds `f(f(x)) -> f(x)` for relu and abs, which are idempotent if the type stays."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, ReluOp | AbsOp):
            return
        inner = op.input.owner
        if not isinstance(inner, ReluOp | AbsOp) or type(inner) is not type(op):
            return
        if op.input.type == op.result.type == inner.input.type:
            rewriter.replace(op, [], [op.input])


class FoldDoubleNegation(RewritePattern):
    """Folds `-(-x) -> x`: exact for floats (a sign bit) and for integers that wrap around."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: NegOp, rewriter: PatternRewriter, /) -> None:
        inner = op.input.owner
        wraps = kind_of(element_of(op.result)) in (Kind.FLOAT, Kind.INTEGER)
        if wraps and isinstance(inner, NegOp) and inner.input.type == op.input.type == op.result.type:
            rewriter.replace(op, [], [inner.input])


class FoldIdentityCast(RewritePattern):
    """Folds `cast(x) -> x` if the type stays."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: CastOp, rewriter: PatternRewriter, /) -> None:
        if op.input.type == op.result.type:
            rewriter.replace(op, [], [op.input])


PATTERNS: tuple[RewritePattern, ...] = (FoldIdempotent(), FoldDoubleNegation(), FoldIdentityCast())
