"""Teams of threads that run a program together: all go through its steps, and take chunks of what is divided.

The caller is one thread of its team, the others wait in compiled code for the next job, for about a millisecond, and
then asleep. Calls from several threads at once have a team each. A process that was forked makes new ones.

No thread waits for a thread that does nothing: a step is over when all of its chunks are done, by whichever threads.
A thread that the system held up finds nothing to take in steps that are over, and so comes to the one that is not; it
may even be in a job that is over, whose code and tables of addresses the team keeps until it has begun a later one.
"""

import os
import sys
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from operator import is_
from threading import Condition, Thread
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from .entry import entry
from .spreading import available_cores, runs_alone

Array = npt.NDArray[Any]

# A job is handed over by a sequence lock: TICKET is odd while the first thread writes the job down, and even when it
# is whole. A thread copies the job to words of its own and takes it only if TICKET is still the same afterwards:
# otherwise it has read parts of two jobs. The addition to TICKET that ends the writing is a release, the wait for it
# an acquire. A late thread may run a job that is over: it finds every chunk taken (see `together`) and so reads no
# array of it. It does read the table of addresses and the code, which the team therefore keeps until every thread has
# begun a later job. A word that one thread waits for shares its cache line with no word that others write: a write
# would cost each waiting core a miss.
LINE = 8
"""64-bit words of a cache line: words that are waited for lie in lines of their own."""

COUNT, DONE, PASSED, TICKET, ENGAGED, STEPS, THREADS = (LINE * place for place in range(7))
"""Words of a team: its threads, chunks of the step that are done, steps that are over, twice the jobs so far (odd while
one is written down), whether a program uses it, the job, and from `THREADS` on the words of each thread."""

TABLE, FIRST = STEPS + 1, STEPS + 2
"""Of the job, behind the address of its code: that of its table of addresses, and how many steps were over before."""

EACH = 2 * LINE
"""Words of a thread."""

AT, DID, SEEN, OWN_STEPS, OWN_TABLE, TAKEN = (THREADS + place for place in (0, 1, 2, 3, 4, LINE))
"""Those of the first thread: the steps that are over for it, chunks of its step that it took, the last job that it
began, the job as it read it, and what others look at too: how much of its range is taken."""

SPINS = 500
"""Looks at a word before the core is given to others; one takes about 20 ns."""

LIMIT = 64
"""More than the chunks of a thread's range are."""

# Waiting costs a core, sleeping costs about 50 microseconds to wake: a program of small steps is called again sooner.
# So a thread looks this often at the ticket before it leaves compiled code and sleeps on a condition of Python.
# ENGAGED is set under the lock of that condition, so that a wake-up between the last look and the sleep is not lost.
IDLE = 2_000
"""Looks at the next job before a thread of a team goes to sleep."""

LEAD = ("int64", "value index", "value index")
"""What the code of the first thread takes: the team, the address of the steps, and that of the table of a job."""

SERVE = ("int64", "value index")
"""What the code of the others takes: the team, and the number of the thread."""

STEPS_TAKE = ("int64", "value index", "int64")
"""What the steps of a program take: the team, the number of the thread, and the table of a job."""

_SHARED = "qmlir_teams_2"
"""The module with what all programs of a process share: each saved one has a copy of this file. The number is that of
the words of a team."""


def new_words(count: int) -> Array:
    """The words of a team of so many threads."""
    words = np.zeros(THREADS + EACH * count, np.int64)
    words[COUNT] = count
    return words


def addresses_of(arrays: Sequence[Array]) -> list[int]:
    """Where arrays lie, as a job takes them; asked before every run, and `ctypes` would take longer."""
    return [array.__array_interface__["data"][0] for array in arrays]


class Team:
    """Some threads, the caller's among them, that run one job at a time."""

    def __init__(self, count: int, serve: Callable[[Array, int], None]) -> None:
        self.words = new_words(count)
        self._serve = serve
        self._changed = Condition()
        self._program: tuple[object, object, object] = (None, None, None)
        """What the last job needs besides its arrays: who keeps its code, and its tables of addresses."""

        self._table = np.empty(0, np.int64)
        """The addresses of the arrays of the last job: of its program only, as some thread may be in a job before."""

        self._kept: deque[tuple[int, Any]] = deque()
        """What was both for programs before, each with the ticket of its last job."""

        for number in range(1, count):
            Thread(target=self._work, args=(number,), name=f"qmlir-{number}", daemon=True).start()

    def _work(self, number: int) -> None:
        while True:
            with self._changed:
                while not self.words[ENGAGED]:
                    self._changed.wait()
            self._serve(self.words, number)

    def _begin(self, program: tuple[object, object, object], size: int) -> None:
        """Keep what is needed of the program that ran before until no thread is in it any more."""
        if all(map(is_, program, self._program)):
            return
        ticket = int(self.words[TICKET])
        begun = self.words[SEEN + EACH :: EACH].min(initial=ticket)
        while self._kept and self._kept[0][0] < begun:
            self._kept.popleft()
        self._kept.append((ticket, (self._program, self._table)))
        self._program, self._table = program, np.empty(size, np.int64)

    def run(self, lead: Callable[[Array, int, int], None], steps: int, arrays: Sequence[Array], owner: object) -> None:
        """Let all threads run the code at the address `steps`, which lives as long as `owner`, on arrays.

        These begin with the addresses of kernels, working memory, and the addresses of constants.
        """
        words = self.words
        self._begin((owner, arrays[0], arrays[2]), len(arrays))
        self._table[:] = addresses_of(arrays)
        try:
            with self._changed:
                words[ENGAGED] = 1
                self._changed.notify_all()
            lead(words, steps, self._table.ctypes.data)
        finally:
            words[ENGAGED] = 0


def _teams() -> defaultdict[int, deque[Team]]:
    """The teams of this process that have nothing to do, by the number of their threads."""
    return vars(sys.modules.setdefault(_SHARED, ModuleType(_SHARED))).setdefault("teams", defaultdict(deque))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _teams().clear())  # their threads stayed with the parent


class TeamRunner:
    """Runs the steps of a program on some threads, or as many as there are cores.

    `lead` and `serve` are where the code lies that the first thread runs, and that of the others; it and the steps live
    as long as `owner`.
    """

    def __init__(self, count: int, lead: int, serve: int, owner: object) -> None:
        self._count = min(count, available_cores())
        self._lead, self._serve = entry(lead, LEAD, owner), entry(serve, SERVE, owner)
        self._owner = owner

    def __call__(self, steps: int, *arrays: Array) -> None:
        """Run the code at the address `steps` on arrays."""
        if runs_alone():
            entry(steps, STEPS_TAKE, self._owner)(new_words(1), 0, np.array(addresses_of(arrays), np.int64))
            return
        idle = _teams()[self._count]
        try:
            team = idle.pop()
        except IndexError:
            team = Team(self._count, self._serve)
        try:
            team.run(self._lead, steps, arrays, self._owner)
        finally:
            idle.append(team)  # interrupts of Python come before a job or after it
