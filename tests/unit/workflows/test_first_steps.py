"""The first steps of somebody new, as they are typed: each works, or says in one line what to type."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qmlir
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.tools import qmlir_cli
from tests.support.classifiers import saved_classifier

X = np.random.default_rng(0).standard_normal((256, 4)).astype(np.float32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, samples, what `qmlir quantize` made of them, and files that are none of it."""
    path = tmp_path_factory.mktemp("steps")
    model = saved_classifier(path)
    np.savez(path / "samples.npz", x=X[:16])
    words = ["quantize", model, "--data", path / "samples.npz", "-o", path / "out", "--no-validate"]
    assert qmlir_cli.main(list(map(str, words)), stdout=io.StringIO(), stderr=io.StringIO()) == 0
    (path / "lfs.onnx").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n")
    (path / "page.onnx").write_text("<!DOCTYPE html><html>404</html>")
    (path / "empty.onnx").write_text("")
    (path / "net.pt").write_bytes(b"PK\x03\x04 of torch")
    (path / "net.tflite").write_bytes(b"\x1c\x00\x00\x00TFL3")
    (path / "nothing").mkdir()
    return path


def test_a_path_is_a_model_everywhere(folder: Path) -> None:
    model = folder / "classifier.onnx"
    module = qmlir.quantize(str(model), X[:16], validate=False)
    expected = qmlir.interpret(module, {"x": X[:2]})["y"]
    for each in (folder / "out", str(folder / "out"), folder / "out" / "classifier.q.mlir"):
        assert np.array_equal(qmlir.interpret(each, {"x": X[:2]})["y"], expected)
        assert str(qmlir.load(each)) == str(qmlir.load(folder / "out" / "classifier.q.mlir"))
    assert np.array_equal(qmlir.compile(folder / "out")({"x": X[:2]})["y"], expected)
    assert qmlir.profile(model, X[:4]).samples == 4
    assert len(qmlir.inspect(model).layers) == 2
    assert len(qmlir.export_onnx(model).graph.node) == 2
    assert qmlir.partition(folder / "out", "cpu").module is not None
    assert qmlir.explain(folder / "out", "fine").node == "fine"
    assert qmlir.compare(folder / "out", None, X[:4]).samples == 4


def test_the_version_is_that_of_the_package() -> None:
    out = io.StringIO()
    assert qmlir_cli.main(["--version"], stdout=out, stderr=io.StringIO()) == 0
    assert out.getvalue() == f"qmlir {qmlir.__version__}\n"


class Net:
    """A module of torch."""

    def forward(self, x: Any) -> Any:
        return x


STEPS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "torch": (lambda path: qmlir.quantize(Net(), X), "Net is a module of torch: torch.onnx.export(model, "),
    "nothing": (lambda path: qmlir.load(None), "NoneType is not a model: the path of one is, or an ONNX"),
    "no file": (lambda path: qmlir.load(path / "gone.onnx"), "gone.onnx': No such file or directory"),
    "folder": (lambda path: qmlir.load(path), "is a folder, and not one that qmlir quantize wrote: did you mean '"),
    "empty folder": (lambda path: qmlir.load(path / "nothing"), "is a folder, and not one that qmlir quantize wrote"),
    "lfs": (
        lambda path: qmlir.load(path / "lfs.onnx"),
        "but a pointer of Git LFS, in place of the file",
    ),
    "page": (lambda path: qmlir.load(path / "page.onnx"), "but a page of HTML, perhaps the error of a download"),
    "empty": (lambda path: qmlir.load(path / "empty.onnx"), "is not an ONNX model: it is empty"),
    "torch file": (lambda path: qmlir.load(path / "net.pt"), "it is a zip archive, as torch saves models: torch.onnx"),
    "tflite": (lambda path: qmlir.load(path / "net.tflite"), "it is a model of TFLite: tf2onnx makes an ONNX model"),
    "no samples": (
        lambda path: qmlir.quantize(path / "classifier.onnx"),
        "there are no samples, and the model",
    ),
    "program": (lambda path: qmlir.load_program(path / "out"), "holds no saved program"),
}


@pytest.mark.parametrize("step", STEPS)
def test_what_cannot_work_is_one_line(step: str, folder: Path) -> None:
    act, message = STEPS[step]
    with pytest.raises(DiagnosticError) as caught:
        act(folder)
    assert message in caught.value.diagnostic.message
    assert "\n" not in caught.value.diagnostic.message


def test_a_program_is_loaded_as_one(folder: Path, tmp_path: Path) -> None:
    qmlir.compile(qmlir.load(folder / "classifier.onnx", shapes={"x": (1, 4)})).save(tmp_path / "program")
    with pytest.raises(DiagnosticError, match=r"is a compiled program: qmlir.load_program\('.*program'\) loads it"):
        qmlir.load(tmp_path / "program")
