"""Sums that stay in the highest bits: what a bias and a scale become, and that every bit of the product is the same."""

import numpy as np
import pytest

from qmlir.targets.cpu.scheduled.kernel_pack import shifted_bias, shifted_scale


@pytest.mark.parametrize(
    ("bias", "weights", "expected"),
    [
        (100, [7, -8], 1600),
        ((1 << 27) - 1 - 255 * 7, [7, -8], ((1 << 27) - 1 - 255 * 7) << 4),
        ((1 << 27) - 255 * 7, [7, -8], None),
        (-(1 << 27) + 255 * 8, [7, -8], (-(1 << 27) + 255 * 8) << 4),
        (-(1 << 27) + 255 * 8 - 1, [7, -8], None),
    ],
)
def test_a_bias_is_shifted_where_the_largest_sum_fits(bias: int, weights: list[int], expected: int | None) -> None:
    """Inputs are bytes up to 255; 16 times the sum must lie in -2^31 to 2^31 - 1."""
    found = shifted_bias(np.array([bias], np.int32), [np.array(weights, np.int8)], 4)
    assert (None if found is None else int(found[0])) == expected


def test_one_channel_that_does_not_fit_leaves_all() -> None:
    bias = np.array([0, (1 << 27) - 1], np.int32)
    assert shifted_bias(bias, [np.array([1], np.int8)] * 2, 4) is None


@pytest.mark.parametrize("scale", [1e-37, float("inf"), float("nan")])
def test_a_scale_stays_that_would_lose_precision(scale: float) -> None:
    """The smallest normal f32 is 2^-126, about 1.2e-38: a 16th of 1e-37 is less."""
    assert shifted_scale(np.array([1.0, scale], np.float32), 4) is None


@pytest.mark.parametrize("spare", [4, 6])
def test_products_have_the_same_bits(spare: int) -> None:
    generator = np.random.default_rng(spare)
    limit = 1 << (31 - spare)
    extremes = np.array([-limit, limit - 1, 0, (1 << 24) + 1])
    sums = np.concatenate([generator.integers(-limit, limit, 100_000), extremes]).astype(np.int32)
    scale = np.exp2(generator.uniform(-100, 20, sums.shape)).astype(np.float32)
    small = shifted_scale(scale, spare)
    assert small is not None
    assert (small == scale / np.float32(1 << spare)).all()
    plain = sums.astype(np.float32) * scale
    shifted = (sums << spare).astype(np.float32) * small
    np.testing.assert_array_equal(plain.view(np.int32), shifted.view(np.int32))
