"""Models that ONNX Runtime saved after its optimizations: fused layers and layouts are imported, islands keep sizes.

Floats are compared with ONNX Runtime without optimizations, integers with it for equality: both factors of a product
are u8, which saturates on no CPU.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, parser

import qmlir
from qmlir.dialects.nn.island.ops import OnnxIslandOp
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, diagnostic_handler
from qmlir.targets.runtimes.onnx_runtime import OrtOptions, OrtSession
from tests.support.nets import Net, node_model

onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install -e '.[peers]'")

Array = np.ndarray[Any, np.dtype[Any]]
LEVELS = ("ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_LAYOUT", "ORT_ENABLE_ALL")
RNG = np.random.default_rng(0)


def _normal(*shape: int) -> Array:
    return RNG.normal(size=shape).astype(np.float32)


def _saved(model: ModelProto, level: str, path: Path) -> ModelProto:
    """`model` as ONNX Runtime saves it after the optimizations of a level."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    options.optimized_model_filepath = str(path / "saved.onnx")
    onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return onnx.load(path / "saved.onnx")


def _loaded(model: ModelProto) -> tuple[Any, list[OnnxIslandOp], list[Diagnostic]]:
    said: list[Diagnostic] = []
    with diagnostic_handler(said.append):
        module = qmlir.load(model)
    return module, [op for op in module.walk() if isinstance(op, OnnxIslandOp)], said


def _plain(model: ModelProto, feeds: dict[str, Array]) -> dict[str, Array]:
    return OrtSession(model.SerializeToString(), OrtOptions(optimization="none"))(feeds)


