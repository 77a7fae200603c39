"""Sections of a function between cut points: values through which all data flows.

Operations after a cut depend on the function's inputs only through the cut. A residual block contains no cut, because
its addition also reads the block's input. A chain of operations has a cut after each operation.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue


@dataclass(frozen=True)
class Section:
    """The operations from one cut to the next, in order; constants and operations on constants alone are left out."""

    start: SSAValue
    end: SSAValue
    operations: tuple[Operation, ...]

    def __add__(self, other: "Section") -> "Section":
        """Joins this section and the next one."""
        return Section(self.start, other.end, (*self.operations, *other.operations))


def sections(function: FuncOp) -> Iterator[Section]:
    """Yields the shortest sections of a single-block `function`, from its first cut to its last.

    A value is a cut if, at its point in program order, it is the only value computed so far that later operations read.
    The last cut may be the output of the function.
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
    """Returns the operands of `op` and of the operations in its regions."""
    return {value for each in op.walk() for value in each.operands}


def blocks(function: FuncOp, most: int, layers: Callable[[Sequence[Operation]], int]) -> Iterator[Section]:
    """Yields disjoint sections of at least two and at most `most` layers, in order.

    `layers` counts the layers among the given operations. A section with several layers, such as a residual block,
    forms a separate block; consecutive sections of one layer each (a chain) are joined into one block. A section
    without a layer, such as an activation, is appended to the block before it.
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
