"""What the threads of a team run between jobs, compiled for a program: see `team`."""

# numba has no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from types import FunctionType
from typing import Any

import numpy as np
import numpy.typing as npt

from . import kernels
from .kernels import OPERATIONS as CALLS
from .kernels import Kernel, home
from .memory import OPERATIONS as MEMORY
from .team import ENGAGED, JOB, LEAD, LINE, SEEN, SERVE, STEPS, TICKET, Together, new_words
from .together import OPERATIONS as TOGETHER

_IDLE = 2_000
"""Looks at the next job before a thread of a team goes to sleep."""

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


def _compiled(function: Any, arguments: tuple[str, ...], digest: str) -> Kernel:
    """A function of this file as part of the program of a digest: numba names code by it, in its cache too."""
    own = FunctionType(function.__code__, globals(), function.__name__)
    own.__module__ = home(digest)
    return Kernel(own, arguments)


class CompiledTogether:
    """What runs the steps of a program that numba compiled on some threads."""

    def __init__(self, digest: str, threads: int) -> None:
        self.threads = threads
        self.lead, self.serve = _compiled(_lead, LEAD, digest), _compiled(_serve, SERVE, digest)
        self._run = None if kernels.work.is_helper else Together(threads, self.lead.address, self.serve.address)

    def __call__(self, steps: Any, *arrays: npt.NDArray[Any]) -> None:
        """Run `steps`, compiled or in Python, which then runs on this thread."""
        if self._run is not None and isinstance(steps, Kernel):
            self._run(steps.address, *arrays)
        else:
            steps(new_words(1), 0, np.array([array.__array_interface__["data"][0] for array in arrays], np.int64))


def together(digest: str, threads: int) -> CompiledTogether:
    """What runs the steps of the program of a digest on so many threads: it takes the steps, and their arrays."""
    return CompiledTogether(digest, threads)
