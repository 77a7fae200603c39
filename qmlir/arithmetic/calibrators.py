"""Calibrators: which range of the observed values a quantized type covers."""

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

# From statistics of a value to the range that is quantized: what lies outside saturates.
#
# `Statistics` and the `Grid` that the range is for come in, never the values themselves. A `Range` goes out, for
# `schemes.parameters`: its limits lie inside the observed range, widened to contain 0. A calibrator is a function
# whose keyword arguments are its options; the tree and packages name theirs in `Contribution.calibrators`.

Option = float | int | bool


class Range(NamedTuple):
    """The real values that a grid is laid over."""

    minimum: float
    maximum: float


def _some(statistics: Statistics) -> Statistics:
    if not statistics.count:
        raise RangeError("cannot compute a range: no values were observed")
    return statistics


def _inside(statistics: Statistics, low: float, high: float) -> Range:
    """The range, clamped to the observed one; a rounded mean may lie beside values that are all the same."""
    low, high = (min(max(end, statistics.minimum), statistics.maximum) for end in (low, high))
    return Range(low, high)


def min_max(statistics: Statistics, grid: Grid, /) -> Range:
    """The observed minimum and maximum: nothing saturates. For each channel: `statistics.axis_minima`, …"""
    return Range(_some(statistics).minimum, statistics.maximum)


def _batches(statistics: Statistics) -> BatchRanges:
    batches = _some(statistics).batches
    if batches is None:
        raise ValueError("the statistics have no per-batch averages; profile with a momentum to record them")
    return batches


def moving_average(statistics: Statistics, grid: Grid, /) -> Range:
    """The moving average of the smallest and the largest value of each batch, in the order of the batches."""
    return _inside(statistics, *_batches(statistics).moving)


def batch_mean(statistics: Statistics, grid: Grid, /) -> Range:
    """The mean of the smallest and of the largest values of the batches: ONNX Runtime's `moving_average`."""
    return _inside(statistics, *_batches(statistics).mean)


def percentile(statistics: Statistics, grid: Grid, /, *, percent: float = 99.999) -> Range:
    """The narrowest range, made of whole bins, that holds `percent` of the values.

    What is left is cut off at both ends alike; with a symmetric scheme it is `percent` of `|x|`. ONNX Runtime's upper
    end is one bin lower, and may cut off more than was asked for.
    """
    if not 0 < percent <= 100:
        raise ValueError(f"percent must be in (0, 100], but got {percent}")
    histogram = _some(statistics).histogram
    outside = statistics.count * (1 - Fraction(str(percent)) / 100)  # 99.9 is not an f64: its decimal digits are taken
    if grid.scheme.is_symmetric:
        last = int(np.searchsorted(np.cumsum(_folded(statistics)), statistics.count - int(outside)))
        end = (last + 1) * histogram.width
        return _inside(statistics, -end, end)
    below = np.cumsum(histogram.counts)
    first = int(np.searchsorted(below, int(outside / 2), side="right"))
    last = int(np.searchsorted(below, statistics.count - int(outside / 2)))
    return _inside(statistics, float(histogram.edges[first]), float(histogram.edges[last + 1]))


def _folded(statistics: Statistics) -> I64:
    """Counts of `|x|`, from 0 on."""
    counts = _centered(statistics)
    half = counts.size // 2
    return counts[half:] + counts[:half][::-1]


def _centered(statistics: Statistics) -> I64:
    """The counts of a range with 0 in its middle."""
    histogram = statistics.histogram
    end = histogram.first + histogram.counts.size
    half = max(-histogram.first, end)
    return np.pad(histogram.counts, (histogram.first + half, half - end))


SMOOTHING = 0.0001
"""What an empty bin counts when distributions are compared (ONNX Runtime, MXNet)."""


def _smoothed(distribution: F64) -> F64:
    """A distribution without zeros, whose sum is the same, divided by that sum."""
    is_zero = distribution == 0
    empty = int(is_zero.sum())
    taken = SMOOTHING * empty / max(distribution.size - empty, 1)
    smooth = np.where(is_zero, SMOOTHING, np.maximum(distribution - taken, SMOOTHING))
    return smooth / smooth.sum()


