"""Products by weights of a few bits that share bytes, against the integers of NumPy; and which are chosen."""

from typing import Any

import numpy as np
import pytest

import qmlir
from qmlir.dialects.kernel.contraction import ContractionOp
from qmlir.dialects.kernel.variants import variant_named
from qmlir.environment import default_environment
from qmlir.interpreter.run import interpret
from qmlir.passmanager.manager import run_pipeline
from qmlir.targets.cpu.isa import predicates
from qmlir.text.parsing import parse_module
from tests.support.contractions import constant, tensor

Array = np.ndarray

VALUES = {
    "s8u4_dot": range(-8, 8), "s8u2_dot": range(-2, 2), "s8u1_dot": [-1, 1],
    "s8u4_short": range(-8, 8), "s8u2_short": range(-2, 2),
}  # fmt: skip


def _text(weights: Array, rows: int, schedule: str = "", zero: int = 0, *, is_unsigned: bool = False) -> str:
    (channels, terms), element = weights.shape, f"i{8 if np.abs(weights).max() > 8 else 4 if weights.max() > 1 else 2}"
    attributes = [f"input_zero_point = {zero} : i32", "epilogue_maps = [affine_map<(d0, d1) -> (d1)>]"]
    attributes += ["input_unsigned"] * is_unsigned + [f"schedule = #kernel.schedule<{schedule}>"] * bool(schedule)
    x, y = tensor((rows, terms), "i8"), tensor((rows, channels), "i32")
    w = f"arith.constant dense<{weights.tolist()}> : {tensor(weights.shape, element)}"
    return f"""func.func @main(%x: {x}) -> {y} {{
      %w = {w}
      %b = {constant(np.arange(channels, dtype=np.int32), "i32")}
      %0 = kernel.matmul ins(%x, %w : {x}, {tensor(weights.shape, element)}) epilogue(%b : {tensor((channels,), "i32")})
          -> {y} attributes {{{", ".join(attributes)}}} {{
      ^bb0(%acc: i32, %bias: i32):
        %1 = arith.addi %acc, %bias : i32
        kernel.yield %1 : i32
      }}
      func.return %0 : {y}
    }}"""


def _parsed(text: str) -> Any:
    return parse_module(default_environment().new_context(), text)


