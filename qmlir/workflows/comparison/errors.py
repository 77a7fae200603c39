"""The error of one value against its reference, summed up over samples without keeping any."""

import math
from dataclasses import dataclass, field

import numpy as np

from qmlir.arithmetic.arrays import Array


def sqnr(signal: float, noise: float) -> float:
    """`10 log10(signal / noise)` of two sums of squares, in decibels; infinite without noise."""
    if noise == 0:
        return math.inf
    if math.isinf(noise):
        return -math.inf
    return 10 * math.log10(signal / noise) if signal else -math.inf


@dataclass
class ErrorSums:
    """Sums over the differences so far, in f64.

    Elements that are equal infinities, or NaN on both sides, differ by nothing and count for no signal. One that is not
    finite on one side only makes all errors infinite.
    """

    elements: int = 0
    signal: float = 0.0
    """The sum of the squares of the reference."""

    noise: float = 0.0
    """The sum of the squares of the differences."""

    sizes: float = 0.0
    """The sum of the absolute differences."""

    max_error: float = 0.0
    largest: float = 0.0

    def add(self, reference: Array, found: Array) -> None:
        """Add arrays of one shape."""
        exact, other = reference.astype(np.float64), found.astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            differences = np.abs(other - exact)
        is_finite = np.isfinite(exact)
        if not is_finite.all() or not np.isfinite(other).all():
            is_same = (exact == other) | (np.isnan(exact) & np.isnan(other))
            differences = np.where(is_same, 0.0, np.where(np.isfinite(differences), differences, np.inf))
            exact = np.where(is_finite, exact, 0.0)
        self.elements += exact.size
        self.signal += float((exact**2).sum())
        self.noise += float((differences**2).sum())
        self.sizes += float(differences.sum())
        self.max_error = max(self.max_error, float(differences.max(initial=0.0)))
        self.largest = max(self.largest, float(np.abs(exact).max(initial=0.0)))

    @property
    def sqnr_db(self) -> float:
        """The ratio of signal to noise in decibels."""
        return sqnr(self.signal, self.noise)

    def mean(self, total: float) -> float:
        """`total / elements`."""
        return total / self.elements if self.elements else 0.0


def _are_directions(rows: Array) -> bool:
    """Whether rows have length 1, and numbers below 0, which probabilities have not."""
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
    return bool((rows < 0).any() and np.allclose(lengths, 1, rtol=0, atol=1e-3))


FEWEST_CLASSES, MOST_CLASSES = 2, 100_000
"""How many elements the last axis of an output has whose largest elements are compared."""

FIRST = 0.05
"""The share of a row whose largest elements are neighbors on a map, and as good as the largest one; 1 at least."""


@dataclass
class TopOne:
    """How often two outputs of floats have their largest number along the last axis at the same place."""

    rows: int = 0
    equal: int = 0
    wrong: int = 0
    """Rows in which the place that was found is not among the first 5% of the reference."""

    is_scores: bool = field(default=True)
    """Whether the last axis of all outputs so far has 2 to 100,000 elements."""

    are_directions: bool = field(default=True)
    """Whether all were embeddings of length 1, of which no element stands for a class."""

    def add(self, reference: Array, found: Array) -> None:
        """Add outputs of one shape."""
        classes = reference.shape[-1] if reference.ndim else 0
        self.is_scores &= FEWEST_CLASSES <= classes <= MOST_CLASSES and reference.dtype.kind not in "iub"
        if not self.is_scores or not reference.size:
            return
        one, other = (each.reshape(-1, classes).astype(np.float64) for each in (reference, found))
        self.are_directions &= reference.ndim == 2 and _are_directions(one)
        first, second = one.argmax(axis=1), other.argmax(axis=1)
        self.rows += len(one)
        self.equal += int((first == second).sum())
        unequal = np.flatnonzero(first != second)
        larger = one[unequal] > one[unequal, second[unequal], None]
        self.wrong += int((larger.sum(axis=1) >= max(1.0, FIRST * classes)).sum())

    @property
    def share(self) -> float | None:
        """The fraction of rows, `0 <= share <= 1`; `None` for outputs that are not compared so."""
        return self.equal / self.rows if self.is_scores and self.rows else None
