"""Shifts of 32 bits against `round(v / 2^s) + z` in fractions, on every value of 8 bits."""

from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import ModuleOp

from qmlir.dialects.kernel.ops import RequantizeOp
from qmlir.environment import default_environment
from qmlir.interpreter.interpreter import Interpreter
from qmlir.ir.verification import verify
from qmlir.passes.integer.kernel_simplify_rounding import KernelSimplifyRounding
from qmlir.text.parsing import parse_module

TIES = ["up", "even", "away"]
EVERY = np.arange(-128, 128, dtype=np.int8)

Array = npt.NDArray[Any]


def rounded(value: Fraction, ties: str) -> int:
    """A fraction rounded to the nearest integer."""
    below, rest = floor(value), value - floor(value)
    is_up = {"up": True, "even": below % 2 == 1, "away": value > 0}[ties]
    return below + (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and is_up))


def expected(sums: Array, positions: int, ties: str, zero_point: int, limits: tuple[int, int]) -> list[int]:
    exact = (rounded(Fraction(int(each)) / Fraction(2) ** positions, ties) + zero_point for each in sums)
    return [min(max(each, limits[0]), limits[1]) for each in exact]


def simplified(text: str) -> ModuleOp:
    context = default_environment().new_context()
    module = parse_module(context, text, "shifts.mlir")
    KernelSimplifyRounding().apply(context, module)
    verify(module)
    return module


def is_written(module: ModuleOp) -> bool:
    return not any(isinstance(op, RequantizeOp) for op in module.walk())


def requantization(ties: str, zero_point: int, limits: tuple[int, int], result: str) -> str:
    return f"""%q = kernel.requantize %t, %s {{mode = #kernel.requantize<shift, {ties}>,
        zero_point = {zero_point} : i64,
        minimum = {limits[0]} : i64, maximum = {limits[1]} : i64}} : i32, i8 -> {result}"""


def elementwise(positions: int, ties: str, zero_point: int, limits: tuple[int, int], result: str, factor: int) -> str:
    return f"""#id = affine_map<(d0) -> (d0)>
    func.func @main(%x: tensor<256xi8>) -> tensor<256x{result}> {{
      %e = tensor.empty() : tensor<256x{result}>
      %0 = linalg.generic {{indexing_maps = [#id, #id], iterator_types = ["parallel"]}}
          ins(%x : tensor<256xi8>) outs(%e : tensor<256x{result}>) {{
      ^bb0(%a: i8, %o: {result}):
        %v = arith.extsi %a : i8 to i32
        %f = arith.constant {factor} : i32
        %t = arith.muli %v, %f : i32
        %s = arith.constant {positions} : i8
        {requantization(ties, zero_point, limits, result)}
        linalg.yield %q : {result}
      }} -> tensor<256x{result}>
      func.return %0 : tensor<256x{result}>
    }}"""


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize(
    ("result", "limits", "zero_point"),
    [
        ("i8", (-128, 127), 0),
        ("i8", (-100, 90), -7),
        ("i8", (0, 255), 128),
        ("i4", (-8, 7), 3),
        ("i32", (-9999, 9999), 5),
    ],
)
def test_one_shift(ties: str, result: str, limits: tuple[int, int], zero_point: int) -> None:
    for positions, factor in ((-4, 1), (0, 3), (1, 1), (2, 3), (7, 5), (8, 1), (9, 128), (31, 1), (32, 1), (100, 3)):
        module = simplified(elementwise(positions, ties, zero_point, limits, result, factor))
        assert is_written(module)
        (found,) = Interpreter(module).call("main", [EVERY])
        wanted = expected(EVERY.astype(int) * factor, positions, ties, zero_point, limits)
        modulus = 1 << int(result[1:])  # memory does not say whether integers are signed
        np.testing.assert_array_equal(found.astype(int) % modulus, np.array(wanted) % modulus)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize(
    ("result", "positions", "limits", "zero_point", "is_direct"),
    [
        ("i64", 0, (-123, 132), 5, True),
        ("i64", 0, (-128, 127), 5, False),  # 127 + 5 is above
        ("i64", 0, (-128, 127), -5, False),
        ("i64", -2, (-512, 512), 5, False),  # 4 * 127 + 5 is above
        ("i40", 1, (-(1 << 39), (1 << 39) - 1), 5, True),
        ("i40", 1, (-3, 3), 0, False),
    ],
)
def test_results_of_more_than_32_bits(
    ties: str, result: str, positions: int, limits: tuple[int, int], zero_point: int, is_direct: bool
) -> None:
    module = simplified(elementwise(positions, ties, zero_point, limits, result, 1))
    (found,) = Interpreter(module).call("main", [EVERY])
    np.testing.assert_array_equal(found, expected(EVERY.astype(int), positions, ties, zero_point, limits))
    assert is_written(module) == is_direct


