"""Quantized modules, exported to QONNX, against the executor of the project qonnx: every element equal.

Scales are powers of two, so that the executor's f32 sums are exact, and operations requantize in mode `f32`.
"""

import numpy as np
import pytest
from onnx import ModelProto

import qmlir
from tests.support.nets import Net

onnx_exec = pytest.importorskip("qonnx.core.onnx_exec", reason="qonnx is not installed: pip install -e '.[referees]'")
modelwrapper = pytest.importorskip("qonnx.core.modelwrapper")
infer_shapes = pytest.importorskip("qonnx.transformation.infer_shapes")

pytestmark = pytest.mark.referee

FLOAT = np.float32


def _network(rng: np.random.Generator, data: np.ndarray) -> ModelProto:
    """A convolution, a residual sum, a pooling, and a layer."""
    net = Net()
    weights = [net.constant(rng.normal(size=shape).astype(FLOAT)) for shape in ((4, 2, 3, 3), (4, 4, 1, 1), (16, 5))]
    first = net.node("Relu", net.node("Conv", net.input(data), weights[0], kernel_shape=[3, 3]))
    second = net.node("Add", net.node("Conv", first, weights[1], kernel_shape=[1, 1]), first)
    pooled = net.node("MaxPool", second, kernel_shape=[2, 2], strides=[2, 2])
    return net.model(net.node("MatMul", net.node("Flatten", pooled), weights[2]))


@pytest.mark.parametrize("weights", ["i8", "i4", "i2"])
@pytest.mark.parametrize("activations", ["i8", "i4"])
def test_the_executor_computes_the_outputs_of_the_module(weights: str, activations: str) -> None:
    rng = np.random.default_rng(int(weights[1]) * 10 + int(activations[1]))
    data = (rng.integers(-64, 64, (8, 2, 6, 6)) / 32).astype(FLOAT)
    scheme = {"scheme": "symmetric_pow2", "weight_scheme": "symmetric_pow2", "requantize": "f32"}
    model = _network(rng, data)
    quantized = qmlir.quantize(model, data, weights=weights, activations=activations, validate=False, **scheme)
    exported = modelwrapper.ModelWrapper(qmlir.export_qonnx(quantized)).transform(infer_shapes.InferShapes())
    found = onnx_exec.execute_onnx(exported, {"x0": data})
    (expected,) = qmlir.interpret(quantized.module, {"x0": data}).values()
    assert len(np.unique(expected)) > 3
    np.testing.assert_array_equal(next(iter(found.values())), expected)
