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


@dataclass
class TopOne:
    """How often two outputs of class scores have their largest number at the same class."""

    samples: int = 0
    equal: int = 0
    is_scores: bool = field(default=True)
    """Whether all outputs so far were of the shape [samples, classes], of more than one class."""

    are_directions: bool = field(default=True)
    """Whether all were embeddings of length 1, of which no element stands for a class."""

    def add(self, reference: Array, found: Array) -> None:
        """Add outputs of one shape."""
        self.is_scores &= reference.ndim == 2 and reference.shape[1] > 1
        if self.is_scores:
            self.are_directions &= _are_directions(reference)
            self.samples += len(reference)
            self.equal += int((reference.argmax(axis=1) == found.argmax(axis=1)).sum())

    @property
    def share(self) -> float | None:
        """The fraction of samples, `0 <= share <= 1`; `None` for outputs that are no class scores."""
        is_of_classes = self.is_scores and self.samples and not self.are_directions
        return self.equal / self.samples if is_of_classes else None