def _conv(net: Net, data: str, outputs: int, inputs: int, *, groups: int = 1, size: int = 3, stride: int = 1) -> str:
    weights = net.constant(_normal(outputs, inputs // groups, size, size) / 3), net.constant(_normal(outputs))
    pads = [size // 2] * 4
    return net.node("Conv", data, *weights, pads=pads, group=groups, strides=[stride] * 2)


def _convolutions(batch: int | str) -> Net:
    """Every activation that ONNX Runtime fuses into a convolution, a sum, pools and a gap between two of its layers."""
    net = Net(opset=17)
    value = net.node("Relu", _conv(net, net.input(_normal(2, 3, 9, 9), [batch, 3, 9, 9]), 8, 3))
    value = net.node("LeakyRelu", _conv(net, value, 8, 8, groups=8, stride=2), alpha=0.2)
    value = net.node("HardSigmoid", _conv(net, value, 16, 8, size=1), alpha=0.25, beta=0.4)
    value = net.node("Neg", value)
    limits = net.constant(np.float32(-1)), net.constant(np.float32(6))
    value = skip = net.node("Clip", _conv(net, value, 16, 16, size=1), *limits)
    value = net.node("Sigmoid", _conv(net, value, 16, 16, size=1))
    value = net.node("Relu", net.node("Add", _conv(net, value, 16, 16, size=1), skip))
    value = net.node("Tanh", _conv(net, net.node("MaxPool", value, kernel_shape=[2, 2]), 16, 16, size=1))
    value = net.node("Flatten", net.node("GlobalAveragePool", value))
    for activation in ("Relu", "Elu", "Selu", "Softsign", "Softplus", "ThresholdedRelu", "HardSigmoid", "LeakyRelu"):
        layer = net.node("Gemm", value, net.constant(_normal(16, 16) / 4), net.constant(_normal(16)), transB=1)
        value = net.node(activation, layer)
    net.node("Softmax", value)
    return net


def _quantized() -> Net:
    """A convolutional network on u8 between casts, with branches, pools and a product."""
    net = Net(opset=17)
    zero = net.constant(np.uint8(128))

    def cast(value: str, scale: float) -> str:
        scaled = net.constant(np.float32(scale)), zero
        return net.node("DequantizeLinear", net.node("QuantizeLinear", value, *scaled), *scaled)

    def constant(*shape: int) -> str:
        integers = net.constant(RNG.integers(0, 256, shape).astype(np.uint8))
        return net.node("DequantizeLinear", integers, net.constant(np.float32(1 / 512)), zero)

    def conv(data: str, scale: float, *shape: int, **attributes: Any) -> str:
        return cast(net.node("Conv", data, constant(*shape), **attributes), scale)

    first = conv(cast(net.input(_normal(1, 8, 8, 8)), 1 / 32), 1 / 16, 16, 8, 3, 3, pads=[1] * 4)
    second = conv(first, 1 / 16, 16, 1, 3, 3, group=16, auto_pad="SAME_UPPER")
    total = cast(net.node("Add", second, first), 1 / 12)
    total = cast(net.node("Mul", total, cast(net.node("Sigmoid", first), 1 / 256)), 1 / 12)
    joined = cast(net.node("Concat", total, first, axis=1), 1 / 12)
    pooled = cast(net.node("AveragePool", joined, kernel_shape=[2, 2], strides=[1, 1], auto_pad="SAME_LOWER"), 1 / 12)
    pooled = cast(net.node("MaxPool", pooled, kernel_shape=[2, 2], strides=[2, 2]), 1 / 12)
    last = cast(net.node("LeakyRelu", conv(pooled, 1 / 8, 16, 32, 1, 1), alpha=0.1), 1 / 8)
    flat = cast(net.node("Flatten", cast(net.node("GlobalAveragePool", last), 1 / 16)), 1 / 16)
    cast(net.node("MatMul", flat, constant(16, 10)), 1 / 32)
    return net


NETS: dict[str, Callable[[], Net]] = {
    "fixed": partial(_convolutions, 2),
    "open": partial(_convolutions, "batch"),
    "quantized": _quantized,
}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", NETS)
def test_saved_models_give_the_numbers_of_onnx_runtime(name: str, level: str, tmp_path: Path) -> None:
    net = NETS[name]()
    model = net.model(net.nodes[-1].output[0])
    saved = _saved(model, level, tmp_path)
    module, found, said = _loaded(saved)
    is_blocked = any(node.domain == "com.microsoft.nchwc" for node in saved.graph.node)
    assert bool(found) == is_blocked
    assert all("ORT_ENABLE_EXTENDED or lower" in each.message for each in said)
    assert all(size > 0 for op in found for size in shape_of(op.results[0])[1:])
    ((output, result),) = qmlir.interpret(module, net.feeds).items()
    expected = _plain(saved, net.feeds)[output]
    if name == "quantized" and level != "ORT_ENABLE_BASIC":  # below, ONNX Runtime itself adds floats between casts
        np.testing.assert_array_equal(result, expected)
    else:
        np.testing.assert_allclose(result, expected, atol=1 / 32 if name == "quantized" else 1e-5)


def _layer(op_type: str, inputs: Sequence[Array | None], **attributes: Any) -> Array:
    model = node_model(op_type, inputs, ["y"], 17, domain="com.microsoft", **attributes)
    values = {f"i{position}": each for position, each in enumerate(inputs) if each is not None}
    return qmlir.interpret(qmlir.load(model, fallback=False), values)["y"]


DATA, WEIGHT, BIAS = _normal(2, 5), _normal(5, 4), _normal(4)
SUMS = DATA @ WEIGHT + BIAS
FORMULAS: dict[str, tuple[list[float], Callable[[Array], Array]]] = {
    "Relu": ([], lambda x: np.maximum(x, 0)),
    "Silu": ([], lambda x: x / (1 + np.exp(-x))),
    "Tanh": ([], np.tanh),
    "Sigmoid": ([], lambda x: 1 / (1 + np.exp(-x))),
    "LeakyRelu": ([0.3], lambda x: np.where(x < 0, 0.3 * x, x)),
    "Clip": ([-0.5, 0.75], lambda x: np.clip(x, -0.5, 0.75)),
    "HardSigmoid": ([0.25, 0.4], lambda x: np.clip(0.25 * x + 0.4, 0, 1)),
}


@pytest.mark.parametrize("is_last", [False, True], ids=["FusedConv", "NhwcFusedConv"])
@pytest.mark.parametrize("activation", FORMULAS)
def test_fused_convolutions_by_formula(activation: str, is_last: bool) -> None:
    numbers, function = FORMULAS[activation]
    added = _normal(2, 4)
    shape = [1, 1] if is_last else [1]
    values = [each[:, None, None] if is_last else each[:, :, None] for each in (DATA, added)]
    weights = WEIGHT.T.reshape(4, 5, *shape)
    attributes = {"activation": activation, "activation_params": numbers} if numbers else {"activation": activation}
    op_type = "NhwcFusedConv" if is_last else "FusedConv"
    found = _layer(op_type, [values[0], weights, BIAS, values[1]], **attributes)
    expected = function(SUMS + added)
    np.testing.assert_allclose(
        found, expected[:, None, None] if is_last else expected[:, :, None], rtol=1e-5, atol=1e-6
    )


def test_fused_gemm_by_formula() -> None:
    scales = {"alpha": 0.5, "beta": 2.0, "transA": 1, "activation": "HardSigmoid"}
    numbers = {"activation_alpha": 0.25, "activation_beta": 0.4}
    found = _layer("FusedGemm", [np.ascontiguousarray(DATA.T), WEIGHT, BIAS], **scales, **numbers)
    expected = np.clip(0.25 * (0.5 * (DATA @ WEIGHT) + 2 * BIAS) + 0.4, 0, 1)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"activation": "Erf"}, "activation must be one of Celu, Clip, .*, but got 'Erf'"),
        (
            {"activation": "Clip", "activation_params": [0.0]},
            "must have 2 numbers for Clip, but got 1",
        ),
    ],
)
def test_wrong_activations(attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(DiagnosticError, match=message):
        _layer("FusedConv", [DATA[:, :, None], WEIGHT.T[:, :, None]], **attributes)


ISLANDS = """
    <ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
    chain (float[batch, 3, 3] x) => (float[n, m, k] y)
    {
      i = com.microsoft.Inverse (x)
      n = Neg (i)
      y = com.microsoft.Trilu <upper = 0> (n)
    }
    """
"""Two operators that nothing imports, whose types ONNX Runtime alone infers, and something between them."""


def test_islands_have_the_sizes_that_onnx_runtime_infers() -> None:
    module, found, _ = _loaded(parser.parse_model(ISLANDS))
    assert [shape_of(op.results[0])[1:] for op in found] == [(3, 3), (3, 3)]
    x = _normal(5, 3, 3)
    expected = np.tril(-np.linalg.inv(x.astype(np.float64)))
    np.testing.assert_allclose(qmlir.interpret(module, {"x": x})["y"], expected, rtol=1e-3, atol=1e-4)


def test_an_operator_of_other_devices_is_refused_with_advice() -> None:
    node = helper.make_node("BiasAdd", ["x", "b", "s"], ["y"], "add", domain="com.microsoft")
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3, 4]) for name in ("x", "s", "y")]
    bias = onnx.numpy_helper.from_array(_normal(4), "b")
    graph = helper.make_graph([node], "net", infos[:2], infos[2:], [bias])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    with pytest.raises(DiagnosticError, match=r"BiasAdd node 'add': .*; help: save the model with .*ORT_ENABLE_BASIC"):
        qmlir.load(helper.make_model(graph, opset_imports=opsets, ir_version=8))
