"""Exported LiteRT models: read again they are the same module, and what has no operator is named before writing."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.environment import default_environment
from qmlir.extensions.litert.model import read_model
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.signature import outputs_of
from qmlir.ir.verification import verify
from qmlir.passmanager.manager import run_pipeline
from qmlir.specialization.inputs import function_of
from qmlir.text.parsing import parse_module
from tests.support.litert_models import LiteCall, LiteValue, lite_model
from tests.unit.extensions.litert.test_importing import network

RNG = np.random.default_rng(0)
BYTES = "!quant.uniform<i8:f32, 0.5:3>"


def _parsed(text: str) -> ModuleOp:
    module = parse_module(default_environment().new_context(), text)
    verify(module)
    return module


def _operators(path: Path) -> list[str]:
    return [operator.name for operator in read_model(path).graphs[0].operators]


@pytest.mark.parametrize("quantized", [False, True], ids=["float", "int8"])
def test_import_export_import_gives_the_same_module(tmp_path: Path, quantized: bool) -> None:
    first, second = tmp_path / "first.tflite", tmp_path / "second.tflite"
    values, calls = network(quantized)
    first.write_bytes(lite_model(values, calls, [0], [15]))
    module = qmlir.load(first)
    qmlir.export_litert(module, second)
    texts = [re.sub(r'nn\.producer = "[^"]*"', "", str(each)) for each in (module, qmlir.load(second))]
    assert texts[0] == texts[1]
    # Fused again, and no transpose around any operator.
    assert _operators(second) == _operators(first)


@pytest.mark.parametrize(
    ("operator", "options", "values"),
    [
        ("AVERAGE_POOL_2D", "Pool2DOptions", {"padding": 0, "stride_h": 2, "stride_w": 1, "filter_height": 3,
                                              "filter_width": 2}),
        ("SOFTMAX", "SoftmaxOptions", {"beta": 1.0}), ("LOGISTIC", "", {}), ("HARD_SWISH", "", {}),
        ("LEAKY_RELU", "LeakyReluOptions", {"alpha": 0.25}), ("RELU6", "", {}), ("QUANTIZE", "QuantizeOptions", {}),
    ],
)  # fmt: skip
def test_operators_keep_their_options(tmp_path: Path, operator: str, options: str, values: "dict[str, float]") -> None:
    size = (1, 3, 6, 2) if operator == "AVERAGE_POOL_2D" else (1, 6, 6, 2)
    same = operator in ("AVERAGE_POOL_2D",)
    result = (0.25, 3) if same else (2.0**-8, -128)
    tensors = [LiteValue((1, 6, 6, 2), "int8", 0.25, 3), LiteValue(size, "int8", *result)]
    first, second = tmp_path / "first.tflite", tmp_path / "second.tflite"
    first.write_bytes(lite_model(tensors, [LiteCall(operator, [0], [1], options, values)], [0], [1]))
    module = qmlir.load(first)
    qmlir.export_litert(module, second)
    assert operator in _operators(second)
    x = RNG.integers(-128, 128, (1, 6, 6, 2)).astype(np.int8)
    results = [next(iter(qmlir.interpret(each, [x]).values())) for each in (module, qmlir.load(second))]
    np.testing.assert_array_equal(results[0], results[1])


def test_padding_that_is_neither_same_nor_valid_becomes_an_operator(tmp_path: Path) -> None:
    result = f"tensor<1x2x7x5x{BYTES}>"
    text = f"""func.func @main(%x: tensor<1x2x5x5x{BYTES}>) -> {result} {{
      %0 = nn.max_pool %x {{kernel = [1, 1], pads = [2, 0, 0, 0]}} : (tensor<1x2x5x5x{BYTES}>) -> {result}
      func.return %0 : {result}
    }}"""
    module, path = _parsed(text), tmp_path / "padded.tflite"
    qmlir.export_litert(module, path)
    assert _operators(path) == ["TRANSPOSE", "PADV2", "MAX_POOL_2D", "TRANSPOSE"]
    x = RNG.integers(-128, 128, (1, 2, 5, 5)).astype(np.int8)
    results = [next(iter(qmlir.interpret(each, [x]).values())) for each in (module, qmlir.load(path))]
    np.testing.assert_array_equal(results[0], results[1])


def test_bounds_without_an_operator_are_compared_as_stored_integers(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = f"""func.func @main(%x: tensor<4x{BYTES}>) -> tensor<4x{BYTES}> {{
      %0 = nn.clip %x {{minimum = -2.0 : f32, maximum = 3.0 : f32}} : tensor<4x{BYTES}>
      func.return %0 : tensor<4x{BYTES}>
    }}"""
    path = tmp_path / "bounds.tflite"
    qmlir.export_litert(_parsed(text), path)
    assert "round differently from these operations of the module (1): nn.clip" in caplog.text
    assert _operators(path) == ["MAXIMUM", "MINIMUM"]
    (found,) = qmlir.interpret(qmlir.load(path), [np.array([-128, 0, 5, 127], np.int8)]).values()
    assert found.tolist() == [-1, 0, 5, 9]  # -2 / 0.5 + 3 and 3 / 0.5 + 3


def test_unsigned_bytes_are_stored_as_signed_ones(tmp_path: Path) -> None:
    unsigned = "!quant.uniform<u8:f32, 0.5:131>"
    text = f"""func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
      %0 = quant.qcast %x : tensor<4xf32> to tensor<4x{unsigned}>
      %c = nn.constant dense<[0, 100, 131, 255]> : tensor<4xui8> -> tensor<4x{unsigned}>
      %1 = nn.add %0, %c : (tensor<4x{unsigned}>, tensor<4x{unsigned}>) -> tensor<4x!quant.uniform<u8:f32, 1.0:120>>
      %2 = quant.dcast %1 : tensor<4x!quant.uniform<u8:f32, 1.0:120>> to tensor<4xf32>
      func.return %2 : tensor<4xf32>
    }}"""
    path = tmp_path / "unsigned.tflite"
    qmlir.export_litert(_parsed(text), path)
    tensors = read_model(path).graphs[0].tensors
    assert {tensor.element for tensor in tensors} == {"FLOAT32", "INT8"}
    x = np.array([-10.0, 3.0, 0.5, 20.0], np.float32)
    (found,) = qmlir.interpret(qmlir.load(path), [x]).values()
    stored = np.array([0, 100, 131, 255]) - 131.0
    exact = x + 0.5 * stored
    assert np.abs(found - exact).max() <= 0.5


def test_operations_without_an_operator_are_named_and_nothing_is_written(tmp_path: Path) -> None:
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = nn.erf %x : tensor<4xf32>
      %1 = nn.abs %0 : tensor<4xf32>
      %2 = nn.softsign %1 : tensor<4xf32>
      func.return %2 : tensor<4xf32>
    }"""
    path = tmp_path / "none.tflite"
    with pytest.raises(DiagnosticError, match=r"nn\.erf.* cannot be exported to LiteRT: .*; nor can nn\.softsign"):
        qmlir.export_litert(_parsed(text), path)
    assert not path.exists()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (f"nn.softmax %x {{axis = 0}} : tensor<4x{BYTES}>", "result with scale 0.00390625 and zero point -128"),
        ("nn.softsign %f : tensor<4xf32>", "no operator of LiteRT"),
        (f"nn.reduce_sum %x {{axes = [0]}} : (tensor<4x{BYTES}>) -> tensor<1x{BYTES}>", "quantized sums"),
        ("nn.elu %f {alpha = 2.0 : f32} : tensor<4xf32>", "requires alpha = 1"),
        ("nn.mod %f, %f {fmod = true} : tensor<4xf32>", "sign of the divisor"),
        ("nn.resize %i {sizes = [8], axes = [3], antialias = true, mode = \"linear\"}"
         " : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x8xf32>", "antialias"),
    ],
)  # fmt: skip
def test_operations_that_compute_something_else_are_rejected(tmp_path: Path, line: str, reason: str) -> None:
    text = f"""func.func @main(%x: tensor<4x{BYTES}>, %f: tensor<4xf32>, %i: tensor<1x2x4x4xf32>) -> tensor<4xf32> {{
      %0 = {line}
      func.return %f : tensor<4xf32>
    }}"""
    path = tmp_path / "none.tflite"
    with pytest.raises(DiagnosticError, match=f"cannot be exported to LiteRT: .*{reason}"):
        qmlir.export_litert(_parsed(text), path)
    assert not path.exists()


