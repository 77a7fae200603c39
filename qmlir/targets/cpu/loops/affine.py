"""Affine expressions as index arithmetic, and what they say of memory: bounds, strides."""

import math
from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType, NoneAttr, StridedLayoutAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)

from qmlir.ir.affine_bounds import bounds_of
from qmlir.targets.cpu.loops.emitter import Emitter

Index = SSAValue | int
"""A number that is known, or a value of type `index`."""


def least(expression: AffineExpr, ranges: Sequence[int]) -> int:
    """A lower bound of an expression whose dimensions run from 0 to below `ranges`."""
    return bounds_of(expression, ranges)[0]


def emit_expression(emit: Emitter, expression: AffineExpr, dims: Sequence[Index], ranges: Sequence[int]) -> Index:
    """Write the value of an expression; `dims` are its dimensions, which stay below `ranges`. Numbers are folded."""
    match expression:
        case AffineConstantExpr():
            return expression.value
        case AffineDimExpr():
            return dims[expression.position]
        case AffineBinaryOpExpr():
            a = emit_expression(emit, expression.lhs, dims, ranges)
            b = emit_expression(emit, expression.rhs, dims, ranges)
            is_natural = least(expression.lhs, ranges) >= 0
            return emit_binary(emit, expression.kind, a, b, is_natural)
        case _:
            raise NotImplementedError(f"{expression} has symbols")


def emit_binary(emit: Emitter, kind: AffineBinaryOpKind, a: Index, b: Index, is_natural: bool = False) -> Index:
    """Write `a kind b`, folded where both are known; `is_natural` says that `a` is at least 0."""
    if isinstance(a, int) and isinstance(b, int):
        return AffineExpr.binary(kind, AffineExpr.constant(a), AffineExpr.constant(b)).eval([], [])
    match kind:
        case AffineBinaryOpKind.Add:
            return a if b == 0 else b if a == 0 else _write(emit, arith.AddiOp, a, b)
        case AffineBinaryOpKind.Mul:
            if a == 0 or b == 0:
                return 0
            return a if b == 1 else b if a == 1 else _write(emit, arith.MuliOp, a, b)
        case AffineBinaryOpKind.FloorDiv:
            return a if b == 1 else _write(emit, arith.DivUIOp if is_natural else arith.FloorDivSIOp, a, b)
        case AffineBinaryOpKind.CeilDiv:
            return a if b == 1 else _write(emit, arith.CeilDivUIOp if is_natural else arith.CeilDivSIOp, a, b)
        case AffineBinaryOpKind.Mod:
            if b == 1:
                return 0
            if is_natural:
                return _write(emit, arith.RemUIOp, a, b)
            whole = _write(emit, arith.MuliOp, _write(emit, arith.FloorDivSIOp, a, b), b)
            return _write(emit, arith.SubiOp, a, whole)


def _write(emit: Emitter, kind: type[Operation], a: Index, b: Index) -> SSAValue:
    return emit.insert(cast(Any, kind)(emit.index(a), emit.index(b)))


def emit_place(emit: Emitter, map_: AffineMap, dims: Sequence[Index], ranges: Sequence[int]) -> list[Index]:
    """Write the place that a map gives."""
    return [emit_expression(emit, expression, dims, ranges) for expression in map_.results]


def strides_of(type_: MemRefType[Attribute]) -> tuple[int | None, ...] | None:
    """How many elements apart neighbours along each axis lie, `None` where unknown; all unknown for other layouts."""
    layout, shape = type_.layout, type_.get_shape()
    if isinstance(layout, StridedLayoutAttr):
        return tuple(layout.get_strides())
    if isinstance(layout, NoneAttr):
        return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
    return None


def step_along(dim: int, map_: AffineMap, strides: Sequence[int | None], rank: int) -> int:
    """How far an operand moves in memory when iterator `dim` goes from 0 to 1; 0 where it stays or nobody knows."""
    origin, next_ = [0] * rank, [int(axis == dim) for axis in range(rank)]
    steps = (expression.eval(next_, ()) - expression.eval(origin, ()) for expression in map_.results)
    return sum(step * stride for step, stride in zip(steps, strides, strict=True) if stride is not None)


def plain_axes(map_: AffineMap) -> list[int | None]:
    """The iterator that each axis of an operand takes as it is, `None` for any other expression."""
    return [expression.position if isinstance(expression, AffineDimExpr) else None for expression in map_.results]
