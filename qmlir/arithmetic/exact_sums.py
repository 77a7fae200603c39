"""Exact sums of integer products, computed by float BLAS if bounds prove them exact; and the limits of such sums."""

from typing import Any

import numpy as np
import numpy.typing as npt

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.requantization import magnitude

Limits = tuple[int, int]

EXACT_FLOATS: tuple[tuple[type[np.floating[Any]], int], ...] = ((np.float32, 2**24), (np.float64, 2**53))
"""Float types, each with the bound below which it represents every integer and thus every partial sum in any order."""


def sum_dtype(left: int, right: int, terms: int) -> npt.DTypeLike:
    """Returns the fastest type in which sums of `terms` products are exact, for factors up to `left` and `right`."""
    largest = left * right * terms
    for dtype, bound in EXACT_FLOATS:
        if largest < bound:
            return dtype
    return np.int64 if largest < 2**63 else np.object_


def exact_matmul(left: Array, right: Array) -> Array:
    """Returns the matrix product of integers that are held in a `sum_dtype`, as int64 (or Python integers)."""
    return as_integers(np.matmul(left, right))


def as_integers(sums: Array) -> Array:
    """Converts integer sums held in a `sum_dtype` to int64 (or Python integers)."""
    return sums.astype(np.int64) if np.issubdtype(sums.dtype, np.floating) else sums


def limits_of_products(left: Limits, right: Limits, terms: int) -> Limits:
    """Returns the smallest and largest sum of `terms` products of factors within the limits `left` and `right`."""
    corners = [a * b for a in left for b in right]
    return min(corners) * terms, max(corners) * terms


def limits_of_sums(weights: Array, axes: tuple[int, ...], limits: tuple[Any, Any]) -> tuple[Array, Array]:
    """Returns the smallest and largest sums, along `axes`, of products of `weights` with integers within `limits`.

    Both results can occur, since each integer may take either limit. They are Python integers, which never overflow.
    """
    low, high = limits
    is_wide = weights.dtype == object or magnitude(weights) * weights.size >= 2**63
    wide: Any = object if is_wide else np.int64
    positive, negative = (
        np.asarray(part(weights, 0).sum(axis=axes, dtype=wide)).astype(object) for part in (np.maximum, np.minimum)
    )
    return positive * low + negative * high, positive * high + negative * low
