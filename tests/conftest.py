"""Collects the FileCheck files, fixes the seeds of random data, and refuses imports through the links at the top."""

import gc
import math
import os
import sys
from collections.abc import Generator, Iterator, Sequence
from importlib.abc import MetaPathFinder
from pathlib import Path
from tempfile import TemporaryDirectory
from zlib import crc32

# Before NumPy is imported: each process of a run has a core, and threads of OpenBLAS that wait for the small products
# of tests take most of the time of both.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import settings

TESTS = Path(__file__).parent
# --import-mode=importlib leaves sys.path alone; the tests and the plug-ins of RUN lines are imported as `tests.…`.
sys.path.insert(0, str(TESTS.parent))

from qmlir.interpreter import progress  # noqa: E402
from tests.support.order import longest_first  # noqa: E402
from tests.support.run_lines import COMMENTS, run_file  # noqa: E402
from tests.support.slow import mark_slow  # noqa: E402
from tests.support.update_checks import update_file  # noqa: E402

# What a tool prints does not depend on how busy the machine is.
progress.SECONDS = progress.FIRST_CALL_SECONDS = math.inf

settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("local", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "local")


class RefuseLinks(MetaPathFinder):
    """Whoever imports `dialects` or `tools` imports a second copy of everything in them."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: object = None) -> None:
        if fullname in ("dialects", "tools"):
            raise ImportError(f"'{fullname}' is a link for readers: import qmlir.{fullname}")


sys.meta_path.insert(0, RefuseLinks())


@pytest.fixture(autouse=True)
def same_data_in_any_order(request: pytest.FixtureRequest) -> None:
    """Start the generators of a module from the test's name, whichever tests ran before it in this process."""
    module = getattr(request, "module", None)
    for value in vars(module).values() if module is not None else ():
        if isinstance(value, np.random.Generator):
            value.bit_generator.state = np.random.default_rng(crc32(request.node.nodeid.encode())).bit_generator.state


@pytest.fixture(scope="session", autouse=True)
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of compiled programs: one for all processes of a run, so that none compiles what another has."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "programs"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("QMLIR_CACHE_DIR", str(folder))
        yield folder


YOUNG = 50_000
"""Objects more from which on Python collects cycles in tests: modules are cycles, and of the few hundred that are usual
most live long enough to be looked through with everything that the process has."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays until the process ends: Python does not look through it for cycles."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        gc.set_threshold(YOUNG, *gc.get_threshold()[1:])


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_slow(items)
    items[:] = longest_first(items)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """pytest looks for cycles five times more at its end, which takes seconds of a process that has run thousands of
    tests, and xdist interrupts a process that takes more than five."""
    gc.collect()
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-checks",
        action="store_true",
        help="rewrite the CHECK lines of the selected FileCheck files that fail, and what documents show, for review",
    )


class FileCheckItem(pytest.Item):
    """One such file, run by its RUN lines."""

    def runtest(self) -> None:
        with TemporaryDirectory(prefix="qmlir-") as folder:
            outcome = run_file(self.path, Path(folder))
            if outcome.code == "FAIL" and self.config.getoption("--update-checks"):
                outcome = update_file(self.path, Path(folder))
        match outcome.code:
            case "UNSUPPORTED":
                pytest.skip(outcome.report)
            case "XFAIL":
                pytest.xfail(outcome.report)
            case _ if outcome.is_failure:
                pytest.fail(f"{outcome.code} {outcome.report}", pytrace=False)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, str(self.path.relative_to(TESTS))


class FileCheckFile(pytest.File):
    """A file under `tests/filecheck/`, or that of a plug-in: a module, or an ONNX model in text."""

    def collect(self) -> Iterator[FileCheckItem]:
        yield FileCheckItem.from_parent(self, name="filecheck")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> FileCheckFile | None:
    if file_path.suffix in COMMENTS and "filecheck" in file_path.parts and "Inputs" not in file_path.parts:
        return FileCheckFile.from_parent(parent, path=file_path)
    return None
