"""The fused multiply-add on arrays: `a * b + c` rounded once, also where NumPy has no such step.

f64 holds the product of two numbers of f32 or less exactly. The sum with a third is rounded to odd there, so that the
one rounding to the shorter type sees the exact sum.
"""

from typing import Any

import numpy as np
import numpy.typing as npt


def sum_to_odd(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """`x + y`, the last bit set where that was not exact: then rounding to 51 bits or fewer rounds the exact sum."""
    total = np.asarray(x + y)
    # Knuth's sum without error: what the rounded sum lacks.
    back = total - x
    lack = np.asarray((x - (total - back)) + (y - back))
    inexact = np.isfinite(total) & (lack != 0)
    bits = total.view(np.int64)
    # Toward zero where the sum was rounded away from it; the bits of a float count up with its magnitude.
    truncated = bits - (inexact & ((lack < 0) != (total < 0)))
    return np.asarray(truncated | inexact).view(np.float64)


def fused_f32(a: Any, b: Any, c: Any) -> npt.NDArray[np.float32]:
    """`f32(a * b + c)`, rounded once, of numbers that f32 holds."""
    x, y, z = np.broadcast_arrays(*(np.asarray(value).astype(np.float32).astype(np.float64) for value in (a, b, c)))
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(sum_to_odd(np.asarray(x * y), np.asarray(z)), np.float32)
