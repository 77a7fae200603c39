"""Exact sums of products of integers: through BLAS in floats where a bound proves every partial sum exact."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

EXACT_FLOATS: tuple[tuple[type[np.floating[Any]], int], ...] = ((np.float32, 2**24), (np.float64, 2**53))
"""A float type, and the bound below which it holds every integer: so every partial sum, in any order, fused or not."""


def sum_dtype(left: int, right: int, terms: int) -> npt.DTypeLike:
    """The fastest type in which sums of `terms` products of integers up to `left` and `right` are exact."""
    largest = left * right * terms
    for dtype, bound in EXACT_FLOATS:
        if largest < bound:
            return dtype
    return np.int64 if largest < 2**63 else np.object_


def exact_matmul(left: Array, right: Array) -> Array:
    """The matrix product; of integers held as floats of `sum_dtype`, as int64 (or as Python's integers)."""
    product = np.matmul(left, right)
    return product.astype(np.int64) if np.issubdtype(product.dtype, np.floating) else product
