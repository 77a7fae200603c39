"""The loops over the rows of `kernel.row_fusion`: its operations on a few rows at a time, and their scratch memory."""

import math
from collections.abc import Sequence
from typing import TypeAlias

from xdsl.builder import Builder
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from qmlir.dialects.kernel.attributes import SCHEDULE, ScheduleAttr
from qmlir.dialects.kernel.by_rows import MapsElements, RowAxes, RowStep
from qmlir.dialects.kernel.contraction import EpilogueOp
from qmlir.dialects.kernel.ops import YieldOp, shaped
from qmlir.dialects.kernel.variants import SCALAR
from qmlir.dialects.simd.base import bits_of
from qmlir.targets.cpu.isa.base import ALIGNMENT
from qmlir.targets.cpu.scheduled.bufferization.slices import memory_type

Axes: TypeAlias = Sequence[RowAxes]
"""For each axis of an operand the axes of rows that it runs along."""

NEAR_BYTES = 24 << 10
"""What the rows that go together may take: three quarters of the nearest cache of the CPUs that are measured."""

SIDE_BY_SIDE = 8
"""Rows whose sums of floats run side by side: so many go together, whatever they take."""

MOST_SCRATCH = 64 << 10
"""Bytes of scratch memory at most: it lies on the stack."""

PRODUCT_BYTES = 128 << 10
"""The same where products are among what goes together: their matrices are read again for each few rows.

By 24, 96 and 192 KB an attention takes 0.93, 0.90 and 0.90 of the time of three operations at 512 tokens; at 1024
tokens by 24, 128 and 256 KB 1.00, 0.95 and 0.94 (`docs/lab/transformers.md`).
"""

MOST_PRODUCT_SCRATCH = 128 << 10
"""Bytes of scratch memory at most where products are."""


def _begins(steps: Sequence[RowStep]) -> dict[SSAValue, SSAValue]:
    """For each tensor that steps go along by rows what begins its memory."""
    begins: dict[SSAValue, SSAValue] = {}
    for step in steps:
        found = [begins.setdefault(value, value) for value, map_ in step.operands if step.is_by_rows(value, map_)]
        is_new = isinstance(step.op, MapsElements)
        for result in step.op.results:
            begins[result] = result if is_new else found[-1]
    return begins


