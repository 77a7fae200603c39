"""Shapes are constants, and ranges have the length of their result."""

import numpy as np
import pytest

from tests.unit.dialects.nn.lower.driver import check, tensor


@pytest.mark.parametrize(
    ("operation", "operand", "result"),
    [
        ("nn.shape", [2, 0, 3], [3]),
        ("nn.shape {start = -2, end = 5}", [2, 4, 3], [2]),
        ("nn.shape {start = 2}", [2, 4], [0]),
        ("nn.shape", [], [0]),
        ("nn.size", [2, 3], []),
        ("nn.size", [0, 3], []),
        ("nn.size", [], []),
    ],
)
@pytest.mark.parametrize("element", ["f32", "!quant.uniform<i8:f32, 0.5>"])
def test_sizes(operation: str, operand: list[int], result: list[int], element: str) -> None:
    check(operation, [tensor(operand, element)], [tensor(result, "i64")], seeds=(0,))


@pytest.mark.parametrize("shape", ["", "1x"])
@pytest.mark.parametrize(
    ("element", "dtype", "bounds"),
    [
        ("f32", np.float32, (0.1, 2.0, 0.3)),
        ("f64", np.float64, (5.0, -1.0, -0.7)),
        ("f16", np.float16, (1000.0, 1900.0, 130.25)),
        ("i64", np.int64, (7, -9, -4)),
        ("i16", np.int16, (-30000, 30000, 9001)),
        ("ui8", np.uint8, (3, 250, 41)),
        ("f32", np.float32, (3.0, 1.0, 1.0)),
    ],
)
def test_ranges(element: str, dtype: type, bounds: tuple[float, float, float], shape: str) -> None:
    given = {
        f"input{position}": np.full(1, bound, dtype).reshape([1] if shape else [])
        for position, bound in enumerate(bounds)
    }
    start, limit, delta = (array.reshape(()).item() for array in given.values())
    size = max(0, int(np.ceil((limit - start) / delta)))
    check("nn.range", [f"tensor<{shape}{element}>"] * 3, [f"tensor<{size}x{element}>"], given=given)