@pytest.mark.parametrize(
    ("positions", "factor"),
    [
        (32, 1 << 23),  # the half would not be one of 32 bits
        (-25, 1),  # neither would -128 * 2^25
        (-32, 0),  # a shift of 32 bits has no result in 32 bits, not even of 0
        (30, 16777216 - 1),  # sums up to 2^31 - 128, and the half is 2^29
    ],
)
def test_what_32_bits_do_not_hold_stays(positions: int, factor: int) -> None:
    module = simplified(elementwise(positions, "up", 0, (-128, 127), "i8", factor))
    assert not is_written(module)
    (found,) = Interpreter(module).call("main", [EVERY])
    np.testing.assert_array_equal(found, expected(EVERY.astype(int) * factor, positions, "up", 0, (-128, 127)))


def product(shifts: list[int], bias: list[int], ties: str, zero_point: int) -> str:
    count = len(shifts)
    return f"""#channel = affine_map<(d0, d1) -> (d1)>
    func.func @main(%x: tensor<256x1xi8>) -> tensor<256x{count}xi8> {{
      %w = arith.constant dense<{[[3]] * count}> : tensor<{count}x1xi8>
      %b = arith.constant dense<{bias}> : tensor<{count}xi32>
      %p = arith.constant dense<{shifts}> : tensor<{count}xi8>
      %0 = kernel.matmul ins(%x, %w : tensor<256x1xi8>, tensor<{count}x1xi8>)
          epilogue(%b, %p : tensor<{count}xi32>, tensor<{count}xi8>) -> tensor<256x{count}xi8>
          attributes {{epilogue_maps = [#channel, #channel]}} {{
      ^bb0(%sum: i32, %add: i32, %s: i8):
        %t = arith.addi %sum, %add : i32
        {requantization(ties, zero_point, (-128, 127), "i8")}
        kernel.yield %q : i8
      }}
      func.return %0 : tensor<256x{count}xi8>
    }}"""


LARGEST = (1 << 31) - 1


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize(
    ("shifts", "bias", "is_direct"),
    [
        ([3, 3, 3], [-5, 0, 9], True),
        ([0, 1, 2, 8], [0, 1, -2, 77], True),
        ([-1, -2], [4, -4], True),
        ([-1, 0], [4, -4], True),
        ([-2, 0, 5], [4, -4, 3], True),  # to the left and to the right
        ([0, 60, 9, 10], [0, 0, 127, 128], True),  # sums up to 512: 60 positions leave what 11 do
        ([-23, 1], [0, 0], False),  # 384 * 2^23 needs a 33rd bit
        ([3, 4], [0, LARGEST - 384], False),  # no half fits above the largest sum
        ([3, 4], [0, LARGEST - 400], True),  # the half does, the zero point before the shift does not
    ],
)
def test_shifts_of_channels(shifts: list[int], bias: list[int], is_direct: bool, ties: str) -> None:
    module = simplified(product(shifts, bias, ties, 11))
    assert is_written(module) == is_direct
    (found,) = Interpreter(module).call("main", [EVERY.reshape(-1, 1)])
    for channel, (positions, added) in enumerate(zip(shifts, bias, strict=True)):
        wanted = expected(EVERY.astype(int) * 3 + added, positions, ties, 11, (-128, 127))
        np.testing.assert_array_equal(found[:, channel], wanted)


