"""`kernel.reshape` of memory as the views that upstream has: axes that become one, and one that becomes several."""

from xdsl.dialects import memref
from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from qmlir.analysis.shapes import common_groups
from qmlir.dialects.kernel.ops import ReshapeOp
from qmlir.targets.cpu.loops.emitter import Emitter
from qmlir.targets.cpu.loops.nests import collapse_axes, memref_type, reassociation


class ReshapeToViews(RewritePattern):
    """Reshaped memory becomes memory whose axes were collapsed, then expanded."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReshapeOp, rewriter: PatternRewriter, /) -> None:
        source, target = memref_type(op.source), memref_type(op.result)
        if source is None or target is None:
            return
        if source == target:
            rewriter.replace(op, [], [op.source])
            return
        groups = common_groups(source.get_shape(), target.get_shape())
        value: SSAValue = op.source
        # Memory without axes is one element, and no group at all.
        is_grouped = bool(source.get_shape() and target.get_shape())
        if source.get_shape() and any(len(left) != 1 for left, _ in groups):
            value = collapse_axes(Emitter(rewriter, rewriter), value, [left for left, _ in groups if is_grouped])
        if value.type != target:
            expanded = memref.ExpandShapeOp(
                operands=[value, []],
                result_types=[target],
                properties={
                    "reassociation": reassociation([right for _, right in groups if is_grouped]),
                    "static_output_shape": DenseArrayBase.from_list(i64, target.get_shape()),
                },
            )
            rewriter.insert(expanded)
            value = expanded.result
        rewriter.replace(op, [], [value])
