"""Reductions, scans, pools at the integer level: the same values as by their meanings, bit for bit."""

from itertools import product

import numpy as np
import pytest

from qmlir.interpreter.run import interpret
from tests.unit.dialects.nn.lower.driver import check, lowered, module_of

I8 = "!quant.uniform<i8:f32, 0.05:-3>"
U8 = "!quant.uniform<u8:f32, 0.02:128>"
I16 = "!quant.uniform<i16:f32, 0.0007:11>"
AXIS = "!quant.uniform<i8:f32:1, {0.05:1, 0.02:-7, 0.3}>"

REDUCTIONS = ("sum", "mean", "l1", "l2", "log_sum", "log_sum_exp", "sum_square", "max", "min")
QUANTIZED = ("sum", "mean", "max", "min")
FLOATING = ("l2", "log_sum", "log_sum_exp")
"""Those with floats as results that no integer stands for."""


@pytest.mark.parametrize(
    ("name", "element"),
    [
        *product(REDUCTIONS, ("f32", "f64", "f16")),
        *product((name for name in REDUCTIONS if name not in FLOATING), ("i32", "ui8")),
        *product(QUANTIZED, (I8, U8)),
    ],
)
def test_reductions(name: str, element: str) -> None:
    check(
        f"nn.reduce_{name} {{axes = array<i64: 1, -1>}}", [f"tensor<2x3x4x5x{element}>"], [f"tensor<2x1x4x1x{element}>"]
    )
    check(
        f"nn.reduce_{name} {{axes = array<i64: 0>, keep_dims = false}}",
        [f"tensor<6x3x{element}>"],
        [f"tensor<3x{element}>"],
    )


@pytest.mark.parametrize(
    ("name", "element", "columns", "expected"),
    [
        ("l2", "ui8", [(200, 200), (3, 4), (0, 0)], [255, 5, 0]),
        ("l2", "i8", [(-128, -128), (-3, 4), (127, 0)], [127, 5, 127]),
        ("log_sum", "i8", [(0, 0), (1, 1), (127, 127)], [-128, 0, 5]),
        ("log_sum", "ui8", [(0, 0), (1, 1), (255, 255)], [0, 0, 6]),
    ],
)
def test_floats_that_no_integer_stands_for(
    name: str, element: str, columns: list[tuple[int, int]], expected: list[int]
) -> None:
    """By hand: roots and logarithms without what is behind the point, and the nearest integer of the type outside."""
    module = module_of(
        f"nn.reduce_{name} {{axes = array<i64: 0>}}", [f"tensor<2x3x{element}>"], [f"tensor<1x3x{element}>"]
    )
    stored = np.uint8 if element == "ui8" else np.int8
    for each in (module, lowered(module)):
        (found,) = interpret(each, [np.array(columns, stored).T]).values()
        np.testing.assert_array_equal(found, [expected])


@pytest.mark.parametrize("name", ["sum", "mean", "max"])
def test_reductions_of_channels(name: str) -> None:
    check(f"nn.reduce_{name} {{axes = array<i64: 0, 2>}}", [f"tensor<4x3x5x{AXIS}>"], [f"tensor<1x3x1x{AXIS}>"])


LONG = "!quant.uniform<i32:f32, 0.1:-7>"
LONG_AXIS = "!quant.uniform<i32:f32:1, {0.1:1, 0.30000001:-7, 0.1, 0.7, 1.0, 0.05, 0.1, 0.2, 0.1}>"
SHORT_AXIS = "!quant.uniform<u8:f32:1, {0.1:1, 0.30000001:7, 0.1, 0.7, 1.0, 0.05, 0.1, 0.2, 0.1}>"
F64_AXIS = "!quant.uniform<i8:f64:1, {0.1:1, 0.30000001:7, 0.1, 0.7, 1.0, 0.05, 0.1, 0.2, 0.1}>"
SCALE_AXIS = "!quant.uniform<i8:f32:1, {0.1, 0.30000001, 0.1, 0.7, 1.0, 0.05, 0.1, 0.2, 0.1}>"
OTHER_AXIS = "!quant.uniform<i8:f32:2, {0.1:1, 0.30000001:7, 0.1}>"


