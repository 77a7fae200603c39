"""What of many cases runs every time; `make sweep` runs the others."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import combinations, product
from typing import Any

import pytest

Combination = tuple[tuple[int, Any], ...]
"""Axes, each with its value."""


def covering(cases: Sequence[tuple[Any, ...]], strength: int) -> list[int]:
    """The places of few cases that have every combination of values of `strength` axes which the cases have.

    Next comes the case that brings most, among equals the one whose values came least, then the first one: the same
    cases in every run.
    """
    values = [tuple(enumerate(map(repr, case))) for case in cases]
    combined: list[frozenset[Combination]] = [frozenset(combinations(each, strength)) for each in values]
    missing = set[Combination]().union(*combined)
    came = Counter[tuple[int, Any]]()
    taken: list[int] = []
    while missing:
        brings = [len(each & missing) for each in combined]
        best = min(range(len(cases)), key=lambda at: (-brings[at], sum(came[value] for value in values[at]), at))
        missing -= combined[best]
        came.update(values[best])
        taken.append(best)
    return sorted(taken)


def sampled(*axes: Collection[Any], strength: int = 2) -> list[Any]:
    """Every case of a product as parameters of a test; the marker `sweep` has what is not in the covering.

    With a strength of 2, each value meets each value of every other axis in every run; with 1, each is in some case.
    """
    cases = list(product(*axes))
    kept = frozenset(covering(cases, strength))
    return [
        pytest.param(*case, marks=() if position in kept else pytest.mark.sweep) for position, case in enumerate(cases)
    ]


def of_families(families: Mapping[Callable[..., Any], int], part: int = 3) -> list[Any]:
    """Each family with the numbers of its random cases: the first in `part` of them run every time, the others are
    swept.
    """
    return [
        pytest.param(
            family,
            number,
            id=f"{family.__name__.strip('_')}-{number}",
            marks=() if number * part < count else pytest.mark.sweep,
        )
        for family, count in families.items()
        for number in range(count)
    ]


def seeds(ordinary: int, every: int) -> list[Any]:
    """The seeds below `every`; those from `ordinary` on are swept."""
    return [*range(ordinary), *(pytest.param(seed, marks=pytest.mark.sweep) for seed in range(ordinary, every))]
