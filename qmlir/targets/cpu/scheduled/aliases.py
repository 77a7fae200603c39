"""Alias analysis and buffer placement: slices as memrefs, destination style, and which tensors may share memory."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, cast

import numpy as np
from xdsl.dialects import builtin, memref, scf, tensor
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.utils import get_dynamic_index_list
from xdsl.ir import Attribute, Block, Operation, SSAValue, Use
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import ConstantLike

from qmlir import registry
from qmlir.analysis.operand_accesses import permutation_of
from qmlir.analysis.symbols import kept_axes
from qmlir.dialects.kernel.ops import ReshapeOp
from qmlir.dialects.kernel.rows import RowFusionOp
from qmlir.ir.builtin_types import AnyMemRef, integer_list
from qmlir.ir.interfaces import Destination, DestinationStyle
from qmlir.ir.passes import count
from qmlir.targets.cpu.loops.emitter import memory_of, row_major

# Slices of tensors as memrefs: strided types, and overlap of slices.

SliceOp: TypeAlias = tensor.ExtractSliceOp | tensor.InsertSliceOp


def is_contiguous(type_: AnyMemRef) -> bool:
    """Returns true if the elements are contiguous in row-major order, at any offset."""
    shape = type_.get_shape()
    if not math.prod(shape):
        return True
    axes = zip(shape, type_.get_strides() or (), row_major(shape), strict=True)
    return all(size == 1 or found == wanted for size, found, wanted in axes)


def reshaped_type(type_: AnyMemRef, shape: Sequence[int]) -> AnyMemRef:
    """Returns the type of a contiguous memref of `type_` after a reshape to `shape`."""
    offset = type_.get_offset()
    layout = builtin.NoneAttr() if offset == 0 else builtin.StridedLayoutAttr(row_major(shape), offset)
    return builtin.MemRefType(type_.get_element_type(), shape, layout)


def subview(source: SSAValue, op: SliceOp, shape: Sequence[int]) -> memref.SubviewOp:
    """Returns the view of the memref `source` that the slice `op` extracts or overwrites, as a memref of `shape`."""
    offsets, sizes, strides = (
        get_dynamic_index_list(integer_list(static), dynamic, builtin.DYNAMIC_INDEX)
        for static, dynamic in (
            (op.static_offsets, op.offsets), (op.static_sizes, op.sizes), (op.static_strides, op.strides),
        )
    )  # fmt: skip
    whole = memref.SubviewOp.infer_result_type(memory_of(source), offsets, sizes, strides)
    known = [size if isinstance(size, int) else builtin.DYNAMIC_INDEX for size in sizes]
    kept = kept_axes(known, shape)
    steps = whole.get_strides() or ()
    layout = builtin.StridedLayoutAttr([steps[axis] for axis in kept], whole.get_offset())
    type_ = builtin.MemRefType(whole.get_element_type(), [known[axis] for axis in kept], layout)
    return memref.SubviewOp.get(source, offsets, sizes, strides, type_)


def are_disjoint(first: SliceOp, second: SliceOp) -> bool:
    """Returns true if two slices of one tensor are known to be disjoint."""
    mine, other = _ranges(first), _ranges(second)
    return mine is not None and other is not None and any(map(_apart, mine, other))


def is_same_slice(first: SliceOp, second: SliceOp) -> bool:
    """Returns true if two slices are known to select the same elements, in the same order."""
    mine = _ranges(first)
    return mine is not None and mine == _ranges(second)


def is_static(op: SliceOp) -> bool:
    """Returns true if offsets, sizes and strides are static."""
    return _ranges(op) is not None


def bounds(op: SliceOp) -> tuple[list[float], list[float]]:
    """Returns the first and last indices of a slice along each axis; infinite if unknown."""
    ranges = _ranges(op)
    if ranges is None:
        rank = len(integer_list(op.static_sizes))
        return [-math.inf] * rank, [math.inf] * rank
    return [each[0] if each else math.inf for each in ranges], [each[-1] if each else -math.inf for each in ranges]


def _ranges(op: SliceOp) -> list[range] | None:
    lists = [integer_list(each) for each in (op.static_offsets, op.static_sizes, op.static_strides)]
    if any(builtin.DYNAMIC_INDEX in each for each in lists):
        return None
    return [range(offset, offset + size * stride, stride) for offset, size, stride in zip(*lists, strict=True)]


def _apart(first: range, second: range) -> bool:
    if not first or not second or first[-1] < second[0] or second[-1] < first[0]:
        return True
    step = math.gcd(first.step, second.step)
    return bool((first.start - second.start) % step)


# Operations in destination style: those that implement the interface `DestinationStyle`, and `linalg` by an adapter.
#
# xDSL operations that overwrite part of a tensor, or carry tensors through a loop, are rows of a table. A package adds
# rows in `bufferize.destinations` of its `Contribution`.


@dataclass(frozen=True)
class LinalgDestinations(DestinationStyle):
    """The destination style of a `linalg` operation: its outputs are destinations, its maps determine aliasing."""

    op: LinalgStructuredOperation

    def destinations(self) -> Sequence[Destination]:
        first = len(self.op.inputs)
        old = self.op.body.block.args[first:]
        return [Destination(first + position, bool(argument.uses)) for position, argument in enumerate(old)]

    def on_memory(self, memory: Callable[[SSAValue], SSAValue], outs: Sequence[SSAValue]) -> Operation:
        regions = [self.op.detach_region(region) for region in list(self.op.regions)]
        return type(self.op).create(
            operands=[*map(memory, self.op.inputs), *outs],
            properties=dict(self.op.properties),
            attributes=dict(self.op.attributes),
            regions=regions,
        )

    def may_overwrite(self, operand: int, destination: int) -> bool:
        maps = [attribute.data for attribute in self.op.get_indexing_maps()]
        written = self.destinations()[destination].operand
        assert written is not None
        is_parallel = all(kind.data is IteratorType.PARALLEL for kind in self.op.get_iterator_types())
        return is_parallel and maps[operand] == maps[written] and permutation_of(maps[written]) is not None


def destination_style(op: Operation) -> DestinationStyle | None:
    """Returns the destination style of `op`; `None` if `op` is not in destination style."""
    if isinstance(op, DestinationStyle):
        return cast(DestinationStyle, op)
    return LinalgDestinations(op) if isinstance(op, LinalgStructuredOperation) else None


def _inserted(op: Operation) -> Sequence[Destination]:
    """Returns the destination of an insertion: the operand after the source, which is partially overwritten."""
    return [Destination(1, is_read=True)]


def _carried(op: scf.ForOp | RowFusionOp) -> Sequence[Destination]:
    """Returns the last operands: the loop-carried values after bounds and step, or the destinations of a row fusion."""
    first = len(op.operands) - len(op.results)
    return [Destination(first + position, is_read=True) for position in range(len(op.results))]


DESTINATIONS: Mapping[type[Operation], Callable[..., Sequence[Destination]]] = {
    tensor.InsertOp: _inserted,
    tensor.InsertSliceOp: _inserted,
    scf.ForOp: _carried,
    RowFusionOp: _carried,
}
"""The destinations of operations that neither the interface nor an adapter covers."""


def results_written(op: Operation) -> Sequence[Destination]:
    """Returns the destination of each result of an operation on tensors; empty if it has no destinations."""
    written = registry.table("bufferize.destinations").get(type(op))
    if written is not None:
        return written(op)
    style = destination_style(op)
    return () if style is None or not has_tensors(op) else style.destinations()


def is_tensor_type(type_: Attribute) -> bool:
    """Returns true for tensor types, which are bufferized."""
    return isinstance(type_, builtin.TensorType | builtin.UnrankedTensorType)


def is_tensor(value: SSAValue) -> bool:
    """Returns true for tensors, which are bufferized."""
    return is_tensor_type(value.type)


def has_tensors(op: Operation) -> bool:
    """Returns true if `op` has a tensor operand or result."""
    return any(map(is_tensor, (*op.operands, *op.results)))


# The alias analysis of bufferization: which tensors may share memory, and which operations may overwrite an operand.
#
# Every tensor has a *storage*: the value that starts its buffer or view. A result that overwrites an operand in place
# has the storage of that operand. Values whose storages may overlap (a slice or a reshape, and its source) are in one
# *family*. The operations are visited once, in execution order. An operation overwrites its destination operand `v` in
# place if both conditions hold, and gets a new buffer otherwise:
#
# - The memory of `v` is neither that of an argument nor that of a constant.
# - No member of the family of `v` is used by an operation that may run afterwards, inside the operation, or as another
#   operand of the operation, unless the operation may also overwrite that operand.
#
# An operation may run afterwards if it comes later and is not in the other branch of the same `scf.if`, or if both
# operations are in the same loop and the member is defined outside of it. Only members that exist when the operation is
# visited are considered, since values derived from them later are also uses of them. A member without later uses leaves
# its family, so that each member is visited only a few times.


@dataclass(eq=False)
class Family:
    """Values whose memory may overlap."""

    writable: bool
    members: list[SSAValue] = field(default_factory=list[SSAValue])
    """The values that operations not yet visited may use."""
    everyone: list[SSAValue] = field(default_factory=list[SSAValue])
    """All members, including those that have left."""
    last_use: int = -1
    """The position of the last operation that uses any member, including members that have left."""
    is_reshaped: bool = False
    """True if a member is a reshape of another."""


class Aliases:
    """The alias analysis of one function, which must not change during the analysis."""

    def __init__(self, function: FuncOp):
        self.function = function
        self.position = {op: position for position, op in enumerate(function.walk())}
        self._families: dict[SSAValue, Family] = {}
        self._storage: dict[SSAValue, SSAValue] = {}
        self._in_place: set[tuple[Operation, int]] = set()
        self.buffers: dict[SSAValue, Operation] = {}
        """Every value that starts a separate buffer, with the operation before which it must be allocated."""
        for argument in function.body.block.args:
            if is_tensor(argument):
                self._found(argument, writable=False)
        self._visit_block(function.body.block)

    # --- What was found -----------------------------------------------------------------------------------------------

    def is_in_place(self, op: Operation, result: int) -> bool:
        """Returns true if result `result` of `op` overwrites its destination operand in place."""
        return (op, result) in self._in_place

    def storage(self, value: SSAValue) -> SSAValue:
        """Returns the value that starts the memory of `value`; values with the same storage share memory."""
        return self._storage[value]

    def storage_under_shapes(self, value: SSAValue) -> SSAValue:
        """Returns the value that starts the memory of `value`, looking through reshapes."""
        storage = self._storage[value]
        while isinstance(storage.owner, ReshapeOp):
            storage = self._storage[storage.owner.source]
        return storage

    def family(self, value: SSAValue) -> Family:
        """Returns the values whose memory may overlap that of `value`."""
        return self._families[value]

    # --- Values -------------------------------------------------------------------------------------------------------

    def _found(self, value: SSAValue, *, writable: bool) -> None:
        """A value that shares memory with nothing known."""
        self._storage[value] = value
        self._join(value, Family(writable))

    def _new_buffer(self, value: SSAValue, at: Operation) -> None:
        self.buffers[value] = at
        self._found(value, writable=True)

    def _same(self, value: SSAValue, other: SSAValue) -> None:
        """`value` is the memory of `other`, whole."""
        self._storage[value] = self._storage[other]
        self._join(value, self._families[other])

    def _view(self, value: SSAValue, source: SSAValue) -> None:
        self._storage[value] = value
        self._join(value, self._families[source])

    def _join(self, value: SSAValue, family: Family) -> None:
        self._families[value] = family
        family.members.append(value)
        family.everyone.append(value)
        family.last_use = max(family.last_use, self._last_use(value))

    def _last_use(self, value: SSAValue) -> int:
        return max((self.position[use.operation] for use in value.uses), default=-1)

    # --- Operations ---------------------------------------------------------------------------------------------------

    def _visit_block(self, block: Block) -> None:
        for op in block.ops:
            self._visit(op)

    def _visit(self, op: Operation) -> None:
        match op:
            case tensor.ExtractSliceOp():
                self._view(op.result, op.source)
            case ReshapeOp() if is_tensor(op.result):
                self._view(op.result, op.source)
                self._families[op.source].is_reshaped = True
            case scf.ForOp() | RowFusionOp():
                self._visit_loop(op)
            case scf.WhileOp():
                self._visit_while(op)
            case scf.IfOp():
                self._visit_choice(op)
            case _:
                self._visit_writes(op)

    def _visit_writes(self, op: Operation) -> None:
        written = results_written(op)
        tensors = [result for result in op.results if is_tensor(result)]
        if not written:
            for result in tensors:
                if op.has_trait(ConstantLike, value_if_unregistered=False):
                    self._found(result, writable=False)
                else:
                    self._new_buffer(result, op)
            return
        for number, (result, destination) in enumerate(zip(tensors, written, strict=True)):
            if destination.operand is not None and self._may_write(op, destination.operand, number):
                self._write_in_place(op, number, result, op.operands[destination.operand])
            else:
                self._new_buffer(result, op)

    def _write_in_place(self, op: Operation, number: int, result: SSAValue, operand: SSAValue) -> None:
        family = self._families[operand]
        here = self.position[op]
        family.members = [member for member in family.members if self._last_use(member) > here]
        self._in_place.add((op, number))
        self._same(result, operand)

    def _visit_loop(self, loop: scf.ForOp | RowFusionOp) -> None:
        """The argument of the body comes first: while it runs, the result is nobody's yet."""
        arguments = loop.body.block.args[-len(loop.results) :]
        carried = [
            (number, result, argument)
            for number, (result, argument) in enumerate(zip(loop.results, arguments, strict=False))
            if is_tensor(result)
        ]
        for number, result, argument in carried:
            operand = results_written(loop)[number].operand
            assert operand is not None
            if self._may_write(loop, operand, number):
                self._write_in_place(loop, number, argument, loop.operands[operand])
            else:
                self.buffers[result] = loop
                self._found(argument, writable=True)
                self._storage[argument] = result
        self._visit_block(loop.body.block)
        for _, result, argument in carried:
            self._same(result, argument)

    def _visit_while(self, loop: scf.WhileOp) -> None:
        """Gives each loop-carried tensor a separate buffer, in which an iteration stores it for the next one.

        A result of the loop has the memory that the condition forwards to it.
        """
        before, after = loop.before_region.block, loop.after_region.block
        for argument in filter(is_tensor, before.args):
            self._new_buffer(argument, loop)
        self._visit_block(before)
        condition = before.last_op
        assert isinstance(condition, scf.ConditionOp)
        forwarded = [pair for pair in zip(condition.args, after.args, loop.results, strict=True) if is_tensor(pair[0])]
        for value, argument, _ in forwarded:
            self._same(argument, value)
        self._visit_block(after)
        for value, _, result in forwarded:
            self._same(result, value)

    def _visit_choice(self, choice: scf.IfOp) -> None:
        yielded: list[Sequence[SSAValue]] = []
        for region in choice.regions:
            if region.blocks:
                self._visit_block(region.block)
                last = region.block.last_op
                yielded.append(last.operands if last is not None else ())
        for number, result in enumerate(choice.results):
            if not is_tensor(result):
                continue
            values = [operands[number] for operands in yielded]
            storages = {self._storage[value] for value in values}
            (common, *others) = storages
            if others or choice.is_ancestor(common.owner):
                self._new_buffer(result, choice)
            else:
                self._same(result, values[0])

    # --- Conflicts ----------------------------------------------------------------------------------------------------

    # As in MLIR's One-Shot Bufferize, which works on SSA use-def chains, an operation may overwrite an operand unless
    # its old contents are still needed. If W is the write, there is a conflict if any member of the operand's family
    # (all values in its memory) has a use U other than W such that
    #   - U comes after W in program order and is not in the other branch of the same `scf.if`, or
    #   - a loop contains U and W but not the producer, so that the next iteration reads the elements that W wrote.
    # A use in W itself is not a conflict if W reads each element before it writes the same element (`may_overwrite`),
    # and if both views start at the same address; with an offset between them, an element could be written before it is
    # read. Memory that the function must not write (its inputs, constants) is never overwritten.
    def _may_write(self, op: Operation, operand: int, destination: int) -> bool:
        """Whether `op` may write over its operand."""
        value = op.operands[operand]
        family = self._families[value]
        if not family.writable:
            return False
        loops = list(_loops_around(op))
        return not any(
            self._conflicts(member, use, op, operand, destination, loops)
            for member in family.members
            for use in member.uses
        )

    def _conflicts(
        self, member: SSAValue, use: Use, op: Operation, operand: int, destination: int, loops: Sequence[Operation]
    ) -> bool:
        """Whether `use` wants what `member` holds after `op` has written it."""
        user = use.operation
        if any(loop.is_ancestor(user) and not loop.is_ancestor(member.owner) for loop in loops):
            return True
        if user is not op:
            return self.position[user] > self.position[op] and not _in_other_branch(user, op)
        if use.index == operand:
            return False
        style = destination_style(op)
        is_same = self._storage[member] is self._storage[op.operands[operand]]
        return not (is_same and style is not None and style.may_overwrite(use.index, destination))


