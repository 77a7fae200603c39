"""Booleans, bits of integers of every width, and questions about floats."""

import numpy as np
import pytest

from tests.unit.dialects.nn.lower.driver import check, tensor


@pytest.mark.parametrize("operation", ["nn.and", "nn.or", "nn.xor"])
def test_booleans(operation: str) -> None:
    check(operation, ["tensor<2x3xi1>", "tensor<3xi1>"], ["tensor<2x3xi1>"])
    check(operation, ["tensor<i1>", "tensor<i1>"], ["tensor<i1>"])


def test_not() -> None:
    check("nn.not", ["tensor<5xi1>"], ["tensor<5xi1>"])
    check("nn.not", ["tensor<0xi1>"], ["tensor<0xi1>"])


INTEGERS = ["i2", "ui2", "i4", "ui4", "i8", "ui8", "i16", "ui32", "i64", "ui64"]


@pytest.mark.parametrize("element", INTEGERS)
@pytest.mark.parametrize("operation", ["nn.bitwise_and", "nn.bitwise_or", "nn.bitwise_xor"])
def test_bits(operation: str, element: str) -> None:
    check(operation, [tensor([4, 3], element), tensor([1, 3], element)], [tensor([4, 3], element)])


@pytest.mark.parametrize("element", INTEGERS)
def test_bits_turned_over(element: str) -> None:
    check("nn.bitwise_not", [tensor([9], element)], [tensor([9], element)])


@pytest.mark.parametrize("direction", ["left", "right"])
@pytest.mark.parametrize("element", INTEGERS)
def test_shifts(element: str, direction: str) -> None:
    bits, unsigned = int(element.lstrip("ui")), element.startswith("u")
    numbers = [0, 1, 2, 3] if bits == 2 else [0, 1, 3, 4, 7] if bits == 4 else [0, 1, 3, bits - 1, bits, bits + 1]
    if not unsigned:
        numbers = [number for number in numbers if number < 1 << (bits - 1)] + [-1, -2]
    positions = np.array(numbers, f"{'u' if unsigned else 'i'}{max(bits // 8, 1)}").reshape(-1, 1)
    operands = [tensor([1, 7], element), tensor(list(positions.shape), element)]
    operation = f'nn.bit_shift {{direction = "{direction}"}}'
    check(operation, operands, [tensor([len(numbers), 7], element)], given={"input1": positions})


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize(
    "operation",
    [
        "nn.is_nan",
        "nn.is_inf",
        "nn.is_inf {detect_negative = false}",
        "nn.is_inf {detect_positive = false}",
        "nn.is_inf {detect_positive = false, detect_negative = false}",
    ],
)
def test_questions(operation: str, dtype: type) -> None:
    numbers = np.array([np.nan, np.inf, -np.inf, 0.0, 60000.0], dtype)
    element = f"f{numbers.itemsize * 8}"
    check(operation, [f"tensor<5x{element}>"], ["tensor<5xi1>"], given={"input0": numbers})
