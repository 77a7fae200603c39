"""Elements in the order of their values, equal ones in the order of their places, and sequences turned around."""

import numpy as np
import pytest

from qmlir.ir.diagnostics import DiagnosticError
from tests.unit.dialects.nn.lower.driver import check, lowered, module_of, tensor

TOP = [
    ("nn.top_k {k = 3}", [2, 7], [2, 3]),
    ("nn.top_k {k = 2, axis = 0}", [5, 3], [2, 3]),
    ("nn.top_k {k = 4, axis = -2}", [2, 4, 2], [2, 4, 2]),
    ("nn.top_k {k = 0}", [3], [0]),
    ("nn.top_k {k = 1}", [1], [1]),
    ("nn.top_k {k = 2, largest = false}", [3, 5], [3, 2]),
    ("nn.top_k {k = 3}", [2, 40], [2, 3]),
    ("nn.top_k {k = 2, largest = false, axis = 1}", [2, 29, 3], [2, 2, 3]),
    ("nn.top_k {k = 1, axis = 0}", [14, 2], [1, 2]),
]


@pytest.mark.parametrize(
    "element", ["f32", "f64", "f16", "bf16", "i64", "i8", "ui8", "ui64", "i4", "!quant.uniform<u8:f32, 0.5:3>"]
)
@pytest.mark.parametrize(("operation", "operand", "result"), TOP)
def test_top(operation: str, operand: list[int], result: list[int], element: str) -> None:
    check(operation, [tensor(operand, element)], [tensor(result, element), tensor(result, "i64")], seeds=(0, 1, 2))


@pytest.mark.parametrize("largest", ["true", "false"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_top_with_ties_zeros_and_nan(largest: str, dtype: type) -> None:
    numbers = [0.0, np.nan, -0.0, np.inf, -np.inf, 1.0, -np.nan, 0.0, 1.0, -1e-7, 6e-8]
    element = f"f{np.dtype(dtype).itemsize * 8}"
    types = [f"tensor<11x{element}>", "tensor<11xi64>"]
    given = {"input0": np.array(numbers, dtype)}
    check(f"nn.top_k {{k = 11, largest = {largest}}}", types[:1], types, given=given, seeds=(0,))
    given = {"input0": np.array(2 * numbers, dtype)}
    types = [f"tensor<22x{element}>", f"tensor<1x{element}>", "tensor<1xi64>"]
    check(f"nn.top_k {{k = 1, largest = {largest}}}", types[:1], types[1:], given=given, seeds=(0,))


@pytest.mark.parametrize("axes", [(0, 1), (1, 0)])
@pytest.mark.parametrize("element", ["f32", "i1", "!quant.uniform<i8:f32, 0.5>"])
def test_reversed_sequences(axes: tuple[int, int], element: str) -> None:
    time, batch = axes
    shape = [0, 0, 2]
    shape[time], shape[batch] = 4, 5
    operands = [tensor(shape, element), "tensor<5xi64>"]
    given = {"input1": np.array([0, 1, 3, 4, 2])}
    properties = f"{{time_axis = {time}, batch_axis = {batch}}}"
    check(f"nn.reverse_sequence {properties}", operands, [tensor(shape, element)], given=given)


@pytest.mark.parametrize(
    ("operation", "results"),
    [("nn.non_zero", ["tensor<1x3xi64>"]), ("nn.unique", ["tensor<3xf32>", *["tensor<3xi64>"] * 3])],
)
def test_sizes_that_depend_on_data(operation: str, results: list[str]) -> None:
    with pytest.raises(DiagnosticError, match="its output shape depends on the data"):
        lowered(module_of(operation, ["tensor<3xf32>"], results))
