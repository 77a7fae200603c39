"""Functions and sums of floats give the same bits as `nn`, as its parts, at the integer level, and expanded there."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import ModuleOp

from qmlir import registry
from qmlir.environment import default_environment
from qmlir.interpreter.run import interpret
from qmlir.text.parsing import parse_module

TYPE = "tensor<4x6x33xf32>"
VECTOR = "tensor<33xf32>"
POOLED = "tensor<4x6x11xf32>"
GENERATOR = np.random.default_rng(13)

UNARY = ["elu", "erf", "exp", "gelu", "log_softmax", "mish", "selu", "sigmoid", "softmax", "softplus", "swish", "tanh"]

CASES = {
    **{name: f"nn.{name} %x : {TYPE}" for name in UNARY},
    "celu": f"nn.celu %x {{alpha = 2.0}} : {TYPE}",
    "gelu by tanh": f"nn.gelu %x {{tanh_approximation = true}} : {TYPE}",
    "softmax of the middle axis": f"nn.softmax %x {{axis = 1}} : {TYPE}",
    "layer norm": f"nn.layer_norm %x, %w, %w : ({TYPE}, {VECTOR}, {VECTOR}) -> {TYPE}",
    "rms norm": f"nn.rms_norm %x, %w : ({TYPE}, {VECTOR}) -> {TYPE}",
    "lp norm": f"nn.lp_norm %x {{axis = 1}} : {TYPE}",
    **{
        name: f"nn.reduce_{name} %x {{axes = array<i64: 0, 2>}} : ({TYPE}) -> tensor<1x6x1xf32>"
        for name in ("sum", "mean", "prod", "l1", "l2", "sum_square", "log_sum_exp")
    },
    "average pool": f"nn.average_pool %x {{kernel = [4], strides = [3], pads = [2, 1]}} : ({TYPE}) -> {POOLED}",
    "global average pool": f"nn.global_average_pool %x : ({TYPE}) -> tensor<4x6x1xf32>",
}


def _transformed(module: ModuleOp, passes: Sequence[str]) -> ModuleOp:
    context = default_environment().new_context()
    for name in passes:
        registry.load(registry.PASSES[name])().apply(context, module)
    return module


def _bits(module: ModuleOp, inputs: Sequence[npt.NDArray[np.float32]]) -> list[int]:
    (result,) = interpret(module, inputs).values()
    assert result.dtype == np.float32
    return result.view(np.int32).tolist()


@pytest.mark.parametrize("name", CASES)
def test_levels_agree(name: str) -> None:
    result = CASES[name].rpartition("-> ")[2].rpartition(" : ")[2]
    text = (
        f"func.func @main(%x: {TYPE}, %w: {VECTOR}) -> {result} {{\n%0 = {CASES[name]}\nfunc.return %0 : {result}\n}}"
    )
    module = parse_module(default_environment().new_context(), text, "test.mlir")
    x, w = (GENERATOR.standard_normal(shape).astype(np.float32) * 3 for shape in ((4, 6, 33), 33))
    expected = _bits(module, [x, w])
    for passes in (["nn-decompose"], ["convert-nn-to-kernel"], ["math-expand"]):
        assert _bits(_transformed(module, passes), [x, w]) == expected, passes
