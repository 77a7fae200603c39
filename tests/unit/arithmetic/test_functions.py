"""The float functions against NumPy in f64, in units of the last place of f32, over bit patterns of every kind."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from qmlir.arithmetic.erf import erf
from qmlir.arithmetic.functions import FUNCTIONS, ON_ARRAYS
from qmlir.dialects.nn.formulas import sigmoid

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]

UNITS: dict[str, tuple[float, Callable[..., Any]]] = {
    "exp": (0.87, np.exp),
    "expm1": (1.52, np.expm1),
    "tanh": (1.45, np.tanh),
    "log": (0.83, np.log),
    "erf": (1.20, erf),
    "rsqrt": (1.50, lambda x: 1 / np.sqrt(x)),
    **{
        name: (0.501, getattr(np, numpy_name))
        for name, numpy_name in (
            ("acos", "arccos"),
            ("acosh", "arccosh"),
            ("asin", "arcsin"),
            ("asinh", "arcsinh"),
            ("atan", "arctan"),
            ("atan2", "arctan2"),
            ("atanh", "arctanh"),
            ("cbrt", "cbrt"),
            ("cos", "cos"),
            ("cosh", "cosh"),
            ("exp2", "exp2"),
            ("log10", "log10"),
            ("log1p", "log1p"),
            ("log2", "log2"),
            ("powf", "power"),
            ("sin", "sin"),
            ("sinh", "sinh"),
            ("tan", "tan"),
        )
    },
}
"""What docs/arithmetic.md promises, and the function in f64, which is exact enough to hold f32 to it."""

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


def test_every_function_has_its_bound() -> None:
    assert UNITS.keys() == FUNCTIONS.keys()


@pytest.mark.parametrize("name", UNITS)
def test_accuracy(name: str) -> None:
    bound, exact = UNITS[name]
    points = [_points()]
    if name in ("atan2", "powf"):
        points.append(GENERATOR.permutation(points[0]))
    with np.errstate(all="ignore"):
        wanted = np.asarray(exact(*(each.astype(np.float64) for each in points)))
    found = FUNCTIONS[name](*points)
    assert found.dtype == np.float32
    units = _units(found, wanted)
    assert (units <= bound).all(), (units.max(), [each[np.argmax(units)] for each in points])
    zeros = found == 0
    np.testing.assert_array_equal(np.signbit(found)[zeros], np.signbit(wanted)[zeros])


def test_sigmoid() -> None:
    x = _points()
    with np.errstate(all="ignore"):
        exact = 1 / (1 + np.exp(-x.astype(np.float64)))
        found = sigmoid(ON_ARRAYS, x)
    assert (_units(found, exact) <= 2.2).all()


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
