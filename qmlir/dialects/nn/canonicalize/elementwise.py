"""Canonicalization of elementwise operations and of data movement."""

from collections.abc import Callable, Mapping
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from qmlir.dialects.nn.activations.ops import ReluOp
from qmlir.dialects.nn.base import Kind, kind_of
from qmlir.dialects.nn.elementwise.ops import AbsOp, CastOp, NegOp
from qmlir.dialects.nn.movement.ops import (
    AxesOp,
    ConcatOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
    cut_axes,
    has_axis_parameters,
)
from qmlir.dialects.nn.shapes.ops import ExpandOp, PadOp, TileOp
from qmlir.ir.builtin_types import element_of, shape_of

# Elementwise algebraic simplifications that are bit-identical, including NaN and signed zeros.


class FoldIdempotent(RewritePattern):
    """Folds `f(f(x)) -> f(x)` for relu and abs, which are idempotent if the type does not change."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, ReluOp | AbsOp):
            return
        inner = op.input.owner
        if not isinstance(inner, ReluOp | AbsOp) or type(inner) is not type(op):
            return
        if op.input.type == op.result.type == inner.input.type:
            rewriter.replace(op, [], [op.input])


class FoldDoubleNegation(RewritePattern):
    """Folds `-(-x) -> x`. This is exact for floats (a sign bit) and for integers, which wrap around."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: NegOp, rewriter: PatternRewriter, /) -> None:
        inner = op.input.owner
        wraps = kind_of(element_of(op.result)) in (Kind.FLOAT, Kind.INTEGER)
        if wraps and isinstance(inner, NegOp) and inner.input.type == op.input.type == op.result.type:
            rewriter.replace(op, [], [inner.input])


# Simplification of data movement, which is always exact: identities are removed, and consecutive movements are merged.


def _is_static(op: Operation) -> bool:
    return DYNAMIC_INDEX not in shape_of(op.results[0])


def _knows_parameters(op: SliceOp | PadOp) -> bool:
    return all(op.is_known(name) for name in op.PARAMETERS)


_IDENTITIES: Mapping[type[Operation], Callable[[Any], bool]] = {
    CastOp: lambda _: True,
    ReshapeOp: lambda op: shape_of(op.result).count(DYNAMIC_INDEX) <= 1,
    TransposeOp: lambda op: op.order == tuple(range(len(op.order))),
    SliceOp: lambda op: _is_static(op) and _knows_parameters(op) and not cut_axes(shape_of(op.input), *op.bounds()),
    ExpandOp: _is_static,
    TileOp: _is_static,
    PadOp: lambda op: _knows_parameters(op) and all(pads == (0, 0) for pads in op.paddings(len(shape_of(op.input)))),
    ConcatOp: lambda op: len(op.inputs) == 1,
}
"""Conditions under which an operation whose type does not change returns its first operand."""


class FoldIdentity(RewritePattern):
    """Folds an operation that returns its operand, for example a reshape to the same shape or a slice of everything."""

    def may_match(self, kind: type[Operation], /) -> bool:
        """Returns whether there is a condition for operations of the class `kind`."""
        return kind in _IDENTITIES

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if type(op) in _IDENTITIES and op.operands[0].type == op.results[0].type and _IDENTITIES[type(op)](op):
            rewriter.replace(op, [], [op.operands[0]])


class MergeReshapes(RewritePattern):
    """Merges `reshape(reshape(x)) -> reshape(x)`: both keep the row-major order of elements."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReshapeOp, rewriter: PatternRewriter, /) -> None:
        inner = op.input.owner
        if not isinstance(inner, ReshapeOp) or DYNAMIC_INDEX in (
            *shape_of(inner.input),
            *shape_of(op.result),
        ):
            return
        merged = ReshapeOp(inner.input, shape_of(op.result))
        if merged.result.type == op.result.type:
            rewriter.replace(op, merged)


class MergeTransposes(RewritePattern):
    """Merges `transpose_q(transpose_p(x)) -> transpose_r(x)` with `r[i] = p[q[i]]`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TransposeOp, rewriter: PatternRewriter, /) -> None:
        inner = op.input.owner
        if isinstance(inner, TransposeOp):
            merged = TransposeOp(inner.input, [inner.order[axis] for axis in op.order])
            if merged.result.type == op.result.type:
                rewriter.replace(op, merged)


class ReshapeUnitAxes(RewritePattern):
    """Rewrites `squeeze(x)` and `unsqueeze(x)` to `reshape(x)`: axes of size 1 do not affect the row-major order.

    One dimension may be dynamic: the reshape infers its size, unless there are no elements.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, AxesOp) or not op.is_known("axes"):
            return
        shape = shape_of(op.result)
        if DYNAMIC_INDEX in shape and (
            shape.count(DYNAMIC_INDEX) > 1 or 0 in shape or has_axis_parameters(element_of(op.input))
        ):
            return
        reshape = ReshapeOp(op.input, shape)
        if reshape.result.type == op.result.type:
            rewriter.replace(op, reshape)
        else:
            reshape.drop_all_references()


PATTERNS: tuple[RewritePattern, ...] = (
    FoldIdempotent(),
    FoldDoubleNegation(),
    FoldIdentity(),
    MergeReshapes(),
    MergeTransposes(),
    ReshapeUnitAxes(),
)
