"""Mistakes of a new user: each ends in one line that says what to type, as a command and in Python."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qmlir
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.tools import qmlir_cli

IMAGES = np.random.default_rng(0).random((6, 3, 2, 5), np.float32)
MODEL = """<ir_version: 10, opset_import: ["" : 21]>
pixels (float[%s, 3, 2, 5] image) => (float[%s, 2, 2, 5] scores)
<float[2, 3, 1, 1] weight = {1, -2, 0.5, 0.25, 0, 3}> { scores = Conv (image, weight) }
"""
ARRAYS = {
    "good": {"image": IMAGES},
    "nhwc": {"image": IMAGES.transpose(0, 2, 3, 1)},
    "cut": {"image": IMAGES[..., :4]},
    "truth": {"image": IMAGES > 0.5},
    "none": {"image": IMAGES[:0]},
    "key": {"img": IMAGES},
}


class Net:
    """Like a module of PyTorch."""

    def forward(self) -> None:
        """Nothing."""


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("model.onnxtxt").write_text(MODEL % ("1", "1"))
    Path("any.onnxtxt").write_text(MODEL % ("N", "N"))
    for name, arrays in ARRAYS.items():
        np.savez(f"{name}.npz", **arrays)
    for name in ("model.keras", "model.joblib", "model.pt"):
        Path(name).write_bytes(b"other")
    for name in ("empty", "taken", "models", "program"):
        Path(name).mkdir()
    Path("taken/summary.json").write_text("{}")
    Path("models/a.onnx").write_bytes(b"")
    Path("program/__init__.py").write_text("")
    return tmp_path


def _data(name: str) -> Callable[[], Any]:
    return lambda: qmlir.quantize("model.onnxtxt", f"{name}.npz")


def _quantize(model: str = "model.onnxtxt", data: str = "good", *more: str) -> list[str]:
    return ["quantize", model, "--data", f"{data}.npz", "-o", "out", *more]


Row = tuple[list[str] | None, Callable[[], Any] | None, tuple[str, ...]]

MISTAKES: dict[str, Row] = {
    "wrong path": (
        _quantize("modle.onnxtxt"),
        lambda: qmlir.quantize("modle.onnxtxt", "good.npz"),
        ("cannot read 'modle.onnxtxt': No such file or directory; did you mean 'model.onnxtxt'?",),
    ),
    "wrong path of the data": (
        _quantize(data="god"),
        _data("god"),
        ("cannot read 'god.npz': No such file or directory; did you mean 'good.npz'?",),
    ),
    "missing folder": (
        _quantize("nets/model.onnx"),
        lambda: qmlir.load("nets/model.onnx"),
        ("cannot read 'nets/model.onnx': No such file or directory; folder 'nets' does not exist",),
    ),
    "layout NHWC": (
        _quantize(data="nhwc"),
        _data("nhwc"),
        ("must have shape 1x3x2x5, but got 2x5x3", "help: pass array.transpose(0, 3, 1, 2)"),
    ),
    "wrong shape": (_quantize(data="cut"), _data("cut"), ("must have shape 1x3x2x5, but got 3x2x4", "--preprocess")),
    "wrong dtype": (
        _quantize(data="truth"),
        _data("truth"),
        ("must be float32, but got bool", "help: pass array.astype('float32')"),
    ),
    "missing input": (
        ["run", "model.onnxtxt"],
        lambda: qmlir.interpret(qmlir.load("model.onnxtxt"), {}),
        ("no value for input 'image' (1x3x2x5 float32)", "pass --input FILE.npz (inputs={'image': array})"),
    ),
    "dynamic size": (
        ["compile", "any.onnxtxt", "-o", "out", "--emit", "c"],
        lambda: qmlir.emit(qmlir.load("any.onnxtxt"), format="c"),
        ("--shape image=",),
    ),
    "misspelled option": (
        _quantize("model.onnxtxt", "good", "--granularty", "channel"),
        lambda: qmlir.quantize("model.onnxtxt", "good.npz", **{"granularty": "channel"}),
        ("did you mean '", "granularity'?"),
    ),
    "misspelled device": (
        _quantize("model.onnxtxt", "good", "--device", "cpuu"),
        lambda: qmlir.quantize("model.onnxtxt", "good.npz", device="cpuu"),
        ("unknown target 'cpuu'; did you mean 'cpu'? (available: ",),
    ),
    "misspelled pass": (
        ["profile", "model.onnxtxt", "--data", "good.npz", "-o", "p.json", "--passes", "nn-decompos"],
        None,
        ("unknown pass 'nn-decompos'; did you mean 'nn-decompose'?",),
    ),
    "misspelled calibrator": (
        _quantize("model.onnxtxt", "good", "--calibrator", "entropi"),
        lambda: qmlir.quantize("model.onnxtxt", "good.npz", calibrator="entropi"),
        ("'entropi'", "did you mean 'entropy'?"),
    ),
    "unsupported format": (
        _quantize("model.keras"),
        lambda: qmlir.load("model.keras"),
        ("cannot read 'model.keras': expected a .onnx, .tflite, .pt2 or .mlir file; help: ",),
    ),
    "file of scikit-learn": (
        _quantize("model.joblib"),
        lambda: qmlir.load("model.joblib"),
        ("cannot read 'model.joblib': expected a .onnx, .tflite, .pt2 or .mlir file; help: ", "skl2onnx"),
    ),
    "file of PyTorch": (_quantize("model.pt"), lambda: qmlir.load("model.pt"), ("; help: ", "torch.export.save(")),
    "module of PyTorch": (None, lambda: qmlir.quantize(Net(), IMAGES), ("torch.onnx.export(",)),
    "no samples": (_quantize(data="none"), _data("none"), ("the data contains no samples; pass at least one",)),
    "empty folder": (
        ["quantize", "model.onnxtxt", "--data", "empty", "-o", "out"],
        lambda: qmlir.quantize("model.onnxtxt", "empty"),
        ("folder 'empty' contains no .npy or .npz files and no images (",),
    ),
    "wrong key in the npz": (_quantize(data="key"), _data("key"), ("has no input 'img'; did you mean 'image'?",)),
    "output in the way": (
        ["quantize", "model.onnxtxt", "--data", "good.npz", "-o", "taken"],
        None,
        ("already exists: qmlir did not write it; move it, or ", "--force"),
    ),
    "folder for a file": (
        _quantize("models"),
        lambda: qmlir.load("models"),
        ("'models' is a folder, but not one written by 'qmlir quantize'; did you mean 'models/a.onnx'?",),
    ),
    "folder that is no program": (
        None,
        lambda: qmlir.load_program("program"),
        ("compile MODEL -o DIR",),
    ),
    "no data": (None, lambda: qmlir.quantize("model.onnxtxt"), ("pass samples with --data PATH (data=)",)),
    "data for a run": (["run", "model.onnxtxt", "--data", "good.npz"], None, ("use --input good.npz",)),
    "misspelled command": (
        ["quantise", "model.onnxtxt"],
        None,
        ("unknown command 'quantise'; did you mean 'quantize'?",),
    ),
}


@pytest.mark.parametrize("mistake", [name for name, row in MISTAKES.items() if row[0]])
def test_a_command_says_what_to_type(work: Path, mistake: str) -> None:
    words, _, wanted = MISTAKES[mistake]
    said = io.StringIO()
    code = qmlir_cli.main(words, stdin=io.StringIO(), stdout=io.StringIO(), stderr=said)
    errors = [line for line in said.getvalue().splitlines() if "error: " in line]
    assert (code in (1, 2), len(errors)) == (True, 1), said.getvalue()
    assert [part for part in wanted if part not in errors[0]] == [], errors[0]
    assert "Traceback" not in said.getvalue()


@pytest.mark.parametrize("mistake", [name for name, row in MISTAKES.items() if row[1]])
def test_python_says_what_to_type(work: Path, mistake: str) -> None:
    _, call, wanted = MISTAKES[mistake]
    assert call is not None
    with pytest.raises((DiagnosticError, TypeError)) as raised:
        call()
    said = str(raised.value)
    assert [part for part in wanted if part not in said] == [], said
    assert "\n" not in said
