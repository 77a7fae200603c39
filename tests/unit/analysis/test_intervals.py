"""Intervals against brute force: every value that an operation gives of numbers inside lies inside."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, f32
from xdsl.ir import Block, Operation
from xdsl.utils.exceptions import InterpretationError

from qmlir.analysis.intervals import EMPTY, Interval, signed, signed_range, transfer, unsigned, wrapped
from qmlir.interpreter.upstream.arith import EVALUATORS

BITS = 4
INTEGER = IntegerType(BITS)
NUMBERS = st.integers(-8, 7)

OPERATIONS: list[Any] = [
    arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.MinSIOp, arith.MaxSIOp, arith.AndIOp, arith.OrIOp, arith.XOrIOp,
    arith.ShLIOp, arith.ShRSIOp, arith.ShRUIOp, arith.DivSIOp, arith.DivUIOp, arith.FloorDivSIOp, arith.CeilDivSIOp,
    arith.RemSIOp, arith.RemUIOp, arith.MinUIOp, arith.MaxUIOp,
]  # fmt: skip

TIGHT = (arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.MinSIOp, arith.MaxSIOp, arith.ShRSIOp)
"""Those whose bounds are reached wherever nothing wraps."""


def operands(*types: Any) -> list[Any]:
    return list(Block(arg_types=types).args)


def computed(op: Operation, *values: int) -> int | None:
    evaluator: Any = EVALUATORS[type(op)]
    try:
        return int(evaluator(op, *values)[0])
    except InterpretationError:
        return None


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS)
@settings(max_examples=60, deadline=None)
def test_binary(operation: Any, a: int, b: int, c: int, d: int) -> None:
    left, right = sorted((a, b)), sorted((c, d))
    op = operation(*operands(INTEGER, INTEGER))
    found = transfer(op, [Interval(*left), Interval(*right)])
    assert found is not None
    pairs = itertools.product(range(left[0], left[1] + 1), range(right[0], right[1] + 1))
    values = [value for pair in pairs if (value := computed(op, *pair)) is not None]
    if not values:
        return
    low, high = found.values
    assert low <= min(values)
    assert max(values) <= high
    if operation in TIGHT and (low, high) != (-8, 7) and (operation is not arith.ShRSIOp or right[1] < BITS):
        assert min(values) <= low
        assert high <= max(values)


@pytest.mark.parametrize("operation", [arith.ExtSIOp, arith.ExtUIOp, arith.TruncIOp, arith.SIToFPOp, arith.UIToFPOp])
@pytest.mark.parametrize("bits", [1, 4])
def test_conversions(operation: Any, bits: int) -> None:
    own = signed_range(bits)
    target = f32 if "tofp" in operation.name else IntegerType(3 if operation is arith.TruncIOp else 8)
    if bits == 1 and operation is arith.TruncIOp:
        return
    for low in range(own.low, own.high + 1):
        for high in range(low, own.high + 1):
            op = operation(operands(IntegerType(bits))[0], target)
            found = transfer(op, [Interval(low, high)])
            assert found is not None
            evaluator: Any = EVALUATORS[operation]
            values = [float(evaluator(op, value)[0]) for value in range(low, high + 1)]
            assert found.values[0] <= min(values)
            assert max(values) <= found.values[1]


def test_wide_integers_as_floats() -> None:
    """2^63 - 1 and 2^24 + 1 are no f32: the bounds hold what they are rounded to."""
    for low, high in [(-(2**63), 2**63 - 1), (2**24 + 1, 2**24 + 3), (-(2**25) - 1, 5)]:
        found = transfer(arith.SIToFPOp(operands(IntegerType(64))[0], f32), [Interval(low, high)])
        assert found is not None
        assert found.values[0] <= float(np.float32(np.int64(low)))
        assert float(np.float32(np.int64(high))) <= found.values[1]


@pytest.mark.parametrize("operation", [arith.FPToSIOp, arith.FPToUIOp])
def test_floats_as_integers(operation: Any) -> None:
    """The whole part of what the type holds; what lies beyond it has no value, so it widens nothing."""
    op, is_signed = operation(operands(f32)[0], IntegerType(8)), operation is arith.FPToSIOp
    for bounds, expected in [
        ((-0.5, 90.9), (0, 90)),
        ((3.0, 7.0), (3, 7)),
        ((-300.0, 5.5), (-128 if is_signed else 0, 5)),
    ]:
        found = transfer(op, [Interval(*bounds)])
        assert found is not None
        assert found.values == expected


def test_readings() -> None:
    assert str(unsigned(Interval(-3, -1), 8)) == "[253, 255]"
    assert str(unsigned(Interval(-3, 1), 8)) == "[0, 255]"
    assert str(unsigned(Interval(2, 5), 8)) == "[2, 5]"
    assert str(signed(Interval(0, 1), 1)) == "[-1, 0]"
    assert str(wrapped(Interval(0, 200), 8)) == "[-128, 127]"


def test_channels() -> None:
    """Bounds of each channel stay apart until somebody asks for all."""
    sums = Interval(np.array([-5, 0], object), np.array([5, 9], object))
    bias = Interval(np.array([100, -100], object), np.array([100, -100], object))
    found = transfer(arith.AddiOp(*operands(IntegerType(32), IntegerType(32))), [sums, bias])
    assert found is not None
    assert list(found.low) == [95, -100]
    assert list(found.high) == [105, -91]
    assert str(found) == "[-100, 105]"


def test_bounds_of_no_values() -> None:
    no_channels = np.array([], object)
    for empty in (EMPTY, Interval(no_channels, no_channels)):
        assert empty.values == (0, 0)
        assert empty.is_in(Interval(5, 7))
    assert Interval(np.array([-3, 2], object), np.array([1, 9], object)).values == (-3, 9)
