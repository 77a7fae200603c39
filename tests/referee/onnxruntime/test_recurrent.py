"""Recurrent layers against ONNX Runtime: every direction, layout, activation function, optional input and output."""

from typing import Any

import numpy as np
import pytest

from qmlir.dialects.nn.recurrent.ops import ACTIVATIONS
from tests.referee.onnxruntime.nodes import agree
from tests.referee.onnxruntime.quantized_sheets import needs_onnxruntime

pytestmark = needs_onnxruntime

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
FUNCTIONS = {"RNN": 1, "GRU": 2, "LSTM": 3}
OUTPUTS = {"RNN": ["y", "y_h"], "GRU": ["y", "y_h"], "LSTM": ["y", "y_h", "y_c"]}
DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}

# Six steps in f32, with sums of at most six products in another order; the activations grow at most as their argument.
BOUND = {"rtol": 2e-4, "atol": 2e-5}


def _inputs(rng: np.random.Generator, op_type: str, ways: int, *, is_full: bool) -> list[np.ndarray | None]:
    """Data, weights, and where `is_full` the optional inputs: of five sequences, one is as long as the tensor."""
    time, batch, width, hidden = 6, 5, 3, 4
    rows = GATES[op_type] * hidden

    def normal(*shape: int) -> np.ndarray:
        return rng.normal(0, 0.5, shape).astype(np.float32)

    needed = [normal(time, batch, width), normal(ways, rows, width), normal(ways, rows, hidden)]
    if not is_full:
        return list(needed)
    lengths = np.array([time, 1, 3, 5, 2], np.int32)
    states = [normal(ways, batch, hidden) for _ in OUTPUTS[op_type][1:]]
    peepholes = [normal(ways, 3 * hidden)] if op_type == "LSTM" else []
    return [*needed, normal(ways, 2 * rows), lengths, *states, *peepholes]


def _hidden(op_type: str, rng: np.random.Generator, direction: str, *, is_full: bool, **attributes: Any) -> None:
    inputs = _inputs(rng, op_type, DIRECTIONS[direction], is_full=is_full)
    agree(
        op_type,
        inputs,
        OUTPUTS[op_type],
        opset=14,
        hidden_size=4,
        direction=direction,
        **BOUND,
        **attributes,
    )


@pytest.mark.parametrize("is_full", [False, True])
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("op_type", GATES)
def test_directions(op_type: str, direction: str, is_full: bool) -> None:
    _hidden(op_type, np.random.default_rng(1), direction, is_full=is_full)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("op_type", GATES)
def test_clip(op_type: str, direction: str) -> None:
    _hidden(op_type, np.random.default_rng(2), direction, is_full=True, clip=0.3)


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("op_type", GATES)
def test_activation(op_type: str, name: str) -> None:
    """Each function in every place, with parameters small enough for a state that does not grow without end."""
    count = FUNCTIONS[op_type]
    defaults = ACTIVATIONS[name]
    parameters: dict[str, Any] = {}
    if defaults.alpha is not None:
        parameters["activation_alpha"] = [0.3] * count
    if defaults.beta is not None:
        parameters["activation_beta"] = [0.4] * count
    clip = {"clip": 0.6} if name == "Softplus" else {}
    _hidden(
        op_type,
        np.random.default_rng(3),
        "forward",
        is_full=True,
        activations=[name] * count,
        **parameters,
        **clip,
    )


@pytest.mark.parametrize("name", ["LeakyRelu", "HardSigmoid", "Elu"])
def test_default_parameters(name: str) -> None:
    """ONNX Runtime's defaults of the others are not those of ONNX's operators."""
    _hidden("RNN", np.random.default_rng(3), "forward", is_full=True, activations=[name])


@pytest.mark.parametrize("op_type", GATES)
def test_activation_parameters(op_type: str) -> None:
    """Parameters go to the functions that have some, in order, and the last ones keep their defaults."""
    names = ["HardSigmoid", "Tanh", "ScaledTanh", "HardSigmoid", "Softsign", "elu"]
    count = 2 * FUNCTIONS[op_type]
    parameters = {"activation_alpha": [0.3, 0.7, 0.2][: count - 1], "activation_beta": [0.4, 0.6][: count - 1]}
    _hidden(op_type, np.random.default_rng(4), "bidirectional", is_full=True, activations=names[:count], **parameters)


def test_lstm_coupled_gates() -> None:
    _hidden("LSTM", np.random.default_rng(5), "bidirectional", is_full=True, input_forget=1)


@pytest.mark.parametrize("is_full", [False, True])
def test_gru_linear_before_reset(is_full: bool) -> None:
    _hidden("GRU", np.random.default_rng(6), "bidirectional", is_full=is_full, linear_before_reset=1)


@pytest.mark.parametrize("op_type", GATES)
def test_some_outputs(op_type: str) -> None:
    inputs = _inputs(np.random.default_rng(7), op_type, 1, is_full=False)
    for kept in range(len(OUTPUTS[op_type])):
        outputs = [name if position == kept else "" for position, name in enumerate(OUTPUTS[op_type])]
        agree(op_type, inputs, outputs, opset=7, hidden_size=4, **BOUND)
