"""Tables of 65,536 bytes in parts: the parts say every entry, and what has none is refused."""

import numpy as np
import pytest

from qmlir.targets.cpu.scheduled.kernel_split_tables import SplitTable

_PLACES = np.arange(-(1 << 15), 1 << 15)


def _sigmoid(slope: float) -> np.ndarray:
    return np.round(255 / (1 + np.exp(-_PLACES * slope)) - 128).astype(np.int8)


@pytest.mark.parametrize("slope", [1e-6, 1e-4, 3e-4, -3e-4])
def test_parts_of_a_sigmoid_say_all_of_it(slope: float) -> None:
    table = _sigmoid(slope)
    split = SplitTable.of(table, 8)
    assert split is not None
    assert np.array_equal(split.whole(), table)
    assert split.direction == (1 if slope > 0 else -1)


@pytest.mark.parametrize("direction", [1, -1])
def test_steps_of_several_entries_are_several_limits(direction: int) -> None:
    steps = np.random.default_rng(7).choice([0, 3], size=(256, 1))
    table = (direction * steps * (np.arange(256) >= 200)).astype(np.int8).reshape(-1)
    split = SplitTable.of(table, 3)
    assert split is not None
    assert [limits[steps[:, 0] > 0].tolist() for limits in split.limits] == [[199] * int((steps > 0).sum())] * 3
    assert np.array_equal(split.whole(), table)


def test_groups_of_any_first_entries_are_told_apart() -> None:
    first = np.random.default_rng(3).integers(-128, 128, 256)
    table = np.repeat(first, 256).astype(np.int8)
    split = SplitTable.of(table, 0)
    assert split is not None
    assert not split.limits
    assert np.array_equal(split.whole(), table)


def test_the_whole_range_in_one_group_wraps_nowhere() -> None:
    table = np.where(_PLACES & 255 > 100, 127, -128).astype(np.int8)
    assert SplitTable.of(table, 254) is None
    split = SplitTable.of(table, 255)
    assert split is not None
    assert np.array_equal(split.whole(), table)


def test_what_goes_up_and_down_is_refused() -> None:
    table = np.where(np.isin(_PLACES & 255, [7]), 1, 0).astype(np.int8)
    assert SplitTable.of(table, 8) is None
    rises_then_falls = np.where(_PLACES < 0, _PLACES & 255 > 9, _PLACES & 255 < 9).astype(np.int8)
    assert SplitTable.of(rises_then_falls, 8) is None
