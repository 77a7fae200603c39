"""Collects the FileCheck files, fixes hypothesis' seeds in CI, and guards the import rule of the two links."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

TESTS = Path(__file__).parent
sys.path.insert(0, str(TESTS.parent))

from tests.support.run_lines import RunLineError, run_file  # noqa: E402
from tests.support.update_checks import update_file  # noqa: E402

settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("local", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-checks", action="store_true", help="rewrite the CHECK lines of the selected FileCheck files"
    )


class FileCheckItem(pytest.Item):
    """One `.mlir` file, run by its RUN lines."""

    def runtest(self) -> None:
        temporary = Path(self.config._tmp_path_factory.mktemp(self.path.stem, numbered=True))  # type: ignore[attr-defined]
        if self.config.getoption("--update-checks"):
            update_file(self.path, temporary)
        run_file(self.path, temporary)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        if isinstance(excinfo.value, RunLineError):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, str(self.path.relative_to(TESTS))


class FileCheckFile(pytest.File):
    """A `.mlir` file under `tests/filecheck/`."""

    def collect(self) -> Iterator[FileCheckItem]:
        yield FileCheckItem.from_parent(self, name="filecheck")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> FileCheckFile | None:
    if file_path.suffix == ".mlir" and TESTS / "filecheck" in file_path.parents and "Inputs" not in file_path.parts:
        return FileCheckFile.from_parent(parent, path=file_path)
    return None


def pytest_sessionfinish(session: pytest.Session) -> None:
    twice = {"dialects", "tools"} & sys.modules.keys()
    if twice:
        raise pytest.UsageError(f"imported through a link at the top: {twice}; import qmlir.{twice.pop()}")
