"""What of a product of cases runs every time: each combination, by few of the cases; the rest is swept."""

from itertools import combinations, product
from typing import Any

import pytest

from tests.support.sampled import covering, of_families, sampled, seeds

AXES = (["a", "b", "c", "d"], [1, 3, 12], [False, True])


@pytest.mark.parametrize(("strength", "fewest", "most"), [(1, 4, 4), (2, 12, 14), (3, 24, 24)])
def test_every_combination_is_in_a_case(strength: int, fewest: int, most: int) -> None:
    cases = list(product(*AXES))
    kept = [cases[position] for position in covering(cases, strength)]
    for axes in combinations(range(len(AXES)), strength):
        wanted = set(product(*(AXES[axis] for axis in axes)))
        assert {tuple(case[axis] for axis in axes) for case in kept} == wanted
    assert fewest <= len(kept) <= most


def test_values_come_about_as_often() -> None:
    cases = list(product(range(6), [False, True]))
    assert sum(cases[position][1] for position in covering(cases, 1)) == 3


def marks(parameters: list[Any]) -> list[list[str]]:
    return [[mark.name for mark in each.marks] for each in parameters]


def test_the_others_are_swept() -> None:
    every = sampled(*AXES, strength=1)
    assert [each.values for each in every] == list(product(*AXES))
    assert sorted(marks(every)) == 4 * [[]] + 20 * [["sweep"]]


def test_seeds() -> None:
    found = seeds(2, 4)
    assert found[:2] == [0, 1]
    assert [each.values for each in found[2:]] == [(2,), (3,)]
    assert marks(found[2:]) == [["sweep"], ["sweep"]]


def test_families() -> None:
    found = of_families({covering: 4, sampled: 2}, part=2)
    assert [each.id for each in found] == [
        "covering-0",
        "covering-1",
        "covering-2",
        "covering-3",
        "sampled-0",
        "sampled-1",
    ]
    assert marks(found) == [[], [], ["sweep"], ["sweep"], [], ["sweep"]]
