"""Export to QONNX: models that read back as the module, and messages about what QONNX cannot express."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.ir.diagnostics import DiagnosticError
from tests.support.commands import run_command
from tests.support.nets import Net

FLOAT = np.float32
DATA = np.random.default_rng(0).normal(size=(32, 2, 6, 6)).astype(FLOAT)


def _network() -> onnx.ModelProto:
    """A convolution, a pooling, a residual sum, and a layer."""
    net, rng = Net(), np.random.default_rng(1)
    x = net.input(DATA, ["batch", 2, 6, 6])
    weights = [net.constant(rng.normal(size=shape).astype(FLOAT)) for shape in ((4, 2, 3, 3), (4, 4, 1, 1), (16, 5))]
    bias = net.constant(rng.normal(size=4).astype(FLOAT))
    first = net.node("Relu", net.node("Conv", x, weights[0], bias, kernel_shape=[3, 3]))
    second = net.node("Add", net.node("Conv", first, weights[1], kernel_shape=[1, 1]), first)
    pooled = net.node("MaxPool", second, kernel_shape=[2, 2], strides=[2, 2])
    return net.model(net.node("MatMul", net.node("Flatten", pooled), weights[2]))


def _operations(module: ModuleOp) -> list[tuple[str, list[str]]]:
    """The operations with the types of their operands and results."""
    return [
        (op.name, [str(value.type) for value in (*op.operands, *op.results)])
        for op in module.walk()
        if op.name.startswith(("nn.", "quant."))
    ]


@pytest.mark.parametrize("weights", ["i8", "i4", "i2"])
@pytest.mark.parametrize("activations", ["i8", "i4"])
def test_reads_back_as_the_module(weights: str, activations: str) -> None:
    options: dict[str, Any] = {"scheme": "symmetric", "weights": weights, "activations": activations}
    module = qmlir.quantize(_network(), DATA, **options).module
    model = qmlir.export_qonnx(module)
    assert {node.op_type for node in model.graph.node} == {
        "Quant",
        "Conv",
        "Relu",
        "Add",
        "MaxPool",
        "Reshape",
        "MatMul",
    }
    assert not [
        node for node in model.graph.node if node.op_type == "Quant" and node.domain != "qonnx.custom_op.general"
    ]
    found = qmlir.load(model)
    assert sorted(_operations(found)) == sorted(_operations(module))
    results = (list(qmlir.interpret(each, {"x0": DATA}).values()) for each in (found, module))
    for own, expected in zip(*results, strict=True):
        np.testing.assert_array_equal(own, expected)


def test_a_zero_point_of_an_input_is_added_before_rounding() -> None:
    """The integers behind the input's quantizer have their type; the quantizer itself rounds as QONNX does."""
    module = qmlir.quantize(_network(), DATA, scheme="asymmetric").module
    found = _operations(qmlir.load(qmlir.export_qonnx(module)))
    expected = _operations(module)
    assert [each for each in found if each[0] == "nn.conv"] == [each for each in expected if each[0] == "nn.conv"]
    assert any(name == "quant.scast" for name, *_ in found)
    assert not any(name == "quant.qcast" for name, *_ in found)


def test_command(tmp_path: Path) -> None:
    qmlir.quantize(_network(), DATA, scheme="symmetric").save(tmp_path / "out")
    result = run_command(
        ["qmlir", "export", str(tmp_path / "out"), "--format", "qonnx", "-o", f"{tmp_path}/q.onnx"], ""
    )
    assert (result.code, result.stderr) == (0, "")
    assert {node.op_type for node in onnx.load(tmp_path / "q.onnx").graph.node} >= {"Quant", "Conv"}


def test_rejects_by_name(tmp_path: Path) -> None:
    text = """
      func.func @main(%x: tensor<2x4xi8>) -> tensor<2x4xf32> {
        %0 = quant.scast %x {origin = "held"} : tensor<2x4xi8> to tensor<2x4x!quant.uniform<i8:f32, 0.5>>
        %1 = quant.dcast %0 : tensor<2x4x!quant.uniform<i8:f32, 0.5>> to tensor<2x4xf32>
        func.return %1 : tensor<2x4xf32>
      }"""
    path = tmp_path / "held.mlir"
    path.write_text(text)
    with pytest.raises(DiagnosticError, match=r"held.*reads the integers of a quantized value"):
        qmlir.export_qonnx(path)
