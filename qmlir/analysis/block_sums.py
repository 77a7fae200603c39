"""Products of a matrix whose terms are cut into blocks, each with scales of its own."""

import math

from xdsl.dialects.arith import AddfOp, ConstantOp, MulfOp, SIToFPOp
from xdsl.dialects.builtin import FloatAttr, f32
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from qmlir.dialects.kernel.contraction import ContractionOp, MatMulOp
from qmlir.dialects.kernel.ops import YieldOp, shaped


def summed_over_blocks(op: ContractionOp) -> GenericOp | None:
    """What adds up the products of a matrix by blocks of terms, each block in f32 by a constant scale for each channel.

    These are `[blocks, M, N]`, of constant weights; they are added in ascending order from 0.
    """
    if not isinstance(op, MatMulOp) or op.result is None or len(shaped(op.target)[0]) != 3:
        return None
    if not isinstance(op.w.owner, ConstantOp) or len(shaped(op.w)[0]) != 3 or not _is_scaled_by_block(op):
        return None
    user = op.result.get_user_of_unique_use()
    if not isinstance(user, GenericOp) or len(user.operands) != 2 or user.inputs[0] is not op.result:
        return None
    block, row, channel = (AffineExpr.dimension(axis) for axis in range(3))
    maps = [AffineMap(3, 0, each) for each in ((block, row, channel), (row, channel))]
    kinds = [kind.data for kind in user.iterator_types]
    if [each.data for each in user.indexing_maps] != maps or kinds[0] is not IteratorType.REDUCTION:
        return None
    part, total = user.body.block.args
    added, last = user.body.block.first_op, user.body.block.last_op
    if not isinstance(added, AddfOp) or (added.lhs, added.rhs) != (total, part):
        return None
    if last is None or added.next_op is not last or last.operands[0] is not added.result:
        return None
    return user if _is_zero(user.outputs[0]) else None


def _is_scaled_by_block(op: MatMulOp) -> bool:
    """Whether the region is `scale * f32(sum)`, by a constant for each block and channel."""
    block = op.body.block
    first, second, last = (*block.ops, None, None, None)[:3]
    if not isinstance(first, SIToFPOp) or not isinstance(second, MulfOp) or not isinstance(last, YieldOp):
        return False
    block_and_channel = AffineMap(3, 0, (AffineExpr.dimension(0), AffineExpr.dimension(2)))
    return (
        len(op.epilogue) == 1
        and isinstance(op.epilogue[0].owner, ConstantOp)
        and op.epilogue_maps.data[0].data == block_and_channel
        and first.input is block.args[0]
        and {second.lhs, second.rhs} == {block.args[1], first.result}
        and last.arguments[0] is second.result
        and second.result.type == f32
    )


def _is_zero(value: SSAValue) -> bool:
    """Whether a tensor is filled with 0, which has no sign."""
    fill = value.owner
    number = fill.inputs[0].owner if isinstance(fill, FillOp) else None
    if not isinstance(number, ConstantOp) or not isinstance(number.value, FloatAttr):
        return False
    return math.copysign(1.0, number.value.value.data) > 0 and not number.value.value.data
