"""Exact sums of products: the types that hold them, and limits against all sums listed one by one."""

from itertools import product

import numpy as np
import numpy.typing as npt
import pytest

from qmlir.arithmetic.arrays import limits_of_products, limits_of_sums, sum_dtype, sums_by_sign


@pytest.mark.parametrize(
    ("left", "right", "terms", "dtype"),
    [
        # f32 has 24 bits for an integer, f64 has 53; a power of two behind them is the first without its successor.
        (1, 2**24 - 1, 1, np.float32),
        (1, 2**24, 1, np.float64),
        (127, 128, 1000, np.float32),
        (255, 255, 2**37, np.float64),
        (1, 2**53 - 1, 1, np.float64),
        (1, 2**53, 1, np.int64),
        (2**31, 2**31, 1, np.int64),
        (2**31, 2**31, 2, np.object_),
    ],
)
def test_the_fastest_exact_type(left: int, right: int, terms: int, dtype: npt.DTypeLike) -> None:
    assert sum_dtype(left, right, terms) is dtype


def test_limits_are_reached() -> None:
    weights = np.array([[3, -2], [0, 1]], np.int8)
    for limits in [(-1, 2), (1, 2), (-3, -1), (0, 0)]:
        numbers = range(limits[0], limits[1] + 1)
        sums = [weights.astype(int) @ each for each in product(numbers, repeat=2)]
        low, high = limits_of_sums(sums_by_sign(weights, (1,)), limits)
        assert low.tolist() == np.min(sums, axis=0).tolist()
        assert high.tolist() == np.max(sums, axis=0).tolist()
        products = [a * b for a in numbers for b in (-2, 3)]
        assert limits_of_products(limits, (-2, 3), 4) == (4 * min(products), 4 * max(products))


def test_sums_beyond_64_bits() -> None:
    weights = np.array([2**62, 2**62], np.int64)
    low, high = limits_of_sums(sums_by_sign(weights, (0,)), (-2, 3))
    assert (int(low), int(high)) == (-(2**64), 3 * 2**63)
