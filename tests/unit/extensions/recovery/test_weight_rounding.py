"""Codes chosen by the error of products: GPTQ as its paper writes it, and all codes there are as the referees."""

from itertools import product

import numpy as np
import pytest

from qmlir.arithmetic.arrays import Array
from qmlir.extensions.recovery.weight_rounding import (
    DAMPING,
    CodeGrid,
    DampedFactors,
    compensated,
    descend,
    error,
    gptq,
    scale_shares,
)


def _problem(seed: int, channels: int, terms: int, bits: int, rows: int = 200) -> tuple[Array, CodeGrid, Array]:
    random = np.random.default_rng(seed)
    data = np.maximum(random.standard_normal((rows, terms)) @ random.standard_normal((terms, terms)), 0)
    weights = random.standard_normal((channels, terms))
    most = 2 ** (bits - 1) - 1
    steps = np.abs(weights).max(1, keepdims=True) / most * np.ones_like(weights)
    return weights, CodeGrid(steps, np.full_like(weights, -most), np.full_like(weights, most)), data.T @ data / rows


def _by_the_paper(weights: Array, grid: CodeGrid, moments: Array) -> Array:
    """Frantar et al., equations 2 and 3: the inverse loses the row and the column of each term that is rounded."""
    terms = len(moments)
    order = np.argsort(-np.diagonal(moments), kind="stable")
    inverse = np.linalg.inv(moments + DAMPING * np.diagonal(moments).mean() * np.eye(terms))
    left, codes = weights.copy(), np.zeros_like(weights)
    for at in order:
        codes[:, at] = np.clip(np.rint(left[:, at] / grid.steps[:, at]), grid.low[:, at], grid.high[:, at])
        scaled = (left[:, at] - codes[:, at] * grid.steps[:, at]) / inverse[at, at]
        left -= np.outer(scaled, inverse[at])
        inverse -= np.outer(inverse[:, at], inverse[at]) / inverse[at, at]
        inverse[at, at] = 1.0  # this term is done, its row and column are 0
    return codes


@pytest.mark.parametrize(("seed", "channels", "terms", "bits"), [(0, 3, 5, 4), (1, 8, 70, 4), (2, 5, 150, 3)])
def test_the_codes_are_those_of_the_paper(seed: int, channels: int, terms: int, bits: int) -> None:
    weights, grid, moments = _problem(seed, channels, terms, bits)
    assert np.array_equal(gptq(weights, grid, moments), _by_the_paper(weights, grid, moments))


@pytest.mark.parametrize("seed", range(8))
def test_each_step_makes_the_error_smaller_and_none_is_below_the_best_of_all(seed: int) -> None:
    weights, grid, moments = _problem(seed, 1, 4, 3)
    every = np.array(list(product(range(-3, 4), repeat=4)), float)
    best = min(error(weights, codes[None], grid, moments) for codes in every)
    nearest, chosen = grid.nearest(weights), gptq(weights, grid, moments)
    better = descend(weights, chosen, grid, moments, sweeps=20)
    found = [error(weights, codes, grid, moments) for codes in (nearest, chosen, better)]
    assert best <= found[2] + 1e-12
    assert found[2] <= found[1] + 1e-12
    # No code alone can be better: a descent that has ended is where no neighbour is below it.
    for at, code in product(range(4), range(-3, 4)):
        other = better.copy()
        other[0, at] = code
        assert error(weights, other, grid, moments) >= found[2] - 1e-9


def test_descent_never_makes_it_worse_and_codes_stay_in_their_range() -> None:
    weights, grid, moments = _problem(3, 16, 130, 2)
    before = grid.nearest(weights)
    for sweeps in range(1, 5):
        after = descend(weights, before, grid, moments, sweeps=1)
        assert error(weights, after, grid, moments) <= error(weights, before, grid, moments) + 1e-9
        assert np.all((after >= grid.low) & (after <= grid.high))
        assert sweeps > 1 or np.array_equal(after, descend(weights, before, grid, moments, sweeps=1))
        before = after