def _ancestors(op: Operation) -> Iterator[Operation]:
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, FuncOp):
        yield parent
        parent = parent.parent_op()


def _loops_around(op: Operation) -> Iterator[Operation]:
    """What may run `op` several times: every operation with regions but a choice."""
    return (parent for parent in _ancestors(op) if not isinstance(parent, scf.IfOp))


def _in_other_branch(first: Operation, second: Operation) -> bool:
    """Whether the two stand in different branches of one choice."""
    branches = dict(_choices_around(first))
    return any(branches.get(parent, region) is not region for parent, region in _choices_around(second))


def _choices_around(op: Operation) -> Iterator[tuple[Operation, object]]:
    region = op.parent_region()
    while region is not None and (parent := region.parent_op()) is not None and not isinstance(parent, FuncOp):
        if isinstance(parent, scf.IfOp):
            yield parent, region
        region = parent.parent_region()


# Buffer placement: decides which buffers can be parts of other memory, such as a slice or a result.
#
# A tensor whose last use is `insert_slice` is written directly to the destination, so that concatenations and padding
# copy nothing. The destination must be a chain that begins with an empty tensor and continues with fills and insertions
# of disjoint slices; each value of the chain is used once, so that each operation overwrites the previous result. The
# start of the chain is moved before the operation that writes the tensor. Alternatively, the destination must exist
# before that operation and have no later reader. A value that a loop iteration passes to the next one is written to the
# memory of the loop argument if that is no longer read. A tensor that the function returns, possibly reshaped, is
# written to the memory of that result.


