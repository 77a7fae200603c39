"""The expansion of requantization against the functions that state it, on edge cases and at random."""

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from qmlir.arithmetic.requantization import (
    Ties,
    requantize_double_round,
    requantize_f32,
    requantize_qlinear,
    requantize_shift,
    requantize_single_round,
)
from qmlir.environment import default_environment
from qmlir.interpreter.interpreter import Interpreter
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.targets.cpu.loops.convert_kernel_to_loops import ConvertKernelToLoops
from qmlir.text.parsing import parse_module

Array = npt.NDArray[Any]

RESULTS = [
    ("i8", 3, (-128, 127)), ("i8", 0, (0, 127)), ("i8", 255, (0, 255)), ("i4", -8, (-8, 7)), ("i2", 0, (-2, 1)),
    ("i4", 3, (0, 15)), ("i4", 15, (2, 15)), ("i2", 1, (0, 3)),
    ("i16", -32768, (-32768, 32767)), ("i16", 7, (0, 65535)), ("i32", 0, (-(2**31), 2**31 - 1)),
    ("i32", -(2**31), (-(2**31), 2**31 - 1)), ("i32", 2**31 - 1, (-(2**31), 2**31 - 1)), ("i32", 5, (0, 2**32 - 1)),
]  # fmt: skip

WIDE = ("i64", 0, (-(2**61), 2**61))
"""What stands between two rescalings; the sum of two fits 64 bits."""


def _expanded(mode: str, accumulator: str, parameters: str, result: tuple[str, int, tuple[int, int]]) -> Interpreter:
    element, zero_point, (low, high) = result
    types = parameters.split(", ")
    arguments = ", ".join(f"%p{position}: {type_}" for position, type_ in enumerate(types))
    names = ", ".join(f"%p{position}" for position in range(len(types)))
    text = f"""
    func.func @main(%a: {accumulator}, {arguments}) -> {element} {{
      %0 = kernel.requantize %a, {names} {{mode = #kernel.requantize<{mode}>, zero_point = {zero_point} : i64,
          minimum = {low} : i64, maximum = {high} : i64}} : {accumulator}, {parameters} -> {element}
      func.return %0 : {element}
    }}"""
    context = default_environment().new_context()
    module = parse_module(context, text, "requantize.mlir")
    ConvertKernelToLoops().apply(context, module)
    assert not any(op.name == "kernel.requantize" for op in module.walk())
    return Interpreter(module)


def _accumulators(bits: int, seed: int) -> Array:
    random = np.random.default_rng(seed)
    edges = [sign * (1 << power) + off for power in range(bits - 1) for sign in (1, -1) for off in (-1, 0, 1)]
    edges += [-(1 << (bits - 1)), (1 << (bits - 1)) - 1]
    sizes = random.integers(1, bits - 1, 500)
    spread = [int(random.integers(-(1 << int(size)), 1 << int(size))) for size in sizes]
    return np.array([*edges, *spread], np.int64)


def _check(interpreter: Interpreter, inputs: list[Array], expected: Array, result: tuple[str, int, Any]) -> None:
    # Scalars of the text run on whole arrays: one run for all cases.
    (found,) = interpreter.call("main", inputs)
    bits = int(result[0][1:])
    wanted = (expected << (64 - bits)) >> (64 - bits)
    np.testing.assert_array_equal(found.astype(np.int64), wanted)


def _crossed(bits: int, *parameters: Array) -> list[Array]:
    accumulators = _accumulators(bits, bits)
    rows = np.array(list(itertools.product(range(len(accumulators)), range(len(parameters[0])))))
    return [
        accumulators[rows[:, 0]].astype(f"i{bits // 8}"),
        *(parameter[rows[:, 1]] for parameter in parameters),
    ]


@pytest.mark.parametrize(("mode", "function"), [("f32", requantize_f32), ("qlinear", requantize_qlinear)])
@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("result", RESULTS, ids=str)
def test_floats(result: tuple[str, int, tuple[int, int]], bits: int, mode: str, function: Any) -> None:
    random = np.random.default_rng(7)
    multipliers = [0.5, 0.25, 1.5, 2.0, 3e-5, 1e-38, 1e-45, 1e30, 3e38, 1 / 3, 0.0117, *random.uniform(1e-6, 4, 10)]
    inputs = _crossed(bits, np.array(multipliers, np.float32))
    expected = function(inputs[0].astype(np.int64), inputs[1], result[1], result[2])
    _check(_expanded(mode, f"i{bits}", "f32", result), inputs, expected, result)


@pytest.mark.parametrize("is_double", [False, True])
@pytest.mark.parametrize("result", [*RESULTS, WIDE], ids=str)
def test_integer_multiplier(result: tuple[str, int, tuple[int, int]], is_double: bool) -> None:
    random = np.random.default_rng(3)
    shifts = np.array([2, 3, 15, 30, 31, 32, 33, 40, 61, 62] * 4, np.int8)
    fractions = random.integers(1 << 30, 1 << 31, shifts.size)
    fractions[:3] = 1 << 30, (1 << 31) - 1, 0
    inputs = _crossed(32, fractions.astype(np.int32), shifts)
    function = requantize_double_round if is_double else requantize_single_round
    expected = function(inputs[0].astype(np.int64), inputs[1], inputs[2], result[1], result[2])
    mode = "double_round" if is_double else "single_round"
    _check(_expanded(mode, "i32", "i32, i8", result), inputs, expected, result)


@pytest.mark.parametrize("ties", list(Ties))
@pytest.mark.parametrize("bits", [8, 32, 64])
@pytest.mark.parametrize("result", [*RESULTS, WIDE], ids=str)
def test_shift(result: tuple[str, int, tuple[int, int]], bits: int, ties: Ties) -> None:
    shifts = np.array([-128, -40, -34, -33, -32, -31, -8, -1, 0, 1, 2, 7, 8, 9, 31, 32, 33, 62, 63, 64, 65, 127])
    inputs = _crossed(bits, shifts.astype(np.int8))
    wide = inputs[0].astype(np.int64)
    expected = requantize_shift(wide, inputs[1], ties, result[1], result[2])
    _check(_expanded(f"shift, {ties.value}", f"i{bits}", "i8", result), inputs, expected, result)


def test_wide_accumulator_of_an_integer_multiplier() -> None:
    with pytest.raises(
        DiagnosticError, match="an integer multiplier requires accumulators of at most 32 bits, but got i64"
    ):
        _expanded("single_round", "i64", "i32, i8", RESULTS[0])


@pytest.mark.parametrize(
    ("mode", "parameters", "limits"),
    [("f32", "f32", (-128, 127)), ("qlinear", "f32", (-128, 127)), ("shift, even", "i8", (-(2**62), 2**62))],
)
def test_wide_result(mode: str, parameters: str, limits: tuple[int, int]) -> None:
    with pytest.raises(
        DiagnosticError, match=r"i64 results in .* cannot be compiled: a result must have at most 32 bits, or"
    ):
        _expanded(mode, "i32", parameters, ("i64", 0, limits))


@pytest.mark.parametrize("mode", ["single_round", "double_round"])
def test_the_lanes_that_a_partial_vector_lacks_are_defined(mode: str) -> None:
    zeros = [np.zeros(1, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int8)]
    _check(_expanded(mode, "i32", "i32, i8", RESULTS[0]), zeros, np.array([3]), RESULTS[0])
