"""Calibrators, which choose the range that a quantized type covers from observed values; and losses for training."""

import inspect
import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from qmlir import registry
from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.schemes import F64, I64, Grid, Parameters, RangeError, Storage, parameters
from qmlir.arithmetic.statistics import BatchRanges, Statistics

# Calibrators map statistics of a value to the range that is quantized; values outside saturate.
#
# The inputs are `Statistics` and the `Grid` for which the range is chosen, never the values themselves. The output is a
# `Range` for `schemes.parameters`, inside the observed range extended to contain 0. A calibrator is a function
# whose keyword arguments are its options; packages list theirs in `Contribution.calibrators`.

Option = float | int | bool


class Range(NamedTuple):
    """The range of real values that a quantized type must cover."""

    minimum: float
    maximum: float


def _some(statistics: Statistics) -> Statistics:
    if not statistics.count:
        raise RangeError("cannot compute a range: no values were observed")
    return statistics


def _inside(statistics: Statistics, low: float, high: float) -> Range:
    """Returns the range clamped to the observed one; a rounded mean may lie outside if all values are equal."""
    low, high = (min(max(end, statistics.minimum), statistics.maximum) for end in (low, high))
    return Range(low, high)


def min_max(statistics: Statistics, grid: Grid, /) -> Range:
    """Chooses the observed minimum and maximum, so that no observed value saturates.

    For per-channel types, `statistics.axis_minima` and `axis_maxima` are used."""
    return Range(_some(statistics).minimum, statistics.maximum)


def _batches(statistics: Statistics) -> BatchRanges:
    batches = _some(statistics).batches
    if batches is None:
        raise ValueError("the statistics have no per-batch averages; profile with a momentum to record them")
    return batches


def moving_average(statistics: Statistics, grid: Grid, /) -> Range:
    """Chooses the moving averages of the batch minima and of the batch maxima, in batch order."""
    return _inside(statistics, *_batches(statistics).moving)


def batch_mean(statistics: Statistics, grid: Grid, /) -> Range:
    """Chooses the means of the batch minima and of the batch maxima, like ONNX Runtime's `moving_average`."""
    return _inside(statistics, *_batches(statistics).mean)


def percentile(statistics: Statistics, grid: Grid, /, *, percent: float = 99.999) -> Range:
    """Chooses the narrowest range of whole bins that contains `percent` of the values.

    The remaining values are cut off equally at both ends; with a symmetric scheme, the percentage refers to `|x|`. In
    ONNX Runtime, the upper end is one bin lower, so that it may cut off more values than requested.
    """
    if not 0 < percent <= 100:
        raise ValueError(f"percent must be in (0, 100], but got {percent}")
    histogram = _some(statistics).histogram
    outside = statistics.count * (1 - Fraction(str(percent)) / 100)  # 99.9 is not an f64: use its decimal digits
    if grid.scheme.is_symmetric:
        last = int(np.searchsorted(np.cumsum(_folded(statistics)), statistics.count - int(outside)))
        end = (last + 1) * histogram.width
        return _inside(statistics, -end, end)
    below = np.cumsum(histogram.counts)
    first = int(np.searchsorted(below, int(outside / 2), side="right"))
    last = int(np.searchsorted(below, statistics.count - int(outside / 2)))
    return _inside(statistics, float(histogram.edges[first]), float(histogram.edges[last + 1]))


def _folded(statistics: Statistics) -> I64:
    """Returns the histogram counts of `|x|`, from 0 upward."""
    counts = _centered(statistics)
    half = counts.size // 2
    return counts[half:] + counts[:half][::-1]


def _centered(statistics: Statistics) -> I64:
    """Returns the histogram counts, padded to a range centered at 0."""
    histogram = statistics.histogram
    end = histogram.first + histogram.counts.size
    half = max(-histogram.first, end)
    return np.pad(histogram.counts, (histogram.first + half, half - end))


SMOOTHING = 0.0001
"""The count of an empty bin when distributions are compared (ONNX Runtime, MXNet)."""


def _smoothed(distribution: F64) -> F64:
    """Smooths a distribution so that it has no zeros, and normalizes it."""
    is_zero = distribution == 0
    empty = int(is_zero.sum())
    taken = SMOOTHING * empty / max(distribution.size - empty, 1)
    smooth = np.where(is_zero, SMOOTHING, np.maximum(distribution - taken, SMOOTHING))
    return smooth / smooth.sum()


