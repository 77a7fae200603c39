"""Compiling a program in several processes: helpers compile kernels into numba's cache, this process loads them.

Helpers are programs of their own, started anew: nothing is forked, and the caller may have threads, be a child
itself, or have no main module. One that dies or can't be started leaves its kernels to this process.
"""

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from qmlir.targets.cpu.cache import number_in
from qmlir.targets.cpu.runtime.helper import claimed
from qmlir.targets.cpu.runtime.spreading import available_cores

PROCESSES_VARIABLE = "QMLIR_COMPILE_PROCESSES"
"""How many processes compile at most; all cores where nothing is said."""

_LINES_EACH = 1000
"""Lines of kernels that keep a process busy for longer than it takes to start: about four seconds and one."""


def process_limit() -> int:
    """How many processes may compile at once. Raises `DiagnosticError` where the variable is not a number."""
    given = number_in(PROCESSES_VARIABLE, "processes", 2)
    if given is not None:
        return given
    if multiprocessing.parent_process() is not None:  # its siblings have the other cores
        return 1
    return available_cores()


def helper_count(source: str, limit: int) -> int:
    """How many helpers pay for the kernels in `source`, where so many processes may compile, this one among them."""
    return max(min(limit, source.count("\n") // _LINES_EACH) - 1, 0) if sys.executable else 0


def _started(command: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes] | None:
    quiet = subprocess.DEVNULL
    try:
        return subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, env=environment)
    except OSError:  # no more processes, or no interpreter: then without
        return None


@contextmanager
def helped(runtime: Any, program: Path, count: int) -> Generator[None]:
    """While it is open, the kernels of the package in `program` are compiled together with `count` helpers.

    `runtime` is the module `kernels` of the package's runtime, before the kernels are imported.
    """
    if count <= 0:
        yield
        return
    script = Path(runtime.__file__).parents[1] / "helper.py"
    # The cache must be the one beside the source for all.
    environment = {**os.environ, "NUMBA_CACHE_DIR": ""}
    with TemporaryDirectory(prefix="qmlir-claims-") as claims:
        command = [sys.executable, str(script), str(program), claims]
        helpers = [each for _ in range(count) if (each := _started(command, environment)) is not None]

        class Shared(runtime.Work):
            """Takes what helpers have left, and waits for them."""

            def takes(self, kernel: str) -> bool:
                return claimed(Path(claims), kernel)

            def wait(self) -> None:
                for each in helpers:
                    each.wait()

        alone, runtime.work = runtime.work, Shared()
        try:
            yield
        finally:
            runtime.work = alone
            for each in helpers:
                each.kill()
                each.wait()
