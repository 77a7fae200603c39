"""Threads that divide the loops of kernels: how many run for one call, and calls from several threads at once.

numba has three threading layers. TBB and OpenMP take calls from any number of threads at once. `workqueue`, which is
always there, ends the process where two threads enter it: calls wait for each other. GNU's OpenMP ends a process that
was forked from one which used it: there a call is an error.
"""

# numba has no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from threading import Lock
from types import ModuleType
from typing import Any

import numba as _numba

numba: Any = _numba  # its stubs know little of it

_SHARED = "qmlir_threads"
"""The module with what all programs of a process share: each saved one has a copy of this file."""


def _shared() -> dict[str, Any]:
    state = vars(sys.modules.setdefault(_SHARED, ModuleType(_SHARED)))
    state.setdefault("process", os.getpid())
    state.setdefault("lock", Lock())
    return state


_STATE = _shared()


def _renew() -> None:
    """In a process that was forked: a lock that another thread of the parent held would stay closed."""
    _STATE["lock"] = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


class ForkError(RuntimeError):
    """A program with threads was called in a process that OpenMP would end."""


@contextmanager
def team(count: int) -> Generator[None]:
    """Let so many threads, or as many as numba has, run what this thread calls inside the `with` block.

    Raises `ForkError` in a process that was forked when OpenMP was in use.
    """
    layer = numba.threading_layer()
    if layer == "omp" and os.getpid() != _STATE["process"]:
        raise ForkError(
            "this process was forked from one with OpenMP threads, which end with it: start processes by 'spawn', or "
            "set NUMBA_THREADING_LAYER=workqueue"
        )
    before = numba.get_num_threads()
    with _STATE["lock"] if layer == "workqueue" else nullcontext():
        numba.set_num_threads(min(count, numba.config.NUMBA_NUM_THREADS))
        try:
            yield
        finally:
            numba.set_num_threads(before)
