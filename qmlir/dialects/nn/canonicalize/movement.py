"""Movement: what moves nothing goes, what moves twice moves once. No value is touched, so all of it is exact."""

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from qmlir.dialects.nn.base import shape_of
from qmlir.dialects.nn.infer.movement import slice_indices
from qmlir.dialects.nn.ops.movement import ConcatOp, ReshapeOp, SliceOp, TransposeOp


class FoldIdentityReshape(RewritePattern):
    """`reshape(x) -> x` where the type stays; a static shape, or one unknown size, leaves no other reading."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReshapeOp, rewriter: PatternRewriter, /) -> None:
        if op.input.type == op.result.type and shape_of(op.result).count(DYNAMIC_INDEX) <= 1:
            rewriter.replace(op, [], [op.input])


class MergeReshapes(RewritePattern):
    """`reshape(reshape(x)) -> reshape(x)`: both keep the row-major order of elements."""

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
    """`transpose(x) -> x` where every axis stays."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TransposeOp, rewriter: PatternRewriter, /) -> None:
        if op.order == tuple(range(len(op.order))) and op.input.type == op.result.type:
            rewriter.replace(op, [], [op.input])


class MergeTransposes(RewritePattern):
    """`transpose_q(transpose_p(x)) -> transpose_r(x)` with `r[i] = p[q[i]]`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TransposeOp, rewriter: PatternRewriter, /) -> None:
        inner = op.input.owner
        if isinstance(inner, TransposeOp):
            merged = TransposeOp(inner.input, [inner.order[axis] for axis in op.order])
            if merged.result.type == op.result.type:
                rewriter.replace(op, merged)


class FoldWholeSlice(RewritePattern):
    """`slice(x) -> x` where it takes every element in order."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SliceOp, rewriter: PatternRewriter, /) -> None:
        shape = shape_of(op.input)
        if op.input.type != op.result.type or DYNAMIC_INDEX in shape:
            return
        if not all(op.is_known(name) for name in op.PARAMETERS):
            return
        bounds = zip(*op.bounds(), strict=True)
        taken = (
            slice_indices(shape[axis], start, end, step) == range(shape[axis]) for start, end, axis, step in bounds
        )
        if all(taken):
            rewriter.replace(op, [], [op.input])


class FoldSingleConcat(RewritePattern):
    """`concat(x) -> x`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ConcatOp, rewriter: PatternRewriter, /) -> None:
        if len(op.inputs) == 1 and op.inputs[0].type == op.result.type:
            rewriter.replace(op, [], [op.inputs[0]])


PATTERNS: tuple[RewritePattern, ...] = (
    FoldIdentityReshape(),
    MergeReshapes(),
    FoldIdentityTranspose(),
    MergeTransposes(),
    FoldWholeSlice(),
    FoldSingleConcat(),
)
