"""Sizes of weights: what each type takes, by hand; and what a summary says of values with more bits."""

import numpy as np
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.environment import default_environment
from qmlir.text.parsing import parse_module
from qmlir.text.tables import bytes_text
from qmlir.workflows.quantized import weight_bytes

TEXT = """
func.func @main() {
  %0 = nn.constant dense<1.0> : tensor<3xf32>
  %1 = nn.constant dense<1.0> : tensor<3xf64>
  %2 = nn.constant dense<1.0> : tensor<3xbf16>
  %3 = nn.constant dense<1> : tensor<5xi4> -> tensor<5x!quant.uniform<i4:f32, 0.5>>
  %4 = nn.constant dense<1> : tensor<5xi8> -> tensor<5x!quant.uniform<i8:f32, 0.5>>
  %5 = nn.constant dense<7> : tensor<2xi64>
  %6 = nn.constant dense<1.0> : tensor<5xf4E2M1FN> -> tensor<5x!quant.uniform<f4E2M1FN:f32, 0.5>>
  func.return
}
"""


def test_weight_bytes() -> None:
    module: ModuleOp = parse_module(default_environment().new_context(), TEXT, "test")
    # 3 of 4, of 8 and of 2 bytes; 5 of 4 bits, packed, twice; 5 of 1 byte; the shape is not a weight.
    assert weight_bytes(module) == 12 + 24 + 6 + 3 + 5 + 3


def test_bytes_for_a_reader() -> None:
    found = [bytes_text(count) for count in (0, 1023, 1024, 1536, 5 << 20, 3 << 30)]
    assert found == ["0 bytes", "1023 bytes", "1.0 KiB", "1.5 KiB", "5.0 MiB", "3.0 GiB"]


RESIDUAL = """
func.func @main(%x: tensor<?x4xf32> {nn.name = "x"}) -> tensor<?x4xf32> {
  %w = nn.constant dense<0.5> : tensor<4x4xf32>
  %0 = nn.matmul %x, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  %1 = nn.matmul %x, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  %2 = nn.sqrt %1 : tensor<?x4xf32>
  %3 = nn.add %0, %2 : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  func.return %3 : tensor<?x4xf32>
}
"""


def test_the_summary_says_what_has_more_bits_and_why() -> None:
    """The product below the root has 16 bits; a rule of a recipe has the last word, and is no built-in one."""
    module = parse_module(default_environment().new_context(), RESIDUAL, "test")
    data = {"x": np.random.default_rng(1).uniform(0, 1, (8, 4)).astype(np.float32)}
    given = qmlir.quantize(module, data)
    assert "16 bits: what roots and logarithms read (1 value)" in given.text()
    assert given.summary().to_dict()["widened"] == [
        {"cause": "what roots and logarithms read", "bits": 16, "values": 1}
    ]
    narrow = qmlir.quantize(module, data, recipe={"rule": [{"sqrt_operand": True, "slot": "output", "storage": "i8"}]})
    assert narrow.widened == ()


STORED = """
!a = !quant.uniform<f8E4M3FN:f32, 0.5>
!b = !quant.uniform<f4E2M1FN:f32, 0.5>
func.func @main(%x: tensor<?x2xf32> {nn.name = "x"}) -> tensor<?x2xf32> {
  %a = nn.constant dense<[[1.0, 1.125], [448.0, 0.001953125]]> : tensor<2x2xf8E4M3FN> -> tensor<2x2x!a>
  %b = nn.constant dense<[[1.0, 1.5], [-6.0, 0.5]]> : tensor<2x2xf4E2M1FN> -> tensor<2x2x!b>
  %0 = quant.dcast %a : tensor<2x2x!a> to tensor<2x2xf32>
  %1 = quant.dcast %b : tensor<2x2x!b> to tensor<2x2xf32>
  %2 = nn.matmul %x, %0 : (tensor<?x2xf32>, tensor<2x2xf32>) -> tensor<?x2xf32>
  %3 = nn.matmul %2, %1 : (tensor<?x2xf32>, tensor<2x2xf32>) -> tensor<?x2xf32>
  func.return %3 : tensor<?x2xf32>
}
"""


def test_the_summary_says_which_weights_are_rounded_again() -> None:
    """Those of f4E2M1 are integers of half the scale, and stay what they are."""
    module = parse_module(default_environment().new_context(), STORED, "test")
    data = {"x": np.random.default_rng(1).uniform(-1, 1, (8, 2)).astype(np.float32)}
    given = qmlir.quantize(module, data)
    assert "1 constant stored as f8E4M3FN: rounded again where quantized, otherwise f32\n" in given.text()
    assert "f4E2M1FN:" not in given.text()
    assert given.summary().to_dict()["rounded_again"] == {"f8E4M3FN": 1}
