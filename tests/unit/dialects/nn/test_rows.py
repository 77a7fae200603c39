"""A contraction as a matrix product of rows: the same sums as those of the interpreter, every one."""

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from qmlir.dialects.nn.contraction.evaluate import rows_of
from qmlir.environment import default_environment
from qmlir.interpreter.run import interpret
from qmlir.text.parsing import parse_module

_CASES = {
    "conv": ("2x4x7x6", "6x2x3x2", "nn.conv", "{groups = 2, strides = [2, 1], pads = [1, 0, 2, 1]}", "2x6x4x6"),
    "dilated": ("1x2x9", "3x2x3", "nn.conv", "{dilations = [2], pads = [2, 2]}", "1x3x9"),
    "transposed": ("2x4x3x4", "4x3x2x3", "nn.conv_transpose", "{groups = 2, strides = [2, 1]}", "2x6x6x6"),
    "matmul": ("2x3x4", "4x5", "nn.matmul", "", "2x3x5"),
    "turned": ("3x4", "5x4", "nn.matmul", "{transpose_b = true}", "3x5"),
    "fully_connected": ("3x4", "5x4", "nn.fully_connected", "", "3x5"),
}


def _module(data: str, weights: str, name: str, properties: str, result: str) -> ModuleOp:
    types = f"(tensor<{data}xf64>, tensor<{weights}xf64>) -> tensor<{result}xf64>"
    return parse_module(
        default_environment().new_context(),
        f"func.func @main(%x: tensor<{data}xf64>, %w: tensor<{weights}xf64>) -> tensor<{result}xf64> {{\n"
        f"  %0 = {name} %x, %w {properties} : {types}\n  func.return %0 : tensor<{result}xf64>\n}}",
    )


@pytest.mark.parametrize("case", _CASES)
def test_rows_by_weights_are_the_sums(case: str) -> None:
    module = _module(*_CASES[case])
    op = next(op for op in module.walk() if op.name == _CASES[case][2])
    rows = rows_of(op)
    assert rows is not None
    assert (rows.data, rows.weight) == tuple(op.operands)
    random = np.random.default_rng(0)
    data, weights = (
        random.integers(-9, 10, tuple(map(int, shape.split("x")))).astype(np.float64) for shape in _CASES[case][:2]
    )
    sums = rows.of_data(data) @ rows.of_weights(weights).swapaxes(1, 2)
    (wanted,) = interpret(module, [data, weights]).values()
    if not case.startswith(("matmul", "turned", "fully")):
        wanted = np.moveaxis(wanted, 1, -1)
    wanted = wanted.reshape(-1, rows.groups, sums.shape[2]).swapaxes(0, 1)
    assert np.array_equal(sums, wanted)
    assert np.array_equal(rows.to_weights(rows.of_weights(weights)), weights)


def test_what_is_no_product_of_rows_by_constant_weights_has_none() -> None:
    stacks = _module("2x3x4", "2x4x5", "nn.matmul", "", "2x3x5")
    sums = _module("2x3", "2x3", "nn.add", "", "2x3")
    assert [rows_of(op) for module in (stacks, sums) for op in module.walk() if op.name.startswith("nn.")] == [None] * 2
