"""Quotients that are rounded to integers: both ways on floats around every bound, and divisors that are refused."""

import numpy as np
import pytest

from qmlir.arithmetic.step_functions import MOST_INTEGERS, reciprocal_parts, rounds_alike
from qmlir.interpreter.upstream.math import fused_multiply_add

DIVISORS = np.random.default_rng(5).uniform(-10, 4, 24)


@pytest.mark.parametrize("divisor", [*np.exp(DIVISORS).astype(np.float32), np.float32(0.25), np.float32(3)])
def test_both_ways_round_to_the_same_integers(divisor: np.float32):
    low, high = -131, 124
    assert rounds_alike(divisor, low, high)
    first, second = reciprocal_parts(divisor)
    middles = ((np.arange(low - 2, high + 2) + 0.5) * float(divisor)).astype(np.float32)
    near = (middles.view(np.int32)[:, None] + np.arange(-64, 65, dtype=np.int32)).view(np.float32).reshape(-1)
    anywhere = np.random.default_rng(1).standard_normal(4000).astype(np.float32) * np.float32(300) * divisor
    values = np.concatenate([near, anywhere, np.array([0, -0.0, 3e38, -3e38, np.inf, -np.inf], np.float32)])
    with np.errstate(over="ignore", invalid="ignore"):
        expected = np.clip(np.rint(values / divisor), low, high)
        exact = values * first if not second else fused_multiply_add(values, first, values * second)
        found = np.clip(np.rint(exact), low, high)
    np.testing.assert_array_equal(found, expected)


def test_parts_are_positive_and_the_second_is_small():
    for divisor in np.exp(DIVISORS).astype(np.float32):
        first, second = reciprocal_parts(divisor)
        assert first > 0
        assert 0 <= second <= np.spacing(first)


@pytest.mark.parametrize(
    ("divisor", "low", "high"),
    [(0.0, -1, 1), (-0.5, -1, 1), (np.inf, -1, 1), (np.nan, -1, 1), (1e-40, -1, 1), (1e38, -128, 127),
     (0.3, 0, MOST_INTEGERS + 1), (0.3, 2, 1)],
)  # fmt: skip
def test_what_is_not_proven(divisor: float, low: int, high: int):
    assert not rounds_alike(np.float32(divisor), low, high)
