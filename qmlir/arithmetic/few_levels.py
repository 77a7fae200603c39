"""Scales of the least squared error for ternary weights, `a * {-1, 0, 1}`, and for binary ones, `a * {-1, 1}`.

With weights `w` and codes `t`, the error `sum (w - a t)^2` is `sum w^2 - 2 a P + a^2 k`, where `k` codes are not 0 and
`P` is the sum of `|w|` there. Of binary weights all `k` are there, so `a = P / k`, the mean of `|w|` (Rastegari et al.,
XNOR-Net, 2016). For ternary ones `a = P / k` leaves `sum w^2 - P^2 / k`, and the best `k` are the largest: `P` is a
prefix sum of the sorted `|w|`, and the largest `P^2 / k` is the optimum that Li et al. (Ternary Weight Networks, 2016)
approximate by a threshold. There the nearest codes are those of these `k`: were one below `a / 2` among them, or one
above it left out, `P^2 / k` would be larger without it, or with it.
"""

import numpy as np
import numpy.typing as npt

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.schemes import F64

_ELEMENTS = 1 << 22
"""Weights that are sorted at a time, in whole rows."""

_POWERS = 24
"""Powers of two below the largest weight that may be best: below, even `2^22` weights gain less than the largest."""


def ternary_scales(rows: npt.NDArray[np.float32], *, is_power_of_two: bool = False) -> F64:
    """The best scale of the ternary codes of each row, `[rows]` of `[rows, weights]`; 0 where all are 0."""
    count = max(_ELEMENTS // max(rows.shape[1], 1), 1)
    best = _best_power if is_power_of_two else _best_mean
    parts = [best(*_sorted(rows[first : first + count])) for first in range(0, len(rows), count)]
    return np.concatenate(parts) if parts else np.zeros(0)


def binary_scales(rows: npt.NDArray[np.float32], *, is_power_of_two: bool = False) -> F64:
    """The best scale of the signs of each row, `[rows]` of `[rows, weights]`; 0 where all are 0."""
    means = np.abs(rows).mean(axis=1, dtype=np.float64)
    if not is_power_of_two:
        return means
    fraction, exponent = np.frexp(means)  # the error is a parabola about the mean: below 3/4 the lower power is nearer
    return np.where(means > 0, np.ldexp(1.0, exponent - (fraction < 0.75)), 0.0)


def _sorted(rows: npt.NDArray[np.float32]) -> tuple[F64, F64]:
    """Magnitudes, the largest first, and the sums of the first ones."""
    magnitudes = -np.sort(-np.abs(rows), axis=1).astype(np.float64)
    return magnitudes, np.cumsum(magnitudes, axis=1)


def _best_mean(magnitudes: F64, sums: F64) -> F64:
    if not magnitudes.shape[1]:
        return np.zeros(len(magnitudes))
    counts = np.arange(1.0, magnitudes.shape[1] + 1)
    best = np.argmax(np.square(sums) / counts, axis=1)
    return np.asarray(sums[np.arange(len(sums)), best] / counts[best])


def _best_power(magnitudes: F64, sums: F64) -> F64:
    found, gains = np.zeros(len(magnitudes)), np.zeros(len(magnitudes))
    largest = magnitudes.max(axis=1, initial=0.0)
    whole = np.pad(sums, ((0, 0), (1, 0)))
    for below in range(-1, _POWERS):
        scales = np.where(largest > 0, np.ldexp(1.0, np.frexp(largest)[1] - 1 - below), 0.0)
        counts = (magnitudes > scales[:, np.newaxis] / 2).sum(axis=1)
        gained = 2 * scales * whole[np.arange(len(whole)), counts] - np.square(scales) * counts
        is_better = gained > gains
        found, gains = np.where(is_better, scales, found), np.where(is_better, gained, gains)
    return found


def signs(weights: Array) -> Array:
    """-1 below 0, and 1 elsewhere."""
    found: Array = np.where(weights < 0, -1, 1).astype(weights.dtype)
    return found


def beyond_zero(weights: Array, scales: Array) -> Array:
    """`weights` with magnitudes of at least `scales`, which the nearest codes other than 0 are of."""
    return signs(weights) * np.maximum(np.abs(weights), scales.astype(weights.dtype))
