"""The wheel, as a user gets it: built, installed into an empty environment, and used from outside the checkout.

It takes what the package registry has, so it is a referee: skipped, with what pip says, where there is none.
"""

import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.support.documents import ROOT

pytestmark = [pytest.mark.referee, pytest.mark.timeout(900)]

RELU = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = nn.relu %x : tensor<2xf32>
  func.return %y : tensor<2xf32>
}
"""
MODEL = ROOT / "docs" / "examples" / "digits_cnn.onnx"
SAMPLES = ROOT / "docs" / "examples" / "digits_samples.npz"
IMAGE = ROOT / "docs" / "examples" / "digits_one.npz"


def _run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run([*command], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands of an environment in which the wheel is installed, and what it needs."""
    folder = tmp_path_factory.mktemp("wheel")
    reachable = subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder / "probe", "hatchling"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if reachable.returncode:
        pytest.skip(f"there is no package registry: {reachable.stderr.strip()[-200:]}")
    _run(
        sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder / "built", ROOT, cwd=folder
    )
    (wheel,) = (folder / "built").glob("qmlir-*.whl")
    venv.create(folder / "environment", with_pip=True)
    programs = folder / "environment" / "bin"
    _run(programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel, cwd=folder)
    return programs


def test_the_three_commands(programs: Path, tmp_path: Path) -> None:
    (tmp_path / "relu.mlir").write_text(RELU, encoding="utf-8")
    assert "nn.relu" in _run(programs / "qmlir-opt", "relu.mlir", "-p", "canonicalize", cwd=tmp_path)
    assert "nn.conv" in _run(programs / "qmlir-translate", "--import-onnx", MODEL, cwd=tmp_path)
    assert "qmlir" in _run(programs / "qmlir", "doctor", cwd=tmp_path)


def test_from_a_model_to_a_result(programs: Path, tmp_path: Path) -> None:
    _run(programs / "qmlir", "quantize", MODEL, "--data", SAMPLES, "-o", "out", cwd=tmp_path)
    _run(programs / "qmlir", "compile", "out", "--shape", "input=1x1x8x8", "-o", "program", cwd=tmp_path)
    compiled = _run(programs / "qmlir", "run", "program", "--input", IMAGE, cwd=tmp_path)
    assert compiled == _run(programs / "qmlir", "run", "out", "--input", IMAGE, cwd=tmp_path)
    assert compiled.startswith("logits: 1x10 float32\n")
    _run(programs / "qmlir", "report", "out", "--data", SAMPLES, "--no-time", "-o", "report.html", cwd=tmp_path)
    assert (tmp_path / "report.html").stat().st_size > 20_000
