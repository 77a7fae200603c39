"""Records: the statistics of a value as words in memory, which compiled code updates when it computes the value.

A record is an array of i64. Counts, ranges and the histogram accumulate over all runs. The range and the sums of the
current run are kept separately, so that the sums of all runs can be added in the order of the runs. An update does not
depend on the order of the elements (`qmlir.arithmetic.statistics`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.schemes import F64, I64
from qmlir.arithmetic.statistics import SMALLEST_EXPONENT, Histogram, Moments, Statistics, run_sums

COUNT, ZEROS, NEGATIVE, POSITIVE, NANS = range(5)
"""The indices of the words that count finite values, zeros, minus infinities, plus infinities and NaNs."""

LOW, HIGH, RUN_LOW, RUN_HIGH, RUN_TOTAL, RUN_SQUARES = range(5, 11)
"""The indices of words that hold f64 bits: the range of all runs, and the range, sum and sum of squares of one run."""

EXPONENT = 11
"""The index of the word that holds the exponent of the histogram."""

COUNTS = 12
"""The index of the first word of the histogram: bin `i` is at offset `i`, or at `bins + i` if `i` is negative. The
histogram is followed by the minimum for each index of the axis, then the maximum for each, as bits of f64."""

RUN_WORDS = 4
"""The number of words that hold the range and the sums of one run."""

_RUN = slice(RUN_LOW, RUN_LOW + RUN_WORDS)
_NO_RUN = (np.inf, -np.inf, 0.0, 0.0)


@dataclass(frozen=True)
class RecordLayout:
    """The layout of a record: a histogram of `bins` bins, and ranges for `indices` indices along an optional `axis`."""

    bins: int
    axis: int | None = None
    indices: int = 0

    @property
    def words(self) -> int:
        """The size of the record in words."""
        return COUNTS + self.bins + 2 * self.indices

    def empty(self) -> I64:
        """Returns a record that contains no values."""
        record = np.zeros(self.words, np.int64)
        record[EXPONENT] = SMALLEST_EXPONENT
        record[LOW : HIGH + 1].view(np.float64)[:] = _NO_RUN[:2]
        record[_RUN].view(np.float64)[:] = _NO_RUN
        self._axis_ranges(record)[:] = np.array(_NO_RUN[:2])[:, None]
        return record

    def _axis_ranges(self, record: I64) -> Array:
        """Returns the minima and maxima of the indices, as rows of f64 in the record."""
        return record[COUNTS + self.bins :].view(np.float64).reshape(2, self.indices)

    def statistics(self, record: I64) -> Statistics:
        """Returns the statistics of all values, without sums; an index with no finite values has an empty range."""
        infinities = int(record[NEGATIVE]), int(record[POSITIVE])
        if not record[COUNT]:
            return Statistics(infinities=infinities)
        low, high = map(float, record[LOW : HIGH + 1].view(np.float64))
        moments = Moments(int(record[COUNT]), int(record[ZEROS]))
        known = Statistics(low, high, moments, self._histogram(record, low, high), infinities=infinities)
        if self.axis is None:
            return known
        lows, highs = self._axis_ranges(record)
        return replace(known, axis=self.axis, axis_minima=lows.copy(), axis_maxima=highs.copy())

    def _histogram(self, record: I64, low: float, high: float) -> Histogram:
        counts, exponent = record[COUNTS : COUNTS + self.bins], int(record[EXPONENT])
        taken = np.flatnonzero(counts)
        # The bins of negative values are in the last words; the range, extended to contain 0, uses at most all of them.
        last_bin = int(np.floor(np.ldexp(max(high, 0.0), -exponent)))
        positions = np.where((low < 0) & (taken > last_bin), taken - self.bins, taken)
        first, last = int(positions.min()), int(positions.max())
        ordered = counts[np.arange(first, last + 1) % self.bins]
        return Histogram(self.bins, exponent, first, ordered)

    def added(self, record: I64, values: Array) -> I64:
        """Returns the record after the f32 `values` are added in the same way as in compiled code."""
        is_finite = np.isfinite(values)
        exact = values[is_finite]
        seen = Statistics.of(exact, bins=self.bins)
        known = replace(self, axis=None).statistics(record).merged(replace(seen, infinities=(0, 0)))
        result = record.copy()
        result[NEGATIVE : NANS + 1] += [np.isneginf(values).sum(), np.isposinf(values).sum(), np.isnan(values).sum()]
        if not seen.count:
            return result
        result[COUNT], result[ZEROS], result[EXPONENT] = known.count, known.moments.zeros, known.histogram.exponent
        result[LOW : HIGH + 1].view(np.float64)[:] = known.minimum, known.maximum
        run = result[_RUN].view(np.float64)
        run[:2] = min(run[0], seen.minimum), max(run[1], seen.maximum)
        finite = np.where(is_finite, values, np.float32(0))
        run[2:] += run_sums(finite.reshape(1, 1, -1), np.array([max(-seen.minimum, seen.maximum)]))[0]
        counts = result[COUNTS : COUNTS + self.bins]
        counts[:] = 0
        histogram = known.histogram
        counts[np.arange(histogram.first, histogram.first + histogram.counts.size) % self.bins] = histogram.counts
        if self.axis is not None:
            others = tuple(each for each in range(values.ndim) if each != self.axis)
            lows, highs = self._axis_ranges(result)
            lows[:] = np.minimum(lows, values.min(others, initial=np.inf, where=is_finite)) + 0.0
            highs[:] = np.maximum(highs, values.max(others, initial=-np.inf, where=is_finite)) + 0.0
        return result

    def add_runs(self, words: I64, values: Array, runs: int, size: int) -> None:
        """Adds `runs` runs of `size` f32 values each to the record at the start of `words`, and writes the words of
        each run after the record."""
        for run in range(runs):
            record = words[: self.words].copy()
            record[_RUN].view(np.float64)[:] = _NO_RUN
            words[: self.words] = record = self.added(record, values[run * size : (run + 1) * size])
            words[self.words + RUN_WORDS * run :][:RUN_WORDS] = record[_RUN]


@dataclass(frozen=True)
class Records:
    """The records of several values in one array: the offset and the layout of the record for each key."""

    positions: Mapping[str, tuple[int, RecordLayout]]

    @property
    def words(self) -> int:
        """The size of the array in words."""
        return sum(layout.words for _, layout in self.positions.values())

    @cached_property
    def _firsts(self) -> I64:
        return np.array([first for first, _ in self.positions.values()], np.int64)

    @cached_property
    def _runs(self) -> I64:
        """The words of the run of each record, `[keys, 4]`."""
        return self._firsts[:, None] + np.arange(_RUN.start, _RUN.stop)

    def empty(self) -> I64:
        """Returns all records without values."""
        return np.concatenate([np.zeros(0, np.int64), *(layout.empty() for _, layout in self.positions.values())])

    def begin_run(self, records: I64) -> None:
        """Resets the ranges and the sums of the previous run."""
        records.view(np.float64)[self._runs] = _NO_RUN

    def run(self, records: I64) -> tuple[Sequence[str], F64]:
        """Returns the keys, and an array `[keys, 4]` with the range (`inf` and `-inf` if empty) and the sums of the
        run."""
        return list(self.positions), records.view(np.float64)[self._runs]

    def with_nan(self, records: I64) -> Iterator[tuple[str, int]]:
        """Yields the key of each value that contained NaN, and the number of NaNs."""
        for position in np.flatnonzero(records[self._firsts + NANS]).tolist():
            yield list(self.positions)[position], int(records[self._firsts[position] + NANS])

    def statistics(self, records: I64) -> dict[str, Statistics]:
        """Returns the statistics for each key, without sums; a value without elements has empty statistics."""
        places = self.positions.items()
        return {key: layout.statistics(records[first:][: layout.words]) for key, (first, layout) in places}
