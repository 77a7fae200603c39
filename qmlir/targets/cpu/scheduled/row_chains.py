"""Chains of structured operations on memory that have the same rows, the first of which reduces them.

A row is what one element of a reduction is made of: its axes come last in memory, those of the rows before them. An
operation belongs to a chain if each element that it writes belongs to one row, and if of what the chain writes it reads
the elements of that row only. What stands in between and touches none of that memory may run before all of it.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

from xdsl.dialects import memref
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.ops import FillOp, IndexOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr
from xdsl.traits import ConstantLike

from qmlir.dialects.kernel.attributes import OVERWRITTEN
from qmlir.dialects.kernel.ops import ReshapeOp
from qmlir.ir.builtin_types import memref_type
from qmlir.targets.cpu.loops.affine import strides_of
from qmlir.targets.cpu.loops.nests import Access, Nest, nest_of

SHORTEST = 16
"""Elements of the shortest row that is worth a loop."""

_VIEWS = (memref.SubviewOp, memref.CastOp, memref.ViewOp, ReshapeOp)


@dataclass(frozen=True)
class RowStep:
    """An operation, and which of its iterators run over the rows."""

    op: LinalgStructuredOperation
    nest: Nest
    dims: tuple[int, ...]

    @property
    def captured(self) -> set[SSAValue]:
        """The memory that the body reads from, wherever that may be: tables."""
        inside = (value for each in self.op.body.walk() for value in each.operands)
        return {root_of(value) for value in inside if memref_type(value) is not None} - self.row_tables

    @property
    def row_tables(self) -> set[SSAValue]:
        """The memory that the body reads from at the number of its row."""
        return {load.memref for load in self.op.body.block.ops if _is_at_row(load, self.dims, self.nest)}

    @property
    def goes_along_rows(self) -> bool:
        """Whether it has more than one element of a row to look at."""
        return any(dim not in self.dims for dim in self.nest.loops)

    def row_axes(self, access: Access) -> list[int | None]:
        """For each axis of an operand the number of the axis of rows that it runs along."""
        return [
            self.dims.index(each.position) if isinstance(each, AffineDimExpr) and each.position in self.dims else None
            for each in access.map_.results
        ]

    def is_by_rows(self, access: Access) -> bool:
        """Whether an operand has all axes of the rows, in their order and before its other ones."""
        type_ = memref_type(access.value)
        if type_ is None:
            return False
        real = [
            place for place, size in zip(self.row_axes(access), type_.get_shape(), strict=True) if size != 1
        ]  # fmt: skip
        return real[: len(self.dims)] == list(range(len(self.dims)))


@dataclass
class Chain:
    """Operations in their order, the number of rows along each axis, and the memory that only they use."""

    shape: tuple[int, ...]
    steps: list[RowStep] = field(default_factory=list[RowStep])

    def is_own(self, value: SSAValue) -> bool:
        """Whether memory is allocated for these operations alone."""
        members: set[Operation] = {step.op for step in self.steps}
        return isinstance(value.owner, memref.AllocOp) and _is_used_by(value, members)


def _is_used_by(value: SSAValue, members: set[Operation]) -> bool:
    """Whether nothing but some operations, or their bodies, uses a value."""
    return all(members & {use.operation, use.operation.parent_op()} for use in value.uses)


def _is_at_row(op: Operation, dims: Sequence[int], nest: Nest) -> TypeGuard[memref.LoadOp]:
    """Whether `op` reads memory at the number of its row, along each axis of the rows, and somewhere in that row."""
    type_ = memref_type(op.memref) if isinstance(op, memref.LoadOp) else None
    if not isinstance(op, memref.LoadOp) or type_ is None or not dims:
        return False
    real = [index for index, size in zip(op.indices, type_.get_shape(), strict=True) if size != 1]
    sizes = [size for size in type_.get_shape() if size != 1]
    numbers = [index.owner.dim.value.data if isinstance(index.owner, IndexOp) else None for index in real]
    return numbers[: len(dims)] == list(dims) and sizes[: len(dims)] == [nest.ranges[dim] for dim in dims]


def _asks_for_rows(nest: Nest, dims: Sequence[int]) -> bool:
    """Whether the number of a row matters beyond what is read of that row."""
    return any(
        not _is_at_row(use.operation, dims, nest)
        for op in nest.body.walk()
        if isinstance(op, IndexOp) and op.dim.value.data in dims
        for use in op.result.uses
    )


def chains_of(block: Block) -> Iterator[Chain]:
    """The chains of a block, which may be replaced one by one."""
    taken: set[Operation] = set()
    for op in list(block.ops):
        if op in taken or not isinstance(op, LinalgStructuredOperation):
            continue
        search = _Search.beginning_with(op)
        if search is None:
            continue
        search.run()
        chain = search.chain
        if sum(step.goes_along_rows for step in chain.steps) > 1:
            taken.update(step.op for step in chain.steps)
            yield chain


def root_of(value: SSAValue) -> SSAValue:
    """The memory that a value is a view of."""
    while isinstance(value.owner, _VIEWS):
        value = value.owner.operands[0]
    return value


def _touched(op: Operation) -> Iterator[SSAValue]:
    """All memory that an operation, or what is in it, may read or write."""
    for each in op.walk():
        for value in each.operands:
            if memref_type(value) is not None:
                yield value


def _takes_no_time(op: Operation) -> bool:
    is_constant = op.has_trait(ConstantLike, value_if_unregistered=False)
    return is_constant or isinstance(op, (*_VIEWS, memref.AllocOp, memref.GetGlobalOp))


def _real_axes(nest: Nest) -> list[int] | None:
    """The iterators of the output's axes of more than one element, where there is one output with plain axes."""
    if len(nest.outputs) != 1:
        return None
    (output,) = nest.outputs
    type_ = memref_type(output.value)
    if type_ is None:
        return None
    pairs = [
        (each, size) for each, size in zip(output.map_.results, type_.get_shape(), strict=True) if size != 1
    ]  # fmt: skip
    dims = [each.position for each, _ in pairs if isinstance(each, AffineDimExpr)]
    return dims if len(dims) == len(pairs) == len(set(dims)) else None


