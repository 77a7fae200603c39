"""Scales that are powers of two, compiled: a residual block shifts, and gives the integers of the interpreter."""

from fractions import Fraction

import numpy as np
import pytest
from onnx import ModelProto, numpy_helper, parser
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.arithmetic.requantization import Ties
from qmlir.dialects.kernel.ops import RequantizeOp
from qmlir.environment import default_environment
from qmlir.passmanager.manager import run_pipeline
from qmlir.pipelines import COMPILE
from qmlir.text.parsing import parse_module
from tests.unit.dialects.nn.test_requantization_modes import rounded

CHANNELS = 20
"""Not a multiple of the lanes of a register."""


def residual() -> ModelProto:
    random = np.random.default_rng(0)
    model = parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 21]> '
        f"net (float[1, {CHANNELS}, 5, 5] x) => (float[1, {CHANNELS}, 5, 5] y) {{"
        " a = Conv (x, w1, b1) r = Relu (a) d = Conv <pads = [1, 1, 1, 1]> (r, w2, b2) s = Add (r, d) y = Relu (s) }"
    )
    shapes = {"w1": (CHANNELS, CHANNELS, 1, 1), "b1": (CHANNELS,), "w2": (CHANNELS, CHANNELS, 3, 3), "b2": (CHANNELS,)}
    arrays = {name: (random.normal(size=shape) / 5).astype(np.float32) for name, shape in shapes.items()}
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in arrays.items())
    return model


def fused(module: ModuleOp) -> ModuleOp:
    return run_pipeline(module.clone(), COMPILE.text("lower", "fuse"))


@pytest.mark.parametrize(("scheme", "activations"), [("symmetric_pow2", "i8"), ("asymmetric_pow2", "u8")])
def test_a_residual_block(scheme: str, activations: str) -> None:
    samples = np.random.default_rng(1).normal(size=(4, CHANNELS, 5, 5)).astype(np.float32)
    module = qmlir.quantize(
        qmlir.load(residual()), {"x": samples}, scheme=scheme, weight_scheme="symmetric_pow2", activations=activations
    ).module
    assert not any(isinstance(op, RequantizeOp) for op in fused(module).walk())  # 32 bits, and no float
    program = qmlir.compile(module, codegen="llvm")
    for sample in 3 * samples[:, None]:  # beyond the ranges, too
        expected = qmlir.interpret(module, {"x": sample})["y"]
        assert np.unique(expected).size > 20
        np.testing.assert_array_equal(program({"x": sample})["y"], expected)


WEIGHT_SCALES = [2.0**-exponent for exponent in (3, 4, 5, 8, 12, 13, 21, 33, 50)]
"""Those of the channels: from sums nearly as coarse as the residual to sums that do not reach it."""


@pytest.mark.parametrize("ties", list(Ties))
@pytest.mark.parametrize("scale", [0.25, 0.5, 1.0, 8.0])
def test_scales_that_are_far_apart(scale: float, ties: Ties) -> None:
    """A sum of 32 bits and a residual of scale 0.5, against fractions: ties, and sums of all sizes."""
    count = len(WEIGHT_SCALES)
    scales = ", ".join(map(repr, WEIGHT_SCALES))
    random = np.random.default_rng(2)
    weights, bias = random.integers(-128, 128, (count, 9)), random.integers(-(2**30), 2**30, count)
    module = parse_module(
        default_environment().new_context(),
        f"""!x = !quant.uniform<i8:f32, 1.0>
        !r = !quant.uniform<i8:f32, 0.5:3>
        !w = !quant.uniform<i8:f32:0, {{{scales}}}>
        !b = !quant.uniform<i32:f32:0, {{{scales}}}>
        !s = !quant.uniform<i32:f32:1, {{{scales}}}>
        !y = !quant.uniform<i8:f32, {scale}:-5>
        func.func @main(%x: tensor<64x9x!x> {{nn.name = "x"}}, %r: tensor<64x{count}x!r> {{nn.name = "r"}})
            -> (tensor<64x{count}x!y> {{nn.name = "y"}}) {{
          %w = nn.constant dense<{weights.tolist()}> : tensor<{count}x9xi8> -> tensor<{count}x9x!w>
          %b = nn.constant dense<{bias.tolist()}> : tensor<{count}xi32> -> tensor<{count}x!b>
          %0 = nn.fully_connected %x, %w, %b : (tensor<64x9x!x>, tensor<{count}x9x!w>, tensor<{count}x!b>)
              -> tensor<64x{count}x!s>
          %1 = nn.add %0, %r {{requantize = #kernel.requantize<shift, {ties}>}}
              : (tensor<64x{count}x!s>, tensor<64x{count}x!r>) -> tensor<64x{count}x!y>
          func.return %1 : tensor<64x{count}x!y>
        }}""",
    )
    inputs = {"x": random.integers(-128, 128, (64, 9)), "r": random.integers(-128, 128, (64, count))}
    sums = inputs["x"] @ weights.T + bias
    wanted = np.empty((64, count), np.int8)
    for row, channel in np.ndindex(*wanted.shape):
        real = int(sums[row, channel]) * Fraction(WEIGHT_SCALES[channel]) + (
            int(inputs["r"][row, channel]) - 3
        ) * Fraction(1, 2)
        wanted[row, channel] = min(max(rounded(real / Fraction(scale), ties) - 5, -128), 127)
    given = {name: array.astype(np.int8) for name, array in inputs.items()}
    assert qmlir.interpret(module, given)["y"].tolist() == wanted.tolist()
    assert qmlir.compile(module, codegen="llvm")(given)["y"].tolist() == wanted.tolist()
    if ties is Ties.UP and scale >= 0.5:
        assert not any(isinstance(op, RequantizeOp) for op in fused(module).walk())
