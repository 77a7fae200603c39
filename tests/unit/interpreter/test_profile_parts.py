"""Parts of profiles as bytes: nothing is lost, and what is none of them is refused in a line."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from operator import getitem
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors.numpy import load, save

from qmlir.arithmetic.statistics import Moments, Statistics
from qmlir.interpreter.observers import RunFigures
from qmlir.interpreter.profiling import ProfilePart
from qmlir.ir.diagnostics import DiagnosticError

NOTHING = np.inf, -np.inf, 0.0, 0.0
ARRAYS = hnp.arrays(np.float32, st.integers(0, 9), elements=st.floats(width=32, allow_nan=False))


@given(st.lists(ARRAYS, max_size=3), st.booleans(), st.integers(2, 65))
def test_nothing_is_lost(arrays: list[np.ndarray], has_axis: bool, bins: int) -> None:
    statistics: dict[str, Statistics] = {}
    for number, array in enumerate(arrays):
        known = replace(Statistics.of(array, bins=bins), kept={"of a package": [1.5, "\udc80", {"a": 2**70}]})
        if has_axis and known.count:
            known = replace(known, axis=1, axis_minima=np.array([-np.inf, 1.5]), axis_maxima=np.array([2.5, np.inf]))
        # Sums are those of runs.
        statistics[f"value {number} \udc80"] = replace(known, moments=Moments(known.count, known.moments.zeros))
    seen = np.array([[[0.5, 1.5, 2.0, 2.5], [*NOTHING]], [[-0.0, 0.0, 0.0, 0.0], [1e-45, 1e300, -1e300, np.inf]]])
    runs = [
        RunFigures(["a", "b"], [3, 4], seen),
        RunFigures(["a", "b"], [5], seen[:, :1]),
        RunFigures(["a"], [7], seen[:1, :1]),
    ]
    found = ProfilePart.from_bytes(ProfilePart(runs, statistics).to_bytes())
    assert {key: (each, each.minimum, each.maximum) for key, each in found.statistics.items()} == {
        key: (each, each.minimum, each.maximum) for key, each in statistics.items()
    }
    assert list(found.statistics) == list(statistics)
    for key, known in found.statistics.items():
        assert known.axis_minima.tobytes() == statistics[key].axis_minima.tobytes()
        assert known.axis_maxima.tobytes() == statistics[key].axis_maxima.tobytes()
    # Figures of the same keys are put together.
    one, other = found.runs
    assert (list(one.keys), list(one.firsts), list(other.keys), list(other.firsts)) == (
        ["a", "b"],
        [3, 4, 5],
        ["a"],
        [7],
    )
    assert one.seen.tobytes() == np.concatenate([seen, seen[:, :1]], axis=1).tobytes()


def test_what_is_no_part_is_refused() -> None:
    whole = ProfilePart([], {"x": Statistics.of(np.ones(3, np.float32))}).to_bytes()
    for content in (
        b"",
        b"{}",
        whole[:-1],
        whole.replace(b'"zeros"', b'"nulls"'),
        whole.replace(b"counts0", b"count__"),
    ):
        with pytest.raises(DiagnosticError, match="it is not part of a profile; remove it and run again"):
            ProfilePart.from_bytes(content)


def _set(arrays: dict[str, Any], told: Callable[[Any], object]) -> None:
    content = json.loads(arrays["told"].tobytes())
    told(content)
    arrays["told"] = np.frombuffer(json.dumps(content).encode(), np.uint8)


def _of_value(content: Any, *names: str) -> Callable[[dict[str, Any]], None]:
    *outer, last = names

    def update(told: Any) -> None:
        ((_, fields),) = told["statistics"]
        reduce(getitem, outer, fields)[last] = content

    return lambda arrays: _set(arrays, update)


_DAMAGES: list[Callable[[dict[str, Any]], None]] = [
    lambda arrays: arrays.update(seen0=arrays["seen0"][:, :, :2]),
    lambda arrays: arrays.update(seen0=arrays["seen0"].astype(np.float32)),
    lambda arrays: arrays.update(seen0=arrays["seen0"] * [np.nan, 1, 1, 1]),
    lambda arrays: arrays.update(seen0=arrays["seen0"] * [1, 1, np.nan, 1]),
    lambda arrays: arrays.update(seen0=arrays["seen0"] * [1, 1, 1, -1]),
    lambda arrays: arrays.update(firsts0=arrays["firsts0"][:0], seen0=arrays["seen0"][:, :0]),
    lambda arrays: arrays.update(counts0=arrays["counts0"].astype(np.float64)),
    lambda arrays: arrays.update(counts0=arrays["counts0"][None]),
    lambda arrays: arrays.update(counts0=-arrays["counts0"]),
    lambda arrays: arrays.update(counts0=arrays["counts0"] + 1),
    _of_value([2.5, 1.5], "range"),
    _of_value([1.5, np.inf], "range"),
    lambda arrays: _set(arrays, lambda told: told.update(keys=[["x", "y"]])),
    lambda arrays: _set(arrays, lambda told: told.update(keys=["x"])),
    _of_value(0.5, "histogram", "exponent"),
    _of_value("64", "histogram", "bins"),
    _of_value(1 << 40, "histogram", "exponent"),
    _of_value(1 << 40, "histogram", "first"),
    _of_value([1], "kept"),
    _of_value([-1, 0], "infinities"),
    _of_value([1.5], "axis_minima"),
    _of_value(-1, "moments", "zeros"),
    _of_value(3, "moments", "zeros"),
    _of_value(3, "moments", "count"),
    _of_value("1", "moments", "total"),
]


@pytest.mark.parametrize("damage", _DAMAGES)
def test_numbers_of_another_kind_are_refused(damage: Callable[[dict[str, Any]], None]) -> None:
    seen = Statistics.of(np.array([1.5, 2.5], np.float32), bins=64)
    whole = ProfilePart([RunFigures(["x"], [0], np.array([[[1.5, 2.5, 4.0, 8.5]]]))], {"x": seen}).to_bytes()
    assert ProfilePart.from_bytes(whole).is_of(["x"], [0], 64)
    arrays: dict[str, Any] = load(whole)
    damage(arrays)
    with pytest.raises(DiagnosticError, match="it is not part of a profile; remove it and run again"):
        ProfilePart.from_bytes(save({name: np.ascontiguousarray(each) for name, each in arrays.items()}))


def test_a_part_of_other_runs_is_told() -> None:
    seen = Statistics.of(np.array([1.5, 2.5], np.float32), bins=64)
    part = ProfilePart([RunFigures(["x"], [0], np.array([[[1.5, 2.5, 4.0, 8.5]]]))], {"x": seen})
    assert part.is_of(["x", "y"], [0], 64)
    assert not part.is_of(["y"], [0], 64)
    assert not part.is_of(["x"], [1], 64)
    assert not part.is_of(["x"], [0], 65)
    assert not ProfilePart([RunFigures(["x"], [0], np.array([[[*NOTHING]]]))], {"x": seen}).is_of(["x"], [0], 64)
