"""The partitioning problem: operations with the targets that can compute them, values between them, and costs."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import ConstantLike, is_side_effect_free

from qmlir.analysis.operand_accesses import is_constant
from qmlir.ir.control_flow import captured

# The problem without IR: operations with the places that can compute them, values between them, and costs.
#
# A plan assigns a phase to each operation. Phases run one after the other and alternate between the places, the host
# first: with one device, the host has phases 0, 2, 4, … and the device has 1, 3, 5, …. The operations in one phase of a
# device form a part. No operation is in an earlier phase than one whose value it uses, so parts never depend on each
# other in a cycle. Every division into such parts is a plan, since acyclic parts can be ordered.
#
# A **crossing** is an argument or a result of a part: a value that moves between the memory of a device and of the
# host. A part receives a value once, regardless of the number of uses, and returns it once, for all users. A result of
# a device stays in its memory only within the same part: for another part, it goes to the host and back.

HOST = 0
"""The place of the host. Its memory contains the inputs and outputs of the function."""


@dataclass(frozen=True)
class CostNode:
    """An operation, with its cost at each place that can compute it."""

    costs: Mapping[int, int]


@dataclass(frozen=True)
class Value:
    """A value: the operation that produces it, its users, and the cost if it crosses the border of a part."""

    source: int | None
    """The index of the operation that produces the value; `None` for an input of the function."""

    users: tuple[int, ...]
    is_output: bool
    cost: int


Edge = tuple[int, int]


@dataclass(frozen=True)
class Problem:
    """Operations in a valid execution order, and the values between them."""

    nodes: Sequence[CostNode]
    values: Sequence[Value]
    positions: int
    """The number of places, including the host."""

    order: Sequence[Edge] = ()
    """Additional ordering constraints: pairs of operations whose order must be kept."""

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """All distinct dependencies: pairs of operations in which the second depends on the first."""
        by_value = ((value.source, user) for value in self.values for user in value.users if value.source is not None)
        return tuple(dict.fromkeys([*by_value, *self.order]))

    @cached_property
    def before(self) -> Sequence[Sequence[int]]:
        """The predecessors of each operation."""
        return self._by_node((second, first) for first, second in self.edges)

    @cached_property
    def behind(self) -> Sequence[Sequence[int]]:
        """The successors of each operation."""
        return self._by_node(self.edges)

    @cached_property
    def around(self) -> Sequence[Sequence[int]]:
        """The indices of the values that each operation produces or uses."""
        return self._by_node(
            (node, number)
            for number, value in enumerate(self.values)
            for node in (*value.users, *(() if value.source is None else (value.source,)))
        )

    def _by_node(self, pairs: Iterable[tuple[int, int]]) -> Sequence[Sequence[int]]:
        """Returns, for each operation, the second numbers of the pairs that it begins."""
        found: list[list[int]] = [[] for _ in self.nodes]
        for node, number in pairs:
            found[node].append(number)
        return found

    def position(self, phase: int) -> int:
        """Returns the place of `phase`."""
        return phase % self.positions

    def crossings(self, plan: Sequence[int]) -> Iterator[tuple[Value, int, bool]]:
        """Yields each crossing of `plan`: its value, the phase of the part, and True for a result of the part."""
        for value in self.values:
            made = None if value.source is None else plan[value.source]
            used = sorted({plan[user] for user in value.users} - {made})
            if made is not None and self.position(made) != HOST and (used or value.is_output):
                yield value, made, True
            for phase in used:
                if self.position(phase) != HOST:
                    yield value, phase, False

    def cost(self, plan: Sequence[int]) -> int:
        """Returns the cost of `plan`: the sum over its crossings, plus the cost of each operation at its place."""
        crossings = sum(value.cost for value, _, _ in self.crossings(plan))
        return crossings + sum(node.costs[self.position(phase)] for phase, node in zip(plan, self.nodes, strict=True))


# Building the problem from a function. Constants are copied to their uses and never cross. Operations with side effects
# keep their order.

Costs = Callable[[Operation], Mapping[int, int]]
"""Returns the cost of an operation at each place that can compute it."""


def computing(block: Block) -> tuple[Operation, ...]:
    """Returns the operations of a block in order, without constants and the terminator."""
    body = (op for op in block.ops if op is not block.last_op)
    return tuple(op for op in body if not op.has_trait(ConstantLike, value_if_unregistered=False))


@dataclass(frozen=True)
class CostGraph:
    """A partitioning problem, and the operations of the function in order, without constants and the terminator."""

    operations: tuple[Operation, ...]
    values: tuple[SSAValue, ...]
    """The SSA values of `problem.values`."""

    problem: Problem


def _order(operations: Iterable[Operation]) -> Iterator[Edge]:
    """Returns each pair of consecutive operations with side effects."""
    acting = [number for number, op in enumerate(operations) if not is_side_effect_free(op)]
    return pairwise(acting)


def graph_of(function: FuncOp, positions: int, costs: Costs, crossing: Callable[[SSAValue], int]) -> CostGraph:
    """Builds the graph of a single-block function; `crossing` returns the cost of moving a value."""
    block: Block = function.body.block
    operations = computing(block)
    users: dict[SSAValue, list[int]] = {argument: [] for argument in block.args}
    sources: dict[SSAValue, int] = {}
    for number, op in enumerate(operations):
        for value in captured(op):
            if not is_constant(value):
                users[value].append(number)
        for result in op.results:
            users[result], sources[result] = [], number
    outputs = set(block.last_op.operands if block.last_op is not None else ())
    values = tuple(
        Value(sources.get(value), tuple(using), value in outputs, crossing(value)) for value, using in users.items()
    )
    nodes = tuple(CostNode(costs(op)) for op in operations)
    return CostGraph(operations, tuple(users), Problem(nodes, values, positions, tuple(_order(operations))))
