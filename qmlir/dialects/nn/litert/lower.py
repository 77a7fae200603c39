"""Lowering of quantized operations in the modes of LiteRT, by the formulas of `qmlir.arithmetic.litert`."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IndexType, IntegerType, f32, i32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap

from qmlir.arithmetic import litert
from qmlir.arithmetic.requantization import Mode
from qmlir.dialects.kernel.lowering import quantized
from qmlir.dialects.kernel.lowering.lowering import Input, Lower, Lowering
from qmlir.dialects.kernel.lowering.quantized import ElementLoad, ElementStore
from qmlir.dialects.kernel.lowering.scalars import STEPS, Scalar, extracted, position
from qmlir.dialects.kernel.rows import RowMaxOp, RowSumOp
from qmlir.dialects.nn.activations import ops as activations
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.litert import evaluate
from qmlir.dialects.nn.lowering import axes_map, identity, looked_up, operand_map, uniform_type
from qmlir.dialects.nn.normalization import ops as normalization
from qmlir.dialects.nn.pooling import lower as pooling
from qmlir.dialects.nn.pooling.ops import GlobalAveragePoolOp
from qmlir.dialects.nn.reduction import ops as reduction
from qmlir.dialects.nn.reduction.lower import summed
from qmlir.dialects.nn.requantize import affine, mode_of, unsigned_offset
from qmlir.dialects.nn.resizing import ops as resizing
from qmlir.ir.builtin_types import shape_of


def _writing(at: Lowering, *, moved: bool = True) -> ElementStore:
    """Saturates integers of up to 64 bits, after the zero point of the result is added if `moved`."""
    element = uniform_type(at, at.op.results[0])

    def write(integer: Scalar, _: Sequence[Scalar]) -> Scalar:
        found = integer + element.zero_point if moved and element.zero_point else integer
        return found.clamp(element.storage_min, element.storage_max).to(IntegerType(element.bits))

    return ElementStore((), write)


def _integers(at: Lowering, value: SSAValue) -> ElementLoad:
    own = quantized.stored(at, value, operand_map(at, value))
    return ElementLoad(own.inputs, lambda scalars: own.read(scalars).to(i64))


def _table(op: Operation, at: Lowering) -> Sequence[SSAValue]:
    return (looked_up(at),)


def _by_formula(formula: Callable[[Any], Callable[..., Any] | None]) -> Lower:
    def lower(op: Any, at: Lowering) -> Sequence[SSAValue] | None:
        found = formula(op)
        if found is None:
            return None
        readings = [_integers(at, value) for value in op.operands]
        return (quantized.compute(at, readings, _writing(at), lambda *integers: found(STEPS, *integers)),)

    return lower


def _from_reals(op: elementwise.ClipOp, at: Lowering) -> Sequence[SSAValue] | None:
    if not evaluate.quantizes(op):
        return None
    element, mode, writing = uniform_type(at, op.result), mode_of(op), _writing(at)
    result = affine(element)
    low, high = (float(limit - element.zero_point) for limit in (element.storage_min, element.storage_max))

    def whole(x: Scalar) -> Scalar:
        return litert.quantized(STEPS, x.to(f32), mode, result).clamp(low, high).to(i32)

    return (quantized.compute(at, [quantized.plain(at, op.input, identity(at))], writing, whole),)


def _requantized(op: elementwise.ClipOp, at: Lowering) -> Sequence[SSAValue] | None:
    if evaluate.quantizes(op):
        return _from_reals(op, at)
    return _table(op, at) if evaluate.is_converted(op) else None


def _xnnpack_reduction(op: evaluate.Mean, at: Lowering) -> Sequence[SSAValue]:
    data = op.operands[0]
    source, result, shape = affine(uniform_type(at, data)), affine(uniform_type(at, op.result)), shape_of(data)
    is_sum = isinstance(op, reduction.ReduceSumOp)
    gone = range(2, len(shape)) if isinstance(op, GlobalAveragePoolOp) else op.reduced_axes(len(shape))
    count = math.prod(shape[axis] for axis in gone)
    if not count:
        raise at.error("the mean of zero elements is undefined")
    total = summed(at, quantized.stored(at, data, AffineMap.identity(len(shape))), shape, gone, i32)

    def mean(sum_: Scalar) -> Scalar:
        found = litert.xnnpack_mean(STEPS, sum_.to(i64), count, source, result, is_sum=is_sum)
        return found.clamp(-(1 << 24), 1 << 24).to(i32)

    return (quantized.compute(at, [total], _writing(at, moved=False), mean),)


def _softmax(op: normalization.SoftmaxOp, at: Lowering) -> Sequence[SSAValue]:
    source, result, shape = affine(uniform_type(at, op.input)), uniform_type(at, op.result), shape_of(op.input)
    axis, writing = op.axis.value.data % len(shape), _writing(at)
    if result.bits == 16:
        return (_softmax16(op, at),)
    is_reference = mode_of(op) is Mode.LITERT_REFERENCE
    table = (
        at.constant(litert.softmax_powers(source.scale), i32)
        if is_reference
        else at.constant(litert.softmax_reals(source.scale), f32)
    )

    def body(stored: Scalar) -> Scalar:
        integer = stored.to(i32)
        place = integer.over_row(RowMaxOp, [axis]) - integer
        power = extracted(stored.builder, table, [place.to(IndexType())])
        if is_reference:
            wide = power.to(i64)
            total = litert.softmax_term(STEPS, wide).to(i32).over_row(RowSumOp, [axis])
            share = litert.softmax_share(STEPS, wide, total.to(i64), result.bits)
        else:
            inverse = power.constant(1) / (power.over_row(RowSumOp, [axis]) * float(result.scale))
            share = litert.half_away(STEPS, power * inverse).to(i32)
        return writing.write(share, ())

    data = Input(at.value(op.input), AffineMap.identity(len(shape)), at.signedness(op.input))
    return (at.compute([data], shape, IntegerType(result.bits), body),)


def _softmax16(op: normalization.SoftmaxOp, at: Lowering) -> SSAValue:
    scale, shape, writing = uniform_type(at, op.input).scale, shape_of(op.input), _writing(at)
    axis, tables = op.axis.value.data % len(shape), [at.constant(table, i32) for table in litert.softmax16_tables()]

    def look(table: SSAValue) -> Callable[[Scalar], Scalar]:
        return lambda place: extracted(place.builder, table, [place.to(IndexType())]).to(i64)

    def body(stored: Scalar) -> Scalar:
        integer = stored.to(i32)
        difference = (integer - integer.over_row(RowMaxOp, [axis])).to(i64)
        power = litert.softmax16_power(STEPS, difference, scale, look(tables[0]))
        total = power.to(i32).over_row(RowSumOp, [axis]).to(i64)
        return writing.write(litert.softmax16_share(STEPS, power, total, look(tables[1])), ())

    data = Input(at.value(op.input), AffineMap.identity(len(shape)), at.signedness(op.input))
    return at.compute([data], shape, IntegerType(16), body)


def _resize(op: resizing.ResizeOp, at: Lowering) -> Sequence[SSAValue] | None:
    found = evaluate.samples(op)
    if found is None:
        return None
    value, rank, writing = at.value(op.input), len(shape_of(op.input)), _writing(at, moved=False)
    tables = [
        Input(at.constant(array.astype(np.int32), i32), axes_map(rank, [each.axis]))
        for each in found
        for array in (each.first, each.second, each.weight)
    ]
    is_unsigned, offset = at.signedness(op.input), unsigned_offset(uniform_type(at, op.input))

    def body(*given: Scalar) -> Scalar:
        builder = given[0].builder
        top, low, down, left, right, beside = given
        images = [position(builder, index) for index in range(2)]
        corners = [
            extracted(builder, value, [*images, row.to(IndexType()), column.to(IndexType())], is_unsigned).to(i64)
            - offset
            for row in (top, low)
            for column in (left, right)
        ]
        found = litert.interpolated(STEPS, mode_of(op), corners, down.to(i64), beside.to(i64))
        return writing.write(found + offset, ())

    return (at.compute(tables, at.result_shape(), at.result_element(), body),)


_BOTH: dict[type[Operation], Lower] = {
    **dict.fromkeys(
        (
            activations.SigmoidOp, activations.TanhOp, activations.GeluOp, activations.EluOp, activations.LeakyReluOp,
            activations.HardSwishOp,
        ),
        _table,
    ),
    activations.PReluOp: _by_formula(evaluate.prelu),
    normalization.SoftmaxOp: _softmax,
    **pooling.LITERT,
    resizing.ResizeOp: _resize,
}  # fmt: skip

BY_MODE: dict[Mode, dict[type[Operation], Lower]] = {
    Mode.LITERT_REFERENCE: {**_BOTH, elementwise.ClipOp: _from_reals},
    Mode.LITERT_XNNPACK: {
        **_BOTH,
        elementwise.ClipOp: _requantized,
        elementwise.AddOp: _by_formula(evaluate.xnnpack_sum),
        elementwise.SubOp: _by_formula(evaluate.xnnpack_sum),
        reduction.ReduceMeanOp: _xnnpack_reduction,
        reduction.ReduceSumOp: _xnnpack_reduction,
        GlobalAveragePoolOp: _xnnpack_reduction,
    },
}
"""The lowerings of each mode that don't rescale exact integers; they return `None` for types that others lower."""
