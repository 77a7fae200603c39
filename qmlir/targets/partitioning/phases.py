"""Finds low-cost plans: an initial plan, then exact improvement steps until no step finds a better one.

The steps are expansions (Boykov, Veksler, Zabih: Fast approximate energy minimization via graph cuts, 2001): for a
phase, the best set of operations to move into it, of any size, is a minimum cut, found exactly. So no plan that results
from moving any set of operations into one phase is better than the returned one. It need not be optimal: such multiway
cut problems are NP-hard. Tests compare it with all plans of small graphs. With n operations and values in k phases, a
round takes k cuts of at most O(n) variables; there are few rounds, since each lowers the cost.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import cycle

from qmlir.arithmetic.combinatorial import BinaryChoices, Variable
from qmlir.targets.partitioning.problem import HOST, Problem, Value

Plan = tuple[int, ...]

Drift = Callable[[int], int]
"""What it costs more, by next to nothing, to be in a phase."""

REACH = 6
"""In problems of more than `LARGE` operations times phases an operation moves over so many turns of all places."""

LARGE = 20_000


def preferred(problem: Problem) -> list[int]:
    """For each operation the place where it costs least."""
    return [min(node.costs, key=lambda place: (node.costs[place], place)) for node in problem.nodes]


def earliest(problem: Problem, places: Sequence[int]) -> Plan:
    """The plan in which each operation, on its place, is in the first phase that it can be in: the fewest phases."""
    plan: list[int] = []
    for place, before in zip(places, problem.before, strict=True):
        soonest = max((plan[each] for each in before), default=0)
        plan.append(soonest + (place - soonest) % problem.places)
    return tuple(plan)


def latest(problem: Problem, places: Sequence[int], last: int) -> Plan:
    """The plan in which each operation, on its place, is in the last phase up to `last` that it can be in."""
    plan = [0] * len(places)
    for each in reversed(range(len(places))):
        bound = min((plan[later] for later in problem.behind[each]), default=last)
        plan[each] = bound - (bound - places[each]) % problem.places
    return tuple(plan)


class _Expansion:
    """The choice, for each operation, to stay in its phase (0) or to move into `phase` (1), as a minimum cut."""

    def __init__(self, problem: Problem, plan: Plan, phase: int, reach: int, factor: int, drift: Drift):
        self.problem, self.plan, self.phase = problem, plan, phase
        self.factor, self.drift = factor, drift
        self.is_device = problem.place(phase) != HOST
        self.variables = {node: number for number, node in enumerate(self._movable(reach))}
        self.choices = BinaryChoices(len(self.variables))

    def _movable(self, reach: int) -> Iterator[int]:
        """The operations that can move, as far as those can that must move with them."""
        problem, plan, target = self.problem, self.plan, self.phase
        place = problem.place(target)
        able = {
            each: None
            for each, now in enumerate(plan)
            if now != target and abs(now - target) <= reach and place in problem.nodes[each].costs
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
        """The plan after the best choice."""
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
        place = self.problem.place
        for node, number in self.variables.items():
            costs = self.problem.nodes[node].costs
            now = self.plan[node]
            self.choices.pay(self.factor * costs[place(self.phase)] + self.drift(self.phase), one=number)
            self.choices.pay(self.factor * costs[place(now)] + self.drift(now), zero=number)

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
        """What it costs that parts take the value."""
        source, plan, choices, cost = value.source, self.plan, self.choices, self.factor * value.cost
        made = None if source is None else plan[source]
        by_phase: dict[int, list[int]] = {}
        for user in value.users:
            by_phase.setdefault(plan[user], []).append(user)
        for phase, users in by_phase.items():
            if phase == self.phase or self.problem.place(phase) == HOST:
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
        """What it costs that the part that makes the value gives it to others."""
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
        if self.problem.place(made) != HOST and made != self.phase:
            if value.is_output or any(self.plan[user] != made for user in value.users):
                choices.pay(cost, zero=number)
            else:
                choices.pay_if_any_is_one(map(self.variable, value.users), cost, zero=number)


def expanded(problem: Problem, plan: Plan, phase: int) -> Plan:
    """The best plan in which each operation is where it is in `plan`, or in `phase`."""
    return _Expansion(problem, plan, phase, max(*plan, phase), 1, lambda _: 0).best()


class Descent:
    """Expansions of one phase after the other, upwards and over again, until none lowers the cost.

    Of plans of one cost those with operations in late phases are liked, or in early ones: what holds others back, but
    costs nothing wherever it is, gives way.
    """

    def __init__(self, problem: Problem, phases: int, *, late: bool):
        self._problem, self._late = problem, late
        self._order = range(phases - 1, -1, -1) if late else range(phases)
        self._reach = phases if len(problem.nodes) * phases <= LARGE else REACH * problem.places
        self._factor = len(problem.nodes) * phases + 1
        self._last = phases - 1

    def _drift(self, phase: int) -> int:
        return self._last - phase if self._late else phase

    def _cost(self, plan: Plan) -> int:
        return self._factor * self._problem.cost(plan) + sum(map(self._drift, plan))

    def run(self, plan: Plan) -> Plan:
        """`plan`, or one of less cost."""
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
    places = preferred(problem)
    first = earliest(problem, places)
    yield first
    yield latest(problem, places, max(first, default=0))
    if all(HOST in node.costs for node in problem.nodes):
        yield (HOST,) * len(problem.nodes)


def _alternate(problem: Problem, first: Descent, second: Descent, plan: Plan) -> Plan:
    """`plan` after descents in one direction and the other, until both together find nothing."""
    while True:
        found = second.run(first.run(plan))
        if problem.cost(found) >= problem.cost(plan):
            return min(found, plan, key=problem.cost)
        plan = found


def best_plan(problem: Problem) -> Plan:
    """The best plan that is found from several first ones. Operations that can be nowhere are a mistake of the caller.

    Of plans of one cost the one that needs fewer parts is taken.
    """
    if not problem.nodes:
        return ()
    found: list[tuple[int, int, int, Plan]] = []
    for start in _starts(problem):
        phases = max(start) + 1 + problem.places
        directions = [Descent(problem, phases, late=late) for late in (False, True)]
        for first, second in (directions, reversed(directions)):
            plan = _alternate(problem, first, second, start)
            parts = {phase for phase in plan if problem.place(phase) != HOST}
            found.append((problem.cost(plan), len(parts), len(found), plan))
    return min(found)[-1]
