"""Workers of a Dask cluster: tasks go to its processes, and their answers come back in order.

A job is a result of the cluster itself: each worker fetches it once, and the scheduler makes it anew where the worker
that had it has ended. A task of a worker that ended is given to another one. Each thread of a worker begins a job for
itself, since what is begun serves one thread at a time. Plug-ins are of a process: jobs with other ones take turns.
"""

import threading
import time
import warnings
from asyncio import CancelledError
from collections import OrderedDict
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import CancelledError as CancelledFuture
from contextlib import contextmanager, suppress
from importlib.metadata import version
from typing import Any, cast
from uuid import uuid4

import distributed
from distributed.client import ClosedClientError
from distributed.scheduler import KilledWorker

from qmlir.interpreter.jobs.job import Answer, Begun, Job, Taking, answered, in_order
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, Severity, emit, text_error
from qmlir.registry.faults import one_line
from qmlir.text.tables import counted
from qmlir.workflows.cluster.traits import Traits, traits

CONNECT_SECONDS = 10.0
"""How long a scheduler, or its first worker, may take to answer."""

_AHEAD = 3
"""Tasks for each thread of a worker: one in progress, and two waiting, so that one that is late holds up few others."""

_COUNTED_SECONDS = 2.0
"""How often workers are counted: they come and go."""

_BEGUN_JOBS = 4
"""So many jobs the cluster keeps, and each thread has begun, with their programs."""

_WAIT_SECONDS = 5.0
"""How long an answer is waited for before it is asked whether anybody works."""

_ALONE_SECONDS = 60.0
"""How long a cluster may be without workers."""

_begun = threading.local()


