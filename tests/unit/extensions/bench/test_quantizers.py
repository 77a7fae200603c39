"""The forms have the types that their names say, and products that are close to those of the float model."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from qmlir.extensions.bench.peers import FORMS, is_quantized, modern, quantize
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.targets.runtimes.packages import is_installed
from tests.support.unsigned_twins import run_exactly

pytestmark = pytest.mark.skipif(not is_installed("onnxruntime"), reason="onnxruntime is not installed")

GENERATOR = np.random.default_rng(0)
WEIGHT = GENERATOR.uniform(-1, 1, (16, 8)).astype(np.float32)
SAMPLES = [{"x": GENERATOR.uniform(-1, 1, (1, 16)).astype(np.float32)} for _ in range(16)]


def product(opset: int = 17) -> onnx.ModelProto:
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["p"], "product"), helper.make_node("Sum", ["p", "p"], ["y"], "twice")],
        "product",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8])],
        [numpy_helper.from_array(WEIGHT, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


@pytest.mark.parametrize("name", [name for name in FORMS if name != "f32"])
def test_a_form_has_its_types_and_is_close(name: str, tmp_path: Path) -> None:
    source, target = tmp_path / "float.onnx", tmp_path / "quantized.onnx"
    onnx.save(product(), source)
    form = FORMS[name]
    quantize(source, target, form, SAMPLES)
    model = onnx.load(target)
    assert is_quantized(model)
    assert not is_quantized(product())
    weight_type = {"QInt8": TensorProto.INT8, "QUInt8": TensorProto.UINT8}[form.weights]
    assert weight_type in {each.data_type for each in model.graph.initializer if list(each.dims) == [16, 8]}
    found, exact = run_exactly(model, SAMPLES[0])["y"], 2 * SAMPLES[0]["x"] @ WEIGHT
    # Steps of 2/255 of data and weights in 16 products, then one of the result, each half a step off on average less.
    assert np.abs(found - exact).max() < 0.2
    assert not np.array_equal(found, exact)


def test_a_model_of_an_old_operator_set_becomes_modern() -> None:
    old = product(opset=9)
    new = modern(old)
    assert [each.version for each in old.opset_import] == [9]
    assert new.opset_import[0].version == 17
    assert [node.op_type for node in new.graph.node] == ["MatMul", "Add"]


def test_what_cannot_be_done_is_one_line(tmp_path: Path) -> None:
    source, target = tmp_path / "float.onnx", tmp_path / "quantized.onnx"
    with pytest.raises(DiagnosticError, match="the form 'f32' is the float model itself"):
        quantize(source, target, FORMS["f32"])
    with pytest.raises(DiagnosticError, match=r"ONNX Runtime has no calibrator 'gauss' \(available: min_max"):
        quantize(source, target, FORMS["u8s8"], SAMPLES, calibrator="gauss")
    onnx.save(product(), source)
    with pytest.raises(DiagnosticError, match="ONNX Runtime cannot quantize") as error:
        quantize(source, target, FORMS["u8s8"], [])
    assert "\n" not in str(error.value)
