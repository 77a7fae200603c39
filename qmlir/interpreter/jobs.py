"""Jobs: tasks of one kind that an `Executor` may distribute over processes or machines.

A worker begins a job once and then runs its tasks one at a time. Jobs and tasks are data, and the function that begins
a job is looked up by name, so both can be sent to another process or machine. An answer is a byte string that depends
only on the job and the task. The answers, in the order of their tasks, are therefore identical for any number of
workers and any distribution of tasks, even if a worker dies and others repeat its tasks.
"""

import hashlib
import multiprocessing
import pickle
import signal
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from qmlir import registry
from qmlir.arithmetic.arrays import Array
from qmlir.environment import default_environment
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, diagnostic_handler, emit, text_error
from qmlir.text.files import check_output, read_regular
from qmlir.text.parsing import load_module
from qmlir.text.printing import PrintOptions, Weights, save_module
from qmlir.text.writing import check_folder, made_folder, write_own

Begun = Callable[[Any], bytes]
"""A function that returns the answer to a task. Only one thread at a time calls it."""

Environment = Mapping[str, str]
"""Versions and CPU: everything, except the job and the task, that may influence the bits of an answer."""

SUFFIX = ".part"

LARGEST = 1 << 30
"""The maximum size of an answer file, in bytes. The limit is necessary because a sparse file may claim any size."""

_FORMAT = b"qmlir-part-2"

_AHEAD = 3
"""The number of tasks submitted per worker: one running and two waiting, so that a slow task delays few others."""

_KEPT = 4
"""The number of begun jobs that a worker keeps. A search alternates between three jobs."""

_T = TypeVar("_T")


@dataclass(frozen=True)
class Job:
    """The definition of tasks of one kind. `begin` is a module-level function; `shared` is data that all tasks need."""

    begin: Callable[[Any], Begun]
    shared: Any
    fits: Callable[[Any, bytes], bool] | None = field(default=None, kw_only=True)
    """A module-level function that returns True if bytes from a file are a valid answer to a task."""

    plug_ins: tuple[str, ...] = field(default_factory=registry.plug_ins)
    plugged_code: str = field(default_factory=registry.plugged_code)
    """A digest of the plug-ins' code, which may change although the names stay the same."""

    @cached_property
    def key(self) -> str:
        """A digest of everything that the answers depend on, except the environment."""
        plugged = (self.plug_ins, self.plugged_code)
        return content_digest((self.begin.__module__, self.begin.__qualname__, self.shared, plugged))

    def continue_here(self) -> None:
        """Enables the job's plug-ins here. Raises `DiagnosticError` if they are missing or their code differs."""
        if self.plug_ins != registry.plug_ins():
            try:
                registry.continue_with(self.plug_ins)
            except registry.PackageError as error:
                raise text_error(str(error)) from error
        if self.plugged_code != registry.plugged_code():
            names = ", ".join(self.plug_ins)
            raise text_error(f"a worker has other versions of plug-ins: {names}; restart it with the same plug-ins")


def content_digest(content: Any) -> str:
    """Returns the SHA-256 digest of data: arrays, bytes, numbers, strings, and nested collections of these."""
    found = hashlib.sha256()
    _feed(found.update, content)
    return found.hexdigest()


def _feed(update: Callable[[bytes], object], content: Any) -> None:
    if isinstance(content, np.ndarray):
        array = cast(Array, content)
        update(f"array {array.dtype} {array.shape} ".encode())
        update(np.ascontiguousarray(array).tobytes())
    elif isinstance(content, bytes):
        update(f"bytes {len(content)} ".encode())
        update(content)
    elif content is None or isinstance(content, str | int | float):
        update(f"{type(content).__name__} {content!r} ".encode())
    elif is_dataclass(content):
        update(f"{type(content).__qualname__} ".encode())
        _feed(update, {each.name: getattr(content, each.name) for each in fields(content)})
    elif isinstance(content, Mapping):
        named = cast(Mapping[Any, Any], content)
        update(f"mapping {len(named)} ".encode())
        for name in sorted(named):
            _feed(update, (name, named[name]))
    elif isinstance(content, Sequence):
        listed = cast(Sequence[Any], content)
        update(f"sequence {len(listed)} ".encode())
        for each in listed:
            _feed(update, each)
    else:
        raise TypeError(f"a job must contain only data, but got {type(content).__name__}")


def difference(one: Environment, other: Environment) -> str:
    """Returns the first entry that differs, such as "numpy 2.1 and 2.2"; empty if the environments are equal."""
    names = (name for name in {**one, **other} if one.get(name) != other.get(name))
    return next((f"{name} {one.get(name, 'none')} and {other.get(name, 'none')}" for name in names), "")


def in_order(started: Iterable[Callable[[], _T]], ahead: Callable[[], int]) -> Iterator[_T]:
    """Yields the result of each function in order; takes at most `ahead()` functions from `started` in advance."""
    waiting = deque[Callable[[], _T]]()
    for finish in started:
        waiting.append(finish)
        while len(waiting) >= ahead():
            yield waiting.popleft()()
    while waiting:
        yield waiting.popleft()()


