"""The workers of a run: this process, processes on this machine, an `Executor`, or a Dask cluster.

Results are identical for all kinds of workers if the workers have equal software and CPUs. Integers are the same on all
machines, but sums of float products are not: BLAS and compiled code use the instructions of the CPU, and add in an
order that depends on them.
"""

import os
import platform
from collections.abc import Generator
from concurrent.futures import Executor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from os import PathLike
from typing import TYPE_CHECKING, TypeAlias

from qmlir import registry
from qmlir.interpreter.jobs import Environment, Workers, content_digest, difference, process_workers
from qmlir.ir.diagnostics import text_error
from qmlir.registry.faults import one_line
from qmlir.targets.cpu.host import host_features
from qmlir.targets.cpu.runtime.machine_code import processor_name
from qmlir.text.files import path_of

if TYPE_CHECKING:
    from distributed import Client

Cluster: TypeAlias = "str | Client | Executor"
"""The address of a Dask scheduler (`tcp://host:port`), a Dask client, or an executor."""

_COMPUTING = ("numpy", "numba", "llvmlite", "ml_dtypes", "onnxruntime")


def environment() -> Environment:
    """Returns the versions of qmlir and of the packages that compute, a digest of the code, and the CPU.

    The digest covers the code of qmlir and of installed packages that extend it. Plug-ins are not included, because
    they belong to a job.
    """
    always = registry.packages()
    return _environment(always[: len(always) - len(registry.plug_ins())])


@cache
def _environment(always: tuple[registry.Package, ...]) -> Environment:
    return {
        "qmlir": version("qmlir"),
        "code of qmlir and its packages": registry.code_digest(always)[:16],
        "Python": ".".join(platform.python_version_tuple()[:2]),
        **{each: _release(each) for each in _COMPUTING},
        "CPU": f"{processor_name()} ({content_digest(sorted(host_features()))[:8]})",
    }


def _release(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def expect_our_code(worker: str, its: Environment) -> None:
    """Raises `DiagnosticError` if a worker, with the environment `its`, has other code of qmlir than this process."""
    ours = environment()
    if found := difference({**its, **dict(list(ours.items())[:2])}, its):
        raise text_error(f"{worker} differs from this process: {found}")


@contextmanager
def workers_of(
    cluster: "Cluster | None",
    resume: str | PathLike[str] | None = None,
    *,
    processes: int = 1,
    same_processor: bool = False,
) -> Generator[Workers | None]:
    """Provides the workers of `cluster` inside the `with` block; `None` if neither `cluster` nor `resume` is given.

    Args:
        cluster: The cluster that runs the tasks. `None` is this machine.
        resume: Folder for the results of tasks. A task whose result is in the folder does not run again.
        processes: Number of processes without a cluster. For an executor, the number of tasks that run at a time, where
            1 stands for the number of CPUs.
        same_processor: Reject a cluster with another CPU than this machine.

    Raises:
        DiagnosticError: The cluster cannot be used.
    """
    folder = None if resume is None else path_of(resume)
    found: AbstractContextManager[Workers | None]
    if cluster is None and folder is None:
        found = nullcontext()
    elif cluster is None and processes == 1:
        found = nullcontext(Workers(environment=environment(), folder=folder))
    elif cluster is None:
        found = process_workers(processes, environment(), folder)
    elif isinstance(cluster, Executor):
        at_once = processes if processes > 1 else os.cpu_count() or 1
        found = nullcontext(Workers(cluster, at_once, _environment_of(cluster), environment, folder))
    elif (dask_workers := registry.service("cluster")) is None:
        raise text_error("no installed package connects to Dask; pass cluster= a concurrent.futures.Executor")
    else:
        found = dask_workers(cluster, folder)
    with found as workers:
        if cluster is not None and same_processor and workers is not None and workers.environment is not None:
            its, mine = workers.environment["CPU"], environment()["CPU"]
            if its != mine:
                raise text_error(f"the CPU of the cluster must be that of this machine ({mine}), but is {its}")
        yield workers


def _environment_of(executor: Executor) -> Environment:
    """Returns the environment of one worker, which all others must have."""
    try:
        found = executor.submit(environment).result()
    except (ImportError, AttributeError) as error:
        raise text_error(f"a worker cannot import qmlir {version('qmlir')}: {one_line(error)}") from error
    expect_our_code("a worker", found)
    return found
