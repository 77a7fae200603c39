"""Lowering in mode `qlinear`: the f32 steps of `qmlir.arithmetic.requantization`, zero points before rounding."""

import math as numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects import math
from xdsl.dialects.builtin import IndexType, IntegerType, f32, i32
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap

from qmlir.arithmetic import requantization
from qmlir.dialects.kernel.lowering import quantized
from qmlir.dialects.kernel.lowering.lowering import Input, Lower, Lowering
from qmlir.dialects.kernel.lowering.scalars import Scalar, extracted
from qmlir.dialects.kernel.rows import RowMaxOp, RowSumOp
from qmlir.dialects.nn.activations.ops import SigmoidOp
from qmlir.dialects.nn.contraction.lower_products import uniform_type
from qmlir.dialects.nn.elementwise.ops import AddOp
from qmlir.dialects.nn.lowering.elements import looked_up, operand_map
from qmlir.dialects.nn.lowering.indexing import channels_first, channels_last, sliding
from qmlir.dialects.nn.normalization.ops import SoftmaxOp
from qmlir.dialects.nn.pooling.lower import window_map
from qmlir.dialects.nn.pooling.ops import AveragePoolOp
from qmlir.dialects.nn.requantize import affine, is_qlinear
from qmlir.dialects.nn.result_shapes import covered_elements
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.builtin_types import shape_of


def _rounded(element: UniformQuantizedType, value: Scalar) -> Scalar:
    """Rounds a float that includes the zero point to a stored integer. It fits in 32 bits, so its limits are exact."""
    whole = value.round_even().clamp(element.storage_min, element.storage_max)
    return whole.to(i32).to(IntegerType(element.bits))


# --- Sums -------------------------------------------------------------------------------------------------------------


def _add(op: AddOp, at: Lowering) -> Sequence[SSAValue]:
    steps = requantization.Sum.of(*(affine(uniform_type(at, value)) for value in (op.lhs, op.rhs, op.result)))
    readings, result = (
        [quantized.stored(at, value, operand_map(at, value)) for value in op.operands],
        uniform_type(at, op.result),
    )

    def fused(a: Scalar, b: Scalar) -> Scalar:
        x, y = a.to(f32), b.to(f32)
        inner = y.apply(math.FmaOp, y.constant(float(steps.right_ratio)), y.constant(float(steps.offset)))
        return x.apply(math.FmaOp, x.constant(float(steps.left_ratio)), inner)

    writing = quantized.ElementStore((), lambda value, scalars: _rounded(result, value))
    return (quantized.compute(at, readings, writing, fused),)


# --- Average pools ----------------------------------------------------------------------------------------------------


def _average_pool(op: AveragePoolOp, at: Lowering) -> Sequence[SSAValue]:
    """Sums over the kernel in f32, one element after the other."""
    source, result, shape = uniform_type(at, op.data), uniform_type(at, op.result), shape_of(op.data)
    counts, target, rank = op.counts(shape[2:]), affine(result), len(shape)
    found = sliding(op.windows, counts, shape)
    last = at.transpose(at.value(op.data), channels_last(rank))
    init, zero_point, scale = at.fill(found.shape, f32, 0.0), source.zero_point, source.scale

    def add(stored: Scalar, _: Scalar, so_far: Scalar) -> Scalar:
        integer = stored.to(i32)
        real = (integer - zero_point if zero_point else integer).to(f32) * scale
        return so_far + real

    inputs = found.inputs(at, found.padded(at, last, zero_point), not source.is_signed)
    total = at.generic(inputs, [(init, found.result_map)], add)[0]
    counted: Any = np.array(numbers.prod(op.windows.kernel))
    if not op.count_include_pad.value.data:
        counted = covered_elements(op.windows, counts, shape[2:], False)
        if not counted.all():
            raise at.error("has a window that covers no element, whose mean is undefined")
    divisor = quantized.parameter(at, counted.astype(np.float32), f32, window_map(found))

    def body(sum_: Scalar, *scalars: Scalar) -> Scalar:
        mean = sum_ / divisor.of(scalars, sum_)
        return _rounded(result, mean / float(target.scale) + float(target.zero_point))

    from_sum = [Input(total, AffineMap.identity(2 + found.spatial)), *divisor.inputs]
    pooled = at.compute(from_sum, found.shape, at.result_element(), body)
    return (at.transpose(pooled, channels_first(rank)),)


# --- Functions --------------------------------------------------------------------------------------------------------


def _softmax(op: SoftmaxOp, at: Lowering) -> Sequence[SSAValue]:
    source, result, shape = uniform_type(at, op.input), uniform_type(at, op.result), shape_of(op.input)
    target, axis = affine(result), op.axis.value.data % len(shape)
    table = at.constant(requantization.softmax_powers(affine(source).scale, shape[axis]), f32)
    steps, largest_result = float(requantization.softmax_steps(target.scale)), float(requantization.SOFTMAX_LARGEST)

    def body(stored: Scalar) -> Scalar:
        integer = stored.to(i32)
        position = integer - integer.over_row(RowMaxOp, [axis]) + 255
        power = extracted(stored.builder, table, [position.to(IndexType())])
        quotient = (power * steps / power.over_row(RowSumOp, [axis])).minimum(largest_result)
        whole = quotient.round_even().to(i32) + target.zero_point
        return whole.clamp(result.storage_min, result.storage_max).to(IntegerType(result.bits))

    data = Input(at.value(op.input), AffineMap.identity(len(shape)), at.signedness(op.input))
    return (at.compute([data], shape, IntegerType(result.bits), body),)


LOWERINGS: dict[type[Operation], Lower] = {
    AddOp: _add,
    AveragePoolOp: _average_pool,
    SigmoidOp: lambda op, at: (looked_up(at),),
    SoftmaxOp: _softmax,
}


def by_mode(operation: type[Operation], lower: Lower) -> Lower:
    """Wraps `lower` to use this module's lowering in mode `qlinear`; contractions differ only in how they round."""
    own = LOWERINGS.get(operation)
    if own is None:
        return lower

    def chosen(op: Any, at: Lowering) -> Sequence[SSAValue] | None:
        has_own = is_qlinear(op) and not (isinstance(op, AveragePoolOp) and op.is_whole_image(shape_of(op.data)[2:]))
        return own(op, at) if has_own else lower(op, at)

    return chosen
