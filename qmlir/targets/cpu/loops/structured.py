"""Lowers `linalg` operations on memrefs to `scf` loops, by their maps, iterators and bodies.

The schedule determines the number of lanes of vectors in the innermost loop, if the operands allow vectors, and whether
threads divide the outermost loop. Copies, reshapes, and fills that are partially overwritten (`kernel.overwritten`) are
also lowered here.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import AnyFloat, ArrayAttr, DenseArrayBase, IndexType, i64
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.ops import FillOp, IndexOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from qmlir.analysis.symbols import common_groups
from qmlir.dialects.kernel.attributes import OVERWRITTEN, SCHEDULE, ScheduleAttr
from qmlir.dialects.kernel.ops import ReshapeOp, shaped
from qmlir.dialects.simd.lanes import InterleaveHighOp, InterleaveLowOp
from qmlir.ir.builtin_types import integer_list, memref_type
from qmlir.ir.control_flow import terminator_of
from qmlir.ir.diagnostics import op_error
from qmlir.ir.provenance import set_origins
from qmlir.targets.cpu.loops import nests
from qmlir.targets.cpu.loops.emitter import Emitter, Index, VectorEmitter, add
from qmlir.targets.cpu.loops.geometry import load, store
from qmlir.targets.cpu.loops.lanes import InterleavedWriter, LaneWriter, lanes_for, terms_for, turns_of, vector_value
from qmlir.targets.cpu.loops.vector_lowerings import form_of, has_form

# Reductions whose order matters: eight rows are the lanes of one vector, and each lane adds the terms of its row in
# order.
#
# The rows are read in squares of eight rows by eight steps, which are transposed in registers by interleaving. If the
# operands don't allow this, scalar sums of several rows run side by side: each addition of a float sum waits for the
# previous one, and eight independent sums keep the adder busy.

_ROWS = (8, 4, 2)
"""The candidates for the number of rows processed side by side; the first that divides the rows is used."""


def rows_for(nest: nests.Nest, plan: nests.Plan) -> int:
    """Returns the number of iterations of the innermost parallel loop that share one reduction loop; 1 if none do."""
    if not 1 <= plan.carried == len(plan.order) - 1:
        return 1
    steps = nest.ranges[plan.order[plan.carried - 1]]
    return next((rows for rows in _ROWS if steps and steps % rows == 0), 1)


class InterleavedRowWriter(nests.ValueWriter):
    """Emits the reductions of `rows` rows as one loop that carries the scalars of all of them."""

    def __init__(self, nest: nests.Nest, plan: nests.Plan, threads: bool, rows: int):
        super().__init__(nest, plan, threads)
        self.rows = rows

    def _level(self, emit: Emitter, depth: int) -> None:
        if depth != self.plan.carried - 1:
            super()._level(emit, depth)
            return
        self._advance(emit, False)
        dim, inner = self.plan.order[depth:]
        with emit.loop(self.nest.ranges[dim], step=self.rows, threads=self.threads and depth == 0) as (body, first):
            writers = [self._of_row(dim, add(body, first, row)) for row in range(self.rows)]
            before: list[SSAValue] = []
            for writer in writers:
                writer._advance(body, False)
                before += [body.load(output.value, writer._position(body, output)) for output in self.nest.outputs]
            after = self._sums(body, inner, writers, before)
            for position, writer in enumerate(writers):
                count = len(self.nest.outputs)
                writer._store(body, after[position * count : (position + 1) * count])

    def _of_row(self, dim: int, position: Index) -> "InterleavedRowWriter":
        """Returns a copy of this writer for the row at `position` along `dim`."""
        made = copy(self)
        made.dims, made.open, made.values = list(self.dims), {*self.open, dim}, dict(self.values)
        made.dims[dim] = position
        return made

    def _sums(
        self, emit: Emitter, dim: int, writers: "list[InterleavedRowWriter]", before: list[SSAValue]
    ) -> Sequence[SSAValue]:
        def write(body: Emitter, step: Index, so_far: Sequence[SSAValue]) -> Sequence[SSAValue]:
            yielded: list[SSAValue] = []
            for writer in writers:
                writer.dims[dim] = step
                writer.open.add(dim)
                writer._advance(body, True)
                writer._take_outputs(so_far[len(yielded) :][: len(self.nest.outputs)])
                yielded += writer._yielded(body)
            return yielded

        return emit.carried(self.nest.ranges[dim], before, write)


LANES = 8
"""The number of rows in a square, and of steps along each row."""


def _element(access: nests.Access) -> object:
    type_ = memref_type(access.value)
    return None if type_ is None else type_.get_element_type()


def takes_squares(nest: nests.Nest, plan: nests.Plan, lanes: int) -> bool:
    """Returns true if eight rows can be the lanes of a vector of at least eight lanes.

    Inputs must be floats that are contiguous along the reduced axis, outputs contiguous along the rows, and the body
    must have a vector form.
    """
    if lanes < LANES or rows_for(nest, plan) != LANES or nest.ranges[plan.order[-1]] % LANES:
        return False
    row, step = plan.order[-2:]
    rank, (*body, _) = len(nest.ranges), nest.body.ops
    used = [access for access in nest.inputs if access.argument.uses]
    return (
        all(isinstance(_element(access), AnyFloat) for access in nest.accesses)
        and all(access.steps(rank)[step] == 1 and access.steps(rank)[row] for access in used)
        and all(output.steps(rank)[row] == 1 for output in nest.outputs)
        and all(not isinstance(op, IndexOp) and has_form(op) for op in body)
    )


class TransposedWriter(nests.ValueWriter):
    """Emits the reductions of eight rows as one loop that carries vectors with one lane per row."""

    def _level(self, emit: Emitter, depth: int) -> None:
        if depth != self.plan.carried - 1:
            super()._level(emit, depth)
            return
        dim, inner = self.plan.order[depth:]
        count, wide = self.nest.ranges[dim], VectorEmitter.of(emit, LANES)
        with wide.loop(count, step=LANES, threads=self.threads and depth == 0) as (body, self.dims[dim]):
            before = [load(body, output.value, self._position(body, output), LANES) for output in self.nest.outputs]
            after = self._sums(body, dim, inner, before)
            for output, total in zip(self.nest.outputs, after, strict=True):
                store(body, total, output.value, self._position(body, output))

    def _sums(self, emit: VectorEmitter, dim: int, inner: int, before: list[SSAValue]) -> Sequence[SSAValue]:
        def write(body: VectorEmitter, position: Index, so_far: Sequence[SSAValue]) -> Sequence[SSAValue]:
            self.dims[inner] = position
            columns = [self._turned(body, access, dim) for access in self.loads]
            for step in range(LANES):
                values: dict[SSAValue, SSAValue] = {
                    access.argument: column[step] for access, column in zip(self.loads, columns, strict=True)
                }
                values |= {output.argument: value for output, value in zip(self.nest.outputs, so_far, strict=True)}
                so_far = self._step(body, values)
            return so_far

        return emit.carried(self.nest.ranges[inner], before, write, step=LANES)

    def _turned(self, emit: VectorEmitter, access: nests.Access, dim: int) -> list[SSAValue]:
        """A square of an operand: a vector of all rows for each step."""
        rows: list[SSAValue] = []
        for row in range(LANES):
            at = copy(self)
            at.dims = list(self.dims)
            at.dims[dim] = add(emit, self.dims[dim], row)
            rows.append(load(emit, access.value, at._position(emit, access), LANES, None))
        half = LANES // 2
        for _ in range(LANES.bit_length() - 1):
            rows = [
                emit.insert(kind(rows[position], rows[position + half]))
                for position in range(half)
                for kind in (InterleaveLowOp, InterleaveHighOp)
            ]
        return rows

    def _step(self, emit: VectorEmitter, values: dict[SSAValue, SSAValue]) -> list[SSAValue]:
        for op in self.pending:
            form = form_of(op)
            assert form is not None
            values[op.results[0]] = form.write(emit, op, [vector_value(emit, values, each) for each in op.operands])
        return [vector_value(emit, values, value) for value in self.terminator.operands]


def write_nest(emit: Emitter, nest: nests.Nest, schedule: ScheduleAttr | None) -> None:
    """Emits the loops of `nest` at the insertion point of `emit`, according to the schedule.

    `threads` divides the outermost loop. `lanes` is the number of elements per vector of the innermost loop; it applies
    if all operands are contiguous and the body has a vector form. In a sum of bytes, each lane sums `k_unroll` terms.
    Reductions whose order matters run several rows side by side. Otherwise, the loops are scalar, in a form that LLVM
    can vectorize.
    """
    plan = nests.plan_of(nest)
    threads = schedule is not None and schedule.threads
    nest, plan = nests.collapse(emit, nest, plan)
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
        InterleavedRowWriter(nest, plan, threads, rows).write(emit)
    else:
        nests.ValueWriter(nest, plan, threads).write(emit)


def replace_by_loops(op: Operation, rewriter: PatternRewriter, write: Callable[[Emitter], None]) -> None:
    """Replaces `op`, which has no results, with the operations that `write` emits, constants first."""
    constants, loops = Block(), Block()
    write(Emitter(Builder(InsertPoint.at_end(loops)), Builder(InsertPoint.at_end(constants))))
    written = [*constants.ops, *loops.ops]
    for each in written:
        each.detach()
    set_origins(op, ())  # the enclosing function has the provenance; don't copy it to every scalar op
    rewriter.replace(op, written, [])


class StructuredToLoops(RewritePattern):
    """Lowers any structured `linalg` operation on memrefs to loops."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: LinalgStructuredOperation, rewriter: PatternRewriter, /) -> None:
        if any(memref_type(output) is None for output in op.outputs):
            return
        schedule = op.attributes.get(SCHEDULE)
        chosen = schedule if isinstance(schedule, ScheduleAttr) else None
        replace_by_loops(op, rewriter, lambda emit: write_nest(emit, nests.nest_of(op), chosen))


