"""Canonicalization of the instructions."""

from typing import Any

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import OpResult
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from qmlir_fxp.dialect.ops import LimitOp, ShiftOp


class DropShiftByNothing(RewritePattern):
    """`shift(x, 0) = x`, where the width stays."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ShiftOp, rewriter: PatternRewriter, /) -> None:
        if op.input.type == op.result.type and not any(op.numbers):
            rewriter.replace(op, [], [op.input])


class MergeLimits(RewritePattern):
    """`limit(limit(x))` is one limit, where the outer one leaves something of the inner one's range."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: LimitOp, rewriter: PatternRewriter, /) -> None:
        inner = op.input.op if isinstance(op.input, OpResult) else None
        if not isinstance(inner, LimitOp):
            return
        merged: dict[str, Any] = {}
        for name, tighter in (("minimum", max), ("maximum", min)):
            given = [each for each in (getattr(inner, name), getattr(op, name)) if each is not None]
            if given:
                merged[name] = IntegerAttr(tighter(each.value.data for each in given), given[0].type)
        if len(merged) == 2 and merged["minimum"].value.data > merged["maximum"].value.data:
            return  # then the outer limits alone say what comes out
        rewriter.replace(
            op,
            LimitOp.create(
                operands=[inner.input], result_types=op.result_types, properties=merged, attributes=dict(op.attributes)
            ),
        )


PATTERNS = (DropShiftByNothing(), MergeLimits())
