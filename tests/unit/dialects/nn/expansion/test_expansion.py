"""Expanding, tiling, padding in every mode, and masks, on stored elements of every type."""

import pytest

from tests.unit.dialects.nn.lower.driver import check, tensor

ELEMENTS = [
    "f32",
    "f16",
    "bf16",
    "i1",
    "i4",
    "ui8",
    "i64",
    "!quant.uniform<i8:f32, 0.5:-3>",
    "!quant.uniform<u8:f32, 0.5:200>",
]

CASES = [
    ("nn.expand {shape = [2, 3, 1]}", [3, 4], [2, 3, 4]),
    ("nn.expand {shape = [3]}", [], [3]),
    ("nn.expand {shape = [0, 2]}", [1], [0, 2]),
    ("nn.tile {repeats = [2, 1, 3]}", [2, 2, 1], [4, 2, 3]),
    ("nn.tile {repeats = [3]}", [2], [6]),
    ("nn.tile {repeats = [1, 0]}", [2, 2], [2, 0]),
    ("nn.tile {repeats = []}", [], []),
    ("nn.pad {pads = [1, 0, 0, 2]}", [2, 3], [3, 5]),
    ("nn.pad {pads = [-1, 2, 0, -1]}", [3, 3], [2, 4]),
    ("nn.pad {pads = [1, 1]}", [0], [2]),
    ('nn.pad {pads = [2, 1], axes = [-2], mode = "edge"}', [2, 2], [5, 2]),
    ('nn.pad {pads = [2, 1, 1, 5], mode = "reflect"}', [3, 3], [6, 9]),
    ('nn.pad {pads = [-1, 3, 0, 4], mode = "wrap"}', [3, 2], [2, 9]),
    ("nn.trilu", [2, 3, 3], [2, 3, 3]),
    ("nn.trilu {k = -1, upper = false}", [4, 3], [4, 3]),
    ("nn.trilu {k = 9223372036854775807}", [2, 2], [2, 2]),
]


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize(("operation", "operand", "result"), CASES)
def test_every_element_type(operation: str, operand: list[int], result: list[int], element: str) -> None:
    check(operation, [tensor(operand, element)], [tensor(result, element)], seeds=(0,))


PER_AXIS = "!quant.uniform<i8:f32:{}, {{0.5, 0.25:-7, 1.5:9}}>"


@pytest.mark.parametrize(
    ("operation", "operand", "result", "axis"),
    [
        ("nn.pad {pads = [0, 1, 0, 2]}", [3, 2], [3, 5], 0),
        ('nn.pad {pads = [1, 0, 1, 0], mode = "edge"}', [2, 3], [4, 3], 1),
        ("nn.trilu", [3, 3], [3, 3], 1),
        ("nn.expand {shape = [2, 3, 2]}", [3, 1], [2, 3, 2], 0),
        ("nn.tile {repeats = [1, 3]}", [3, 1], [3, 3], 0),
    ],
)
def test_parameters_for_each_channel(operation: str, operand: list[int], result: list[int], axis: int) -> None:
    moved = axis + len(result) - len(operand)
    check(operation, [tensor(operand, PER_AXIS.format(axis))], [tensor(result, PER_AXIS.format(moved))])


@pytest.mark.parametrize(
    "value",
    [
        "tensor<f32>",
        "tensor<1xf32>",
        "dense<0x7FC00000> : tensor<f32>",
        "dense<-0.0> : tensor<1xf32>",
    ],
)
def test_padding_by_a_value(value: str) -> None:
    check("nn.pad {pads = [1, 0, 0, 2]}", ["tensor<2x3xf32>", value], ["tensor<3x5xf32>"])


@pytest.mark.parametrize("value", ["tensor<{}>", "dense<-5> : tensor<i8> -> tensor<{}>"])
def test_padding_by_a_stored_value(value: str) -> None:
    element = "!quant.uniform<i8:f32, 0.5:-3>"
    check("nn.pad {pads = [1, 1]}", [f"tensor<2x{element}>", value.format(element)], [f"tensor<4x{element}>"])


def test_mask_of_a_shift_at_run_time() -> None:
    check("nn.trilu", ["tensor<3x4xi8>", "tensor<i64>"], ["tensor<3x4xi8>"], seeds=range(4))
