"""The patterns that make loops of contractions on memory, from their schedules alone."""

from collections.abc import Mapping

from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from qmlir.dialects.kernel.ops import ContractionOp
from qmlir.dialects.kernel.variants import INTERLEAVED, SHORT_STEPS
from qmlir.dialects.kernel.winograd import WinogradOp
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.loops.contraction.depthwise import DepthwiseWriter
from qmlir.targets.cpu.loops.contraction.scalar import ScalarWriter
from qmlir.targets.cpu.loops.contraction.short_sums import ShortSumWriter
from qmlir.targets.cpu.loops.contraction.steps import STEPS
from qmlir.targets.cpu.loops.contraction.tiles import TileWriter
from qmlir.targets.cpu.loops.emitter import Emitter
from qmlir.targets.cpu.loops.structured import replace_by_loops
from qmlir.targets.cpu.loops.winograd import WinogradWriter

WRITERS: Mapping[str, type[TileWriter]] = {
    **dict.fromkeys(INTERLEAVED, DepthwiseWriter),
    **dict.fromkeys(SHORT_STEPS, ShortSumWriter),
}
"""What writes the loops of a variant, where that is not a `TileWriter`."""


def _write(op: ContractionOp, emit: Emitter) -> None:
    schedule = op.schedule
    if isinstance(op, WinogradOp):
        WinogradWriter(op).write(emit)
        return
    if schedule is None or not schedule.packed:
        # A schedule says how packed operands are read; others are read one by one.
        ScalarWriter(op).write(emit)
        return
    if schedule.variant not in STEPS:
        raise op_error(op, f"is packed for '{schedule.variant}' loops, there are {', '.join(STEPS)}")
    if schedule.k_unroll != STEPS[schedule.variant].group:
        group = STEPS[schedule.variant].group
        raise op_error(op, f"is packed in groups of {schedule.k_unroll}, '{schedule.variant}' reads groups of {group}")
    WRITERS.get(schedule.variant, TileWriter)(op, emit).write(emit)


class ContractionToLoops(RewritePattern):
    """A contraction on memory becomes loops over register tiles, or over scalars where it is not packed."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ContractionOp, rewriter: PatternRewriter, /) -> None:
        if op.outs is not None:
            replace_by_loops(op, rewriter, lambda emit: _write(op, emit))


PATTERNS = (ContractionToLoops(),)
"""The patterns for `kernel.conv` and `kernel.matmul`."""
