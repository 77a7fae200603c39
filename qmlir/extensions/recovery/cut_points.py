"""Sections of a function: what lies between two values through which everything flows.

Between such cuts nothing passes by: what is computed from the inputs before a cut reaches what comes behind it through
the cut alone. A residual block has none inside, as its sum reads what came into it, too; a chain has one behind each
operation.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue


@dataclass(frozen=True)
class Section:
    """The operations from one cut to the next, in order. Constants, and what is made of constants alone, are none."""

    start: SSAValue
    end: SSAValue
    operations: tuple[Operation, ...]

    def __add__(self, other: "Section") -> "Section":
        """This one and the next."""
        return Section(self.start, other.end, (*self.operations, *other.operations))


def sections(function: FuncOp) -> Iterator[Section]:
    """The shortest sections of a `function` of one block, from its first cut to its last, which may be its output.

    In the order of a program, a value is a cut where it alone is still to be read of all that was computed so far: what
    comes before it, then, is what it is computed from, and what comes behind it is computed from it.
    """
    block = function.body.block
    computed = set[SSAValue]()
    computed.update(block.args)
    operations = list[Operation]()
    for op in block.ops:
        if not computed.isdisjoint(_read(op)):
            computed.update(op.results)
            operations.append(op)
    last = {value: op for op in operations for value in _read(op) if value in computed}
    live = set[SSAValue]()
    live.update(value for value in block.args if value in last)
    start, since = next(iter(live)) if len(live) == 1 else None, list[Operation]()
    for op in operations:
        if isinstance(op, ReturnOp):
            return
        live.difference_update(value for value in _read(op) if last.get(value) is op)
        live.update(value for value in op.results if value in last)
        since.append(op)
        if len(live) == 1:
            (end,) = live
            if end.owner is op:
                if start is not None:
                    yield Section(start, end, tuple(since))
                start, since = end, []


def _read(op: Operation) -> set[SSAValue]:
    """What `op` reads, also in its regions."""
    return {value for each in op.walk() for value in each.operands}


def blocks(function: FuncOp, most: int, layers: Callable[[Sequence[Operation]], int]) -> Iterator[Section]:
    """Sections of at least two layers and at most `most`, one behind the other.

    A section with several layers, such as a residual block, stands by itself; those of a chain, with one each, are
    joined. A section without a layer, such as an activation, goes to what comes before it.
    """
    held: Section | None = None
    count, is_chain = 0, True
    for each in sections(function):
        own = layers(each.operations)
        if held is not None and (own == 0 or (is_chain and own == 1 and count < most)):
            held, count = held + each, count + own
            continue
        if held is not None and 1 < count <= most:
            yield held
        held, count, is_chain = (each, own, own == 1) if own else (None, 0, True)
    if held is not None and 1 < count <= most:
        yield held