def _step(op: Operation, shape: tuple[int, ...]) -> RowStep | None:
    """`op` as one that has rows of `shape`."""
    if not isinstance(op, LinalgStructuredOperation) or OVERWRITTEN in op.attributes:
        return None
    nest = nest_of(op)
    axes = _real_axes(nest)
    if axes is None:
        return None
    dims = tuple(axes[: len(shape)])
    if tuple(nest.ranges[dim] for dim in dims) != shape or any(nest.is_reduction[dim] for dim in dims):
        return None
    is_plain = all(
        isinstance(each, AffineDimExpr) or not each.used_dims() & set(dims)
        for access in nest.accesses
        for each in access.map_.results
    )
    return RowStep(op, nest, dims) if is_plain and not _asks_for_rows(nest, dims) else None


class _Search:
    """Looks for the operations of one chain."""

    def __init__(self, first: RowStep, shape: tuple[int, ...]):
        self.chain = Chain(shape)
        self._first = first
        self._written: dict[SSAValue, SSAValue] = {}
        """What the chain writes: the memory, and the one value by which."""
        self._read: dict[SSAValue, set[SSAValue | None]] = {}
        """What it reads: the memory, and the values by which; `None` for one that is not read by rows."""
        self._fills: dict[SSAValue, RowStep] = {}
        """What fills memory that nobody has written anything else into."""

    @staticmethod
    def beginning_with(op: LinalgStructuredOperation) -> "_Search | None":
        """A search for what follows a reduction of the innermost axes."""
        if isinstance(op, FillOp) or OVERWRITTEN in op.attributes:
            return None
        nest = nest_of(op)
        axes = _real_axes(nest)
        reduced = [dim for dim in nest.loops if nest.is_reduction[dim]]
        if not axes or not reduced or set(axes) & set(reduced):
            return None
        shape = tuple(nest.ranges[dim] for dim in axes)
        step = _step(op, shape)
        if step is None or step.row_tables or math.prod(nest.ranges[dim] for dim in reduced) < SHORTEST:
            return None
        return _Search(step, shape) if any(_has_dense_rows(step, access, reduced) for access in nest.inputs) else None

    def run(self) -> None:
        """Take what follows, up to the first operation that stands in the way."""
        first = self._first.op
        block = first.parent
        assert block is not None
        ops = list(block.ops)
        place = ops.index(first)
        before = {root_of(value) for value in self._first.op.outputs}
        for op in reversed(ops[:place]):
            if not _takes_no_time(op):
                if isinstance(op, FillOp) and before == {root_of(op.outputs[0])}:
                    self._remember_fill(op)
                break
        self._take(self._first)
        for op in ops[place + 1 :]:
            if _takes_no_time(op) or self._remember_fill(op):
                continue
            step = _step(op, self.chain.shape)
            if step is not None and self._belongs(step):
                self._take(step)
            elif not self._is_apart(op):
                return

    def _remember_fill(self, op: Operation) -> bool:
        step = _step(op, self.chain.shape) if isinstance(op, FillOp) else None
        if step is None or not self._is_apart(op):
            return False
        self._fills[root_of(step.op.outputs[0])] = step
        return True

    def _take(self, step: RowStep) -> None:
        for output in step.nest.outputs:
            root = root_of(output.value)
            fill = self._fills.pop(root, None)
            if fill is not None:
                self.chain.steps.append(fill)
            self._written[root] = output.value
        for access in step.nest.inputs:
            if memref_type(access.value) is not None:
                value = access.value if step.is_by_rows(access) else None
                self._read.setdefault(root_of(access.value), set()).add(value)
        for root in step.captured:
            self._read.setdefault(root, set()).add(None)
        for table in step.row_tables:
            self._read.setdefault(table, set()).add(table)
        self.chain.steps.append(step)

    def _belongs(self, step: RowStep) -> bool:
        """Whether `step` goes on with what the chain has written, and disturbs nothing."""
        if step.captured & set(self._written) or not all(self._is_own_table(each, step) for each in step.row_tables):
            return False
        reads = [access for access in step.nest.inputs if root_of(access.value) in self._written]
        for access in reads:
            if self._written[root_of(access.value)] is not access.value or not step.is_by_rows(access):
                return False
        for output in step.nest.outputs:
            root = root_of(output.value)
            if self._written.get(root, output.value) is not output.value:
                return False
            if self._read.get(root, {output.value}) != {output.value}:
                return False
            if root in self._fills and self._fills[root].op.outputs[0] is not output.value:
                return False
        mine = {root_of(access.value) for access in step.nest.inputs if not step.is_by_rows(access)} | step.captured
        return bool(reads or step.row_tables) and not mine & {root_of(output.value) for output in step.nest.outputs}

    def _is_own_table(self, table: SSAValue, step: RowStep) -> bool:
        """Whether the chain has written memory that it alone has: the number of a row is another one in its loops."""
        members: set[Operation] = {step.op, *(each.op for each in self.chain.steps)}
        is_written = self._written.get(table) is table and isinstance(table.owner, memref.AllocOp)
        return is_written and _is_used_by(table, members)

    def _is_apart(self, op: Operation) -> bool:
        """Whether `op` may run before all of the chain; what it touches beside may be read by both."""
        roots = {root_of(value) for value in _touched(op)}
        if roots & (set(self._written) | set(self._fills)):
            return False
        if isinstance(op, LinalgStructuredOperation):
            roots = {root_of(value) for value in op.outputs}
        return not roots & set(self._read)


def _has_dense_rows(step: RowStep, access: Access, reduced: Sequence[int]) -> bool:
    """Whether an operand has the axes of the rows in front, in their order, and neighbours along the reduced ones."""
    type_ = memref_type(access.value)
    strides = None if type_ is None else strides_of(type_)
    if type_ is None or strides is None or not step.is_by_rows(access):
        return False
    last = max((axis for axis, size in enumerate(type_.get_shape()) if size != 1), default=None)
    if last is None or strides[last] != 1:
        return False
    expression = access.map_.results[last]
    return isinstance(expression, AffineDimExpr) and expression.position in reduced
