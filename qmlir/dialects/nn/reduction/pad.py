"""Padding rules of reductions and scans, including means that divide by the number of valid elements.

Float sums are computed in f64, in order and starting from 0, so an additional 0 does not change them. The same holds
for products and 1.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import Float32Type, Float64Type, IntegerType, TensorType, f32, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from qmlir.arithmetic.symbolic_sizes import product
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.elementwise.ops import CastOp, DivOp, MulOp
from qmlir.dialects.nn.movement.ops import normalized_axis
from qmlir.dialects.nn.padding_rules import (
    ONE,
    Axes,
    Fill,
    PaddedValue,
    PaddingSite,
    Rule,
    highest_of,
    lowest_of,
    one_of,
    zero_of,
)
from qmlir.dialects.nn.reduction import ops
from qmlir.dialects.nn.terms import Expr
from qmlir.dialects.quant.ops import QuantizeCastOp, StorageCastOp
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.ir.builtin_types import element_of, shape_of

MOST_BITS = 16
"""The maximum width of the result of a mean: wider results skip the f32 multiplication if the scale ratio is 1."""

_NEUTRAL: Mapping[type[Operation], Fill] = {
    ops.ReduceSumOp: zero_of,
    ops.ReduceMeanOp: zero_of,
    ops.ReduceL1Op: zero_of,
    ops.ReduceL2Op: zero_of,
    ops.ReduceSumSquareOp: zero_of,
    ops.ReduceProdOp: one_of,
    ops.ReduceMaxOp: lowest_of,
    ops.ReduceMinOp: highest_of,
    ops.ArgMaxOp: lowest_of,
    ops.ArgMinOp: highest_of,
}


def _is_unknown(at: PaddingSite, value: SSAValue | None) -> bool:
    """Returns True for an operand with axes whose numbers aren't static."""
    return value is not None and (at.facts(value).content is None or at.facts(value).names_sizes)


def _kept(axes: Axes, gone: Sequence[int], *, keeps: bool) -> Axes:
    named = enumerate(axes)
    return tuple(ONE if axis in gone else extent for axis, extent in named if keeps or axis not in gone)


def reduce_along(
    op: NnOp, at: PaddingSite, gone: Sequence[int], fill: Fill | None, *, keeps: bool = True, is_mean: bool = False
) -> Sequence[PaddedValue] | None:
    """Returns the facts about a reduction along the axes `gone`, and replaces padding along them with `fill`."""
    data = op.operands[0]
    axes = at.axes(data)
    facts = PaddedValue(_kept(axes, gone, keeps=keeps))
    is_open = [axis for axis in gone if axes[axis].names]
    at.mix(*(axes[axis] for axis in is_open))
    if is_open:
        if fill is None:
            return None
        data = at.select(data, is_open, fill)
        if is_mean:
            mean_of_the_run(op, at, data, gone, facts, keeps=keeps)
    return [facts]


def _reduce(op: ops.ReduceOp, at: PaddingSite) -> Sequence[PaddedValue] | None:
    at.data(op.input)
    if _is_unknown(at, op.axes_value):
        return None
    gone = op.reduced_axes(len(at.axes(op.input)), at.array("axes"))
    is_mean = isinstance(op, ops.ReduceMeanOp)
    return reduce_along(op, at, gone, _NEUTRAL.get(type(op)), keeps=op.keeps_axes, is_mean=is_mean)


def mean_of_the_run(
    op: NnOp, at: PaddingSite, data: SSAValue, gone: Sequence[int], facts: PaddedValue, *, keeps: bool = True,
    count: Expr | None = None,
) -> None:  # fmt: skip
    """Replaces `op`, a mean of `data` over the axes `gone`, with a sum divided by the number of valid elements.

    Padding in `data` must be 0. `count` overrides the number of elements, which is the product of the sizes of `gone`
    by default.
    """
    if count is None:
        count = at.size(product(at.axes(data)[axis] for axis in gone))
    element = element_of(data)
    if isinstance(element, Float32Type | Float64Type):
        total = at.here.append(ops.ReduceSumOp(data, gone, keeps)).result
        quotient = at.here.add(DivOp, total, _as_float(at, count.value, element)).result
    else:
        quotient = _quantized_mean(op, at, data, gone, keeps, count)
    at.replace(op.results[0], quotient, facts)


