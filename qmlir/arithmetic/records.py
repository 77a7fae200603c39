"""Records: the statistics of a value as words of memory, which compiled code adds to where the value is computed.

A record is an array of i64. What is added to it, in whatever order, it is the same in the end: sums are exact, and the
histogram is that of `qmlir.arithmetic.histogram`. The words are laid out for loops: no list, no number of any size.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.histogram import SMALLEST_EXPONENT, Histogram
from qmlir.arithmetic.moments import Moments
from qmlir.arithmetic.schemes import F64, I64
from qmlir.arithmetic.statistics import Statistics

_BINS, _INDICES, _COUNT, _ZEROS, _NEGATIVE, _POSITIVE, _NANS = range(7)
"""The number of bins, that of indices of the axis, of finite values, zeros, infinities of both signs, NaN."""

_RANGE, _RUN = slice(7, 9), slice(9, 11)
"""The bits of f64: the range of all finite values, and of those of one run."""

_EXPONENT = 11
"""That of the histogram."""

_SUM, _NEGATIVE_SUM, _SQUARES = slice(12, 23), slice(23, 34), slice(34, 55)
"""Exact sums, 32 bits in a word, the lowest first: of positive values, of sizes of negative ones, of squares."""

_COUNTS = 55
"""Where the histogram begins: bin `i` at `i`, or at `bins + i` for negative `i`. Ranges of indices follow."""

_UNIT = Fraction(1, 1 << 149)
"""The smallest f32, in which sums are counted; squares in its square."""

_NO_RANGE = (np.inf, -np.inf)


@dataclass(frozen=True)
class RecordLayout:
    """What a record holds: a histogram of so many bins, and ranges for so many `indices` of `axis`, or for none."""

    bins: int
    axis: int | None = None
    indices: int = 0

    @property
    def words(self) -> int:
        """The size of the record."""
        return _COUNTS + self.bins + 2 * self.indices

    def empty(self) -> I64:
        """The record of no values."""
        record = np.zeros(self.words, np.int64)
        record[_BINS], record[_INDICES], record[_EXPONENT] = self.bins, self.indices, SMALLEST_EXPONENT
        for part in (_RANGE, _RUN):
            record[part].view(np.float64)[:] = _NO_RANGE
        self._axis_ranges(record)[:] = np.array(_NO_RANGE)[:, None]
        return record

    def _axis_ranges(self, record: I64) -> Array:
        """The minima and the maxima of the indices, as rows of f64 in the record."""
        return record[_COUNTS + self.bins :].view(np.float64).reshape(2, self.indices)

    @staticmethod
    def nans(record: I64) -> int:
        """How many values were NaN."""
        return int(record[_NANS])

    def statistics(self, record: I64) -> Statistics:
        """What a record says of its values; an index that has infinities alone has an empty range."""
        low, high = map(float, record[_RANGE].view(np.float64))
        infinities = int(record[_NEGATIVE]), int(record[_POSITIVE])
        if not record[_COUNT]:
            return Statistics(infinities=infinities)
        positive, negative = _sum_of(record[_SUM]) * _UNIT, _sum_of(record[_NEGATIVE_SUM]) * _UNIT
        squares = _sum_of(record[_SQUARES]) * _UNIT * _UNIT
        moments = Moments(
            int(record[_COUNT]), int(record[_ZEROS]), positive - negative, positive + negative, squares
        )  # fmt: skip
        known = Statistics(low, high, moments, self._histogram(record), infinities=infinities)
        if self.axis is None:
            return known
        lows, highs = self._axis_ranges(record)
        return replace(known, axis=self.axis, axis_minima=lows.copy(), axis_maxima=highs.copy())

    def _histogram(self, record: I64) -> Histogram:
        counts = record[_COUNTS : _COUNTS + self.bins]
        taken = np.flatnonzero(counts)
        # The bins of negative values are in the last words; the range, with 0, takes at most all of them.
        is_negative = float(record[_RANGE].view(np.float64)[0]) < 0
        places = np.where(is_negative & (taken > self._last_bin(record)), taken - self.bins, taken)
        first, last = int(places.min()), int(places.max())
        ordered = counts[np.arange(first, last + 1) % self.bins]
        return Histogram(self.bins, int(record[_EXPONENT]), first, ordered)

    def _last_bin(self, record: I64) -> int:
        high = max(float(record[_RANGE].view(np.float64)[1]), 0.0)
        return int(np.floor(np.ldexp(high, -int(record[_EXPONENT]))))

    def added(self, record: I64, values: Array) -> I64:
        """The record with f32 `values` added to those that it has: what compiled code does, by `Statistics`."""
        exact = values[np.isfinite(values)]
        made = replace(self, axis=None)
        known = made.statistics(record).merged(Statistics.of(exact, bins=self.bins))
        result = self._of(replace(known, infinities=(0, 0)))
        counts = [np.isneginf(values).sum(), np.isposinf(values).sum(), np.isnan(values).sum()]
        result[_NEGATIVE : _NANS + 1] = record[_NEGATIVE : _NANS + 1] + np.array(counts)
        low, high = record[_RUN].view(np.float64)
        result[_RUN].view(np.float64)[:] = (
            min(low, exact.min(initial=np.inf)) + 0.0,
            max(high, exact.max(initial=-np.inf)) + 0.0,
        )
        if self.axis is not None:
            others = tuple(each for each in range(values.ndim) if each != self.axis)
            finite = np.isfinite(values)
            lows, highs = self._axis_ranges(record)
            self._axis_ranges(result)[:] = (
                np.minimum(lows, values.min(others, initial=np.inf, where=finite)) + 0.0,
                np.maximum(highs, values.max(others, initial=-np.inf, where=finite)) + 0.0,
            )
        return result

    def _of(self, known: Statistics) -> I64:
        """The record of values of which these statistics are known, but for what is of a run or of an axis."""
        record = self.empty()
        if not known.count:
            return record
        moments, histogram = known.moments, known.histogram
        record[_COUNT], record[_ZEROS] = moments.count, moments.zeros
        record[_RANGE].view(np.float64)[:] = known.minimum, known.maximum
        record[_SUM] = _words_of((moments.sizes + moments.total) / 2 / _UNIT, _SUM)
        record[_NEGATIVE_SUM] = _words_of((moments.sizes - moments.total) / 2 / _UNIT, _NEGATIVE_SUM)
        record[_SQUARES] = _words_of(moments.squares / _UNIT / _UNIT, _SQUARES)
        record[_EXPONENT] = histogram.exponent
        places = np.arange(histogram.first, histogram.first + histogram.counts.size) % self.bins
        record[_COUNTS + places] = histogram.counts
        return record


@dataclass(frozen=True)
class Records:
    """The records of several values in one array: for each key where its record begins, and what it holds."""

    places: Mapping[str, tuple[int, RecordLayout]]

    @property
    def words(self) -> int:
        """The size of the array."""
        return sum(layout.words for _, layout in self.places.values())

    @cached_property
    def _firsts(self) -> I64:
        return np.array([first for first, _ in self.places.values()], np.int64)

    def empty(self) -> I64:
        """All records without values."""
        return np.concatenate([np.zeros(0, np.int64), *(layout.empty() for _, layout in self.places.values())])

    def begin_run(self, records: I64) -> None:
        """Forget the ranges of the last run."""
        records.view(np.float64)[self._firsts[:, None] + np.arange(_RUN.start, _RUN.stop)] = _NO_RANGE

    def run_ranges(self, records: I64) -> tuple[Sequence[str], F64]:
        """The keys, and the range of each in the run, `[keys, 2]`: `inf` and `-inf` without finite values."""
        ends = records.view(np.float64)[self._firsts[:, None] + np.arange(_RUN.start, _RUN.stop)]
        return list(self.places), ends

    def with_nan(self, records: I64) -> Iterator[tuple[str, int]]:
        """The keys of which values were NaN, and how many."""
        for place in np.flatnonzero(records[self._firsts + _NANS]).tolist():
            yield list(self.places)[place], int(records[self._firsts[place] + _NANS])

    def statistics(self, records: I64) -> dict[str, Statistics]:
        """The statistics of each key, empty ones of a key whose values had no elements."""
        return {
            key: layout.statistics(records[first : first + layout.words])
            for key, (first, layout) in self.places.items()
        }


def _sum_of(words: I64) -> int:
    return sum(int(word) << (32 * place) for place, word in enumerate(words.tolist()))


def _words_of(value: Fraction, part: slice) -> I64:
    assert value.denominator == 1
    return np.fromiter(_limbs(value.numerator, part.stop - part.start), np.int64)


def _limbs(value: int, count: int) -> Iterator[int]:
    for _ in range(count):
        yield value & 0xFFFFFFFF
        value >>= 32