class CopyToLoops(RewritePattern):
    """Lowers `memref.copy` to loops."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: memref.CopyOp, rewriter: PatternRewriter, /) -> None:
        nest = copy_nest(op.source, op.destination)
        replace_by_loops(op, rewriter, lambda emit: write_nest(emit, nest, None))


def copy_nest(source: SSAValue, destination: SSAValue) -> nests.Nest:
    """Returns the loop nest that copies `source` to `destination`, of equal shape."""
    shape, element = shaped(destination)
    body = Block(arg_types=[element] * 2)
    body.add_op(scf.YieldOp(body.args[0]))
    accesses = [
        nests.Access(value, AffineMap.identity(len(shape)), argument)
        for value, argument in zip((source, destination), body.args, strict=True)
    ]
    return nests.Nest(body, shape, (False,) * len(shape), (accesses[0],), (accesses[1],))


class DivideLoops(RewritePattern):
    """Converts a loop with a schedule to `scf.parallel`; its iterations must be independent."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.ForOp, rewriter: PatternRewriter, /) -> None:
        schedule = op.attributes.get(SCHEDULE)
        if not isinstance(schedule, ScheduleAttr) or not schedule.threads:
            raise op_error(op, f"{SCHEDULE} of a loop must set only threads = true, but got {schedule}")
        if op.iter_args:
            raise op_error(op, "has loop-carried values, but threads require independent iterations")
        block = Block(arg_types=[IndexType()])
        old = op.body.block
        rewriter.erase(terminator_of(old))
        rewriter.inline_block(old, InsertPoint.at_end(block), block.args)
        block.add_op(scf.ReduceOp())
        rewriter.replace(op, scf.ParallelOp([op.lb], [op.ub], [op.step], Region(block)), [])


