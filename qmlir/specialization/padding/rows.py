"""Padding rules for element-wise operations, reductions and contractions.

They insert a mask if padding would otherwise reach a valid element.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
from xdsl.dialects.builtin import Float32Type, Float64Type, IntegerType, TensorType, f32, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.activations import ops as activations
from qmlir.dialects.nn.base import Kind, NnOp, kind_of
from qmlir.dialects.nn.building import build
from qmlir.dialects.nn.contraction import ops as contraction
from qmlir.dialects.nn.dynamic import ops as dynamic
from qmlir.dialects.nn.elementwise import ops as elements
from qmlir.dialects.nn.logic import ops as logic
from qmlir.dialects.nn.movement.ops import normalized_axis
from qmlir.dialects.nn.normalization import ops as normalization
from qmlir.dialects.nn.reduction import ops as reduction
from qmlir.dialects.nn.requantize import is_qlinear
from qmlir.dialects.nn.trees import ops as trees
from qmlir.dialects.quant.ops import CastOperation, QuantizeCastOp, StorageCastOp
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.decomposition import COMPONENTS
from qmlir.specialization.padding.padding import Axes, PaddedValue, PaddingWalk, Rule, limit_of, zero_of
from qmlir.specialization.padding.symbolic_sizes import Extent, extents, product


def broadcast(op: Operation, walk: PaddingWalk, *values: Axes) -> Axes:
    """Returns the extents that these shapes broadcast to."""
    found: Axes = ()
    for axes in values:
        pairs = zip_longest(reversed(found), reversed(axes), fillvalue=Extent())
        joined: list[Extent] = []
        for left, right in pairs:
            if left not in (right, Extent()) and right != Extent():
                walk.together(op, left, right)
            joined.append(right if left == Extent() else left)
        found = tuple(reversed(joined))
    return found


def _shared(op: Operation, walk: PaddingWalk, values: Iterable[SSAValue | None]) -> Axes:
    return broadcast(op, walk, *(walk.axes(value) for value in values if value is not None))


# --- Elements ---------------------------------------------------------------------------------------------------------


def elementwise(op: Operation, walk: PaddingWalk) -> Sequence[PaddedValue]:
    """The rule of element-wise operations."""
    walk.data(op)
    return [PaddedValue(_shared(op, walk, op.operands))]


def dividing(op: elements.BinaryOp, walk: PaddingWalk) -> Sequence[PaddedValue]:
    """The rule of divisions and powers: integer padding in the second operand is set to 1.

    Padding could be 0, which integers can't be divided by, or a negative exponent.
    """
    found = elementwise(op, walk)
    if kind_of(element_of(op.rhs)) is Kind.INTEGER:
        walk.select(op, op.rhs, range(len(walk.axes(op.rhs))), _one(op.rhs))
    return found


def _cast(op: CastOperation, walk: PaddingWalk) -> Sequence[PaddedValue]:
    walk.data(op)
    facts = walk.facts(op.input)
    has_zero = zero_of(op.input) is not None and zero_of(op.result) is not None
    return [PaddedValue(facts.axes, facts.zeros if has_zero else frozenset())]


# --- Rows -------------------------------------------------------------------------------------------------------------


def _along(op: Operation, walk: PaddingWalk, value: SSAValue, axes: Iterable[int]) -> tuple[int, ...]:
    """Returns those of `axes` that are dynamic."""
    return tuple(axis for axis in axes if walk.axes(value)[axis].names)


def _trailing_norm(op: normalization.TrailingNormOp, walk: PaddingWalk) -> Sequence[PaddedValue] | None:
    data, *others = op.operands
    if _along(op, walk, data, range(op.first_axis, len(walk.axes(data)))):
        return None
    return [PaddedValue(_shared(op, walk, (data, *others)))]


def _along_one_axis(op: Any, walk: PaddingWalk) -> Sequence[PaddedValue] | None:
    """The rule of operations along one axis, which must be static; other axes may be dynamic."""
    axes = walk.axes(op.input)
    axis = normalized_axis(op.axis.value.data, len(axes))
    return None if axes[axis].names else [PaddedValue(axes)]


def _batch_norm(op: normalization.BatchNormOp, walk: PaddingWalk) -> Sequence[PaddedValue] | None:
    data, *parameters = map(walk.axes, op.operands)
    is_open = data[1].names or any(axis.names for axes in parameters for axis in axes)
    return None if is_open else [PaddedValue(data)]


def _softmax(op: normalization.SoftmaxOp, walk: PaddingWalk) -> Sequence[PaddedValue] | None:
    axes = walk.axes(op.input)
    axis = normalized_axis(op.axis.value.data, len(axes))
    if not axes[axis].names:
        after = _shared(op, walk, (op.input, op.mask))
        return None if after[axis].names else [PaddedValue(after)]
    walk.mix(axes[axis])
    if (op.mask is not None and op.fill is not None) or COMPONENTS in op.properties or is_qlinear(op):
        return None  # its specific arithmetic has no mask
    valid = walk.valid(axes, [axis])
    scores, keep = op.input, valid
    if kind_of(element_of(scores)) is Kind.FLOAT:  # NaN would count as the least element of its row
        scores = walk.insert(op, build(elements.WhereOp, [valid, scores, walk.scalar(scores, _zero(scores))])).result
    if op.mask is not None:
        keep = walk.insert(op, build(logic.AndOp, [op.mask, valid])).result
        if op.is_uniform_if_empty:
            scores, keep = _uniform(op, walk, scores, keep, valid)
    made = build(normalization.SoftmaxOp, [scores, keep], {"axis": op.axis})
    if op.requantize is not None:
        made.properties["requantize"] = op.properties["requantize"]
    made.attributes.update(op.attributes)
    Rewriter.replace_value_with_new_type(made.result, op.result.type)
    walk.insert(op, made)
    facts = PaddedValue(axes, frozenset() if zero_of(op.result) is None else frozenset([axis]))
    op.result.replace_all_uses_with(walk.keep(made.result, facts))
    return [facts]


def _zero(value: SSAValue) -> Array:
    zero = zero_of(value)
    assert zero is not None
    return zero


def _uniform(
    op: normalization.SoftmaxOp, walk: PaddingWalk, scores: SSAValue, keep: SSAValue, valid: SSAValue
) -> tuple[SSAValue, SSAValue]:
    """Returns scores and a mask that give fully masked rows uniform probabilities, `1 / n` for `n` valid elements.

    The scores of such a row are made equal, and its mask admits all valid elements.
    """
    behind = len(shape_of(op.input)) - normalized_axis(op.axis.value.data, len(shape_of(op.input)))
    has_any = walk.insert(op, reduction.ReduceMaxOp(keep, [len(shape_of(keep)) - behind])).result
    none = walk.insert(op, logic.NotOp(has_any)).result
    whole = walk.insert(op, build(logic.AndOp, [valid, none])).result
    lowest = limit_of(scores, highest=False) if kind_of(element_of(scores)) is Kind.QUANTIZED else _zero(scores)
    assert lowest is not None
    equal = walk.insert(op, build(elements.WhereOp, [has_any, scores, walk.scalar(scores, lowest)])).result
    return equal, walk.insert(op, build(logic.OrOp, [keep, whole])).result


def _tree_ensemble(op: trees.TreeEnsembleOp, walk: PaddingWalk) -> Sequence[PaddedValue] | None:
    """The rule of tree ensembles: rows are evaluated independently."""
    rows, columns = walk.axes(op.input)
    if columns.names or any(axis.names for table in op.operands[1:] for axis in walk.axes(table)):
        return None
    walk.data(op)
    return [PaddedValue((rows, *extents([op.count.value.data])))]


# --- Sums -------------------------------------------------------------------------------------------------------------


def _one(value: SSAValue) -> Array | None:
    zero = zero_of(value)
    return None if zero is None or kind_of(element_of(value)) is Kind.QUANTIZED else np.ones_like(zero)


def _lowest(value: SSAValue) -> Array | None:
    return limit_of(value, highest=False)


def _highest(value: SSAValue) -> Array | None:
    return limit_of(value, highest=True)


# Float sums are computed in f64, in order, starting from 0, so an additional 0 changes nothing. The same holds for
# products and 1.
MOST_BITS = 16
"""The largest width of the results of a mean. Above it, a ratio of 1 is exact and isn't multiplied in f32."""

