"""Second moments of what weights are multiplied by, against f64, where means are far larger than what is about them."""

import numpy as np
import pytest

from qmlir.extensions.recovery.quant_gptq import SecondMoments


@pytest.mark.parametrize("mean", [0, 10, 1e3, 1e5])
@pytest.mark.parametrize("is_centered", [False, True])
def test_a_large_mean_takes_nothing_from_what_is_about_it(mean: float, is_centered: bool) -> None:
    random = np.random.default_rng(0)
    spread = random.uniform(0.01, 1, 40)
    rows = (mean + random.standard_normal((2, 500, 40)) * spread).astype(np.float32)
    exact = (rows + random.standard_normal(rows.shape) * 0.1).astype(np.float32)
    parts = [SecondMoments.of(rows[:, part], exact[:, part]) for part in (slice(200), slice(200, 500))]
    found = parts[0] + parts[1]
    for group in range(2):
        x, y = (each[group].astype(np.float64) for each in (rows, exact))
        if is_centered:
            x, y = x - x.mean(0), y - y.mean(0)
        own, cross = found.of_group(group, is_centered=is_centered)
        for one, other in ((own, x.T @ x), (cross, y.T @ x)):
            assert np.abs(one - other / 500).max() < 1e-5 * np.abs(other / 500).max()
        if is_centered:
            assert np.linalg.eigvalsh(own)[0] > 0
