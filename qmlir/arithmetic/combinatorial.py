"""Exact minimization over binary choices, as a minimum cut that a maximum flow determines (Dinic's algorithm)."""

from collections import deque
from collections.abc import Iterable

# Minimum-cost binary choices, solved exactly by a minimum cut through maximum flow (Dinic's algorithm).
#
# Costs are integers of any size. With V variables and E terms the worst-case time is O(V^2 E); the graphs of models
# are sparse and shallow, and take about E.

Variable = int | None
"""The index of a variable; `None` stands for one that is always 0."""

_ONE, _ZERO = 0, 1
"""The source and sink nodes: a variable on the source side of the cut is 1."""


class BinaryChoices:
    """A minimization problem over binary variables, whose cost is a sum of terms."""

    def __init__(self, variables: int):
        self._first = _ZERO + 1
        self._count = variables
        self._edges: list[list[int]] = [[] for _ in range(self._first + variables)]
        self._heads: list[int] = []
        self._room: list[int] = []
        self._never: list[tuple[int, int]] = []
        self._total = 0
        self.constant = 0
        """The constant part of the cost."""

    def _node(self) -> int:
        self._edges.append([])
        return len(self._edges) - 1

    def _edge(self, one: int, zero: int, cost: int) -> None:
        """Adds `cost` for the case that node `one` is 1 and node `zero` is 0."""
        for tail, head, room in ((one, zero, cost), (zero, one, 0)):
            self._edges[tail].append(len(self._heads))
            self._heads.append(head)
            self._room.append(room)

    def pay(self, cost: int, *, one: Variable = None, zero: Variable = None) -> None:
        """Adds `cost` if variable `one` is 1 and variable `zero` is 0; omitted conditions always hold."""
        if one is None and zero is None:
            self.constant += cost
            return
        self._total += cost
        tail = _ONE if one is None else self._first + one
        self._edge(tail, _ZERO if zero is None else self._first + zero, cost)

    def forbid(self, one: int, zero: Variable) -> None:
        """Forbids assignments in which variable `one` is 1 and variable `zero` is 0."""
        self._never.append((self._first + one, _ZERO if zero is None else self._first + zero))

    def pay_if_any_is_one(self, variables: Iterable[Variable], cost: int, *, zero: Variable = None) -> None:
        """Adds `cost` once if any of `variables` is 1 and, if given, `zero` is 0."""
        found = [each for each in variables if each is not None]
        if not found:
            return
        any_is_one = self._node()
        self._never += [(self._first + each, any_is_one) for each in found]
        self._total += cost
        self._edge(any_is_one, _ZERO if zero is None else self._first + zero, cost)

    def pay_if_any_is_zero(self, variables: Iterable[Variable], cost: int, *, one: Variable = None) -> None:
        """Adds `cost` once if any of `variables` is 0 and, if given, `one` is 1."""
        found = list(variables)
        if not found:
            return
        if None in found:
            self.pay(cost, one=one)
            return
        all_are_one = self._node()
        self._never += [(all_are_one, self._first + each) for each in found if each is not None]
        self._total += cost
        self._edge(_ONE if one is None else self._first + one, all_are_one, cost)

    def best(self) -> tuple[int, list[bool]]:
        """Returns the minimum cost and an optimal assignment; of several optimal ones, one with few ones."""
        for one, zero in self._never:
            self._edge(one, zero, self._total + 1)
        self._never.clear()
        paid = 0
        while (levels := self._levels())[_ZERO] >= 0:
            progress = [0] * len(self._edges)
            while flow := self._augment(levels, progress):
                paid += flow
        return self.constant + paid, [level >= 0 for level in levels[self._first : self._first + self._count]]

    def _levels(self) -> list[int]:
        """Returns the distance of each node from the source along edges with residual capacity; -1 if unreachable."""
        levels = [-1] * len(self._edges)
        levels[_ONE] = 0
        pending = deque([_ONE])
        while pending:
            node = pending.popleft()
            for edge in self._edges[node]:
                head = self._heads[edge]
                if self._room[edge] and levels[head] < 0:
                    levels[head] = levels[node] + 1
                    pending.append(head)
        return levels

    def _augment(self, levels: list[int], progress: list[int]) -> int:
        """Augments the flow along one shortest path; returns the amount, 0 if there is no path."""
        path: list[int] = []
        node = _ONE
        while node != _ZERO:
            edges = self._edges[node]
            while progress[node] < len(edges):
                edge = edges[progress[node]]
                head = self._heads[edge]
                if self._room[edge] and levels[head] == levels[node] + 1:
                    break
                progress[node] += 1
            else:  # a dead end: remove the edge that led here
                if not path:
                    return 0
                node = self._heads[path.pop() ^ 1]
                progress[node] += 1
                continue
            path.append(edge)
            node = head
        flow = min(self._room[edge] for edge in path)
        for edge in path:
            self._room[edge] -= flow
            self._room[edge ^ 1] += flow
        return flow