def divergence(counts: I64, start: int, end: int, levels: int, jeffreys: bool = False) -> float:
    """How much is lost when the bins from `start` to `end` are quantized to `levels`, and what is outside saturates.

    The Kullback-Leibler divergence of the saturated distribution from the quantized one (Migacz, 8-bit Inference with
    TensorRT, 2017): bins are added up in groups, the last of which takes what is left over, and a group's sum is spread
    over those of its bins that are not empty. With `jeffreys` the divergence is made symmetric: `sum (p - q) log(p/q)`.
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
    """Windows about the middle, from `levels` bins up to all of them."""
    for half in range(max((levels + 1) // 2, 1), size // 2 + 1):
        yield size // 2 - half, size // 2 + half


def _shrinking(counts: I64, levels: int) -> Iterator[tuple[int, int]]:
    """Windows from all bins down to `levels`, two less each time, at the end or ends where fewest values lie (Glow)."""
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
    """The range that loses the least information when it is quantized to `levels` (see `divergence`).

    0 levels stand for half of those of the storage: 128 for 8 bits, as in TensorRT and ONNX Runtime. With a symmetric
    scheme ranges grow about 0; otherwise they shrink from the full one, where fewest values are lost. A histogram of
    fewer bins than levels knows nothing to lose: the range is that of `min_max`. Zeros do not take part, since a grid
    holds 0 exactly; otherwise those that a relu leaves would draw the range to them. `jeffreys` takes TQT's divergence.
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
    """The expected squared error of quantizing the values by each of several parameters, in the shape of the scales.

    Values are taken to lie evenly in their bins, but for zeros, which have no error. The integral over a bin is exact:
    with `n` the nearest stored step to `t`, the antiderivative of `(t - n)^2` is `n / 12 + (t - n)^3 / 3`.
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
    is_point = lengths <= 0  # all values of a bin are the same
    means = np.diff(integral) / np.where(is_point, 1.0, lengths)
    errors = np.where(is_point, distances[..., :-1] ** 2, np.maximum(means, 0.0)) * scales**2
    return np.asarray(errors @ counts / statistics.count)


def mse(statistics: Statistics, grid: Grid, /, *, candidates: int = 100) -> Range:
    """The range whose grid has the smallest expected squared error, among fractions `1/candidates` of the full one.

    Both ends shrink together at first; then, unless the scheme is symmetric, each end by itself as long as that helps.
    Never worse than `min_max`, and wider rather than narrower where two ranges are as good.
    """
    if candidates < 1:
        raise ValueError(f"candidates must be >= 1, but got {candidates}")
    low, high = min(_some(statistics).minimum, 0.0), max(statistics.maximum, 0.0)
    shrunk = np.linspace(1, 1 / candidates, candidates)

    def best(lows: npt.ArrayLike, highs: npt.ArrayLike) -> tuple[float, Range]:
        minima, maxima = np.broadcast_arrays(np.asarray(lows, np.float64), np.asarray(highs, np.float64))
        errors = squared_errors(statistics, parameters(minima, maxima, grid), grid.storage)
        place = int(np.argmin(errors))
        return float(errors[place]), Range(float(minima[place]), float(maxima[place]))

    error, found = best(low * shrunk, high * shrunk)
    is_better = not grid.scheme.is_symmetric
    while is_better:
        moved = min(best(low * shrunk, found.maximum), best(found.minimum, high * shrunk), key=lambda each: each[0])
        is_better = moved[0] < error
        error, found = moved if is_better else (error, found)
    return found


@lru_cache
def clipping_factor(distribution: str, levels: int) -> float:
    """How many deviations from the mean a range of `levels` ends, to have the smallest expected squared error.

    Where clipping further in would cost as much as the finer steps gain: `a / (3 levels^2) = 2 E[max(x - a, 0)]`
    (Banner et al., Post-training 4-bit quantization of convolution networks, 2019). `E` is `exp(-a) / 2` for the
    Laplace distribution with mean deviation 1, `phi(a) - a Q(a)` for the normal one. 256 levels give 9.897 and 3.924.
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
    """The mean and `deviations` standard deviations around it; 0 takes the best number for the normal distribution.

    That is 3.924 for 8 bits. 3 gives TQT's first threshold for weights.
    """
    reach = (deviations or clipping_factor("gauss", grid.storage.levels)) * _some(statistics).deviation
    return _inside(statistics, statistics.mean - reach, statistics.mean + reach)