@pytest.mark.parametrize(
    "element", ["f32", "f16", "i32", "ui8", I8, U8, LONG, LONG_AXIS, SHORT_AXIS, F64_AXIS, SCALE_AXIS, OTHER_AXIS]
)
@pytest.mark.parametrize("name", ["arg_max", "arg_min"])
@pytest.mark.parametrize("last", ["true", "false"])
def test_places(name: str, last: str, element: str) -> None:
    check(
        f"nn.{name} {{axis = 1, keep_dims = false, select_last_index = {last}}}",
        [f"tensor<4x9x3x{element}>"],
        ["tensor<4x3xi64>"],
    )


@pytest.mark.parametrize("element", ["f32", "f64", "i32", "i8"])
@pytest.mark.parametrize("name", ["cum_sum", "cum_prod"])
@pytest.mark.parametrize("flags", ["", "exclusive = true", "reverse = true", "exclusive = true, reverse = true"])
def test_scans(name: str, flags: str, element: str) -> None:
    properties = ", ".join(each for each in ("axis = 1", flags) if each)
    check(f"nn.{name} {{{properties}}}", [f"tensor<2x5x3x{element}>"], [f"tensor<2x5x3x{element}>"])


WINDOWS = (
    ("kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>", "4x3"),
    ("kernel = array<i64: 2, 3>, dilations = array<i64: 2, 1>", "5x4"),
    ("kernel = array<i64: 3, 2>, strides = array<i64: 2, 3>, ceil_mode = true", "3x2"),
)


@pytest.mark.parametrize("element", ["f32", "f64", "f16", I8, U8, AXIS])
@pytest.mark.parametrize(("windows", "sizes"), WINDOWS)
@pytest.mark.parametrize("name", ["max_pool", "average_pool"])
def test_pools(name: str, windows: str, sizes: str, element: str) -> None:
    check(f"nn.{name} {{{windows}}}", [f"tensor<2x3x7x6x{element}>"], [f"tensor<2x3x{sizes}x{element}>"])


@pytest.mark.parametrize("element", ["f32", "f16", I8, I16, AXIS])
@pytest.mark.parametrize("name", ["global_average_pool", "global_max_pool"])
def test_global_pools(name: str, element: str) -> None:
    check(f"nn.{name}", [f"tensor<2x3x4x5x{element}>"], [f"tensor<2x3x1x1x{element}>"])


def test_means_count_the_padding_where_they_are_told_to() -> None:
    windows = "kernel = array<i64: 3, 3>, pads = array<i64: 1, 1, 1, 1>, count_include_pad = true"
    check(f"nn.average_pool {{{windows}}}", [f"tensor<1x2x5x5x{I8}>"], [f"tensor<1x2x5x5x{U8}>"])


@pytest.mark.parametrize("element", ["f32", "f16", "i8", I8, U8])
@pytest.mark.parametrize("column_major", ["true", "false"])
@pytest.mark.parametrize(("windows", "sizes"), WINDOWS)
def test_largest_elements_and_their_numbers(windows: str, sizes: str, column_major: str, element: str) -> None:
    check(
        f"nn.max_pool_with_indices {{{windows}, column_major = {column_major}}}",
        [f"tensor<2x3x7x6x{element}>"],
        [f"tensor<2x3x{sizes}x{element}>", f"tensor<2x3x{sizes}xi64>"],
    )


@pytest.mark.parametrize("column_major", ["true", "false"])
def test_the_first_element_is_the_largest(column_major: str) -> None:
    """Its number is 0, which is a number as any other: what follows is not the first that is found."""
    falling = -np.arange(16, dtype=np.int8).reshape(1, 1, 4, 4)
    windows = f"kernel = array<i64: 2, 2>, column_major = {column_major}"
    operands, results = ["tensor<1x1x4x4xi8>"], ["tensor<1x1x3x3xi8>", "tensor<1x1x3x3xi64>"]
    check(f"nn.max_pool_with_indices {{{windows}}}", operands, results, given={"input0": falling}, seeds=(0,))


@pytest.mark.parametrize("element", ["f32", "f16", "f64"])
@pytest.mark.parametrize("p", [1, 2, 3, 5])
@pytest.mark.parametrize(("windows", "sizes"), WINDOWS)
def test_norms_of_windows(windows: str, sizes: str, p: int, element: str) -> None:
    check(f"nn.lp_pool {{{windows}, p = {p}}}", [f"tensor<2x3x7x6x{element}>"], [f"tensor<2x3x{sizes}x{element}>"])
    check(f"nn.global_lp_pool {{p = {p}}}", [f"tensor<2x3x4x{element}>"], [f"tensor<2x3x1x{element}>"])
