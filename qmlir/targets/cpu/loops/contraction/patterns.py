"""The patterns that make loops of contractions on memory: by the variant of packed operands, or over scalars."""

from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from qmlir import registry
from qmlir.dialects.kernel.contraction import ContractionOp
from qmlir.dialects.kernel.packed_ops import PackedOp
from qmlir.dialects.kernel.winograd import WinogradOp
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.loops.contraction.scalar import ScalarWriter
from qmlir.targets.cpu.loops.contraction.tiles import LoopVariant
from qmlir.targets.cpu.loops.structured import replace_by_loops


class ContractionToLoops(RewritePattern):
    """A contraction on memory becomes loops over scalars: its operands are read one by one."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ContractionOp, rewriter: PatternRewriter, /) -> None:
        if op.outs is None:
            return
        if isinstance(op, WinogradOp):
            raise op_error(op, f"is not packed for '{op.form.variant}' loops: kernel-pack does that")
        replace_by_loops(op, rewriter, ScalarWriter(op).write)


class PackedToLoops(RewritePattern):
    """A contraction with packed operands on memory becomes the loops of its variant."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: PackedOp, rewriter: PatternRewriter, /) -> None:
        if op.outs is not None:
            variant = registry.named("variants")[op.layout.variant.name].load(LoopVariant)
            replace_by_loops(op, rewriter, lambda emit: variant.write(op, emit))


PATTERNS = (ContractionToLoops(), PackedToLoops())
"""The patterns for contractions."""
