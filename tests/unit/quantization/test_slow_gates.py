"""Recurrent layers whose gates keep a state over many steps keep it when they are quantized."""

from collections.abc import Mapping

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto, numpy_helper, parser

import qmlir
from qmlir.workflows.quantized import Quantized

Array = np.ndarray

SAMPLES, WIDTH, SIZE = 6, 3, 4


def _weights(gates: int, slow: int, bias: float, peephole: float) -> dict[str, Array]:
    """Small random weights; the gate `slow` has a `bias`, and a cell feeds back through `peephole`."""
    random = np.random.default_rng(1)
    weight, recurrence = (random.normal(0, 0.3, (1, gates * SIZE, size)) for size in (WIDTH, SIZE))
    biases = np.zeros((1, 2 * gates * SIZE))
    biases[:, slow * SIZE : (slow + 1) * SIZE] = bias
    found = {"W": weight, "R": recurrence, "B": biases, "P": np.full((1, 3 * SIZE), peephole)}
    return {name: array.astype(np.float32) for name, array in found.items()}


LAYERS: Mapping[str, tuple[str, tuple[int, int, float, float]]] = {
    "lstm": (f"y, h, c = LSTM <hidden_size = {SIZE}> (x, W, R, B)", (4, 2, 5.0, 0.0)),
    "lstm that counts": (f"y, h, c = LSTM <hidden_size = {SIZE}> (x, W, R, B)", (4, 2, 14.0, 0.0)),
    "lstm with peepholes": (f"y, h, c = LSTM <hidden_size = {SIZE}> (x, W, R, B, , , , P)", (4, 2, 5.0, -0.02)),
    "lstm that is clipped": (f"y, h, c = LSTM <hidden_size = {SIZE}, clip = 9.0> (x, W, R, B)", (4, 2, 6.0, 0.0)),
    "coupled lstm": (f"y, h, c = LSTM <hidden_size = {SIZE}, input_forget = 1> (x, W, R, B)", (4, 0, -5.0, 0.0)),
    "gru": (f"y, h = GRU <hidden_size = {SIZE}> (x, W, R, B)", (3, 0, 5.0, 0.0)),
    "linear gru": (f"y, h = GRU <hidden_size = {SIZE}, linear_before_reset = 1> (x, W, R, B)", (3, 0, 5.0, 0.0)),
}
"""A layer, and its number of gates, the place and the bias of the gate that keeps its state, and its peepholes."""


def _model(layer: str, steps: int | str, *, is_slow: bool = True) -> ModelProto:
    text, (gates, slow, bias, peephole) = LAYERS[layer]
    outputs = ", ".join(f"float[1, 1, {SIZE}] {name}" for name in ("hc" if "c =" in text else "h"))
    model = parser.parse_model(f"""
        <ir_version: 10, opset_import: ["" : 21]>
        net (float[{steps}, 1, {WIDTH}] x) => ({outputs}) {{ {text} }}""")
    weights = _weights(gates, slow, bias if is_slow else 0.0, peephole)
    names = {name for node in model.graph.node for name in node.input}
    model.graph.initializer.extend(numpy_helper.from_array(weights[name], name) for name in names & weights.keys())
    return model


def _samples(steps: int) -> Array:
    """Walks that end at different places, so that the last state tells the samples apart."""
    random = np.random.default_rng(2)
    drift = random.uniform(-1, 1, (SAMPLES, 1, 1, WIDTH))
    return (drift + random.normal(0, 0.5, (SAMPLES, steps, 1, WIDTH))).astype(np.float32)


def _decibels(model: ModelProto, quantized: Quantized, samples: Array) -> float:
    """The ratio of what differs between samples in the last state, by ONNX Runtime, to the error."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    exact = np.stack([session.run(None, {"x": each})[-1] for each in samples])
    found = np.stack([list(qmlir.interpret(quantized, {"x": each}).values())[-1] for each in samples])
    return float(10 * np.log10(np.square(exact - exact.mean(0)).sum() / np.square(exact - found).sum()))


@pytest.mark.parametrize("layer", LAYERS)
def test_a_state_that_is_kept_for_long_is_not_lost(layer: str) -> None:
    model, samples = _model(layer, "steps"), _samples(64)
    made = qmlir.quantize(model, list(samples), validate=False)
    assert made.coverage.quantized_operations
    assert _decibels(model, made, samples) > 30


@pytest.mark.parametrize("layer", ["lstm that counts", "gru"])
def test_gates_of_8_bits_lose_it(layer: str) -> None:
    model, samples = _model(layer, "steps"), _samples(64)
    rule = {"slow_gate": True, "slot": "output", "storage": "i8"}
    assert _decibels(model, qmlir.quantize(model, list(samples), validate=False, recipe=[rule]), samples) < 25


def test_an_unrolled_layer_is_treated_alike() -> None:
    model, samples = _model("gru", 40), _samples(40)
    made = qmlir.quantize(model, list(samples), validate=False)
    assert "keep a state" in made.text()
    assert _decibels(model, made, samples) > 30


def test_gates_have_8_bits_if_that_loses_little() -> None:
    made = qmlir.quantize(_model("lstm", "steps", is_slow=False), list(_samples(8)), validate=False)
    assert "keep a state" not in made.text()
