"""Floats of 8 bits against ONNX Runtime: casts, quantization, dequantization; every code, values of every size.

Without saturation ONNX Runtime differs from ONNX's table and reference between the largest value and the next power of
two: 490 is 448 as f8E4M3FN, where `[x] > FLT_MAX` gives NaN, and 62000 is NaN as f8E5M2, where it gives infinity.
"""

from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from onnx import ModelProto, TensorProto, helper

import qmlir

KINDS = ("FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ")


BEYOND = {"FLOAT8E4M3FN": (464, 512), "FLOAT8E5M2": (61440, 65536)}
"""Where it differs, without saturation: from what is rounded beyond the range, to the next power of two."""


def _reals() -> np.ndarray[Any, Any]:
    bits = np.random.default_rng(0).integers(0, 1 << 32, 20000, dtype=np.uint32)
    near = np.random.default_rng(1).standard_normal(20000).astype(np.float32)
    wide = bits.view(np.float32)
    return np.concatenate([wide[np.isfinite(wide)], near, 100 * near, np.float32([np.inf, -np.inf, 0, -0.0])])


def _model(operator: str, kind: int, values: int, to_float: bool, **attributes: Any) -> ModelProto:
    """Floats to small ones and back, or small floats, given as their bits of which there is no array, to floats."""
    given = np.arange(256, dtype=np.uint8)
    parameters = [] if operator == "Cast" else ["s", "z"]
    initializers = [helper.make_tensor("s", TensorProto.FLOAT, [], [0.3]), helper.make_tensor("z", kind, [], [0.0])]
    if to_float:
        initializers.append(helper.make_tensor("x", kind, [given.size], given.tobytes(), raw=True))
        nodes = [helper.make_node(operator, ["x", *parameters], ["y"], **attributes)]
    else:
        nodes = [
            helper.make_node(operator, ["x", *parameters], ["q"], **attributes),
            helper.make_node("Cast", ["q"], ["y"], to=TensorProto.FLOAT),
        ]
    graph = helper.make_graph(
        nodes,
        "g",
        [] if to_float else [helper.make_tensor_value_info("x", TensorProto.FLOAT, [values])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [given.size if to_float else values])],
        initializers,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def _compare(model: ModelProto, inputs: dict[str, Any]) -> None:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    (wanted,) = session.run(None, inputs)
    found = qmlir.interpret(qmlir.load(model), inputs)["y"]
    np.testing.assert_array_equal(found, wanted)
    is_number = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found)[is_number], np.signbit(wanted)[is_number])


@pytest.mark.parametrize("saturate", [1, 0])
@pytest.mark.parametrize("operator", ["Cast", "QuantizeLinear"])
@pytest.mark.parametrize("kind", KINDS)
def test_written(kind: str, operator: str, saturate: int) -> None:
    number, x = TensorProto.DataType.Value(kind), _reals()
    attributes = {"to": number} if operator == "Cast" else {}
    if not saturate and kind in BEYOND:
        low, high = BEYOND[kind]
        magnitude = np.abs(x if operator == "Cast" else x.astype(np.float64) / np.float32(0.3))
        x = x[(magnitude <= low) | (magnitude >= high)]
    _compare(_model(operator, number, x.size, to_float=False, saturate=saturate, **attributes), {"x": x})


@pytest.mark.parametrize("operator", ["Cast", "DequantizeLinear"])
@pytest.mark.parametrize("kind", KINDS)
def test_read(kind: str, operator: str) -> None:
    number = TensorProto.DataType.Value(kind)
    attributes = {"to": TensorProto.FLOAT} if operator == "Cast" else {}
    _compare(_model(operator, number, 256, to_float=True, **attributes), {})
