"""Teams of threads that run a program together: all go through its steps, and take shares of what is divided.

The caller is one thread of its team, the others wait in compiled code for the next job, for about a millisecond, and
then asleep. Calls from several threads at once have a team each. A process that was forked makes new ones. A team is
memory of 64-bit words, those that are waited for in lines of their own.
"""

import os
import sys
from collections import defaultdict, deque
from collections.abc import Callable
from threading import Condition, Thread
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from .entry import entry

Array = npt.NDArray[Any]

LINE = 8
"""Words of a cache line."""

COUNT, ARRIVED, PASSED, TICKET, ENGAGED, STEPS, SEEN = (LINE * place for place in range(7))
"""Words of a team: its threads, how many are at a barrier, barriers passed, jobs so far, whether somebody has it, the
address of what it runs and behind it that of the job, and from `SEEN` on the last job of each thread."""

JOB = STEPS + 1

LEAD, SERVE = ("int64", "const int64"), ("int64", "value index")
"""What the code of the first thread takes, and that of the others: the team, and the job or the thread's number."""

_SHARED = "qmlir_teams_1"
"""The module with what all programs of a process share: each saved one has a copy of this file. The number is that of
the words of a team."""


def new_words(count: int) -> Array:
    """The words of a team of so many threads."""
    words = np.zeros(SEEN + LINE * count, np.int64)
    words[COUNT] = count
    return words


class Team:
    """Some threads, the caller's among them, that run one job at a time."""

    def __init__(self, count: int, serve: Callable[[Array, int], None]) -> None:
        self.words = new_words(count)
        self._serve = serve
        self._changed = Condition()
        for number in range(1, count):
            Thread(target=self._work, args=(number,), name=f"qmlir-{number}", daemon=True).start()

    def _work(self, number: int) -> None:
        while True:
            with self._changed:
                while not self.words[ENGAGED]:
                    self._changed.wait()
            self._serve(self.words, number)

    def run(self, lead: Callable[[Array, Array], None], steps: int, job: Array) -> None:
        """Let all threads run the code at the address `steps` on the arrays whose addresses are `job`."""
        words = self.words
        words[STEPS], words[JOB] = steps, job.ctypes.data
        with self._changed:
            words[ENGAGED] = 1
            self._changed.notify_all()
        try:
            lead(words, job)
        finally:
            words[ENGAGED] = 0


def _teams() -> defaultdict[int, deque[Team]]:
    """The teams of this process that have nothing to do, by the number of their threads."""
    return vars(sys.modules.setdefault(_SHARED, ModuleType(_SHARED))).setdefault("teams", defaultdict(deque))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _teams().clear())  # their threads stayed with the parent


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Together:
    """Runs the steps of a program on some threads, or as many as there are cores.

    `lead` and `serve` are where the code lies that the first thread runs, and that of the others; it lives as long as
    `owner`.
    """

    def __init__(self, count: int, lead: int, serve: int, owner: object = None) -> None:
        self._count = min(count, _cores())
        self._lead, self._serve = entry(lead, LEAD, owner), entry(serve, SERVE, owner)

    def __call__(self, steps: int, *arrays: Array) -> None:
        """Run the code at the address `steps` on arrays."""
        job = np.array([array.__array_interface__["data"][0] for array in arrays], np.int64)
        idle = _teams()[self._count]
        try:
            team = idle.pop()
        except IndexError:
            team = Team(self._count, self._serve)
        team.run(self._lead, steps, job)
        idle.append(team)
