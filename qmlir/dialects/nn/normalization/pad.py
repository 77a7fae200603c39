"""Padding rules of norms and softmaxes."""

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from qmlir.dialects.nn.base import Kind, kind_of
from qmlir.dialects.nn.elementwise.ops import AndOp, NotOp, OrOp, WhereOp
from qmlir.dialects.nn.movement.ops import normalized_axis
from qmlir.dialects.nn.normalization import ops
from qmlir.dialects.nn.padding_rules import PaddedValue, PaddingSite, Rule, along, each_sample, lowest_of, zero_of
from qmlir.dialects.nn.reduction.ops import ReduceMaxOp
from qmlir.dialects.nn.requantize import is_qlinear
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.decomposition import COMPONENTS

AxisOp = ops.LpNormOp | ops.SoftmaxLikeOp


def _axis(op: AxisOp, rank: int) -> tuple[int]:
    return (normalized_axis(op.axis.value.data, rank),)


def _from_first_axis(op: ops.TrailingNormOp, rank: int) -> range:
    return range(op.first_axis, rank)


def _channels(op: Operation, rank: int) -> tuple[int]:
    return (1,)


def _batch_norm(op: ops.BatchNormOp, at: PaddingSite) -> Sequence[PaddedValue] | None:
    data, *parameters = map(at.axes, op.operands)
    is_open = data[1].names or any(axis.names for axes in parameters for axis in axes)
    return None if is_open else [PaddedValue(data)]


def _softmax(op: ops.SoftmaxOp, at: PaddingSite) -> Sequence[PaddedValue] | None:
    axes = at.axes(op.input)
    (axis,) = _axis(op, len(axes))
    if not axes[axis].names:
        return _ALONG_AXIS(op, at)
    at.mix(axes[axis])
    if (op.mask is not None and op.fill is not None) or COMPONENTS in op.properties or is_qlinear(op):
        return None  # its specific arithmetic has no mask
    valid = at.valid(axes, [axis])
    scores, keep = op.input, valid
    if kind_of(element_of(scores)) is Kind.FLOAT:  # NaN would count as the least element of its row
        scores = at.select(scores, [axis], zero_of)
    if op.mask is not None:
        keep = at.here.add(AndOp, op.mask, valid).result
        if op.is_uniform_if_empty:
            scores, keep = _uniform(op, at, scores, keep, valid)
    made = at.here.add(ops.SoftmaxOp, scores, keep, axis=op.axis)
    if op.requantize is not None:
        made.properties["requantize"] = op.properties["requantize"]
    made.attributes.update(op.attributes)
    result = Rewriter.replace_value_with_new_type(made.result, op.result.type)
    facts = PaddedValue(axes, frozenset() if zero_of(result) is None else frozenset([axis]))
    at.replace(op.result, result, facts)
    return [facts]


def _uniform(
    op: ops.SoftmaxOp, at: PaddingSite, scores: SSAValue, keep: SSAValue, valid: SSAValue
) -> tuple[SSAValue, SSAValue]:
    """Returns scores and a mask that give fully masked rows uniform probabilities, `1 / n` for `n` valid elements.

    The scores of such a row are made equal, and its mask admits all valid elements.
    """
    behind = len(shape_of(op.input)) - normalized_axis(op.axis.value.data, len(shape_of(op.input)))
    has_any = at.here.append(ReduceMaxOp(keep, [len(shape_of(keep)) - behind])).result
    whole = at.here.add(AndOp, valid, at.here.add(NotOp, has_any).result).result
    equal = (lowest_of if kind_of(element_of(scores)) is Kind.QUANTIZED else zero_of)(scores)
    assert equal is not None
    chosen = at.here.add(WhereOp, has_any, scores, at.scalar(scores, equal)).result
    return chosen, at.here.add(OrOp, keep, whole).result


_ALONG_AXIS = along(_axis)

RULES: Mapping[type[Operation], Rule] = {
    ops.TrailingNormOp: along(_from_first_axis),
    ops.ScaledChannelNormOp: each_sample,
    ops.BatchNormOp: _batch_norm,
    ops.LocalResponseNormOp: along(_channels),
    ops.LpNormOp: _ALONG_AXIS,
    ops.SoftmaxLikeOp: _ALONG_AXIS,
    ops.SoftmaxOp: _softmax,
}