class ReshapeToViews(RewritePattern):
    """Lowers a reshape of a memref to a collapse and an expansion of its axes."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReshapeOp, rewriter: PatternRewriter, /) -> None:
        source, target = memref_type(op.source), memref_type(op.result)
        if source is None or target is None:
            return
        if source == target:
            rewriter.replace(op, [], [op.source])
            return
        groups = common_groups(source.get_shape(), target.get_shape())
        value: SSAValue = op.source
        # A rank-0 memref has one element and no groups.
        is_grouped = bool(source.get_shape() and target.get_shape())
        if source.get_shape() and any(len(left) != 1 for left, _ in groups):
            value = nests.collapse_axes(Emitter(rewriter, rewriter), value, [left for left, _ in groups if is_grouped])
        if value.type != target:
            expanded = memref.ExpandShapeOp(
                operands=[value, []],
                result_types=[target],
                properties={
                    "reassociation": nests.reassociation([right for _, right in groups if is_grouped]),
                    "static_output_shape": DenseArrayBase.from_list(i64, target.get_shape()),
                },
            )
            rewriter.insert(expanded)
            value = expanded.result
        rewriter.replace(op, [], [value])


Box = tuple[tuple[int, ...], tuple[int, ...]]
"""The offsets and sizes of a slice."""


def sides(shape: tuple[int, ...], inner: Box) -> Iterator[Box]:
    """Yields disjoint boxes that cover `shape` except the box `inner`, from the outermost axis to the innermost."""
    offsets, sizes = [0] * len(shape), list(shape)
    for axis, (first, count) in enumerate(zip(*inner, strict=True)):
        for start, end in ((0, first), (first + count, shape[axis])):
            if start < end:
                offsets[axis], sizes[axis] = start, end - start
                yield tuple(offsets), tuple(sizes)
        offsets[axis], sizes[axis] = first, count


def _overwritten(op: FillOp, rank: int) -> Box | None:
    found = op.attributes.get(OVERWRITTEN)
    if found is None:
        return None
    lists = [
        tuple(integer_list(cast(DenseArrayBase, each))) if isinstance(each, DenseArrayBase) else ()
        for each in (cast("ArrayAttr[Attribute]", found) if isinstance(found, ArrayAttr) else ())
    ]
    if [len(each) for each in lists] != [rank, rank]:
        raise op_error(op, f"{OVERWRITTEN} must have {rank} offsets and {rank} sizes, but got {found}")
    return lists[0], lists[1]


class HaloToFills(RewritePattern):
    """Lowers a fill that a slice partially overwrites to fills of the border around the slice."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: FillOp, rewriter: PatternRewriter, /) -> None:
        memory = memref_type(op.outputs[0])
        if memory is None or (inner := _overwritten(op, memory.get_num_dims())) is None:
            return
        for offsets, sizes in sides(memory.get_shape(), inner):
            view = memref.SubviewOp.from_static_parameters(op.outputs[0], memory, offsets, sizes, [1] * len(sizes))
            fill = FillOp(op.inputs, [view.result], [])
            schedule = op.attributes.get(SCHEDULE)
            if isinstance(schedule, ScheduleAttr):  # the sides are too small for threads
                fill.attributes[SCHEDULE] = ScheduleAttr.of(schedule.variant, lanes=schedule.lanes)
            rewriter.insert([view, fill])
        rewriter.erase(op)
