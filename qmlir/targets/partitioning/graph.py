"""The body of a function as a problem: its operations without constants, its values.

Constants lie where they are used, and never cross a border. What acts beside its results keeps its order.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import ConstantLike, is_side_effect_free

from qmlir.ir.control import captured
from qmlir.targets.partitioning.problem import CostNode, Edge, Problem, Value

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
