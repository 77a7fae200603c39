"""Streaming statistics of a value, which profiling collects from observed arrays and can merge.

The statistics of float arrays are minimum, maximum, mean, standard deviation, a histogram, ranges for each index of an
axis, and averages over batches. All of these cover only finite values; infinities are counted separately, because minus
infinity comes from masks and is not part of a range. NaN is an error. Memory does not grow with the number of arrays.
Counts, ranges and histograms depend only on the values, and merge in any order. Sums over several arrays, and averages
over batches, depend on the order of the arrays, so profiling adds them one run at a time, in the order of the runs.
"""

import json
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, cast

import numpy as np

from qmlir import registry
from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.schemes import F64, I64

# Sums of values and squares, for mean and deviation, that do not depend on the order of the values within a run.
#
# Each value is divided by the power of two above the largest magnitude in the run, and rounded to a multiple of a unit.
# The multiples are integers, which can be added in any order. The unit is large enough that their sum fits in 63 bits,
# and small enough that rounding errors do not exceed those of plain f64 sums. Squares are summed in the same way. The
# sums of several runs are added in f64, in the order of the runs.

_SUMMED_CHUNK = 1 << 13
"""The number of elements summed at a time, so that intermediate arrays stay in the L1 and L2 caches."""

_SMALLEST_RUN_EXPONENT = -1000
"""The smallest exponent of a run: the reciprocal of this power of two is still a normal f64."""

_MOST = sys.float_info.max

_LARGEST_DENOMINATOR = 2 * 1074
"""The exponent of 2 in the denominator of the square of the smallest f64."""


AGREEMENT = 1e-7
"""The tolerance of mean and deviation, relative to the largest magnitude, between the exact sums of version 0.1 and f64
sums."""

SPARE_BITS = 10
"""The number of bits by which an i64 sum may be wider than a multiple of the unit."""


def rounding_addend(count: int) -> float:
    """Returns an f64 `1.5 * 2^b` for sums of `count` values: adding it to `|y| < 1` rounds `y` to a multiple of the
    unit.

    The unit is the last bit of numbers near the addend, `2^(b - 52)`, so the multiple is the difference between the
    bits of the sum and of the addend. `b` is the width of `count` minus `SPARE_BITS`, but at least 1, so that a sum of
    multiples is below 2^62.
    """
    return 1.5 * 2.0 ** max(count.bit_length() - SPARE_BITS, 1)


