"""The float functions against NumPy in f64, in units of the last place of f32, by the bounds that the docs state."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from qmlir.arithmetic.functions import FUNCTIONS, ON_ARRAYS, erf
from qmlir.dialects.nn.formulas import sigmoid
from tests.support.documents import ROOT, rows_of, table_at

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]

EXACT: dict[str, Callable[..., Any]] = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "cos": np.cos,
    "cosh": np.cosh,
    "erf": erf,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "pow": np.power,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "sin": np.sin,
    "sinh": np.sinh,
    "tan": np.tan,
    "tanh": np.tanh,
}
"""The functions in f64, which are precise enough to measure errors of f32."""

FOUND: dict[str, Callable[..., Any]] = {
    **{name.replace("powf", "pow"): function for name, function in FUNCTIONS.items()},
    "sigmoid": partial(sigmoid, ON_ARRAYS),
}

BOUNDS = {
    name: float(bound)
    for names, _, bound in rows_of(table_at("functions", ROOT / "docs" / "reference" / "float-arithmetic.md"))
    for name in re.findall(r"`(\w+)`", names)
}
"""The largest error that docs/reference/float-arithmetic.md states for each function."""

GENERATOR = np.random.default_rng(5)


def _patterns(count: int) -> F32:
    """Bit patterns at equal distances over all of f32, subnormal numbers, infinities and NaN among them."""
    return np.linspace(0, (1 << 32) - 1, count).astype(np.uint32).view(np.float32)


def _units(found: F32, exact: F64) -> F64:
    """The distance in units of the last place that f32 has at the exact value; 0 where both are the same infinity."""
    with np.errstate(all="ignore"):
        size = np.minimum(np.abs(exact), float(np.finfo(np.float32).max))
        unit = np.ldexp(1.0, np.maximum(np.frexp(size)[1] - 1, -126) - 23)
        distance = np.abs(found.astype(np.float64) - exact) / unit
        is_same = (found == exact.astype(np.float32)) | (np.isnan(found) & np.isnan(exact))
    return np.where(is_same & ~np.isfinite(found), 0, distance)


def _points() -> F32:
    usual = [GENERATOR.standard_normal(100_000) * scale for scale in (0.1, 1, 10, 1e3)]
    return np.concatenate([_patterns(400_003), *(each.astype(np.float32) for each in usual)])


def _check(name: str, *points: F32) -> None:
    with np.errstate(all="ignore"):
        wanted = np.asarray(EXACT[name](*(each.astype(np.float64) for each in points)))
        found = FOUND[name](*points)
    assert found.dtype == np.float32
    units = _units(found, wanted)
    assert (units <= BOUNDS[name]).all(), (units.max(), [each[np.argmax(units)] for each in points])
    zeros = found == 0
    np.testing.assert_array_equal(np.signbit(found)[zeros], np.signbit(wanted)[zeros])


def test_every_function_has_its_bound() -> None:
    assert EXACT.keys() == FOUND.keys() == BOUNDS.keys()


WORST = [0.7018288, 0.56295604, 0.93968517, -71.73258, 0.36545077, 1.0061859, -4.157294]
"""Where the errors of the functions in f32 are largest, of all f32 numbers."""


@pytest.mark.parametrize("name", EXACT)
def test_accuracy(name: str) -> None:
    points = np.concatenate([_points(), np.array(WORST, np.float32)])
    _check(name, points, *([GENERATOR.permutation(points)] if name in ("atan2", "pow") else []))


EXPONENTS: dict[str, tuple[int, int, tuple[int, ...]]] = {
    "rsqrt": (-1, 0, (1,)),
    "log": (-9, 8, (1,)),
    "tanh": (-12, 3, (1,)),
    "erf": (-12, 1, (1,)),
    "exp": (-12, 6, (1, -1)),
    "expm1": (-12, 6, (1, -1)),
    "sigmoid": (-12, 6, (1, -1)),
}
"""The powers of two between which a function in f32 is neither a constant nor its argument; the signs that differ."""


@pytest.mark.sweep
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", EXPONENTS)
def test_accuracy_of_all_numbers(name: str) -> None:
    lowest, highest, signs = EXPONENTS[name]
    for start in range((127 + lowest) << 23, (128 + highest) << 23, 1 << 20):
        numbers = np.arange(start, start + (1 << 20), dtype=np.uint32).view(np.float32)
        for sign in signs:
            _check(name, numbers * np.float32(sign))


@pytest.mark.sweep
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", EXACT)
def test_accuracy_of_many_patterns(name: str) -> None:
    for _ in range(20):
        points = [GENERATOR.integers(0, 1 << 32, 1 << 20, np.uint64).astype(np.uint32).view(np.float32) for _ in "xy"]
        _check(name, *points[: 2 if name in ("atan2", "pow") else 1])


@pytest.mark.parametrize("name", ["exp", "expm1", "tanh", "log"])
def test_order_is_kept(name: str) -> None:
    """Over neighbours, where it is most likely to be lost: the ends of the ranges of their polynomials too."""
    centres = [0.0, 0.17, 0.3465736, 0.55, 0.70710678, 1.0, 1.0397208, 1.4142135, 3.9, 9.0, 88.0]
    for centre in centres:
        bits = np.float32(centre).view(np.int32) + np.arange(-(1 << 14), 1 << 14)
        x = np.maximum(bits, 0).astype(np.int32).view(np.float32)
        found = FUNCTIONS[name](x)
        assert (found[1:] >= found[:-1]).all(), centre
        if name != "log":
            mirrored = FUNCTIONS[name](-x)
            assert (mirrored[1:] <= mirrored[:-1]).all(), -centre


def test_powers_as_c_has_them() -> None:
    special = np.array([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 0.5, 2, 3, -2, -3, 1e-45, 16777217], np.float32)
    x, y = (each.reshape(-1) for each in np.meshgrid(special, special))
    with np.errstate(all="ignore"):
        wanted = np.power(x.astype(np.float64), y).astype(np.float32)
    found = FUNCTIONS["powf"](x, y)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(np.signbit(found)[found == 0], np.signbit(wanted)[found == 0])


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_short_floats_go_through_f32(dtype: Any) -> None:
    x = np.array([-2, 0.1, 3, np.inf], np.float32).astype(dtype)
    found = FUNCTIONS["exp"](x)
    assert found.dtype == dtype
    assert found.tobytes() == FUNCTIONS["exp"](x.astype(np.float32)).astype(dtype).tobytes()


def test_f64_is_numpys() -> None:
    x = GENERATOR.standard_normal(9)
    assert FUNCTIONS["tanh"](x).tobytes() == np.tanh(x).tobytes()


@pytest.mark.parametrize("shape", [(), (0, 3), (2, 1, 3), (40_000,)])
def test_shapes(shape: tuple[int, ...]) -> None:
    assert FUNCTIONS["exp"](np.zeros(shape, np.float32)).tolist() == np.ones(shape).tolist()
    assert FUNCTIONS["atan2"](np.ones((2, 1), np.float32), np.ones(3, np.float32)).shape == (2, 3)