@dataclass
class Placement:
    """The location of each buffer that is part of other memory, by the value that starts it (`Aliases.buffers`)."""

    in_slices: dict[SSAValue, tensor.InsertSliceOp] = field(default_factory=dict[SSAValue, tensor.InsertSliceOp])
    """The insertion whose destination slice is the buffer."""
    in_loops: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """The loop argument whose memory holds the buffer, so that the next iteration finds the value there."""
    in_results: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """The index, among the function's tensor results, of the result whose memory is the buffer."""


class _Chain:
    """A chain of insertions, last one first, and the operations that start it; `None` if these are unknown."""

    def __init__(self, insertions: Sequence[tensor.InsertSliceOp], begin: list[Operation] | None):
        self.insertions = insertions
        self.begin = begin
        self._numbers = {op: number for number, op in enumerate(insertions)}
        boxes = [bounds(op) for op in insertions] if begin is not None else []
        self._low, self._high = (np.array([box[end] for box in boxes]) for end in (0, 1))

    def is_apart(self, insertion: tensor.InsertSliceOp) -> bool:
        """Returns true if `insertion` and the earlier insertions of the chain write disjoint elements."""
        number = self._numbers[insertion]
        low, high = self._low[number + 1 :], self._high[number + 1 :]
        meets = np.all((low <= self._high[number]) & (high >= self._low[number]), axis=-1)
        near: list[int] = np.flatnonzero(meets).tolist()
        return all(are_disjoint(insertion, self.insertions[number + 1 + each]) for each in near)


