"""Serialization of a part of a profile: ranges and sums of each run, and merged statistics of all runs.

Counts and histograms merge in any order. Sums and averages depend on the order of the runs, so they are kept per run.
The format is safetensors, which contains only numbers and text: figures of runs and counts of histograms are arrays,
the rest is JSON. Bytes may come from an untrusted folder, so types, shapes and bounds are checked.
"""

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, cast

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.histogram import SMALLEST_EXPONENT
from qmlir.arithmetic.statistics import Statistics
from qmlir.interpreter.observers import RunFigures
from qmlir.ir.diagnostics import DiagnosticError, text_error
from qmlir.text.data import parse_data


@dataclass(frozen=True)
class ProfilePart:
    """The ranges and sums of some runs, in order, and the merged statistics of all these runs (without sums) by key."""

    runs: Sequence[RunFigures]
    statistics: Mapping[str, Statistics]

    def to_bytes(self) -> bytes:
        """Serializes the part without loss."""
        arrays: dict[str, Array] = {}
        keys: list[list[str]] = []
        for number, (names, group) in enumerate(groupby(self.runs, lambda each: tuple(each.keys))):
            parts = list(group)
            keys.append(list(names))
            arrays[f"firsts{number}"] = np.array([first for part in parts for first in part.firsts], np.int64)
            arrays[f"seen{number}"] = np.concatenate([part.seen for part in parts], axis=1)
        told = [(key, each.to_dict()) for key, each in self.statistics.items()]
        for number, (_, fields) in enumerate(told):
            arrays[f"counts{number}"] = np.array(fields["histogram"].pop("counts"), np.int64)
        text = json.dumps({"keys": keys, "statistics": told})
        return save({**arrays, "told": np.frombuffer(text.encode(), np.uint8)})

    @staticmethod
    def from_bytes(content: bytes) -> "ProfilePart":
        """Deserializes the result of `to_bytes`. Raises `DiagnosticError` for any other bytes."""
        try:
            arrays = load(content)
            told = parse_data(arrays["told"].tobytes(), "it", allow_nonfinite=True).value
            runs = [_runs(keys, arrays, number) for number, keys in enumerate(told["keys"])]
            rows = enumerate(told["statistics"])
            statistics = {key: _statistics(each, arrays[f"counts{number}"]) for number, (key, each) in rows}
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
        """Returns True if this part matches runs with these first samples, keys of the module and number of bins."""
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


def _statistics(told: dict[str, Any], counts: Array) -> Statistics:
    _expect(counts.dtype == np.int64 and counts.ndim == 1, "counts")
    told["histogram"]["counts"] = listed = counts.tolist()
    found = Statistics.from_dict(told)
    _expect(found.to_dict() == told, "the numbers of statistics")
    of = found.histogram
    _expect(counts.min(initial=0) >= 0 and sum(listed) == found.count, "counts of all values")
    _expect(SMALLEST_EXPONENT <= of.exponent <= 1024 and abs(of.first) <= 1 << 16, "a histogram")
    _expect(not listed or max(of.first + len(listed) - 1, 0) - min(of.first, 0) < of.bins, "a range that fits the bins")
    is_range = -math.inf < found.minimum <= found.maximum < math.inf
    _expect((is_range or not found.count) and min(found.infinities) >= 0 and found.batches is None, "a range")
    _expect(found.axis_minima.ndim == 1 and found.axis_minima.shape == found.axis_maxima.shape, "ranges of an axis")
    return found
