"""Which tensors may share memory, and which operations may write over an operand: the analysis of bufferization.

Every tensor has a *place*: the value that begins its buffer or view. A value that is written over another one in place
has the place of that one. Values whose places may overlap (a slice or a reshape and what it is taken from) are in one
*family*. The operations are visited once, in the order in which they run; where one writes over its operand `v`, it
does so in place if both hold, and gets a buffer of its own otherwise:

- the memory is neither an argument's nor a constant's;
- no member of the family of `v` is used by what may run afterwards, nor inside the operation, nor as another operand of
  it, unless the operation may write over that operand too.

"May run afterwards" is: stands behind it and not in the other branch of a choice, or is in one loop with it while the
member is from outside that loop. Members are those that exist when the operation is visited: what is made of them later
uses them later. A member without later uses leaves its family, so that each is looked at a few times only.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import scf, tensor
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue, Use
from xdsl.traits import ConstantLike

from qmlir.dialects.kernel.by_rows import RowFusionOp
from qmlir.dialects.kernel.ops import ReshapeOp
from qmlir.targets.cpu.scheduled.bufferization.destinations import destination_style, is_tensor, results_written


@dataclass(eq=False)
class Family:
    """Values whose memory may overlap."""

    writable: bool
    members: list[SSAValue] = field(default_factory=list[SSAValue])
    """Those that may be used by what has not been visited yet."""
    everyone: list[SSAValue] = field(default_factory=list[SSAValue])
    """Those that have left included."""
    last_use: int = -1
    """The position of the last operation that uses any of them, those that have left included."""
    is_reshaped: bool = False
    """Whether one of them is the memory of another under another shape."""


class Aliases:
    """The analysis of one function, whose operations must not change meanwhile."""

    def __init__(self, function: FuncOp):
        self.function = function
        self.position = {op: place for place, op in enumerate(function.walk())}
        self._families: dict[SSAValue, Family] = {}
        self._places: dict[SSAValue, SSAValue] = {}
        self._in_place: set[tuple[Operation, int]] = set()
        self.buffers: dict[SSAValue, Operation] = {}
        """Every value that begins a buffer of its own, with the operation at which that must exist."""
        for argument in function.body.block.args:
            if is_tensor(argument):
                self._found(argument, writable=False)
        self._visit_block(function.body.block)

    # --- What was found -----------------------------------------------------------------------------------------------

    def is_in_place(self, op: Operation, result: int) -> bool:
        """Whether the result number `result` of `op` is written over the operand that it begins with."""
        return (op, result) in self._in_place

    def place(self, value: SSAValue) -> SSAValue:
        """The value that begins the memory of `value`: two values of one place are the same memory."""
        return self._places[value]

    def family(self, value: SSAValue) -> Family:
        """The values that may overlap `value`."""
        return self._families[value]

    # --- Values -------------------------------------------------------------------------------------------------------

    def _found(self, value: SSAValue, *, writable: bool) -> None:
        """A value that shares memory with nothing known."""
        self._places[value] = value
        self._join(value, Family(writable))

    def _new_buffer(self, value: SSAValue, at: Operation) -> None:
        self.buffers[value] = at
        self._found(value, writable=True)

    def _same(self, value: SSAValue, other: SSAValue) -> None:
        """`value` is the memory of `other`, whole."""
        self._places[value] = self._places[other]
        self._join(value, self._families[other])

    def _view(self, value: SSAValue, source: SSAValue) -> None:
        self._places[value] = value
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
                self._places[argument] = result
        self._visit_block(loop.body.block)
        for _, result, argument in carried:
            self._same(result, argument)

    def _visit_while(self, loop: scf.WhileOp) -> None:
        """What is carried has memory of its own, in which a step leaves it for the next; what leaves lies where the
        condition finds it."""
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
            places = {self._places[value] for value in values}
            (common, *others) = places
            if others or choice.is_ancestor(common.owner):
                self._new_buffer(result, choice)
            else:
                self._same(result, values[0])

    # --- Conflicts ----------------------------------------------------------------------------------------------------

    # One-shot bufferization on SSA use-def chains (MLIR's One-Shot Bufferize): an operation may write its result over
    # an operand unless somebody still wants what is there. With W the write, that is a use U of any member of the
    # family of the operand (all values that lie in its memory) such that U is not W and either
    #   - U comes after W in program order, and not in the other branch of a choice, where only one of both runs, or
    #   - a loop is around U and W but not around the producer: the next iteration reads what this one wrote.
    # A use in W itself is not a conflict if W reads element i of it before it writes element i (`may_overwrite`) and
    # both lie at the same places: with an offset between them, an element would be written before it is read. Memory
    # that is not ours to write (an input of the function, a constant) is not a candidate at all.
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
        is_same = self._places[member] is self._places[op.operands[operand]]
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
