"""Canonicalization of `nn`: each pattern states the algebraic identity that justifies it."""

from xdsl.pattern_rewriter import RewritePattern

from qmlir.dialects.nn.canonicalize import batch_norm, constants, control, elementwise, movement

PATTERNS: tuple[RewritePattern, ...] = (
    *movement.PATTERNS,
    *elementwise.PATTERNS,
    *constants.PATTERNS,
    *batch_norm.PATTERNS,
    *control.STACKING,
)
