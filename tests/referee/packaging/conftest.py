"""The wheel of this package, built and installed into an empty environment, once for all tests of this folder."""

import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.support.documents import ROOT


def run(*command: str | Path, cwd: Path, **options: object) -> str:
    """What a command prints; it must succeed."""
    done = subprocess.run([*command], cwd=cwd, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def install(programs: Path, source: Path, folder: Path, name: str, *options: str) -> None:
    """Build the wheel of `source` and install it beside `programs`."""
    built = folder / f"built-{name}"
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", built, source, cwd=folder)
    (wheel,) = built.glob(f"{name}-*.whl")
    run(
        programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *options, wheel,
        cwd=folder,
    )  # fmt: skip


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands of an environment in which the wheel is installed, and what it needs."""
    folder = tmp_path_factory.mktemp("wheel")
    reachable = subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder / "probe", "hatchling"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if reachable.returncode:
        pytest.skip(f"there is no package registry: {reachable.stderr.strip()[-200:]}")
    venv.create(folder / "environment", with_pip=True)
    programs = folder / "environment" / "bin"
    install(programs, ROOT, folder, "qmlir")
    return programs