class _Turns:
    """Plug-ins of this process: tasks of jobs with the same ones run at once, those with others wait for their end."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running = 0
        self._job: tuple[tuple[str, ...], str] | None = None
        self.number = 0
        """How often others have come."""

    @contextmanager
    def of(self, job: Job) -> Generator[None]:
        """Inside the `with` block the process has the plug-ins of `job`. Raises `DiagnosticError` where it cannot."""
        wanted = (job.plug_ins, job.plugged_code)
        with self._changed:
            self._changed.wait_for(lambda: self._running == 0 or self._job == wanted)
            if self._job != wanted:
                self._job, self.number = None, self.number + 1
            job.continue_here()
            self._job = wanted
            self._running += 1
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()


_turns = _Turns()


def _begun_here(job: Job) -> Begun:
    """What this thread has begun, or begins now."""
    known: OrderedDict[str, Begun] = _begun.__dict__.setdefault("known", OrderedDict[str, Begun]())
    if _begun.__dict__.get("turn") != _turns.number:  # what was begun under other plug-ins may have things of theirs
        known.clear()
        _begun.turn = _turns.number
    if job.key not in known:
        known[job.key] = job.begun()
        while len(known) > _BEGUN_JOBS:
            known.popitem(last=False)
    known.move_to_end(job.key)
    return known[job.key]


def _work(job: Job, task: Any, wanted: Traits) -> bytes:
    if difference := wanted.difference(traits()):
        raise text_error(f"a worker with a different environment joined the cluster: {difference}")
    with _turns.of(job):
        begun = _begun_here(job)
        try:
            return begun(task)
        except BaseException:
            _begun.known.clear()  # what it has recorded of the task is not to be in the next answer
            raise


def _perform(job: Job, task: Any, wanted: Traits) -> Answer:
    """In a worker: one answer, which says why where there is none."""
    return answered(lambda: _work(job, task, wanted))


def _given(job: Job) -> Job:
    """In a worker: the job, as a result that others fetch."""
    return job


class DaskWorkers:
    """The workers of a cluster, all of one kind."""

    def __init__(self, cluster: Any) -> None:
        """`cluster` is a client, or the address of a scheduler, `tcp://host:port`.

        Raises `DiagnosticError`: where no scheduler answers in time, where it has no workers, where workers have no
        qmlir or another one, and where they are of several kinds.
        """
        self._is_ours = isinstance(cluster, str)
        self._client: Any = _connected(cluster) if isinstance(cluster, str) else cluster
        self._where = f"the cluster {self._client.scheduler.address}"
        self._counted, self._threads = 0.0, 1
        self._jobs = OrderedDict[str, Any]()
        try:
            self._traits = self._checked()
        except DiagnosticError:
            self.close()
            raise

    def close(self) -> None:
        """End the connection, where it is ours."""
        if self._is_ours:
            self._client.close()

    @property
    def made_by(self) -> str:
        """A digest of what all workers have in common."""
        return self._traits.digest

    @property
    def processor(self) -> str:
        """The kind of processor that all workers have."""
        return self._traits.processor

    @property
    def at_once(self) -> int:
        """The threads of all workers."""
        now = time.monotonic()
        if now - self._counted > _COUNTED_SECONDS:
            with self._talking() as client:
                self._threads = max(sum(client.nthreads().values()), 1)
            self._counted = now
        return self._threads

    def map(self, job: Job, tasks: Iterable[Any]) -> Iterator[bytes]:
        """The answer of each task. Raises `DiagnosticError`."""
        taking, name = Taking(), f"qmlir-{uuid4().hex}"
        numbers = iter(range(1 << 62))
        sent = set[Any]()
        given = self._sent(job)

        def send(task: Any) -> Any:
            future = self._submit(_perform, given, task, self._traits, key=f"{name}-{next(numbers)}")
            sent.add(future)
            return future

        def receive(future: Any) -> bytes:
            answer = self._result(future)
            sent.discard(future)
            return taking.taken(answer)

        try:
            yield from in_order(tasks, send, receive, lambda: _AHEAD * self.at_once)
        finally:
            if sent and self._client.status == "running":
                with suppress(DiagnosticError), self._talking() as client:  # a lost cluster has nothing to cancel
                    client.cancel(list(sent), force=True)

    def _sent(self, job: Job) -> Any:
        """The job as a result of the cluster, which stays there for the next call."""
        given = self._jobs.pop(job.key, None)
        if given is None or given.status not in ("pending", "finished"):
            given = self._submit(_given, job, key=f"qmlir-{uuid4().hex}-job")
        self._jobs[job.key] = given
        while len(self._jobs) > _BEGUN_JOBS:
            self._jobs.popitem(last=False)
        with self._talking() as client:
            self._wait_for(given)  # to replicate what nobody has takes for ever
            with suppress(ValueError):  # of the scheduler, which draws more workers than it has where one just ended
                client.replicate([given])  # else tasks go to the worker that has it, and are moved later
        return given

    def _submit(self, function: Any, *arguments: Any, key: str) -> Any:
        with self._talking() as client, warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)  # tasks are as large as they are
            return client.submit(function, *arguments, key=key, pure=False)

    def _result(self, future: Any) -> Answer:
        """What a task gives. Raises `DiagnosticError` where the cluster cannot give it."""
        try:
            self._wait_for(future)
            return cast(Answer, future.result())
        except KilledWorker as error:
            ended = counted(error.allowed_failures + 1, "worker")
            raise text_error(
                f"{self._where} failed: {ended} ended while running one task, most recently "
                f"{error.last_worker.address}; see their logs (a common cause is too little memory)"
            ) from error
        except (CancelledError, CancelledFuture) as error:
            raise self._lost() from error
        except OSError as error:
            if future.status == "error" or not _is_of_connection(error):  # of the task itself, or of this machine
                raise
            raise self._lost() from error

    def _wait_for(self, future: Any) -> None:
        """Wait till a task has ended. Raises `DiagnosticError` where nobody is left to do it, and nobody comes."""
        alone_since: float | None = None
        while future.status == "pending":
            try:
                with self._client.as_current():
                    cast(Any, distributed).wait([future], timeout=_WAIT_SECONDS)
                return
            except TimeoutError:
                pass  # it is asked why
            with self._talking() as client:
                is_alone = client.status == "running" and not client.nthreads()
            now = time.monotonic()
            start = f"start some, 'dask worker {self._client.scheduler.address}'"
            if not is_alone:
                alone_since = None
            elif alone_since is None:
                alone_since = now
                emit(Diagnostic(Severity.WARNING, f"{self._where} has no workers left; {start}"))
            elif now - alone_since >= _ALONE_SECONDS:
                raise text_error(
                    f"{self._where} had no workers for {_ALONE_SECONDS:.0f} s; {start}, and run again with --resume "
                    "to continue"
                )

    def _lost(self) -> DiagnosticError:
        return text_error(f"lost the connection to {self._where}; run again with --resume to continue")

    @contextmanager
    def _talking(self) -> Generator[Any]:
        """The client, for calls that fail with the connection alone. Raises `DiagnosticError` where they do."""
        try:
            yield self._client
        except (CancelledError, CancelledFuture, ClosedClientError) as error:
            raise self._lost() from error
        except OSError as error:
            if not _is_of_connection(error):
                raise
            raise self._lost() from error

    def _checked(self) -> Traits:
        """The traits of all workers."""
        try:
            self._client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except TimeoutError as error:
            start = f"dask worker {self._client.scheduler.address}"
            raise text_error(f"{self._where} has no workers; start some with '{start}'") from error
        ours = traits().qmlir
        for worker, found in self._asked(version, "qmlir").items():
            if found != ours:
                what = f"has qmlir {found}" if isinstance(found, str) else f"has no qmlir ({one_line(found)})"
                raise text_error(f"worker {worker} of {self._where} {what}, but this is qmlir {ours}")
        known = dict(sorted(self._asked(traits).items()))
        for worker, found in known.items():
            if not isinstance(found, Traits):
                raise text_error(f"worker {worker} of {self._where} failed: {one_line(found)}")
        (first, mine), *others = cast(dict[str, Traits], known).items()
        if mine.code != traits().code:
            raise text_error(f"worker {first} of {self._where} differs from this machine: {traits().difference(mine)}")
        for worker, its in others:
            if difference := mine.difference(its):
                raise text_error(
                    f"workers {first} and {worker} of {self._where} differ, so results would not be deterministic: "
                    f"{difference}"
                )
        return mine

    def _asked(self, function: Any, *arguments: Any) -> dict[str, Any]:
        """What each worker says, by its address; of one that fails, the exception."""
        return cast(dict[str, Any], self._client.run(function, *arguments, on_error="return"))


def _is_of_connection(error: OSError) -> bool:
    """Whether it is not one of files: those of Dask's connections have no number of the system's."""
    return isinstance(error, ConnectionError | TimeoutError) or error.errno is None


def _connected(address: str) -> Any:
    """A client of the scheduler at `address`. Raises `DiagnosticError`."""
    try:
        return distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, TimeoutError) as error:
        raise text_error(
            f"cannot reach a Dask scheduler at '{address}' within {CONNECT_SECONDS:.0f} s: {one_line(error)}"
        ) from error
    except (ValueError, TypeError) as error:
        raise text_error(
            f"invalid scheduler address '{address}' (expected tcp://host:port): {one_line(error)}"
        ) from error
