"""Affine expressions as index arithmetic, against Python's integers at every point, and what is said of memory."""

import itertools
import random
from collections.abc import Callable

import numpy as np
import pytest
from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, StridedLayoutAttr, i8
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from qmlir.passes.loops.affine import Index, emit_expression, least, step_along, strides_of
from qmlir.passes.loops.emitter import Emitter

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


MEANINGS: dict[type[Operation], Callable[[int, int], int]] = {
    arith.AddiOp: lambda a, b: a + b,
    arith.SubiOp: lambda a, b: a - b,
    arith.MuliOp: lambda a, b: a * b,
    arith.DivUIOp: lambda a, b: _natural(a) // b,
    arith.FloorDivSIOp: lambda a, b: a // b,
    arith.CeilDivUIOp: lambda a, b: -(-_natural(a) // b),
    arith.CeilDivSIOp: lambda a, b: -(-a // b),
    arith.RemUIOp: lambda a, b: _natural(a) % b,
}


@pytest.mark.parametrize("seed", range(100))
def test_what_is_written_computes_the_expression(seed: int) -> None:
    """At every point; with numbers in place of values nothing is written at all, and nothing that changes nothing."""
    expression, value = _drawn(random.Random(seed), 3)
    block, constants = Block(arg_types=[IndexType()] * 2), Block()
    emit = Emitter(Builder(InsertPoint.at_end(block)), Builder(InsertPoint.at_end(constants)))
    result = emit_expression(emit, expression, block.args, RANGES)
    known: dict[SSAValue, int] = {}
    for op in constants.ops:
        assert isinstance(op, arith.ConstantOp)
        assert isinstance(op.value, IntegerAttr)
        known[op.result] = op.value.value.data
    for op in block.ops:
        a, b = (known.get(operand) for operand in op.operands)
        assert b != 1 or isinstance(op, arith.AddiOp)
        assert not (isinstance(op, arith.AddiOp | arith.MuliOp) and 0 in (a, b))
    found: list[int] = []
    for point in itertools.product(*map(range, RANGES)):
        values: dict[Index, int] = {**known, **dict(zip(block.args, point, strict=True))}
        for op in block.ops:
            values[op.results[0]] = MEANINGS[type(op)](*(values[operand] for operand in op.operands))
        found.append(result if isinstance(result, int) else values[result])
        assert found[-1] == value(*point)
        assert emit_expression(emit, expression, point, RANGES) == value(*point)
    assert least(expression, RANGES) <= min(found)


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


def test_a_dimension_without_points_is_bounded_by_0() -> None:
    assert least(D0 * -1, (0, 1)) == least(D0 * -1, (1, 1)) == 0


def test_symbols_are_refused() -> None:
    emit = Emitter(Builder(InsertPoint.at_end(Block())), Builder(InsertPoint.at_end(Block())))
    for ask in (lambda: least(AffineExpr.symbol(0), ()), lambda: emit_expression(emit, AffineExpr.symbol(0), (), ())):
        with pytest.raises(NotImplementedError, match="s0 has symbols"):
            ask()


def test_strides_and_steps() -> None:
    array = np.zeros((3, 4, 5), np.int8)
    assert strides_of(MemRefType(i8, array.shape)) == array.strides
    turned = MemRefType(i8, (5, 4), StridedLayoutAttr([1, None], 7))
    assert strides_of(turned) == (1, None)
    map_ = AffineMap(2, 0, (D1, D0 * 2 + D1, D0 + 1))
    # What NumPy would move by: from [0, 0, 1] to [0, 2, 2] and to [1, 1, 1].
    assert step_along(0, map_, array.strides, 2) == 2 * 5 + 1
    assert step_along(1, map_, array.strides, 2) == 20 + 5
    assert step_along(0, map_, (20, None, 1), 2) == 1
