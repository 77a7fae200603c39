"""A network as ONNX Runtime's static quantizer writes it in operator form: its integers, interpreted and compiled.

All of the quantizer's own operators that it writes are in it. Weights of 7 bits keep the kernels of CPUs exact that add
pairs of products up in 16 bits.
"""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import qmlir
from qmlir.targets.cpu.host import host_features
from tests.support.nets import Net

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install -e '.[peers]'")

pytestmark = [
    pytest.mark.referee,
    pytest.mark.skipif("fma" not in host_features(), reason="without FMA ONNX Runtime's sums and sigmoid differ"),
]

WRITTEN = {
    "QLinearConv", "QLinearAdd", "QLinearMul", "QLinearAveragePool", "QLinearGlobalAveragePool", "QLinearConcat",
    "QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax", "QLinearWhere", "QGemm", "QLinearMatMul",
}  # fmt: skip

VARIANTS = [
    ("QUInt8", "QInt8", False), ("QUInt8", "QUInt8", False), ("QInt8", "QInt8", False), ("QUInt8", "QInt8", True),
    ("QInt8", "QInt8", True),
]  # fmt: skip
"""The types of activations and of weights, and whether each channel has a scale."""


def _network() -> onnx.ModelProto:
    rng, net = np.random.default_rng(4), Net()

    def weights(*shape: int) -> str:
        return net.constant(np.float32(rng.normal(0, 0.4, shape)))

    x = net.input(np.zeros((2, 3, 10, 10), np.float32))
    first = net.node("Relu", net.node("Conv", x, weights(8, 3, 3, 3), weights(8), pads=[1, 1, 1, 1]))
    second = net.node("Conv", first, weights(8, 8, 3, 3), weights(8), pads=[1, 1, 1, 1])
    joined = net.node("Add", second, first)
    moved = net.node("Add", weights(8, 1, 1), joined)
    pooled = net.node("AveragePool", moved, kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 0, 0])
    both = net.node("Concat", net.node("LeakyRelu", pooled, alpha=0.2), pooled, axis=1)
    gated = net.node("Mul", net.node("Sigmoid", both), both)
    flags = net.constant(rng.integers(0, 2, (16, 1, 1)) > 0)
    chosen = net.node("Where", flags, gated, both)
    mean = net.node("Flatten", net.node("GlobalAveragePool", chosen))
    dense = net.node("Gemm", mean, weights(12, 16), weights(12), transB=1)
    scores = net.node("MatMul", dense, weights(12, 5))
    model = net.model(net.node("Softmax", scores, axis=-1))
    model.opset_import[0].version = 17
    return model


def _quantized(folder: Path, activations: str, weights: str, by_channel: bool) -> onnx.ModelProto:
    from onnxruntime import quantization  # noqa: PLC0415 - absent where the referee is skipped

    class Reader(quantization.CalibrationDataReader):
        def __init__(self) -> None:
            rng = np.random.default_rng(9)
            self.samples = iter([{"x0": np.float32(rng.normal(0, 1, (2, 3, 10, 10)))} for _ in range(8)])

        def get_next(self) -> Any:
            return next(self.samples, None)

    model = _network()
    model.ir_version = 8
    onnx.save(onnx.shape_inference.infer_shapes(model), folder / "model.onnx")
    quantization.quantize_static(
        folder / "model.onnx", folder / "quantized.onnx", Reader(), quant_format=quantization.QuantFormat.QOperator,
        activation_type=quantization.QuantType[activations], weight_type=quantization.QuantType[weights],
        per_channel=by_channel, reduce_range=True, extra_options={"ForceQuantizeNoInputCheck": True},
    )  # fmt: skip
    return onnx.load(folder / "quantized.onnx")


@pytest.mark.parametrize(("activations", "weights", "by_channel"), VARIANTS)
def test_every_integer(tmp_path: Path, activations: str, weights: str, by_channel: bool) -> None:
    import onnxruntime  # noqa: PLC0415 - absent where the referee is skipped

    model = _quantized(tmp_path, activations, weights, by_channel)
    integers = [
        node.output[0] for node in model.graph.node if node.op_type in WRITTEN or node.op_type == "QuantizeLinear"
    ]
    assert {node.op_type for node in model.graph.node} >= WRITTEN
    model.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in integers)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    data = np.float32(np.random.default_rng(1).normal(0, 1, (2, 3, 10, 10)))
    names = [each.name for each in model.graph.output]
    expected = dict(zip(names, session.run(None, {"x0": data}), strict=True))
    module = qmlir.load(model)
    for found in (qmlir.interpret(module, {"x0": data}), qmlir.compile(module, codegen="llvm")({"x0": data})):
        for name, theirs in expected.items():
            np.testing.assert_array_equal(found[name].astype(theirs.dtype), theirs, err_msg=name)
