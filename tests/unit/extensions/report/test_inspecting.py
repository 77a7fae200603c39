"""`inspect` on known networks and on layers small enough to count by hand, at every level where something is known."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp

import qmlir
from benchmarks.architectures import with_random_weights
from qmlir.environment import default_environment
from qmlir.extensions.report.inspecting import inspect
from qmlir.ir.verification import verify
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import parse_pipeline
from qmlir.pipelines import COMPILE
from qmlir.text.parsing import parse_module
from qmlir.text.tables import number

MOBILENET_V2 = (
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
)  # fmt: skip
"""Expansion, channels, repeats and first stride: table 2 of Sandler et al. 2018."""


def parsed(text: str) -> ModuleOp:
    module = parse_module(default_environment().new_context(), text, "text")
    verify(module)
    return module


def run(module: ModuleOp, pipeline: str) -> ModuleOp:
    environment = default_environment()
    clone = module.clone()
    PassManager(environment.new_context(), parse_pipeline(pipeline, environment.passes)).run(clone)
    return clone


def mobilenet_v2() -> onnx.ModelProto:
    """The convolutions of MobileNetV2 at 224x224, with weights of zeros and without what else is in it."""
    nodes: list[onnx.NodeProto] = []
    weights: list[onnx.TensorProto] = []
    value, channels = "image", 3

    def conv(made: int, kernel: int, stride: int, groups: int = 1) -> None:
        nonlocal value, channels
        name = f"conv{len(nodes)}"
        shape = (made, channels // groups, kernel, kernel)
        weights.append(numpy_helper.from_array(np.zeros(shape, np.float32), f"{name}.weight"))
        pads = [kernel // 2] * 4
        nodes.append(
            helper.make_node(
                "Conv", [value, f"{name}.weight"], [f"{name}.out"], name,
                strides=[stride] * 2, pads=pads, group=groups,
            )
        )  # fmt: skip
        value, channels = f"{name}.out", made

    conv(32, 3, 2)
    for expansion, made, repeats, first in MOBILENET_V2:
        for repeat in range(repeats):
            if expansion > 1:
                conv(channels * expansion, 1, 1)
            conv(channels, 3, first if repeat == 0 else 1, groups=channels)
            conv(made, 1, 1)
    conv(1280, 1, 1)
    nodes.append(helper.make_node("GlobalAveragePool", [value], ["pooled"], "pool"))
    nodes.append(helper.make_node("Flatten", ["pooled"], ["flat"], "flatten"))
    weights.append(numpy_helper.from_array(np.zeros((1000, 1280), np.float32), "fc.weight"))
    weights.append(numpy_helper.from_array(np.zeros(1000, np.float32), "fc.bias"))
    nodes.append(helper.make_node("Gemm", ["flat", "fc.weight", "fc.bias"], ["y"], "fc", transB=1))
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 224, 224])
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1000])
    graph = helper.make_graph(nodes, "mobilenet_v2", [image], [result], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def test_resnet50() -> None:
    # torchvision documents 4.09 GFLOPS (of multiply-adds) and 25,557,032 parameters, of which each of the 53 batch
    # normalizations has 4 in this model, not 2: 26,560 channels have a mean and a variance besides.
    found = inspect(qmlir.load(with_random_weights("resnet50")))
    assert found.multiply_adds == 4_089_184_256
    assert found.parameters == 25_557_032 + 2 * 26_560
    assert found.weight_bytes == found.float_weight_bytes == 4 * found.parameters
    assert found.integer_share == 0
    # The first convolution has the largest result: 64 channels of 112x112, and so has what follows it.
    assert found.largest_activation is not None
    assert found.largest_activation.bytes == 64 * 112 * 112 * 4


def test_mobilenet_v2() -> None:
    # torchvision: 0.30 GFLOPS. Its 3,504,872 parameters with 2 for each of 17,056 channels of batch normalization.
    found = inspect(qmlir.load(mobilenet_v2()))
    assert found.multiply_adds == 300_774_272
    assert found.parameters == 3_504_872 - 2 * 17_056


LAYERS = """
func.func @main(%x: tensor<?x8x!quant.calibrated<f32<-1.0:2.0>>> {nn.name = "x"})
    -> (tensor<?x3xf32> {nn.name = "y"}) {
  %w = nn.constant dense<1.0> : tensor<5x8xf32> {origin = "w"}
  %b = nn.constant dense<0.0> : tensor<5xf32> {origin = "b"}
  %v = nn.constant dense<1> : tensor<3x5xi4> -> tensor<3x5x!quant.uniform<i4:f32:0, {0.5, 0.25, 1.0}>> {origin = "v"}
  %0 = nn.fully_connected %x, %w, %b : (tensor<?x8x!quant.calibrated<f32<-1.0:2.0>>>, tensor<5x8xf32>, tensor<5xf32>)
      -> tensor<?x5xf32> {origin = "fc1", op_type = "Gemm", tensor = "hidden"}
  %1 = quant.qcast %0 {origin = "fc1", op_type = "Gemm"} : tensor<?x5xf32> to tensor<?x5x!quant.uniform<u8:f32, 0.5:2>>
  %2 = nn.fully_connected %1, %v : (tensor<?x5x!quant.uniform<u8:f32, 0.5:2>>,
      tensor<3x5x!quant.uniform<i4:f32:0, {0.5, 0.25, 1.0}>>) -> tensor<?x3x!quant.uniform<i8<-127:127>:f32, 2.0>>
      {origin = "fc2", op_type = "Gemm"}
  %3 = quant.dcast %2 {origin = "fc2"} : tensor<?x3x!quant.uniform<i8<-127:127>:f32, 2.0>> to tensor<?x3xf32>
  func.return %3 : tensor<?x3xf32>
}
"""


def test_numbers_by_hand() -> None:
    found = inspect(parsed(LAYERS))
    first, cast, second, back = found.layers
    assert [layer.key for layer in found.layers] == ["fc1", "fc1", "fc2", "fc2"]
    assert (first.op_type, first.multiply_adds, first.parameters) == ("Gemm", 5 * 8, 5 * 8 + 5)
    assert (first.parameter_bytes, first.activation_bytes) == (45 * 4, 5 * 4)
    assert (first.is_integer, first.is_whole, first.results[0].name) == (False, True, "hidden")
    assert first.operands[0].range == (-1.0, 2.0)
    assert first.operands[0].shape == (None, 8)
    assert (second.multiply_adds, second.is_integer, second.is_whole) == (3 * 5, True, True)
    # Fifteen numbers of 4 bits.
    assert (second.parameters, second.parameter_bytes) == (15, 8)
    # 0.5 * (0 - 2) to 0.5 * (255 - 2); 1.0 * (-8) to 1.0 * 7; 2.0 * 127 on both sides.
    assert [each.range for each in (*second.operands, *second.results)] == [(-1.0, 126.5), (-8.0, 7.0), (-254.0, 254.0)]
    assert second.results[0].parameters is not None
    assert second.results[0].parameters.storage == "i8<-127:127>"
    assert second.operands[1].parameters is not None
    assert second.operands[1].parameters.scale == (0.25, 1.0)
    assert (cast.parameters, back.parameters) == (0, 0)
    assert (found.multiply_adds, found.integer_multiply_adds) == (55, 15)
    assert found.integer_share == 15 / 55
    assert (found.weight_bytes, found.float_weight_bytes) == (180 + 8, 180 + 15 * 4)
    assert [each.name for each in (*found.inputs, *found.outputs)] == ["x", "y"]


def test_a_weight_of_two_users_is_there_once() -> None:
    found = inspect(
        parsed("""
        func.func @main(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
          %w = nn.constant dense<1.0> : tensor<4x4xf32> {origin = "w"}
          %0 = nn.matmul %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32> {origin = "a"}
          %1 = nn.matmul %0, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32> {origin = "b"}
          func.return %1 : tensor<2x4xf32>
        }""")
    )
    assert [layer.parameters for layer in found.layers] == [16, 16]
    assert (found.parameters, found.weight_bytes) == (16, 64)


def test_composites_and_their_parts() -> None:
    text = LAYERS.replace("!quant.calibrated<f32<-1.0:2.0>>", "f32")
    whole, parts = parsed(text), run(parsed(text), "nn-decompose")
    assert (inspect(whole).kept, inspect(whole).decomposed) == (("nn.fully_connected",), ())
    assert (inspect(parts).kept, inspect(parts).decomposed) == ((), ("nn.fully_connected",))
    rows = {layer.key: layer.operation for layer in inspect(parts).layers if layer.composite}
    assert rows == {"fc1/matmul": "nn.matmul", "fc1/bias_add": "nn.add", "fc2/matmul": "nn.matmul"}
    assert inspect(parts).multiply_adds == inspect(whole).multiply_adds


def lstm(steps: int) -> ModuleOp:
    types = f"(tensor<{steps}x1x4xf32>, tensor<1x12x4xf32>, tensor<1x12x3xf32>)"
    return parsed(f"""
    func.func @main(%x: tensor<{steps}x1x4xf32>) -> tensor<{steps}x1x1x3xf32> {{
      %w = nn.constant dense<0.5> : tensor<1x12x4xf32> {{origin = "w"}}
      %r = nn.constant dense<0.5> : tensor<1x12x3xf32> {{origin = "r"}}
      %0, %1, %2 = nn.lstm %x, %w, %r {{hidden_size = 3 : i64}} : {types}
          -> (tensor<{steps}x1x1x3xf32>, tensor<1x1x3xf32>, tensor<1x1x3xf32>) {{origin = "lstm1", op_type = "LSTM"}}
      func.return %0 : tensor<{steps}x1x1x3xf32>
    }}""")


@pytest.mark.parametrize("steps", [2, 5])
def test_the_steps_of_a_layer_are_one_row(steps: int) -> None:
    whole, parts = inspect(lstm(steps)), inspect(run(lstm(steps), "nn-decompose"))
    # Each of four gates, in each step: 3 cells take 4 inputs and 3 states.
    assert whole.multiply_adds == parts.multiply_adds == steps * 4 * 3 * (4 + 3)
    counts = {layer.count for layer in parts.layers if layer.multiply_adds}
    assert counts & {steps, 4 * steps}


def quantized() -> ModuleOp:
    model = qmlir.load("docs/examples/digits.onnxtxt", shapes={"image": (1, 4)})
    samples = np.random.default_rng(0).uniform(-1, 1, (8, 4)).astype(np.float32)
    return qmlir.quantize(model, {"image": samples}).module


def test_below_the_quantized_level() -> None:
    module = quantized()
    above = inspect(module)
    assert (above.multiply_adds, above.integer_share) == (2 * 4, 1.0)
    integer = run(module, COMPILE.text("lower", "fuse"))
    found = inspect(integer)
    assert (found.multiply_adds, found.integer_share) == (2 * 4, 1.0)
    assert found.float_weight_bytes is None
    # Weights of 8 bits, bias and multipliers of 32 for each of two channels.
    assert found.weight_bytes == 2 * 4 + 2 * 4 + 2 * 4
    kernels = inspect(run(integer, COMPILE.text("schedule", "bufferize", isa="avx2", threads=1)))
    assert (kernels.multiply_adds, kernels.integer_share) == (2 * 4, 1.0)
    assert [each.name for each in (*kernels.inputs, *kernels.outputs)] == ["image", "logits"]
    assert any(layer.operation.startswith("@matmul_1x4x2") and layer.key == "fc1+relu1" for layer in kernels.layers)
    loops = run(module, COMPILE.text(isa="avx2", threads=1))
    assert inspect(loops).multiply_adds is None


def test_an_empty_function() -> None:
    found = inspect(parsed("func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { func.return %x : tensor<2xf32> }"))
    assert (found.layers, found.multiply_adds, found.weight_bytes, found.integer_share) == ((), 0, 0, 1.0)
    assert "operations: 0" in found.text()
    assert inspect(ModuleOp([])).largest_activation is None


def test_the_text_has_what_the_data_has() -> None:
    text = inspect(parsed(LAYERS)).text()
    head, table = text.split("\n\n")
    assert "multiply-adds: 55, 27.3% in integers" in head
    assert "weights: 60 numbers, 188 bytes, 240 bytes as floats" in head
    rows = table.splitlines()
    assert rows[0].split()[:2] == ["layer", "operation"]
    assert len(rows) == 1 + 4
    assert "-254 … 254" in rows[3]


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0"), (999, "999"), (1000, "1 k"), (12_345, "12.3 k"), (4_089_184_256, "4.09 G"), (None, "?")],
)
def test_numbers_for_readers(count: int | None, text: str) -> None:
    assert number(count) == text
