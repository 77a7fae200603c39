"""Decomposition of softmax and its logarithm, shifted by the maximum so that nothing overflows."""

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.building import build
from qmlir.dialects.nn.decomposition import Decompose, Results, scalar
from qmlir.dialects.nn.elementwise.ops import AddOp, DivOp, EqualOp, ExpOp, LogOp, MaxOp, SubOp, WhereOp
from qmlir.dialects.nn.movement.ops import normalized_axis
from qmlir.dialects.nn.reduction.ops import ReduceMaxOp, ReduceMinOp, ReduceSumOp
from qmlir.dialects.nn.softmax.ops import LogSoftmaxOp, SoftmaxLikeOp, SoftmaxOp
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.decomposition import Parts


def _raised(op: SoftmaxLikeOp, parts: Parts, x: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
    """Returns `x - max`, its exponential, and the sum of the exponential."""
    axes = [normalized_axis(op.axis.value.data, len(shape_of(op.input)))]
    largest = parts.add("max", ReduceMaxOp(x, axes)).result
    shifted = parts.add("shifted", SubOp(x, largest)).result
    raised = parts.add("exp", ExpOp(shifted)).result
    return shifted, raised, parts.add("sum", ReduceSumOp(raised, axes)).result


def _softmax(op: SoftmaxOp, parts: Parts) -> Results:
    """Decomposes to `e^(x - max)` over its sum."""
    if op.mask is not None and op.fill is None:
        return _masked(op, op.mask, parts)
    _, raised, total = _raised(op, parts, _filled(op, parts))
    return [parts.add("div", DivOp(raised, total)).result]


def _filled(op: SoftmaxOp, parts: Parts) -> SSAValue:
    """Returns the input plus the fill value at masked elements."""
    if op.mask is None or op.fill is None:
        return op.input
    nothing, fill = scalar(parts, "zero", 0.0, op.input), scalar(parts, "fill", op.fill.value.data, op.input)
    addend = parts.add("addend", build(WhereOp, [op.mask, nothing, fill])).result
    return parts.add("filled", AddOp(op.input, addend)).result


# Masked elements must not affect the maximum, since an exponential could overflow; nor may a placeholder widen the
# range of the scores. The minimum of the row does neither: `x - max <= 0` stays true. Its exponential is replaced by 0,
# which is exact in any type that contains 0. The element `max` itself adds `e^0 = 1` to the sum, if there is one:
# `sum >= 1`, and `max(sum, 1)` changes only empty rows, where it turns 0 / 0 into 0.
def _masked(op: SoftmaxOp, mask: SSAValue, parts: Parts) -> Results:
    """Decomposes to `e^(x - max)` over its sum, with maximum and sum of the unmasked elements."""
    shape = shape_of(op.input)
    axis = normalized_axis(op.axis.value.data, len(shape))
    if op.is_uniform_if_empty and shape[axis] == DYNAMIC_INDEX:
        return None
    least = parts.add("min", ReduceMinOp(op.input, [axis])).result
    selected = parts.add("selected", build(WhereOp, [mask, op.input, least])).result
    largest = parts.add("max", ReduceMaxOp(selected, [axis])).result
    raised = parts.add("exp", ExpOp(parts.add("shifted", SubOp(selected, largest)).result)).result
    nothing = scalar(parts, "zero", 0.0, op.input)
    kept = parts.add("kept", build(WhereOp, [mask, raised, nothing])).result
    found = parts.add("sum", ReduceSumOp(kept, [axis])).result
    total = parts.add("total", MaxOp(found, scalar(parts, "one", 1.0, op.input))).result
    quotient = parts.add("div", DivOp(kept, total)).result
    if not op.is_uniform_if_empty:
        return [quotient]
    is_empty = parts.add("is_empty", EqualOp(found, scalar(parts, "no_sum", 0.0, op.input))).result
    uniform = scalar(parts, "uniform", float(np.float32(1) / np.float32(max(shape[axis], 1))), op.input)
    return [parts.add("result", build(WhereOp, [is_empty, uniform, quotient])).result]


def _log_softmax(op: LogSoftmaxOp, parts: Parts) -> Results:
    """Decomposes to `x - max` minus the logarithm of the sum of its exponential."""
    shifted, _, total = _raised(op, parts, op.input)
    return [parts.add("sub", SubOp(shifted, parts.add("log", LogOp(total)).result)).result]


COMPOSITES: dict[type[Operation], Decompose] = {SoftmaxOp: _softmax, LogSoftmaxOp: _log_softmax}
