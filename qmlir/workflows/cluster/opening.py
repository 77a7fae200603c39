"""The workers that a run has: those of a cluster, or this process; and the folder that keeps what they answer."""

from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec
from os import PathLike
from typing import TYPE_CHECKING, TypeAlias

from qmlir.interpreter.jobs.job import Here, Workers
from qmlir.interpreter.jobs.kept import Kept
from qmlir.interpreter.jobs.processes import Processes
from qmlir.ir.diagnostics import text_error
from qmlir.text.files import path_of
from qmlir.workflows import cluster as room
from qmlir.workflows.cluster.traits import traits

if TYPE_CHECKING:
    from distributed import Client

Cluster: TypeAlias = "str | Client"
"""The address of a scheduler of Dask, `tcp://host:port`, or a client of one."""


@contextmanager
def workers_of(
    cluster: "Cluster | None",
    resume: str | PathLike[str] | None = None,
    *,
    processes: int = 1,
    same_processor: bool = False,
) -> Generator[Workers | None]:
    """Inside the `with` block there is a connection to the workers of `cluster`; `None` where nothing is asked for.

    With a folder `resume` answers are kept there, and known ones are not asked for; without a cluster so many
    `processes` of this machine do the work. Raises `DiagnosticError` where the cluster cannot do it, and where with
    `same_processor` it has not the kind of processor that this machine has.
    """
    if cluster is None:
        if resume is None:
            yield None
            return
        mine = traits().digest
        if processes == 1:
            yield Kept(Here(mine), path_of(resume))
            return
        with Processes(processes, mine) as pool:
            yield Kept(pool, path_of(resume))
        return
    if find_spec("distributed") is None:
        raise text_error("--cluster requires Dask; run pip install 'qmlir[cluster]'")
    workers = room.DaskWorkers(cluster)
    try:
        if same_processor and (its := workers.processor) != (mine := traits().processor):
            raise text_error(f"the cluster has another processor than this machine, {its} and {mine}: name one like it")
        yield workers if resume is None else Kept(workers, path_of(resume))
    finally:
        workers.close()