_NEUTRAL: dict[type[Operation], Callable[[SSAValue], Array | None]] = {
    reduction.ReduceSumOp: zero_of,
    reduction.ReduceMeanOp: zero_of,
    reduction.ReduceL1Op: zero_of,
    reduction.ReduceL2Op: zero_of,
    reduction.ReduceSumSquareOp: zero_of,
    reduction.ReduceProdOp: _one,
    reduction.ReduceMaxOp: _lowest,
    reduction.ReduceMinOp: _highest,
    reduction.ArgMaxOp: _lowest,
    reduction.ArgMinOp: _highest,
}


def _kept(axes: Axes, gone: Sequence[int], *, keeps: bool) -> Axes:
    named = enumerate(axes)
    return tuple(Extent() if axis in gone else extent for axis, extent in named if keeps or axis not in gone)


def _reduce(op: reduction.ReduceOp, walk: PaddingWalk) -> Sequence[PaddedValue] | None:
    walk.data(op, op.input)
    axes = walk.axes(op.input)
    content = None if op.axes_value is None else walk.facts(op.axes_value).content
    if op.axes_value is not None and (content is None or walk.facts(op.axes_value).names_sizes):
        return None
    gone = op.reduced_axes(len(axes), None if content is None else content.astype(np.int64))
    facts = PaddedValue(_kept(axes, gone, keeps=op.keeps_axes))
    is_open = _along(op, walk, op.input, gone)
    walk.mix(*(axes[axis] for axis in is_open))
    if not is_open:
        return [facts]
    if type(op) not in _NEUTRAL:
        return None
    walk.select(op, op.input, is_open, _NEUTRAL[type(op)](op.input))
    if isinstance(op, reduction.ReduceMeanOp):
        mean_of_the_run(op, walk, op.input, gone, facts, keeps=op.keeps_axes)
    return [facts]


