"""The steps of LiteRT's fixed-point arithmetic against exact fractions, and its tables against f64."""

import math
from fractions import Fraction

import numpy as np
import pytest

from qmlir.arithmetic import litert
from qmlir.arithmetic.functions.steps import NUMPY
from qmlir.arithmetic.litert import Multiplier
from qmlir.arithmetic.requantization import Affine, Mode, requantize_by, requantize_f64

RNG = np.random.default_rng(0)
I32 = (-(1 << 31), (1 << 31) - 1)


def _away(value: Fraction) -> int:
    size = math.floor(abs(value) + Fraction(1, 2))
    return size if value >= 0 else -size


def _up(value: Fraction) -> int:
    return math.floor(value + Fraction(1, 2))


def _integers(count: int = 300) -> "list[int]":
    wide = RNG.integers(*I32, count).tolist()
    return [*wide, *range(-40, 41), I32[0] + 1, I32[1]]


@pytest.mark.parametrize("amount", [0, 1, 2, 5, 17, 31])
def test_a_rounded_shift_is_nearest_with_ties_away_from_zero(amount: int) -> None:
    values = _integers()
    found = litert.rounded_shift(NUMPY, np.array(values), amount)
    assert found.tolist() == [_away(Fraction(value, 1 << amount)) for value in values]


def test_a_high_product_is_nearest_with_ties_up() -> None:
    values, factor = _integers(), 1518500250
    found = litert.high_product(np.array(values), factor)
    assert found.tolist() == [_up(Fraction(value * factor, 1 << 31)) for value in values]


@pytest.mark.parametrize("ratio", [0.3, 0.5, 2.0**-9, 0.9999999, 3.7])
def test_a_rescaling_rounds_the_high_product_and_the_shift(ratio: float) -> None:
    values = RNG.integers(-(1 << 20), 1 << 20, 200).tolist()
    fraction, exponent = math.frexp(ratio)
    factor = _away(Fraction(fraction) * (1 << 31))
    left, right = max(exponent, 0), max(-exponent, 0)
    wanted = [_away(Fraction(_up(Fraction((value << left) * factor, 1 << 31)), 1 << right)) for value in values]
    assert litert.multiplied(NUMPY, np.array(values), ratio).tolist() == wanted
    mode, parameters = litert.rescaling(Multiplier.DOUBLE, Mode.LITERT_REFERENCE, ratio, 1.0)
    assert requantize_by(mode, np.array(values), parameters, 0, I32).tolist() == wanted


def test_a_mean_is_nearest_with_ties_away_from_zero() -> None:
    totals = RNG.integers(-4000, 4000, 500).tolist()
    for count in (1, 2, 3, 9, 49, 64):
        found = litert.mean(NUMPY, np.array(totals), np.array(count))
        assert found.tolist() == [_away(Fraction(total, count)) for total in totals]


def test_a_product_in_f64_rounds_ties_away_from_zero() -> None:
    values = [*range(-9, 10), *_integers(100)]
    for multiplier in (0.5, 0.25, 1.5, 0.001234567891234, 3e-10):
        wanted = [min(max(_away(Fraction(float(value) * multiplier)) + 3, -128), 127) for value in values]
        assert requantize_f64(np.array(values), multiplier, 3, (-128, 127)).tolist() == wanted


def test_half_away() -> None:
    values = np.array([0.5, -0.5, 1.5, -2.5, 0.49999997, 2.4999998, -7.0, 1e9, -0.0], np.float32)
    assert litert.half_away(NUMPY, values).tolist() == [1, -1, 2, -3, 0, 2, -7, 1e9, 0]


def test_powers_have_22_bits() -> None:
    x = -RNG.integers(0, 31 << 26, 500)
    exact = np.exp(x / 2.0**26)
    assert np.abs(litert.powers(x) / 2.0**31 - exact).max() < 2.0**-22


@pytest.mark.parametrize("name", ["sigmoid", "tanh"])
def test_functions_of_16_bits_follow_the_exact_ones(name: str) -> None:
    stored, scale = np.arange(-32768, 32768), 0.00021
    found = (litert.sigmoid16 if name == "sigmoid" else litert.tanh16)(stored, scale) / 2.0**15
    real = stored * scale
    exact = 1 / (1 + np.exp(-real)) if name == "sigmoid" else np.tanh(real)
    assert np.abs(found - exact).max() < 1e-4


@pytest.mark.parametrize("mode", [Mode.LITERT_REFERENCE, Mode.LITERT_XNNPACK])
def test_bounds_of_activations_differ_at_ties_only(mode: Mode) -> None:
    limits, tie = (-128, 127), Affine(np.float32(12), 3)
    assert litert.stored_bound(mode, 0.0, tie, limits) == 3
    assert litert.stored_bound(mode, 6.0, tie, limits) == 4  # 3.5 to even, or 0.5 away from zero plus 3
    odd = Affine(np.float32(12), 2)
    assert litert.stored_bound(mode, 6.0, odd, limits) == (2 if mode is Mode.LITERT_XNNPACK else 3)
    assert litert.stored_bound(mode, 6.0, Affine(np.float32(0.01), 100), limits) == 127
