"""An operator of another domain, from a package that is installed beside this one: importer, dialect and meaning."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PLUGINS = Path(__file__).resolve().parents[2] / "plugins"
MODEL = """
<ir_version: 10, opset_import: ["" : 21, "com.example" : 1]>
net (float[3] x) => (float[3] y)
{
  [n1] h = com.example.ScaledSquare <factor: float = 0.5> (x)
  y = Neg (h)
}
"""


def _tool(name: str, *arguments: str | Path, installed: bool = True) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([*([str(PLUGINS / "fancy")] if installed else []), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [Path(sys.executable).parent / name, *arguments],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.onnxtxt"
    path.write_text(MODEL)
    return path


def test_import_print_parse_and_run(model: Path, tmp_path: Path) -> None:
    module = tmp_path / "model.mlir"
    done = _tool("qmlir-translate", "--import-onnx", model, "-o", module)
    assert done.returncode == 0, done.stderr
    assert (
        "fancy.scaled_square %x by 5.000000e-01 : f32 "
        '{origin = "n1", op_type = "com.example::ScaledSquare", tensor = "h"} : tensor<3xf32> -> tensor<3xf32>'
    ) in module.read_text()
    reprinted = _tool("qmlir-opt", module)
    assert reprinted.stdout == module.read_text(), reprinted.stderr
    np.savez(tmp_path / "in.npz", x=np.array([1, 2, 4], np.float32))
    for source in (model, module):
        done = _tool("qmlir", "run", source, "--input", tmp_path / "in.npz", "-o", tmp_path / "out.npz")
        assert done.returncode == 0, done.stderr
        assert np.load(tmp_path / "out.npz")["y"].tolist() == [-0.5, -2, -8]


def test_export(model: Path, tmp_path: Path) -> None:
    module, again = tmp_path / "model.mlir", tmp_path / "again.mlir"
    exported = tmp_path / "exported.onnx"
    assert _tool("qmlir-translate", "--import-onnx", model, "-o", module).returncode == 0
    done = _tool("qmlir-translate", "--export-onnx", module, "-o", exported)
    assert done.returncode == 0, done.stderr
    done = _tool("qmlir-translate", "--import-onnx", exported, "-o", again)
    assert (done.returncode, done.stderr) == (0, "")
    assert again.read_text() == module.read_text()


def test_error_of_the_importer(model: Path) -> None:
    model.write_text(MODEL.replace("<factor: float = 0.5>", ""))
    done = _tool("qmlir-translate", "--import-onnx", model)
    assert (done.returncode, done.stderr) == (
        1,
        "error: com.example.ScaledSquare node 'n1': lacks the attribute 'factor'\n",
    )


def test_without_the_package(model: Path) -> None:
    done = _tool("qmlir-translate", "--import-onnx", model, installed=False)
    assert done.returncode == 1
    assert "uses 1 unsupported operator: com.example::ScaledSquare (1: 'n1');" in done.stderr
