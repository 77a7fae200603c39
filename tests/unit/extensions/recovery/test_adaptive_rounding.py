"""AdaRound: gradients beside differences, the paper's loop written out, and all codes there are as the referees."""

import math
from itertools import product

import numpy as np
import pytest

from qmlir.arithmetic.arrays import Array
from qmlir.extensions.recovery.weight_rounding import (
    CodeGrid,
    HessianLoss,
    Objective,
    PiecewiseLinear,
    SampleLoss,
    adaround,
    best_of,
    descend,
    gptq,
)

_RELU, _RELU6, _LEAKY = PiecewiseLinear(low=0.0), PiecewiseLinear(0.0, 6.0), PiecewiseLinear(low=0.0, slope=0.1)


def _data(seed: int, groups: int, channels: int, terms: int, bits: int) -> tuple[Array, CodeGrid, Array]:
    random = np.random.default_rng(seed)
    rows = random.standard_normal((groups, 300, terms)) @ random.standard_normal((groups, terms, terms))
    weights = random.standard_normal((groups, channels, terms))
    most = 2 ** (bits - 1) - 1
    steps = np.abs(weights).max(-1, keepdims=True) / most * np.ones_like(weights)
    return weights, CodeGrid(steps, np.full_like(weights, -most), np.full_like(weights, most)), np.maximum(rows, 0)


def _objectives(weights: Array, rows: Array, bias: float) -> dict[str, Objective]:
    narrow = rows.astype(np.float32)
    sums = (narrow @ weights.swapaxes(1, 2)).astype(np.float32) + np.float32(bias)
    added = np.full((len(weights), 1, weights.shape[1]), bias, np.float32)
    found: dict[str, Objective] = {"none": HessianLoss(weights, rows.swapaxes(1, 2) @ rows / rows.shape[1])}
    for name, activation in (("relu", _RELU), ("relu6", _RELU6), ("leaky", _LEAKY)):
        found[name] = SampleLoss(narrow, sums, added, activation)
    return found


@pytest.mark.parametrize("what", ["none", "relu", "relu6", "leaky"])
def test_gradients_are_limits_of_differences(what: str) -> None:
    weights, _, rows = _data(0, 2, 3, 4, 4)
    objective = _objectives(weights, rows, -0.5)[what]
    at = weights + 0.2 * np.random.default_rng(1).standard_normal(weights.shape)
    found = objective.gradient(at, 0)
    for group, channel, term in product(range(2), range(3), range(4)):
        change = np.zeros_like(at)
        change[group, channel, term] = 1e-3
        difference = (objective.errors(at + change) - objective.errors(at - change)) / 2e-3
        assert found[group, channel, term] == pytest.approx(difference[group, channel], rel=2e-2, abs=2e-2)


@pytest.mark.parametrize("what", ["none", "relu", "relu6", "leaky"])
@pytest.mark.parametrize("seed", range(2))
def test_no_channel_is_worse_than_it_was_and_none_is_below_the_best_of_all_codes(what: str, seed: int) -> None:
    weights, grid, rows = _data(seed, 1, 2, 4, 3)
    objective = _objectives(weights, rows, -0.5)[what]
    nearest = grid.nearest(weights)
    known = gptq(weights[0], CodeGrid(grid.steps[0], grid.low[0], grid.high[0]), rows[0].T @ rows[0] / 300)[None]
    every = np.array(list(product(range(-3, 4), repeat=4)), float)
    best = np.min([objective.errors(np.broadcast_to(codes, weights.shape) * grid.steps) for codes in every], 0)
    for before in (nearest, known):
        found = adaround(weights, before, grid, objective, steps=100)
        assert np.array_equal(found, np.rint(found))
        assert np.all((found >= grid.low) & (found <= grid.high))
        assert np.array_equal(found, adaround(weights, before, grid, objective, steps=100))
        errors = objective.errors(found * grid.steps)
        assert np.all(errors <= objective.errors(before * grid.steps))
        assert np.all(errors >= best - 1e-9)


