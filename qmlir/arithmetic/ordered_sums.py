"""Sums of floats that everybody finds to the bit: one order, one precision, one rounding.

The elements are added up in f64, from 0, in ascending row-major order of the reduced axes; the result is rounded once
to the type that is computed in. NumPy's own sums are pairwise, in an order that depends on the layout in memory.
"""

import numpy as np
import numpy.typing as npt

from qmlir.arithmetic.arrays import Array

_BLOCK = 1 << 18
"""Elements that are held in f64 at a time."""


def ordered_sum(x: Array, axes: tuple[int, ...]) -> Array:
    """The sums of floats over `axes`, which keep size 1, in the type of `x`."""
    # A sum from 0 on is never -0, one from the first element on may be.
    return (_accumulated(np.add, x, axes, 0.0) + 0.0).astype(x.dtype)


def ordered_product(x: Array, axes: tuple[int, ...]) -> Array:
    """The products of floats over `axes`, which keep size 1, in the type of `x`; in f64 as sums are."""
    return _accumulated(np.multiply, x, axes, 1.0).astype(x.dtype)


def ordered_mean(x: Array, axes: tuple[int, ...]) -> Array:
    """The sums, rounded, over the number of elements; NaN of none."""
    count = np.prod([x.shape[axis] for axis in axes], dtype=np.int64)
    return ordered_sum(x, axes) / x.dtype.type(count)


def _accumulated(ufunc: np.ufunc, x: Array, axes: tuple[int, ...], start: float) -> npt.NDArray[np.float64]:
    reduced = sorted(axis % x.ndim for axis in axes)
    kept = [axis for axis in range(x.ndim) if axis not in reduced]
    rows = x.transpose(*kept, *reduced).reshape(
        int(np.prod([x.shape[axis] for axis in kept], dtype=np.int64)),
        int(np.prod([x.shape[axis] for axis in reduced], dtype=np.int64)),
    )
    result = np.full(len(rows), start)
    if rows.shape[1] < len(rows):
        for place in range(rows.shape[1]):
            ufunc(result, rows[:, place], out=result)
    elif rows.size:
        # A scan takes one element after the other by definition, a reduction in any order.
        count = max(1, _BLOCK // rows.shape[1])
        for first in range(0, len(rows), count):
            block = rows[first : first + count].astype(np.float64)
            result[first : first + count] = ufunc.accumulate(block, axis=1, out=block)[:, -1]
    return result.reshape([1 if axis in reduced else size for axis, size in enumerate(x.shape)])
