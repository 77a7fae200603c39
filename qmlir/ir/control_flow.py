"""Value flow: walks over producers and users, and which operands of `scf` become which region arguments and results.

A value and the region argument that it flows to must have the same type, range and scale. Passes query this module
rather than individual loop operations.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import NamedTuple, TypeVar

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue, Use

Node = TypeVar("Node", bound=Hashable)


def reached(starts: Iterable[Node], after: Callable[[Node], Iterable[Node]]) -> Iterator[Node]:
    """Yields `starts` and all nodes reachable from them through `after`, each once, in depth-first order."""
    seen, waiting = set[Node](), list(starts)
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            yield node
            waiting += after(node)


def makers(values: Iterable[SSAValue]) -> set[Operation]:
    """Returns the operations that produce `values`."""
    return {value.owner for value in values if isinstance(value.owner, Operation)}


def uses_of(op: Operation) -> list[Use]:
    """Returns the uses of all results of `op`."""
    return [use for result in op.results for use in result.uses]


def has_uses(op: Operation) -> bool:
    """Returns True if a result of `op` is used."""
    return any(result.uses for result in op.results)


def terminator_of(block: Block) -> Operation:
    """Returns the last operation of a block, which must have one."""
    last = block.last_op
    assert last is not None
    return last


def read_only_by(
    root: Operation, reads: Callable[[Use], bool], may_be: Callable[[Operation], bool] = lambda _: True
) -> set[Operation]:
    """Returns the operations in `root` whose results only reach uses that `reads` accepts.

    A result may reach such a use through other operations, which are then also included. `may_be` must accept every
    included operation.
    """
    found = set[Operation]()
    for op in reversed(list(root.walk())):
        uses = uses_of(op)
        if uses and all(use.operation in found or reads(use) for use in uses) and may_be(op):
            found.add(op)
    return found


CONTROL = (scf.ForOp, scf.IfOp, scf.WhileOp, scf.YieldOp, scf.ConditionOp)
"""The operations of `scf` that forward values."""


class ForwardedValue(NamedTuple):
    """A forwarded operand of an operation or region terminator, and the region argument or result that receives it."""

    user: Operation
    position: int
    taken: SSAValue
    """The region argument or result that receives the value."""

    @property
    def given(self) -> SSAValue:
        """The value of the forwarded operand."""
        return self.user.operands[self.position]


def forwarded(op: Operation) -> Iterator[ForwardedValue]:
    """Yields the values that `op` forwards; yields nothing if `op` is not an `scf` control flow operation.

    Regions are visited in execution order; for each region, its inputs come before its outputs.
    """
    match op:
        case scf.ForOp():
            first = len(op.operands) - len(op.iter_args)
            end, arguments = terminator_of(op.body.block), op.body.block.args[1:]
            for number, (argument, result) in enumerate(zip(arguments, op.results, strict=True)):
                yield ForwardedValue(op, first + number, argument)
                yield ForwardedValue(end, number, argument)
                yield ForwardedValue(end, number, result)
        case scf.WhileOp():
            before, after = op.before_region.block, op.after_region.block
            for number, argument in enumerate(before.args):
                yield ForwardedValue(op, number, argument)
            for number, (argument, result) in enumerate(zip(after.args, op.results, strict=True)):
                yield ForwardedValue(terminator_of(before), 1 + number, argument)  # behind the condition
                yield ForwardedValue(terminator_of(before), 1 + number, result)
            for number, argument in enumerate(before.args):
                yield ForwardedValue(terminator_of(after), number, argument)
        case scf.IfOp():
            for region in op.regions:
                if region.blocks:
                    for number, result in enumerate(op.results):
                        yield ForwardedValue(terminator_of(region.block), number, result)
        case _:
            pass


def together(op: Operation) -> Iterator[tuple[list[ForwardedValue], list[SSAValue]]]:
    """Yields the groups of values that `op` connects by forwarding: the operands, and the values that receive them."""
    groups: list[tuple[list[ForwardedValue], list[SSAValue]]] = []
    for each in forwarded(op):
        joined = [group for group in groups if each.taken in group[1] or any(_same(each, own) for own in group[0])]
        merged: tuple[list[ForwardedValue], list[SSAValue]] = ([], [])
        for given, taken in (*joined, ([each], [each.taken])):
            merged[0].extend(one for one in given if not any(_same(one, own) for own in merged[0]))
            merged[1].extend(value for value in taken if value not in merged[1])
        groups = [group for group in groups if group not in joined] + [merged]
    yield from groups


def _same(one: ForwardedValue, other: ForwardedValue) -> bool:
    return one.user is other.user and one.position == other.position


def captured(op: Operation) -> Iterator[SSAValue]:
    """Yields the values defined outside `op` that `op` and its regions use, each once, in order of first use."""
    seen: dict[SSAValue, None] = {}
    for each in op.walk():
        for operand in each.operands:
            if not op.is_ancestor(operand.owner):
                seen[operand] = None
    return iter(seen)


def known_bound(value: SSAValue) -> int | None:
    """Returns the constant value of a loop bound or step; `None` if it is computed at run time."""
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None
