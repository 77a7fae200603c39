"""Times several actions alternately, so that load on a shared machine affects all of them equally."""

import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Times:
    """The time of one run in seconds: the median of the medians of all rounds, and the smallest and largest median."""

    median: float
    low: float
    high: float
    rounds: Sequence[float] = ()
    """The median of each round, in order."""

    @staticmethod
    def of(rounds: Sequence[float]) -> "Times":
        """Summarizes the medians of rounds."""
        return Times(statistics.median(rounds), min(rounds), max(rounds), tuple(rounds))


Clock = Callable[[], float]
"""Returns a time in seconds: wall-clock time (`time.perf_counter`) or CPU time (`time.process_time`)."""

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
"""Seconds to wait before each turn, so that spinning threads release their cores."""

_WARM = 10
"""The number of timed calls per warm-up call. A turn begins with warm-up calls, because the caches still hold the data
of the previous action.
"""


def interleaved(
    actions: Mapping[str, Callable[[], object]], rounds: int = 5, seconds: float = 0.3, clock: Clock = time.perf_counter
) -> dict[str, Times]:
    """Returns the times of `actions` by name, measured alternately.

    In each round, every action has one turn, which takes about `seconds` and consists of at least three runs. Each
    action runs three times before the first round. The order is shuffled in each round, with a fixed seed, so that no
    action always follows the one that heats the CPU most.
    """
    counts = {name: max(3, int(seconds / median_seconds(action))) for name, action in actions.items()}
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
