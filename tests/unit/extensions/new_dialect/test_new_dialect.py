"""`qmlir new-dialect` writes a package whose own tests pass, and refuses before it writes anything."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from qmlir.extensions.new_dialect.writing import write_package
from qmlir.ir.diagnostics import DiagnosticError


def _as_if_installed(folder: Path, package: Path, name: str) -> str:
    """What PYTHONPATH must be, so that the package and its entry points are found."""
    metadata = folder / f"qmlir_{name}-0.1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: qmlir-{name}\nVersion: 0.1.0\n", encoding="utf-8")
    points = (package / "pyproject.toml").read_text(encoding="utf-8").split("[project.entry-points.")[1:]
    groups = [each.split("[tool.")[0].replace("]", "", 1).split("\n", 1) for each in points]
    lines = [f"[{group.strip(chr(34))}]\n{rows.strip()}\n".replace('"', "") for group, rows in groups]
    (metadata / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    return os.pathsep.join([str(folder), str(package)])


@pytest.mark.parametrize("name", ["edge_npu"])
def test_the_tests_of_a_new_package_pass(tmp_path: Path, name: str) -> None:
    package = tmp_path / "package"
    written = write_package(name, package)
    assert f"qmlir_{name}/dialect/ops.py" in written
    assert all("{" + "{" not in path for path in written)
    environment = {**os.environ, "PYTHONPATH": _as_if_installed(tmp_path / "site", package, name)}
    for command in (["pytest", "-q", "-p", "no:cacheprovider"], ["ruff", "check", "."]):
        done = subprocess.run(
            [sys.executable, "-m", *command], cwd=package, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout[-4000:]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nn", "dialect 'nn' already exists"),
        ("3x", "invalid dialect name '3x': expected lower-case letters, digits and '_'"),
        ("class", "invalid dialect name 'class': expected lower-case letters, digits and '_'"),
    ],
)
def test_names_that_are_refused(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        write_package(name, tmp_path / "package")
    assert caught.value.diagnostic.message == message
    assert not (tmp_path / "package").exists()


def test_what_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / "kept.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(DiagnosticError, match=f"'{tmp_path}' already exists"):
        write_package("softy", tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["kept.txt"]
