"""Streaming statistics of a value, which profiling collects from observed arrays and can merge.

The statistics of float arrays are minimum, maximum, mean, standard deviation, a histogram, ranges for each index of an
axis, and averages over batches. All of these cover only finite values; infinities are counted separately, because minus
infinity comes from masks and is not part of a range. NaN is an error. Memory does not grow with the number of arrays.
Counts, ranges and histograms depend only on the values, and merge in any order. Sums over several arrays, and averages
over batches, depend on the order of the arrays, so profiling adds them one run at a time, in the order of the runs.
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from qmlir import registry
from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.histogram import BINS, Histogram
from qmlir.arithmetic.moments import Moments, sum_of
from qmlir.arithmetic.schemes import F64

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
        super().__init__(
            f"values must not contain NaN, but {self.nans} of {flat.size} are NaN (the first at index {self.first})"
        )


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
        pairs = {"totals": self.totals, "first": self.first, "moving": self.moving}
        return {"momentum": self.momentum, "count": self.count, **{name: list(each) for name, each in pairs.items()}}

    @staticmethod
    def from_dict(fields: dict[str, Any]) -> "BatchRanges":
        """Restores the result of `to_dict`, from this version or version 0.1."""
        low, high = (sum_of(total) for total in fields["totals"])
        ends = ((float(each[0]), float(each[1])) for each in (fields["first"], fields["moving"]))
        return BatchRanges(float(fields["momentum"]), int(fields["count"]), (low, high), *ends)


def _no_ranges() -> F64:
    return np.zeros(0, np.float64)


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
    axis_minima: F64 = field(default_factory=_no_ranges)
    axis_maxima: F64 = field(default_factory=_no_ranges)
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