def divergence(counts: I64, start: int, end: int, levels: int, jeffreys: bool = False) -> float:
    """Returns the information lost if bins `start` to `end` are quantized to `levels` and values outside saturate.

    The loss is the Kullback-Leibler divergence of the saturated distribution from the quantized one (Migacz, 8-bit
    Inference with TensorRT, 2017). For quantization, the bins are divided into `levels` groups, the last of which takes
    the remainder, and the sum of a group is spread over its nonempty bins. With `jeffreys`, the divergence is
    symmetric: `sum (p - q) log(p/q)`.
    """
    window = counts[start:end].astype(np.float64)
    if not window.any():
        return math.inf
    reference = window.copy()
    reference[0] += counts[:start].sum()
    reference[-1] += counts[end:].sum()
    group = window.size // levels
    starts = np.arange(levels) * group
    sizes = np.full(levels, group)
    sizes[-1] += window.size - levels * group
    is_used = reference != 0
    members = np.add.reduceat(is_used.astype(np.float64), starts)
    level = np.add.reduceat(window, starts) / np.maximum(members, 1)
    quantized = np.where(is_used, np.repeat(level, sizes), 0.0)
    p, q = _smoothed(reference), _smoothed(quantized)
    return float((p - q if jeffreys else p) @ np.log(p / q))


