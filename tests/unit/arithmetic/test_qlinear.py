"""The f32 steps of ONNX Runtime's QLinear operators, against fractions: what each step rounds."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qmlir.arithmetic.arrays import fused_f32
from qmlir.arithmetic.requantization import (
    Affine,
    Mode,
    Sum,
    moved_mean,
    requantize,
    rounded,
    sigmoid,
    softmax_powers,
    softmax_steps,
)

FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False).map(np.float32)
BYTES = st.integers(-128, 127)
SCALES = st.sampled_from([odd * step for odd in (1, 3, 5, 7, 11) for step in (0.125, 0.25, 0.3, 1.0)])


def f32(value: Fraction) -> np.float32:
    """The nearest f32, half-way cases to even; exact numbers of the tests lie inside its normal range."""
    nearest = np.float32(float(value))
    around = [np.nextafter(nearest, np.float32(way)) for way in (-np.inf, np.inf)]
    found = sorted((nearest, *around), key=lambda each: (abs(Fraction(float(each)) - value), each.view(np.int32) & 1))
    return found[0]


@given(FLOATS, FLOATS, FLOATS)
def test_a_fused_step_rounds_once(a: np.float32, b: np.float32, c: np.float32) -> None:
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    if exact and 2.0**-120 < abs(exact) < 2.0**120:
        assert fused_f32(a, b, c) == f32(exact)


@given(BYTES, BYTES, st.tuples(SCALES, SCALES, SCALES), st.tuples(BYTES, BYTES, BYTES))
def test_a_sum(a: int, b: int, scales: tuple[float, ...], points: tuple[int, ...]) -> None:
    left, right, result = (Affine(np.float32(s), z) for s, z in zip(scales, points, strict=True))
    found = Sum.of(left, right, result).apply(np.array([a]), np.array([b]))
    ratios = [Fraction(float(np.float32(each.scale / result.scale))) for each in (left, right)]
    inner = f32(ratios[1] * points[1])
    offset = f32(points[2] - Fraction(float(f32(ratios[0] * points[0] + Fraction(float(inner))))))
    first = f32(ratios[1] * b + Fraction(float(offset)))
    assert found.item() == f32(ratios[0] * a + Fraction(float(first)))


def test_the_zero_point_comes_before_rounding() -> None:
    halves = np.array([-3, -1, 1, 3, 5])
    assert requantize(halves, 0.5, 1.0, 0, (-128, 127), Mode.QLINEAR).tolist() == [-2, 0, 0, 2, 2]
    assert requantize(halves, 0.5, 1.0, 1, (-128, 127), Mode.QLINEAR).tolist() == [0, 0, 2, 2, 4]
    assert requantize(halves, 0.5, 1.0, 1, (-128, 127)).tolist() == [-1, 1, 1, 3, 3]
    mean = moved_mean(np.float32([1, 3, 5]), 2, Affine(np.float32(1), 1))
    assert rounded(mean, (0, 3)).tolist() == [2, 2, 3]


def test_sigmoid_is_close_and_level_at_its_ends() -> None:
    x = np.linspace(-20, 20, 4001, dtype=np.float32)
    wanted = 1 / (1 + np.exp(-x.astype(np.float64)))
    assert np.abs(sigmoid(x) - wanted).max() < 2e-7
    assert (sigmoid(np.float32([-1e30, 1e30])) == sigmoid(np.float32([-18, 18]))).all()


@pytest.mark.parametrize("terms", [1, 7, 1000])
def test_powers_of_softmax_have_a_sum_in_f32(terms: int) -> None:
    powers = softmax_powers(np.float32(0.05), terms)
    assert np.isfinite(powers.max() * np.float32(terms))
    np.testing.assert_allclose(powers[1:].astype(np.float64) / powers[:-1], math.exp(np.float32(0.05)), rtol=1e-6)
    assert softmax_steps(np.float32(0.3)) == 3
