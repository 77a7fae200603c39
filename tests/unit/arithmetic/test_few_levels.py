"""Scales of ternary and binary weights: against every choice of which weights are not 0, and every power of two."""

import itertools

import numpy as np
import pytest

from qmlir.arithmetic.schemes import beyond_zero, binary_scales, ternary_scales

Array = np.ndarray

POWERS = np.exp2(np.arange(-30.0, 12.0))


def _rows(seed: int) -> Array:
    random = np.random.default_rng(seed)
    rows = random.standard_normal((6, 9)) * random.uniform(0.01, 3, (6, 1))
    rows[1, 3] *= 50  # one that is large beside the others
    rows[2, :5] = 0
    return rows.astype(np.float32)


def _ternary_error(row: Array, scale: float) -> float:
    return float(np.square(scale * np.clip(np.rint(row / scale), -1, 1) - row).sum())


def _best_of_all(row: Array) -> float:
    """The least error of all choices of the weights that are not 0, each with the scale that is best for it."""
    chosen = np.array(list(itertools.product([False, True], repeat=len(row)))[1:])
    sums = np.where(chosen, np.abs(row), 0).sum(axis=1)
    return float(np.square(row).sum() - np.max(np.square(sums) / chosen.sum(axis=1)))


@pytest.mark.parametrize("seed", range(3))
def test_ternary_scales_have_the_least_error(seed: int) -> None:
    rows = _rows(seed).astype(np.float64)
    scales = ternary_scales(rows.astype(np.float32))
    for row, scale in zip(rows, scales, strict=True):
        assert _ternary_error(row, scale) == pytest.approx(_best_of_all(row), rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_powers_of_two_have_the_least_error_of_powers(seed: int) -> None:
    rows = _rows(seed)
    ternary, binary = (best(rows, is_power_of_two=True) for best in (ternary_scales, binary_scales))
    for position, row in enumerate(rows.astype(np.float64)):
        found = min(_ternary_error(row, scale) for scale in POWERS)
        assert _ternary_error(row, float(ternary[position])) == pytest.approx(found, rel=1e-12)
        found = min(np.square(np.abs(row) - scale).sum() for scale in POWERS)
        assert np.square(np.abs(row) - binary[position]).sum() == pytest.approx(found, rel=1e-12)
    assert {*np.frexp(ternary)[0], *np.frexp(binary)[0]} == {0.5}


def test_binary_scales_are_means() -> None:
    rows = _rows(0)
    np.testing.assert_allclose(binary_scales(rows), np.abs(rows.astype(np.float64)).mean(axis=1), rtol=1e-12)


def test_rows_of_zeros_have_no_scale() -> None:
    zeros = np.zeros((2, 5), np.float32)
    for is_power_of_two in (False, True):
        for best in (ternary_scales, binary_scales):
            assert not best(zeros, is_power_of_two=is_power_of_two).any()


def test_nothing_is_nearer_to_zero_than_a_scale() -> None:
    weights = np.array([-0.0, 0.1, -0.1, 2.0, -2.0], np.float32)
    np.testing.assert_array_equal(beyond_zero(weights, np.array(0.5)), [0.5, 0.5, -0.5, 2, -2])
