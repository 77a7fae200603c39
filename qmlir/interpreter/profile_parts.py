"""A part of a profile as bytes: the ranges of some runs, one by one, and the statistics of all of them.

Statistics merge exactly and in any order; averages over runs know their order, so the ranges of each run are kept. The
bytes are a safetensors file, which holds nothing but numbers and text: ranges, counts and limits as arrays, the rest as
JSON, in which numbers are exact.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.histogram import Histogram
from qmlir.arithmetic.moments import Moments
from qmlir.arithmetic.statistics import Statistics
from qmlir.interpreter.recording import Ranges
from qmlir.ir.diagnostics import text_error


@dataclass(frozen=True)
class ProfilePart:
    """The ranges of some runs, in their order, and the statistics of all of them by key."""

    ranges: Sequence[Ranges]
    statistics: Mapping[str, Statistics]

    def to_bytes(self) -> bytes:
        """Everything, exactly."""
        arrays: dict[str, Array] = {}
        keys: list[list[str]] = []
        for number, (names, group) in enumerate(groupby(self.ranges, lambda each: tuple(each.keys))):
            parts = list(group)
            keys.append(list(names))
            arrays[f"firsts{number}"] = np.array([first for part in parts for first in part.firsts], np.int64)
            arrays[f"ends{number}"] = np.concatenate([part.ends for part in parts], axis=1)
        told: list[dict[str, Any]] = []
        for number, (key, known) in enumerate(self.statistics.items()):
            arrays[f"counts{number}"] = known.histogram.counts
            arrays[f"range{number}"] = np.array([known.minimum, known.maximum])
            if known.axis is not None:
                arrays[f"axis{number}"] = np.array([known.axis_minima, known.axis_maxima])
            told.append(
                {
                    "key": key, "moments": known.moments.to_dict(), "axis": known.axis, "kept": dict(known.kept),
                    "infinities": list(known.infinities),
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
            told = json.loads(arrays["told"].tobytes())
            ranges = [
                Ranges(keys, arrays[f"firsts{number}"].tolist(), arrays[f"ends{number}"])
                for number, keys in enumerate(told["keys"])
            ]
            statistics = {
                each["key"]: _statistics(each, arrays, number) for number, each in enumerate(told["statistics"])
            }
        except (SafetensorError, ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            raise text_error("a part of a profile holds something else: remove it, and run again") from error
        return ProfilePart(ranges, statistics)


def _statistics(told: Mapping[str, Any], arrays: Mapping[str, Array], number: int) -> Statistics:
    low, high = arrays[f"range{number}"].tolist()
    negative, positive = told["infinities"]
    bins, exponent, first = told["histogram"]
    known = Statistics(
        low, high, Moments.from_dict(told["moments"]), Histogram(bins, exponent, first, arrays[f"counts{number}"]),
        kept=told["kept"], infinities=(negative, positive),
    )  # fmt: skip
    if told["axis"] is None:
        return known
    lows, highs = arrays[f"axis{number}"]
    return replace(known, axis=told["axis"], axis_minima=lows, axis_maxima=highs)
