"""A histogram whose range grows with the data, and which merges with others without interpolation.

Bins have width `2^exponent` and are anchored at 0: bin `i` holds `i * 2^exponent <= x < (i + 1) * 2^exponent`. If the
range outgrows the bins, adjacent pairs of bins are merged. The exponent is the smallest one for which the range,
extended to contain 0, needs at most `bins` bins. A histogram thus depends only on its values, regardless of their order
and partition, and two histograms merge exactly.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.schemes import F64, I64

BINS = 2048
"""The default number of bins, as in TensorRT and PyTorch's HistogramObserver."""

BIN_LIMITS = (2, 1 << 16)

SMALLEST_EXPONENT = -1074
"""The minimum exponent: bins are at least as wide as the smallest positive f64."""

_CHUNK = 1 << 16  # elements at a time: intermediate arrays stay in the cache
_F32_EXPONENTS = (-127, 0)  # x * 2^-exponent is exact in f32


def _bin(value: float, exponent: int) -> int:
    index = math.floor(math.ldexp(value, -exponent))
    return -1 if value < 0 and index == 0 else index  # a product that underflows loses its sign


def _exponent(low: float, high: float, bins: int) -> int:
    """Returns the smallest exponent for which the range, extended to contain 0, needs at most `bins` bins."""
    low, high = min(low, 0.0), max(high, 0.0)
    if low == high:
        return SMALLEST_EXPONENT
    # With an exponent one smaller, the larger end alone would be `bins` bins from 0.
    exponent = max(math.frexp(max(-low, high))[1] - 1 - (bins - 1).bit_length(), SMALLEST_EXPONENT)
    while _bin(high, exponent) - _bin(low, exponent) >= bins:
        exponent += 1
    return exponent


def _indices(values: Array, exponent: int) -> Array:
    """Returns the bin of each value as an integral float."""
    first, last = _F32_EXPONENTS
    if values.dtype == np.float32 and first <= exponent <= last:
        return np.floor(values * np.float32(2.0**-exponent))
    exact = values.astype(np.float64)
    if exponent <= 0:  # in two factors that f64 represents
        return np.floor(exact * 2.0 ** (-exponent // 2) * 2.0 ** (-exponent - -exponent // 2))
    indices = np.floor(np.ldexp(exact, -exponent))
    return np.where(exact < 0, np.minimum(indices, -1), indices)


def _no_counts() -> I64:
    return np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class Histogram:
    """The number of values in each bin: `counts[j]` belongs to bin `first + j`. The first and last bin are not empty.

    `bins` is the maximum number of bins for the range extended to contain 0. Without values, `counts` is empty.
    """

    bins: int = BINS
    exponent: int = SMALLEST_EXPONENT
    first: int = 0
    counts: I64 = field(default_factory=_no_counts)

    def __post_init__(self) -> None:
        low, high = BIN_LIMITS
        if not low <= self.bins <= high:
            raise ValueError(f"number of histogram bins must be in [{low}, {high}], but got {self.bins}")

    @staticmethod
    def of(values: Array, low: float, high: float, bins: int = BINS) -> "Histogram":
        """Returns the histogram of one-dimensional, finite f32 or f64 `values` whose range is `[low, high]`."""
        if values.size == 0:
            return Histogram(bins)
        exponent = _exponent(low, high, bins)
        first, size = _bin(low, exponent), _bin(high, exponent) - _bin(low, exponent) + 1
        counts = np.zeros(size, np.int64)
        for start in range(0, values.size, _CHUNK):
            indices = _indices(values[start : start + _CHUNK], exponent)
            counts += np.bincount((indices - first).astype(np.intp), minlength=size)
        return Histogram(bins, exponent, first, counts)

    @property
    def total(self) -> int:
        """The number of values."""
        return int(self.counts.sum())

    @property
    def edges(self) -> F64:
        """The edges of the bins, one more than there are counts."""
        with np.errstate(over="ignore"):  # beyond the largest f64
            return np.ldexp(np.arange(self.first, self.first + self.counts.size + 1, dtype=np.float64), self.exponent)

    @property
    def width(self) -> float:
        """The width of a bin."""
        return math.ldexp(1.0, self.exponent)

    def coarsened(self, exponent: int) -> "Histogram":
        """Returns the histogram with bins of width `2^exponent`; `exponent` must be at least the current one."""
        shift = min(exponent - self.exponent, 63)
        if shift <= 0 or self.counts.size == 0:
            return self
        indices = np.arange(self.first, self.first + self.counts.size, dtype=np.int64) >> shift
        counts = np.zeros(int(indices[-1] - indices[0]) + 1, np.int64)
        np.add.at(counts, indices - indices[0], self.counts)
        return Histogram(self.bins, exponent, int(indices[0]), counts)

    def merged(self, other: "Histogram") -> "Histogram":
        """Returns the histogram of the values in both histograms. Raises `ValueError` if they have different `bins`."""
        if self.bins != other.bins:
            raise ValueError(f"cannot merge histograms of {self.bins} and {other.bins} bins")
        if self.counts.size == 0 or other.counts.size == 0:
            return self if other.counts.size == 0 else other
        exponent = max(self.exponent, other.exponent)
        while True:
            parts = (self.coarsened(exponent), other.coarsened(exponent))
            first = min(part.first for part in parts)
            last = max(part.first + part.counts.size - 1 for part in parts)
            if max(last, 0) - min(first, 0) < self.bins:
                break
            exponent += 1
        counts = np.zeros(last - first + 1, np.int64)
        for part in parts:
            counts[part.first - first :][: part.counts.size] += part.counts
        return Histogram(self.bins, exponent, first, counts)

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as integers, for JSON."""
        fields = {"bins": self.bins, "exponent": self.exponent, "first": self.first}
        return {**fields, "counts": self.counts.tolist()}

    @staticmethod
    def from_dict(fields: dict[str, Any]) -> "Histogram":
        """Restores a histogram from the result of `to_dict`."""
        counts = np.array(fields["counts"], np.int64)
        return Histogram(int(fields["bins"]), int(fields["exponent"]), int(fields["first"]), counts)
