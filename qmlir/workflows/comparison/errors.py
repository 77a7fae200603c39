"""Errors of values against a reference: sums over samples, and errors relative to the variation between samples."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.schemes import F64

# The error of one value against its reference, accumulated over samples without keeping any.


def sqnr(signal: float, noise: float) -> float:
    """Returns `10 log10(signal / noise)` of two sums of squares, in dB; infinity without noise."""
    if noise == 0:
        return math.inf
    if math.isinf(noise):
        return -math.inf
    return 10 * math.log10(signal / noise) if signal else -math.inf


@dataclass
class ErrorSums:
    """Sums over the differences so far, in f64.

    Elements that are equal infinities, or NaN on both sides, have no difference and add nothing to the signal. An
    element that is finite on one side only makes all errors infinite.
    """

    elements: int = 0
    signal: float = 0.0
    """Sum of the squares of the reference."""

    noise: float = 0.0
    """Sum of the squares of the differences."""

    sizes: float = 0.0
    """Sum of the absolute differences."""

    max_error: float = 0.0
    largest: float = 0.0

    def add(self, reference: Array, found: Array) -> None:
        """Adds arrays of equal shape."""
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
        """The signal-to-noise ratio in dB."""
        return sqnr(self.signal, self.noise)

    def mean(self, total: float) -> float:
        """Returns `total / elements`, and 0 without elements."""
        return total / self.elements if self.elements else 0.0


def _are_directions(rows: Array) -> bool:
    """Returns true if rows have length 1 and negative elements, unlike probabilities."""
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
    return bool((rows < 0).any() and np.allclose(lengths, 1, rtol=0, atol=1e-3))


FEWEST_CLASSES, MOST_CLASSES = 2, 100_000
"""Limits of the size of an output's last axis for which its largest elements are compared."""

FIRST = 0.05
"""Fraction of a row whose largest elements count as equal to the largest, such as neighbors on a map; at least 1
element."""


@dataclass
class TopOne:
    """Counts how often two float outputs have their largest element along the last axis at the same index."""

    rows: int = 0
    equal: int = 0
    wrong: int = 0
    """Number of rows in which the candidate's index is not among the largest 5% of the reference."""

    is_scores: bool = field(default=True)
    """Whether the last axis of all outputs so far has 2 to 100,000 elements."""

    are_directions: bool = field(default=True)
    """Whether all outputs so far were embeddings of length 1, whose elements are not classes."""

    def add(self, reference: Array, found: Array) -> None:
        """Adds outputs of equal shape."""
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
        """The fraction of equal rows, in [0, 1]; `None` for outputs without classes."""
        return self.equal / self.rows if self.is_scores and self.rows else None


# The error of an output, relative to the differences between its samples.
#
# A plain signal-to-noise ratio counts an offset of 1013, or the fill value of a mask, as signal, although all samples
# share it and only differences carry information. So the signal is taken about the median of each element over the
# samples, and fills, constants far outside the range of the other values, are left out. Unlike a mean, a median is not
# affected by one degraded sample.

MOST_ELEMENTS = 1 << 17
"""Approximate number of elements of a sample that are compared; larger samples are thinned to equally spaced rows along
the last axis."""

_FILL, _FAR, _ENOUGH = 50.0, 16.0, 64
"""A fill has at least this magnitude, at least this many times that of the other values, and there are at least this
many of those."""

_NEAR, _TIGHT = 1.05, 1.1
"""Values whose magnitudes differ by less than the first factor belong to one fill, whose spread is limited by the
second."""

_MOST_FILLS = 4

_CONSTANT = 1e-12
"""An output whose variation is less than this fraction of its power counts as constant."""

_OFTEN = 0.1
"""A place varies in many samples if its variation in the median sample is at least this fraction of the mean."""

CLOSE = 0.02
"""RMS error that changes no answer of an output in [0, 1]: 2% of a probability. It must also be less than half of the
margin between the two most probable classes of a distribution."""

_TIE = 0.1
"""Two classes are tied if they differ by less than this fraction of the larger one's distance from the row mean. A
classifier of 1000 classes that keeps 92% of the float model's classes, and an embedding with 16 dB, differ only in
ties."""