def run_sums(values: Array, magnitudes: F64) -> F64:
    """Returns, for each run, the sum of the values and the sum of their squares, `[runs, 2]`.

    Args:
        values: Finite f32 or f64, `[repeats, runs, elements]`.
        magnitudes: The largest magnitude in each run.
    """
    repeats, runs, inner = values.shape
    units = np.zeros((runs, 2), np.int64)
    addend = rounding_addend(repeats * inner)
    exponents = np.maximum(np.frexp(magnitudes)[1], _SMALLEST_RUN_EXPONENT)
    scales = np.ldexp(1.0, -exponents)[:, None]
    wide, width = max(_SUMMED_CHUNK // max(inner, 1), 1), min(max(inner, 1), _SUMMED_CHUNK)
    memory = np.empty((2, wide * width))
    for repeat in range(repeats):
        for first in range(0, runs, wide):
            part = slice(first, first + wide)
            for begin in range(0, inner, _SUMMED_CHUNK):
                chunk = values[repeat, part, begin : begin + _SUMMED_CHUNK]
                scaled, squares = (each[: chunk.size].reshape(chunk.shape) for each in memory)
                np.multiply(chunk, scales[part], out=scaled, dtype=np.float64)
                np.multiply(scaled, scaled, out=squares)
                for position, terms in enumerate((scaled, squares)):
                    terms += addend
                    # The bits of the addend are subtracted at the end: the sum is modulo 2^64.
                    units[part, position] += terms.view(np.int64).sum(axis=1)
    units -= np.float64(addend).view(np.int64) * np.array([repeats * inner])  # an array overflows without a warning
    unit = math.ulp(addend)
    with np.errstate(over="ignore"):
        return np.clip(np.ldexp(units * unit, np.stack([exponents, 2 * exponents], axis=1)), -_MOST, _MOST)


def sum_of(value: Any) -> float:
    """Parses a sum from a file: a number or, in version 0.1, an exact fraction (numerator, exponent of the
    denominator).

    Raises `ValueError` for anything else, and for an exponent that no sum of floats can have.
    """
    if type(value) is float and math.isfinite(value):
        return value
    parts = cast(list[Any], value) if isinstance(value, list) else []
    if len(parts) != 2 or not all(type(each) is int for each in parts) or not 0 <= parts[1] <= _LARGEST_DENOMINATOR:
        found = str(cast(Any, value))[:40]
        raise ValueError(f"a sum must be a float, or a whole number and an exponent, but got {found}")
    try:
        return float(Fraction(parts[0], 1 << parts[1]))
    except OverflowError:
        return math.copysign(_MOST, parts[0])


@dataclass(frozen=True)
class Moments:
    """The number of values, the number of zeros among them, and the sums of the values and of their squares.

    If a sum overflows f64, which can happen only for f64 values, it saturates to the largest f64.
    """

    count: int = 0
    zeros: int = 0
    total: float = 0.0
    squares: float = 0.0

    def __post_init__(self) -> None:
        for name in ("total", "squares"):
            object.__setattr__(self, name, min(max(getattr(self, name), -_MOST), _MOST))

    @staticmethod
    def of(values: Array, magnitude: float) -> "Moments":
        """Returns the sums of one run: contiguous finite f32 or f64 values with the largest magnitude `magnitude`."""
        sums = run_sums(values.reshape(1, 1, -1), np.array([magnitude]))[0]
        return Moments(values.size, int(np.count_nonzero(values == 0)), *map(float, sums))

    def merged(self, other: "Moments") -> "Moments":
        """Returns the sums over the values on both sides; the last bits depend on the order of merges."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Moments(*(mine + its for mine, its in pairs))

    @property
    def mean(self) -> float:
        """The mean. Raises `ZeroDivisionError` if there are no values."""
        return self.total / self.count

    @property
    def deviation(self) -> float:
        """The population's standard deviation, infinite if the sum of squares overflows f64. Raises `ZeroDivisionError`
        if there are no values."""
        if self.squares == _MOST:
            return math.inf
        return math.sqrt(max(self.squares / self.count - self.mean * self.mean, 0.0))

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as numbers that JSON represents exactly."""
        return dict(vars(self))

    @staticmethod
    def from_dict(fields: dict[str, Any]) -> "Moments":
        """Restores the result of `to_dict`, from this version or version 0.1. Raises `ValueError` for impossible
        counts."""
        count, zeros = int(fields["count"]), int(fields["zeros"])
        if not 0 <= zeros <= count:
            raise ValueError(f"the number of zeros must be in [0, {count}], but got {zeros}")
        return Moments(count, zeros, sum_of(fields["total"]), sum_of(fields["squares"]))


# A histogram whose range grows with the data, and which merges with others without interpolation.
#
# Bins have width `2^exponent` and are anchored at 0: bin `i` holds `i * 2^exponent <= x < (i + 1) * 2^exponent`. If the
# range outgrows the bins, adjacent pairs of bins are merged. The exponent is the smallest one for which the range,
# extended to contain 0, needs at most `bins` bins. A histogram thus depends only on its values, regardless of their
# order and partition, and two histograms merge exactly.

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


@dataclass(frozen=True, eq=False)
class Histogram:
    """The number of values in each bin: `counts[j]` belongs to bin `first + j`. The first and last bin are not empty.

    `bins` is the maximum number of bins for the range extended to contain 0. Without values, `counts` is empty.
    """

    bins: int = BINS
    exponent: int = SMALLEST_EXPONENT
    first: int = 0
    counts: I64 = field(default_factory=lambda: np.zeros(0, np.int64))

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
        return {**vars(self), "counts": self.counts.tolist()}

    @staticmethod
    def from_dict(fields: dict[str, Any]) -> "Histogram":
        """Restores a histogram from the result of `to_dict`."""
        counts = np.array(fields["counts"], np.int64)
        return Histogram(int(fields["bins"]), int(fields["exponent"]), int(fields["first"]), counts)


# Observers of packages: additional data about observed arrays, for the packages' own calibrators.


@dataclass(frozen=True)
class Observer:
    """A pair of functions that collect and merge data; the data must be exactly representable in JSON."""

    of: Callable[[Array], Any]
    """Returns the data for one array of finite floats in its run-time shape, including the batch axis."""

    merge: Callable[[Any, Any], Any]
    """Merges the data of two consecutive groups of samples, in sample order.

    The function must be associative, so that the result does not depend on how samples are grouped.
    """


def observer_names() -> list[str]:
    """Returns the sorted names of all observers."""
    return sorted(registry.named("observers"))


def _checked(row: registry.Named, function: Callable[..., Any], *arguments: Any) -> Any:
    found = row.call(function, *arguments)
    try:
        text = json.dumps(found, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise row.error(f"must return data that JSON can represent: {error}", function) from error
    if json.loads(text) != found:
        raise row.error(f"must return data that JSON represents exactly, but returned {text[:60]}", function)
    return found


def kept_of(name: str, values: Array) -> Any:
    """Returns the data that observer `name` collects from an array. Raises `PackageError` if it fails."""
    row = registry.named("observers")[name]
    return _checked(row, row.load(Observer).of, values)


def merged_kept(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Merges the data on both sides, per observer. Raises `PackageError` if an observer fails or is missing."""
    found = {**one, **other}
    for name in one.keys() & other.keys():
        row = registry.named("observers").get(name)
        if row is None:
            raise registry.PackageError(f"cannot merge data of observer '{name}': no installed package provides it")
        found[name] = _checked(row, row.load(Observer).merge, one[name], other[name])
    return found


class NotANumberError(ValueError):
    """Raised if values contain NaN. The caller that catches the error adds the name of the value."""

    def __init__(self, values: Array) -> None:
        flat = values.reshape(-1)
        self.nans = int(np.isnan(flat).sum())
        """The number of NaNs."""
        self.first = int(np.flatnonzero(np.isnan(flat))[0])
        """The flat index of the first NaN, in row-major order."""
        found = f"{self.nans} of {flat.size} are NaN (the first at index {self.first})"
        super().__init__(f"values must not contain NaN, but {found}")


def finite_values(values: Array) -> tuple[Array, tuple[int, int]]:
    """Returns the finite elements of `values` (`values` itself if all are), and the numbers of minus and plus infinity.

    Raises `NotANumberError` if there is a NaN.
    """
    low, high = values.min(initial=np.inf), values.max(initial=-np.inf)
    if not values.size or (np.isfinite(low) and np.isfinite(high)):
        return values, (0, 0)
    if np.isnan(low):
        raise NotANumberError(values)
    counts = int(np.isneginf(values).sum()), int(np.isposinf(values).sum())
    return values[np.isfinite(values)], counts


@dataclass(frozen=True)
class Summary:
    """A summary of `count` values: range, mean and (population) standard deviation, in f64."""

    count: int
    minimum: float
    maximum: float
    mean: float
    deviation: float


@dataclass(frozen=True)
class BatchRanges:
    """Averages of the batch minima and batch maxima: the plain mean, and a moving average.

    The moving average starts at the first batch and moves towards each further one by the fraction `momentum` of the
    distance (ONNX Runtime's `averaging_constant`).
    """

    momentum: float
    count: int = 0
    totals: tuple[float, float] = (0.0, 0.0)
    """The sums of the minima and of the maxima, in batch order."""
    first: tuple[float, float] = (0.0, 0.0)
    """The minimum and maximum of the first batch."""
    moving: tuple[float, float] = (0.0, 0.0)
    """The moving averages of the minima and of the maxima."""

    def __post_init__(self) -> None:
        if not 0 < self.momentum <= 1:
            raise ValueError(f"momentum must be in (0, 1], but got {self.momentum}")

    @property
    def mean(self) -> tuple[float, float]:
        """The means of the minima and of the maxima."""
        return self.totals[0] / self.count, self.totals[1] / self.count

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as numbers and lists that JSON represents exactly."""
        return {name: list(cast(Any, each)) if isinstance(each, tuple) else each for name, each in vars(self).items()}

    @staticmethod
    def from_dict(fields: dict[str, Any]) -> "BatchRanges":
        """Restores the result of `to_dict`, from this version or version 0.1."""
        low, high = (sum_of(total) for total in fields["totals"])
        ends = ((float(each[0]), float(each[1])) for each in (fields["first"], fields["moving"]))
        return BatchRanges(float(fields["momentum"]), int(fields["count"]), (low, high), *ends)


def _exact(values: Array) -> Array:
    """Converts to f32, or to f64 if f32 cannot represent the type: f64 and integers."""
    is_wide = values.dtype.itemsize > 4 or values.dtype.kind in "iub"
    return np.asarray(values, np.float64 if is_wide else np.float32, order="C")


@dataclass(frozen=True, eq=False, repr=False)
class Statistics:
    """The statistics of all observed values, empty by default. All fields except `infinities` cover only finite values.

    `axis_minima` and `axis_maxima` have shape `[size of the axis]`, and are empty without an axis. To stream batches,
    use `statistics = statistics.merged(Statistics.of(batch))`.
    """

    minimum: float = math.inf
    maximum: float = -math.inf
    moments: Moments = field(default_factory=Moments)
    histogram: Histogram = field(default_factory=Histogram)
    axis: int | None = None
    axis_minima: F64 = field(default_factory=lambda: np.zeros(0))
    axis_maxima: F64 = field(default_factory=lambda: np.zeros(0))
    batches: BatchRanges | None = None
    kept: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The data of package observers, by observer name."""
    infinities: tuple[int, int] = (0, 0)
    """The numbers of minus and plus infinity."""

    @staticmethod
    def of(values: Array, *, bins: int = BINS) -> "Statistics":
        """Returns the statistics of one array of any float type, or of integers of magnitude below 2^53.

        `bins` is the maximum number of histogram bins. An empty array yields empty statistics. Raises `NotANumberError`
        if there is a NaN.
        """
        exact, infinities = finite_values(_exact(values))
        low, high = float(exact.min(initial=np.inf)) + 0.0, float(exact.max(initial=-np.inf)) + 0.0
        flat = exact.reshape(-1)
        moments, histogram = Moments.of(flat, max(-low, high, 0.0)), Histogram.of(flat, low, high, bins)
        return Statistics(low, high, moments, histogram, infinities=infinities)

    def merged(self, other: "Statistics") -> "Statistics":
        """Returns the statistics of the values on both sides; the order affects only the last bits of sums.

        Averages over batches depend on the order of runs, so `qmlir.interpreter.observers` adds them at the end of a
        run. Raises `ValueError` if either side has such averages, or if the sides have ranges along different axes or
        histograms of different sizes.
        """
        low, high = (mine + its for mine, its in zip(self.infinities, other.infinities, strict=True))
        if not self.count or not other.count:
            # Statistics of no values may be a mere start, without options.
            return replace(other if not self.count else self, infinities=(low, high))
        if any(each.batches is not None for each in (self, other)):
            raise ValueError("cannot merge statistics with per-batch averages")
        if self.axis != other.axis or self.axis_minima.shape != other.axis_minima.shape:
            raise ValueError(f"cannot merge statistics with ranges along different axes, {self.axis} and {other.axis}")
        return Statistics(
            min(self.minimum, other.minimum),
            max(self.maximum, other.maximum),
            self.moments.merged(other.moments),
            self.histogram.merged(other.histogram),
            self.axis,
            np.minimum(self.axis_minima, other.axis_minima),
            np.maximum(self.axis_maxima, other.axis_maxima),
            kept=merged_kept(self.kept, other.kept),
            infinities=(low, high),
        )

    @property
    def count(self) -> int:
        """The number of finite values."""
        return self.moments.count

    @property
    def is_empty(self) -> bool:
        """Whether nothing was observed, not even infinities."""
        return not self.count and not any(self.infinities)

    @property
    def mean(self) -> float:
        """The mean of all values, clamped to their range. Raises `ValueError` if there are no values."""
        return self._of_some(lambda: min(max(self.moments.mean, self.minimum), self.maximum))

    @property
    def deviation(self) -> float:
        """The population's standard deviation, at most half the range. Raises `ValueError` if there are no values.

        The bound, which is Popoviciu's inequality, ensures that equal values have deviation 0 regardless of rounding.
        """
        return self._of_some(lambda: min(self.moments.deviation, self.maximum / 2 - self.minimum / 2))

    @property
    def spread(self) -> float:
        """The mean of `|x - mean|` from the histogram, accurate to half a bin. Raises `ValueError` if there are no
        values."""
        mean = self.mean
        edges = np.clip(self.histogram.edges, self.minimum, self.maximum)
        distances = np.abs((edges[:-1] + edges[1:]) / 2 - mean)
        return float(distances @ self.histogram.counts) / self.count

    @property
    def summary(self) -> Summary:
        """The statistics that `#calib.stats` holds. Raises `ValueError` if there are no values."""
        return Summary(self.count, self.minimum, self.maximum, self.mean, self.deviation)

    def _of_some(self, function: Callable[[], float]) -> float:
        if not self.count:
            raise ValueError("cannot summarize zero values")
        return function()

    def __repr__(self) -> str:
        if not self.count:
            return "no numbers"
        spread = f"mean {self.mean:.4g}, standard deviation {self.deviation:.4g}"
        return f"{self.count} numbers, {self.minimum:.6g} to {self.maximum:.6g}, {spread}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Statistics) and self.to_dict() == other.to_dict()

    def to_dict(self) -> dict[str, Any]:
        """Returns plain numbers, lists and dicts that JSON represents exactly, for `from_dict`."""
        return {
            "range": [self.minimum, self.maximum] if self.count else [],
            "moments": self.moments.to_dict(),
            "histogram": self.histogram.to_dict(),
            "axis": self.axis,
            "axis_minima": self.axis_minima.tolist() if self.count else [],
            "axis_maxima": self.axis_maxima.tolist() if self.count else [],
            "batches": None if self.batches is None else self.batches.to_dict(),
            "kept": dict(self.kept),
            "infinities": list(self.infinities),
        }

    @staticmethod
    def from_dict(fields: dict[str, Any]) -> "Statistics":
        """Restores the result of `to_dict`. Raises `ValueError` if a field is missing or has another type."""
        try:
            known = Statistics(
                moments=Moments.from_dict(fields["moments"]),
                histogram=Histogram.from_dict(fields["histogram"]),
                axis=None if fields["axis"] is None else int(fields["axis"]),
                axis_minima=np.array(fields["axis_minima"], np.float64),
                axis_maxima=np.array(fields["axis_maxima"], np.float64),
                batches=None if fields["batches"] is None else BatchRanges.from_dict(fields["batches"]),
                kept=dict(fields["kept"]),
            )
            low, high = fields["range"] or (math.inf, -math.inf)
            negative, positive = (int(number) for number in fields["infinities"])
            return replace(known, minimum=float(low), maximum=float(high), infinities=(negative, positive))
        except KeyError as error:
            raise ValueError(f'missing field "{error.args[0]}"') from error
        except (TypeError, IndexError, OverflowError) as error:
            raise ValueError(f"invalid statistics: {error}") from error
