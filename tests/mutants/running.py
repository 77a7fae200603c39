"""A mutant in a process of its own: forked from one that has the libraries and nothing of this tree.

The process imports the tree with the mutant in it (no file changes), runs the chosen tests in order up to the first
that fails, and ends. Its programs, its temporary files and its caches lie in a folder that goes with it. It is bounded
in processor time and memory, which do not depend on what else the machine does.
"""

import json
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.mutants.loading import load_mutant
from tests.mutants.mutations import ROOT, Mutant

LIBRARIES = (
    "numpy", "numba", "llvmlite.binding", "onnx", "onnx.reference", "onnxruntime", "xdsl.dialects.builtin",
    "xdsl.dialects.linalg", "xdsl.dialects.scf", "xdsl.pattern_rewriter", "hypothesis", "hypothesis.extra.numpy",
    "lit.TestRunner", "filecheck.matcher", "safetensors.numpy", "rich.console", "jinja2", "ml_dtypes",
)  # fmt: skip
"""What takes long to import, and imports nothing of this tree."""

_MEMORY = 6 << 30
_AT_LEAST = 60
"""Seconds of processor time that any mutant has."""


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant: `killer` says which test failed or how the process ended, empty for a survivor.

    Seconds are those of processors, whatever else the machine does.
    """

    mutant: Mutant
    killer: str
    tests: int
    seconds: float


class _Chosen:
    """A plug-in of pytest: runs the chosen tests in their order; which failed first, and how many ran.

    What is chosen may be missing, where a mutant has changed a table that tests are made of: that alone kills nothing.
    """

    def __init__(self, tests: Sequence[str]) -> None:
        self.order = {name: number for number, name in enumerate(tests)}
        self.failed = ""
        self.ran = 0

    def _position(self, item: pytest.Item) -> int | None:
        return self.order.get(item.nodeid, self.order.get(item.nodeid.partition("::")[0]))

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        placed = [(position, item) for item in items if (position := self._position(item)) is not None]
        items[:] = [item for _, item in sorted(placed, key=lambda each: each[0])]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.ran += report.when == "call"
        if report.failed and not self.failed:
            self.failed = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.failed:
            self.failed = f"import of {report.nodeid}"


def import_libraries() -> None:
    """Have the libraries in this process, from which the others are forked."""
    os.environ["CI"] = "1"  # the choices of hypothesis are the same each time
    for name in LIBRARIES:
        import_module(name)
    assert not any(name.partition(".")[0] == "qmlir" for name in sys.modules)


def forked(work: Callable[[], object], folder: Path, processor_seconds: int) -> int:
    """Start a process, which leads a group of its own, that does `work` and leaves its result in `folder`."""
    process = os.fork()
    if process:
        return process
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (processor_seconds, processor_seconds + 5))
        resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
        said = os.open(folder / "said", os.O_WRONLY | os.O_CREAT)
        os.dup2(said, 1)
        os.dup2(said, 2)
        os.environ.update(TMPDIR=str(folder), QMLIR_CACHE_DIR=str(folder / "programs"), NUMBA_CACHE_DIR=str(folder))
        result = work()
        (folder / "result").write_text(json.dumps(result))
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(0)


def _held(mutant: Mutant, tests: Sequence[str]) -> tuple[str, int]:
    """The first test that fails with the mutant, and how many ran."""
    chosen = _Chosen(tests)
    load_mutant(mutant)
    files = [file for file in dict.fromkeys(name.partition("::")[0] for name in tests) if (ROOT / file).exists()]
    if not files:  # a map may be older than the tests, and without a file pytest would collect all of them
        return "", 0
    options = ["-x", "-q", "--tb=line", "-p", "no:cacheprovider", "-m", "not referee and not sweep and not conformance"]
    code = pytest.main([*options, *files], plugins=[chosen])
    survived = code in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    return chosen.failed or ("" if survived else "the import of the tests"), chosen.ran


@dataclass
class _Running:
    mutant: Mutant
    folder: TemporaryDirectory[str]
    started: float
    limit: float

    def verdict(self, status: int, seconds: float) -> Verdict:
        result = Path(self.folder.name) / "result"
        if result.exists():
            killer, tests = json.loads(result.read_text())
        elif status & 127:
            killer, tests = f"its end by signal {status & 127}", 0
        else:  # neither a test nor the kernel ended it, so nothing is known of the mutant
            raise RuntimeError(f"no result for {self.mutant}:\n{Path(self.folder.name, 'said').read_text()}")
        self.folder.cleanup()
        return Verdict(self.mutant, killer, tests, seconds)


def verdicts(work: Iterator[tuple[Mutant, Sequence[str], float]], processes: int) -> Iterator[Verdict]:
    """Each mutant held against its tests, which take so many seconds without it; so many at once."""
    running: dict[int, _Running] = {}
    for mutant, tests, seconds in work:
        folder = TemporaryDirectory(prefix="mutant-", ignore_cleanup_errors=True)
        limit = int(_AT_LEAST + 4 * seconds)
        process = forked(lambda: _held(mutant, tests), Path(folder.name), limit)  # noqa: B023
        running[process] = _Running(mutant, folder, time.monotonic(), 10 * limit)
        while len(running) >= processes:
            yield _next(running)
    while running:
        yield _next(running)


def _next(running: dict[int, _Running]) -> Verdict:
    """The verdict on whichever ends next."""
    while True:
        process, status, used = os.wait4(-1, os.WNOHANG)
        if process in running:
            _end_group(process)
            return running.pop(process).verdict(status, used.ru_utime + used.ru_stime)
        for each, one in running.items():
            if time.monotonic() - one.started > one.limit:
                _end_group(each)
        time.sleep(0.02)


def _end_group(process: int) -> None:
    try:
        os.killpg(process, signal.SIGKILL)
    except ProcessLookupError:
        return
