"""Keys and digests: what changes them, and what does not."""

import re
from pathlib import Path

import numpy as np
import pytest
from onnx import parser
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.environment import default_environment
from qmlir.passes.profiled.calib_observers import CalibInsertObservers
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import parse_pipeline
from qmlir.quantization.profiles.keys import keyed_values
from qmlir.quantization.profiles.profile import ModelDigest, model_digest
from qmlir.text.parsing import parse_module
from qmlir.text.printing import PrintOptions, Weights, module_text

MODELS = Path(__file__).resolve().parents[4].parent / "shared" / "models"

TEXT = """
func.func @main(%x: tensor<2x4xf32> {nn.name = "x"}) -> tensor<2x3xf32> {
  %w = nn.constant dense<[[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0], [5.0, 2.0, 3.0, 4.0]]>
      : tensor<3x4xf32> {origin = "w"}
  %0 = nn.matmul %x, %w {transpose_b = true}
      : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32> {origin = "fc", role = "matmul"}
  %1 = nn.leaky_relu %0 {alpha = 0.5} : tensor<2x3xf32>
  %2 = nn.relu %1 : tensor<2x3xf32>
  func.return %2 : tensor<2x3xf32>
}
"""


def module_of(text: str) -> ModuleOp:
    return parse_module(default_environment().new_context(), text)


def digest_of(text: str) -> ModelDigest:
    return model_digest(module_of(text))


def keys_of(module: ModuleOp) -> list[str]:
    return [each.key for each in keyed_values(module)]


def test_names_of_values_change_nothing() -> None:
    renamed = re.sub(r"%(\w+)", r"%other_\1", TEXT)
    assert keys_of(module_of(renamed)) == keys_of(module_of(TEXT))
    assert keys_of(module_of(TEXT)) == ["x", "w", "fc/matmul", "nn.leaky_relu[0]", "nn.relu[0]"]
    assert digest_of(renamed) == digest_of(TEXT)


@pytest.mark.parametrize("size", ["7", "?"])
def test_the_batch_size_changes_nothing(size: str) -> None:
    assert digest_of(TEXT.replace("tensor<2x", f"tensor<{size}x")) == digest_of(TEXT)


def test_observers_and_ranges_change_nothing() -> None:
    module = module_of(TEXT)
    CalibInsertObservers(constants=True, axis=1).apply(default_environment().new_context(), module)
    assert keys_of(module) == keys_of(module_of(TEXT))
    assert model_digest(module) == digest_of(TEXT)
    ranged = TEXT.replace("tensor<2x3xf32>", "tensor<2x3x!quant.calibrated<f32<-1.0:1.0>>>")
    assert digest_of(ranged) == digest_of(TEXT)


def test_weights_have_a_digest_of_their_own() -> None:
    other = digest_of(TEXT.replace("5.0, 2.0", "5.5, 2.0"))
    assert other.structure == digest_of(TEXT).structure
    assert other.weights != digest_of(TEXT).weights
    left_out = re.sub(r"dense<\[.*\]>", "#nn.weights<elided>", TEXT)
    assert digest_of(left_out) == ModelDigest(digest_of(TEXT).structure, "")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("alpha = 0.5", "alpha = 0.25"),
        ('role = "matmul"', 'role = "product"'),
        ("nn.relu", "nn.tanh"),
        ("nn.relu %1", "nn.relu %0"),
        ('nn.name = "x"', 'nn.name = "y"'),
        ("@main", "@other"),
        ("return %2", "return %1"),
    ],
)
def test_what_makes_another_model(before: str, after: str) -> None:
    assert digest_of(TEXT.replace(before, after)).structure != digest_of(TEXT).structure


@pytest.mark.skipif(not MODELS.exists(), reason="the digits models are not there")
@pytest.mark.parametrize(
    ("name", "shape"), [("cnn", (7, 1, 8, 8)), ("mlp", (7, 64)), ("lstm", (8, 7, 8)), ("gru", (8, 7, 8))]
)
def test_models_of_another_batch_size(name: str, shape: tuple[int, ...]) -> None:
    """With the batch fixed, shapes and states are folded to constants while the model is read."""
    environment = default_environment()
    found: list[ModelDigest] = []
    for shapes in ({}, {"input": shape}):
        module = qmlir.load(MODELS / f"digits_{name}.onnx", shapes=shapes)
        ctx = environment.new_context()
        PassManager(ctx, parse_pipeline("nn-decompose", environment.passes)).run(module)
        found.append(model_digest(module))
        read = parse_module(ctx, module_text(module, PrintOptions(weights=Weights.INLINE)))
        assert model_digest(read) == found[-1]
    assert found[0] == found[1]


def test_a_node_that_is_called_as_a_part_of_another_one_has_a_key_of_its_own() -> None:
    text = """func.func @main(%x: tensor<2xf32> {nn.name = "x"}) -> tensor<2xf32> {
      %0 = nn.relu %x : tensor<2xf32> {origin = "fc", role = "relu"}
      %1 = nn.relu %0 : tensor<2xf32> {origin = "fc/relu"}
      %2 = nn.relu %1 : tensor<2xf32> {origin = "other", role = "relu"}
      func.return %2 : tensor<2xf32>
    }"""
    module = parse_module(default_environment().new_context(), text, "keys.mlir")
    assert [each.key for each in keyed_values(module)] == ["x", "fc//relu", "fc/relu", "other/relu"]


def test_operations_that_an_import_makes_of_one_node_are_told_apart() -> None:
    """The partial sum of a Sum has a range of its own; the last operation is what the node gives, and has its name."""
    model = parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 21]> net (float[4] a, float[4] b, float[4] c) => (float[4] y)'
        " { [total] s = Sum (a, b, c) [out] y = Neg (s) }"
    )
    module = qmlir.load(model)
    assert keys_of(module) == ["a", "b", "c", "total[0]", "total", "out"]
    data = {"a": np.full((3, 4), 100, np.float32), "b": np.zeros((3, 4), np.float32)}
    found = qmlir.profile(module, data | {"c": np.full((3, 4), -99, np.float32)}).values
    assert (found["total[0]"].maximum, found["total"].maximum) == (100, 1)


def test_steps_of_a_layer_share_a_key() -> None:
    text = """func.func @main(%x: tensor<2xf32> {nn.name = "x"}) -> tensor<2xf32> {
      %0 = nn.tanh %x : tensor<2xf32> {origin = "rnn", role = "hidden/tanh"}
      %1 = nn.tanh %0 : tensor<2xf32> {origin = "rnn", role = "hidden/tanh"}
      func.return %1 : tensor<2xf32>
    }"""
    assert keys_of(module_of(text)) == ["x", "rnn/hidden/tanh", "rnn/hidden/tanh"]
