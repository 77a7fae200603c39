"""The error function against that of the C library, over its ranges, their ends and its tails."""

import math

import numpy as np
import pytest

from qmlir.arithmetic.functions import erf

GENERATOR = np.random.default_rng(3)
ENDS = [end for value in (0.0, 0.46875, 4.0, 6.0) for end in (np.nextafter(value, -9), value, np.nextafter(value, 9))]
POINTS = np.concatenate(
    [
        np.linspace(-7, 7, 60_001),
        GENERATOR.standard_normal(30_000),
        10 ** GENERATOR.uniform(-300, 300, 10_000) * GENERATOR.choice([-1, 1], 10_000),
        ENDS,
        np.negative(ENDS),
    ]
)


def _exact(x: np.ndarray) -> np.ndarray:
    return np.array([math.erf(float(value)) for value in x])


@pytest.mark.parametrize(("dtype", "units"), [(np.float64, 4.0), (np.float32, 0.51), (np.float16, 0.51)])
def test_against_the_c_library(dtype: type[np.floating], units: float) -> None:
    """In units of the last place: half of one is a result that is rounded as well as can be."""
    with np.errstate(over="ignore"):
        x = POINTS.astype(dtype)
    got, wanted = erf(x), _exact(x)
    assert got.dtype == dtype
    unit = np.spacing(np.abs(wanted).astype(dtype)).astype(np.float64)
    assert (np.abs(got.astype(np.float64) - wanted) <= units * unit).all()


def test_it_is_odd_and_bounded() -> None:
    got = erf(POINTS)
    assert erf(-POINTS).tobytes() == (-got).tobytes()
    assert (np.abs(got) <= 1).all()


def test_special_values() -> None:
    got = erf(np.array([np.nan, np.inf, -np.inf, 0.0, -0.0]))
    assert np.isnan(got[0])
    assert got[1:].tolist() == [1.0, -1.0, 0.0, 0.0]
    assert np.signbit(got[4])


@pytest.mark.parametrize("shape", [(), (0, 3), (2, 1, 2)])
def test_shapes(shape: tuple[int, ...]) -> None:
    assert erf(np.ones(shape, np.float32)).shape == shape
