"""Times of several actions, measured alternately, so that load on a shared machine slows all of them equally."""

import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Times:
    """The time of one run in seconds: the median of the rounds' medians, and the smallest and largest of these."""

    median: float
    low: float
    high: float
    rounds: Sequence[float] = ()
    """The medians of the rounds, in order."""

    @staticmethod
    def of(rounds: Sequence[float]) -> "Times":
        """Summarizes the medians of rounds."""
        return Times(statistics.median(rounds), min(rounds), max(rounds), tuple(rounds))


Clock = Callable[[], float]
"""Returns seconds since some moment: wall-clock time (`time.perf_counter`) or CPU time (`time.process_time`)."""

ROUNDS = 3


def median_seconds(action: Callable[[], object], rounds: int = ROUNDS, clock: Clock = time.perf_counter) -> float:
    """Returns the median time of `rounds` runs of `action`."""
    times: list[float] = []
    for _ in range(rounds):
        start = clock()
        action()
        times.append(clock() - start)
    return statistics.median(times)


_PAUSE = 0.01
"""Seconds to wait before a turn, so that spinning threads give up their cores."""

_WARM = 10
"""One warm-up call is made before a turn for this many timed ones, as caches hold the data of the action before it."""


def interleaved(
    actions: Mapping[str, Callable[[], object]],
    rounds: int = 5,
    seconds: float = 0.3,
    clock: Clock = time.perf_counter,
) -> dict[str, Times]:
    """Returns the times of `actions` by name, measured alternately.

    A turn takes about `seconds`, with at least three runs. Each action runs three times beforehand. The order is
    shuffled in each round, with a fixed seed, so that no action always runs after the one that heats the CPU most.
    """
    counts: dict[str, int] = {}
    for name, action in actions.items():
        counts[name] = max(3, int(seconds / median_seconds(action)))
    medians: dict[str, list[float]] = {name: [] for name in actions}
    order, generator = list(actions), random.Random(0)
    for _ in range(rounds):
        generator.shuffle(order)
        for name in order:
            time.sleep(_PAUSE)
            for _ in range(1 + counts[name] // _WARM):
                actions[name]()
            medians[name].append(median_seconds(actions[name], counts[name], clock))
    return {name: Times.of(found) for name, found in medians.items()}
