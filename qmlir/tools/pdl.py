"""Rewrite patterns from PDL files: the channel for patterns that somebody writes as text."""

from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.pdl import RewriteOp
from xdsl.interpreters.pdl import PDLRewritePattern
from xdsl.pattern_rewriter import RewritePattern

from qmlir.ir.diagnostics import text_error
from qmlir.ir.verification import verify
from qmlir.text.parsing import load_module


def load_pdl_patterns(ctx: Context, path: Path) -> list[RewritePattern]:
    """The patterns of a PDL file, in its order. Raises `DiagnosticError` where it holds none."""
    module = load_module(ctx, path)
    verify(module)
    patterns: list[RewritePattern] = [
        PDLRewritePattern(op, ctx, None) for op in module.walk() if isinstance(op, RewriteOp)
    ]
    if not patterns:
        raise text_error(f"'{path}' holds no pdl.pattern with a rewrite")
    return patterns
