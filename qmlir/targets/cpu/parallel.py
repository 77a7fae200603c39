"""Compiles a program in several processes: helpers compile kernels into numba's cache, this process loads them.

Helpers are separate programs, started without fork. So the caller may have threads, be a child process, or have no
main module. If a helper dies or can't be started, this process compiles its kernels.
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
"""The maximum number of processes that compile; the default is one per core."""

_LINES_EACH = 1000
"""The number of source lines per helper: they compile in about four seconds; a process starts in about one."""


def process_limit() -> int:
    """Returns the maximum number of compiling processes. Raises `DiagnosticError` if the variable is not a number."""
    given = number_in(PROCESSES_VARIABLE, "processes", 2)
    if given is not None:
        return given
    if multiprocessing.parent_process() is not None:  # sibling processes use the other cores
        return 1
    return available_cores()


def helper_count(source: str, limit: int) -> int:
    """Returns the number of helpers that speed up the compilation of the kernels in `source`.

    `limit` is the maximum number of processes, including this one.
    """
    return max(min(limit, source.count("\n") // _LINES_EACH) - 1, 0) if sys.executable else 0


def _started(command: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes] | None:
    quiet = subprocess.DEVNULL
    try:
        return subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, env=environment)
    except OSError:  # process limit reached, or no interpreter; compile without this helper
        return None


@contextmanager
def helped(runtime: Any, program: Path, count: int) -> Generator[None]:
    """Compiles the kernels of the package in `program` together with `count` helpers, inside the `with` block.

    `runtime` is the module `kernels` of the package's runtime, before the kernels are imported.
    """
    if count <= 0:
        yield
        return
    script = Path(runtime.__file__).parents[1] / "helper.py"
    # All processes must use the cache next to the source.
    environment = {**os.environ, "NUMBA_CACHE_DIR": ""}
    with TemporaryDirectory(prefix="qmlir-claims-") as claims:
        command = [sys.executable, str(script), str(program), claims]
        helpers = [each for _ in range(count) if (each := _started(command, environment)) is not None]

        class Shared(runtime.CompileShare):
            """Takes kernels that no helper has claimed, and waits for the helpers."""

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