# In a worker.
class _PlugIns:
    """The plug-ins of this process. Tasks whose jobs have the same plug-ins run concurrently; others wait."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running = self._turn = 0
        self._current: tuple[tuple[str, ...], str] | None = None

    @contextmanager
    def of(self, job: Job) -> Generator[int]:
        """Enables the plug-ins of `job` inside the `with` block; yields the number of changes so far.

        Raises `DiagnosticError` if this process can't load them.
        """
        wanted = (job.plug_ins, job.plugged_code)
        with self._changed:
            self._changed.wait_for(lambda: self._running == 0 or self._current == wanted)
            if self._current != wanted:
                self._current, self._turn = None, self._turn + 1
            job.continue_here()
            self._current = wanted
            self._running += 1
        try:
            yield self._turn
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()


_plug_ins = _PlugIns()

_begun = threading.local()
"""The jobs that a thread has begun, by key, in order from least to most recently used. Each belongs to one thread."""


@dataclass(frozen=True)
class TaskResult:
    """A worker's answer with its diagnostics, or the errors of a failed task."""

    content: bytes
    said: tuple[Diagnostic, ...] = ()
    failed: tuple[Diagnostic, ...] = ()


def _sent(diagnostic: Diagnostic) -> Diagnostic:
    """Removes the operation, which the message names, and the location in text that only the worker has."""
    return replace(diagnostic.for_caller(), op=None, location=None, notes=tuple(map(_sent, diagnostic.notes)))


def _work(key: str, given: bytes | str, task: Any) -> bytes:
    jobs: OrderedDict[str, tuple[Job, int, Begun | None]] = _begun.__dict__.setdefault("jobs", OrderedDict())
    if key not in jobs:
        jobs[key] = pickle.loads(given if isinstance(given, bytes) else Path(given).read_bytes()), 0, None
    # A job is begun again after a failed task: records of that task must not leak into the next answer.
    job, turn, begun = jobs.pop(key)
    with _plug_ins.of(job) as current:
        if begun is None or turn != current:
            begun = job.begin(job.shared)
        content = begun(task)
    jobs[key] = job, current, begun
    while len(jobs) > _KEPT:
        jobs.popitem(last=False)
    return content


def perform(
    key: str, given: bytes | str, task: Any, describe: Callable[[], Environment] | None, expected: Environment | None
) -> TaskResult:
    """Runs a task in a worker and returns its answer.


    Args:
        key: The key of the job.
        given: The pickled job, or the path of a file with it.
        task: The task.
        describe: Function that returns the environment of this process; `None` skips the check.
        expected: The environment that it must have.
    """
    said: list[Diagnostic] = []
    try:
        with diagnostic_handler(said.append):
            if describe is not None and expected is not None and (found := difference(expected, describe())):
                raise text_error(f"a worker has a different environment: {found}")
            return TaskResult(_work(key, given, task), tuple(map(_sent, said)))
    except DiagnosticError as error:
        return TaskResult(b"", tuple(map(_sent, said)), tuple(map(_sent, error.diagnostics)))


