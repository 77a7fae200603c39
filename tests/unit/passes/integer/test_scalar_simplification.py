"""Each simplification of scalars on every value of small integers, before and after."""

import itertools
from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from qmlir.environment import default_environment
from qmlir.interpreter.interpreter import Interpreter
from qmlir.ir.verification import verify
from qmlir.passes.integer.kernel_fuse import KernelFuse
from qmlir.text.parsing import parse_module

VALUES = list(range(-8, 8))
"""Every value of i4."""


def check(bodies: Sequence[str], result: str) -> int:
    """Hold that no body, which makes `%y` of `%x : i4`, computes anything else afterwards; how many became shorter."""
    text = "\n".join(
        f"func.func @f{position}(%x: i4) -> {result} {{\n{body}\nfunc.return %y : {result}\n}}"
        for position, body in enumerate(bodies)
    )
    context = default_environment().new_context()
    before, after = (parse_module(context, text, "scalars.mlir") for _ in range(2))
    KernelFuse().apply(context, after)
    verify(after)
    inputs = np.array(VALUES, np.int8)
    shorter = 0
    for position, body in enumerate(bodies):
        pair = [Interpreter(module).call(f"f{position}", [inputs])[0] for module in (before, after)]
        np.testing.assert_array_equal(*(np.broadcast_to(found, len(VALUES)) for found in pair), err_msg=body)
        lengths = [len(list(_function(module.ops, position).walk())) for module in (before, after)]
        shorter += lengths[1] < lengths[0]
    return shorter


def _function(ops: Iterable[Operation], position: int) -> FuncOp:
    functions = [op for op in ops if isinstance(op, FuncOp)]
    return functions[position]