def _as_float(at: PaddingSite, value: SSAValue, element: Attribute) -> SSAValue:
    return at.here.add(CastOp, value, result_types=[TensorType(element, shape_of(value))]).result


def _quantized_mean(
    op: NnOp, at: PaddingSite, data: SSAValue, gone: Sequence[int], keeps: bool, count: Expr
) -> SSAValue:
    """Computes `saturate(rne(f32(sum) * f32(s_x / f32(s_y * n))) + z)` with the runtime count `n`.

    The sum is an integer sum in 32 bits. A quantization with scale 1 does the final rounding and adds the zero point.
    """
    before, after = element_of(data), element_of(op.results[0])
    most = product(at.axes(data)[axis] for axis in gone).at(at.capacities)
    if not _is_rescaled_by_f32(op, before, after):
        at.decline(f"is a mean of {before} along a dynamic dimension, whose rounding depends on the runtime size")
    assert isinstance(before, UniformQuantizedType)
    assert isinstance(after, UniformQuantizedType)
    if (before.storage_max - before.storage_min) * most >= 1 << 31:
        at.decline(f"sums up to {most} elements of {before}, which overflows 32 bits")
    summed = ops.ReduceSumOp(data, gone, keeps)
    wide = TensorType(UniformQuantizedType.per_tensor(i32, f32, float(before.scale)), shape_of(summed.result))
    Rewriter.replace_value_with_new_type(summed.result, wide)
    total = _stored(at, at.here.append(summed).result, i32)
    size = _as_float(at, count.value, f32)
    new, old = (at.scalar(size, np.array(each.scale, np.float32)) for each in (after, before))
    ratio = at.here.add(DivOp, old, at.here.add(MulOp, new, size).result).result
    mean = at.here.add(MulOp, _as_float(at, total, f32), ratio).result
    limits = after.storage_min, after.storage_max
    unit = UniformQuantizedType.per_tensor(after.storage, f32, 1.0, int(after.zero_point), limits)
    rounded = at.here.append(QuantizeCastOp(mean, TensorType(unit, shape_of(mean)))).result
    return _stored(at, _stored(at, rounded, IntegerType(after.bits)), after)


def _stored(at: PaddingSite, value: SSAValue, element: Attribute) -> SSAValue:
    """Reinterprets stored integers as elements of another type."""
    return at.here.append(StorageCastOp(value, TensorType(element, shape_of(value)))).result


def _is_rescaled_by_f32(op: NnOp, *types: Attribute) -> bool:
    """Returns True if all types are per-tensor, of at most 16 bits, and `op` uses the default f32 requantization."""
    return op.requantize is None and all(
        isinstance(each, UniformQuantizedType)
        and each.granularity is Granularity.TENSOR
        and each.bits <= MOST_BITS
        and each.expressed_type == f32
        for each in types
    )


def _arg_extreme(op: ops.ArgExtremeOp, at: PaddingSite) -> Sequence[PaddedValue] | None:
    axes = at.axes(op.input)
    axis = normalized_axis(op.axis.value.data, len(axes))
    if axes[axis].names:
        if op.select_last_index.value.data:
            return None
        at.count(axes[axis])
        at.select(op.input, [axis], _NEUTRAL[type(op)])
    return [PaddedValue(_kept(axes, [axis], keeps=bool(op.keep_dims.value.data)))]


def _scan(op: ops.ScanOp, at: PaddingSite) -> Sequence[PaddedValue] | None:
    """The rule of scans: a prefix of a valid element contains no padding."""
    axes = at.axes(op.input)
    if _is_unknown(at, op.axis_value):
        return None
    extent = axes[op.scanned_axis(len(axes), at.array("axis"))]
    if extent.names:
        at.count(extent)
        if op.reverse.value.data:
            return None
    return [PaddedValue(axes)]


RULES: Mapping[type[Operation], Rule] = {
    ops.ReduceOp: _reduce,
    ops.ArgExtremeOp: _arg_extreme,
    ops.ScanOp: _scan,
}
