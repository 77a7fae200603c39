"""Where the time of a program goes: every kernel of a small classifier has a row, and wrong input a line."""

import io
from pathlib import Path

import numpy as np
import pytest

import qmlir
from benchmarks import kernels
from qmlir.targets.cpu import cache
from qmlir.text.printing import save_module
from tests.support.classifiers import samples, saved_classifier


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(cache.DIRECTORY_VARIABLE, str(tmp_path / "cache"))
    saved_classifier(tmp_path)
    module = qmlir.load(tmp_path / "classifier.onnx", shapes={"x": (1, 4)})
    save_module(qmlir.quantize(module, {"x": samples()[0]}).module, tmp_path / "int8.mlir")
    np.savez(tmp_path / "inputs.npz", x=np.zeros((1, 4), np.float32))
    np.savez(tmp_path / "other.npz", x=np.zeros((1, 5), np.float32))
    return tmp_path


def run(*words: str | Path) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    return kernels.main(list(map(str, words)), stdout=out, stderr=err), out.getvalue(), err.getvalue()


@pytest.mark.parametrize(("words", "column"), [((), "GMAC/s"), (("--compile",), "all")])
def test_every_kernel_has_a_row(folder: Path, words: tuple[str, ...], column: str) -> None:
    code, out, err = run(folder / "int8.mlir", folder / "inputs.npz", *words)
    assert (code, err) == (0, "")
    assert column in out
    assert "matmul_1x" in out


@pytest.mark.parametrize(
    ("module", "inputs", "message"),
    [
        ("nothing.mlir", "inputs.npz", "nothing.mlir': No such file or directory"),
        ("int8.mlir", "nothing.npz", "nothing.npz': No such file or directory"),
        ("int8.mlir", "int8.mlir", "int8.mlir': it is not a .npy or .npz file of plain arrays"),
        ("int8.mlir", "other.npz", "input 'x' must have shape 1x4, but got 1x5"),
    ],
)
def test_wrong_input_is_told_in_a_line(folder: Path, module: str, inputs: str, message: str) -> None:
    code, out, err = run(folder / module, folder / inputs)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert message in err
