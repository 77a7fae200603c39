"""Records against what NumPy and fractions say of all their values at once."""

from fractions import Fraction

import numpy as np
import pytest

from qmlir.arithmetic.records import RecordLayout, Records
from qmlir.arithmetic.statistics import Statistics


def test_a_record_by_hand() -> None:
    layout = RecordLayout(4, axis=1, indices=2)
    record = layout.empty()
    record = layout.added(record, np.array([[1.0, -3.0], [0.0, np.inf]], np.float32))
    record = layout.added(record, np.array([[2.5, np.nan]], np.float32))
    found = layout.statistics(record)
    assert (found.minimum, found.maximum, found.count, found.infinities) == (-3.0, 2.5, 4, (0, 1))
    assert (found.moments.total, found.moments.sizes, found.moments.squares) == (Fraction(1, 2), Fraction(13, 2), 16.25)
    assert found.moments.zeros == 1
    assert found.axis_minima.tolist() == [0.0, -3.0]
    assert found.axis_maxima.tolist() == [2.5, -3.0]
    # Four bins of 2, from -4 on: -3; 0 and 1; 2.5.
    assert (found.histogram.exponent, found.histogram.first, found.histogram.counts.tolist()) == (1, -2, [1, 0, 2, 1])


@pytest.mark.parametrize("bins", [2, 7, 2048])
def test_what_is_added_in_parts_is_what_is_taken_at_once(bins: int) -> None:
    generator = np.random.default_rng(bins)
    parts = [(generator.standard_normal(50) * 10.0 ** generator.uniform(-40, 30)).astype(np.float32) for _ in range(40)]
    parts += [np.zeros(3, np.float32), np.array([1e-45, -1e-45, -0.0], np.float32), np.empty(0, np.float32)]
    layout = RecordLayout(bins)
    for order in (parts, parts[::-1]):
        record = layout.empty()
        for each in order:
            record = layout.added(record, each)
        assert layout.statistics(record) == Statistics.of(np.concatenate(parts), bins=bins)


def test_runs_and_keys() -> None:
    records = Records({"x": (0, RecordLayout(2)), "y": (57, RecordLayout(3))})
    memory = records.empty()
    assert memory.size == records.words == 57 + 58
    keys, ends = records.run_ranges(memory)
    assert keys == ["x", "y"]
    assert ends.tolist() == [[np.inf, -np.inf]] * 2
    assert records.statistics(memory) == {"x": Statistics(), "y": Statistics()}
    layout = RecordLayout(3)
    for values in ([1.0, 5.0], [2.0, np.nan], [3.0]):
        records.begin_run(memory)
        memory[57:] = layout.added(memory[57:], np.array(values, np.float32))
        high = values[1] if values == [1.0, 5.0] else values[0]
        assert records.run_ranges(memory)[1].tolist() == [[np.inf, -np.inf], [values[0], high]]
    assert list(records.with_nan(memory)) == [("y", 1)]
    assert records.statistics(memory) == {
        "x": Statistics(),
        "y": Statistics.of(np.array([1, 5, 2, 3], np.float32), bins=3),
    }
