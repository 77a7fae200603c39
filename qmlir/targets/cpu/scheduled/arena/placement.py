"""Offsets for buffers of known sizes and lifetimes, so that those that live at one time lie apart.

Finding the smallest arena is NP-hard (dynamic storage allocation). Greedy best fit is near the lower bound on networks:
buffers are placed one by one, each in the smallest gap between those that live with it. Several orders are tried.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from qmlir.targets.cpu.isa.base import ALIGNMENT


def aligned(size: int) -> int:
    """`size` rounded up to the alignment."""
    return -(-size // ALIGNMENT) * ALIGNMENT


@dataclass(frozen=True)
class Lifetime:
    """A buffer of `size` bytes that is used from step `start` to step `end`, both included."""

    size: int
    start: int
    end: int


@dataclass(frozen=True)
class ArenaPlan:
    """Where each buffer lies, in bytes from the beginning, and the bytes that all need together."""

    offsets: tuple[int, ...]
    peak: int


Order = Callable[[Lifetime], tuple[int, ...]]

_ORDERS: tuple[Order, ...] = (
    lambda each: (-each.size, each.start),
    lambda each: (-each.size * (1 + each.end - each.start), each.start),
    lambda each: (each.start, -each.size),
)
"""By size, as TensorFlow Lite does; by size and time; by the time at which they begin."""


def place(buffers: Sequence[Lifetime]) -> ArenaPlan:
    """The best layout that is found; every offset is a multiple of the alignment."""
    layouts = [_placed_in_order(buffers, order) for order in _ORDERS]
    return min(layouts, key=lambda layout: layout.peak)


def most_alive(buffers: Sequence[Lifetime]) -> int:
    """The most bytes that live at one step: no arena is smaller."""
    begun = [(each.start, aligned(each.size)) for each in buffers]
    ended = [(each.end + 1, -aligned(each.size)) for each in buffers]
    # What ends before a step comes in front of what begins there.
    return max(accumulate(size for _, size in sorted([*begun, *ended])), default=0)


def _placed_in_order(buffers: Sequence[Lifetime], order: Order) -> ArenaPlan:
    count = len(buffers)
    offsets, sizes = np.zeros(count, np.int64), np.array([aligned(each.size) for each in buffers], np.int64)
    starts = np.array([each.start for each in buffers], np.int64)
    ends = np.array([each.end for each in buffers], np.int64)
    is_placed = np.zeros(count, bool)
    for number in sorted(range(count), key=lambda number: order(buffers[number])):
        together = np.flatnonzero(is_placed & (starts <= ends[number]) & (ends >= starts[number]))
        by_offset = together[np.argsort(offsets[together], kind="stable")]
        taken = [(int(offsets[each]), int(offsets[each] + sizes[each])) for each in by_offset]
        offsets[number] = _best_gap(taken, int(sizes[number]))
        is_placed[number] = True
    peak = int((offsets + sizes).max(initial=0))
    return ArenaPlan(tuple(int(offset) for offset in offsets), peak)


def _best_gap(taken: Sequence[tuple[int, int]], size: int) -> int:
    """Where `size` bytes fit most tightly between the taken ranges, which are in order; behind all otherwise."""
    best, best_gap, free = None, 0, 0
    for start, end in taken:
        gap = start - free
        if gap >= size and (best is None or gap < best_gap):
            best, best_gap = free, gap
        free = max(free, end)
    return free if best is None else best
