"""The wheel, as a user gets it: built, installed into an empty environment, and used from outside the checkout.

It takes what the package registry has, so it is a referee: skipped, with what pip says, where there is none.
"""

from pathlib import Path

import pytest

from tests.referee.packaging.conftest import run
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


def test_the_three_commands(programs: Path, tmp_path: Path) -> None:
    (tmp_path / "relu.mlir").write_text(RELU, encoding="utf-8")
    assert "nn.relu" in run(programs / "qmlir-opt", "relu.mlir", "-p", "canonicalize", cwd=tmp_path)
    assert "nn.conv" in run(programs / "qmlir-translate", "--import-onnx", MODEL, cwd=tmp_path)
    assert "qmlir" in run(programs / "qmlir", "doctor", cwd=tmp_path)


def test_from_a_model_to_a_result(programs: Path, tmp_path: Path) -> None:
    run(programs / "qmlir", "quantize", MODEL, "--data", SAMPLES, "-o", "out", cwd=tmp_path)
    run(programs / "qmlir", "compile", "out", "--shape", "input=1x1x8x8", "-o", "program", cwd=tmp_path)
    compiled = run(programs / "qmlir", "run", "program", "--input", IMAGE, cwd=tmp_path)
    assert compiled == run(programs / "qmlir", "run", "out", "--input", IMAGE, cwd=tmp_path)
    assert compiled.startswith("logits: 1x10 float32\n")
    run(programs / "qmlir", "report", "out", "--data", SAMPLES, "--no-time", "-o", "report.html", cwd=tmp_path)
    assert (tmp_path / "report.html").stat().st_size > 20_000
