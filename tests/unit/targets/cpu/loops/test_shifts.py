"""Scales that are powers of two, compiled: a residual block shifts, and gives the integers of the interpreter."""

import numpy as np
import pytest
from onnx import ModelProto, numpy_helper, parser
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.dialects.kernel.ops import RequantizeOp
from qmlir.passmanager.manager import run_pipeline
from qmlir.pipelines import COMPILE

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
