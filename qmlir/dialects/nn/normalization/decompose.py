"""Decomposition of softmax and normalization."""

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, FloatAttr
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.base import build, plain_type
from qmlir.dialects.nn.decomposition import Decompose, Results, cast, per_channel, scalar
from qmlir.dialects.nn.elementwise.ops import (
    AbsOp,
    AddOp,
    DivOp,
    EqualOp,
    ExpOp,
    LogOp,
    MaxOp,
    MulOp,
    SqrtOp,
    SubOp,
    WhereOp,
)
from qmlir.dialects.nn.movement.ops import ReshapeOp, normalized_axis
from qmlir.dialects.nn.normalization import ops
from qmlir.dialects.nn.reduction.ops import ReduceMaxOp, ReduceMeanOp, ReduceMinOp, ReduceSumOp
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.decomposition import Parts

# Decomposition of softmax and its logarithm, shifted by the maximum so that nothing overflows.


def _raised(op: ops.SoftmaxLikeOp, parts: Parts, x: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
    """Returns `x - max`, its exponential, and the sum of the exponential."""
    axes = [normalized_axis(op.axis.value.data, len(shape_of(op.input)))]
    largest = parts.add("max", ReduceMaxOp(x, axes)).result
    shifted = parts.add("shifted", SubOp(x, largest)).result
    raised = parts.add("exp", ExpOp(shifted)).result
    return shifted, raised, parts.add("sum", ReduceSumOp(raised, axes)).result


def _softmax(op: ops.SoftmaxOp, parts: Parts) -> Results:
    """Decomposes to `e^(x - max)` over its sum."""
    if op.mask is not None and op.fill is None:
        return _masked(op, op.mask, parts)
    _, raised, total = _raised(op, parts, _filled(op, parts))
    return [parts.add("div", DivOp(raised, total)).result]


def _filled(op: ops.SoftmaxOp, parts: Parts) -> SSAValue:
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
def _masked(op: ops.SoftmaxOp, mask: SSAValue, parts: Parts) -> Results:
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


def _log_softmax(op: ops.LogSoftmaxOp, parts: Parts) -> Results:
    """Decomposes to `x - max` minus the logarithm of the sum of its exponential."""
    shifted, _, total = _raised(op, parts, op.input)
    return [parts.add("sub", SubOp(shifted, parts.add("log", LogOp(total)).result)).result]


# Decomposition of normalizations: mean, deviation from it, division, then scale and shift.


def _batch_norm(op: ops.BatchNormOp, parts: Parts) -> Results:
    """Decomposes to `x * f + (bias - mean * f)` with `f = scale / sqrt(variance + epsilon)`."""
    rank = len(shape_of(op.data))
    factor, offset = op.scale, op.bias
    if op.statistics is not None:
        mean, variance = op.statistics
        epsilon = scalar(parts, "epsilon", op.epsilon.value.data, op.data)
        shifted = parts.add("variance_epsilon", AddOp(variance, epsilon)).result
        deviation = parts.add("deviation", SqrtOp(shifted)).result
        factor = parts.add("factor", DivOp(op.scale, deviation)).result
        moved = parts.add("scaled_mean", MulOp(mean, factor)).result
        offset = parts.add("offset", SubOp(op.bias, moved)).result
    product = parts.add("mul", MulOp(op.data, per_channel(parts, "factor", factor, rank))).result
    return [parts.add("add", AddOp(product, per_channel(parts, "offset", offset, rank))).result]


def moments(parts: Parts, data: SSAValue, axes: Sequence[int]) -> tuple[SSAValue, SSAValue, SSAValue]:
    """Returns `data` minus its mean over `axes`, the mean, and the variance; the latter two keep `axes` with size 1."""
    mean = parts.add("mean", ReduceMeanOp(data, axes)).result
    centered = parts.add("centred", SubOp(data, mean)).result
    squared = parts.add("squared", MulOp(centered, centered)).result
    return centered, mean, parts.add("variance", ReduceMeanOp(squared, axes)).result


def _over_root(parts: Parts, value: SSAValue, average: SSAValue, epsilon: FloatAttr, mean: str) -> SSAValue:
    """Divides `value` by the root of `average`, a mean of squares with role `mean`, plus `epsilon`."""
    small = scalar(parts, "epsilon", epsilon.value.data, value)
    deviation = parts.add("deviation", SqrtOp(parts.add(f"{mean}_epsilon", AddOp(average, small)).result)).result
    return parts.add("normalized", DivOp(value, deviation)).result


def _standardized(parts: Parts, data: SSAValue, axes: Sequence[int], epsilon: FloatAttr) -> SSAValue:
    """Normalizes `data` to mean 0 and variance 1 over `axes`."""
    centered, _, variance = moments(parts, data, axes)
    return _over_root(parts, centered, variance, epsilon, "variance")


def _scaled_by_channel(op: ops.ScaledChannelNormOp, parts: Parts, value: SSAValue) -> Sequence[SSAValue]:
    rank = len(shape_of(op.data))
    factor, offset = (per_channel(parts, role, each, rank) for role, each in (("scale", op.scale), ("bias", op.bias)))
    return [_scaled(parts, value, factor, offset)]


def _scaled(parts: Parts, value: SSAValue, scale: SSAValue | None, bias: SSAValue | None) -> SSAValue:
    if scale is not None:
        value = parts.add("mul", MulOp(value, scale)).result
    return value if bias is None else parts.add("bias_add", AddOp(value, bias)).result


def _rounded(parts: Parts, value: SSAValue, data: SSAValue) -> SSAValue:
    """Casts `value`, the result of the first stage, to the type of the data."""
    return cast(parts, "rounded", value, plain_type(element_of(data)))


def _layer_norm(op: ops.LayerNormOp, parts: Parts) -> Results:
    """Centers, divides by the deviation, scales and shifts; the first two in the type of the first stage."""
    axes = range(op.first_axis, len(shape_of(op.data)))
    data = cast(parts, "stage", op.data, op.first_stage_type(op.data))
    normalized = _standardized(parts, data, axes, op.epsilon)
    return [_scaled(parts, _rounded(parts, normalized, op.data), op.scale, op.bias)]


def _rms_norm(op: ops.RmsNormOp, parts: Parts) -> Results:
    """Divides by the root mean square, in the type of the first stage, then scales."""
    axes = range(op.first_axis, len(shape_of(op.data)))
    data = cast(parts, "stage", op.data, op.first_stage_type(op.data))
    squared = parts.add("squared", MulOp(data, data)).result
    average = parts.add("mean_square", ReduceMeanOp(squared, axes)).result
    normalized = _over_root(parts, data, average, op.epsilon, "mean_square")
    return [_scaled(parts, _rounded(parts, normalized, op.data), op.scale, None)]


def _instance_norm(op: ops.InstanceNormOp, parts: Parts) -> Results:
    """Centers each channel of each instance, divides by the deviation, scales and shifts."""
    rank = len(shape_of(op.data))
    if rank == 2:  # the mean over no axes is not a reduction
        return None
    normalized = _standardized(parts, op.data, range(2, rank), op.epsilon)
    return _scaled_by_channel(op, parts, normalized)


def _group_norm(op: ops.GroupNormOp, parts: Parts) -> Results:
    """Normalizes each group of channels as one axis, then scales and shifts each channel."""
    shape, groups = shape_of(op.data), op.groups.value.data
    if shape.count(DYNAMIC_INDEX) > 1 or shape[1] == DYNAMIC_INDEX:
        return None
    data = cast(parts, "stage", op.data, op.first_stage_type(op.data))
    split = (shape[0], groups, shape[1] // groups, *shape[2:])
    grouped = parts.add("groups", ReshapeOp(data, split)).result
    normalized = _standardized(parts, grouped, range(2, len(split)), op.epsilon)
    joined = parts.add("channels", ReshapeOp(_rounded(parts, normalized, op.data), shape)).result
    return _scaled_by_channel(op, parts, joined)


def _lp_norm(op: ops.LpNormOp, parts: Parts) -> Results:
    """Divides by the norm along the axis, with result 0 if the norm is 0; or by the norm bounded below by `epsilon`."""
    x, axes = op.input, [normalized_axis(op.axis.value.data, len(shape_of(op.input)))]
    if op.p.value.data == 1:
        norm: SSAValue = parts.add("norm", ReduceSumOp(parts.add("magnitude", AbsOp(x)).result, axes)).result
    else:
        total = parts.add("sum", ReduceSumOp(parts.add("squared", MulOp(x, x)).result, axes)).result
        norm = parts.add("norm", SqrtOp(total)).result
    if op.epsilon is not None:
        least = scalar(parts, "epsilon", op.epsilon.value.data, x)
        return [parts.add("div", DivOp(x, parts.add("bounded", MaxOp(norm, least)).result)).result]
    zero = scalar(parts, "zero", 0.0, x)
    vanishes = parts.add("is_zero", EqualOp(norm, zero)).result
    quotient = parts.add("div", DivOp(x, norm)).result
    return [parts.add("choice", build(WhereOp, [vanishes, zero, quotient])).result]


COMPOSITES: dict[type[Operation], Decompose] = {
    ops.SoftmaxOp: _softmax,
    ops.LogSoftmaxOp: _log_softmax,
    ops.BatchNormOp: _batch_norm,
    ops.InstanceNormOp: _instance_norm,
    ops.GroupNormOp: _group_norm,
    ops.LayerNormOp: _layer_norm,
    ops.RmsNormOp: _rms_norm,
    ops.LpNormOp: _lp_norm,
}

IN_STAGES: tuple[type[Operation], ...] = (
    ops.SoftmaxOp,
    ops.LogSoftmaxOp,
    ops.GroupNormOp,
    ops.LayerNormOp,
    ops.RmsNormOp,
)
"""Composites that ONNX defines as two stages or several steps, each of which is rounded."""
