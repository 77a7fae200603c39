"""A part of a profile as bytes: the ranges and sums of some runs, one by one, and the statistics of all of them.

Counts and histograms merge in any order; sums and averages depend on the order of the runs, so those of each run are
kept. The bytes are a safetensors file, which holds nothing but numbers and text: ranges, sums, counts and limits as
arrays, the rest as JSON. Bytes may come from a folder that anyone may have written: what is read has the types, shapes
and bounds of what a run makes.
"""

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, cast

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.histogram import SMALLEST_EXPONENT, Histogram
from qmlir.arithmetic.moments import Moments
from qmlir.arithmetic.statistics import Statistics
from qmlir.interpreter.observers import RunFigures
from qmlir.ir.diagnostics import DiagnosticError, text_error
from qmlir.text.data import parse_data

_EMPTY = (math.inf, -math.inf)


@dataclass(frozen=True)
class ProfilePart:
    """The ranges and sums of some runs, in their order, and the statistics of all of them, without sums, by key."""

    runs: Sequence[RunFigures]
    statistics: Mapping[str, Statistics]

    def to_bytes(self) -> bytes:
        """Everything, exactly."""
        arrays: dict[str, Array] = {}
        keys: list[list[str]] = []
        for number, (names, group) in enumerate(groupby(self.runs, lambda each: tuple(each.keys))):
            parts = list(group)
            keys.append(list(names))
            arrays[f"firsts{number}"] = np.array([first for part in parts for first in part.firsts], np.int64)
            arrays[f"seen{number}"] = np.concatenate([part.seen for part in parts], axis=1)
        told: list[dict[str, Any]] = []
        for number, (key, known) in enumerate(self.statistics.items()):
            arrays[f"counts{number}"] = known.histogram.counts
            arrays[f"range{number}"] = np.array([known.minimum, known.maximum])
            if known.axis is not None:
                arrays[f"axis{number}"] = np.array([known.axis_minima, known.axis_maxima])
            told.append(
                {
                    "key": key, "count": known.count, "zeros": known.moments.zeros, "axis": known.axis,
                    "kept": dict(known.kept), "infinities": list(known.infinities),
                    "histogram": [known.histogram.bins, known.histogram.exponent, known.histogram.first],
                }
            )  # fmt: skip
        text = json.dumps({"keys": keys, "statistics": told})
        return save({**arrays, "told": np.frombuffer(text.encode(), np.uint8)})

    @staticmethod
    def from_bytes(content: bytes) -> "ProfilePart":
        """What `to_bytes` made. Raises `DiagnosticError` for anything else."""
        try:
            arrays = load(content)
            told = parse_data(arrays["told"].tobytes(), "it", allow_nonfinite=True).value
            runs = [_runs(keys, arrays, number) for number, keys in enumerate(told["keys"])]
            statistics = {
                each["key"]: _statistics(each, arrays, number) for number, each in enumerate(told["statistics"])
            }
        except (
            SafetensorError,
            ValueError,
            TypeError,
            LookupError,
            AttributeError,
            RecursionError,
            OverflowError,
            DiagnosticError,
        ) as error:
            raise text_error("it is not part of a profile; remove it and run again") from error
        return ProfilePart(runs, statistics)

    def is_of(self, keys: Collection[str], firsts: Sequence[int], bins: int) -> bool:
        """Whether it may be of runs with these first samples, of a module with these keys."""
        seen = {key for each in self.runs for key, runs in zip(each.keys, each.seen, strict=True) if _is_seen(runs)}
        return (
            [first for each in self.runs for first in each.firsts] == list(firsts)
            and all(key in keys for each in self.runs for key in each.keys)
            and all(key in keys for key in self.statistics)
            and all(key in seen or not each.count for key, each in self.statistics.items())
            and all(each.histogram.bins == bins or not each.count for each in self.statistics.values())
        )


def _is_seen(runs: Array) -> bool:
    return bool((runs[:, 0] <= runs[:, 1]).any())


def _expect(is_so: bool, what: str) -> None:
    if not is_so:
        raise ValueError(what)


def _whole(number: Any, low: float = -math.inf, high: float = math.inf) -> int:
    """A whole number within bounds."""
    _expect(type(number) is int and low <= number <= high, "a whole number")
    return number


def _runs(told: Any, arrays: Mapping[str, Array], number: int) -> RunFigures:
    firsts, seen = arrays[f"firsts{number}"], arrays[f"seen{number}"]
    _expect(type(told) is list, "keys")
    keys = cast(list[str], told)
    _expect(all(type(each) is str for each in keys), "keys")
    _expect(firsts.dtype == np.int64 and firsts.ndim == 1 and firsts.size > 0, "first samples")
    _expect(seen.dtype == np.float64 and seen.shape == (len(keys), firsts.size, 4), "ranges and sums")
    lows, highs, totals, squares = np.moveaxis(seen, -1, 0)
    is_empty = (lows == np.inf) & (highs == -np.inf) & (totals == 0) & (squares == 0)
    is_some = np.isfinite(lows) & np.isfinite(highs) & (lows <= highs) & ~np.isnan(totals) & (squares >= 0)
    _expect(bool((is_empty | is_some).all()), "ranges and sums of numbers")
    return RunFigures(keys, firsts.tolist(), seen)


def _histogram(told: Any, counts: Array, values: int) -> Histogram:
    bins, exponent, first = told
    _expect(counts.dtype == np.int64 and counts.ndim == 1 and bool((counts >= 0).all()), "counts")
    _expect(sum(counts.tolist()) == values, "counts of all values")
    reach = 1 << 16
    found = Histogram(_whole(bins), _whole(exponent, SMALLEST_EXPONENT, 1024), _whole(first, -reach, reach), counts)
    last = first + counts.size - 1
    _expect(not counts.size or max(last, 0) - min(first, 0) < bins, "a range that takes so many bins")
    return found


def _statistics(told: Mapping[str, Any], arrays: Mapping[str, Array], number: int) -> Statistics:
    moments = Moments(_whole(told["count"], 0), _whole(told["zeros"], 0, told["count"]))
    ends = arrays[f"range{number}"]
    _expect(ends.dtype == np.float64 and ends.shape == (2,), "a range")
    low, high = ends.tolist()
    _expect(math.isfinite(low) and low <= high < math.inf if moments.count else (low, high) == _EMPTY, "a range")
    negative, positive = (_whole(each, 0) for each in told["infinities"])
    kept = cast(dict[str, Any], told["kept"])
    _expect(type(kept) is dict and isinstance(told["key"], str), "what observers keep")
    histogram = _histogram(told["histogram"], arrays[f"counts{number}"], moments.count)
    known = Statistics(low, high, moments, histogram, kept=kept, infinities=(negative, positive))
    if told["axis"] is None:
        return known
    along = arrays[f"axis{number}"]
    _whole(told["axis"])
    _expect(along.dtype == np.float64 and along.ndim == 2 and not np.isnan(along).any(), "ranges of an axis")
    lows, highs = along
    return replace(known, axis=told["axis"], axis_minima=lows, axis_maxima=highs)
