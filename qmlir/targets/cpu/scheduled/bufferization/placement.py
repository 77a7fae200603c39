"""Buffer placement: decides which buffers can be parts of other memory, such as a slice or a result.

A tensor whose last use is `insert_slice` is written directly to the destination, so that concatenations and padding
copy nothing. The destination must be a chain that begins with an empty tensor and continues with fills and insertions
of disjoint slices; each value of the chain is used once, so that each operation overwrites the previous result. The
start of the chain is moved before the operation that writes the tensor. Alternatively, the destination must exist
before that operation and have no later reader. A value that a loop iteration passes to the next one is written to the
memory of the loop argument if that is no longer read. A tensor that the function returns, possibly reshaped, is written
to the memory of that result.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects import scf, tensor
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.traits import ConstantLike

from qmlir.dialects.kernel.rows import RowFusionOp
from qmlir.ir.passes import count
from qmlir.targets.cpu.scheduled.bufferization.aliases import (
    Aliases,
    are_disjoint,
    bounds,
    destination_style,
    is_same_slice,
    is_static,
    is_tensor,
)


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
        while True:
            op = value.owner
            if not isinstance(op, Operation) or op.parent is not last.parent or not value.has_one_use():
                return _Chain(insertions, None)
            if isinstance(op, tensor.InsertSliceOp):
                if not self.aliases.is_in_place(op, 0):
                    return _Chain(insertions, None)
                insertions.append(op)
                value = op.dest
            elif isinstance(op, tensor.EmptyOp):
                return _Chain(insertions, [op, *begin])
            else:
                constants = self._movable(op)
                if constants is None:
                    return _Chain(insertions, None)
                begin[:0] = [*constants, op]
                value = op.operands[destination_of(op)]

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
            block = writer.parent
            assert block is not None
            op.detach()
            block.insert_op_before(op, writer)
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