def _by_the_paper(weights: Array, grid: CodeGrid, moments: Array, steps: int) -> Array:
    """Equations 21 to 25 of the paper, one weight after the other, the gradient by the chain rule."""
    low = np.floor(weights / grid.steps)
    v = -np.log(1.2 / (weights / grid.steps - low + 0.1) - 1)
    mean, square = np.zeros_like(v), np.zeros_like(v)
    for step in range(steps):
        sigmoid = 1 / (1 + np.exp(-v))
        h = np.clip(1.2 * sigmoid - 0.1, 0, 1)
        off = (low + h) * grid.steps - weights
        gradient = 2 * (off @ moments) * grid.steps
        beta = 20 + (2 - 20) * step / steps
        if step > steps / 5:
            scale = 0.01
            gradient -= scale * beta * np.abs(2 * h - 1) ** (beta - 1) * 2 * np.sign(2 * h - 1)
        gradient = np.where((h > 0) & (h < 1), gradient * 1.2 * sigmoid * (1 - sigmoid), 0)
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        v -= 0.01 * (mean / (1 - 0.9 ** (step + 1))) / (np.sqrt(square / (1 - 0.999 ** (step + 1))) + 1e-8)
    return low + (1.2 / (1 + np.exp(-v)) - 0.1 >= 0.5)


@pytest.mark.parametrize("seed", range(2))
def test_codes_have_no_larger_error_than_those_of_the_paper_and_of_gptq(seed: int) -> None:
    weights, grid, rows = _data(seed, 1, 8, 24, 4)
    moments = rows.swapaxes(1, 2) @ rows / 300
    objective = HessianLoss(weights, moments)
    flat = CodeGrid(grid.steps[0], grid.low[0], grid.high[0])
    known = descend(weights[0], gptq(weights[0], flat, moments[0]), flat, moments[0])[None]
    learned = adaround(weights, known, grid, objective)
    settled = descend(weights[0], learned[0], flat, moments[0])[None]
    found = float(objective.errors(best_of((known, learned, settled), grid, objective) * grid.steps).sum())
    assert found <= float(objective.errors(known * grid.steps).sum())
    paper = np.clip(_by_the_paper(weights, grid, moments, 1000), grid.low, grid.high)
    assert found <= float(objective.errors(paper * grid.steps).sum())


# Behind a relu a sum below 0 may be wrong: with the bias -3 nothing that is rounded here is above it.
def test_what_an_activation_cuts_off_costs_nothing() -> None:
    weights, grid, rows = _data(1, 1, 2, 4, 3)
    objective = _objectives(weights, rows, -1e3)["relu"]
    wrong = np.zeros_like(weights)
    assert objective.errors(wrong).tolist() == [[0.0, 0.0]]
    assert np.array_equal(adaround(weights, wrong, grid, objective), wrong)


def test_activations_are_the_functions_that_they_stand_for() -> None:
    sums = np.array([-20.0, -1.0, 0.0, 3.0, 9.0])
    assert _RELU.of(sums).tolist() == [0, 0, 0, 3, 9]
    assert _RELU6.of(sums).tolist() == [0, 0, 0, 3, 6]
    assert _LEAKY.of(sums).tolist() == [-2, -0.1, 0, 3, 9]
    assert PiecewiseLinear(high=6.0).of(sums).tolist() == [-20, -1, 0, 3, 6]
    assert _LEAKY.slopes(sums).tolist() == [0.1, 0.1, 0.1, 1, 1]
    assert math.isinf(PiecewiseLinear().high)


# 2 groups of 3 channels and 4 terms: 24 weights, times 4 second moments each, or 300 rows twice.
def test_the_work_of_a_step_is_that_of_its_products() -> None:
    weights, _, rows = _data(0, 2, 3, 4, 4)
    found = {name: each.multiply_adds for name, each in _objectives(weights, rows, 0.0).items()}
    assert found == {"none": 24 * 4, "relu": 24 * 600, "relu6": 24 * 600, "leaky": 24 * 600}
