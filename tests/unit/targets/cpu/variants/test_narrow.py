"""Products by weights of 2 bits and of signs that share bytes, against the integers of NumPy; and which are chosen."""

from typing import Any

import numpy as np
import pytest

import qmlir
from qmlir.dialects.kernel.contraction import ContractionOp
from qmlir.dialects.kernel.variants import variant_named
from qmlir.environment import default_environment
from qmlir.interpreter.run import interpret
from qmlir.passmanager.running import run_pipeline
from qmlir.text.parsing import parse_module
from tests.support.contractions import constant, tensor

Array = np.ndarray

VALUES = {"s8u2_dot": [-2, -1, 0, 1], "s8u1_dot": [-1, 1]}


def _text(weights: Array, rows: int, schedule: str = "", zero: int = 0, *, is_unsigned: bool = False) -> str:
    channels, terms = weights.shape
    attributes = [f"input_zero_point = {zero} : i32", "epilogue_maps = [affine_map<(d0, d1) -> (d1)>]"]
    attributes += ["input_unsigned"] * is_unsigned + [f"schedule = #kernel.schedule<{schedule}>"] * bool(schedule)
    x, y = tensor((rows, terms), "i8"), tensor((rows, channels), "i32")
    w = f"arith.constant dense<{weights.tolist()}> : {tensor(weights.shape, 'i2')}"
    return f"""func.func @main(%x: {x}) -> {y} {{
      %w = {w}
      %b = {constant(np.arange(channels, dtype=np.int32), "i32")}
      %0 = kernel.matmul ins(%x, %w : {x}, {tensor(weights.shape, "i2")}) epilogue(%b : {tensor((channels,), "i32")})
          -> {y} attributes {{{", ".join(attributes)}}} {{
      ^bb0(%acc: i32, %bias: i32):
        %1 = arith.addi %acc, %bias : i32
        kernel.yield %1 : i32
      }}
      func.return %0 : {y}
    }}"""


def _parsed(text: str) -> Any:
    return parse_module(default_environment().new_context(), text)


@pytest.mark.parametrize(("variant", "is_unsigned"), [("s8u2_dot", False), ("s8u1_dot", True)])
def test_products(variant: str, is_unsigned: bool) -> None:
    """Terms that fill no byte, a vector that is not full, and a tile that is smaller."""
    rows, channels, terms = 3, 11, 37
    random = np.random.default_rng(channels)
    weights = random.choice(VALUES[variant], (channels, terms))
    low, zero = (0, 200) if is_unsigned else (-128, -7)
    wide = random.integers(low, low + 256, (rows, terms))
    wide[0] = np.where(weights[0] > 0, low + 255, low)  # sums that are as large as they can be
    x = wide.astype(np.uint8).view(np.int8)
    expected = (wide - zero) @ weights.T + np.arange(channels)
    schedule = f'variant = "{variant}", rows = 2, vectors = 2, lanes = 4, k_unroll = 4'
    module = _parsed(_text(weights, rows, schedule, zero, is_unsigned=is_unsigned))
    packed = run_pipeline(module.clone(), "kernel-assign-schedule{isa=generic},kernel-pack")
    assert variant in str(packed)
    for results in (interpret(packed, [x]), qmlir.compile(module, isa="generic")([x])):
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
    ("values", "rows", "terms", "chosen"),
    [
        ([-1, 1], 1, 4096, "s8u1_dot"),
        ([-1, 0, 1], 1, 4096, "s8u2_dot"),
        ([-1, 0, 1], 8, 4096, "u8s2_dot"),  # of which many use each weight
        ([-1, 1], 1, 64, "u8s2_dot"),  # whose sum of the row would take longer
    ],
)
def test_one_row_of_many_weights(values: list[int], rows: int, terms: int, chosen: str) -> None:
    weights = np.resize(values, (4, terms))
    module = run_pipeline(_parsed(_text(weights, rows)), "kernel-assign-schedule{isa=avx512-vnni}")
    (op,) = (op for op in module.walk() if isinstance(op, ContractionOp))
    assert op.schedule is not None
    assert op.schedule.variant == chosen
