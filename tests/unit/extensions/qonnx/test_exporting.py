"""Export to QONNX: models that read back as the module, and messages about what QONNX cannot express."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.arithmetic.requantization import Mode
from qmlir.dialects.kernel.attributes import RequantizeAttr
from qmlir.dialects.nn.base import NnOp
from qmlir.extensions.qonnx.exporting import as_floats
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


def test_command_has_the_options_of_the_writer(tmp_path: Path) -> None:
    qmlir.quantize(_network(), DATA, scheme="symmetric").save(tmp_path / "out")
    command = ["qmlir", "export", str(tmp_path / "out"), "--format", "qonnx", "-o", f"{tmp_path}/q.onnx"]
    assert run_command([*command, "--opset", "22"], "").code == 0
    versions = {each.domain: each.version for each in onnx.load(tmp_path / "q.onnx").opset_import}
    assert versions[""] == 22
    result = run_command([*command, "--signed"], "")
    assert result.code != 0
    assert "--signed does not apply to" in result.stderr


def test_the_warning_counts_other_modes_only(caplog: pytest.LogCaptureFixture) -> None:
    module = qmlir.quantize(_network(), DATA, scheme="symmetric").module
    layers = [op for op in module.walk() if isinstance(op, NnOp) and op.name in ("nn.conv", "nn.matmul")]
    for op, mode in zip(layers, (Mode.SINGLE_ROUND, Mode.F32, Mode.F32), strict=True):
        op.requantize = RequantizeAttr.of(mode)
    qmlir.export_qonnx(module)
    assert "1 operation requantizes in mode single_round; QONNX rounds floats" in caplog.text


@pytest.mark.parametrize("is_input", [True, False])
def test_types_without_a_quantizer_are_named(tmp_path: Path, is_input: bool) -> None:
    element = "!quant.uniform<u8<10:100>:f32, 0.5:15>"
    argument = f"tensor<2x4x{element}>" if is_input else "tensor<2x4xf32>"
    cast = f'%0 = quant.qcast %x {{origin = "held"}} : tensor<2x4xf32> to tensor<2x4x{element}>'
    path = tmp_path / "limits.mlir"
    path.write_text(f"""
      func.func @main(%x: {argument} {{nn.name = "image"}}) -> tensor<2x4xf32> {{
        {"" if is_input else cast}
        %1 = quant.dcast {"%x" if is_input else "%0"} : tensor<2x4x{element}> to tensor<2x4xf32>
        func.return %1 : tensor<2x4xf32>
      }}""")
    with pytest.raises(DiagnosticError) as raised:
        qmlir.export_qonnx(path)
    place = "input 'image'" if is_input else "'quant.qcast' op (held)"
    assert f"{place} has the type !quant.uniform<u8<10:100>:f32, " in str(raised.value)
    assert "help: export with --format qdq" in str(raised.value)


def test_rejects_by_name(tmp_path: Path) -> None:
    text = """
      func.func @main(%x: tensor<2x4xf32>) -> tensor<2x4xi8> {
        %0 = quant.qcast %x : tensor<2x4xf32> to tensor<2x4x!quant.uniform<i8:f32, 0.5>>
        %1 = quant.scast %0 {origin = "held"} : tensor<2x4x!quant.uniform<i8:f32, 0.5>> to tensor<2x4xi8>
        func.return %1 : tensor<2x4xi8>
      }"""
    path = tmp_path / "held.mlir"
    path.write_text(text)
    with pytest.raises(DiagnosticError, match=r"held.*reads the integers of a quantized value"):
        qmlir.export_qonnx(path)


QUANTIZERS: dict[str, tuple[str, tuple[Any, ...], dict[str, Any], int]] = {
    "floor": ("Quant", (0.5, 0.0, 4.0), {"signed": 1, "narrow": 0, "rounding_mode": "FLOOR"}, 1),
    "half up": ("Quant", (0.3, 0.0, 4.0), {"signed": 1, "narrow": 1, "rounding_mode": "HALF_UP"}, 1),
    "zero point": ("Quant", (0.3, 3.0, 4.0), {"signed": 1, "narrow": 0, "rounding_mode": "ROUND"}, 1),
    "unsigned": ("Quant", (0.3, 3.0, 3.0), {"signed": 0, "narrow": 0, "rounding_mode": "CEIL"}, 1),
    "bipolar": ("BipolarQuant", (0.3,), {}, 1),
    "trunc": ("Trunc", (0.25, 8.0, 8.0, 1.0, 3.0), {"rounding_mode": "FLOOR"}, 2),
    "counted": ("MultiThreshold", ([[-1, 0, 2]],), {"out_dtype": "UINT2", "out_scale": 0.5, "out_bias": -1.0}, 1),
}


@pytest.mark.parametrize("name", QUANTIZERS)
def test_imported_quantizers_are_exported_again(name: str) -> None:
    """Import, export, import and export keep the type and all values of a quantizer."""
    op_type, inputs, attributes, version = QUANTIZERS[name]
    net, data = Net(), np.linspace(-9, 9, 240, dtype=FLOAT).reshape(10, 3, 8)
    held = [net.constant(FLOAT(each)) for each in inputs]
    domain = "qonnx.custom_op.general"
    model = net.model(net.node(op_type, net.input(data), *held, domain=domain, **attributes))
    model.opset_import.append(onnx.helper.make_opsetid(domain, version))
    expected: Any = None
    for _ in range(3):
        module = qmlir.load(model)
        (cast,) = (
            op
            for op in module.walk()
            if op.name == "quant.dcast"
            and op.results[0].uses.get_length() == 1
            and any(use.operation.name == "func.return" for use in op.results[0].uses)
        )
        (values,) = qmlir.interpret(module, {"x0": data}).values()
        found = str(cast.operands[0].type), values.tolist()
        assert found == (expected or found)
        expected, model = found, qmlir.export_qonnx(module)
        assert model.graph.node[-1].op_type == "Quant"


@pytest.mark.parametrize("storage", ["i8", "u8"])
def test_integers_of_callers_become_real_values(tmp_path: Path, storage: str) -> None:
    element = f"!quant.uniform<{storage}:f32, 0.3:7>"
    path = tmp_path / "held.mlir"
    path.write_text(f"""
      func.func @main(%x: tensor<256xi8> {{nn.name = "x"}}) -> (tensor<256xf32> {{nn.name = "y"}}) {{
        %0 = quant.scast %x : tensor<256xi8> to tensor<256x{element}>
        %1 = quant.dcast %0 : tensor<256x{element}> to tensor<256xf32>
        func.return %1 : tensor<256xf32>
      }}""")
    integers = np.arange(-128, 128).astype(np.int8)
    (found,) = qmlir.interpret(qmlir.load(qmlir.export_qonnx(path)), {"x": integers}).values()
    stored = integers.view(np.uint8) if storage == "u8" else integers
    np.testing.assert_array_equal(found, (stored.astype(FLOAT) - 7) * FLOAT(0.3))


def test_integers_that_f32_cannot_restore_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "wide.mlir"
    path.write_text("""
      func.func @main(%x: tensor<4xi32>) -> tensor<4xf32> {
        %0 = quant.scast %x {origin = "wide"} : tensor<4xi32> to tensor<4x!quant.uniform<i32:f32, 0.5>>
        %1 = quant.dcast %0 : tensor<4x!quant.uniform<i32:f32, 0.5>> to tensor<4xf32>
        func.return %1 : tensor<4xf32>
      }""")
    with pytest.raises(DiagnosticError, match=r"wide.*has integers that f32 cannot restore; help: export with"):
        qmlir.export_qonnx(path)


def test_regions_that_read_quantized_values_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "region.mlir"
    path.write_text("""
      func.func @main(%c: i1, %x: tensor<4xf32>) -> tensor<4xf32> {
        %0 = quant.qcast %x : tensor<4xf32> to tensor<4x!quant.uniform<i8:f32, 0.5>>
        %1 = scf.if %c -> (tensor<4xf32>) {
          %2 = quant.dcast %0 : tensor<4x!quant.uniform<i8:f32, 0.5>> to tensor<4xf32>
          scf.yield %2 : tensor<4xf32>
        } else {
          scf.yield %x : tensor<4xf32>
        } {origin = "choice"}
        func.return %1 : tensor<4xf32>
      }""")
    with pytest.raises(DiagnosticError, match=r"choice.*has regions with quantized values, which QONNX cannot express"):
        as_floats(qmlir.load(path))