_ORDERED = 10.0
"""SQNR of a row about its mean, in dB, below which noise has reordered all of its elements."""

_FAINT = 0.03
"""A row hardly varies if it has less than this fraction of a usual row's power (a sixth of its magnitude). All rows of
a detector's offsets have the same error, which moves the largest element of those that hardly vary."""

_HELD = 0.5
"""A place is lost if all samples together have less than this fraction of the dB that a sample must have. Ratios of
single elements scatter: of ten columns of a sound classifier, one has fewer dB in most of 16 samples."""

_SUM = 1e-2
"""The largest deviation from 1 of the sum of a distribution in low precision."""


@dataclass(frozen=True)
class Ratios:
    """Signal-to-noise ratios of one output, in dB; infinite without noise."""

    samples: tuple[float, ...]
    """The ratio of each sample. Its signal is at least that of the median sample, so that a sample close to the median
    is not penalized; if errors are too small to change a probability, it is at least the mean over all samples."""

    pooled: float
    """The ratio of all samples together."""

    @property
    def median(self) -> int:
        """The index of the sample with the median ratio, the lower one of two."""
        return int(np.argsort(self.samples, kind="stable")[(len(self.samples) - 1) // 2])

    @property
    def quartile(self) -> float:
        """The lower quartile of the ratios: the fourth lowest of 16."""
        return sorted(self.samples)[(len(self.samples) - 1) // 4]

    @property
    def worst(self) -> int:
        """The index of the sample with the lowest ratio."""
        return int(np.argmin(self.samples))


def _is_fill(values: F64) -> Array:
    """Returns a mask of the fills: infinities, and a few values far outside the range of the others."""
    is_fill = ~np.isfinite(values)
    sizes = np.abs(values[~is_fill])
    sizes = np.sort(sizes[sizes > 0])
    if sizes.size < _ENOUGH or sizes[-1] < _FILL:
        return is_fill
    for position in np.flatnonzero(sizes[1:] >= _FAR * sizes[:-1]):
        far = sizes[position + 1 :]
        groups = np.split(far, np.flatnonzero(far[1:] >= _NEAR * far[:-1]) + 1)
        if far[0] >= _FILL and len(groups) <= _MOST_FILLS and all(each[-1] <= _TIGHT * each[0] for each in groups):
            return is_fill | (np.abs(values) >= far[0])
    return is_fill


def thinned(array: Array) -> Array:
    """Returns `array`, or rows of a large one, with a stride that samples all positions of the leading axes."""
    if array.size <= MOST_ELEMENTS:
        return array
    columns = array.shape[-1]
    rows, step = array.size // columns, math.ceil(array.size / MOST_ELEMENTS)
    while math.gcd(step, rows) > 1:
        step += 1
    return array.reshape(rows, columns)[::step].copy()


def _tables(arrays: Sequence[Array]) -> tuple[list[F64], bool]:
    """Returns samples as `[rows, columns]` with one place per column, and whether samples have places in common.

    Samples of equal shape have one row each; those of different lengths one row for each index of the leading axes.
    """
    shapes = {each.shape for each in arrays}
    columns = {each.shape[-1] if each.ndim else 1 for each in arrays}
    if len(shapes) > 1 and len(columns) == 1:
        (width,) = columns
        return [each.astype(np.float64).reshape(-1, width) for each in arrays], True
    return [each.astype(np.float64).reshape(1, -1) for each in arrays], len(shapes) == 1 and len(arrays) > 1


def ratios_of(references: Sequence[Array], founds: Sequence[Array]) -> tuple[Ratios, Ratios]:
    """Returns the ratios of one output over several samples, about 0 and about the median of the samples.

    Both are equal if the output does not vary, or if its errors are too small to change a probability.
    """
    (wanted, varies), (found, _) = _tables(references), _tables(founds)
    if not varies and len(wanted) > 1:  # samples without common places
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
    values[:, number == 0] = 0.0  # columns of fills only
    center = np.median(values, axis=0) if number.min() == len(values) else np.nanmedian(values, axis=0)
    several = number / np.maximum(number - 1, 1)  # unbiased: the median is close to its own samples
    variation = np.where(is_fill, 0.0, (values - center) ** 2 * several)
    if variation.sum() <= _CONSTANT * about_zero.sum():
        return plain, plain
    shown = reference[~is_fill]
    is_share = shown.size > 0 and shown.min() >= 0 and shown.max() <= 1
    if is_share and math.sqrt(errors.sum() / shown.size) < min(CLOSE, _margin(references) / 2):
        # A probability of 0.002 may become 0: the error counts relative to the probabilities of all samples.
        powers = _by_sample(about_zero, wanted)
        close = _ratios(powers, noise, least=float(np.mean(powers)))
        return close, close
    varying = _by_sample(variation, wanted)
    return plain, _ratios(varying, noise, least=float(np.median(varying)))


def are_events(arrays: Sequence[Array]) -> bool:
    """Returns true for probabilities that do not add up to 1, such as those of speech over time.

    Each element is then a separate event.
    """
    return all(each.size > 0 and each.min() >= 0 and each.max() <= 1 for each in arrays) and math.isinf(_margin(arrays))


def misplaced(reference: Array, found: Array, noisy: float) -> int:
    """Counts the rows whose largest element along the last axis has moved because of noise.

    Such a row has less than `noisy` dB about its mean; above that, elements that swap are practically tied. Elements
    are also tied if they differ little (`_TIE`) in a row of at least `_ORDERED` dB, below which noise reorders all
    elements, and events if they differ by less than `CLOSE`. Fills are left out, and so are rows that hardly vary next
    to the sample's others, such as those of classes that a detector does not find. Large arrays are thinned.
    """
    classes = reference.shape[-1]
    rows, others = (each.reshape(-1, classes) for each in (reference, found))
    positions = rows.argmax(axis=1), others.argmax(axis=1)
    moved = np.flatnonzero(positions[0] != positions[1])
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

    first, second = (rows[looked, position[looked]].astype(np.float64) for position in positions)
    with np.errstate(invalid="ignore"):  # the difference of two infinities
        is_tie = (first - second < _TIE * (first - means[len(usual) :])) & is_above(_ORDERED)
        is_tie |= first - second < (CLOSE if are_events([usual]) else 0.0)
        counted = (number[len(usual) :] > 1) & ~is_tie
    if reference.ndim > 2:
        counted &= signal[len(usual) :] >= _FAINT * signal[: len(usual)].mean()
    counted &= ~is_above(noisy)
    return round(float(counted.mean()) * moved.size)


def lost_places(references: Sequence[Array], founds: Sequence[Array], axis: int, least: float) -> list[int]:
    """Returns the places along `axis` whose variation has less than `least` dB in most samples, all of equal shape.

    They also have less than half of it (`_HELD`) in all samples together. Places that vary in few samples or not at all
    are left out, as nothing can be concluded for them.
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
    """Returns the median margin between the two most probable classes of a row.

    Returns infinity if rows don't add up to 1 and so are not class distributions.
    """
    rows = [each.reshape(-1, each.shape[-1]) for each in references if each.ndim and each.shape[-1] > 1]
    if not rows or any(np.abs(each.sum(axis=1, dtype=np.float64) - 1).max(initial=0.0) > _SUM for each in rows):
        return math.inf
    largest = [np.partition(each, -2, axis=1)[:, -2:] for each in rows]
    return float(np.median(np.concatenate([each[:, 1] - each[:, 0] for each in largest])))


def _by_sample(rows: F64, tables: Sequence[F64]) -> list[float]:
    return [float(each.sum()) for each in np.split(rows, np.cumsum([len(each) for each in tables])[:-1])]


def _ratios(signals: Sequence[float], noises: Sequence[float], *, least: float = 0.0) -> Ratios:
    each = tuple(sqnr(max(signal, least), noise) for signal, noise in zip(signals, noises, strict=True))
    return Ratios(each, sqnr(sum(signals), sum(noises)))
