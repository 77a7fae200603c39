"""Parts of profiles as bytes: nothing is lost, and what is none of them is refused in a line."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from qmlir.arithmetic.statistics import Statistics
from qmlir.interpreter.profile_parts import ProfilePart
from qmlir.interpreter.recording import Ranges
from qmlir.ir.diagnostics import DiagnosticError

ARRAYS = hnp.arrays(np.float32, st.integers(0, 9), elements=st.floats(width=32, allow_nan=False))


@given(st.lists(ARRAYS, max_size=3), st.booleans(), st.integers(2, 65))
def test_nothing_is_lost(arrays: list[np.ndarray], has_axis: bool, bins: int) -> None:
    statistics: dict[str, Statistics] = {}
    for number, array in enumerate(arrays):
        known = replace(Statistics.of(array, bins=bins), kept={"of a package": [1.5, "\udc80", {"a": 2**70}]})
        if has_axis:
            known = replace(known, axis=1, axis_minima=np.array([-np.inf, 1.5]), axis_maxima=np.array([2.5, np.inf]))
        statistics[f"value {number} \udc80"] = known
    ends = np.array([[[0.5, 1.5], [np.inf, -np.inf]], [[-0.0, 0.0], [1e-45, 1e300]]])
    ranges = [Ranges(["a", "b"], [3, 4], ends), Ranges(["a", "b"], [5], ends[:, :1]), Ranges(["a"], [7], ends[:1, :1])]
    found = ProfilePart.from_bytes(ProfilePart(ranges, statistics).to_bytes())
    assert {key: (each, each.minimum, each.maximum) for key, each in found.statistics.items()} == {
        key: (each, each.minimum, each.maximum) for key, each in statistics.items()
    }
    assert list(found.statistics) == list(statistics)
    for key, known in found.statistics.items():
        assert known.axis_minima.tobytes() == statistics[key].axis_minima.tobytes()
        assert known.axis_maxima.tobytes() == statistics[key].axis_maxima.tobytes()
    # Ranges of the same keys are put together.
    one, other = found.ranges
    assert (list(one.keys), list(one.firsts), list(other.keys), list(other.firsts)) == (
        ["a", "b"],
        [3, 4, 5],
        ["a"],
        [7],
    )
    assert one.ends.tobytes() == np.concatenate([ends, ends[:, :1]], axis=1).tobytes()


def test_what_is_no_part_is_refused() -> None:
    whole = ProfilePart([], {"x": Statistics.of(np.ones(3, np.float32))}).to_bytes()
    for content in (
        b"",
        b"{}",
        whole[:-1],
        whole.replace(b'"moments"', b'"mements"'),
        whole.replace(b"counts0", b"count__"),
    ):
        with pytest.raises(DiagnosticError, match="a part of a profile holds something else"):
            ProfilePart.from_bytes(content)
