"""Statistics of the values of a float and a quantized model on samples, computed without storing the values.

The statistics of each value are the error, the range, the clipped fraction, histograms over common bins, and the range
of each channel. They are accumulated sample by sample.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from qmlir.arithmetic import statistics as fine
from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.schemes import F64
from qmlir.dialects.quant.infer import broadcast_parameters
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.extensions.report.model import ErrorFigures, HistogramPair
from qmlir.workflows.comparison.errors import ErrorSums

SHOWN_BINS = 64
"""The maximum number of histogram bins on the page."""


def _limits(type_: UniformQuantizedType, shape: tuple[int, ...], beyond: float = 0.0) -> tuple[F64, F64]:
    """Returns the smallest and the largest value of `type_`, widened by `beyond` steps, for a tensor of `shape`."""
    scales, zero_points = broadcast_parameters(type_, shape)
    low = (type_.storage_min - zero_points - beyond) * scales
    return low, (type_.storage_max - zero_points + beyond) * scales


@dataclass
class Side:
    """Statistics of a value in one of the two models."""

    axis: int | None = None
    """The channel axis, if there is one."""

    low: float = np.inf
    high: float = -np.inf
    histogram: fine.Histogram = field(default_factory=fine.Histogram)
    minima: F64 = field(default_factory=lambda: np.zeros(0))
    """The smallest value of each channel."""

    maxima: F64 = field(default_factory=lambda: np.zeros(0))

    def add(self, values: Array) -> None:
        """Updates the statistics with an array; values that are not finite are ignored."""
        if not values.size:
            return
        flat = np.ascontiguousarray(values, np.float32 if values.dtype.itemsize <= 4 else np.float64).reshape(-1)
        low, high = float(flat.min()), float(flat.max())
        if not (np.isfinite(low) and np.isfinite(high)):
            flat = flat[np.isfinite(flat)]
            low, high = float(flat.min(initial=0.0)), float(flat.max(initial=0.0))
        self.low, self.high = min(self.low, low), max(self.high, high)
        self.histogram = self.histogram.merged(fine.Histogram.of(flat, low, high))
        if self.axis is not None and values.ndim > self.axis:
            others = tuple(axis for axis in range(values.ndim) if axis != self.axis)
            low, high = values.min(axis=others).astype(np.float64), values.max(axis=others).astype(np.float64)
            self.minima = np.minimum(self.minima, low) if self.minima.size else low
            self.maxima = np.maximum(self.maxima, high) if self.maxima.size else high

    @property
    def constant(self) -> npt.NDArray[np.bool_]:
        """A mask of the channels whose values are all equal; empty without channels."""
        return self.minima == self.maxima


@dataclass
class ObservedPair:
    """Statistics of one value in both models, and the error between them."""

    type: UniformQuantizedType | None
    """The type in the quantized model; `None` for a float."""

    channel_axis: int | None = None
    is_limited: bool = False
    """True if the consumers clamp to the same range as the type; errors are then computed on clamped values."""

    errors: ErrorSums = field(default_factory=ErrorSums)
    outside: int = 0
    """The number of float values that lie more than half a step outside the range of the type."""

    seen: int = 0

    def __post_init__(self) -> None:
        self.float_side, self.quantized_side = Side(self.channel_axis), Side(self.channel_axis)

    def add(self, reference: Sequence[Array], found: Sequence[Array]) -> None:
        """Adds one run; `reference` and `found` hold an array for each time step of an unrolled layer.

        If the numbers of arrays differ, the last arrays correspond to each other.
        """
        steps = min(len(reference), len(found))
        for one, other in zip(reference[-steps:] if steps else (), found[-steps:] if steps else (), strict=True):
            if one.shape == other.shape:
                limited = (
                    np.clip(one, *_limits(self.type, one.shape)) if self.type is not None and self.is_limited else one
                )
                self.errors.add(limited, other)
                self.float_side.add(one)
                if self.type is not None:
                    low, high = _limits(self.type, one.shape, 0.5)
                    self.outside += int(np.count_nonzero((one < low) | (one > high)))
                    self.seen += one.size
        for each in found:
            self.quantized_side.add(each)

    @property
    def figures(self) -> ErrorFigures | None:
        """The error; `None` if the float model has no such value."""
        if not self.errors.elements:
            return None
        sqnr = self.errors.sqnr_db
        return ErrorFigures(
            None if sqnr == np.inf else max(sqnr, -999.0), self.errors.max_error, self.errors.mean(self.errors.sizes)
        )

    @property
    def clipped(self) -> float | None:
        """The fraction of float values outside the range of the type; `None` without a type or values."""
        return self.outside / self.seen if self.seen else None

    @property
    def range(self) -> tuple[float, float] | None:
        """The smallest and the largest float value, or quantized value if there are no float values."""
        side = self.float_side if self.float_side.histogram.counts.size else self.quantized_side
        return (side.low, side.high) if side.histogram.counts.size else None

    def quantile(self, share: float) -> float:
        """Returns the quantile `share`, in [0, 1], of the absolute float values, or 0 without values.

        The result has the precision of a histogram bin.
        """
        found = self.float_side.histogram
        if not found.counts.size:
            return 0.0
        sizes = np.maximum(np.abs(found.edges[:-1]), np.abs(found.edges[1:]))
        order = np.argsort(sizes, kind="stable")
        position = int(np.searchsorted(np.cumsum(found.counts[order]), share * found.total))
        return float(
            min(sizes[order][min(position, order.size - 1)], max(abs(self.float_side.low), self.float_side.high))
        )

    def shown(self) -> HistogramPair | None:
        """Returns both histograms over common bins, each at least as wide as the scale of the type."""
        sides = (self.float_side.histogram, self.quantized_side.histogram)
        known = [each for each in sides if each.counts.size]
        if not known:
            return None
        exponent = max(each.exponent for each in known)
        if self.type is not None and self.type.granularity is Granularity.TENSOR:
            exponent = max(exponent, int(np.ceil(np.log2(self.type.scale))))
        while True:
            coarse = [each.coarsened(exponent) for each in sides]
            filled = [each for each in coarse if each.counts.size]
            first = min(each.first for each in filled)
            count = max(each.first + each.counts.size for each in filled) - first
            if count <= SHOWN_BINS:
                break
            exponent += 1

        def placed(each: fine.Histogram) -> tuple[int, ...]:
            counts = np.zeros(count, np.int64)
            counts[each.first - first :][: each.counts.size] = each.counts
            return tuple(map(int, counts)) if each.counts.size else ()

        width = float(np.ldexp(1.0, exponent))
        return HistogramPair(first * width, width, placed(coarse[0]), placed(coarse[1]))