def test_what_was_always_0_has_its_nearest_code() -> None:
    weights, grid, moments = _problem(4, 3, 6, 4)
    moments[2], moments[:, 2] = 0, 0
    found = descend(weights, gptq(weights, grid, moments), grid, moments)
    assert np.array_equal(found[:, 2], grid.nearest(weights)[:, 2])
    nothing = np.zeros_like(moments)
    assert np.array_equal(gptq(weights, grid, nothing), grid.nearest(weights))


@pytest.mark.parametrize("seed", range(4))
def test_compensated_weights_are_those_of_least_squares(seed: int) -> None:
    random = np.random.default_rng(seed)
    exact = random.standard_normal((50, 6))
    noisy = exact + 0.3 * random.standard_normal((50, 6))
    weights = random.standard_normal((3, 6))
    moments, cross = noisy.T @ noisy / 50, exact.T @ noisy / 50
    expected = np.linalg.lstsq(noisy, exact @ weights.T)[0].T
    factors = DampedFactors.of(moments, 1e-12)
    found = compensated(weights, moments, cross, factors=factors, share=1.0)
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    half = compensated(weights, moments, cross, factors=factors, share=0.5)
    np.testing.assert_allclose(half, (weights + expected) / 2, rtol=1e-8)
    assert np.array_equal(compensated(weights, moments, moments), weights)


@pytest.mark.parametrize("seed", range(4))
def test_a_scale_for_each_channel_is_the_best_of_those_tried(seed: int) -> None:
    weights, grid, moments = _problem(seed, 5, 12, 3)
    shares = np.array([1.0, 0.8, 0.6])
    groups = np.repeat(np.arange(5)[:, None], 12, axis=1)
    found = scale_shares(weights, grid, moments, groups, shares)
    for channel in range(5):
        errors = []
        for share in shares:
            one = CodeGrid(*(each[channel : channel + 1] for each in (grid.steps * share, grid.low, grid.high)))
            own = weights[channel : channel + 1]
            errors.append(error(own, one.nearest(own), one, moments))
        assert found[channel] == shares[int(np.argmin(errors))]


# More terms than are solved at a time; the order of the terms is that of their moments, the largest first.
@pytest.mark.parametrize("terms", [1, 7, 600])
def test_factors_are_those_of_damped_moments_and_solve_by_them(terms: int) -> None:
    random = np.random.default_rng(terms)
    data = random.standard_normal((2 * terms, terms)) * np.linspace(0.1, 3, terms)
    moments, rows = data.T @ data / len(data), random.standard_normal((3, terms))
    factors = DampedFactors.of(moments, 0.05)
    damped = moments + 0.05 * np.diagonal(moments).mean() * np.eye(terms)
    assert np.array_equal(factors.upper, np.triu(factors.upper))
    ordered = damped[factors.order][:, factors.order]
    assert np.all(np.diff(np.diagonal(ordered)) <= 0)
    np.testing.assert_allclose(factors.upper @ factors.upper.T, ordered, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(factors.solved(rows), rows @ np.linalg.inv(damped), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_with_factors_a_scale_is_the_best_for_codes_of_gptq(seed: int) -> None:
    weights, grid, moments = _problem(seed, 5, 12, 3)
    shares = np.array([1.0, 0.8, 0.6])
    groups = np.repeat(np.arange(5)[:, None], 12, axis=1)
    found = scale_shares(weights, grid, moments, groups, shares, factors=DampedFactors.of(moments))
    for channel in range(5):
        errors = []
        for share in shares:
            one = CodeGrid(*(each[channel : channel + 1] for each in (grid.steps * share, grid.low, grid.high)))
            own = weights[channel : channel + 1]
            errors.append(error(own, _by_the_paper(own, one, moments), one, moments))
        assert found[channel] == shares[int(np.argmin(errors))]
