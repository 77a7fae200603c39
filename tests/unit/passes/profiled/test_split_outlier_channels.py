"""Columns that are summed apart: how many, where weights have a scale for each block of the sum."""

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.environment import default_environment
from qmlir.ir.builtin_types import shape_of
from qmlir.quantization.profiles.keys import functions_of
from qmlir.text.parsing import parse_module

_WIDTH = 1024


def _model() -> ModuleOp:
    """A norm, and two products with a relu between them, of which three columns are 50 times as large as the others."""
    random = np.random.default_rng(0)
    up = random.normal(size=(8, _WIDTH)).astype(np.float32)
    up[:, [5, 300, 777]] *= 50
    down = random.normal(size=(_WIDTH, 4)).astype(np.float32)
    weights = [
        f'dense<"0x{each.tobytes().hex()}"> : tensor<{"x".join(map(str, each.shape))}xf32>' for each in (up, down)
    ]
    return parse_module(
        default_environment().new_context(),
        f"""
      func.func @main(%x: tensor<4x8xf32> {{nn.name = "x"}}) -> (tensor<4x4xf32> {{nn.name = "y"}}) {{
        %s = nn.constant dense<1.0> : tensor<8xf32>
        %n = nn.rms_norm %x, %s : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32> {{origin = "norm"}}
        %u = nn.constant {weights[0]}
        %h = nn.matmul %n, %u : (tensor<4x8xf32>, tensor<8x{_WIDTH}xf32>) -> tensor<4x{_WIDTH}xf32> {{origin = "up"}}
        %r = nn.relu %h : tensor<4x{_WIDTH}xf32> {{origin = "relu"}}
        %d = nn.constant {weights[1]}
        %y = nn.matmul %r, %d : (tensor<4x{_WIDTH}xf32>, tensor<{_WIDTH}x4xf32>) -> tensor<4x4xf32> {{origin = "down"}}
        func.return %y : tensor<4x4xf32>
      }}""",
    )


@pytest.mark.parametrize(
    ("granularity", "terms"), [("channel", [16, 1008]), ("block:32", [32, 992]), ("block:128", [_WIDTH])]
)
def test_columns_that_are_summed_apart_are_whole_blocks(granularity: str, terms: list[int]) -> None:
    """16 of them at least, and a sixteenth of all at most."""
    random = np.random.default_rng(1)
    samples = [{"x": random.normal(size=(4, 8)).astype(np.float32)} for _ in range(8)]
    recipe = {"rule": [{"node": "down", "slot": "weight", "granularity": granularity, "storage": "i4"}]}
    made = qmlir.quantize(_model(), samples, recipe=recipe, validate=False, effort=0)
    (function,) = functions_of(made.module)
    products = [op for op in function.walk() if op.name == "nn.matmul"]
    found = [shape_of(op.operands[0])[-1] for op in products]
    assert sorted(each for each in found if each != 8) == terms
