"""Affine expressions as index arithmetic, against Python's integers at every point, and what is said of memory."""

import itertools
import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Block, Operation
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from qmlir.targets.cpu.loops.emitter import Emitter, Index, emit_expression, least, row_major, step_along

RANGES = (4, 5)

Value = Callable[[int, int], int]
"""What an expression is, in Python's integers."""


def _drawn(draw: random.Random, depth: int) -> tuple[AffineExpr, Value]:
    if depth == 0 or draw.random() < 0.2:
        axis, number = draw.randint(0, 1), draw.randint(-3, 3)
        if draw.random() < 0.6:
            return AffineExpr.dimension(axis), lambda *point: point[axis]
        return AffineExpr.constant(number), lambda *_: number
    (a, x), (b, y), by = _drawn(draw, depth - 1), _drawn(draw, depth - 1), draw.randint(1, 4)
    match draw.randint(0, 4):
        case 0:
            return a + b, lambda *point: x(*point) + y(*point)
        case 1:
            factor = by * draw.choice([1, 1, -1])
            return a * factor, lambda *point: x(*point) * factor
        case 2:
            return a // by, lambda *point: x(*point) // by
        case 3:
            return a.ceil_div(by), lambda *point: -(-x(*point) // by)
        case _:
            return a % by, lambda *point: x(*point) % by


def _natural(value: int) -> int:
    assert value >= 0, "an unsigned operation of a negative number"
    return value


EVALUATORS: dict[type[Operation], Callable[[int, int], int]] = {
    arith.AddiOp: lambda a, b: a + b,
    arith.SubiOp: lambda a, b: a - b,
    arith.MuliOp: lambda a, b: a * b,
    arith.DivUIOp: lambda a, b: _natural(a) // b,
    arith.FloorDivSIOp: lambda a, b: a // b,
    arith.CeilDivUIOp: lambda a, b: -(-_natural(a) // b),
    arith.CeilDivSIOp: lambda a, b: -(-a // b),
    arith.RemUIOp: lambda a, b: _natural(a) % b,
}


def _held(expression: AffineExpr, value: Value, known: Sequence[int | None] = (None, None)) -> list[type[Operation]]:
    """What is written of an expression, held against its value at every point; dimensions may be known numbers."""
    block, constants = Block(arg_types=[IndexType()] * 2), Block()
    emit = Emitter(Builder(InsertPoint.at_end(block)), Builder(InsertPoint.at_end(constants)))
    dims = [each if number is None else number for number, each in zip(known, block.args, strict=True)]
    result = emit_expression(emit, expression, dims, RANGES)
    numbers: dict[Index, int] = {}
    for op in constants.ops:
        assert isinstance(op, arith.ConstantOp)
        assert isinstance(op.value, IntegerAttr)
        numbers[op.result] = op.value.value.data
    ranges = (range(length) if number is None else [number] for number, length in zip(known, RANGES, strict=True))
    for point in itertools.product(*ranges):
        values = {**numbers, **dict(zip(block.args, point, strict=True))}
        for op in block.ops:
            values[op.results[0]] = EVALUATORS[type(op)](*(values[operand] for operand in op.operands))
        assert (result if isinstance(result, int) else values[result]) == value(*point)
        assert least(expression, RANGES) <= value(*point)
    return [type(op) for op in block.ops]


@pytest.mark.parametrize("seed", range(60))
def test_what_is_written_computes_the_expression(seed: int) -> None:
    expression, value = _drawn(random.Random(seed), 3)
    _held(expression, value)
    for number in range(4):
        _held(expression, value, (number, None))
        _held(expression, value, (None, number))
        assert _held(expression, value, (number, 2)) == []


D0, D1 = AffineExpr.dimension(0), AffineExpr.dimension(1)


@pytest.mark.parametrize(
    ("expression", "bound"),
    [
        (D0 * -2 + 3, -3),
        ((D0 - 4) // 3, -2),
        ((D0 - 4).ceil_div(3), -1),
        ((D0 - 4) % 3, 0),
        (D1 * 2 + D0, 0),
        # Upper bounds, turned round.
        ((D0 + D1) * -1, -7),
        ((D0 * 2) * -3, -18),
        ((D0 * -2 + 5) * -1, -5),
        (D0 % 3 * -1, -2),
        (D1 // 3 * -1, -1),
        (D1.ceil_div(3) * -1, -2),
    ],
)
def test_lower_bounds_are_reached(expression: AffineExpr, bound: int) -> None:
    assert least(expression, RANGES) == bound


Kind = AffineBinaryOpKind
BELOW = D0 - 4


@pytest.mark.parametrize(
    ("kind", "a", "b", "value", "written"),
    [
        (Kind.Add, 0, D1, lambda i, j: j, []),
        (Kind.Add, D0, 0, lambda i, j: i, []),
        (Kind.Add, 1, D1, lambda i, j: 1 + j, [arith.AddiOp]),
        (Kind.Add, D0, 1, lambda i, j: i + 1, [arith.AddiOp]),
        (Kind.Mul, 0, D1, lambda i, j: 0, []),
        (Kind.Mul, D0, 0, lambda i, j: 0, []),
        (Kind.Mul, 1, D1, lambda i, j: j, []),
        (Kind.Mul, D0, 1, lambda i, j: i, []),
        (Kind.Mul, 3, D1, lambda i, j: 3 * j, [arith.MuliOp]),
        (Kind.FloorDiv, D0, 1, lambda i, j: i, []),
        (Kind.FloorDiv, D0, 2, lambda i, j: i // 2, [arith.DivUIOp]),
        (Kind.FloorDiv, BELOW, 3, lambda i, j: (i - 4) // 3, [arith.AddiOp, arith.FloorDivSIOp]),
        (Kind.CeilDiv, D0, 1, lambda i, j: i, []),
        (Kind.CeilDiv, D0, 2, lambda i, j: -(-i // 2), [arith.CeilDivUIOp]),
        (Kind.CeilDiv, BELOW, 3, lambda i, j: -((4 - i) // 3), [arith.AddiOp, arith.CeilDivSIOp]),
        (Kind.Mod, D0, 1, lambda i, j: 0, []),
        (Kind.Mod, D0, 3, lambda i, j: i % 3, [arith.RemUIOp]),
        (Kind.Mod, BELOW, 3, lambda i, j: (i - 4) % 3, [arith.AddiOp, arith.FloorDivSIOp, arith.MuliOp, arith.SubiOp]),
    ],
)
def test_what_each_kind_writes(
    kind: Kind, a: AffineExpr | int, b: AffineExpr | int, value: Value, written: list[type[Operation]]
) -> None:
    """Nothing where nothing changes; unsigned operations exactly where no operand is negative."""
    lhs, rhs = (AffineExpr.constant(each) if isinstance(each, int) else each for each in (a, b))
    assert _held(AffineBinaryOpExpr(kind, lhs, rhs), value) == written


def test_a_dimension_without_points_is_bounded_by_0() -> None:
    assert least(D0 * -1, (0, 1)) == least(D0 * -1, (1, 1)) == 0


def test_symbols_are_refused() -> None:
    emit = Emitter(Builder(InsertPoint.at_end(Block())), Builder(InsertPoint.at_end(Block())))
    for ask in (lambda: least(AffineExpr.symbol(0), ()), lambda: emit_expression(emit, AffineExpr.symbol(0), (), ())):
        with pytest.raises(NotImplementedError, match="s0 has symbols"):
            ask()


def test_strides_and_steps() -> None:
    array = np.zeros((3, 4, 5), np.int8)
    assert row_major(array.shape) == array.strides
    map_ = AffineMap(2, 0, (D1, D0 * 2 + D1, D0 + 1))
    # What NumPy would move by: from [0, 0, 1] to [0, 2, 2] and to [1, 1, 1].
    assert step_along(0, map_, array.strides, 2) == 2 * 5 + 1
    assert step_along(1, map_, array.strides, 2) == 20 + 5
    assert step_along(0, map_, (20, None, 1), 2) == 1
