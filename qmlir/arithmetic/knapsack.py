"""One option of each item under a budget, with the least loss: the multiple-choice knapsack problem, exactly.

Options come in, one list for each item, each with what it costs in whole numbers and what it loses; the front goes out:
every sum of costs within the budget for which no other that costs no more in anything loses as little.

By dynamic programming over the items (Nemhauser and Ullmann, 1969): of the choices for the first items only those are
kept that no other dominates. That is exact, as what comes after adds the same to both, and rounded addition is
monotonic: `a <= b` implies `fl(a + c) <= fl(b + c)`. A choice that leaves less of the budget than the cheapest options
of the other items need is dropped, too.

Two items may lose something together. What comes after then depends on the options of earlier items, and a choice
dominates only those that have the same ones of these: pairs of items that are near each other keep these few.
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
    """One way to do something: what it costs, in one or two kinds, and what it loses."""

    costs: tuple[int, ...]
    loss: float


@dataclass(frozen=True)
class Selection:
    """One option of each item: their places, and the sums of their costs and losses."""

    picks: tuple[int, ...]
    costs: tuple[int, ...]
    loss: float


def least(items: Sequence[Sequence[Option]], kinds: int) -> tuple[int, ...]:
    """The least cost of each of so many kinds; each may be that of another choice."""
    return tuple(sum(min(option.costs[kind] for option in options) for options in items) for kind in range(kinds))


def front(
    items: Sequence[Sequence[Option]], budget: Sequence[int | None], pairs: Mapping[tuple[int, int], F64] | None = None
) -> list[Selection]:
    """The choices that no other dominates, those that cost least first; none where the budget is too small.

    `budget` has the most for each kind of cost, `None` for one that is only weighed against the loss. `pairs` has what
    two items lose together besides: for the places of an earlier and a later item an array of a row for each option of
    the earlier one and a column for each of the later one. Of choices that are alike the one is kept whose picks come
    first in their items.
    """
    pairs = pairs or {}
    kinds = len(budget)
    most = np.asarray([_NO_LIMIT if each is None else each for each in budget], np.int64)
    if (most < 0).any() and not items:
        return []
    needed = [np.min([option.costs for option in options], axis=0) for options in items]
    costs, losses = np.zeros((1, kinds), np.int64), np.zeros(1)
    open_picks: dict[int, npt.NDArray[np.intp]] = {}
    back: list[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]] = []
    for place, options in enumerate(items):
        rest = np.sum(needed[place + 1 :], axis=0, dtype=np.int64) if needed[place + 1 :] else np.zeros(kinds, np.int64)
        added = np.zeros((len(losses), len(options))) + np.asarray([option.loss for option in options])
        for earlier, picked in open_picks.items():
            if (earlier, place) in pairs:
                added = added + pairs[earlier, place][picked]
        costs = (costs[:, None] + np.asarray([option.costs for option in options], np.int64)).reshape(-1, kinds)
        losses = (losses[:, None] + added).reshape(-1)
        picks = np.tile(np.arange(len(options)), len(added))
        still = {earlier for earlier, later in pairs if earlier <= place < later}
        grown = {earlier: np.repeat(picked, len(options)) for earlier, picked in (open_picks.items())} | {place: picks}
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
    for place in reversed(range(len(items))):
        before, picked = back[place]
        found[:, place] = picked[at]
        at = before[at]
    rows = zip(found.tolist(), costs.tolist(), losses.tolist(), strict=True)
    return [Selection(tuple(picked), tuple(cost), loss) for picked, cost, loss in rows]


def _alike(places: npt.NDArray[np.intp], picks: Sequence[npt.NDArray[np.intp]]) -> list[npt.NDArray[np.intp]]:
    """`places` in groups that have the same picks of what the items to come look back at."""
    if not picks or not len(places):
        return [places]
    columns = np.stack([picked[places] for picked in picks], axis=1)
    _, group = np.unique(columns, axis=0, return_inverse=True)
    return [places[group.reshape(-1) == number] for number in range(int(group.max()) + 1)]


def _undominated(costs: I64, losses: F64) -> npt.NDArray[np.intp]:
    """The places of what nothing dominates, sorted by costs, then by losses; of equals the first."""
    order = np.lexsort((losses, *costs.T[::-1]))
    if costs.shape[1] == 1:
        sorted_losses = losses[order]
        lowest = np.minimum.accumulate(np.concatenate(([np.inf], sorted_losses)))[:-1]
        return order[sorted_losses < lowest]
    # By the first cost: what came before costs no more of it. The steps go down in the loss as the second cost goes up.
    seconds: list[int] = []
    falls: list[float] = []
    kept: list[int] = []
    for place in order.tolist():
        second, loss = int(costs[place, 1]), float(losses[place])
        at = bisect_right(seconds, second)
        if at and falls[at - 1] <= loss:
            continue
        begin = at - 1 if at and seconds[at - 1] == second else at
        end = at
        while end < len(falls) and falls[end] >= loss:
            end += 1
        seconds[begin:end], falls[begin:end] = [second], [loss]
        kept.append(place)
    return np.asarray(kept, np.intp)
