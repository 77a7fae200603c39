"""Workers of a Dask cluster, which run tasks through the `Executor` of a Dask client.

The data of a job is stored on the cluster as the result of a task. Each worker fetches it once, and the scheduler
recomputes it if the worker that stored it stops. If a worker stops during a task, another worker takes over the task.
"""

import time
import warnings
from asyncio import CancelledError
from collections.abc import Generator, Iterator
from concurrent.futures import CancelledError as CancelledFuture
from concurrent.futures import Future, wait
from contextlib import closing, contextmanager, nullcontext, suppress
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from qmlir.interpreter.jobs import Environment, Job, Workers, difference
from qmlir.ir.diagnostics import DiagnosticError, text_error, warn
from qmlir.registry.faults import one_line
from qmlir.text.tables import counted
from qmlir.workflows.workers import environment, expect_our_code

_T = TypeVar("_T")

CONNECT_SECONDS = 10.0
"""The time in seconds within which a scheduler and its first worker must answer."""

_COUNTED_SECONDS = 2.0
"""The minimum time in seconds between two counts of the workers, whose number may change."""

_WAIT_SECONDS = 5.0
"""The time in seconds to wait for a result before checking whether there are workers."""

_REPLICATION_SECONDS = 60.0
"""The time in seconds after which tasks start although a job is not on all workers yet; these then fetch it."""

_ALONE_SECONDS = 60.0
"""The time in seconds after which a cluster without workers is an error."""


@contextmanager
def dask_workers(cluster: Any, folder: Path | None) -> Generator[Workers]:
    """Provides the workers of a client, or of the scheduler at an address, inside the `with` block.

    Raises `DiagnosticError` if no scheduler or no worker answers in time, or if workers lack qmlir, have another
    version of it, or have different environments.
    """
    if find_spec("distributed") is None:
        raise text_error("--cluster requires Dask; run pip install 'qmlir[cluster]'")
    with closing(_connected(cluster)) if isinstance(cluster, str) else nullcontext(cluster) as client:
        yield DaskWorkers(client, folder)


def _distributed() -> Any:
    """Imports Dask, which is optional."""
    return import_module("distributed")


def _connected(address: str) -> Any:
    try:
        return _distributed().Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, TimeoutError) as error:
        raise text_error(
            f"cannot reach a Dask scheduler at '{address}' within {CONNECT_SECONDS:.0f} s: {one_line(error)}"
        ) from error
    except (ValueError, TypeError) as error:
        raise text_error(
            f"invalid scheduler address '{address}' (expected tcp://host:port): {one_line(error)}"
        ) from error


class DaskWorkers(Workers):
    """The workers of a Dask client, which must all have the same environment."""

    def __init__(self, client: Any, folder: Path | None = None) -> None:
        """Connects to the workers. Raises `DiagnosticError` if they cannot be used."""
        self._client = client
        self._where = f"the cluster {client.scheduler.address}"
        self._counted, self._threads = 0.0, 1
        self._sent_jobs = dict[str, Any]()
        super().__init__(client.get_executor(), environment=self._checked(), describe=environment, folder=folder)

    @property
    def at_once(self) -> int:
        """The total number of threads of all workers, at least 1."""
        if time.monotonic() - self._counted > _COUNTED_SECONDS:
            with self._telling():
                self._threads = max(sum(self._client.nthreads().values()), 1)
            self._counted = time.monotonic()
        return self._threads

    def _given(self, job: Job) -> Any:
        given = self._sent_jobs.get(job.key)
        with self._telling():
            if given is None or given.status not in ("pending", "finished"):
                given = self._sent_jobs[job.key] = self._client.submit(bytes, super()._given(job), pure=False)
            is_there = self._client.get_executor().submit(len, given)
        self._result(is_there)  # replicating a job that no worker has would wait without end
        # Otherwise all tasks first go to the worker that has it. ValueError: a worker has just ended.
        with self._telling(), suppress(ValueError, TimeoutError):
            self._client.replicate([given], callback_timeout=_REPLICATION_SECONDS)
        return given

    def _result(self, future: Future[_T]) -> _T:
        alone_since: float | None = None
        start = f"start some, 'dask worker {self._client.scheduler.address}'"
        while not wait([future], _WAIT_SECONDS).done:
            if self._client.status == "closed" and not future.done():
                raise self._lost()  # a client that gives up reconnecting may leave futures pending forever
            with self._telling():
                is_alone = self._client.status == "running" and not self._client.nthreads()
            now = time.monotonic()
            if not is_alone:
                alone_since = None
            elif alone_since is None:
                alone_since = now
                warn(f"{self._where} has no workers left; {start}")
            elif now - alone_since >= _ALONE_SECONDS:
                raise text_error(
                    f"{self._where} had no workers for {_ALONE_SECONDS:.0f} s; {start}, and run again with --resume "
                    "to continue"
                )
        return super()._result(future)

    @contextmanager
    def _telling(self) -> Generator[None]:
        dask = _distributed()
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Sending large graph", UserWarning)  # tasks need their samples
                yield
        except dask.KilledWorker as error:
            raise text_error(
                f"{self._where} failed: {counted(error.allowed_failures + 1, 'worker')} ended while running one task, "
                f"most recently {error.last_worker.address}; see their logs (a common cause is too little memory)"
            ) from error
        except (CancelledError, CancelledFuture, dask.client.ClosedClientError, OSError) as error:
            is_connection = isinstance(error, ConnectionError | TimeoutError)
            if isinstance(error, OSError) and error.errno is not None and not is_connection:
                raise  # a file error: Dask's connection errors have no errno
            raise self._lost() from error

    def _lost(self) -> DiagnosticError:
        return text_error(f"lost the connection to {self._where}; run again with --resume to continue")

    def _checked(self) -> Environment:
        """Returns the environment of all workers."""
        client, where = self._client, self._where
        try:
            client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except TimeoutError as error:
            start = f"dask worker {client.scheduler.address}"
            raise text_error(f"{where} has no workers; start some with '{start}'") from error
        ours = version("qmlir")
        for worker, found in self._asked(version, "qmlir"):
            if found != ours:
                what = f"has qmlir {found}" if isinstance(found, str) else f"has no qmlir ({one_line(found)})"
                raise text_error(f"worker {worker} of {where} {what}, but this is qmlir {ours}")
        (first, its), *others = self._asked(environment)
        expect_our_code(f"worker {first} of {where}", its)
        for worker, other in others:
            if found := difference(its, other):
                raise text_error(
                    f"workers {first} and {worker} of {where} differ, so results would not be deterministic: {found}"
                )
        return its

    def _asked(self, function: Any, *arguments: Any) -> Iterator[tuple[str, Any]]:
        """Yields the address of each worker, and its result, or its exception if it failed."""
        yield from sorted(self._client.run(function, *arguments, on_error="return").items())
