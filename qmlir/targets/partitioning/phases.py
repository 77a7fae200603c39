"""Finds low-cost plans: an initial plan, then exact improvement steps until no step finds a better one.

A plan assigns each operation to a phase. Phases run in order and take turns among the places, that is, the host and the
devices: phase p runs at place p modulo the number of places.

The steps are expansions (Boykov, Veksler, Zabih: Fast approximate energy minimization via graph cuts, 2001): for a
given phase, a minimum cut finds the best set of operations to move into it, of any size. No plan that results from
moving a set of operations into one phase is therefore better than the returned one. It need not be optimal, because
such multiway cut problems are NP-hard; tests compare it with all plans of small graphs. With n operations and values
in k phases, a round takes k cuts of at most O(n) variables. There are few rounds, since each lowers the cost.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import cycle

from qmlir.arithmetic.combinatorial import BinaryChoices, Variable
from qmlir.targets.partitioning.problem import HOST, Problem, Value

Plan = tuple[int, ...]

Drift = Callable[[int], int]
"""Returns a tiny extra cost for each phase, which breaks ties between plans of equal cost."""

REACH = 6
"""The maximum distance that an operation moves in large problems, in rounds over all places.

A problem is large if its number of operations times its number of phases exceeds `LARGE`.
"""

LARGE = 20_000


def preferred(problem: Problem) -> list[int]:
    """Returns, for each operation, the place with the lowest cost."""
    return [min(node.costs, key=lambda position: (node.costs[position], position)) for node in problem.nodes]


def earliest(problem: Problem, positions: Sequence[int]) -> Plan:
    """Returns the plan in which each operation runs in the earliest possible phase of its place in `positions`.

    This plan has the fewest phases.
    """
    plan: list[int] = []
    for position, before in zip(positions, problem.before, strict=True):
        soonest = max((plan[each] for each in before), default=0)
        plan.append(soonest + (position - soonest) % problem.positions)
    return tuple(plan)


def latest(problem: Problem, positions: Sequence[int], last: int) -> Plan:
    """Returns the plan in which each operation runs in the latest possible phase of its place, up to phase `last`."""
    plan = [0] * len(positions)
    for each in reversed(range(len(positions))):
        bound = min((plan[later] for later in problem.behind[each]), default=last)
        plan[each] = bound - (bound - positions[each]) % problem.positions
    return tuple(plan)


class _Expansion:
    """The choice, for each operation, to stay in its phase (0) or to move into `phase` (1), as a minimum cut."""

    def __init__(self, problem: Problem, plan: Plan, phase: int, reach: int, factor: int, drift: Drift):
        self.problem, self.plan, self.phase = problem, plan, phase
        self.factor, self.drift = factor, drift
        self.is_device = problem.position(phase) != HOST
        self.variables = {node: number for number, node in enumerate(self._movable(reach))}
        self.choices = BinaryChoices(len(self.variables))

    def _movable(self, reach: int) -> Iterator[int]:
        """Returns the operations that can move to the phase together with all operations that must then also move."""
        problem, plan, target = self.problem, self.plan, self.phase
        position = problem.position(target)
        able = {
            each: None
            for each, now in enumerate(plan)
            if now != target and abs(now - target) <= reach and position in problem.nodes[each].costs
        }
        for each in list(able):
            if plan[each] > target and any(plan[one] > target and one not in able for one in problem.before[each]):
                del able[each]
        for each in reversed(list(able)):
            if plan[each] < target and any(plan[one] < target and one not in able for one in problem.behind[each]):
                del able[each]
        return iter(able)

    def variable(self, node: int | None) -> Variable:
        return None if node is None else self.variables.get(node)

    def best(self) -> Plan:
        """Returns the plan with the lowest cost among these choices."""
        if not self.variables:
            return self.plan
        self._add_nodes()
        self._add_order()
        near = dict.fromkeys(number for node in self.variables for number in self.problem.around[node])
        for value in (self.problem.values[number] for number in near):
            self._add_value(value)
        _, chosen = self.choices.best()
        moved = {node for node, number in self.variables.items() if chosen[number]}
        return tuple(self.phase if each in moved else now for each, now in enumerate(self.plan))

    def _add_nodes(self) -> None:
        position = self.problem.position
        for node, number in self.variables.items():
            costs = self.problem.nodes[node].costs
            now = self.plan[node]
            self.choices.pay(self.factor * costs[position(self.phase)] + self.drift(self.phase), one=number)
            self.choices.pay(self.factor * costs[position(now)] + self.drift(now), zero=number)

    def _add_order(self) -> None:
        for node, number in self.variables.items():
            for later in self.problem.behind[node]:
                if self.plan[later] < self.phase:
                    self.choices.forbid(number, self.variable(later))
            for earlier in self.problem.before[node]:
                if self.plan[earlier] > self.phase:
                    self.choices.forbid(number, self.variable(earlier))

    def _add_value(self, value: Value) -> None:
        self._add_arguments(value)
        if value.source is not None:
            self._add_result(value, value.source)

    def _add_arguments(self, value: Value) -> None:
        """Adds the cost of passing `value` to the parts that use it."""
        source, plan, choices, cost = value.source, self.plan, self.choices, self.factor * value.cost
        made = None if source is None else plan[source]
        by_phase: dict[int, list[int]] = {}
        for user in value.users:
            by_phase.setdefault(plan[user], []).append(user)
        for phase, users in by_phase.items():
            if phase == self.phase or self.problem.position(phase) == HOST:
                continue
            staying = map(self.variable, users)
            if phase != made:
                choices.pay_if_any_is_zero(staying, cost)
            elif (moved := self.variable(source)) is not None:
                choices.pay_if_any_is_zero(staying, cost, one=moved)
        if self.is_device and made != self.phase:
            if self.phase in by_phase:
                choices.pay(cost, zero=self.variable(source))
            else:
                choices.pay_if_any_is_one(map(self.variable, value.users), cost, zero=self.variable(source))

    def _add_result(self, value: Value, source: int) -> None:
        """Adds the cost of returning `value` from the part that computes it, operation `source`."""
        made, choices, number = self.plan[source], self.choices, self.variable(source)
        cost = self.factor * value.cost
        elsewhere = [user for user in value.users if self.plan[user] != self.phase]
        if self.is_device and made == self.phase:
            if not value.is_output:
                choices.pay_if_any_is_zero(map(self.variable, elsewhere), cost)
            return
        if self.is_device and number is not None:
            if value.is_output:
                choices.pay(cost, one=number)
            else:
                choices.pay_if_any_is_zero(map(self.variable, elsewhere), cost, one=number)
        if self.problem.position(made) != HOST and made != self.phase:
            if value.is_output or any(self.plan[user] != made for user in value.users):
                choices.pay(cost, zero=number)
            else:
                choices.pay_if_any_is_one(map(self.variable, value.users), cost, zero=number)


def expanded(problem: Problem, plan: Plan, phase: int) -> Plan:
    """Returns the best plan in which each operation either stays in its phase of `plan` or moves to `phase`."""
    return _Expansion(problem, plan, phase, max(*plan, phase), 1, lambda _: 0).best()


class LocalSearch:
    """Expands one phase at a time, in a cycle over all phases, until no expansion lowers the cost.

    Among plans of equal cost, those with operations in late phases are preferred if `late` is set, otherwise those with
    operations in early phases. So an operation that costs the same everywhere doesn't keep others from moving.
    """

    def __init__(self, problem: Problem, phases: int, *, late: bool):
        self._problem, self._late = problem, late
        self._order = range(phases - 1, -1, -1) if late else range(phases)
        self._reach = phases if len(problem.nodes) * phases <= LARGE else REACH * problem.positions
        self._factor = len(problem.nodes) * phases + 1
        self._last = phases - 1

    def _drift(self, phase: int) -> int:
        return self._last - phase if self._late else phase

    def _cost(self, plan: Plan) -> int:
        return self._factor * self._problem.cost(plan) + sum(map(self._drift, plan))

    def run(self, plan: Plan) -> Plan:
        """Returns `plan`, or a plan with a lower cost."""
        cost, unchanged = self._cost(plan), 0
        for phase in cycle(self._order):
            found = _Expansion(self._problem, plan, phase, self._reach, self._factor, self._drift).best()
            lower = cost if found == plan else self._cost(found)
            if lower < cost:
                plan, cost, unchanged = found, lower, 0
            else:
                unchanged += 1
            if unchanged == len(self._order):
                break
        return plan


def _starts(problem: Problem) -> Iterator[Plan]:
    positions = preferred(problem)
    first = earliest(problem, positions)
    yield first
    yield latest(problem, positions, max(first, default=0))
    if all(HOST in node.costs for node in problem.nodes):
        yield (HOST,) * len(problem.nodes)


def _alternate(problem: Problem, first: LocalSearch, second: LocalSearch, plan: Plan) -> Plan:
    """Runs both descents in turn, starting from `plan`, until they no longer lower the cost; returns the best plan."""
    while True:
        found = second.run(first.run(plan))
        if problem.cost(found) >= problem.cost(plan):
            return min(found, plan, key=problem.cost)
        plan = found


def best_plan(problem: Problem) -> Plan:
    """Returns the best plan found from several initial plans; among plans of equal cost, one with the fewest parts.

    Each operation must have at least one place that can compute it.
    """
    if not problem.nodes:
        return ()
    found: list[tuple[int, int, int, Plan]] = []
    for start in _starts(problem):
        phases = max(start) + 1 + problem.positions
        directions = [LocalSearch(problem, phases, late=late) for late in (False, True)]
        for first, second in (directions, reversed(directions)):
            plan = _alternate(problem, first, second, start)
            parts = {phase for phase in plan if problem.position(phase) != HOST}
            found.append((problem.cost(plan), len(parts), len(found), plan))
    return min(found)[-1]
