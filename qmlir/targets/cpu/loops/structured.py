"""`linalg` on memory as `scf` loops: each structured operation by its maps, its iterators and its body.

The schedule says of how many lanes the vectors of the innermost loop are, where its operands allow any (`lanes`), and
whether threads divide the outermost one.
"""

from collections.abc import Callable

from xdsl.builder import Builder
from xdsl.dialects import memref, scf
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from qmlir.dialects.kernel.attributes import SCHEDULE, ScheduleAttr
from qmlir.ir.provenance import set_origins
from qmlir.targets.cpu.loops.emitter import Emitter
from qmlir.targets.cpu.loops.interleaved_moves import InterleavedWriter, turns_of
from qmlir.targets.cpu.loops.lanes import LaneWriter, lanes_for, terms_for
from qmlir.targets.cpu.loops.nests import Access, Nest, collapse, memref_type, nest_of, plan_of
from qmlir.targets.cpu.loops.side_by_side import SideBySideWriter, rows_for
from qmlir.targets.cpu.loops.transposed_sums import TransposedWriter, takes_squares
from qmlir.targets.cpu.loops.writer import LoopWriter


def write_nest(emit: Emitter, nest: Nest, schedule: ScheduleAttr | None) -> None:
    """Write the loops of `nest` where `emit` stands, as the schedule says.

    `threads` divides the outermost loop; `lanes` is how many elements the innermost one takes at a time, where all
    operands have them beside each other and the body has a form on vectors, or in each lane of a sum of bytes so many
    as `k_unroll` says; reductions whose order counts run side by
    side. Otherwise elements are scalars, and the innermost loops are such that LLVM may make vectors of them.
    """
    plan = plan_of(nest)
    threads = schedule is not None and schedule.threads
    nest, plan = collapse(emit, nest, plan)
    terms = 1 if schedule is None else terms_for(nest, plan, schedule)
    lanes = 1 if schedule is None else lanes_for(nest, plan, schedule.lanes * terms)
    rows = 1 if schedule is None or schedule.lanes == 1 else rows_for(nest, plan)
    turns = 0 if schedule is None else turns_of(nest, plan, schedule.lanes)
    if turns:
        InterleavedWriter(nest, plan, threads, turns).write(emit)
    elif lanes > 1:
        LaneWriter(nest, plan, threads, lanes, terms).write(emit)
    elif rows > 1 and schedule is not None and takes_squares(nest, plan, schedule.lanes):
        TransposedWriter(nest, plan, threads).write(emit)
    elif rows > 1:
        SideBySideWriter(nest, plan, threads, rows).write(emit)
    else:
        LoopWriter(nest, plan, threads).write(emit)


def replace_by_loops(op: Operation, rewriter: PatternRewriter, write: Callable[[Emitter], None]) -> None:
    """Put what `write` writes in the place of `op`, which has no results, the constants in front."""
    constants, loops = Block(), Block()
    write(Emitter(Builder(InsertPoint.at_end(loops)), Builder(InsertPoint.at_end(constants))))
    written = [*constants.ops, *loops.ops]
    for each in written:
        each.detach()
    set_origins(op, ())  # the function around it says where it comes from, not each of its scalars
    rewriter.replace(op, written, [])


class StructuredToLoops(RewritePattern):
    """Any structured operation of `linalg` on memory becomes loops."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: LinalgStructuredOperation, rewriter: PatternRewriter, /) -> None:
        if any(memref_type(output) is None for output in op.outputs):
            return
        schedule = op.attributes.get(SCHEDULE)
        chosen = schedule if isinstance(schedule, ScheduleAttr) else None
        replace_by_loops(op, rewriter, lambda emit: write_nest(emit, nest_of(op), chosen))


class CopyToLoops(RewritePattern):
    """A copy of memory becomes loops."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: memref.CopyOp, rewriter: PatternRewriter, /) -> None:
        nest = copy_nest(op.source, op.destination)
        replace_by_loops(op, rewriter, lambda emit: write_nest(emit, nest, None))


def copy_nest(source: SSAValue, destination: SSAValue) -> Nest:
    """The nest that copies memory of one shape."""
    type_ = memref_type(destination)
    assert type_ is not None
    shape = type_.get_shape()
    body = Block(arg_types=[type_.get_element_type()] * 2)
    body.add_op(scf.YieldOp(body.args[0]))
    accesses = [
        Access(value, AffineMap.identity(len(shape)), argument)
        for value, argument in zip((source, destination), body.args, strict=True)
    ]
    return Nest(body, shape, (False,) * len(shape), (accesses[0],), (accesses[1],))
