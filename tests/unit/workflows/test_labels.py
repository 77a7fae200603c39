"""Top-1 accuracy by labels in `quantize` and `compare`, against classes that NumPy computes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, numpy_helper, parser

import qmlir
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.workflows import quantizing
from tests.support.commands import run_command

RANDOM = np.random.default_rng(0)
WEIGHTS = RANDOM.normal(0, 1, (3, 4)).astype(np.float32)
X = RANDOM.normal(0, 1, (40, 4)).astype(np.float32)
CLASSES = (X @ WEIGHTS.T).argmax(1)
LABELS = np.where(np.arange(40) < 10, (CLASSES + 1) % 3, CLASSES)
"""The float model is wrong on the first 10 of 40 samples."""


def _model() -> ModelProto:
    model = parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
    net (float[N,4] x) => (float[N,3] y) { y = Gemm<transB = 1>(x, w) }""")
    model.graph.initializer.append(numpy_helper.from_array(WEIGHTS, "w"))
    return model


def _coarse() -> dict[str, Any]:
    return {"weights": "i2", "validate": False}


def _expected(quantized: Any, x: Any, labels: Any) -> float:
    return float((qmlir.interpret(quantized, {"x": x})["y"].argmax(1) == labels).mean())


def test_quantize_on_data_and_on_validation_samples() -> None:
    quantized = qmlir.quantize(_model(), X, labels=LABELS, **_coarse())
    assert quantized.accuracy is not None
    assert (quantized.accuracy.reference, quantized.accuracy.samples) == (0.75, 40)
    assert quantized.accuracy.candidate == _expected(quantized, X, LABELS) != 0.75
    told = quantized.summary().to_dict()["accuracy"]
    assert told == {"reference": 0.75, "candidate": quantized.accuracy.candidate, "samples": 40}
    said = f"top-1 accuracy: 75.0% in float, {100 * quantized.accuracy.candidate:.1f}% quantized, 40 labeled samples\n"
    assert said in quantized.text()
    few = qmlir.quantize(_model(), X, validation=X[5:15], labels=LABELS[5:15], **_coarse())
    assert few.accuracy is not None
    assert (few.accuracy.reference, few.accuracy.samples) == (0.5, 10)
    limited = qmlir.quantize(_model(), X, samples=20, labels=LABELS, **_coarse())
    assert limited.accuracy is not None
    assert (limited.accuracy.reference, limited.accuracy.samples) == (0.5, 20)


def test_pairs_of_a_loader_that_is_read_once() -> None:
    def pairs() -> Iterator[tuple[Any, Any]]:
        yield from ((X[start : start + 8], LABELS[start : start + 8]) for start in range(0, 40, 8))

    quantized = qmlir.quantize(_model(), pairs(), labels=True, **_coarse())
    assert quantized.accuracy is not None
    assert (quantized.accuracy.reference, quantized.accuracy.samples) == (0.75, 40)


def test_compare() -> None:
    quantized = qmlir.quantize(_model(), X, inputs_as="u8", outputs_as="i8", **_coarse())
    found = qmlir.compare(quantized, data=X, labels=LABELS)
    assert found.accuracy is not None
    assert found.accuracy.reference == 0.75
    ports = {each["name"]: each for each in quantized.summary().to_dict()["ports"]}
    stored = np.clip(np.rint(X / np.float32(ports["x"]["scale"])) + ports["x"]["zero_point"], 0, 255).astype(np.uint8)
    assert found.accuracy.candidate == _expected(quantized, stored, LABELS)
    assert "top-1 accuracy: 75.0% reference, " in str(found)
    assert qmlir.compare(quantized, data=X).accuracy is None


def test_the_commands(tmp_path: Path) -> None:
    onnx.save(_model(), tmp_path / "net.onnx")
    np.savez(tmp_path / "samples.npz", x=X, label=LABELS)
    np.save(tmp_path / "labels.npy", LABELS)
    data, out = str(tmp_path / "samples.npz"), str(tmp_path / "out")
    words = ["--data", data, "--labels", f"label={data}"]
    done = run_command(["qmlir", "quantize", str(tmp_path / "net.onnx"), *words, "-o", out], "")
    assert (done.code, done.stderr) == (0, "")  # no warning about the array of labels
    assert "top-1 accuracy: 75.0% in float, " in done.stdout
    summary = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    assert summary["accuracy"]["reference"] == 0.75
    words = ["--data", data, "--labels", str(tmp_path / "labels.npy"), "--json"]
    done = run_command(["qmlir", "compare", out, *words], "")
    assert json.loads(done.stdout)["accuracy"] == summary["accuracy"]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (LABELS[:7], r"expected one label per sample \(40\), but got 7"),
        (LABELS.astype(np.float32), "labels must be integers, one per sample, but got float32"),
        (True, r"labels=True requires pairs \(inputs, labels\)"),
    ],
)
def test_messages(labels: Any, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They come before any work."""
    monkeypatch.setattr(quantizing, "profile_of", None)
    with pytest.raises(DiagnosticError, match=message):
        qmlir.quantize(_model(), X, labels=labels, **_coarse())


def test_labels_without_samples() -> None:
    with pytest.raises(DiagnosticError, match="labels require samples; pass --data"):
        qmlir.quantize(_model(), labels=LABELS)
