"""Packed contractions by hand: what the layouts hold, and what the variants read of signed and unsigned bytes."""

from typing import Any

import numpy as np
import pytest

from qmlir.environment import default_environment
from qmlir.interpreter.run import interpret
from qmlir.text.parsing import parse_module


def _run(operation: str, x: Any, result: str) -> Any:
    element = "i8" if np.asarray(x).dtype == np.int8 else "i16"
    shape = "x".join(map(str, np.shape(x)))
    text = f"""func.func @main(%x: tensor<{shape}x{element}>) -> tensor<{result}xi32> {{
      {operation.replace("X", f"tensor<{shape}x{element}>")}
      ^bb0(%sum: i32):
        kernel.yield %sum : i32
      }}
      func.return %0 : tensor<{result}xi32>
    }}"""
    return interpret(parse_module(default_environment().new_context(), text), {"input0": x})["output0"].tolist()


def _product(variant: str, weights: str, type_: str, flags: str = "") -> str:
    return f"""%w = arith.constant dense<{weights}> : tensor<{type_}>
      %0 = kernel.packed_matmul ins(%x, %w : X, tensor<{type_}>) -> tensor<1x2xi32> attributes {{{flags}
          layout = #kernel.layout<variant = "{variant}", vectors = 1, lanes = 2>}} {{"""


def test_splat_has_the_channels_of_a_term_beside_each_other() -> None:
    x = np.array([[5, -7]], np.int16)
    assert _run(_product("splat", "[[[[1, 3], [2, 4]]]]", "1x1x2x2xi32"), x, "1x2") == [[5 - 14, 15 - 28]]


@pytest.mark.parametrize(
    ("variant", "flags", "added"),
    [
        ("u8s8_dot", "", 128),
        ("u8s8_dot", "input_unsigned,", 0),
        ("s8s8_dot", "", 0),
        ("s8s8_dot", "input_unsigned,", -128),
        ("s8s8_lanes", "", 0),
    ],
)
def test_dots_of_bytes_have_the_terms_of_a_channel_beside_each_other(variant: str, flags: str, added: int) -> None:
    x = np.array([[5, 7, 2]], np.int8)
    found = _run(_product(variant, "[[[[1, 2, 3, 0, 4, 5, 6, 0]]]]", "1x1x1x8xi8", flags), x, "1x2")
    first, second = 5 + 14 + 6, 20 + 35 + 12
    assert found == [[first + 6 * added, second + 15 * added]]


def test_bits_of_weights_of_no_sign_are_what_they_are_less_without_an_offset() -> None:
    """Of the first channel's 32 terms the first and the last are 2, of the second one's the fifth."""
    x = np.zeros((1, 32), np.int8)
    x[0, [0, 4, 31]] = 5, 7, 11
    bytes_ = [1, 0, 0, -128, 2, 0, 0, 0]
    assert _run(_product("s8u1_dot", f"[[[{bytes_}]]]", "1x1x1x8xi8"), x, "1x2") == [[10 + 22, 14]]


def test_bytes_of_two_weights_hold_those_of_steps_behind_each_other() -> None:
    """The first step's weight is in the low bits."""
    x = np.array([[1, 0, 0, 0, 1, 0, 0, 0]], np.int8)
    bytes_ = [1 | (-8 & 15) << 4, 0, 0, 0, 2 | 3 << 4, 0, 0, 0]
    signed = [value - 256 if value > 127 else value for value in bytes_]
    operation = _product("u8s4_dot", f"[[[{signed}]]]", "1x1x1x8xi8", "input_unsigned,")
    assert _run(operation, x, "1x2") == [[1 - 8, 2 + 3]]


def test_a_window_reads_on_through_the_taps_beside_each_other() -> None:
    """Two taps of three channels are a run of six terms, filled up to eight; the last step reads past the image."""
    x = np.array([[[1, 2, 3], [4, 5, 6], [7, 8, 9]]], np.int8)
    operation = """%w = arith.constant dense<[[[[[1, 0, 0, 2], [0, 0, 0, 0]]]]]> : tensor<1x1x1x2x4xi8>
      %0 = kernel.packed_conv ins(%x, %w : X, tensor<1x1x1x2x4xi8>) -> tensor<1x2x1xi32> attributes {
          kernel_shape = array<i64: 2>, strides = array<i64: 1>, dilations = array<i64: 1>, input_unsigned,
          layout = #kernel.layout<variant = "u8s8_dot", vectors = 1, lanes = 1>} {"""
    assert _run(operation, x, "1x2x1") == [[[1 + 2 * 4], [4 + 2 * 7]]]


def test_lanewise_products_go_channel_by_channel() -> None:
    x = np.array([[[1, 2, 3], [4, 5, 6], [7, 8, 9]]], np.int16)
    operation = """%w = arith.constant dense<[[[[[1, 2, 3, 0]], [[10, 20, 30, 0]]]]]> : tensor<1x1x2x1x4xi32>
      %0 = kernel.packed_conv ins(%x, %w : X, tensor<1x1x2x1x4xi32>) -> tensor<1x1x3xi32> attributes {
          kernel_shape = array<i64: 2>, strides = array<i64: 1>, dilations = array<i64: 2>, groups = 3 : i64,
          layout = #kernel.layout<variant = "depthwise", vectors = 1, lanes = 4>} {"""
    assert _run(operation, x, "1x1x3") == [[[1 + 70, 4 + 160, 9 + 270]]]


def test_four_rows_of_a_window_lie_beside_each_other() -> None:
    """Three rows of a window; channels 0 to 3 are lanes of the first register, channel 4 begins the second one."""
    rows = {0: [1, 2, 3, 0], 1: [0, 1, 0, 0], 4: [0, 0, -1, 0]}
    weights = [byte for lane in range(16) for byte in rows.get(lane, [0] * 4)]
    x = np.arange(1, 16, dtype=np.int8).reshape(1, 3, 1, 5)
    operation = f"""%w = arith.constant dense<[[[[[{weights}]]]]]> : tensor<1x1x1x1x1x64xi8>
      %0 = kernel.packed_conv ins(%x, %w : X, tensor<1x1x1x1x1x64xi8>) -> tensor<1x1x1x5xi32> attributes {{
          kernel_shape = array<i64: 3, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 5 : i64,
          input_unsigned, layout = #kernel.layout<variant = "depthwise_dot", vectors = 4, lanes = 4>}} {{"""
    assert _run(operation, x, "1x1x1x5") == [[[[1 + 12 + 33, 7, 0, 0, -15]]]]


def test_two_rows_of_a_window_lie_beside_each_other() -> None:
    """The third row of the window begins the second group; channels 0 to 3 are lanes of the first register."""
    rows = {0: [1, 2], 1: [0, 300], 4: [0, -1], 8: [3, 0], 12: [-300, 0]}
    weights = [each for lane in range(16) for each in rows.get(lane, [0] * 2)]
    x = np.arange(-1, 14, dtype=np.int8).reshape(1, 3, 1, 5)
    operation = f"""%w = arith.constant dense<[[[[[{weights[:16]}]], [[{weights[16:]}]]]]]> : tensor<1x1x2x1x1x16xi16>
      %0 = kernel.packed_conv ins(%x, %w : X, tensor<1x1x2x1x1x16xi16>) -> tensor<1x1x1x5xi32> attributes {{
          kernel_shape = array<i64: 3, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 5 : i64,
          layout = #kernel.layout<variant = "depthwise_pairs", vectors = 2, lanes = 4>}} {{"""
    assert _run(operation, x, "1x1x1x5") == [[[[-1 + 8 + 27, 1500, 0, 0, -8 - 3900]]]]
