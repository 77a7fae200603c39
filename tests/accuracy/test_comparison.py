"""Trained models compared layer by layer: with ONNX Runtime, and with the figures of `docs/lab/accuracy.md`."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from benchmarks.accuracy import MODELS, NAMES, Digits, measure_layers
from qmlir.workflows.comparison.compare import Comparison

pytestmark = pytest.mark.skipif(not MODELS.is_dir(), reason="the trained models are not here")

DOCUMENT = Path(__file__).parents[2] / "docs" / "lab" / "accuracy.md"


@cache
def digits(name: str) -> Digits:
    return Digits.of(name)


@cache
def quantized_cnn() -> tuple[Digits, ModuleOp]:
    model = Digits.of("digits_cnn", samples=32)  # what counts is that two comparisons agree
    return model, model.quantized()


@pytest.mark.parametrize("name", NAMES)
def test_the_float_model_is_onnx_runtime_s_in_every_tensor(name: str) -> None:
    pytest.importorskip("onnxruntime")
    model = digits(name)
    found = qmlir.compare(f"onnxruntime:{model.path}", model.module, iter([{"input": model.test}]), samples=10)
    assert found.unmatched == ()
    assert found.first_below(110) is None
    assert found.outputs[0].top1_agreement == 1.0
    assert len(found.values) >= 5


@cache
def against_onnx_runtime() -> Comparison:
    model, quantized = quantized_cnn()
    return qmlir.compare(f"onnxruntime:{model.path}", quantized, iter([{"input": model.test}]), samples=20)


def test_a_quantized_model_against_onnx_runtime_is_as_far_as_against_the_float_model() -> None:
    pytest.importorskip("onnxruntime")
    model, quantized = quantized_cnn()
    ours = qmlir.compare(model.module, quantized, iter([{"input": model.test}]), samples=20)
    assert [each.key for each in ours.values] == [each.key for each in against_onnx_runtime().values]
    for one, other in zip(ours.values, against_onnx_runtime().values, strict=True):
        assert one.sqnr_db == pytest.approx(other.sqnr_db, abs=1e-3)


def test_outputs_by_numpy() -> None:
    """The ratio, the errors and the agreement of the logits, from the outputs alone."""
    model = digits("digits_mlp")
    quantized = model.quantized()
    found = qmlir.compare(model.module, quantized, {"input": model.test}, samples=100).outputs[0]
    (exact,), (near,) = (qmlir.interpret(each, [model.test[:100]]).values() for each in (model.module, quantized))
    difference = near.astype(np.float64) - exact  # batches of other sizes have float sums in another order
    assert found.sqnr_db == pytest.approx(
        10 * np.log10((exact.astype(np.float64) ** 2).sum() / (difference**2).sum()), rel=1e-4
    )
    assert found.max_error == pytest.approx(np.abs(difference).max(), rel=1e-4)
    assert found.mean_squared_error == pytest.approx((difference**2).mean(), rel=1e-4)
    assert found.top1_agreement == (exact.argmax(1) == near.argmax(1)).mean()


def test_the_table_of_layers_in_the_document() -> None:
    """The rows of the MLP: the key, how many elements, decibels and the largest error."""
    rows = re.findall(
        r"^\| `([^`]+)` \| (\d+) \| ([\d.]+) \| ([\d.]+) \| ([^|]*)\|$",
        DOCUMENT.read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    found = measure_layers(digits("digits_mlp"), "channel", "min_max").values
    assert len(rows) == len(found) == 9
    for (key, elements, decibels, largest, note), value in zip(rows, found, strict=True):
        assert (key, int(elements)) == (value.key, value.elements)
        assert float(decibels) == pytest.approx(value.sqnr_db, abs=0.051)
        assert float(largest) == pytest.approx(value.max_error, rel=1e-3)
        assert ("saturates" in note) == value.is_limited