class _Placer:
    def __init__(self, aliases: Aliases):
        self.aliases = aliases
        self.found = Placement()
        self.begins: dict[SSAValue, list[Operation]] = {}
        """For each value placed in a slice, the operations that start the destination, which must come before it."""
        self._chains: dict[Operation, _Chain] = {}

    # --- Slices -------------------------------------------------------------------------------------------------------

    # This is safe if nothing else uses the slice between the write of the tensor and the insertion. The chain before
    # the insertion consists of fills and insertions of disjoint boxes, and each of its values is used once. So every
    # other write into the destination comes before the writer (to which fills are moved up) or is to other elements,
    # and nothing reads the destination in between. The tensor must not be used after the insertion (`last_use`), since
    # other users would see later writes into the destination. A reshaped family is rejected, because the strides of a
    # slice can't be split like those of contiguous memory.
    def place_in_slice(self, insertion: tensor.InsertSliceOp) -> None:
        aliases = self.aliases
        root = aliases.storage(insertion.source)
        if not is_static(insertion):
            return
        writer = aliases.buffers.get(root)
        family = aliases.family(root)
        if writer is None or writer.parent is not insertion.parent or family.is_reshaped:
            return
        if family.last_use > aliases.position[insertion]:
            return
        begin = self._beginning(insertion)
        if begin is None and self._ends_there(insertion, root, writer):
            begin = []
        if begin is None:
            return
        self.found.in_slices[root] = insertion
        self.begins[root] = begin
        self._move_in_front(begin, writer)
        count("tensors written into a slice")

    # The destination may also be a tensor that other operations read, if it is defined before the writer and nothing
    # reads it after the writer: then its old contents end with the insertion, which is in place. The writer itself may
    # read the same slice elementwise. Family members that are defined at or after the insertion belong to its result.
    def _ends_there(self, insertion: tensor.InsertSliceOp, root: SSAValue, writer: Operation) -> bool:
        """Whether nobody but `insertion` wants what its destination holds when the slice begins to be written."""
        position, block = self.aliases.position, insertion.parent
        if not self.aliases.is_in_place(insertion, 0):
            return False
        before = position[writer]
        if isinstance(writer, tensor.EmptyOp):  # it is written by its one user
            user = root.get_user_of_unique_use()
            if user is None or user.parent is not block:
                return False
            writer = user
        style = destination_style(writer) if len(writer.results) == 1 else None
        for member in self.aliases.family(insertion.dest).everyone:
            owner = member.owner
            if isinstance(owner, Operation) and position[owner] >= position[insertion]:
                continue
            if not isinstance(owner, Operation) or owner.parent is not block or position[owner] >= before:
                return False
            is_slice = isinstance(owner, tensor.ExtractSliceOp) and is_same_slice(owner, insertion)
            for use in member.uses:
                if position[use.operation] < position[writer] or use.operation is insertion:
                    continue
                reads_first = is_slice and style is not None and style.may_overwrite(use.index, 0)
                if use.operation is not writer or not reads_first:
                    return False
        return True

    def _beginning(self, insertion: tensor.InsertSliceOp) -> list[Operation] | None:
        """What the destination of `insertion` begins with, if that is a chain; `None` otherwise."""
        if insertion not in self._chains:
            chain = self._chain_to(insertion)
            self._chains.update(dict.fromkeys(chain.insertions, chain))
        chain = self._chains[insertion]
        return chain.begin if chain.begin is not None and chain.is_apart(insertion) else None

    def _chain_to(self, last: tensor.InsertSliceOp) -> "_Chain":
        """The chain that ends in `last`; those that end in earlier insertions are its beginnings."""
        begin: list[Operation] = []
        insertions = [last]
        value: SSAValue = last.dest
        while isinstance(op := value.owner, Operation) and op.parent is last.parent and value.has_one_use():
            if isinstance(op, tensor.InsertSliceOp):
                if not self.aliases.is_in_place(op, 0):
                    break
                insertions.append(op)
                value = op.dest
            elif isinstance(op, tensor.EmptyOp):
                return _Chain(insertions, [op, *begin])
            else:
                constants = self._movable(op)
                if constants is None:
                    break
                begin[:0] = [*constants, op]
                value = op.operands[destination_of(op)]
        return _Chain(insertions, None)

    def _movable(self, op: Operation) -> Sequence[Operation] | None:
        """The constants that `op` takes besides its destination, where it takes nothing else; `None` otherwise."""
        style = destination_style(op)
        if style is None or len(op.results) != 1 or not self.aliases.is_in_place(op, 0):
            return None
        destination = destination_of(op)
        sources = [value.owner for position, value in enumerate(op.operands) if position != destination]
        inside = [operand.owner for each in op.walk() if each is not op for operand in each.operands]
        sources += [owner for owner in inside if not op.is_ancestor(owner)]
        constants = [source for source in sources if isinstance(source, Operation)]
        is_plain = all(source.has_trait(ConstantLike, value_if_unregistered=False) for source in constants)
        return constants if is_plain and len(constants) == len(sources) else None

    def _move_in_front(self, begin: Sequence[Operation], writer: Operation) -> None:
        """Move what stands behind `writer` in front of it, with what that lies in."""
        position = self.aliases.position
        for op in begin:
            if position[op] < position[writer] or op is writer:
                continue
            if isinstance(op, tensor.EmptyOp):
                self._move_in_front(self.begins.get(op.tensor, ()), writer)
            if op.parent is not writer.parent:  # a constant of an outer block stands in front anyhow
                continue
            op.detach()
            Rewriter.insert_op(op, InsertPoint.before(writer))
            position[op] = position[writer] - 1  # behind all that the writer stands behind, as far as anybody asks

    # --- Loops --------------------------------------------------------------------------------------------------------

    def place_in_loop(self, loop: scf.ForOp | RowFusionOp) -> None:
        end = loop.body.block.last_op
        carried = loop.body.block.args[-len(loop.results) :] if loop.results else ()
        for argument, value in zip(carried, () if end is None else end.operands, strict=True):
            if not is_tensor(value):
                continue
            root = self.aliases.storage(value)
            writer = self.aliases.buffers.get(root)
            if writer is None or writer.parent is not loop.body.block or root in self.found.in_slices:
                continue
            if root not in self.found.in_loops and self._is_free(argument, root, writer, loop):
                self.found.in_loops[root] = argument
                count("tensors written for the next iteration")

    # The memory of the argument holds the state of this iteration. The operation W may write the next state there if
    # every read of the old state, through any member of the family, comes before W or is an elementwise read by W.
    # Reads in the following iteration expect the new state, which is the purpose of the placement. Family members that
    # are defined at or after W would be a second owner of that memory.
    def _is_free(self, argument: SSAValue, root: SSAValue, writer: Operation, loop: scf.ForOp | RowFusionOp) -> bool:
        """Returns true if nothing in the loop body reads the memory of `argument` once `root` is being written.

        The writer itself may read it elementwise, unless it also reads its destination: the initial value of the
        destination is copied to the memory of `root` first.
        """
        if isinstance(writer, tensor.EmptyOp):  # it is written by its one user
            writer = next(iter(root.uses)).operation
        position, style = self.aliases.position, destination_style(writer)
        for member in self.aliases.family(argument).everyone:
            if not loop.body.block.is_ancestor(member.owner):
                continue
            if isinstance(member.owner, Operation) and position[member.owner] >= position[writer]:
                return False
            for use in member.uses:
                reads_alone = (
                    use.operation is writer
                    and style is not None
                    and len(style.destinations()) == 1
                    and not style.destinations()[0].is_read
                    and self.aliases.storage(member) is self.aliases.storage(argument)
                    and style.may_overwrite(use.index, 0)
                )
                if position[use.operation] >= position[writer] and not reads_alone:
                    return False
        return True

    # --- Results ------------------------------------------------------------------------------------------------------

    def place_in_results(self, end: ReturnOp) -> None:
        for number, value in enumerate(filter(is_tensor, end.operands)):
            root = self.aliases.storage_under_shapes(value)
            writer = self.aliases.buffers.get(root)
            if writer is None or writer.parent is not end.parent:
                continue
            if root not in self.found.in_results and root not in self.found.in_slices:
                self.found.in_results[root] = number
                count("tensors written into a result")


def destination_of(op: Operation) -> int:
    """Returns the index of the operand that an operation in destination style with one result overwrites."""
    style = destination_style(op)
    assert style is not None
    operand = style.destinations()[0].operand
    assert operand is not None
    return operand


def place_buffers(aliases: Aliases) -> Placement:
    """Decides where the buffers of a function are placed.

    If a tensor is written directly to a slice, the operations that start the slice's destination are moved before the
    operation that writes the tensor.
    """
    placer = _Placer(aliases)
    end = aliases.function.body.block.last_op
    insertions = [op for op in aliases.function.walk() if isinstance(op, tensor.InsertSliceOp)]
    for insertion in reversed(insertions):
        placer.place_in_slice(insertion)
    for op in aliases.function.walk():
        if isinstance(op, scf.ForOp | RowFusionOp):
            placer.place_in_loop(op)
    if isinstance(end, ReturnOp):
        placer.place_in_results(end)
    return placer.found