def _growing(size: int, levels: int) -> Iterator[tuple[int, int]]:
    """Yields windows around the center, from `levels` bins up to all of them."""
    for half in range(max((levels + 1) // 2, 1), size // 2 + 1):
        yield size // 2 - half, size // 2 + half


def _shrinking(counts: I64, levels: int) -> Iterator[tuple[int, int]]:
    """Yields windows from all bins down to `levels`, dropping two bins at a time where the fewest values lie (Glow)."""
    start, end = 0, counts.size
    while end - start >= levels:
        yield start, end
        both, left = counts[start] + counts[end - 1], counts[start : start + 2].sum()
        right = counts[end - 2 : end].sum()
        if both <= left and both <= right:
            start, end = start + 1, end - 1
        elif left <= right:
            start += 2
        else:
            end -= 2


def entropy(statistics: Statistics, grid: Grid, /, *, levels: int = 0, jeffreys: bool = False) -> Range:
    """Chooses the range that loses the least information if it is quantized to `levels` (see `divergence`).

    If `levels` is 0, half of the storage range is used: 128 for 8 bits, as in TensorRT and ONNX Runtime. With a
    symmetric scheme, candidate ranges grow around 0. Otherwise they shrink from the full range, at the end that has
    fewer values. If the histogram has fewer bins than levels, the range is that of `min_max`. Zeros are ignored,
    because a grid represents 0 exactly and the zeros after a relu would dominate. `jeffreys` selects the symmetric
    divergence of TQT.
    """
    if levels < 0:
        raise ValueError(f"levels must be >= 1, or 0 for half of the storage range, but got {levels}")
    levels = levels or max(grid.storage.levels // 2, 1)
    histogram = _some(statistics).histogram
    is_symmetric = grid.scheme.is_symmetric
    counts = _centered(statistics) if is_symmetric else histogram.counts.copy()
    first = -(counts.size // 2) if is_symmetric else histogram.first
    if statistics.moments.zeros:
        counts[-first] -= statistics.moments.zeros
    windows = list(_growing(counts.size, levels) if is_symmetric else _shrinking(counts, levels))
    if not windows:
        return min_max(statistics, grid)
    losses = [divergence(counts, *window, levels, jeffreys) for window in windows]
    start, end = windows[int(np.argmin(losses))]
    return _inside(statistics, (first + start) * histogram.width, (first + end) * histogram.width)


def squared_errors(statistics: Statistics, chosen: Parameters, storage: Storage) -> F64:
    """Returns the expected squared quantization error for each of several parameters, in the shape of their scales.

    Values are assumed to be uniformly distributed in their bins, except for zeros, which have no error. The integral
    over a bin is exact: if `n` is the stored value nearest to `t` (in steps from the zero point), the antiderivative of
    `(t - n)^2` is `n / 12 + (t - n)^3 / 3`.
    """
    histogram = statistics.histogram
    counts = histogram.counts.astype(np.float64)
    if statistics.moments.zeros:
        counts[-histogram.first] -= statistics.moments.zeros
    edges = np.clip(histogram.edges, statistics.minimum, statistics.maximum)
    scales, zero_points = chosen.scales[..., np.newaxis], chosen.zero_points[..., np.newaxis]
    steps = edges / scales
    nearest = np.clip(np.rint(steps), storage.minimum - zero_points, storage.maximum - zero_points)
    distances = steps - nearest
    integral = nearest / 12 + distances**3 / 3
    lengths = np.diff(steps)
    is_point = lengths <= 0  # all values of a bin are equal
    means = np.diff(integral) / np.where(is_point, 1.0, lengths)
    errors = np.where(is_point, distances[..., :-1] ** 2, np.maximum(means, 0.0)) * scales**2
    return np.asarray(errors @ counts / statistics.count)


def mse(statistics: Statistics, grid: Grid, /, *, candidates: int = 100) -> Range:
    """Chooses the range with the smallest expected squared error; ends vary in steps of `1 / candidates` of the full
    range.

    First, both ends shrink together. Then, unless the scheme is symmetric, each end shrinks separately while this
    reduces the error. The result is never worse than `min_max`; of two equally good ranges, the wider one is chosen.
    """
    if candidates < 1:
        raise ValueError(f"candidates must be >= 1, but got {candidates}")
    low, high = min(_some(statistics).minimum, 0.0), max(statistics.maximum, 0.0)
    shrunk = np.linspace(1, 1 / candidates, candidates)

    def best(lows: npt.ArrayLike, highs: npt.ArrayLike) -> tuple[float, Range]:
        minima, maxima = np.broadcast_arrays(np.asarray(lows, np.float64), np.asarray(highs, np.float64))
        errors = squared_errors(statistics, parameters(minima, maxima, grid), grid.storage)
        position = int(np.argmin(errors))
        return float(errors[position]), Range(float(minima[position]), float(maxima[position]))

    error, found = best(low * shrunk, high * shrunk)
    is_better = not grid.scheme.is_symmetric
    while is_better:
        moved = min(best(low * shrunk, found.maximum), best(found.minimum, high * shrunk), key=lambda each: each[0])
        is_better = moved[0] < error
        error, found = moved if is_better else (error, found)
    return found


@lru_cache
def clipping_factor(distribution: str, levels: int) -> float:
    """Returns the optimal clipping threshold for `levels`, in deviations from the mean: standard or mean absolute ones.

    At the optimal threshold `a`, tighter clipping would add as much error as the finer steps save: `a / (3 levels^2) =
    2 E[max(x - a, 0)]` (Banner et al., Post-training 4-bit quantization of convolution networks, 2019). The expectation
    is `exp(-a) / 2` for the Laplace distribution with mean absolute deviation 1, and `phi(a) - a Q(a)` for the standard
    normal distribution. For 256 levels, `a` is 9.897 and 3.924, respectively.
    """

    def excess(a: float) -> float:
        if distribution == "laplace":
            return math.exp(-a) / 2
        return math.exp(-a * a / 2) / math.sqrt(2 * math.pi) - a * math.erfc(a / math.sqrt(2)) / 2

    low, high = 0.0, 100.0
    while (middle := (low + high) / 2) not in (low, high):
        is_inside = middle / (3 * levels**2) < 2 * excess(middle)
        low, high = (middle, high) if is_inside else (low, middle)
    return low


def gauss(statistics: Statistics, grid: Grid, /, *, deviations: float = 0.0) -> Range:
    """Chooses the mean plus and minus `deviations` standard deviations; 0 selects the optimum for normal distributions.

    The optimum is 3.924 for 8 bits. A value of 3 yields TQT's initial threshold for weights.
    """
    reach = (deviations or clipping_factor("gauss", grid.storage.levels)) * _some(statistics).deviation
    return _inside(statistics, statistics.mean - reach, statistics.mean + reach)


def laplace(statistics: Statistics, grid: Grid, /, *, deviations: float = 0.0) -> Range:
    """Chooses the mean plus and minus `deviations` mean absolute deviations; 0 selects the optimum.

    The optimum is 9.897 for 8 bits."""
    reach = (deviations or clipping_factor("laplace", grid.storage.levels)) * _some(statistics).spread
    return _inside(statistics, statistics.mean - reach, statistics.mean + reach)


def calibrator_names() -> tuple[str, ...]:
    """Returns the names of all calibrators, the built-in ones first."""
    return tuple(registry.named("calibrators"))


def options(name: str) -> dict[str, Option]:
    """Returns the options of a calibrator with their defaults; the type of a default is the type of the option.

    Raises `ValueError` for an unknown name, and `PackageError` if a package's calibrator is invalid.
    """
    return _options(_known(name))


def _known(name: str) -> registry.Named:
    known = registry.named("calibrators")
    if name not in known:
        raise ValueError(f"unknown calibrator '{name}' (available: {', '.join(known)})")
    return known[name]


def _options(known: registry.Named) -> dict[str, Option]:
    described = inspect.signature(known.function()).parameters.values()
    found = {each.name: each.default for each in described if each.kind is each.KEYWORD_ONLY}
    for option, default in found.items():
        if not isinstance(default, float | int):
            raise known.error(f"default of option '{option}' must be a number or a bool")
    return found


def calibrate(name: str, statistics: Statistics, grid: Grid, given: Mapping[str, Option] | None = None) -> Range:
    """Returns the range that the calibrator `name` chooses, with the options `given`.

    Raises `ValueError` for an unknown name or option, and `RangeError` if there are no values. Raises `PackageError` if
    a calibrator from a package raises an exception, or returns a range that is invalid or exceeds the observed values
    and 0.
    """
    known, chosen = _known(name), dict(given or {})
    accepted = _options(known)
    for option, value in chosen.items():
        if option not in accepted:
            found = ", ".join(accepted) or "none"
            raise ValueError(f"calibrator '{name}' has no option '{option}' (available: {found})")
        kind = type(accepted[option])
        if type(value) is not kind and (kind, type(value)) != (float, int):
            wanted = f"option '{option}' of calibrator '{name}' must be of type {kind.__name__}"
            raise ValueError(f"{wanted}, but got {value!r}")
    result = known.call(known.function(), statistics, grid, **chosen)
    try:
        found = Range(*map(float, result))
    except (TypeError, ValueError) as error:
        raise known.error(f"must return a range (minimum, maximum), but returned {result!r}") from error
    low, high = min(statistics.minimum, 0.0), max(statistics.maximum, 0.0)
    if not low <= found.minimum <= found.maximum <= high:  # NaN lies nowhere
        wanted = f"it must be ascending and within [{low}, {high}], the observed range extended to 0"
        raise known.error(f"returned the range [{found.minimum}, {found.maximum}], but {wanted}")
    return found


# Training losses: each takes the results of a batch and returns the loss and its gradient by the results.


def softmax(scores: Array) -> Array:
    """Computes the softmax along the last axis."""
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def squared_error(found: Array, wanted: Array, variance: float) -> tuple[float, Array]:
    """Returns the mean squared error divided by `variance`, and its gradient; predicting the mean has a loss of 1."""
    error = found.astype(np.float64) - wanted
    return float((error * error).mean() / variance), (2 / (variance * error.size) * error).astype(np.float32)


def distillation_divergence(found: Array, wanted: Array, temperature: float) -> tuple[float, Array]:
    """Returns `T^2 KL(softmax(wanted / T) || softmax(found / T))`, averaged over rows of logits, and its gradient.

    `T` is `temperature` (Hinton et al., 2015)."""
    rows = found.size // found.shape[-1]
    given, target = (softmax(each.astype(np.float64) / temperature) for each in (found, wanted))
    tiny = np.finfo(np.float64).tiny
    terms = target * (np.log(np.maximum(target, tiny)) - np.log(np.maximum(given, tiny)))
    return float(terms.sum() * temperature**2 / rows), (temperature * (given - target) / rows).astype(np.float32)


def cross_entropy(found: Array, classes: Array) -> tuple[float, Array]:
    """Returns the cross-entropy between the softmax of each row of logits and its class, averaged, and its gradient."""
    scores = found.reshape(-1, found.shape[-1]).astype(np.float64)
    chances, rows = softmax(scores), np.arange(len(scores))
    loss = float(-np.log(np.maximum(chances[rows, classes], np.finfo(np.float64).tiny)).mean())
    chances[rows, classes] -= 1
    return loss, (chances / len(scores)).reshape(found.shape).astype(np.float32)
