"""Layouts: buffers that live together lie apart, and the arena is as small as it can be where that is known."""

import random

import pytest

from qmlir.targets.cpu.isa.base import ALIGNMENT
from qmlir.targets.cpu.scheduled.kernel_plan_memory import ArenaPlan, Lifetime, aligned, most_alive, plan_arena


def _check(buffers: list[Lifetime], layout: ArenaPlan) -> None:
    for number, (mine, start) in enumerate(zip(buffers, layout.offsets, strict=True)):
        assert start % ALIGNMENT == 0
        assert 0 <= start <= start + mine.size <= layout.peak
        for other, place_of in zip(buffers[:number], layout.offsets, strict=False):
            live_together = mine.start <= other.end and other.start <= mine.end
            apart = start + mine.size <= place_of or place_of + other.size <= start
            assert apart or not live_together


@pytest.mark.parametrize("seed", range(20))
def test_random_buffers(seed: int) -> None:
    numbers = random.Random(seed)
    buffers = []
    for _ in range(60):
        start = numbers.randrange(40)
        buffers.append(Lifetime(numbers.randrange(0, 5000), start, start + numbers.randrange(8)))
    layout = plan_arena(buffers)
    _check(buffers, layout)
    # By hand: no order is worse than laying everything end to end, none better than what lives at one time.
    assert most_alive(buffers) <= layout.peak <= sum(aligned(each.size) for each in buffers)
    assert layout.peak <= 1.3 * most_alive(buffers)


def test_a_chain_needs_two_places() -> None:
    """Each layer reads one buffer and writes the next."""
    buffers = [Lifetime(1000, step, step + 1) for step in range(10)]
    assert plan_arena(buffers).peak == most_alive(buffers) == 2 * 1024


def test_the_tightest_gap_is_taken() -> None:
    """Between long-lived buffers of 64 bytes, a gap of 128 and one of 64 bytes open; 64 bytes go into the small one."""
    buffers = [
        Lifetime(640, 0, 0), Lifetime(320, 0, 9), Lifetime(256, 0, 4), Lifetime(192, 0, 9), Lifetime(192, 5, 9),
    ]  # fmt: skip
    layout = plan_arena(buffers)
    _check(buffers, layout)
    assert layout.peak == most_alive(buffers)


def test_nothing_to_place() -> None:
    assert plan_arena([]) == ArenaPlan((), 0)
    assert most_alive([]) == 0


def test_empty_buffers_take_no_room() -> None:
    assert plan_arena([Lifetime(0, 0, 3), Lifetime(0, 1, 2)]).peak == 0
