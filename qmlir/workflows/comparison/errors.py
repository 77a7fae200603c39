"""Errors of values against a reference: sums over samples, and errors relative to the variation between samples."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.schemes import F64

# The error of one value against its reference, summed up over samples without keeping any.


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


# The error of an output, measured against the differences between its samples.
#
# A plain signal-to-noise ratio counts an offset of 1013, or the fill of a mask, as signal, although all samples have
# it in common and only differences answer a question. So the signal is taken about the median of each element over
# the samples, and fills, which are constants far outside the other values, are left out. Unlike a mean, the median
# does not follow one spoiled sample.

MOST_ELEMENTS = 1 << 17
"""About how many elements of a sample are compared: of more, some rows along the last axis, at an even distance."""

_FILL, _FAR, _ENOUGH = 50.0, 16.0, 64
"""A fill has at least this magnitude and so many times that of the other values, among so many values at least."""

_NEAR, _TIGHT = 1.05, 1.1
"""Numbers whose magnitudes differ by less than the first factor are about one fill, which spreads by the second."""

_MOST_FILLS = 4

_CONSTANT = 1e-12
"""An output whose variation has less than this share of its power does not vary."""

_OFTEN = 0.1
"""A place varies in many samples if its variation in the median one is at least this share of the mean of all."""

CLOSE = 0.02
"""The root mean square of errors that change no answer of an output between 0 and 1: 2% of a probability. It must also
be less than half of what separates the two most probable classes of a distribution."""

_TIE = 0.1
"""Two classes are as good as equal if they differ by less than this share of what the larger one is above the mean of
its row. A classifier of 1000 classes with 92% of the classes of the float model, and an embedding of 16 dB, lose
nothing else."""

_ORDERED = 10.0
"""The decibels of a row about its own mean below which noise has put all of its elements in another order."""

_FAINT = 0.03
"""A row hardly varies if it has less than this share of the power of a usual one, a sixth of its size. All rows of a
detector's offsets have the same error: of those that hardly vary, the largest one moves."""

_HELD = 0.5
"""A place is lost if all samples together have less than this share of the decibels that a sample must have. The ratios
of single numbers scatter: of ten columns of a sound classifier, one has fewer decibels in most of 16 samples."""

_SUM = 1e-2
"""How far the sum of a distribution in low precision is from 1 at most."""


