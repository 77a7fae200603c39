"""What the threads of a team run between jobs, compiled for a program: see `team`."""

# numba has no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from types import FunctionType
from typing import Any

import numpy as np
import numpy.typing as npt

from ..team import (
    AT,
    EACH,
    ENGAGED,
    FIRST,
    IDLE,
    LEAD,
    OWN_STEPS,
    OWN_TABLE,
    PASSED,
    SEEN,
    SERVE,
    STEPS,
    TABLE,
    TICKET,
    TeamRunner,
    addresses_of,
    new_words,
)
from . import kernels
from .kernels import OPERATIONS as CALLS
from .kernels import Kernel, home
from .memory import OPERATIONS as MEMORY
from .together import OPERATIONS as TOGETHER

_call, _array_at = CALLS["call"], MEMORY["array_at"]
_awaited, _added = TOGETHER["awaited"], TOGETHER["added"]


def _serve(team: Any, number: Any) -> None:
    """Run jobs as thread `number` of a team, until the team is free and no job came for a while.

    A job is one whole if its ticket is the same after it was read. It may be over by then: see `team`.
    """
    own = EACH * number
    seen = team[SEEN + own]
    is_wanted = True
    while is_wanted:
        now = _awaited(team, TICKET, seen, IDLE)
        if now == seen:
            is_wanted = team[ENGAGED] != 0
        elif now % 2 != 0:
            _awaited(team, TICKET, now, IDLE)
        else:
            seen = now
            team[SEEN + own] = seen
            team[AT + own] = team[FIRST]
            team[OWN_STEPS + own] = team[STEPS]
            team[OWN_TABLE + own] = team[TABLE]
            if _added(team, TICKET, 0) == seen:
                _call(team, OWN_STEPS + own, team, number, _array_at(team, OWN_TABLE + own, 0, "int64"))


def _lead(team: Any, steps: Any, table: Any) -> None:
    """Run a job as the first thread of a team."""
    _added(team, TICKET, 1)
    team[AT] = team[FIRST] = team[PASSED]
    team[STEPS] = steps
    team[TABLE] = table
    _added(team, TICKET, 1)
    _call(team, STEPS, team, 0, _array_at(team, TABLE, 0, "int64"))


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
        self._steps: Kernel | None = None
        helps = kernels.work.is_helper
        self._run = None if helps else TeamRunner(threads, self.lead.address, self.serve.address, self)

    def __call__(self, steps: Any, *arrays: npt.NDArray[Any]) -> None:
        """Run `steps`, compiled or in Python, which then runs on this thread."""
        if self._run is not None and isinstance(steps, Kernel):
            self._steps = steps  # kept by whom keeps this
            self._run(steps.address, *arrays)
        else:
            steps(new_words(1), 0, np.array(addresses_of(arrays), np.int64))


def together(digest: str, threads: int) -> CompiledTogether:
    """What runs the steps of the program of a digest on so many threads: it takes the steps, and their arrays."""
    return CompiledTogether(digest, threads)
