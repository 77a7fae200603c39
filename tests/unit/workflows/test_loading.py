"""ONNX models that come quantized between casts: what `load` makes of them."""

from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.ir.diagnostics import DiagnosticError
from tests.support.nets import Net

STEP = np.float32(0.05)


def _real(net: Net, name: str, scale: float = STEP) -> str:
    """A value between casts."""
    parameters = net.constant(np.float32(scale)), net.constant(np.uint8(128))
    return net.node("DequantizeLinear", net.node("QuantizeLinear", name, *parameters), *parameters)


def _conv(net: Net, x: str, inputs: int, outputs: int, size: int = 1, groups: int = 1) -> str:
    """A convolution with integer weights, and the bias in float as some quantizers leave it."""
    rng = np.random.default_rng(len(net.nodes))
    stored = net.constant(rng.integers(-127, 128, (outputs, inputs // groups, size, size)).astype(np.int8))
    scales = net.constant(rng.uniform(0.001, 0.01, outputs).astype(np.float32))
    weights = net.node("DequantizeLinear", stored, scales, net.constant(np.zeros(outputs, np.int8)), axis=0)
    bias = net.constant(rng.uniform(-1, 1, outputs).astype(np.float32))
    return net.node("Conv", x, weights, bias, group=groups, pads=[size // 2] * 4)


def _bottleneck() -> tuple[Net, ModelProto]:
    """A block of MobileNetV2: expanded, filtered by channel, projected, added to what came in."""
    net = Net()
    x = _real(net, net.input(np.random.default_rng(0).uniform(-2, 2, (1, 4, 6, 6)).astype(np.float32)))
    limits = net.constant(np.float32(0)), net.constant(np.float32(6))
    wide = _real(net, net.node("Clip", _conv(net, x, 4, 12), *limits))
    wide = _real(net, net.node("Relu", _conv(net, wide, 12, 12, 3, 12)))
    narrow = _real(net, _conv(net, wide, 12, 4))
    return net, net.model(_real(net, net.node("Add", x, narrow)))


def _counts(module: ModuleOp) -> Counter[str]:
    return Counter(op.name for op in module.walk())


def test_a_layer_is_one_operation_with_one_requantization() -> None:
    net, model = _bottleneck()
    raised, kept = qmlir.load(model), qmlir.load(model, keep_casts=True)
    counts = _counts(raised)
    assert (counts["quant.qcast"], counts["quant.dcast"]) == (1, 1), "of the input and of the output"
    assert (counts["nn.conv"], counts["nn.add"], counts["nn.clip"], counts["nn.relu"]) == (3, 1, 1, 1)
    for op in raised.walk():
        if op.name in ("nn.clip", "nn.relu"):
            assert op.operands[0].type == op.results[0].type, "only limits: nothing is rescaled"
    assert _counts(kept)["quant.qcast"] == 5
    (found,), (floats,) = (list(qmlir.interpret(each, net.feeds).values()) for each in (raised, kept))
    assert np.abs(found - floats).max() <= 2 * STEP * (1 + 1e-6)
    assert np.mean(found != floats) < 0.05


def test_what_we_exported_comes_back_as_it_was(tmp_path: Path) -> None:
    module = qmlir.load(_bottleneck()[1], keep_casts=True)
    qmlir.export_onnx(module, tmp_path / "model.onnx")
    assert str(qmlir.load(tmp_path / "model.onnx")) == str(module)
    onnx.checker.check_model(str(tmp_path / "model.onnx"))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("graph.pb", "tf2onnx"), ("weights.safetensors", "it holds weights alone"), ("forest.joblib", "skl2onnx"),
        ("forest.pkl", "skl2onnx"), ("net.pt", "torch.export.save"), ("net.h5", "tf2onnx"),
        ("x.npz", "the model first"),
    ],
)  # fmt: skip
def test_files_of_other_tools_are_told_what_to_do(name: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(bytes(range(256)))
    with pytest.raises(
        DiagnosticError,
        match=rf"cannot read '.*{name}': expected a \.onnx(, \.\w+)* or \.mlir file; help: .*{message}",
    ):
        qmlir.load(tmp_path / name)


def test_what_torch_exports_is_a_model() -> None:
    net = Net()
    model = net.model(net.node("Relu", net.input(np.ones(3, np.float32))))

    class ONNXProgram:
        """As `torch.onnx.export(..., dynamo=True)` returns it."""

        model_proto = model

        def __call__(self) -> None: ...

    assert str(qmlir.load(ONNXProgram())) == str(qmlir.load(model))
