"""The patterns that make loops of contractions on memory, from their schedules alone."""

from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from qmlir import registry
from qmlir.dialects.kernel.ops import ContractionOp
from qmlir.dialects.kernel.variants import variant_names
from qmlir.dialects.kernel.winograd import WinogradOp
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.loops.contraction.scalar import ScalarWriter
from qmlir.targets.cpu.loops.contraction.tiles import LoopVariant
from qmlir.targets.cpu.loops.emitter import Emitter
from qmlir.targets.cpu.loops.structured import replace_by_loops


def _write(op: ContractionOp, emit: Emitter) -> None:
    schedule = op.schedule
    if isinstance(op, WinogradOp) and (schedule is None or not schedule.packed):
        told = f"is not packed for '{op.form.variant}' loops: kernel-assign-schedule and kernel-pack do that"
        raise op_error(op, told)
    if schedule is None or not schedule.packed:
        # A schedule says how packed operands are read; others are read one by one.
        ScalarWriter(op).write(emit)
        return
    if schedule.variant not in variant_names():
        raise op_error(op, f"is packed for '{schedule.variant}' loops, there are {', '.join(variant_names())}")
    variant = registry.named("variants")[schedule.variant].load(LoopVariant)
    if schedule.k_unroll != variant.group:
        raise op_error(
            op, f"is packed in groups of {schedule.k_unroll}, '{variant.name}' reads groups of {variant.group}"
        )
    variant.write(op, emit)


class ContractionToLoops(RewritePattern):
    """A contraction on memory becomes loops over register tiles, or over scalars where it is not packed."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ContractionOp, rewriter: PatternRewriter, /) -> None:
        if op.outs is not None:
            replace_by_loops(op, rewriter, lambda emit: _write(op, emit))


PATTERNS = (ContractionToLoops(),)
"""The patterns for contractions."""
