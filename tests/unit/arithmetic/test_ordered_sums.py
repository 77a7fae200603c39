"""Ordered sums against a loop in Python's floats, which are f64, and against NumPy where every sum is exact."""

import tracemalloc
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from qmlir.arithmetic.arrays import ordered_mean, ordered_product, ordered_sum

GENERATOR = np.random.default_rng(7)
Array = npt.NDArray[Any]


def _looped(x: Array, axes: tuple[int, ...], step: Callable[[float, float], float], start: float) -> Array:
    """One element after the other, in the order of a loop nest with the reduced axes inside."""
    reduced = sorted(axis % x.ndim for axis in axes)
    result = np.full([1 if axis in reduced else size for axis, size in enumerate(x.shape)], start)
    for position in np.ndindex(x.shape):
        into = tuple(0 if axis in reduced else index for axis, index in enumerate(position))
        result[into] = step(float(result[into]), float(x[position]))
    return result


# Sizes around those where the way to add up changes, layouts included: many rows, many columns, several blocks.
CASES = [
    ((3, 50), (1,)),
    ((50, 3), (1,)),
    ((50, 3), (0,)),
    ((2, 3, 4, 5), (1, 3)),
    ((2, 3, 4, 5), (-1, 0)),
    ((7,), (0,)),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("shape", "axes"), CASES)
def test_as_a_loop(shape: tuple[int, ...], axes: tuple[int, ...], dtype: Any) -> None:
    x = (GENERATOR.standard_normal(shape) * 10.0 ** GENERATOR.integers(-6, 7, shape)).astype(dtype)
    total = _looped(x, axes, lambda a, b: a + b, 0.0)
    assert ordered_sum(x, axes).tobytes() == total.astype(dtype).tobytes()
    assert ordered_sum(np.asfortranarray(x), axes).tobytes() == total.astype(dtype).tobytes()
    count = prod(x.shape[axis] for axis in axes)
    assert ordered_mean(x, axes).tobytes() == (total.astype(dtype) / dtype(count)).tobytes()
    product = _looped(x, axes, lambda a, b: a * b, 1.0)
    assert ordered_product(x, axes).tobytes() == product.astype(dtype).tobytes()


def test_several_blocks() -> None:
    x = GENERATOR.integers(-100, 100, (70, 9000)).astype(np.float32)
    assert ordered_sum(x, (1,)).tolist() == x.sum(axis=1, keepdims=True).tolist()


def test_a_large_array_is_not_converted_to_f64_as_a_whole() -> None:
    x = np.ones((64, 1 << 16), np.float32)
    tracemalloc.start()
    try:
        assert (ordered_sum(x, (1,)) == 1 << 16).all()
        assert tracemalloc.get_traced_memory()[1] < x.nbytes
    finally:
        tracemalloc.stop()


def test_f32_is_added_up_in_f64() -> None:
    x = np.array([2.0**30, 1, 1, 1, -(2.0**30)], np.float32)
    assert ordered_sum(x, (0,)).tolist() == [3]


def test_nothing_adds_up_to_0() -> None:
    assert ordered_sum(np.zeros((2, 0), np.float32), (1,)).tolist() == [[0], [0]]
    assert ordered_product(np.zeros((2, 0), np.float32), (1,)).tolist() == [[1], [1]]
    assert ordered_sum(np.zeros((0, 2), np.float32), (1,)).shape == (0, 1)
    with np.errstate(invalid="ignore"):
        assert np.isnan(ordered_mean(np.zeros((2, 0), np.float32), (1,))).all()


def test_a_sum_is_never_minus_0() -> None:
    x = np.full((1, 3), -0.0, np.float32)
    assert not np.signbit(ordered_sum(x, (0,))).any()
    assert not np.signbit(ordered_sum(x, (1,))).any()


def test_infinities() -> None:
    x = np.array([[np.inf, 1], [np.inf, -np.inf]], np.float32)
    with np.errstate(invalid="ignore"):
        total = ordered_sum(x, (1,))
    assert total[0] == np.inf
    assert np.isnan(total[1])