@pytest.mark.parametrize(
    ("variant", "is_unsigned"),
    [
        ("s8u4_dot", True), ("s8u2_dot", False), ("s8u1_dot", True), ("s8u4_short", False), ("s8u2_short", True),
        ("i16_bytes", False),
    ],
)  # fmt: skip
def test_products(variant: str, is_unsigned: bool) -> None:
    """Terms that fill no byte, a vector that is not full, and a tile that is smaller."""
    rows, channels, terms = 3, 11, 37
    random = np.random.default_rng(channels)
    weights = random.choice(VALUES.get(variant, range(-128, 128)), (channels, terms))
    low, zero = (0, 200) if is_unsigned else (-128, -7)
    wide = random.integers(low, low + 256, (rows, terms))
    wide[0] = np.where(weights[0] > 0, low + 255, low)  # sums that are as large as they can be
    x = wide.astype(np.uint8).view(np.int8)
    expected = (wide - zero) @ weights.T + np.arange(channels)
    group = variant_named(variant).group
    schedule = f'variant = "{variant}", rows = 2, vectors = 2, lanes = 4, k_unroll = {group}'
    module = _parsed(_text(weights, rows, schedule, zero, is_unsigned=is_unsigned))
    packed = run_pipeline(module.clone(), "kernel-assign-schedule{isa=generic},kernel-pack")
    assert variant in str(packed)
    for results in (interpret(packed, [x]), qmlir.compile(module, isa="generic", codegen="llvm")([x])):
        (found,) = results.values()
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("variant", VALUES)
def test_packed_bytes_give_the_weights_back(variant: str) -> None:
    known = variant_named(variant)
    more, bits = known.weight_offset, 8 // known.parts
    layout = known.layout(known, 1, 4, 1, 4, (), 70)
    weights = np.random.default_rng(0).choice(VALUES[variant], (1, 4, 70)).astype(np.int8)
    packed = layout.pack(weights + more)
    assert packed.nbytes == 4 * -(-70 // (4 * known.parts)) * 4 == packed.size
    assert packed.nbytes * 8 >= weights.size * bits
    np.testing.assert_array_equal(layout.unpack(packed) - more, weights)


@pytest.mark.parametrize(
    ("isa", "values", "rows", "terms", "chosen"),
    [
        ("avx512-vnni", [-1, 1], 1, 4096, "s8u1_dot"),
        ("avx512-vnni", [-1, 0, 1], 1, 4096, "s8u2_dot"),
        ("avx512-vnni", [-1, 0, 1], 8, 4096, "u8s2_dot"),  # of which many use each weight
        ("avx512-vnni", [-1, 1], 1, 64, "u8s2_dot"),  # whose sum of the row would take longer
        ("avx512-vnni", [-7, 0, 7], 1, 4096, "s8u4_dot"),
        ("avx2", [-1, 0, 1], 1, 4096, "s8u2_short"),
        ("avx2", [-7, 0, 7], 1, 4096, "s8u4_short"),
        ("avx2", [-7, 0, 7], 8, 4096, "u8s4_short"),
        ("avx2", [-128, -127, 127], 1, 4096, "i16_bytes"),
    ],
)
def test_one_row_of_many_weights(
    isa: str, values: list[int], rows: int, terms: int, chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predicates, "MASKED_PRODUCTS", 4 * 4096)  # a million weights take long to read
    weights = np.resize(values, (4, terms))
    module = run_pipeline(_parsed(_text(weights, rows)), f'kernel-assign-schedule{{isa="{isa}"}}')
    (op,) = (op for op in module.walk() if isinstance(op, ContractionOp))
    assert op.schedule is not None
    assert op.schedule.variant == chosen


def test_zero_points_of_channels() -> None:
    """What is more in the packed weights is so whether there is one zero point or one for each channel."""
    random = np.random.default_rng(3)
    weights, zeros = random.choice([-1, 0], (8, 37)), np.arange(8) % 2 - 1
    x = random.integers(-128, 128, (2, 37)).astype(np.int8)
    ins = f"{tensor((2, 37), 'i8')}, {tensor((8, 37), 'i2')}"
    schedule = 'variant = "s8u2_dot", rows = 2, vectors = 2, lanes = 4, k_unroll = 4'
    module = _parsed(f"""func.func @main(%x: {tensor((2, 37), "i8")}) -> tensor<2x8xi32> {{
      %w = arith.constant dense<{weights.tolist()}> : {tensor((8, 37), "i2")}
      %z = {constant(zeros.astype(np.int32), "i32")}
      %0 = kernel.matmul ins(%x, %w : {ins}) weight_zero_points(%z : tensor<8xi32>) -> tensor<2x8xi32> attributes {{
        schedule = #kernel.schedule<{schedule}>}} {{
      ^bb0(%acc: i32):
        kernel.yield %acc : i32
      }}
      func.return %0 : tensor<2x8xi32>
    }}""")
    expected = x.astype(int) @ (weights - zeros[:, None]).T
    packed = run_pipeline(module.clone(), "kernel-assign-schedule{isa=generic},kernel-pack")
    assert "s8u2_dot" in str(packed)
    for results in (interpret(packed, [x]), qmlir.compile(module, isa="generic", codegen="llvm")([x])):
        np.testing.assert_array_equal(next(iter(results.values())), expected)


def test_a_bias_first_is_added_once() -> None:
    """Sums of signs are doubled at their end, so they do not begin with what is added to them."""
    layout = '#kernel.layout<variant = "s8u1_dot", vectors = 1, lanes = 4>'
    weights = [1, 0, 0, -128, 2, 0, 0, 0, 1, 1, 1, 1, 3, 3, 3, 3]
    module = _parsed(f"""func.func @main(%x: tensor<1x32xi8>) -> tensor<1x4xi32> {{
      %w = arith.constant dense<[[[{weights}]]]> : tensor<1x1x1x16xi8>
      %b = arith.constant dense<[1000, 2000, 3000, 4000]> : tensor<4xi32>
      %0 = kernel.packed_matmul ins(%x, %w : tensor<1x32xi8>, tensor<1x1x1x16xi8>) epilogue(%b : tensor<4xi32>)
          -> tensor<1x4xi32> attributes {{epilogue_maps = [affine_map<(d0, d1) -> (d1)>], layout = {layout}}} {{
      ^bb0(%sum: i32, %bias: i32):
        %1 = arith.addi %sum, %bias : i32
        kernel.yield %1 : i32
      }}
      func.return %0 : tensor<1x4xi32>
    }}""")
    x = np.random.default_rng(0).integers(-128, 128, (1, 32)).astype(np.int8)
    (compiled,) = qmlir.compile(module, isa="generic", codegen="llvm")([x]).values()
    np.testing.assert_array_equal(compiled, next(iter(interpret(module, [x]).values())))
