"""Records against what is known of all their values at once."""

from dataclasses import replace

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
    assert found.moments.zeros == 1
    # Of the run, which nobody has ended: 1 - 3 + 0 + 2.5, and 1 + 9 + 0 + 6.25.
    assert record[5:9].view(np.float64)[:2].tolist() == [-3.0, 2.5]
    assert record[9:11].view(np.float64).tolist() == [0.5, 16.25]
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
        expected = Statistics.of(np.concatenate(parts), bins=bins)
        assert layout.statistics(record) == replace(expected, moments=replace(expected.moments, total=0, squares=0))


def test_runs_and_keys() -> None:
    records = Records({"x": (0, RecordLayout(2)), "y": (14, RecordLayout(3))})
    memory = records.empty()
    assert memory.size == records.words == 14 + 15
    keys, seen = records.run(memory)
    assert keys == ["x", "y"]
    assert seen.tolist() == [[np.inf, -np.inf, 0.0, 0.0]] * 2
    assert records.statistics(memory) == {"x": Statistics(), "y": Statistics()}
    layout = RecordLayout(3)
    for values in ([1.0, 5.0], [2.0, np.nan], [3.0]):
        records.begin_run(memory)
        memory[14:] = layout.added(memory[14:], np.array(values, np.float32))
        finite = [each for each in values if each == each]
        figures = [finite[0], finite[-1], sum(finite), sum(each * each for each in finite)]
        assert records.run(memory)[1].tolist() == [[np.inf, -np.inf, 0.0, 0.0], figures]
    assert list(records.with_nan(memory)) == [("y", 1)]
    found = records.statistics(memory)
    assert found["x"] == Statistics()
    assert (found["y"].count, found["y"].minimum, found["y"].maximum) == (4, 1.0, 5.0)
    expected = Statistics.of(np.array([1, 5, 2, 3], np.float32), bins=3)
    assert found["y"].histogram.to_dict() == expected.histogram.to_dict()


def test_runs_of_one_call_are_runs_one_after_the_other() -> None:
    layout, values = RecordLayout(5), np.random.default_rng(0).normal(size=13).astype(np.float32)
    words = np.zeros(layout.words + 4 * 3, np.int64)
    words[: layout.words] = layout.empty()
    layout.add_runs(words, values, 3, 4)
    record = layout.empty()
    for run in range(3):
        record[7:11] = layout.empty()[7:11]
        record = layout.added(record, values[4 * run : 4 * run + 4])
        assert words[layout.words + 4 * run :][:4].tolist() == record[7:11].tolist()
    assert np.array_equal(words[: layout.words], record)
