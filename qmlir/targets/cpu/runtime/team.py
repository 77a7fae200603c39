"""Teams of threads that run a program together: all execute its steps, and claim chunks of divided loops.

The caller is one thread of its team. The others wait in compiled code for the next job, for about a millisecond, and
then sleep. Concurrent calls use separate teams. A forked process creates new teams.

No thread waits for an idle thread: a step is complete when all of its chunks are, regardless of which threads ran them.
A thread that was descheduled finds no chunk left in completed steps, and so reaches the current one. It may even still
be in a completed job, so the team keeps the code and address tables of that job until the thread has begun a later one.
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

from .batches import available_cores, runs_alone
from .entry import entry
from .program import places_of

Array = npt.NDArray[Any]

# A job is published with a sequence lock: TICKET is odd while the first thread writes the job, and even when it is
# complete. A thread copies the job to its own words and takes it only if TICKET is unchanged afterwards; otherwise it
# may have read parts of two jobs. The addition to TICKET that ends the writing is a release, the wait for it an
# acquire. A late thread may run a completed job: it finds every chunk taken (see `together`), and so reads none of its
# arrays. It does read the address table and the code, so the team keeps these until every thread has begun a later job.
# A word that a thread waits for shares its cache line with no word that others write: each write would cost every
# waiting core a cache miss.
LINE = 8
"""The number of 64-bit words in a cache line. Words that threads wait for are in separate cache lines."""

COUNT, DONE, PASSED, TICKET, ENGAGED, STEPS, THREADS = (LINE * position for position in range(7))
"""The words of a team.

In order: number of threads, completed chunks of the step, completed steps, twice the number of jobs (odd while one is
being written), whether a program uses the team, the job, and from `THREADS` the words of each thread.
"""

TABLE, FIRST = STEPS + 1, STEPS + 2
"""The words of a job after the address of its code: its address table, and the number of previously completed steps."""

EACH = 2 * LINE
"""The number of words per thread."""

AT, DID, SEEN, OWN_STEPS, OWN_TABLE, TAKEN = (THREADS + position for position in (0, 1, 2, 3, 4, LINE))
"""The words of the first thread.

In order: steps completed for it, chunks of the step that it took, the last job that it began, its copy of the job (two
words), and, in a separate line since others read it, the number of chunks taken from its range.
"""

SPINS = 500
"""The number of polls (about 20 ns each) before a waiting thread yields its core."""

LIMIT = 64
"""An upper bound on the number of chunks in a thread's range."""

# Spinning occupies a core, but waking up from sleep takes about 50 µs, and a program of small steps is called again
# sooner. So a thread polls the ticket this often before it leaves compiled code and sleeps on a Python condition.
# ENGAGED is set under the lock of that condition, so that a wake-up between the last poll and the sleep is not lost.
IDLE = 2_000
"""The number of polls for the next job before a thread goes to sleep."""

LEAD = ("int64", "value index", "value index")
"""The arguments of the first thread's code: the team, the address of the steps, and of the address table."""

SERVE = ("int64", "value index")
"""The arguments of the other threads' code: the team, and the number of the thread."""

STEPS_TAKE = ("int64", "value index", "int64")
"""The arguments of a program's steps: the team, the number of the thread, and the address table of the job."""

_SHARED = "qmlir_teams_2"
"""The module with the state that all programs of a process share, although each saved one has a copy of this file.

The number is the version of the layout of a team's words.
"""


def new_words(count: int) -> Array:
    """Returns the initial words of a team of `count` threads."""
    words = np.zeros(THREADS + EACH * count, np.int64)
    words[COUNT] = count
    return words


class Team:
    """A group of threads, including the caller's, that run one job at a time."""

    def __init__(self, count: int, serve: Callable[[Array, int], None]) -> None:
        self.words = new_words(count)
        self._serve = serve
        self._changed = Condition()
        self._program: tuple[object, object, object] = (None, None, None)
        """The owner of the last job's code, its arena, and its table of constants, which must stay alive."""

        self._table = np.empty(0, np.int64)
        """The addresses of the last job's arrays; separate for each program, since late threads may read an old one."""

        self._kept: deque[tuple[int, Any]] = deque()
        """The program and table of earlier programs, with the ticket of their last job."""

        for number in range(1, count):
            Thread(target=self._work, args=(number,), name=f"qmlir-{number}", daemon=True).start()

    def _work(self, number: int) -> None:
        while True:
            with self._changed:
                while not self.words[ENGAGED]:
                    self._changed.wait()
            self._serve(self.words, number)

    def _begin(self, program: tuple[object, object, object], size: int) -> None:
        """Keeps the previous program's objects alive until no thread runs it anymore."""
        if all(map(is_, program, self._program)):
            return
        ticket = int(self.words[TICKET])
        begun = self.words[SEEN + EACH :: EACH].min(initial=ticket)
        while self._kept and self._kept[0][0] < begun:
            self._kept.popleft()
        self._kept.append((ticket, (self._program, self._table)))
        self._program, self._table = program, np.empty(size, np.int64)

    def run(self, lead: Callable[[Array, int, int], None], steps: int, arrays: Sequence[Array], owner: object) -> None:
        """Runs the code at address `steps` with all threads; the code lives as long as `owner`.

        `arrays` are the addresses of kernels, the arena, and the addresses of constants, followed by the ports.
        """
        words = self.words
        self._begin((owner, arrays[0], arrays[2]), len(arrays))
        self._table[:] = places_of(arrays)
        try:
            with self._changed:
                words[ENGAGED] = 1
                self._changed.notify_all()
            lead(words, steps, self._table.ctypes.data)
        finally:
            words[ENGAGED] = 0


def _teams() -> defaultdict[int, deque[Team]]:
    """Returns the idle teams of this process, by number of threads."""
    return vars(sys.modules.setdefault(_SHARED, ModuleType(_SHARED))).setdefault("teams", defaultdict(deque))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _teams().clear())  # their threads exist only in the parent


class TeamRunner:
    """Runs the steps of a program on `count` threads, or one per core if there are fewer.

    `lead` and `serve` are the addresses of the code for the first thread and for the others. That code and the steps
    live as long as `owner`.
    """

    def __init__(self, count: int, lead: int, serve: int, owner: object) -> None:
        self._count = min(count, available_cores())
        self._lead, self._serve = entry(lead, LEAD, owner), entry(serve, SERVE, owner)
        self._owner = owner

    def __call__(self, steps: int, *arrays: Array) -> None:
        """Runs the code at address `steps` on arrays."""
        if runs_alone():
            entry(steps, STEPS_TAKE, self._owner)(new_words(1), 0, places_of(arrays))
            return
        idle = _teams()[self._count]
        try:
            team = idle.pop()
        except IndexError:
            team = Team(self._count, self._serve)
        try:
            team.run(self._lead, steps, arrays, self._owner)
        finally:
            idle.append(team)  # Python handles interrupts only before or after a job
