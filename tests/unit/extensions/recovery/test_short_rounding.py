"""Codes whose sums fit 16 bits: all codes there are as the referee, and codes that stay so in every search."""

from itertools import product

import numpy as np
import pytest

from qmlir.arithmetic.arrays import Array
from qmlir.extensions.recovery.weight_rounding import CodeGrid, ShortGrid, error, settled


def _grid(weights: Array, most: int, sums: Array, reach: int) -> ShortGrid:
    steps = np.ones_like(weights)
    return ShortGrid(steps, np.full_like(weights, -most), np.full_like(weights, most), sums, reach)


def _sums(codes: Array, sums: Array) -> tuple[Array, Array]:
    """Those of the negative and of the positive codes, by a loop."""
    signs = (np.minimum(codes, 0), np.maximum(codes, 0))
    low, high = (np.stack([part[:, sums == each].sum(1) for each in np.unique(sums)], 1) for part in signs)
    return low, high


@pytest.mark.parametrize(("terms", "reach"), [(2, 9), (3, 7), (4, 4)])
def test_the_nearest_codes_are_the_best_of_all(terms: int, reach: int) -> None:
    weights = np.random.default_rng(terms).normal(size=(60, terms)) * reach * 0.8
    grid = _grid(weights, reach, np.zeros(terms, int), reach)
    every = np.array(list(product(range(-reach, reach + 1), repeat=terms)))
    low, high = np.minimum(every, 0).sum(1), np.maximum(every, 0).sum(1)
    every = every[(low >= -reach) & (high <= reach)]
    best = ((every[None] - weights[:, None]) ** 2).sum(2).min(1)
    found = grid.nearest(weights)
    assert grid.accepts(found)
    np.testing.assert_allclose(((found - weights) ** 2).sum(1), best)


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_searches_keep_every_sum_and_are_better_than_the_nearest_codes(steps: int) -> None:
    rng = np.random.default_rng(steps)
    terms, position = 36, np.arange(36)
    sums = rng.permutation(position // (4 * steps) * 2 + position % 4 // 2)  # in any order, as channels-first terms are
    weights = rng.normal(size=(7, terms)) * 70
    data = np.maximum(rng.normal(size=(200, terms)) @ rng.normal(size=(terms, terms)), 0)
    grid, moments = _grid(weights, 127, sums, 128), data.T @ data / 200
    codes, after, before = settled(weights, grid, moments)
    low, high = _sums(codes, sums)
    assert grid.accepts(codes)
    assert low.min() >= -128
    assert high.max() <= 128
    assert not grid.accepts(CodeGrid(grid.steps, grid.low, grid.high).nearest(weights))
    assert after == pytest.approx(error(weights, codes, grid, moments))
    assert after < before


def test_what_is_not_accepted() -> None:
    grid = _grid(np.zeros((1, 4)), 128, np.array([0, 0, 1, 1]), 128)
    assert grid.accepts(np.array([[127, 1, -128, 0]]))
    assert grid.accepts(np.array([[127, -128, -1, 127]]))
    assert not grid.accepts(np.array([[127, 2, 0, 0]]))
    assert not grid.accepts(np.array([[0, 0, -128, -1]]))