def rows_together(ops: Sequence[Operation], rows: Sequence[int]) -> int:
    """How many rows along their last axis go together; 0 where that would be all there are, or too much."""
    steps = [step for op in ops if (step := RowStep.of(op, rows)) is not None]
    begins, all_rows, last = _begins(steps), math.prod(rows), rows[-1]
    has_products = any(isinstance(op, MapsElements) for op in ops)
    near, scratch = (PRODUCT_BYTES, MOST_PRODUCT_SCRATCH) if has_products else (NEAR_BYTES, MOST_SCRATCH)

    def bytes_of_a_row(value: SSAValue) -> int:
        shape, element = shaped(value)
        return math.prod(shape) * bits_of(element) // 8 // all_rows

    def is_used_outside(value: SSAValue) -> bool:
        return any(not any(op.is_ancestor(use.operation) for op in ops) for use in value.uses)

    sizes = {value: bytes_of_a_row(value) for value in begins.values()}
    most = max(SIDE_BY_SIDE, near // max(1, sum(sizes.values())))
    count = max(
        (each for each in range(1, min(last, most) + 1) if last % each == 0),
        key=lambda each: (each % SIDE_BY_SIDE == 0, each),
    )
    written = [step.op.results[0] for step in steps if step.op.results]
    kept = {begins[value] for value in written if is_used_outside(value)}
    inside = {begins[value] for value in written} - kept
    return count if sum(map(sizes.__getitem__, inside)) * count <= scratch and count < all_rows else 0


class _Loops:
    """Loops over the rows in front of an operation, so many of them at a time along the last axis."""

    def __init__(self, rows: Sequence[int], together: int, before: Operation, *, is_threaded: bool):
        self._rows = rows
        self._sizes = (*(1 for _ in rows[:-1]), together)
        self._places: list[SSAValue | int] = []
        self._views: dict[tuple[SSAValue, tuple[RowAxes, ...]], SSAValue] = {}
        self.builder = Builder(InsertPoint.before(before))
        axes = list(zip(rows, self._sizes, strict=True))
        numbers = {
            number: self.builder.insert(arith.ConstantOp(IntegerAttr(number, IndexType()))).result
            for number in dict.fromkeys(each for size, step in axes if size != step for each in (0, size, step))
        }
        for size, step in axes:
            if size == step:
                self._places.append(0)
                continue
            block = Block(arg_types=[IndexType()])
            end = scf.YieldOp()
            block.add_op(end)
            loop = scf.ForOp(numbers[0], numbers[size], numbers[step], [], block)
            if is_threaded:
                loop.attributes[SCHEDULE] = ScheduleAttr.of(SCALAR, threads=True)
            self.builder.insert(loop)
            self._places.append(block.args[0])
            self.builder = Builder(InsertPoint.before(end))

    def _taken(self, axes: Axes, shape: Sequence[int]) -> list[int]:
        """The sizes of what belongs to the rows of one turn."""
        pairs = zip(axes, shape, strict=True)
        return [math.prod(self._sizes[each] for each in own) if own else size for own, size in pairs]

    def _place(self, axes: RowAxes) -> SSAValue | int:
        """The first of the rows of one turn along some axes, numbered through."""
        place: SSAValue | int = 0
        for axis in axes:
            step = self._places[axis]
            if isinstance(place, SSAValue):
                size = self.builder.insert(arith.ConstantOp(IntegerAttr(self._rows[axis], IndexType())))
                place = self.builder.insert(arith.MuliOp(place, size)).result
                place = self.builder.insert(arith.AddiOp(place, step)).result if isinstance(step, SSAValue) else place
            else:
                place = step
        return place

    def scratch(self, value: SSAValue, axes: Axes) -> SSAValue:
        """Memory for the rows of one turn."""
        type_ = memory_type(value.type)
        sizes = self._taken(axes, type_.get_shape())
        made = self.builder.insert(memref.AllocaOp.get(type_.get_element_type(), ALIGNMENT, sizes)).memref
        made.name_hint = value.name_hint
        return made

    def view(self, value: SSAValue, axes: Axes) -> SSAValue:
        """The part of memory that belongs to the rows of one turn."""
        if not any(axes):
            return value
        key = (value, tuple(axes))
        if key not in self._views:
            type_ = memory_type(value.type)
            offsets = [self._place(each) for each in axes]
            sizes, ones = self._taken(axes, type_.get_shape()), [1] * len(axes)
            result: MemRefType[Attribute] = memref.SubviewOp.infer_result_type(type_, offsets, sizes, ones)
            self._views[key] = self.builder.insert(memref.SubviewOp.get(value, offsets, sizes, ones, result)).result
            self._views[key].name_hint = value.name_hint
        return self._views[key]


def _rows_first(value: SSAValue, rows: Sequence[int]) -> Axes:
    """For each axis of what is written by rows the number of the axis of rows that it is."""
    numbers = iter(range(len(rows)))
    places = (None if size == 1 else next(numbers, None) for size in shaped(value)[0])
    return [() if place is None else (place,) for place in places]


def _known(axes: Sequence[RowAxes | None]) -> Axes:
    """The axes of rows of an operand of an operation by rows, which has no others that depend on them."""
    assert None not in axes
    return [each for each in axes if each is not None]


def _schedule_of(op: Operation) -> ScheduleAttr | None:
    found = op.schedule if isinstance(op, EpilogueOp) else op.attributes.get(SCHEDULE)
    return found if isinstance(found, ScheduleAttr) else None


def _inside_loops(op: Operation) -> None:
    """Let no threads divide `op`: they divide the loops around it."""
    found = _schedule_of(op)
    if found is None or not found.threads:
        return
    alone = found.for_one_thread()
    if isinstance(op, EpilogueOp):
        op.schedule = alone
    elif alone is None:
        op.attributes.pop(SCHEDULE)
    else:
        op.attributes[SCHEDULE] = alone


def write_row_loops(ops: Sequence[Operation], rows: Sequence[int], together: int, before: Operation) -> None:
    """Move operations on memory into loops over so many rows at a time; what is allocated among them is scratch memory.

    Where threads divide one of them, they divide the loops instead.
    """
    steps = {op: step for op in ops if (step := RowStep.of(op, rows)) is not None}
    is_threaded = any(schedule.threads for op in steps if (schedule := _schedule_of(op)) is not None)
    written = dict.fromkeys(step.target for step in steps.values())
    for op in ops:
        # The window of a pool is memory that nothing writes or reads: it has sizes alone, the same for all rows.
        if isinstance(op, memref.AllocOp) and op.memref not in written:
            op.detach()
            Rewriter.insert_op(op, InsertPoint.before(before))
    loops = _Loops(rows, together, before, is_threaded=is_threaded)
    scratch = {value: loops.scratch(value, _rows_first(value, rows)) for value in written if value.owner in ops}
    along = {op: [_known(step.row_axes(map_)) for _, map_ in step.operands] for op, step in steps.items()}
    for op in ops:
        if isinstance(op, memref.AllocOp | YieldOp):
            continue
        tables = [each for each in op.walk() if isinstance(each, memref.LoadOp) and each.memref in written]
        places = [(op, place, axes) for place, axes in enumerate(along.get(op, ()))]
        places += [(table, 0, _rows_first(table.memref, rows)) for table in tables]
        for user, place, axes in places:
            value = user.operands[place]
            user.operands[place] = scratch.get(value) or loops.view(value, axes)
        _inside_loops(op)
        op.detach()
        loops.builder.insert(op)