@dataclass(frozen=True)
class Ratios:
    """Signal over noise of one output, in decibels; infinite without noise."""

    samples: tuple[float, ...]
    """Of each sample. Its signal is at least that of the median sample: one that is like all others tells as much. If
    errors are too small to change a probability, it is at least the mean of all samples."""

    pooled: float
    """Of all samples together."""

    @property
    def median(self) -> int:
        """The sample whose ratio is the median, the lower of two."""
        return int(np.argsort(self.samples, kind="stable")[(len(self.samples) - 1) // 2])

    @property
    def quartile(self) -> float:
        """The ratio that a quarter of the samples has at most: the fourth lowest of 16."""
        return sorted(self.samples)[(len(self.samples) - 1) // 4]

    @property
    def worst(self) -> int:
        """The sample of the lowest ratio."""
        return int(np.argmin(self.samples))


def _is_fill(values: F64) -> Array:
    """Which of all values are fills: infinities, and few numbers far outside the others."""
    is_fill = ~np.isfinite(values)
    sizes = np.abs(values[~is_fill])
    sizes = np.sort(sizes[sizes > 0])
    if sizes.size < _ENOUGH or sizes[-1] < _FILL:
        return is_fill
    for place in np.flatnonzero(sizes[1:] >= _FAR * sizes[:-1]):
        far = sizes[place + 1 :]
        groups = np.split(far, np.flatnonzero(far[1:] >= _NEAR * far[:-1]) + 1)
        if far[0] >= _FILL and len(groups) <= _MOST_FILLS and all(each[-1] <= _TIGHT * each[0] for each in groups):
            return is_fill | (np.abs(values) >= far[0])
    return is_fill


def thinned(array: Array) -> Array:
    """`array`, or of a large one some rows along the last axis, at a distance that meets all places of the others."""
    if array.size <= MOST_ELEMENTS:
        return array
    columns = array.shape[-1]
    rows, step = array.size // columns, math.ceil(array.size / MOST_ELEMENTS)
    while math.gcd(step, rows) > 1:
        step += 1
    return array.reshape(rows, columns)[::step].copy()


def _tables(arrays: Sequence[Array]) -> tuple[list[F64], bool]:
    """Samples as `[rows, columns]` whose columns are of one place, and whether samples have places in common.

    Samples of one shape have a row each. Those of several lengths have one for each place of the last axis.
    """
    shapes = {each.shape for each in arrays}
    columns = {each.shape[-1] if each.ndim else 1 for each in arrays}
    if len(shapes) > 1 and len(columns) == 1:
        (width,) = columns
        return [each.astype(np.float64).reshape(-1, width) for each in arrays], True
    return [each.astype(np.float64).reshape(1, -1) for each in arrays], len(shapes) == 1 and len(arrays) > 1


def ratios_of(references: Sequence[Array], founds: Sequence[Array]) -> tuple[Ratios, Ratios]:
    """The ratios of one output in several samples, about 0 and about the median of the samples.

    Both are the same where an output does not vary, and where its errors are too small to change a probability.
    """
    (wanted, varies), (found, _) = _tables(references), _tables(founds)
    if not varies and len(wanted) > 1:  # of shapes that have nothing in common
        wanted, found = ([each.reshape(-1, 1) for each in tables] for tables in (wanted, found))
    reference, other = np.concatenate(wanted), np.concatenate(found)
    is_fill = _is_fill(reference)
    with np.errstate(invalid="ignore"):
        kept = is_fill & ((reference == other) | (np.abs(other) >= np.abs(reference) / 2) | np.isnan(other))
        kept &= (np.sign(reference) == np.sign(other)) | np.isnan(reference)
        errors = np.where(kept, 0.0, (other - reference) ** 2)
    errors[np.isnan(errors)] = np.inf
    values = np.where(is_fill, np.nan, reference)
    about_zero = np.where(is_fill, 0.0, reference**2)
    noise = _by_sample(errors, wanted)
    plain = _ratios(_by_sample(about_zero, wanted), noise)
    if not varies or np.isinf(errors).any():
        return plain, plain
    number = np.isfinite(values).sum(axis=0)
    values[:, number == 0] = 0.0  # of fills alone
    center = np.median(values, axis=0) if number.min() == len(values) else np.nanmedian(values, axis=0)
    several = number / np.maximum(number - 1, 1)  # the median is theirs: on average they are farther from another one
    variation = np.where(is_fill, 0.0, (values - center) ** 2 * several)
    if variation.sum() <= _CONSTANT * about_zero.sum():
        return plain, plain
    shown = reference[~is_fill]
    is_share = shown.size > 0 and shown.min() >= 0 and shown.max() <= 1
    if is_share and math.sqrt(errors.sum() / shown.size) < min(CLOSE, _margin(references) / 2):
        # A probability of 0.002 may become 0: what counts is the error beside the probabilities of all samples.
        powers = _by_sample(about_zero, wanted)
        close = _ratios(powers, noise, least=float(np.mean(powers)))
        return close, close
    varying = _by_sample(variation, wanted)
    return plain, _ratios(varying, noise, least=float(np.median(varying)))


def are_events(arrays: Sequence[Array]) -> bool:
    """True for probabilities that add up to no 1: each element is an event of its own, such as speech at a time."""
    return all(each.size > 0 and each.min() >= 0 and each.max() <= 1 for each in arrays) and math.isinf(_margin(arrays))


def misplaced(reference: Array, found: Array, noisy: float) -> int:
    """The rows whose largest element has moved along the last axis, by an error that hides how their elements differ.

    Such a row has less than `noisy` dB about its own mean. Above that, elements that change places are as good as
    equal. So they are if they differ little (`_TIE`) in a row of `_ORDERED` dB: below that, noise decides on all of
    them. Events are equal if they differ by less than `CLOSE`. Fills are left out, and of several rows of a sample
    those that hardly vary next to the others, as those of the classes that a detector does not find. Of large arrays
    some of the rows are looked at.
    """
    classes = reference.shape[-1]
    rows, others = (each.reshape(-1, classes) for each in (reference, found))
    places = rows.argmax(axis=1), others.argmax(axis=1)
    moved = np.flatnonzero(places[0] != places[1])
    if not moved.size:
        return 0
    looked = moved[:: math.ceil(moved.size * classes / MOST_ELEMENTS)]
    usual = thinned(reference).reshape(-1, classes)
    one, other = np.concatenate([usual, rows[looked]]).astype(np.float64), others[looked].astype(np.float64)
    is_live = ~_is_fill(one)
    number, live = is_live.sum(axis=1), np.where(is_live, one, 0.0)
    means = live.sum(axis=1) / np.maximum(number, 1)
    signal = np.where(is_live, (live - means[:, None]) ** 2, 0.0).sum(axis=1)
    noise = (np.where(is_live[len(usual) :], other - live[len(usual) :], 0.0) ** 2).sum(axis=1)

    def is_above(decibels: float) -> Array:
        return signal[len(usual) :] >= noise * 10 ** (decibels / 10)

    first, second = (rows[looked, place[looked]].astype(np.float64) for place in places)
    with np.errstate(invalid="ignore"):  # of two infinities
        is_tie = (first - second < _TIE * (first - means[len(usual) :])) & is_above(_ORDERED)
        is_tie |= first - second < (CLOSE if are_events([usual]) else 0.0)
        counted = (number[len(usual) :] > 1) & ~is_tie
    if reference.ndim > 2:
        counted &= signal[len(usual) :] >= _FAINT * signal[: len(usual)].mean()
    counted &= ~is_above(noisy)
    return round(float(counted.mean()) * moved.size)


def lost_places(references: Sequence[Array], founds: Sequence[Array], axis: int, least: float) -> list[int]:
    """The places along `axis` of samples of one shape whose variation has less than `least` dB in most samples.

    They also have less than half of it (`_HELD`) in all samples together. A place that varies in few samples only, or
    not at all, is none: nothing can be said of it.
    """
    one, other = (np.stack([np.moveaxis(each, axis, 0) for each in arrays]).astype(np.float64)
                  for arrays in (references, founds))  # fmt: skip
    one, other = (each.reshape(*each.shape[:2], -1) for each in (one, other))
    signals = np.square(one - np.median(one, axis=0)).sum(axis=2)
    noises = np.square(other - one).sum(axis=2)
    usual = np.median(signals, axis=0)
    varies = (usual >= _OFTEN * signals.mean(axis=0)) & (usual > _CONSTANT * np.square(one).sum(axis=(0, 2)))
    is_lost = ~(np.maximum(signals, usual) >= noises * 10 ** (least / 10))
    are_lost = ~(signals.sum(axis=0) >= noises.sum(axis=0) * 10 ** (_HELD * least / 10))
    return [int(each) for each in np.flatnonzero(varies & are_lost & (is_lost.mean(axis=0) > 1 / 2))]


def _margin(references: Sequence[Array]) -> float:
    """How far the most probable class of a row is ahead of the next one, in the median; infinite if rows do not add up
    to 1 and so are no distributions of classes."""
    rows = [each.reshape(-1, each.shape[-1]) for each in references if each.ndim and each.shape[-1] > 1]
    if not rows or any(np.abs(each.sum(axis=1, dtype=np.float64) - 1).max(initial=0.0) > _SUM for each in rows):
        return math.inf
    largest = [np.partition(each, -2, axis=1)[:, -2:] for each in rows]
    return float(np.median(np.concatenate([each[:, 1] - each[:, 0] for each in largest])))


def _by_sample(rows: F64, tables: Sequence[F64]) -> list[float]:
    ends = np.cumsum([len(each) for each in tables])
    return [float(each.sum()) for each in np.split(rows, ends[:-1])]


def _ratios(signals: Sequence[float], noises: Sequence[float], *, least: float = 0.0) -> Ratios:
    each = tuple(sqnr(max(signal, least), noise) for signal, noise in zip(signals, noises, strict=True))
    return Ratios(each, sqnr(sum(signals), sum(noises)))
