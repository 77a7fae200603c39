"""Loops around structured operations, whose schedule says that threads divide them."""

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Region
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from qmlir.dialects.kernel.attributes import SCHEDULE, ScheduleAttr
from qmlir.ir.diagnostics import op_error


class DivideLoops(RewritePattern):
    """A loop with a schedule becomes one that threads may divide; its steps are independent of each other."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.ForOp, rewriter: PatternRewriter, /) -> None:
        schedule = op.attributes.get(SCHEDULE)
        if not isinstance(schedule, ScheduleAttr) or not schedule.threads:
            raise op_error(op, f"has {SCHEDULE} = {schedule}, accepted on a loop is one with threads = true")
        if op.iter_args:
            raise op_error(op, "hands values from step to step: threads divide independent steps only")
        block = Block(arg_types=[IndexType()])
        old = op.body.block
        last = old.last_op
        assert last is not None
        rewriter.erase(last)
        rewriter.inline_block(old, InsertPoint.at_end(block), block.args)
        block.add_op(scf.ReduceOp())
        rewriter.replace(op, scf.ParallelOp([op.lb], [op.ub], [op.step], Region(block)), [])
