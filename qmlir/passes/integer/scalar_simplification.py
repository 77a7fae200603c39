"""Simplifications of scalar bodies after fusion: operations that provably change nothing within integer ranges.

Each pattern is an identity on integers modulo 2^N, proved exhaustively for small widths by the tests; floats are left
unchanged.
"""

from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from qmlir.analysis.intervals import Interval, constant_interval, range_of_type, signed, transfer
from qmlir.analysis.intervals import wrapped as wrapped_interval
from qmlir.analysis.operand_accesses import defining
from qmlir.arithmetic.arrays import integer_limits, wrapped
from qmlir.dialects.kernel.ops import RequantizeOp
from qmlir.ir.builtin_types import as_integer

_DEPTH = 8
"""The largest number of operations through which a range is propagated."""


def _bits(value: SSAValue) -> int:
    integer = as_integer(value.type)
    assert integer is not None
    return integer.width.data


def known_integer(value: SSAValue) -> int | None:
    """Returns the constant integer of a value, read as signed, or `None` if it is not known."""
    op = defining(value)
    if not isinstance(op, arith.ConstantOp) or not isinstance(op.value, IntegerAttr):
        return None
    if as_integer(value.type) is None:
        return None
    return wrapped(op.value.value.data, _bits(value))


def known_float(value: SSAValue) -> float | None:
    """Returns the constant float of a value, or `None` if it is not known."""
    op = defining(value)
    is_known = isinstance(op, arith.ConstantOp) and isinstance(op.value, FloatAttr)
    return float(cast(Any, op).value.value.data) if is_known else None


def _interval(value: SSAValue, depth: int) -> Interval:
    """Returns the range of a scalar, from at most `depth` operations before it."""
    op = defining(value)
    if isinstance(op, arith.ConstantOp):
        return constant_interval(op)
    if isinstance(op, RequantizeOp):
        return wrapped_interval(Interval(*op.limits), _bits(value))
    # A float converted to a narrow integer counts as any integer of that width, so that the width is kept: later passes
    # match it.
    if op is None or not depth or op.dialect_name() != "arith" or isinstance(op, arith.FPToSIOp | arith.FPToUIOp):
        return range_of_type(value.type)
    found = transfer(op, [_interval(operand, depth - 1) for operand in op.operands])
    return range_of_type(value.type) if found is None else found


def signed_range(value: SSAValue) -> tuple[int, int]:
    """Returns the smallest and largest value of an integer, read as signed."""
    return signed(_interval(value, _DEPTH), _bits(value)).values


class DropExtremum(RewritePattern):
    """Replaces the maximum or minimum of two integers by one of them if their ranges determine which."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.MaxSIOp | arith.MinSIOp, rewriter: PatternRewriter, /) -> None:
        if as_integer(op.result.type) is None:
            return
        pair = (op.lhs, op.rhs) if isinstance(op, arith.MaxSIOp) else (op.rhs, op.lhs)
        a, b = (signed_range(value) for value in (op.lhs, op.rhs))
        if a[0] >= b[1]:
            rewriter.replace(op, [], [pair[0]])
        elif b[0] >= a[1]:
            rewriter.replace(op, [], [pair[1]])


class ResizeOnce(RewritePattern):
    """Merges two integer resizes into one if the first loses no bits of the value."""

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: arith.TruncIOp | arith.ExtSIOp | arith.ExtUIOp, rewriter: PatternRewriter, /
    ) -> None:
        if as_integer(op.result.type) is None:
            return
        inner = defining(op.input)
        match op, inner:
            case arith.TruncIOp(), arith.TruncIOp():
                self._resize(op, inner.input, arith.ExtSIOp, rewriter)
            case arith.TruncIOp(), arith.ExtSIOp() | arith.ExtUIOp():
                self._resize(op, inner.input, type(inner), rewriter)
            case arith.ExtSIOp(), arith.ExtSIOp() | arith.ExtUIOp():
                self._resize(op, inner.input, type(inner), rewriter)
            case arith.ExtUIOp(), arith.ExtUIOp():
                self._resize(op, inner.input, arith.ExtUIOp, rewriter)
            case arith.ExtSIOp(), arith.TruncIOp():
                low, high = integer_limits(_bits(op.input))
                found = signed_range(inner.input)
                if low <= found[0] and found[1] <= high:
                    self._resize(op, inner.input, arith.ExtSIOp, rewriter)
            case _:
                pass

    @staticmethod
    def _resize(
        op: arith.TruncIOp | arith.ExtSIOp | arith.ExtUIOp,
        source: SSAValue,
        extend: type[arith.ExtSIOp] | type[arith.ExtUIOp],
        rewriter: PatternRewriter,
    ) -> None:
        wanted, found = as_integer(op.result.type), _bits(source)
        assert wanted is not None
        if found == wanted.width.data:
            rewriter.replace(op, [], [source])
        elif found < wanted.width.data:
            rewriter.replace(op, [extend(source, wanted)])
        else:
            rewriter.replace(op, [arith.TruncIOp(source, wanted)])


@dataclass(frozen=True)
class _Bound:
    """The limit that an extremum operation moves, and how it reads integers."""

    is_lower: bool
    is_unsigned: bool


_BOUNDS: dict[type[Operation], _Bound] = {
    arith.MaxSIOp: _Bound(is_lower=True, is_unsigned=False),
    arith.MinSIOp: _Bound(is_lower=False, is_unsigned=False),
    arith.MaxUIOp: _Bound(is_lower=True, is_unsigned=True),
    arith.MinUIOp: _Bound(is_lower=False, is_unsigned=True),
}


class ClampInRequantize(RewritePattern):
    """Folds the extremum of a requantized integer and a constant into a limit of the requantization.

    `max(clamp(v, low, high), c) = clamp(v, max(low, c), high)` for c up to high, and likewise for `min`. The limits and
    the constant are read with the signedness of the extremum, and the zero point stays inside. An extension between the
    two with the same signedness changes nothing.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: arith.MaxSIOp | arith.MinSIOp | arith.MaxUIOp | arith.MinUIOp, rewriter: PatternRewriter, /
    ) -> None:
        bound = _BOUNDS[type(op)]
        if as_integer(op.result.type) is None:
            return
        for source, other in (op.operands, op.operands[::-1]):
            inner, number, extended = defining(source), known_integer(other), None
            extension = arith.ExtUIOp if bound.is_unsigned else arith.ExtSIOp
            if isinstance(inner, extension) and source.has_one_use():
                source, inner, extended = inner.input, defining(inner.input), inner
            if not isinstance(inner, RequantizeOp) or number is None or not source.has_one_use():
                continue
            bits = _bits(source)
            lowest, highest = integer_limits(bits, is_signed=not bound.is_unsigned)
            low, high = inner.limits
            if bound.is_unsigned:
                number = wrapped(number, _bits(other), is_signed=False)
            if low < lowest or high > highest or not low <= number <= high:
                continue
            limits = (number, high) if bound.is_lower else (low, number)
            made = RequantizeOp(
                inner.accumulator,
                list(inner.parameters),
                inner.result.type,
                inner.mode,
                inner.zero_point.value.data,
                limits,
            )
            rewriter.replace(
                op, [made] if extended is None else [made, type(extended)(made.result, extended.result.type)]
            )
            return