def mean_of_the_run(
    op: NnOp, walk: PaddingWalk, data: SSAValue, gone: Sequence[int], facts: PaddedValue, *, keeps: bool = True,
    count: SSAValue | None = None,
) -> None:  # fmt: skip
    """Replaces `op`, a mean over the axes `gone` of `data`, by a sum divided by the number of valid elements.

    Padding in `data` must be 0. `count` overrides the number of elements, which is the product of the axes by default.
    """
    if count is None:
        count = walk.size(product(walk.axes(data)[axis] for axis in gone))
    element = element_of(data)
    if isinstance(element, Float32Type | Float64Type):
        total = walk.insert(op, reduction.ReduceSumOp(data, gone, keeps)).result
        quotient = walk.insert(op, elements.DivOp(total, _as_float(op, walk, count, element))).result
    else:
        quotient = _quantized_mean(op, walk, data, gone, keeps, count)
    op.results[0].replace_all_uses_with(walk.keep(quotient, facts))


def _as_float(op: Operation, walk: PaddingWalk, value: SSAValue, element: Attribute) -> SSAValue:
    type_ = TensorType(element, shape_of(value))
    return walk.insert(op, elements.CastOp.build(operands=[value], result_types=[type_])).result


def _quantized_mean(
    op: NnOp, walk: PaddingWalk, data: SSAValue, gone: Sequence[int], keeps: bool, count: SSAValue
) -> SSAValue:
    """Computes `saturate(rne(f32(sum) * f32(s_x / f32(s_y * n))) + z)` with the runtime count `n`.

    The sum is an integer sum in 32 bits. A quantization with scale 1 does the final rounding and adds the zero point.
    """
    before, after = element_of(data), element_of(op.results[0])
    most = product(walk.axes(data)[axis] for axis in gone).at(walk.capacities)
    if not _is_rescaled_by_f32(op, before, after):
        walk.decline(op, f"is a mean of {before} along a dynamic dimension, whose rounding depends on the runtime size")
    assert isinstance(before, UniformQuantizedType)
    assert isinstance(after, UniformQuantizedType)
    if (before.storage_max - before.storage_min) * most >= 1 << 31:
        walk.decline(op, f"sums up to {most} elements of {before}, which overflows 32 bits")
    shape = shape_of(reduction.ReduceSumOp(data, gone, keeps).result)
    wide = UniformQuantizedType.per_tensor(i32, f32, float(before.scale))
    summed = reduction.ReduceSumOp(data, gone, keeps)
    Rewriter.replace_value_with_new_type(summed.result, TensorType(wide, shape))
    total = _stored(op, walk, walk.insert(op, summed).result, i32)
    target = elements.MulOp(walk.number(f32, after.scale), _as_float(op, walk, count, f32))
    ratio = walk.insert(op, elements.DivOp(walk.number(f32, before.scale), walk.insert(op, target).result)).result
    mean = walk.insert(op, elements.MulOp(_as_float(op, walk, total, f32), ratio)).result
    limits = after.storage_min, after.storage_max
    unit = UniformQuantizedType.per_tensor(after.storage, f32, 1.0, int(after.zero_point), limits)
    rounded = walk.put(op, QuantizeCastOp(mean, TensorType(unit, shape)))
    return _stored(op, walk, _stored(op, walk, rounded, IntegerType(after.bits)), after)


def _stored(op: Operation, walk: PaddingWalk, value: SSAValue, element: Attribute) -> SSAValue:
    """Reinterprets stored integers as elements of another type."""
    return walk.put(op, StorageCastOp(value, TensorType(element, shape_of(value))))