ANY = f"zero_point = 0 : i64, minimum = {-(1 << 61)} : i64, maximum = {1 << 61} : i64"


@pytest.mark.parametrize("ties", TIES)
def test_operands_that_meet_in_64_bits_are_added_in_32(ties: str) -> None:
    """The sum of a contraction and a residual that is shifted to its scale, as they are lowered."""
    module = simplified(f"""#channel = affine_map<(d0, d1) -> (d1)>
    #all = affine_map<(d0, d1) -> (d0, d1)>
    func.func @main(%x: tensor<256x1xi8>, %r: tensor<256x2xi8>) -> tensor<256x2xi8> {{
      %w = arith.constant dense<[[3], [-5]]> : tensor<2x1xi8>
      %b = arith.constant dense<[100, -9]> : tensor<2xi32>
      %l = arith.constant dense<[-4, -3]> : tensor<2xi8>
      %p = arith.constant dense<[5, 4]> : tensor<2xi8>
      %0 = kernel.matmul ins(%x, %w : tensor<256x1xi8>, tensor<2x1xi8>)
          epilogue(%b, %r, %l, %p : tensor<2xi32>, tensor<256x2xi8>, tensor<2xi8>, tensor<2xi8>) -> tensor<256x2xi8>
          attributes {{epilogue_maps = [#channel, #all, #channel, #channel]}} {{
      ^bb0(%sum: i32, %add: i32, %other: i8, %left: i8, %s: i8):
        %0 = arith.addi %sum, %add : i32
        %1 = arith.extsi %other : i8 to i64
        %2 = kernel.requantize %1, %left {{mode = #kernel.requantize<shift, {ties}>, {ANY}}} : i64, i8 -> i64
        %3 = arith.extsi %0 : i32 to i64
        %zero = arith.constant 0 : i8
        %4 = kernel.requantize %3, %zero {{mode = #kernel.requantize<shift, {ties}>, {ANY}}} : i64, i8 -> i64
        %t = arith.addi %2, %4 : i64
        {requantization(ties, -3, (-128, 127), "i8").replace("i32, i8 ->", "i64, i8 ->")}
        kernel.yield %q : i8
      }}
      func.return %0 : tensor<256x2xi8>
    }}""")
    assert is_written(module)
    assert "i64" not in str(module)
    assert ("dense<[20, -49]>" in str(module)) == (ties == "up")  # 100 + 16 - 3 * 32 and -9 + 8 - 3 * 16
    residual = np.random.default_rng(0).integers(-128, 128, (256, 2)).astype(np.int8)
    (found,) = Interpreter(module).call("main", [EVERY.reshape(-1, 1), residual])
    for channel, (weight, bias, left, positions) in enumerate([(3, 100, 4, 5), (-5, -9, 3, 4)]):
        sums = EVERY.astype(int) * weight + bias + residual[:, channel].astype(int) * (1 << left)
        np.testing.assert_array_equal(found[:, channel], expected(sums, positions, ties, -3, (-128, 127)))


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize(("before", "bias"), [([4, 3], [100, -9]), ([0, 40], [LARGEST - 384, 7])])
def test_a_part_of_a_sum_that_is_shifted_right_in_64_bits(before: list[int], bias: list[int], ties: str) -> None:
    """The sum of a contraction and a residual of a coarser scale, as they are lowered if ties are up."""
    module = simplified(f"""#channel = affine_map<(d0, d1) -> (d1)>
    #all = affine_map<(d0, d1) -> (d0, d1)>
    func.func @main(%x: tensor<256x1xi8>, %r: tensor<256x2xi8>) -> tensor<256x2xi8> {{
      %w = arith.constant dense<[[3], [-5]]> : tensor<2x1xi8>
      %b = arith.constant dense<{bias}> : tensor<2xi32>
      %k = arith.constant dense<{before}> : tensor<2xi8>
      %p = arith.constant dense<[2, 1]> : tensor<2xi8>
      %0 = kernel.matmul ins(%x, %w : tensor<256x1xi8>, tensor<2x1xi8>)
          epilogue(%b, %r, %k, %p : tensor<2xi32>, tensor<256x2xi8>, tensor<2xi8>, tensor<2xi8>) -> tensor<256x2xi8>
          attributes {{epilogue_maps = [#channel, #all, #channel, #channel]}} {{
      ^bb0(%sum: i32, %add: i32, %other: i8, %before: i8, %s: i8):
        %0 = arith.addi %sum, %add : i32
        %1 = arith.extsi %0 : i32 to i64
        %2 = arith.extsi %before : i8 to i64
        %3 = arith.shrsi %1, %2 : i64
        %4 = arith.extsi %other : i8 to i64
        %t = arith.addi %3, %4 : i64
        {requantization(ties, -3, (-128, 127), "i8").replace("i32, i8 ->", "i64, i8 ->")}
        kernel.yield %q : i8
      }}
      func.return %0 : tensor<256x2xi8>
    }}""")
    is_narrow = before == [4, 3]  # else the largest sum leaves no room for a residual
    assert is_written(module) == is_narrow
    assert ("i64" not in str(module)) == is_narrow
    folded = "dense<[-60, -49]>"  # 100 + (2 - 3 * 4) * 16 and -9 + (1 - 3 * 2) * 8
    assert (folded in str(module)) == (is_narrow and ties == "up")
    residual = np.random.default_rng(0).integers(-128, 128, (256, 2)).astype(np.int8)
    (found,) = Interpreter(module).call("main", [EVERY.reshape(-1, 1), residual])
    for channel, (weight, added, first, positions) in enumerate(zip((3, -5), bias, before, (2, 1), strict=True)):
        sums = (EVERY.astype(int) * weight + added) // 2**first + residual[:, channel]
        np.testing.assert_array_equal(found[:, channel], expected(sums, positions, ties, -3, (-128, 127)))


