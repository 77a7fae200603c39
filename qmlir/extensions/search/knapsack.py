"""The multiple-choice knapsack problem, solved exactly: one option per item within a budget, with the least loss.

The input is a list of options per item, each with integer costs and a loss. The output is the Pareto front: all choices
within the budget such that no other choice with at most the same costs has a smaller or equal loss.

The solver uses dynamic programming over the items (Nemhauser and Ullmann, 1969): among the choices for the first items,
it keeps only those that no other choice dominates. This is exact, because later items add the same amounts to both
choices, and rounded addition is monotonic: `a <= b` implies `fl(a + c) <= fl(b + c)`. Choices that leave less budget
than the cheapest options of the remaining items need are dropped.

Two items may have a joint loss, so that the loss of a later item depends on the options of earlier ones. A choice then
dominates only choices with the same options for these earlier items. The number of combinations to distinguish is small
if the items of each pair are close to each other.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from qmlir.arithmetic.schemes import F64, I64

_NO_LIMIT = 1 << 62


@dataclass(frozen=True)
class Option:
    """An option of an item: one cost per kind of cost, and a loss."""

    costs: tuple[int, ...]
    loss: float


@dataclass(frozen=True)
class Selection:
    """One option per item: their indices, and the sums of their costs and losses."""

    picks: tuple[int, ...]
    costs: tuple[int, ...]
    loss: float


def least(items: Sequence[Sequence[Option]], kinds: int) -> tuple[int, ...]:
    """Returns the minimum total cost of each kind; different kinds may attain their minima with different choices."""
    return tuple(sum(min(option.costs[kind] for option in options) for options in items) for kind in range(kinds))


def front(
    items: Sequence[Sequence[Option]], budget: Sequence[int | None], pairs: Mapping[tuple[int, int], F64] | None = None
) -> list[Selection]:
    """Returns the choices that no other choice dominates, cheapest first; empty if the budget is too small.

    `budget` holds the limit on each kind of cost, or `None` for a cost that is only traded off against the loss.
    `pairs` holds joint losses of two items: it maps the indices of an earlier and a later item to an array with a row
    for each option of the earlier one and a column for each of the later one. Among equally good choices, the
    lexicographically first is kept.
    """
    pairs = pairs or {}
    kinds = len(budget)
    most = np.asarray([_NO_LIMIT if each is None else each for each in budget], np.int64)
    if (most < 0).any() and not items:
        return []
    costs, losses = np.zeros((1, kinds), np.int64), np.zeros(1)
    rest = np.asarray(least(items, kinds), np.int64)
    open_picks: dict[int, npt.NDArray[np.intp]] = {}
    back: list[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]] = []
    for position, options in enumerate(items):
        rest = rest - np.asarray(least([options], kinds), np.int64)
        added = np.zeros((len(losses), len(options))) + np.asarray([option.loss for option in options])
        for earlier, picked in open_picks.items():
            if (earlier, position) in pairs:
                added = added + pairs[earlier, position][picked]
        costs = (costs[:, None] + np.asarray([option.costs for option in options], np.int64)).reshape(-1, kinds)
        losses = (losses[:, None] + added).reshape(-1)
        still = {earlier for earlier, later in pairs if earlier <= position < later}
        grown = {earlier: np.repeat(picked, len(options)) for earlier, picked in open_picks.items()}
        grown[position] = np.tile(np.arange(len(options)), len(added))
        open_picks = {earlier: picked for earlier, picked in grown.items() if earlier in still}
        fits = np.flatnonzero((costs <= most - rest).all(axis=1))
        kept = np.concatenate(
            [group[_undominated(costs[group], losses[group])] for group in _alike(fits, list(open_picks.values()))]
        )
        costs, losses = costs[kept], losses[kept]
        open_picks = {earlier: picked[kept] for earlier, picked in open_picks.items()}
        back.append((kept // len(options), kept % len(options)))
    found: npt.NDArray[np.intp] = np.zeros((len(losses), len(items)), np.intp)
    at = np.arange(len(losses))
    for position in reversed(range(len(items))):
        before, picked = back[position]
        found[:, position] = picked[at]
        at = before[at]
    rows = zip(found.tolist(), costs.tolist(), losses.tolist(), strict=True)
    return [Selection(tuple(picked), tuple(cost), loss) for picked, cost, loss in rows]


def _alike(positions: npt.NDArray[np.intp], picks: Sequence[npt.NDArray[np.intp]]) -> list[npt.NDArray[np.intp]]:
    """Partitions `positions` by the picks that later items depend on."""
    if not picks or not len(positions):
        return [positions]
    columns = np.stack([picked[positions] for picked in picks], axis=1)
    _, group = np.unique(columns, axis=0, return_inverse=True)
    return [positions[group.reshape(-1) == number] for number in range(int(group.max()) + 1)]


def _undominated(costs: I64, losses: F64) -> npt.NDArray[np.intp]:
    """Returns the indices of undominated entries, sorted by costs, then by losses; the first of equals."""
    order = np.lexsort((losses, *costs.T[::-1]))
    if costs.shape[1] == 1:
        sorted_losses = losses[order]
        lowest = np.minimum.accumulate(np.concatenate(([np.inf], sorted_losses)))[:-1]
        return order[sorted_losses < lowest]
    # Sweep by the first cost: earlier entries don't exceed it. The losses of the steps fall as the second cost rises.
    seconds: list[int] = []
    falls: list[float] = []
    kept: list[int] = []
    for position in order.tolist():
        second, loss = int(costs[position, 1]), float(losses[position])
        at = bisect_right(seconds, second)
        if at and falls[at - 1] <= loss:
            continue
        begin = at - 1 if at and seconds[at - 1] == second else at
        end = at
        while end < len(falls) and falls[end] >= loss:
            end += 1
        seconds[begin:end], falls[begin:end] = [second], [loss]
        kept.append(position)
    return np.asarray(kept, np.intp)
