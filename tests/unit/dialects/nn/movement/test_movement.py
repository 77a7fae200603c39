"""Movement keeps stored elements of every type where the meaning puts them."""

import pytest

from tests.unit.dialects.nn.lower.driver import check, tensor

ELEMENTS = [
    "f32",
    "f64",
    "f16",
    "bf16",
    "i1",
    "i4",
    "ui8",
    "i64",
    "!quant.uniform<i8:f32, 0.5:-3>",
    "!quant.uniform<u16:f32, 0.01:700>",
    "!quant.uniform<i4:f32, 0.5>",
    "!quant.calibrated<f32<-1.0:1.0>>",
]

CASES = [
    ("nn.reshape", [[2, 6]], [[3, 4]]),
    ("nn.reshape", [[1, 1]], [[]]),
    ("nn.squeeze {axes = [-3]}", [[1, 2, 3]], [[2, 3]]),
    ("nn.squeeze", [[1, 2, 1]], [[2]]),
    ("nn.unsqueeze {axes = [0, -1]}", [[2, 3]], [[1, 2, 3, 1]]),
    ("nn.transpose {permutation = [2, 0, 1]}", [[2, 3, 4]], [[4, 2, 3]]),
    ("nn.transpose {permutation = []}", [[]], [[]]),
    ("nn.slice {starts = [1], ends = [5], axes = [1], steps = [2]}", [[2, 6]], [[2, 2]]),
    ("nn.slice {starts = [-1, 1], ends = [-100, 3], axes = [0, -1], steps = [-1, 1]}", [[4, 3]], [[4, 2]]),
    ("nn.slice {starts = [7, 3], ends = [0, -9], steps = [-2, -3]}", [[7, 5]], [[3, 2]]),
    ("nn.slice {starts = [4], ends = [2]}", [[5, 2]], [[0, 2]]),
    ("nn.concat {axis = -1}", [[2, 3], [2, 1], [2, 2]], [[2, 6]]),
    ("nn.concat {axis = 0}", [[2, 3], [0, 3]], [[2, 3]]),
    ("nn.concat {axis = 0}", [[3]], [[3]]),
    ("nn.split {axis = 1}", [[2, 5]], [[2, 3], [2, 2]]),
    ("nn.split {axis = -2, split = [1, 0, 3]}", [[4, 2]], [[1, 2], [0, 2], [3, 2]]),
    ('nn.depth_to_space {block_size = 2, mode = "DCR"}', [[1, 8, 2, 3]], [[1, 2, 4, 6]]),
    ('nn.depth_to_space {block_size = 2, mode = "CRD"}', [[2, 4, 1, 3]], [[2, 1, 2, 6]]),
    ('nn.space_to_depth {block_size = 2, mode = "DCR"}', [[1, 2, 4, 6]], [[1, 8, 2, 3]]),
    ('nn.space_to_depth {block_size = 2, mode = "CRD"}', [[1, 2, 2, 2]], [[1, 8, 1, 1]]),
]


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize(("operation", "operands", "results"), CASES)
def test_every_element_type(operation: str, operands: list[list[int]], results: list[list[int]], element: str) -> None:
    types = [[tensor(shape, element) for shape in shapes] for shapes in (operands, results)]
    check(operation, *types, seeds=(0,))


PER_AXIS = "!quant.uniform<i8:f32:{}, {{0.5, 0.25:-7, 1.5:9}}>"


@pytest.mark.parametrize(
    ("operation", "operands", "result"),
    [
        ("nn.transpose {permutation = [1, 0]}", [([3, 2], 0)], ([2, 3], 1)),
        ("nn.reshape", [([4, 3], 1)], ([2, 2, 3], 2)),
        ("nn.slice {starts = [1], ends = [9], axes = [1], steps = [1]}", [([3, 4], 0)], ([3, 3], 0)),
        ("nn.slice {starts = [-1], ends = [-9], axes = [1], steps = [-1]}", [([3, 4], 0)], ([3, 4], 0)),
        ("nn.concat {axis = 0}", [([1, 3], 1), ([2, 3], 1)], ([3, 3], 1)),
    ],
)
def test_parameters_move_along(
    operation: str, operands: list[tuple[list[int], int]], result: tuple[list[int], int]
) -> None:
    types = [tensor(shape, PER_AXIS.format(axis)) for shape, axis in operands]
    check(operation, types, [tensor(result[0], PER_AXIS.format(result[1]))])
