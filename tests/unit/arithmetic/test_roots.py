"""The reciprocal root of an integer against Python's integers, above all where f64 alone rounds to the wrong side."""

import math
import random
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from qmlir.arithmetic.functions.single import ROOT_BITS, reciprocal_roots
from qmlir.arithmetic.row_norms import RowBounds

LARGEST = (1 << ROOT_BITS) - 1


def is_nearest(found: np.float32, x: int) -> bool:
    """Whether `1 / sqrt(x)` lies between the middles of `found` and its neighbours, by exact squares."""
    own = Fraction(float(found))
    lower, upper = (Fraction(float(np.nextafter(found, np.float32(end)))) for end in (0, 2))
    return ((own + lower) / 2) ** 2 * x <= 1 <= ((own + upper) / 2) ** 2 * x


def near_middles(count: int) -> Iterator[int]:
    """The integers whose roots are nearest to the middle of two f32 numbers, from every power of two."""
    draw = random.Random(5)
    for _ in range(count):
        middle, positions = draw.getrandbits(24) | 1 << 24 | 1, draw.randrange(48, 112, 2)
        nearest = (1 << positions) // middle**2
        yield from (x for x in range(nearest - 1, nearest + 3) if 0 < x <= LARGEST)


def wrong(integers: list[int]) -> list[int]:
    roots = reciprocal_roots(np.array(integers))
    return [x for x, root in zip(integers, roots, strict=True) if not is_nearest(root, x)]


def test_the_root_is_the_nearest_f32() -> None:
    draw = random.Random(3)
    powers = [(1 << k) + more for k in range(ROOT_BITS + 1) for more in range(-3, 4)]
    some = [draw.getrandbits(draw.randint(1, ROOT_BITS)) for _ in range(4000)]
    assert wrong([x for x in (*range(1, 2000), *powers, *some) if 0 < x <= LARGEST]) == []


def test_the_root_is_the_nearest_f32_where_f64_is_not_enough() -> None:
    integers = list(near_middles(3000))
    by_f64 = (1 / np.sqrt(np.array(integers, np.float64))).astype(np.float32)
    assert sum(not is_nearest(root, x) for root, x in zip(by_f64, integers, strict=True)) > 100
    assert wrong(integers) == []


@pytest.mark.parametrize("x", [0, -1, LARGEST + 1])
def test_other_integers_have_no_root(x: int) -> None:
    with pytest.raises(ValueError, match=rf"0 < x < 2\^62, but got {x}"):
        reciprocal_roots([1, x])


@pytest.mark.parametrize(("count", "bits"), [(32768, 16), (8000000, 8), (1, 16), (384, 16)])
@pytest.mark.parametrize("is_centered", [True, False])
def test_the_largest_row_keeps_the_bounds(count: int, bits: int, is_centered: bool) -> None:
    """The extremes: half of a row at either end of the storage, and all of it; also one element that differs."""
    norm = RowBounds(count, bits, 1e-5, is_centered).norm_of(1e-3)
    reach = (1 << bits) - 1
    rows = {0: count, 1: count - 1, count // 2: count - count // 2}
    for ends, others in rows.items():
        total, squares = (ends * reach, ends * reach**2) if is_centered else (0, (ends + others) * reach**2)
        deviation = max(abs(count * d - total) for d in (0, reach, -reach if not is_centered else 0))
        assert max(total, deviation) < 1 << 31
        radicand = (count * squares - total**2 << norm.shift) + norm.epsilon
        assert 0 < radicand < 1 << 62


def test_epsilon_is_that_of_real_numbers() -> None:
    norm = RowBounds(384, 16, 1e-5, True).norm_of(2.0**-10)
    assert norm.epsilon / 2**norm.shift == pytest.approx(384**2 * 1e-5 * 4**10, rel=1e-9)
    assert norm.factor**2 == 2**norm.shift


@pytest.mark.parametrize(
    ("count", "bits", "scale", "epsilon", "message"),
    [
        (32769, 16, 1.0, 1e-5, "sums of 32 bits hold at most 32768 elements of 16 bits, but rows have 32769"),
        (8, 8, 1.0, 0.0, "epsilon must be positive and finite, but got 0"),
        (8, 8, 1.0, math.inf, "epsilon must be positive and finite, but got inf"),
        (
            8,
            8,
            1e-30,
            1.0,
            "\\(epsilon 1, scale 1e-30\\) exceed 62 bits",
        ),
    ],
)
def test_other_rows_stay_in_floats(count: int, bits: int, scale: float, epsilon: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RowBounds(count, bits, epsilon, True).norm_of(scale)