class OneClamp(RewritePattern):
    """Merges two nested extrema with constants into one."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.MaxSIOp | arith.MinSIOp, rewriter: PatternRewriter, /) -> None:
        inner, number = defining(op.lhs), known_integer(op.rhs)
        if number is None or not isinstance(inner, arith.MaxSIOp | arith.MinSIOp) or type(inner) is not type(op):
            return
        first = known_integer(inner.rhs)
        if first is None:
            return
        is_larger = isinstance(op, arith.MaxSIOp)
        chosen = op.rhs if (number >= first) == is_larger else inner.rhs
        rewriter.replace(op, [type(op)(inner.lhs, chosen)])


def _offset(op: Operation | None) -> tuple[SSAValue, int] | None:
    """Returns the value to which `op` adds a constant, and the constant, or `None`."""
    if isinstance(op, arith.AddiOp | arith.SubiOp) and as_integer(op.result.type) is not None:
        number = known_integer(op.rhs)
        if number is not None:
            return op.lhs, number if isinstance(op, arith.AddiOp) else -number
        first = known_integer(op.lhs)
        if isinstance(op, arith.AddiOp) and first is not None:
            return op.rhs, first
    return None


class OneOffset(RewritePattern):
    """Merges nested additions of constants into one or none: sums are exact modulo 2^N."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.AddiOp | arith.SubiOp, rewriter: PatternRewriter, /) -> None:
        outer = _offset(op)
        if outer is None:
            return
        value, number = outer
        inner = _offset(defining(value))
        if inner is not None:
            value, number = inner[0], number + inner[1]
        elif number:
            return
        number = wrapped(number, _bits(value))
        if not number:
            rewriter.replace(op, [], [value])
            return
        type_ = as_integer(value.type)
        assert type_ is not None
        constant = arith.ConstantOp(IntegerAttr(number, type_))
        rewriter.replace(op, [constant, arith.AddiOp(value, constant.result)])


class FloatOfNarrow(RewritePattern):
    """Converts an integer to float before its extension: the float is the same."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.SIToFPOp, rewriter: PatternRewriter, /) -> None:
        inner = defining(op.input)
        if isinstance(inner, arith.ExtSIOp) and _bits(inner.input) > 1:
            op.operands[0] = inner.input
            rewriter.notify_op_modified(op)


PATTERNS: tuple[RewritePattern, ...] = (
    DropExtremum(), ResizeOnce(), ClampInRequantize(), OneClamp(), OneOffset(), FloatOfNarrow(),
)  # fmt: skip
