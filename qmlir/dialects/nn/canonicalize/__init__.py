"""Canonicalization of `nn`: each pattern states the algebraic identity that justifies it."""

from xdsl.pattern_rewriter import RewritePattern

from qmlir.dialects.nn.canonicalize import constants, control, elementwise

PATTERNS: tuple[RewritePattern, ...] = (
    *elementwise.PATTERNS,
    *constants.PATTERNS,
    *control.STACKING,
)