def _is_rescaled_by_f32(op: NnOp, *types: Attribute) -> bool:
    """Returns True if all types are per-tensor, of at most 16 bits, and `op` uses the default f32 requantization."""
    uniform = [each for each in types if isinstance(each, UniformQuantizedType)]
    return (
        len(uniform) == len(types)
        and all(each.granularity is Granularity.TENSOR and each.bits <= MOST_BITS for each in uniform)
        and all(each.expressed_type == f32 for each in uniform)
        and op.requantize is None
    )


def _arg_extreme(op: reduction.ArgExtremeOp, walk: PaddingWalk) -> Sequence[PaddedValue] | None:
    axes = walk.axes(op.input)
    axis = normalized_axis(op.axis.value.data, len(axes))
    if axes[axis].names:
        if op.select_last_index.value.data:
            return None
        walk.count(op, axes[axis])
        walk.select(op, op.input, [axis], _NEUTRAL[type(op)](op.input))
    return [PaddedValue(_kept(axes, [axis], keeps=bool(op.keep_dims.value.data)))]


def _scan(op: reduction.ScanOp, walk: PaddingWalk) -> Sequence[PaddedValue] | None:
    """The rule of scans: a prefix of a valid element contains no padding."""
    axes = walk.axes(op.input)
    content = None if op.axis_value is None else walk.facts(op.axis_value).content
    if op.axis_value is not None and content is None:
        return None
    axis = op.scanned_axis(len(axes), None if content is None else content.astype(np.int64))
    if axes[axis].names:
        walk.count(op, axes[axis])
        if op.reverse.value.data:
            return None
    return [PaddedValue(axes)]


def _dynamic_quantize(op: dynamic.DynamicQuantizeOp, walk: PaddingWalk) -> Sequence[PaddedValue]:
    """The rule of dynamic quantization: padding becomes 0, which the range always includes."""
    axes = walk.axes(op.input)
    walk.mix(*axes)
    walk.select(op, op.input, range(len(axes)), zero_of(op.input))
    return [PaddedValue(axes), PaddedValue(()), PaddedValue(())]


# --- Sums of products -------------------------------------------------------------------------------------------------


def _fully_connected(op: contraction.FullyConnectedOp, walk: PaddingWalk) -> Sequence[PaddedValue] | None:
    data, weight = walk.axes(op.data), walk.axes(op.weight)
    if any(axis.names for axis in (data[-1], *weight)):
        return None
    return [PaddedValue((*data[:-1], weight[0]))]


def _matmul(op: contraction.MatMulOp, walk: PaddingWalk) -> Sequence[PaddedValue] | None:
    left, right = walk.axes(op.lhs), walk.axes(op.rhs)
    if len(left) < 2 or len(right) < 2:
        return None
    terms, columns = (-1, -2) if op.is_rhs_transposed else (-2, -1)
    if left[-1] != right[terms]:
        walk.together(op, left[-1], right[terms])
    if left[-1].names:
        walk.mix(left[-1])
        if kind_of(element_of(op.lhs)) is Kind.FLOAT:
            walk.decline(
                op, f"sums floats along a dynamic dimension, {left[-1]}, which may change the order of the sum"
            )
        _zero_terms(op, walk, len(left) - 1, len(right) + terms)
    return [PaddedValue((*broadcast(op, walk, left[:-2], right[:-2]), left[-2], right[columns]))]


def _zero_terms(op: contraction.MatMulOp, walk: PaddingWalk, left: int, right: int) -> None:
    """Makes padding along the reduction axis 0 in one of the two operands."""
    if left in walk.facts(op.lhs).zeros or right in walk.facts(op.rhs).zeros:
        return
    if zero_of(op.lhs) is not None:
        walk.select(op, op.lhs, [left], zero_of(op.lhs))
    else:
        walk.select(op, op.rhs, [right], zero_of(op.rhs))


RULES: dict[type[Operation], Rule] = {
    elements.UnaryOp: elementwise,
    elements.BinaryOp: elementwise,
    elements.ModOp: dividing,
    elements.PowOp: dividing,
    elements.BitCastOp: elementwise,
    activations.PReluOp: elementwise,
    CastOperation: _cast,
    normalization.TrailingNormOp: _trailing_norm,
    normalization.BatchNormOp: _batch_norm,
    normalization.LpNormOp: _along_one_axis,
    normalization.SoftmaxOp: _softmax,
    normalization.LogSoftmaxOp: _along_one_axis,
    normalization.HardmaxOp: _along_one_axis,
    reduction.ReduceOp: _reduce,
    reduction.ArgExtremeOp: _arg_extreme,
    reduction.ScanOp: _scan,
    dynamic.DynamicQuantizeOp: _dynamic_quantize,
    trees.TreeEnsembleOp: _tree_ensemble,
    contraction.FullyConnectedOp: _fully_connected,
    contraction.MatMulOp: _matmul,
}
