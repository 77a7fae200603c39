"""Processes of this machine that do jobs: they are started once, and each begins a job once.

A job may be large, as it has the model. It is written to a file of a private folder once, and a task that is sent says
which file it is about: a process reads it with the first task of the job that it gets.
"""

import multiprocessing
import pickle
import signal
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

from qmlir.interpreter.jobs.job import Answer, Begun, Job, Taking, answered, in_order
from qmlir.ir.diagnostics import text_error

_AHEAD = 2
"""Tasks for each process: one in progress, and one waiting."""

_KEPT = 4
"""Jobs that a process has begun and goes on with at most: those of a search, which alternate, are three."""

_begun: OrderedDict[str, Begun] = OrderedDict()
"""In a process of its own: the jobs that were asked for last, by their files."""


def _start_process() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who starts the run ends it: Ctrl-C reaches all of a terminal's


def _work(file: str, task: Any) -> bytes:
    if file not in _begun:
        job: Job = pickle.loads(Path(file).read_bytes())
        _begun[file] = job.begun()
        while len(_begun) > _KEPT:
            _begun.popitem(last=False)
    _begun.move_to_end(file)
    return _begun[file](task)


def _perform(file: str, task: Any) -> Answer:
    """In a process of its own."""
    return answered(lambda: _work(file, task))


class Processes:
    """So many processes, from the first job on until `close`, which a `with` block ends with."""

    def __init__(self, count: int, made_by: str = "") -> None:
        self.made_by = made_by
        self.at_once = count
        self._executor: ProcessPoolExecutor | None = None
        self._folder: TemporaryDirectory[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes, once the tasks that they are about are done."""
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)
            self._executor = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def map(self, job: Job, tasks: Iterable[Any]) -> Iterator[bytes]:
        """The answer of each task. Raises `DiagnosticError`."""
        if self._executor is None:
            context = multiprocessing.get_context("spawn")
            self._executor = ProcessPoolExecutor(self.at_once, context, _start_process)
        executor, file, taking = self._executor, self._file(job), Taking()
        sent: list[Future[Answer]] = []

        def send(task: Any) -> Future[Answer]:
            sent[:] = [each for each in sent if not each.done()]
            sent.append(executor.submit(_perform, file, task))
            return sent[-1]

        try:
            yield from in_order(
                tasks, send, lambda future: taking.taken(future.result()), lambda: _AHEAD * self.at_once
            )
        except BrokenProcessPool as error:
            self.close()
            raise text_error(f"a worker process ended unexpectedly: {error}") from error
        finally:
            for each in sent:
                each.cancel()

    def _file(self, job: Job) -> str:
        """The file that has the job: one for all that are alike."""
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="qmlir-jobs-")
        path = Path(self._folder.name) / job.key
        if not path.exists():
            path.write_bytes(pickle.dumps(job))
        return str(path)
