"""Bounds of floats against what the interpreter computes of the extreme integers, and where there is no bound."""

import math

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block

from qmlir.analysis.value_ranges import ValueRanges
from qmlir.dialects.kernel.contraction import MatMulOp
from qmlir.environment import default_environment
from qmlir.interpreter.run import interpret
from qmlir.passes.integer.kernel_simplify_rounding import Magnitudes
from qmlir.text.parsing import parse_module

_ELEMENTS = """
#all = affine_map<(d0) -> (d0)>
func.func @main(%x: tensor<256xi8>, %y: tensor<256xf32>) -> tensor<256xf32> {{
  %e = tensor.empty() : tensor<256xf32>
  %0 = linalg.generic {{indexing_maps = [#all, #all, #all], iterator_types = ["parallel"]}}
      ins(%x, %y : tensor<256xi8>, tensor<256xf32>) outs(%e : tensor<256xf32>) {{
  ^bb0(%a: i8, %f: f32, %o: f32):
    %c = arith.constant -1.3 : f32
    %v = arith.sitofp %a : i8 to f32
    {body}
    linalg.yield %r : f32
  }} -> tensor<256xf32>
  func.return %0 : tensor<256xf32>
}}
"""

_CHANNELS = """
#channel = affine_map<(d0, d1) -> (d1)>
func.func @main(%x: tensor<1x2xi8>, %free: tensor<2xf32>) -> tensor<1x2xf32> {{
  %w = arith.constant dense<[[1, 2], [3, -4]]> : tensor<2x2xi8>
  %m = arith.constant dense<{multipliers}> : tensor<2xf32>
  %0 = kernel.matmul ins(%x, %w : tensor<1x2xi8>, tensor<2x2xi8>) epilogue({operand} : tensor<2xf32>)
      -> tensor<1x2xf32> attributes {{epilogue_maps = [#channel]}} {{
  ^bb0(%sum: i32, %f: f32):
    %s = arith.sitofp %sum : i32 to f32
    %r = arith.mulf %s, %f : f32
    kernel.yield %r : f32
  }}
  func.return %0 : tensor<1x2xf32>
}}
"""


def bound(text: str, kind: type[GenericOp] | type[MatMulOp]) -> float:
    """The magnitude of what the body of the one operation of a kind hands on."""
    module = parse_module(default_environment().new_context(), text, "magnitudes.mlir")
    (function,) = (op for op in module.ops if isinstance(op, FuncOp))
    (op,) = (each for each in function.walk() if isinstance(each, kind))
    block: Block = op.body.block
    assert block.last_op is not None
    return Magnitudes(ValueRanges(function)).of_float(block.last_op.operands[0])


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("%r = arith.mulf %v, %c : f32", 128 * 1.3),
        ("%r = arith.addf %v, %c : f32", 128 + 1.3),
        ("%r = arith.subf %v, %c : f32", 128 + 1.3),
        ("%p = arith.mulf %v, %v : f32\n%r = arith.mulf %p, %c : f32", 128 * 128 * 1.3),
        ("%r = math.fma %v, %c, %v : f32", 128 * 1.3 + 128),
        ("%p = arith.mulf %v, %c : f32\n%r = math.roundeven %p : f32", 128 * 1.3 + 1),
    ],
    ids=["product", "sum", "difference", "two products", "fused", "rounded"],
)
def test_what_integers_and_constants_bound(body: str, expected: float) -> None:
    text = _ELEMENTS.format(body=body)
    found = bound(text, GenericOp)
    assert expected <= found <= expected * (1 + 1e-5)
    module = parse_module(default_environment().new_context(), text, "magnitudes.mlir")
    x, y = np.arange(-128, 128, dtype=np.int8), np.zeros(256, np.float32)
    (computed,) = interpret(module, [x, y]).values()
    assert np.abs(computed).max() <= found


@pytest.mark.parametrize(
    "body",
    [
        "%r = arith.mulf %v, %f : f32",
        "%z = arith.constant 0.0 : f32\n%r = arith.mulf %f, %z : f32",
        "%r = arith.addf %f, %v : f32",
        "%r = arith.divf %v, %c : f32",
        "%n = arith.constant 0x7FC00000 : f32\n%r = arith.addf %v, %n : f32",
        "%n = arith.constant 0xFF800000 : f32\n%r = arith.addf %v, %n : f32",
    ],
    ids=["argument", "zero times an argument", "sum", "another operation", "not a number", "infinity"],
)
def test_what_nothing_bounds(body: str) -> None:
    assert math.isinf(bound(_ELEMENTS.format(body=body), GenericOp))


def test_constants_of_an_epilogue_bound_by_the_largest_of_all_channels() -> None:
    sums = 127 * 3 + 128 * 4
    found = bound(_CHANNELS.format(multipliers="[0.25, -0.5]", operand="%m"), MatMulOp)
    assert sums * 0.5 <= found <= sums * 0.5 * (1 + 1e-5)


@pytest.mark.parametrize(
    ("multipliers", "operand"), [("[0.25, 0x7F800000]", "%m"), ("[0.25, 0x7FC00000]", "%m"), ("[0.25, 0.5]", "%free")]
)
def test_epilogue_operands_that_bound_nothing(multipliers: str, operand: str) -> None:
    assert math.isinf(bound(_CHANNELS.format(multipliers=multipliers, operand=operand), MatMulOp))