@pytest.mark.parametrize(
    ("element", "limits", "kinds"),
    [
        ("i4", (-8, 7), ["maxsi", "minsi"]),
        ("i4", (-3, 5), ["maxsi", "minsi"]),
        ("i4", (0, 7), ["maxsi", "minsi", "maxui", "minui"]),
        ("i8", (-100, 90), ["maxsi", "minsi"]),
        ("i8", (0, 255), ["maxui", "minui"]),
        ("i8", (5, 200), ["maxui", "minui"]),
    ],
)
def test_clamp_in_requantize(element: str, limits: tuple[int, int], kinds: Sequence[str]) -> None:
    low, high = limits
    constants = VALUES if element == "i4" else range(-128, 128, 9)
    zero_points = range(low, high + 1, max((high - low) // 4, 1))
    bodies = [
        f"""%e = arith.extsi %x : i4 to i32
        %m = arith.constant {1.7 if element == "i4" else 33.3} : f32
        %q = kernel.requantize %e, %m {{mode = #kernel.requantize<f32>, zero_point = {zero_point} : i64,
            minimum = {low} : i64, maximum = {high} : i64}} : i32, f32 -> {element}
        %c = arith.constant {constant} : {element}
        %y = arith.{kind} %q, %c : {element}"""
        for constant, zero_point, kind in itertools.product(constants, zero_points, kinds)
    ]
    assert check(bodies, element)


@pytest.mark.parametrize(("extension", "kinds"), [("extsi", ["maxsi", "minsi"]), ("extui", ["maxui", "minui"])])
def test_clamp_of_an_extension(extension: str, kinds: Sequence[str]) -> None:
    limits = (0, 255) if extension == "extui" else (-128, 127)
    bodies = [
        f"""%e = arith.extsi %x : i4 to i32
        %m = arith.constant 33.3 : f32
        %q = kernel.requantize %e, %m {{mode = #kernel.requantize<f32>, zero_point = {max(limits[0], 0)} : i64,
            minimum = {limits[0]} : i64, maximum = {limits[1]} : i64}} : i32, f32 -> i8
        %c = arith.constant {constant} : i32
        %w = arith.{extension} %q : i8 to i32
        %y = arith.{kind} %w, %c : i32"""
        for kind, constant in itertools.product(kinds, range(-300, 300, 7))
    ]
    assert check(bodies, "i32")


@pytest.mark.parametrize("inner", ["maxsi", "minsi", "maxui", "minui"])
@pytest.mark.parametrize("outer", ["maxsi", "minsi", "maxui", "minui"])
def test_extremum_of_an_extremum_with_constants(inner: str, outer: str) -> None:
    pairs = list(itertools.product(VALUES[::3], repeat=2))
    bodies = [
        f"""%a = arith.constant {first} : i4
        %b = arith.constant {second} : i4
        %m = arith.{inner} %x, %a : i4
        %y = arith.{outer} %m, %b : i4"""
        for first, second in pairs
    ]
    shorter = check(bodies, "i4")
    assert shorter == len(pairs) or not inner == outer in ("maxsi", "minsi")


@pytest.mark.parametrize("limits", [(-100, 90), (0, 255)])
def test_clamp_that_reads_other_signs_stays(limits: tuple[int, int]) -> None:
    kind = "maxui" if limits[0] < 0 else "maxsi"
    bodies = [
        f"""%e = arith.extsi %x : i4 to i32
        %m = arith.constant 33.3 : f32
        %q = kernel.requantize %e, %m {{mode = #kernel.requantize<f32>, zero_point = 3 : i64,
            minimum = {limits[0]} : i64, maximum = {limits[1]} : i64}} : i32, f32 -> i8
        %c = arith.constant {constant} : i8
        %y = arith.{kind} %q, %c : i8"""
        for constant in range(-127, 127, 9)
    ]
    assert not check(bodies, "i8")


@pytest.mark.parametrize("first", ["maxsi", "minsi", "addi", "subi"])
def test_two_constants(first: str) -> None:
    bodies = [
        f"%a = arith.constant {a} : i4\n%b = arith.constant {b} : i4\n"
        f"%0 = arith.{first} %x, %a : i4\n%y = arith.{second} %0, %b : i4"
        for second, a, b in itertools.product(["maxsi", "minsi", "addi", "subi"], VALUES[::2], VALUES[::3])
    ]
    assert check(bodies, "i4")


@pytest.mark.parametrize("width", [2, 3, 4, 6, 8])
def test_two_resizes(width: int) -> None:
    shorter = 0
    for middle in (2, 3, 5, 6, 8):
        bodies = [
            f"%0 = arith.{first} %x : i4 to i{middle}\n%y = arith.{second} %0 : i{middle} to i{width}"
            for first, second in itertools.product(["extsi", "extui", "trunci"], repeat=2)
            if middle != width and (middle > 4) == (first != "trunci") and (width > middle) == (second != "trunci")
        ]
        shorter += check(bodies, f"i{width}") if bodies else 0
    assert shorter or width < 4


def test_extended_again_after_a_cut() -> None:
    bodies = [
        f"""%e = arith.extsi %x : i4 to i8
        %a = arith.constant {low} : i8
        %b = arith.constant {high} : i8
        %0 = arith.maxsi %e, %a : i8
        %1 = arith.minsi %0, %b : i8
        %t = arith.trunci %1 : i8 to i3
        %y = arith.extsi %t : i3 to i8"""
        for low, high in itertools.product(VALUES[::2], VALUES[1::2])
    ]
    assert check(bodies, "i8")


def test_float_of_an_extended_integer() -> None:
    assert check(["%e = arith.extsi %x : i4 to i64\n%y = arith.sitofp %e : i64 to f32"], "f32")


def test_centered_and_back() -> None:
    body = """%e = arith.extsi %x : i4 to i32
    %z = arith.constant -5 : i32
    %0 = arith.subi %e, %z : i32
    %1 = arith.addi %0, %z : i32
    %y = arith.trunci %1 : i32 to i4"""
    assert check([body], "i4")
