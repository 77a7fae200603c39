"""Types of weights: the ranges of blocks of few bits."""

import numpy as np
import pytest

from qmlir.arithmetic.schemes import Scheme, Storage
from qmlir.dialects.quant.evaluate import dequantize, quantize
from qmlir.quantization.choice import BY_BITS, Choice, GranularityChoice
from qmlir.quantization.types import weight_type

Array = np.ndarray


def _error(weights: Array, scheme: Scheme, bits: int, calibrator: str) -> Array:
    """The squared error of each row of `weights`, which are one block each."""
    granularity = GranularityChoice(block=weights.shape[1])
    choice = Choice(storage=Storage(bits), scheme=scheme, granularity=granularity, calibrator=calibrator)
    type_ = weight_type(weights, choice, 0, lambda scales: scales)
    return np.square(dequantize(quantize(weights, type_), type_) - weights).sum(axis=1)


@pytest.mark.parametrize("scheme", [Scheme.SYMMETRIC, Scheme.ASYMMETRIC])
def test_blocks_of_few_bits_have_less_error(scheme: Scheme) -> None:
    weights = np.random.default_rng(0).normal(size=(200, 32)).astype(np.float32)
    found, whole = (_error(weights, scheme, 4, calibrator) for calibrator in (BY_BITS, "min_max"))
    assert (found <= whole * 1.0001).all()
    assert found.sum() < 0.96 * whole.sum()


def test_one_large_weight_is_clamped() -> None:
    """The whole range has steps of 14 / 15. In steps of .9 times that, 7 becomes 5.88 and .6 becomes .84: 3.04 in all.

    Its neighbours: 7 becomes 6.0433 and .6 .8633 (3.065), or 5.7167 and .8167 (3.102).
    """
    weights = np.array([[7.0, *[0.6] * 31]], np.float32)
    whole = (7 - 98 / 15) ** 2 + 31 * (14 / 15 - 0.6) ** 2
    assert _error(weights, Scheme.SYMMETRIC, 4, "min_max") == pytest.approx(whole)
    assert _error(weights, Scheme.SYMMETRIC, 4, BY_BITS) == pytest.approx(1.12**2 + 31 * 0.24**2)


def test_blocks_of_more_bits_keep_their_range() -> None:
    weights = np.random.default_rng(1).normal(size=(8, 32)).astype(np.float32)
    found, whole = (_error(weights, Scheme.SYMMETRIC, 8, calibrator) for calibrator in (BY_BITS, "min_max"))
    assert np.array_equal(found, whole)
