"""Canonicalization of elementwise operations and of data movement."""

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


class FoldIdentityCast(RewritePattern):
    """Folds `cast(x) -> x` if the type does not change."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: CastOp, rewriter: PatternRewriter, /) -> None:
        if op.input.type == op.result.type:
            rewriter.replace(op, [], [op.input])


# Simplification of data movement, which is always exact: identities are removed, and consecutive movements are merged.


class FoldIdentityReshape(RewritePattern):
    """Folds `reshape(x) -> x` if the type does not change and has at most one dynamic dimension."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReshapeOp, rewriter: PatternRewriter, /) -> None:
        if op.input.type == op.result.type and shape_of(op.result).count(DYNAMIC_INDEX) <= 1:
            rewriter.replace(op, [], [op.input])


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


class FoldIdentityTranspose(RewritePattern):
    """Folds `transpose(x) -> x` if the permutation is the identity."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TransposeOp, rewriter: PatternRewriter, /) -> None:
        if op.order == tuple(range(len(op.order))) and op.input.type == op.result.type:
            rewriter.replace(op, [], [op.input])


class MergeTransposes(RewritePattern):
    """Merges `transpose_q(transpose_p(x)) -> transpose_r(x)` with `r[i] = p[q[i]]`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TransposeOp, rewriter: PatternRewriter, /) -> None:
        inner = op.input.owner
        if isinstance(inner, TransposeOp):
            merged = TransposeOp(inner.input, [inner.order[axis] for axis in op.order])
            if merged.result.type == op.result.type:
                rewriter.replace(op, merged)


class FoldWholeSlice(RewritePattern):
    """Folds `slice(x) -> x` if the slice contains every element in order."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SliceOp, rewriter: PatternRewriter, /) -> None:
        shape = shape_of(op.input)
        if op.input.type != op.result.type or DYNAMIC_INDEX in shape:
            return
        if not all(op.is_known(name) for name in op.PARAMETERS):
            return
        if not cut_axes(shape, *op.bounds()):
            rewriter.replace(op, [], [op.input])


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


class FoldIdentityExpansion(RewritePattern):
    """Folds `expand(x)`, `tile(x)` and `pad(x)` to `x` if the shape does not change and nothing is added or removed."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, ExpandOp | TileOp | PadOp) or op.input.type != op.result.type:
            return
        if isinstance(op, PadOp):
            if not all(op.is_known(name) for name in op.PARAMETERS):
                return
            is_identity = all(pads == (0, 0) for pads in op.paddings(len(shape_of(op.input))))
        else:
            is_identity = DYNAMIC_INDEX not in shape_of(op.input)
        if is_identity:
            rewriter.replace(op, [], [op.input])


class FoldSingleConcat(RewritePattern):
    """Folds `concat(x) -> x` if there is a single operand."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ConcatOp, rewriter: PatternRewriter, /) -> None:
        if len(op.inputs) == 1 and op.inputs[0].type == op.result.type:
            rewriter.replace(op, [], [op.inputs[0]])


PATTERNS: tuple[RewritePattern, ...] = (
    FoldIdempotent(),
    FoldDoubleNegation(),
    FoldIdentityCast(),
    FoldIdentityReshape(),
    MergeReshapes(),
    FoldIdentityTranspose(),
    MergeTransposes(),
    FoldWholeSlice(),
    ReshapeUnitAxes(),
    FoldIdentityExpansion(),
    FoldSingleConcat(),
)
