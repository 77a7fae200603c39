"""Collects the FileCheck files, fixes the seeds of random data, and refuses imports through the links at the top."""

import os
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import MetaPathFinder
from pathlib import Path
from tempfile import TemporaryDirectory
from zlib import crc32

import numpy as np
import pytest
from hypothesis import settings

TESTS = Path(__file__).parent
# --import-mode=importlib leaves sys.path alone; the tests and the plug-ins of RUN lines are imported as `tests.…`.
sys.path.insert(0, str(TESTS.parent))

from tests.support.run_lines import COMMENTS, run_file  # noqa: E402
from tests.support.update_checks import update_file  # noqa: E402

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
