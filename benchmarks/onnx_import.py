"""Measures the import of a real model and its run in the interpreter: `make bench-onnx`.

The model is ResNet-50 with random weights (100 MB), batch 1 in f32; ONNX Runtime, where it is installed, runs the same
in the same process for comparison.
"""

import tempfile
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import qmlir
from benchmarks.architectures import random_inputs, with_random_weights
from benchmarks.rows import BenchRow, report
from qmlir.extensions.report.timing import median_seconds

MODEL = "resnet50"


def _peer(path: Path, inputs: Mapping[str, Any]) -> list[BenchRow]:
    """The same run by ONNX Runtime."""
    if find_spec("onnxruntime") is None:
        return []
    runtime: Any = import_module("onnxruntime")
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return [BenchRow("the same run by ONNX Runtime", median_seconds(lambda: session.run(None, dict(inputs))))]


def measure() -> list[BenchRow]:
    """Import and run the model."""
    model = with_random_weights(MODEL)
    inputs = random_inputs(model)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{MODEL}.onnx"
        path.write_bytes(model.SerializeToString())
        module = qmlir.load(path)
        size = path.stat().st_size
        return [
            BenchRow(f"{MODEL}, {size / 1e6:.0f} MB: import", median_seconds(lambda: qmlir.load(path)), 3.0),
            BenchRow(f"{MODEL}, batch 1, f32: interpret", median_seconds(lambda: qmlir.interpret(module, inputs)), 3.0),
            *_peer(path, inputs),
        ]


if __name__ == "__main__":
    report("bench-onnx", "Measures ONNX import and the interpreter.", measure)
