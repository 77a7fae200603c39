"""Distributes work over threads, each of which runs whole programs by itself; part of saved programs."""

import os
import threading
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager

_ALONE = "qmlir_runs_alone"
"""The attribute that marks a thread. All copies of this file use the same name: each saved program has a copy."""


def available_cores() -> int:
    """Returns the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def runs_alone() -> bool:
    """Returns True if programs that this thread calls must run on this thread alone."""
    return _ALONE in vars(threading.current_thread())


@contextmanager
def _alone() -> Generator[None]:
    marks = vars(threading.current_thread())
    before = marks.get(_ALONE)
    marks[_ALONE] = True
    try:
        yield
    finally:
        if before is None:
            del marks[_ALONE]


def spread(count: int, threads: int, work: Callable[[int], None]) -> None:
    """Calls `work` with each number below `count` on up to `threads` threads, at most one per core.

    The caller's thread is one of them. An exception in `work` is raised here after all threads have stopped; numbers
    that no thread has begun by then are skipped.
    """
    threads = 1 if runs_alone() else min(threads, count, available_cores())
    if threads < 2:
        for number in range(count):
            work(number)
        return
    waiting, raised = deque(range(count)), deque[BaseException]()

    def take() -> None:
        with _alone():
            while True:
                try:
                    number = waiting.popleft()
                except IndexError:
                    return
                try:
                    work(number)
                except BaseException as error:
                    waiting.clear()
                    raised.append(error)

    others = [threading.Thread(target=take, name=f"qmlir-piece-{number}", daemon=True) for number in range(1, threads)]
    for each in others:
        each.start()
    try:
        take()
    finally:  # an interrupt between two numbers ends all of them
        waiting.clear()
        for each in others:
            each.join()
    if raised:
        raise raised[0]
