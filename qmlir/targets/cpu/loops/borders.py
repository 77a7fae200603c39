"""Fills of which a slice is written over (`kernel.overwritten`): one fill for each side of what lies around it.

Axis by axis, what lies before the slice and behind it is filled, in the range that the slice has along the axes before.
"""

from collections.abc import Iterator
from typing import cast

from xdsl.dialects import memref
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase
from xdsl.dialects.linalg.ops import FillOp
from xdsl.ir import Attribute
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from qmlir.dialects.kernel.attributes import OVERWRITTEN, SCHEDULE, ScheduleAttr
from qmlir.ir.builtin_types import integer_list
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.loops.nests import memref_type

Box = tuple[tuple[int, ...], tuple[int, ...]]
"""Offsets and sizes."""


def sides(shape: tuple[int, ...], inner: Box) -> Iterator[Box]:
    """The boxes of `shape` that lie around the box `inner`, without common elements, from the outermost axis."""
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
        raise op_error(op, f"has {OVERWRITTEN} = {found}, accepted are {rank} offsets and {rank} sizes")
    return lists[0], lists[1]


class BorderToFills(RewritePattern):
    """A fill of what lies around a slice becomes fills of its sides."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: FillOp, rewriter: PatternRewriter, /) -> None:
        memory = memref_type(op.outputs[0])
        if memory is None or (inner := _overwritten(op, memory.get_num_dims())) is None:
            return
        for offsets, sizes in sides(memory.get_shape(), inner):
            view = memref.SubviewOp.from_static_parameters(op.outputs[0], memory, offsets, sizes, [1] * len(sizes))
            fill = FillOp(op.inputs, [view.result], [])
            schedule = op.attributes.get(SCHEDULE)
            if isinstance(schedule, ScheduleAttr):  # what is left is too little for threads
                fill.attributes[SCHEDULE] = ScheduleAttr.of(schedule.variant, lanes=schedule.lanes)
            rewriter.insert([view, fill])
        rewriter.erase(op)
