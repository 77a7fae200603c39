"""The front of a knapsack against all choices of small random ones."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from qmlir.arithmetic.schemes import F64
from qmlir.extensions.search.knapsack import Option, Selection, front, least

Pairs = Mapping[tuple[int, int], F64]


def _loss(items: Sequence[Sequence[Option]], picks: Sequence[int], pairs: Pairs) -> float:
    """In the order in which items come: sums of floats depend on it."""
    loss = 0.0
    for position, options in enumerate(items):
        added = options[picks[position]].loss
        for earlier in range(position):
            if (earlier, position) in pairs:
                added += float(pairs[earlier, position][picks[earlier], picks[position]])
        loss += added
    return loss


def _all(items: Sequence[Sequence[Option]], budget: Sequence[int | None], pairs: Pairs) -> set[tuple[Any, float]]:
    """Costs and losses that are within the budget and that no others dominate."""
    found: set[tuple[tuple[int, ...], float]] = set()
    for picks in itertools.product(*(range(len(options)) for options in items)):
        picked = [options[pick].costs for options, pick in zip(items, picks, strict=True)]
        costs = tuple(map(sum, zip(*picked, strict=True)))
        if all(most is None or cost <= most for cost, most in zip(costs, budget, strict=True)):
            found.add((costs, _loss(items, picks, pairs)))
    return {
        (costs, loss)
        for costs, loss in found
        if not any(
            other != (costs, loss) and other[1] <= loss and all(a <= b for a, b in zip(other[0], costs, strict=True))
            for other in found
        )
    }


@pytest.mark.parametrize("kinds", [1, 2])
@pytest.mark.parametrize("is_coarse", [False, True])  # coarse numbers have many that are equal
@pytest.mark.parametrize("reach", [0, 1, 2, 4])
def test_brute_force(kinds: int, is_coarse: bool, reach: int) -> None:
    random = np.random.default_rng(kinds)
    for _ in range(40):
        largest, digits = (4, 0) if is_coarse else (1000, 9)
        items = [
            [
                Option(
                    tuple(random.integers(-largest, largest, kinds).tolist()),
                    float(random.integers(-3, 4)) if is_coarse else float(random.normal()),
                )
                for _ in range(random.integers(1, 4))
            ]
            for _ in range(random.integers(1, 6))
        ]
        budget = [None if random.random() < 0.2 else int(random.integers(-largest, 2 * largest)) for _ in range(kinds)]
        near = [(a, b) for b in range(len(items)) for a in range(max(0, b - reach), b) if random.random() < 0.8]
        pairs = {(a, b): np.round(random.normal(size=(len(items[a]), len(items[b]))), digits) for a, b in near}
        found = front(items, budget, pairs)
        assert {(each.costs, each.loss) for each in found} == _all(items, budget, pairs)
        assert [each.costs for each in found] == sorted({each.costs for each in found})
        for each in found:
            picked = [options[pick].costs for options, pick in zip(items, each.picks, strict=True)]
            assert each.costs == tuple(map(sum, zip(*picked, strict=True)))
            assert each.loss == _loss(items, each.picks, pairs)


def test_of_equals_the_first_is_taken() -> None:
    same = [Option((1,), 2.0), Option((1,), 2.0)]
    assert front([same, same], [None]) == [Selection((0, 0), (2,), 4.0)]


def test_a_budget_that_is_too_small() -> None:
    items = [[Option((3, 5), 1.0), Option((4, 2), 1.0)], [Option((1, 1), 0.0)]]
    assert least(items, 2) == (4, 3)
    assert front(items, [4, 5]) == []  # each for itself is enough


def test_no_items() -> None:
    assert front([], [0]) == [Selection((), (0,), 0.0)]
    assert front([], [-1]) == []
