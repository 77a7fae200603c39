"""Processes of this machine that do a job; each begins it once."""

import multiprocessing
import signal
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from qmlir.interpreter.jobs.job import Answer, Begun, Job, Taking, answered, in_order
from qmlir.ir.diagnostics import text_error

_AHEAD = 2
"""Tasks for each process: one in progress, and one waiting."""

_job: Job | None = None
_begun: Begun | None = None


def _start_process(job: Job) -> None:
    global _job
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who starts the run ends it: Ctrl-C reaches all of a terminal's
    _job = job


def _work(task: Any) -> bytes:
    global _begun
    assert _job is not None
    _begun = _job.begun() if _begun is None else _begun
    return _begun(task)


def _perform(task: Any) -> Answer:
    """In a process of its own."""
    return answered(lambda: _work(task))


class Processes:
    """So many processes, for as long as a job takes."""

    def __init__(self, count: int, made_by: str = "") -> None:
        self.made_by = made_by
        self.at_once = count

    def map(self, job: Job, tasks: Iterable[Any]) -> Iterator[bytes]:
        """The answer of each task. Raises `DiagnosticError`."""
        context = multiprocessing.get_context("spawn")
        executor = ProcessPoolExecutor(self.at_once, context, _start_process, (job,))
        taking = Taking()

        def send(task: Any) -> Future[Answer]:
            return executor.submit(_perform, task)

        try:
            yield from in_order(
                tasks, send, lambda future: taking.taken(future.result()), lambda: _AHEAD * self.at_once
            )
        except BrokenProcessPool as error:
            raise text_error(f"a process of the run has ended: {error}") from error
        finally:
            executor.shutdown(cancel_futures=True)
