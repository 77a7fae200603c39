"""Losses against formulas by hand, and their gradients against central differences."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.calibrators import cross_entropy, distillation_divergence, squared_error

WANTED = np.array([[0.5, -1.0, 2.0], [0.0, 0.25, -0.5]])
CLASSES = np.array([2, 0])


@pytest.mark.parametrize(
    "loss",
    [
        lambda found: squared_error(found, WANTED, 0.7),
        lambda found: distillation_divergence(found, WANTED, 2.0),
        lambda found: cross_entropy(found, CLASSES),
    ],
)
def test_gradients_are_those_of_differences(loss: Callable[[Array], tuple[float, Array]]) -> None:
    found = np.array([[0.75, -0.5, 1.0], [1.0, 0.5, -0.25]])
    gradient = loss(found)[1]
    for position in np.ndindex(found.shape):
        step = np.zeros_like(found)
        step[position] = 1e-5
        slope = (loss(found + step)[0] - loss(found - step)[0]) / 2e-5
        assert gradient[position] == pytest.approx(slope, abs=1e-6)


def test_values_by_hand() -> None:
    assert squared_error(WANTED + 2, WANTED, 0.5)[0] == pytest.approx(8)
    assert distillation_divergence(WANTED + 3, WANTED, 2.0)[0] == pytest.approx(0, abs=1e-12)
    two = np.array([[math.log(3.0), 0.0]])
    # 9 (1/2 ln(1/2 / 3/4) + 1/2 ln(1/2 / 1/4)) with scores of 3 ln 3 over 3
    assert distillation_divergence(3 * two, 0 * two, 3.0)[0] == pytest.approx(9 * 0.5 * (math.log(2 / 3) + math.log(2)))
    assert cross_entropy(two, np.array([1]))[0] == pytest.approx(math.log(4))
    assert cross_entropy(np.array([[2e4, 0.0]]), np.array([1]))[0] > 700  # and not infinite
