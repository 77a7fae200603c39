"""The loops over the rows of a chain: each of its operations on a few rows, with scratch memory for what is between."""

import math
from collections.abc import Mapping, Sequence

from xdsl.builder import Builder
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from qmlir.dialects.kernel.attributes import SCHEDULE, ScheduleAttr
from qmlir.dialects.kernel.variants import SCALAR
from qmlir.dialects.simd.base import bits_of
from qmlir.ir.builtin_types import memref_type
from qmlir.targets.cpu.scheduled.row_chains import Chain, RowStep

NEAR_BYTES = 24 << 10
"""What the rows that go together may take: three quarters of the nearest cache of the CPUs that are measured."""

SIDE_BY_SIDE = 8
"""Rows whose sums of floats run side by side: so many go together, whatever they take."""

MOST_SCRATCH = 64 << 10
"""Bytes of scratch memory at most: it lies on the stack."""


def _bytes_of_a_row(chain: Chain, value: SSAValue) -> int:
    type_ = memref_type(value)
    assert type_ is not None
    return math.prod(type_.get_shape()) * bits_of(type_.get_element_type()) // 8 // math.prod(chain.shape)


def _memory(chain: Chain) -> list[SSAValue]:
    """The memory that a chain goes along by rows, once each."""
    found = (
        access.value for step in chain.steps for access in step.nest.accesses if step.is_by_rows(access)
    )  # fmt: skip
    return list(dict.fromkeys(found))


def rows_together(chain: Chain) -> int:
    """How many rows along their last axis go together; 0 where that would be all there are, or too much."""
    sizes = {value: _bytes_of_a_row(chain, value) for value in _memory(chain)}
    most = max(SIDE_BY_SIDE, NEAR_BYTES // max(1, sum(sizes.values())))
    last = chain.shape[-1]
    count = max(
        (each for each in range(1, min(last, most) + 1) if last % each == 0),
        key=lambda each: (each % SIDE_BY_SIDE == 0, each),
    )
    scratch = sum(size for value, size in sizes.items() if chain.is_own(value)) * count
    return count if scratch <= MOST_SCRATCH and count < math.prod(chain.shape) else 0


class _Writer:
    """Writes the loops of one chain in front of its last operation."""

    def __init__(self, chain: Chain, rows: int):
        self.chain = chain
        self.sizes = (*(1 for _ in chain.shape[:-1]), rows)
        last = chain.steps[-1].op
        self.builder = Builder(InsertPoint.before(last))
        self.places: list[SSAValue | int] = []
        self.is_threaded = any(_schedule(step.op).threads for step in chain.steps)
        self.views: dict[tuple[SSAValue, tuple[int | None, ...]], SSAValue] = {}

    def write(self) -> None:
        builder = self.builder
        axes = list(zip(self.chain.shape, self.sizes, strict=True))
        numbers = {number: self._number(number) for size, step in axes if size != step for number in (0, size, step)}
        for size, step in axes:
            builder = self._loop(builder, size, step, numbers)
        own = dict.fromkeys(value for value in _memory(self.chain) if self.chain.is_own(value))
        scratch = {value: self._scratch(builder, value) for value in own}
        for step in self.chain.steps:
            builder.insert(self._on_rows(builder, step, scratch))
        self._close(builder)
        for step in reversed(self.chain.steps):
            step.op.detach()
            step.op.erase()
        for value in own:
            assert isinstance(value.owner, Operation)
            value.owner.detach()
            value.owner.erase()

    def _number(self, value: int) -> SSAValue:
        return self.builder.insert(arith.ConstantOp(IntegerAttr(value, IndexType()))).result

    def _loop(self, builder: Builder, size: int, step: int, numbers: Mapping[int, SSAValue]) -> Builder:
        if size == step:
            self.places.append(0)
            return builder
        block = Block(arg_types=[IndexType()])
        loop = scf.ForOp(numbers[0], numbers[size], numbers[step], [], block)
        if self.is_threaded:
            loop.attributes[SCHEDULE] = ScheduleAttr.of(SCALAR, threads=True)
        builder.insert(loop)
        self.places.append(block.args[0])
        return Builder(InsertPoint.at_end(block))

    @staticmethod
    def _close(builder: Builder) -> None:
        block = builder.insertion_point.block
        while isinstance(parent := block.parent_op(), scf.ForOp) and not isinstance(block.last_op, scf.YieldOp):
            block.add_op(scf.YieldOp())
            outer = parent.parent
            assert outer is not None
            block = outer

    def _taken(self, axes: Sequence[int | None], shape: Sequence[int]) -> list[int]:
        """The sizes of what belongs to the rows of one turn."""
        return [
            size if axis is None else self.sizes[axis] for axis, size in zip(axes, shape, strict=True)
        ]  # fmt: skip

    def _scratch(self, builder: Builder, value: SSAValue) -> SSAValue:
        step, access = next(
            (step, access) for step in self.chain.steps for access in step.nest.accesses if access.value is value
        )
        type_ = memref_type(value)
        assert type_ is not None
        made = MemRefType(type_.get_element_type(), self._taken(step.row_axes(access), type_.get_shape()))
        found = builder.insert(memref.AllocaOp.get(made.element_type, 64, made.get_shape())).memref
        found.name_hint = value.name_hint
        return found

    def _on_rows(self, builder: Builder, step: RowStep, scratch: Mapping[SSAValue, SSAValue]) -> Operation:
        made = step.op.clone(dict(scratch))
        for place, access in enumerate(step.nest.accesses):
            made.operands[place] = scratch.get(access.value) or self._view(builder, step, access.value, place)
        schedule = _schedule(step.op)
        if schedule.threads:  # the loops around are divided
            made.attributes.pop(SCHEDULE)
            if schedule.lanes > 1:
                made.attributes[SCHEDULE] = ScheduleAttr.of(
                    schedule.variant, lanes=schedule.lanes, k_unroll=schedule.k_unroll
                )
        return made

    def _view(self, builder: Builder, step: RowStep, value: SSAValue, place: int) -> SSAValue:
        type_ = memref_type(value)
        axes = step.row_axes(step.nest.accesses[place])
        if type_ is None or all(axis is None for axis in axes):
            return value
        known = self.views.get((value, tuple(axes)))
        if known is not None:
            return known
        offsets = [0 if axis is None else self.places[axis] for axis in axes]
        sizes, ones = self._taken(axes, type_.get_shape()), [1] * len(axes)
        result: MemRefType[Attribute] = memref.SubviewOp.infer_result_type(type_, offsets, sizes, ones)
        view = builder.insert(memref.SubviewOp.get(value, offsets, sizes, ones, result)).result
        view.name_hint = value.name_hint
        self.views[value, tuple(axes)] = view
        return view


def _schedule(op: Operation) -> ScheduleAttr:
    found = op.attributes.get(SCHEDULE)
    return found if isinstance(found, ScheduleAttr) else ScheduleAttr.of(SCALAR)


def write_rows(chain: Chain, rows: int) -> None:
    """Put loops over so many rows at a time in the place of a chain."""
    _Writer(chain, rows).write()