def laplace(statistics: Statistics, grid: Grid, /, *, deviations: float = 0.0) -> Range:
    """The mean and `deviations` times the mean of `|x - mean|` around it; 0 takes the best number, 9.897 for 8 bits."""
    reach = (deviations or clipping_factor("laplace", grid.storage.levels)) * _some(statistics).spread
    return _inside(statistics, statistics.mean - reach, statistics.mean + reach)


def calibrator_names() -> tuple[str, ...]:
    """Every calibrator, the tree's first."""
    return tuple(registry.named("calibrators"))


def options(name: str) -> dict[str, Option]:
    """The options of a calibrator and their defaults, whose types they have.

    Raises `ValueError` for no known name, and `PackageError` where that of a package is broken.
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
    """The range by the calibrator of that name, with the options given.

    Raises `ValueError` for a name or an option that is unknown, `RangeError` without values, and `PackageError` where
    what a package adds raises, or gives no range or one that reaches beyond the values and 0.
    """
    known, chosen = _known(name), dict(given or {})
    accepted = _options(known)
    for option, value in chosen.items():
        if option not in accepted:
            found = ", ".join(accepted) or "none"
            raise ValueError(f"calibrator '{name}' has no option '{option}' (available: {found})")
        kind = type(accepted[option])
        if type(value) is not kind and (kind, type(value)) != (float, int):
            raise ValueError(
                f"option '{option}' of calibrator '{name}' must be of type {kind.__name__}, but got {value!r}"
            )
    result = known.call(known.function(), statistics, grid, **chosen)
    try:
        found = Range(*map(float, result))
    except (TypeError, ValueError) as error:
        raise known.error(f"must return a range (minimum, maximum), but returned {result!r}") from error
    low, high = min(statistics.minimum, 0.0), max(statistics.maximum, 0.0)
    if not low <= found.minimum <= found.maximum <= high:  # NaN lies nowhere
        wrong = f"returned the range [{found.minimum}, {found.maximum}]"
        wanted = f"it must be ascending and within [{low}, {high}], the observed range extended to 0"
        raise known.error(f"{wrong}, but {wanted}")
    return found


# Losses of training, each with its gradient: results of a batch in, the loss and the gradient of the results out.


def softmax(scores: Array) -> Array:
    """Along the last axis."""
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def squared_error(found: Array, wanted: Array, variance: float) -> tuple[float, Array]:
    """The mean squared error over `variance`, that of what is wanted: 1 for a result that is its mean everywhere."""
    error = found.astype(np.float64) - wanted
    return float((error * error).mean() / variance), (2 / (variance * error.size) * error).astype(np.float32)


def distillation_divergence(found: Array, wanted: Array, temperature: float) -> tuple[float, Array]:
    """`T^2 KL(softmax(wanted / T) || softmax(found / T))`, the mean over rows of scores (Hinton et al., 2015)."""
    rows = found.size // found.shape[-1]
    given, target = (softmax(each.astype(np.float64) / temperature) for each in (found, wanted))
    tiny = np.finfo(np.float64).tiny
    terms = target * (np.log(np.maximum(target, tiny)) - np.log(np.maximum(given, tiny)))
    return float(terms.sum() * temperature**2 / rows), (temperature * (given - target) / rows).astype(np.float32)


def cross_entropy(found: Array, classes: Array) -> tuple[float, Array]:
    """That of the softmax of each row of scores against its class, the mean over rows."""
    scores = found.reshape(-1, found.shape[-1]).astype(np.float64)
    chances, rows = softmax(scores), np.arange(len(scores))
    loss = float(-np.log(np.maximum(chances[rows, classes], np.finfo(np.float64).tiny)).mean())
    chances[rows, classes] -= 1
    return loss, (chances / len(scores)).reshape(found.shape).astype(np.float32)
