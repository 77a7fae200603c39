"""The setting `activations="dynamic"`: which operations it changes, what it refuses, and what it says."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

import qmlir
from qmlir.dialects.nn.dynamic.ops import DynamicQuantizeOp
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.workflows.quantized import Quantized
from tests.support.nets import Net

RNG = np.random.default_rng(0)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def two_layers() -> tuple[ModelProto, dict[str, np.ndarray]]:
    """A convolution, and a product of its rows."""
    net = Net()
    convolved = net.node("Conv", net.input(floats(1, 2, 4, 6)), net.constant(floats(3, 2, 1, 1)))
    product = net.node("MatMul", net.node("Relu", convolved), net.constant(floats(6, 5)))
    return net.model(product), net.feeds


def forms(quantized: Quantized) -> list[tuple[str, str, Any]]:
    ops = [op for op in quantized.module.walk() if isinstance(op, DynamicQuantizeOp)]
    return [(op.storage.data, op.scheme.data, op.integers("axes")) for op in ops]


@pytest.mark.parametrize(
    ("settings", "rows", "storage"),
    [
        ({"activations": "dynamic"}, (-1,), "u8"),
        ({"activations": "dynamic:row"}, (-1,), "u8"),
        ({"activations": "dynamic:tensor"}, None, "u8"),
        ({"activations": "dynamic", "scheme": "symmetric"}, (-1,), "i8"),
        ({"recipe": {"rule": [{"storage": "dynamic", "slot": "input"}]}}, (-1,), "u8"),
    ],
)
def test_rows_of_products_and_whole_images(settings: Any, rows: Any, storage: str) -> None:
    model, inputs = two_layers()
    quantized = qmlir.quantize(model, **settings)
    scheme = settings.get("scheme", "asymmetric")
    assert forms(quantized) == [(storage, scheme, None), (storage, scheme, rows)]
    assert "2 contractions of data that is quantized at run time" in str(quantized)
    assert "samples: not needed" in str(quantized)
    (wanted,), (found,) = (qmlir.interpret(each, inputs).values() for each in (qmlir.load(model), quantized.module))
    assert 0 < np.abs(wanted - found).max() < 0.05 * np.abs(wanted).max()


def test_a_rule_for_one_operation() -> None:
    model, inputs = two_layers()
    rule = {"op": "MatMul", "slot": "input", "storage": "dynamic"}
    with pytest.raises(DiagnosticError, match="no calibration data"):
        qmlir.quantize(model, recipe={"rule": [{**rule, "op": "matmul"}]})
    quantized = qmlir.quantize(model, [inputs], recipe={"rule": [{**rule, "op": "matmul"}]}, validate=False)
    assert forms(quantized) == [("u8", "asymmetric", (-1,))]
    assert {row.elements for row in quantized.coverage.rows if row.multiply_adds} == {"i8 x i8", "u8 x i8"}


def test_a_long_lstm_is_a_whole_layer() -> None:
    net = Net()
    operands = net.input(floats(12, 1, 3)), *(net.constant(floats(1, 8, width)) for width in (3, 2))
    model = net.model(net.node("LSTM", *operands, hidden_size=2))
    quantized = qmlir.quantize(model, activations="dynamic")
    assert [op.name for op in quantized.module.walk() if "lstm" in op.name] == ["nn.dynamic_lstm"]
    assert quantized.coverage.integer_share == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"activations": "dynamic:batch"}, "'dynamic' (per row) or 'dynamic:tensor', but got 'dynamic:batch'"),
        ({"activations": "dynamic", "scheme": "symmetric_pow2"}, "require scheme asymmetric or symmetric, but got sym"),
        ({"activations": "dynamic", "assert_all_quantized": True}, "contradicts activations=dynamic"),
        ({"recipe": {"rule": [{"storage": "dynamic", "slot": "output"}]}}, "dynamic is only for slot 'input'"),
        ({"weights": "dynamic"}, "dynamic is only for slot 'input', but got 'weight'"),
    ],
)
def test_refused(settings: Any, message: str) -> None:
    with pytest.raises(DiagnosticError) as error:
        qmlir.quantize(two_layers()[0], **settings)
    assert message in str(error.value)


def test_block_wise_weights_keep_float_data(caplog: pytest.LogCaptureFixture) -> None:
    net = Net()
    model = net.model(net.node("MatMul", net.input(floats(2, 4)), net.constant(floats(4, 3))))
    quantized = qmlir.quantize(model, activations="dynamic", granularity="block:2")
    assert forms(quantized) == []
    assert "dynamic activations have no effect" in caplog.text


def test_the_export_has_the_operators_of_onnx_and_comes_back() -> None:
    """As in models of ONNX Runtime's quantize_dynamic: integer operators with both zero points, and two scales."""
    net = Net()
    convolved = net.node("Conv", net.input(floats(1, 2, 4, 6)), net.constant(floats(3, 2, 3, 3)), pads=[1, 0, 2, 1])
    model = net.model(net.node("MatMul", convolved, net.constant(floats(5, 5))))
    module = qmlir.quantize(model, activations="dynamic:tensor").module
    exported = qmlir.export_onnx(module)
    scaled = ["Mul", "Cast", "Mul"]
    wanted = ["DynamicQuantizeLinear", "ConvInteger", *scaled, "DynamicQuantizeLinear", "MatMulInteger", *scaled]
    assert [node.op_type for node in exported.graph.node] == wanted
    assert str(qmlir.load(exported)) == str(module)
    del exported.metadata_props[:]  # with the text of the module
    again = qmlir.load(exported)
    assert [node.op_type for node in qmlir.export_onnx(again).graph.node] == wanted
    (one,), (other,) = (qmlir.interpret(each, net.feeds).values() for each in (module, again))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("activations", ["dynamic", "dynamic:tensor"])
def test_the_recipe_that_is_saved_does_the_same(tmp_path: Path, activations: str) -> None:
    quantized = qmlir.quantize(two_layers()[0], activations=activations, scheme="symmetric")
    quantized.save(tmp_path)
    again = qmlir.quantize(two_layers()[0], recipe=tmp_path / "recipe.toml")
    assert forms(again) == forms(quantized)
