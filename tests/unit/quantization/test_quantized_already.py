"""Models that are quantized in part: weights keep their integers in any spelling, dynamic scales stay exact."""

from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper, numpy_helper

import qmlir
from qmlir.ir.diagnostics import diagnostic_handler

RANDOM = np.random.default_rng(0)


def _model(nodes: list[Any], codes: np.ndarray, scales: np.ndarray, points: np.ndarray) -> onnx.ModelProto:
    held = {"q": codes, "s": scales, "z": points, "row": scales.reshape(1, -1), "points": points.reshape(1, -1)}
    graph = helper.make_graph(
        [*nodes, helper.make_node("MatMul", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 32])],
        [numpy_helper.from_array(array, name) for name, array in held.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _cast(name: str) -> Any:
    return helper.make_node("Cast", [name], [f"{name}_f"], to=TensorProto.FLOAT)


SPELLINGS = {
    "product": [_cast("q"), helper.make_node("Mul", ["q_f", "row"], ["w"])],
    "factor first": [_cast("q"), helper.make_node("Mul", ["row", "q_f"], ["w"])],
    "zero point": [
        _cast("q"), _cast("points"), helper.make_node("Sub", ["q_f", "points_f"], ["d"]),
        helper.make_node("Mul", ["d", "row"], ["w"]),
    ],
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_weights_keep_their_integers(spelling: str, dtype: Any) -> None:
    """As in a DequantizeLinear, which says the same of the weights."""
    limits = np.iinfo(dtype)
    codes = RANDOM.integers(limits.min, limits.max + 1, (64, 32)).astype(dtype)
    scales = np.exp(RANDOM.normal(-4, 1.5, 32)).astype(np.float32)
    points = RANDOM.integers(limits.min, limits.max + 1, 32).astype(dtype) if spelling == "zero point" else dtype(0)
    points = np.broadcast_to(points, 32).astype(dtype)
    standard = [helper.make_node("DequantizeLinear", ["q", "s", "z"], ["w"], axis=1)]
    samples = [{"x": RANDOM.normal(size=(4, 64)).astype(np.float32)} for _ in range(4)]
    found, wanted = (
        qmlir.quantize(qmlir.load(_model(nodes, codes, scales, points)), samples, validate=False).module
        for nodes in (SPELLINGS[spelling], standard)
    )
    for sample in samples:
        assert np.array_equal(qmlir.interpret(found, sample)["y"], qmlir.interpret(wanted, sample)["y"])


def test_a_dynamic_scale_stays_exact_and_is_named() -> None:
    model = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 17]>
        g (float[4, 8] x) => (float[4, 3] y, float[4, 3] product)
        <int8[8, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6}, float ws = {0.5}> {
            q, s, z = DynamicQuantizeLinear (x)
            a = MatMulInteger (q, w, z)
            f = Cast <to = 1> (a)
            t = Mul (s, ws)
            product = Mul (f, t)
            y = Relu (product)
        }""")
    module, samples = qmlir.load(model), {"x": RANDOM.normal(size=(8, 4, 8)).astype(np.float32)}
    said: list[str] = []
    with diagnostic_handler(lambda each: said.append(each.message)):
        quantized = qmlir.quantize(module, samples, validate=False).module
    assert [text for text in said if "quantized already, dynamically in 1 place (the first: " in text]
    sample = {"x": samples["x"][0]}
    wanted, found = (qmlir.interpret(each, sample)["product"] for each in (module, quantized))
    assert np.array_equal(wanted, found)