# In the process that needs the answers.
class Workers:
    """Runs the tasks of jobs in this process or by an `Executor`, and optionally stores the answers in a folder.

    A task whose answer is in the folder doesn't run again. The name of a file is a digest of the job, the task and the
    environment. Files contain only data, so someone who can write to the folder can only change answers. A file that is
    truncated, or whose content isn't valid for its task, is replaced.
    """

    def __init__(
        self, executor: Executor | None = None, at_once: int = 1, environment: Environment | None = None,
        describe: Callable[[], Environment] | None = None, folder: Path | None = None, jobs: Path | None = None,
    ) -> None:  # fmt: skip
        """Creates the workers.


        Args:
            executor: The executor of the tasks. `None` runs them in this process, one after the other.
            at_once: Number of tasks that the executor runs at a time.
            environment: The environment of all workers.
            describe: Module-level function that returns the environment of a worker, which must equal `environment`.
                `None` skips the check.
            folder: Folder of the answers.
            jobs: Folder that all workers can read, for the pickled jobs. `None` sends a job with each task.

        Raises:
            DiagnosticError: `folder` exists, and is not a folder.
        """
        if folder is not None:
            check_folder(folder)
        self._executor, self._at_once, self._folder, self._jobs = executor, at_once, folder, jobs
        self.environment, self._describe = environment, describe

    @property
    def at_once(self) -> int:
        """The approximate number of tasks that run at the same time."""
        return self._at_once

    def map(self, job: Job, tasks: Iterable[Any]) -> Iterator[bytes]:
        """Yields the answer of each task, in the order of the tasks, reading only a few tasks ahead.

        Raises `DiagnosticError` if a task raises it, if the workers are lost, or if an answer can't be stored.
        """
        key = content_digest((job.key, self.environment))
        sent = set[Future[TaskResult]]()
        start = _starting_here(job) if self._executor is None else self._starting(self._executor, job, sent)

        def started(task: Any) -> Callable[[], bytes]:
            if self._folder is None:
                return start(task)
            path = self._folder / f"{content_digest((key, task))}{SUFFIX}"
            known = read_part(path)
            if known is not None and (job.fits is None or job.fits(task, known)):
                return lambda: known
            finish = start(task)
            return lambda: _stored(path, finish())

        try:
            yield from in_order(map(started, tasks), lambda: _AHEAD * self.at_once if self._executor else 1)
        finally:
            for future in list(sent):
                future.cancel()

    def _starting(
        self, executor: Executor, job: Job, sent: set[Future[TaskResult]]
    ) -> Callable[[Any], Callable[[], bytes]]:
        given, told = self._given(job), set[str]()

        def start(task: Any) -> Callable[[], bytes]:
            with self._telling():
                future = executor.submit(perform, job.key, given, task, self._describe, self.environment)
            sent.add(future)
            future.add_done_callback(sent.discard)
            return lambda: _taken(self._result(future), told)

        return start

    def _given(self, job: Job) -> Any:
        """Returns the job as an argument of `perform`: pickled, or the path of a file with it."""
        if self._jobs is None:
            return pickle.dumps(job)
        path = self._jobs / job.key
        if not path.exists():
            path.write_bytes(pickle.dumps(job))
        return str(path)

    def _result(self, future: Future[_T]) -> _T:
        with self._telling():
            return future.result()

    @contextmanager
    def _telling(self) -> Generator[None]:
        """Turns failures of the executor inside the `with` block into `DiagnosticError`."""
        try:
            yield
        except BrokenExecutor as error:
            raise text_error(f"a worker process ended unexpectedly: {error}") from error


def _starting_here(job: Job) -> Callable[[Any], Callable[[], bytes]]:
    begun = cache(lambda: job.begin(job.shared))
    return lambda task: lambda: begun()(task)


def _taken(answer: TaskResult, told: set[str]) -> bytes:
    """Returns the bytes, after emitting new diagnostics. Raises `DiagnosticError` if the task failed."""
    for each in answer.said:
        if str(each) not in told:
            told.add(str(each))
            emit(each)
    if answer.failed:
        raise DiagnosticError(*answer.failed)
    return answer.content


@contextmanager
def process_workers(
    count: int, environment: Environment | None = None, folder: Path | None = None
) -> Generator[Workers]:
    """Starts `count` worker processes on this machine, which run until the `with` block ends."""
    if count < 1:
        raise text_error(f"number of processes must be at least 1, but got {count}")
    context = multiprocessing.get_context("spawn")
    # Ctrl-C reaches all processes of a terminal; the parent process ends the workers.
    ignoring = (signal.SIGINT, signal.SIG_IGN)
    with (
        TemporaryDirectory(prefix="qmlir-jobs-") as jobs,
        ProcessPoolExecutor(count, context, signal.signal, ignoring) as pool,
    ):
        try:
            yield Workers(pool, count, environment, folder=folder, jobs=Path(jobs))
        finally:
            pool.shutdown(cancel_futures=True)  # after an error, its traceback may keep waiting tasks alive


# Files of answers


def read_part(path: Path) -> bytes | None:
    """Returns the answer in a file, or `None` if it is missing or truncated."""
    try:
        found = read_regular(path, LARGEST, follow=False)
    except OSError:
        return None
    head, _, content = found.partition(b"\n")
    return content if head == _head(content) else None


def write_part(path: Path, content: bytes) -> None:
    """Writes an answer atomically. Raises `DiagnosticError` if that fails or if `path` is a link or a pipe."""
    write_own(path, _head(content) + b"\n" + content)


def _head(content: bytes) -> bytes:
    return _FORMAT + b" " + hashlib.sha256(content).hexdigest().encode()


def _stored(path: Path, content: bytes) -> bytes:
    check_output(path.parent)
    made_folder(path.parent)
    write_part(path, content)
    return content


# Modules


@dataclass(frozen=True)
class ShippedModule:
    """A module as in-memory files by name (text and weights), for a process without a shared file system."""

    files: Mapping[str, bytes]

    @staticmethod
    def of(module: ModuleOp) -> "ShippedModule":
        """Returns the files of `module`."""
        with TemporaryDirectory(prefix="qmlir-module-") as folder:
            save_module(module, Path(folder) / _MODULE, PrintOptions(weights=Weights.SIDECAR))
            return ShippedModule({path.name: path.read_bytes() for path in Path(folder).iterdir()})

    def module(self) -> ModuleOp:
        """Parses the module. Raises `DiagnosticError` if that fails."""
        with TemporaryDirectory(prefix="qmlir-module-") as folder:
            for name, content in self.files.items():
                (Path(folder) / name).write_bytes(content)
            return load_module(default_environment().new_context(), Path(folder) / _MODULE)


_MODULE = "module.mlir"
