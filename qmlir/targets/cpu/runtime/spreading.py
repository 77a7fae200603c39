"""Work on several threads, each of which runs whole programs alone; part of saved programs."""

import os
import threading
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager

_ALONE = "qmlir_runs_alone"
"""What a thread has, whichever copy of this file marks it: each saved program has one."""


def available_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def runs_alone() -> bool:
    """Whether programs that this thread calls run on it alone."""
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
    """Calls `work` with each number below `count` on up to `threads` threads, including the caller's; one per core.

    An exception in `work` is raised here; numbers that no thread has begun by then are skipped.
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
