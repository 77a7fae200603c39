"""The partitioning problem: operations with the targets that can compute them, values between them, and costs."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import ConstantLike, is_side_effect_free

from qmlir.ir.control_flow import captured

# The question, without IR: operations with the places that can compute them, values between them, and what all
# costs.
#
# A plan gives each operation a phase. Phases run one after the other and take turns between the places, the host
# first: with one device the host has the phases 0, 2, 4, …, the device has 1, 3, 5, …. What lies in one phase of a
# device is a part. No operation comes in an earlier phase than one whose value it uses, so that parts never wait for
# each other in a circle; every division into such parts is a plan, for parts that do not wait for each other have an
# order.
#
# A **crossing** is an argument or a result of a part: a value that moves between the memory of a device and that of
# the host. A part takes a value once, however often it uses it, and gives it once, for all users. What a device made
# stays there for the same part only: for another part it goes to the host and comes back.

HOST = 0
"""The place that can compute everything; its memory has the inputs and outputs of the function."""


@dataclass(frozen=True)
class CostNode:
    """An operation: for each place that can compute it what it costs there."""

    costs: Mapping[int, int]


@dataclass(frozen=True)
class Value:
    """A value: the operation that makes it, those that use it, and what a crossing of it costs."""

    source: int | None
    """`None` for an input of the function."""

    users: tuple[int, ...]
    is_output: bool
    cost: int


Edge = tuple[int, int]


@dataclass(frozen=True)
class Problem:
    """Operations in an order in which they can run, and the values between them."""

    nodes: Sequence[CostNode]
    values: Sequence[Value]
    places: int
    """How many there are, the host among them."""

    order: Sequence[Edge] = ()
    """Pairs of operations of which the second waits for the first for other reasons than a value."""

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """Each pair of operations of which the second waits for the first, once."""
        by_value = ((value.source, user) for value in self.values for user in value.users if value.source is not None)
        return tuple(dict.fromkeys([*by_value, *self.order]))

    @cached_property
    def before(self) -> Sequence[Sequence[int]]:
        """For each operation those that it waits for."""
        found: list[list[int]] = [[] for _ in self.nodes]
        for first, second in self.edges:
            found[second].append(first)
        return found

    @cached_property
    def behind(self) -> Sequence[Sequence[int]]:
        """For each operation those that wait for it."""
        found: list[list[int]] = [[] for _ in self.nodes]
        for first, second in self.edges:
            found[first].append(second)
        return found

    @cached_property
    def around(self) -> Sequence[Sequence[int]]:
        """For each operation the numbers of the values that it makes or uses."""
        found: list[list[int]] = [[] for _ in self.nodes]
        for number, value in enumerate(self.values):
            for node in (*value.users, *(() if value.source is None else (value.source,))):
                found[node].append(number)
        return found

    def place(self, phase: int) -> int:
        """The place whose turn it is in `phase`."""
        return phase % self.places

    def is_valid(self, plan: Sequence[int]) -> bool:
        """Whether each operation has a phase of a place that can compute it, not before one that it waits for."""
        is_able = all(self.place(phase) in node.costs for phase, node in zip(plan, self.nodes, strict=True))
        return is_able and all(plan[first] <= plan[second] for first, second in self.edges)

    def crossings(self, plan: Sequence[int]) -> Iterator[tuple[Value, int, bool]]:
        """Each crossing of `plan`: its value, the phase of the part, and whether it is a result of the part."""
        for value in self.values:
            made = None if value.source is None else plan[value.source]
            used = sorted({plan[user] for user in value.users} - {made})
            if made is not None and self.place(made) != HOST and (used or value.is_output):
                yield value, made, True
            for phase in used:
                if self.place(phase) != HOST:
                    yield value, phase, False

    def cost(self, plan: Sequence[int]) -> int:
        """What `plan` costs: its crossings, and each operation where it is."""
        crossings = sum(value.cost for value, _, _ in self.crossings(plan))
        return crossings + sum(node.costs[self.place(phase)] for phase, node in zip(plan, self.nodes, strict=True))


# The body of a function as a problem: its operations without constants, its values.
#
# Constants lie where they are used, and never cross a border. What acts beside its results keeps its order.

Costs = Callable[[Operation], Mapping[int, int]]
"""For each place that can compute an operation what it costs there."""


def is_constant(value: SSAValue) -> bool:
    """Whether `value` is known, and so is copied to wherever it is used."""
    owner = value.owner
    return isinstance(owner, Operation) and owner.has_trait(ConstantLike, value_if_unregistered=False)


def computing(block: Block) -> tuple[Operation, ...]:
    """The operations of a block in order, neither constants nor its terminator."""
    body = (op for op in block.ops if op is not block.last_op)
    return tuple(op for op in body if not op.has_trait(ConstantLike, value_if_unregistered=False))


@dataclass(frozen=True)
class CostGraph:
    """The operations of a function in order, neither constants nor its terminator, and the problem that they are."""

    operations: tuple[Operation, ...]
    values: tuple[SSAValue, ...]
    """Those of `problem.values`."""

    problem: Problem


def _order(operations: Iterable[Operation]) -> Iterator[Edge]:
    """Each pair of neighbours among what acts beside its results."""
    acting = [number for number, op in enumerate(operations) if not is_side_effect_free(op)]
    return pairwise(acting)


def graph_of(function: FuncOp, places: int, costs: Costs, crossing: Callable[[SSAValue], int]) -> CostGraph:
    """The graph of a function of one block; `crossing` says what a crossing of a value costs."""
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
    return CostGraph(operations, tuple(users), Problem(nodes, values, places, tuple(_order(operations))))