Function = Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]
FUNCTIONS: dict[str, Function] = {
    "neg": lambda x: -x,
    "softsign": lambda x: x / (1 + np.abs(x)),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
}


@pytest.mark.parametrize("stored", ["i8", "u8"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions_of_a_byte_without_a_kernel_are_tables(tmp_path: Path, stored: str, function: str) -> None:
    element, zero = f"!quant.uniform<{stored}:f32, 0.0625:100>", 100
    text = f"""func.func @main(%f: tensor<1x256xf32>) -> tensor<1x256xf32> {{
      %x = quant.qcast %f : tensor<1x256xf32> to tensor<1x256x{element}>
      %0 = nn.{function} %x : tensor<1x256x{element}>
      %1 = quant.dcast %0 : tensor<1x256x{element}> to tensor<1x256xf32>
      func.return %1 : tensor<1x256xf32>
    }}"""
    path = tmp_path / "table.tflite"
    qmlir.export_litert(_parsed(text), path)
    assert _operators(path) == ["QUANTIZE", "CAST", "ADD", "GATHER", "DEQUANTIZE"]
    low, high = (-128, 127) if stored == "i8" else (0, 255)
    x = (np.arange(low, high + 1)[None] - zero) / 16
    (found,) = qmlir.interpret(qmlir.load(path), [x.astype(np.float32)]).values()
    wanted = np.clip(np.rint(FUNCTIONS[function](x) * 16) + zero, low, high)
    assert np.array_equal(found * 16 + zero, wanted)


def test_padding_that_an_average_counts_is_an_operator(tmp_path: Path) -> None:
    result = f"tensor<1x2x3x3x{BYTES}>"
    text = f"""func.func @main(%x: tensor<1x2x4x4x{BYTES}>) -> {result} {{
      %0 = nn.average_pool %x {{kernel = [2, 2], strides = [2, 2], pads = [1, 1, 1, 1], count_include_pad = true}}
        : (tensor<1x2x4x4x{BYTES}>) -> {result}
      func.return %0 : {result}
    }}"""
    path = tmp_path / "pool.tflite"
    qmlir.export_litert(_parsed(text), path)
    assert _operators(path) == ["TRANSPOSE", "PAD", "AVERAGE_POOL_2D", "TRANSPOSE"]
    x = RNG.integers(-128, 128, (1, 2, 4, 4)).astype(np.int8)
    module = run_pipeline(_parsed(text), "quant-set-requantize{mode=litert_reference}")
    results = [next(iter(qmlir.interpret(each, [x]).values())) for each in (module, qmlir.load(path))]
    padded = np.pad(x.astype(int), ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=3)
    sums = padded.reshape(1, 2, 3, 2, 3, 2).sum((3, 5))
    wanted = np.sign(sums) * ((np.abs(sums) + 2) // 4)  # ties away from zero
    assert all(np.array_equal(found, wanted) for found in results)


@pytest.mark.parametrize(
    "lines",
    [
        ["%0 = nn.reshape %x, %s : (tensor<1x2x3x4xf32>, tensor<4xi64>) -> tensor<1x4x2x3xf32>",
         "%1 = nn.max_pool %0 {kernel = [1, 1]} : (tensor<1x4x2x3xf32>) -> tensor<1x4x2x3xf32>"],
        ["%a = nn.relu %x : tensor<1x2x3x4xf32>",
         "%0 = nn.transpose %a {permutation = [0, 3, 1, 2]} : (tensor<1x2x3x4xf32>) -> tensor<1x4x2x3xf32>",
         "%1 = nn.reshape %a, %s : (tensor<1x2x3x4xf32>, tensor<4xi64>) -> tensor<1x4x2x3xf32>"],
    ],
)  # fmt: skip
def test_orders_of_axes_are_not_confused_with_shapes(tmp_path: Path, lines: list[str]) -> None:
    image = "tensor<1x4x2x3xf32>"
    body = "\n".join(lines)
    text = f"""func.func @main(%x: tensor<1x2x3x4xf32>) -> ({image}, {image}) {{
      %s = nn.constant dense<[1, 4, 2, 3]> : tensor<4xi64>
      {body}
      func.return %0, %1 : {image}, {image}
    }}"""
    module, path = _parsed(text), tmp_path / "orders.tflite"
    qmlir.export_litert(module, path)
    x = RNG.normal(size=(1, 2, 3, 4)).astype(np.float32)
    first, second = (list(qmlir.interpret(each, [x]).values()) for each in (module, qmlir.load(path)))
    for ours, theirs in zip(first, second, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_tensor_that_several_values_share_keeps_its_type(tmp_path: Path) -> None:
    other = "!quant.uniform<i8:f32, 0.25:1>"
    text = f"""func.func @main(%x: tensor<2x3x{BYTES}>) -> (tensor<3x2x{other}>, tensor<2x3x{BYTES}>) {{
      %0 = nn.clip %x {{minimum = 0.0 : f32, requantize = #kernel.requantize<litert_reference>}} : tensor<2x3x{BYTES}>
      %1 = nn.transpose %0 {{permutation = [1, 0]}} : (tensor<2x3x{BYTES}>) -> tensor<3x2x{BYTES}>
      %2 = quant.scast %1 : tensor<3x2x{BYTES}> to tensor<3x2xi8>
      %3 = quant.scast %2 : tensor<3x2xi8> to tensor<3x2x{other}>
      func.return %3, %0 : tensor<3x2x{other}>, tensor<2x3x{BYTES}>
    }}"""
    module, path = _parsed(text), tmp_path / "shared.tflite"
    qmlir.export_litert(module, path)
    loaded = qmlir.load(path)
    types = [port.type for port in outputs_of(function_of(loaded, "main"))]
    assert types == [port.type for port in outputs_of(function_of(module, "main"))]
    x = RNG.integers(-128, 128, (2, 3)).astype(np.int8)
    first, second = (list(qmlir.interpret(each, [x]).values()) for each in (module, loaded))
    for ours, theirs in zip(first, second, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_quantizing_for_the_target_gives_an_exportable_model(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Sums are rounded before they are added, and a pool keeps its scale."""
    data = RNG.normal(0, 1, (16, 4)).astype(np.float32)
    quantized = qmlir.quantize("docs/examples/digits.onnxtxt", data, device="litert", validate=False)
    path = tmp_path / "digits.tflite"
    qmlir.export_litert(quantized, path)
    assert "sizes of 'image' that are not fixed are 1" in caplog.text
    assert "round differently" not in caplog.text
    again = qmlir.load(path)
    for row in data:
        results = [next(iter(qmlir.interpret(each, [row[None]]).values())) for each in (quantized.module, again)]
        np.testing.assert_array_equal(results[0], results[1])
