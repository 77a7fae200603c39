"""Quotients by a constant that are rounded to integers, as a product and a fused multiply-add: the same integers.

With `high` the reciprocal rounded towards zero and `low` what it lacks, `fma(x, high, x * low)` is `x / s` but for
about 2^-48 of it. Where it is rounded to an integer that is kept inside limits, only the places between two integers
matter: there are as many as integers, and each is checked.
"""

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from qmlir.arithmetic.fused import fused_f32

Array = npt.NDArray[np.float32]

MOST_INTEGERS = (1 << 16) - 1
"""Beyond so many limits a proof takes more than some milliseconds."""

_REACH = 4
"""A bound between two integers lies so many floats at most from its product in f64, which is off by one at most."""


def reciprocal_parts(divisor: np.float32) -> tuple[np.float32, np.float32]:
    """`1 / divisor` rounded towards zero, and what that lacks, which is 0 for a power of two; of a positive divisor."""
    exact = 1 / Fraction(float(divisor))
    high = np.float32(float(exact))
    if Fraction(float(high)) > exact:
        high = np.nextafter(high, np.float32(0))
    return high, np.float32(float(exact - Fraction(float(high))))


def rounds_alike(divisor: np.float32, low: int, high: int) -> bool:
    """Whether both ways give every float the same integer from `low` to `high`, the others kept inside these.

    Both grow with `x` (`low` is no larger than one unit in the last place of the reciprocal, so that its product never
    falls by what the other gains), so they agree everywhere if they do on both sides of every bound.
    """
    if not 0 <= high - low <= MOST_INTEGERS or max(-low, high) > 1 << 20:
        return False
    if not np.finfo(np.float32).smallest_normal <= divisor <= 1 / np.finfo(np.float32).smallest_normal:
        return False
    first, second = reciprocal_parts(divisor)
    below = np.arange(low, high, dtype=np.float64)
    with np.errstate(over="ignore"):
        near = ((below + 0.5) * float(divisor)).astype(np.float32)
        around = np.stack([_moved(near, step) for step in range(-_REACH, _REACH + 1)], axis=1)
        is_above = np.rint(around / divisor) > below[:, None]
    if not np.isfinite(around).all() or is_above[:, 0].any() or not is_above[:, -1].all():
        return False
    found = np.argmax(is_above, axis=1)
    rows = np.arange(len(below))
    after, before = around[rows, found], around[rows, found - 1]
    return bool(((_rounded(after, first, second) > below) & (below >= _rounded(before, first, second))).all())


def _moved(values: Array, steps: int) -> Array:
    """The floats that lie so many steps above."""
    towards = np.float32(np.inf if steps > 0 else -np.inf)
    for _ in range(abs(steps)):
        values = np.nextafter(values, towards)
    return values


def _rounded(x: Array, first: np.float32, second: np.float32) -> Array:
    """`roundeven(fma(x, first, x * second))`."""
    return np.rint(fused_f32(x, first, x * second))
