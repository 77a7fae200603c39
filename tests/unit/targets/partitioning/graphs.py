"""Small random problems of partition, and the best plan of each by trying all of them."""

from collections.abc import Iterator

from hypothesis import strategies as st

from qmlir.targets.partitioning.problem import HOST, CostNode, Problem, Value


@st.composite
def problems(draw: st.DrawFn, most: int = 5, positions: int = 2, *, must: bool = False) -> Problem:
    """Up to `most` operations; with `must` a device has what it can compute, otherwise it is worth so much."""
    nodes: list[CostNode] = []
    for _ in range(draw(st.integers(1, most))):
        devices = [position for position in range(1, positions) if draw(st.booleans())]
        worth = draw(st.integers(0, 8))
        if not devices:
            nodes.append(CostNode({HOST: 0}))
        elif must:
            nodes.append(CostNode({devices[0]: 0}))
        else:
            nodes.append(
                CostNode({HOST: 2 * worth, **{position: worth * rank for rank, position in enumerate(devices)}})
            )
    values: list[Value] = []
    for source in range(-2, len(nodes)):
        behind = range(max(source + 1, 0), len(nodes))
        users = tuple(each for each in behind if draw(st.booleans()))[:3]
        is_output = source >= 0 and (not users or draw(st.integers(0, 4)) == 0)
        values.append(Value(source if source >= 0 else None, users, is_output, draw(st.integers(1, 5))))
    return Problem(nodes, values, positions)


def all_plans(problem: Problem) -> Iterator[tuple[int, ...]]:
    """Every division into parts that do not wait for each other, and more that are the same in other phases.

    At most each operation is a part of its own: a turn of all places for each is enough.
    """
    phases = len(problem.nodes) * problem.positions
    plan: list[int] = []

    def extended() -> Iterator[tuple[int, ...]]:
        if len(plan) == len(problem.nodes):
            yield tuple(plan)
            return
        number = len(plan)
        soonest = max((plan[each] for each in problem.before[number]), default=0)
        for phase in range(soonest, phases):
            if problem.position(phase) in problem.nodes[number].costs:
                plan.append(phase)
                yield from extended()
                plan.pop()

    return extended()


def least_cost(problem: Problem) -> int:
    """The cost of the best plan."""
    return min(map(problem.cost, all_plans(problem)))
