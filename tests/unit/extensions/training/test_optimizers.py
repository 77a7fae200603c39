"""Optimizers against their papers' formulas, in f64 by hand."""

import numpy as np
import pytest

from qmlir.extensions.training.choices import OptimizerKind
from qmlir.extensions.training.optimizers import Optimizer, cosine_share


def test_adam_and_momentum_by_their_formulas() -> None:
    random = np.random.default_rng(0)
    start = {"w": random.standard_normal(5), "s": random.uniform(0.1, 2, 3), "t": random.standard_normal(3)}
    drawn = [{name: random.standard_normal(array.shape) for name, array in start.items()} for _ in range(4)]
    optimizer = Optimizer(OptimizerKind.SGD, 0.1, 0.02, {"s", "t"}, {"s"})
    found = {name: array.astype(np.float32) for name, array in start.items()}
    for gradients in drawn:
        found = optimizer.step(found, {name: array.astype(np.float32) for name, array in gradients.items()}, 0.5)
    velocity, w = np.zeros(5), start["w"]
    for gradients in drawn:
        velocity = 0.9 * velocity + gradients["w"]
        w = w - 0.05 * velocity
    log, threshold = np.log(start["s"]), start["t"]
    first, second = np.zeros((2, 3)), np.zeros((2, 3))
    for step, gradients in enumerate(drawn, 1):
        slopes = np.stack([gradients["s"] * np.exp(log), gradients["t"]])
        first, second = 0.9 * first + 0.1 * slopes, 0.999 * second + 0.001 * slopes**2
        moved = 0.01 * first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        log, threshold = log - moved[0], threshold - moved[1]
    for name, wanted in {"w": w, "s": np.exp(log), "t": threshold}.items():
        assert found[name].dtype == np.float32
        np.testing.assert_allclose(found[name], wanted, rtol=1e-5)


def test_what_is_saved_goes_on_with_the_same_bits() -> None:
    gradients = {"w": np.float32([1.5, -0.25])}
    one = Optimizer(OptimizerKind.ADAM, 0.1, 0.1)
    first = one.step({"w": np.float32([1, 2])}, gradients)
    other = Optimizer(OptimizerKind.ADAM, 0.1, 0.1, state=dict(one.state))
    assert np.array_equal(one.step(first, gradients)["w"], other.step(first, gradients)["w"])


def test_the_rate_rises_and_falls() -> None:
    shares = [cosine_share(done, 0.2) for done in (0.0, 0.1, 0.2, 0.6, 1.0)]
    assert shares == pytest.approx([0, 0.5, 1, 0.5, 0])
