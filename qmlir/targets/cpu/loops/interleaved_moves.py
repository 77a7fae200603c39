"""Movements that put four rows of bytes in turn: registers of each are interleaved, and four written in a piece.

So weights are packed that are computed, four terms of a channel beside each other where a row of memory has channels.
"""

from dataclasses import replace

from xdsl.dialects.builtin import i8
from xdsl.ir import SSAValue

from qmlir.ir.builtin_types import memref_type
from qmlir.targets.cpu.loops.contraction.geometry import load, store
from qmlir.targets.cpu.loops.emitter import Emitter, VectorEmitter, add, times
from qmlir.targets.cpu.loops.join import interleave_bytes
from qmlir.targets.cpu.loops.nests import Access, Nest, Plan, collapse_axes
from qmlir.targets.cpu.loops.writer import ValueWriter

ROWS = 4
"""The rows whose elements alternate."""

_LANES = (64, 32, 16)
"""Elements of a row at a time, the first that leaves none over."""


def turns_of(nest: Nest, plan: Plan, lanes: int) -> int:
    """How many elements of each row one step takes, at most `lanes`; 0 where the nest is not such a movement."""
    if len(plan.order) < 2 or plan.carried < len(plan.order) or len(nest.inputs) != 1 or not _is_movement(nest):
        return 0
    (source,), (target,) = nest.inputs, nest.outputs
    along, rows = plan.order[-2:]
    rank = len(nest.ranges)
    steps = source.steps(rank), target.steps(rank)
    is_turned = nest.ranges[rows] == ROWS and steps[0][along] == 1 and steps[1][along] == ROWS and steps[1][rows] == 1
    if not is_turned or not _is_dense(source) or not _ends_in(target, along, rows):
        return 0
    return next((each for each in _LANES if each <= lanes and nest.ranges[along] % each == 0), 0)


def _is_movement(nest: Nest) -> bool:
    first = nest.body.first_op
    return first is nest.body.last_op and first is not None and first.operands[0] is nest.inputs[0].argument


def _is_dense(access: Access) -> bool:
    type_ = memref_type(access.value)
    return type_ is not None and type_.get_element_type() == i8 and (type_.get_strides() or (0,))[-1] == 1


def _ends_in(access: Access, *dims: int) -> bool:
    """Whether the last axes of an operand are those iterators, and nothing else is in its other ones."""
    type_ = memref_type(access.value)
    results = access.map_.results
    used = [each.used_dims() for each in results]
    is_last = used[-len(dims) :] == [{dim} for dim in dims] and not any(each & set(dims) for each in used[: -len(dims)])
    return type_ is not None and is_last


class InterleavedWriter(ValueWriter):
    """Writes the loops of a movement that `turns_of` found so many elements of each row a step for."""

    def __init__(self, nest: Nest, plan: Plan, threads: bool, lanes: int):
        along, _ = plan.order[-2:]
        # The loop over a row goes in steps of so many elements.
        ranges = tuple(count // lanes if dim == along else count for dim, count in enumerate(nest.ranges))
        super().__init__(replace(nest, ranges=ranges), plan, threads)
        self.lanes = lanes

    def write(self, emit: Emitter) -> None:
        (target,) = self.nest.outputs
        type_ = memref_type(target.value)
        assert type_ is not None
        rank = type_.get_num_dims()
        groups = [*([axis] for axis in range(rank - 2)), [rank - 2, rank - 1]]
        self.memory: SSAValue = collapse_axes(emit, target.value, groups)
        super().write(emit)

    def _level(self, emit: Emitter, depth: int) -> None:
        if depth != len(self.plan.order) - 1:
            super()._level(emit, depth)
            return
        along, rows = self.plan.order[-2:]
        (source,), (target,) = self.nest.inputs, self.nest.outputs
        wide = VectorEmitter.of(emit, self.lanes)
        step = self.dims[along]
        self.dims[along] = times(emit, step, self.lanes)
        read: list[SSAValue] = []
        for row in range(ROWS):
            self.dims[rows] = row
            read.append(load(wide, source.value, self._place(emit, source), self.lanes, None))
        self.dims[rows] = 0
        *leading, _, _ = self._place(emit, target)
        for part, value in enumerate(interleave_bytes(wide, read)):
            place = add(emit, times(emit, step, ROWS * self.lanes), part * self.lanes)
            store(emit, value, self.memory, [*leading, place])
        self.dims[along] = step