@pytest.mark.parametrize(("largest", "is_folded"), [(1 << 24, True), (LARGEST - (1 << 24), False)])
def test_a_zero_point_in_a_shifted_part_fits_the_whole_sum(largest: int, is_folded: bool) -> None:
    module = simplified(f"""#channel = affine_map<(d0, d1) -> (d1)>
    #all = affine_map<(d0, d1) -> (d0, d1)>
    func.func @main(%x: tensor<256x1xi8>, %r: tensor<256x1xi8>) -> tensor<256x1xi8> {{
      %w = arith.constant dense<3> : tensor<1x1xi8>
      %b = arith.constant dense<40> : tensor<1xi32>
      %c = arith.constant dense<{largest}> : tensor<1xi32>
      %0 = kernel.matmul ins(%x, %w : tensor<256x1xi8>, tensor<1x1xi8>)
          epilogue(%b, %c, %r : tensor<1xi32>, tensor<1xi32>, tensor<256x1xi8>) -> tensor<256x1xi8>
          attributes {{epilogue_maps = [#channel, #channel, #all]}} {{
      ^bb0(%sum: i32, %add: i32, %large: i32, %other: i8):
        %0 = arith.extsi %other : i8 to i32
        %1 = arith.addi %0, %add : i32
        %2 = arith.constant 1 : i32
        %3 = arith.shrsi %1, %2 : i32
        %4 = arith.addi %sum, %large : i32
        %t = arith.addi %3, %4 : i32
        %s = arith.constant 20 : i8
        {requantization("up", 100, (-128, 127), "i8")}
        kernel.yield %q : i8
      }}
      func.return %0 : tensor<256x1xi8>
    }}""")
    assert is_written(module)
    assert (f"dense<{40 + 2 * (100 * 2**20 + 2**19)}>" in str(module)) == is_folded
    residual = np.random.default_rng(0).integers(-128, 128, (256, 1)).astype(np.int8)
    (found,) = Interpreter(module).call("main", [EVERY.reshape(-1, 1), residual])
    sums = EVERY.astype(int) * 3 + (residual[:, 0].astype(int) + 40) // 2 + largest
    np.testing.assert_array_equal(found[:, 0], expected(sums, 20, "up", 100, (-128, 127)))
