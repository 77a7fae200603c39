"""Teams of threads that run a program together: all go through its steps, and take shares of what is divided.

The caller is one thread of its team, the others wait in compiled code for the next job, for about a millisecond, and
then asleep. Calls from several threads at once have a team each. A process that was forked makes new ones.
"""

# numba has no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import os
import sys
from collections import defaultdict, deque
from collections.abc import Callable
from threading import Condition, Thread
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from .kernels import OPERATIONS as CALLS
from .kernels import SERIAL, Kernel, home, jit
from .memory import OPERATIONS as MEMORY
from .together import COUNT, ENGAGED, JOB, LINE, SEEN, STEPS, TICKET, words_of
from .together import OPERATIONS as TOGETHER

Array = npt.NDArray[Any]

_IDLE = 2_000
"""Looks at the next job before a thread of a team goes to sleep."""

_SHARED = "qmlir_teams_1"
"""The module with what all programs of a process share: each saved one has a copy of this file. The number is that of
the words of a team."""

_call, _array_at = CALLS["call"], MEMORY["array_at"]
_awaited, _raised = TOGETHER["awaited"], TOGETHER["raised"]


def _serve(team: Any, number: Any) -> None:
    """Run jobs as thread `number` of a team, until nobody has it and none came for a while."""
    seen = team[SEEN + LINE * number]
    is_wanted = True
    while is_wanted:
        now = _awaited(team, TICKET, seen, _IDLE)
        if now != seen:
            seen = now
            team[SEEN + LINE * number] = seen
            _call(team, STEPS, team, number, _array_at(team, JOB, 0, "int64"))
        else:
            is_wanted = team[ENGAGED] != 0


def _lead(team: Any, job: Any) -> None:
    """Run a job as the first thread of a team."""
    _raised(team, TICKET)
    _call(team, STEPS, team, 0, job)


def _words(count: int) -> Array:
    words = np.zeros(words_of(count), np.int64)
    words[COUNT] = count
    return words


def _compiled(function: Callable[..., None], signature: str, digest: str) -> Any:
    """A function of this file as part of the program of a digest: numba names code by it, in its cache too."""
    own = FunctionType(function.__code__, globals(), function.__name__)
    own.__module__ = home(digest)
    return jit(signature, cache=True, **SERIAL)(own)


class Team:
    """Some threads, the caller's among them, that run one job at a time."""

    def __init__(self, count: int, serve: Callable[[Array, int], None]) -> None:
        self.words = _words(count)
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


def together(digest: str, count: int) -> Callable[..., None]:
    """What runs the steps of the program of a digest, on so many threads, or as many as there are cores.

    It takes the steps, and the arrays that they work on.
    """
    serve = _compiled(_serve, "void(int64[::1], int64)", digest)
    lead = _compiled(_lead, "void(int64[::1], int64[::1])", digest)
    count = min(count, _cores())

    def run(steps: Any, *arrays: Array) -> None:
        job = np.array([array.__array_interface__["data"][0] for array in arrays], np.int64)
        if not isinstance(steps, Kernel):  # Python in its place, on this thread
            steps(_words(1), 0, job)
            return
        idle = _teams()[count]
        try:
            team = idle.pop()
        except IndexError:
            team = Team(count, serve)
        team.run(lead, steps.address, job)
        idle.append(team)

    return run
