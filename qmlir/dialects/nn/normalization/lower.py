"""Lowering of softmax and normalization to the `kernel` dialect."""

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import IndexType, IntegerType, f32, f64, i1, i32, i64
from xdsl.dialects.math import PowFOp
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from qmlir.arithmetic import requantization
from qmlir.dialects.kernel.lowering import quantized
from qmlir.dialects.kernel.lowering.lowering import Input, Lower, Lowering, broadcast_map, no_lowering
from qmlir.dialects.kernel.lowering.quantized import normalized
from qmlir.dialects.kernel.lowering.scalars import Scalar, constant, extracted, position
from qmlir.dialects.kernel.rows import RowMaxOp, RowSumOp
from qmlir.dialects.nn.base import NnOp, build
from qmlir.dialects.nn.elementwise.lower import FUNCTIONS
from qmlir.dialects.nn.lowering import axes_map, identity, operand_map, otherwise, uniform_type, whole
from qmlir.dialects.nn.normalization import ops
from qmlir.dialects.nn.reduction.ops import ArgMaxOp, ReduceMaxOp, ReduceMeanOp, ReduceMinOp, ReduceOp, ReduceSumOp
from qmlir.dialects.nn.requantize import affine, decompose
from qmlir.dialects.quant.types import storage_limits
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.decomposition import Parts

# Composites that reduce rows, as a single operation with row reductions in its body.
#
# A softmax needs the maximum and a sum of each row; a layer normalization a mean, and a mean of squares. The body
# follows the decomposition of the composite, with its formulas and roundings, scalar by scalar.

_REDUCTIONS = (ReduceMaxOp, ReduceMeanOp, ReduceMinOp, ReduceSumOp)


def _have_one_row(parts: Sequence[Operation]) -> bool:
    """Whether parts compute elementwise in one float type, and reduce one common row while keeping its axes."""
    floats = {element_of(value) for part in parts for value in part.results} - {i1}
    rows = {part.reduced_axes(len(shape_of(part.input))) for part in parts if isinstance(part, ReduceOp)}
    keeps = all(part.keeps_axes for part in parts if isinstance(part, ReduceOp))
    return floats in ({f32}, {f64}) and len(rows) == 1 and rows != {()} and keeps


def _reduced(part: ReduceOp, x: Scalar) -> Scalar:
    """Reduces the row; sums are computed in f64 and rounded once."""
    sizes = shape_of(part.input)
    row = part.reduced_axes(len(sizes))
    if isinstance(part, ReduceMaxOp):
        return x.over_row(RowMaxOp, row)
    if isinstance(part, ReduceMinOp):
        return -(-x).over_row(RowMaxOp, row)
    total = x.to(f64).over_row(RowSumOp, row).to(x.type)
    return total / math.prod(sizes[axis] for axis in row) if isinstance(part, ReduceMeanOp) else total


def by_rows(op: NnOp, at: Lowering) -> Sequence[SSAValue] | None:
    """Lowers a composite to a single elementwise operation, or returns `None` if its parts do not allow this.

    Parts that only prepare parameters become separate operations before it. A quantized composite becomes a float
    composite between casts.
    """
    if any(quantized.uniform_element(at, value) is not None for value in (*op.operands, *op.results)):
        return otherwise(op, at)
    parts = Parts(op)
    results = decompose(op, parts)
    inside = [part for part in parts.operations if (type(part) in FUNCTIONS or isinstance(part, _REDUCTIONS))]
    mine = {value for part in inside for value in part.results}
    before = [part for part in parts.operations if part not in inside]
    if results is None or not _have_one_row(inside) or any(each in mine for part in before for each in part.operands):
        parts.discard()
        return None
    for part in before:
        at.insert(part)
    leaves = list(dict.fromkeys(value for part in inside for value in part.operands if value not in mine))
    readings = [quantized.plain(at, value, operand_map(at, value)) for value in leaves]

    def body(*scalars: Scalar) -> Scalar:
        given = quantized.split(scalars, *(reading.inputs for reading in readings))
        values = {leaf: reading.read(own) for leaf, reading, own in zip(leaves, readings, given, strict=True)}
        for part in inside:
            operands = [values[operand] for operand in part.operands]
            found = _reduced(part, *operands) if isinstance(part, ReduceOp) else FUNCTIONS[type(part)](part, *operands)
            values[part.results[0]] = found
        return values[results[0]]

    inputs = [each for reading in readings for each in reading.inputs]
    computed = at.compute(inputs, at.result_shape(), at.result_element(), body)
    for part in reversed(inside):
        part.erase()
    return (computed,)


# Lowering of softmax and its logarithm row by row, and of hardmax by the index of the first maximum.


def _hardmax(op: ops.HardmaxOp, at: Lowering) -> Sequence[SSAValue]:
    shape, element = shape_of(op.input), at.result_element()
    axis = op.axis.value.data % len(shape)
    positions = at.value(at.insert(build(ArgMaxOp, [op.input], {"axis": axis})))

    def body(index: Scalar) -> Scalar:
        is_it = position(index.builder, axis).to(i64).compare("eq", index)
        one, zero = (constant(index.builder, number, element) for number in (1.0, 0.0))
        return is_it.select(one, zero)

    return (at.compute([at.broadcast(positions, shape)], shape, element, body),)


# Quantized row norms: one operation whose body sums the integers of a row, and computes one root per row.
#
# The formulas follow `qmlir.dialects.nn.normalization.evaluate` step by step.


def _rows(
    op: ops.RowNormOp, at: Lowering, shape: Sequence[int], first: int, scale: Input | None, bias: Input | None
) -> SSAValue:
    """Computes the result in the shape `shape`, whose axes from `first` on form a row."""
    everywhere = AffineMap.identity(len(shape))
    element = uniform_type(at, op.operands[0])
    zero_point = 0 if op.IS_CENTERED else element.zero_point  # the mean has it too
    largest = max(abs(limit - zero_point) for limit in storage_limits(element.storage))
    written = quantized.writing(at, 0, everywhere)
    stored = Input(at.reshape(at.value(op.operands[0]), shape), everywhere, not element.is_signed)
    parameters = [each for each in (scale, bias) if each is not None]

    def body(stored_integer: Scalar, *others: Scalar) -> Scalar:
        integer, left = stored_integer.to(i32), list(others)
        d = integer - zero_point if zero_point else integer
        x = normalized(op.integer_norm(), d, largest, range(first, len(shape)))
        if scale is not None:
            x = x * left.pop(0)
        if bias is not None:
            x = x + left.pop(0)
        return written.write(x, ())

    found = at.compute([stored, *parameters], shape, at.result_element(), body)
    return at.reshape(found, at.result_shape())


def trailing_norm(op: ops.LayerNormOp | ops.RmsNormOp, at: Lowering) -> Sequence[SSAValue]:
    """Lowers a norm whose rows are the trailing axes; scale and bias broadcast to the data."""
    shape, parameters = at.result_shape(), [op.scale, op.bias if isinstance(op, ops.LayerNormOp) else None]
    inputs = [
        None if each is None else Input(at.value(each), broadcast_map(shape_of(each), shape)) for each in parameters
    ]
    return (_rows(op, at, shape, op.first_axis, *inputs),)


def channel_norm(op: ops.ScaledChannelNormOp, at: Lowering) -> Sequence[SSAValue]:
    """Lowers a norm whose rows are the images of a channel or of a group of channels; groups become a separate axis."""
    batch, channels, *sizes = at.result_shape()
    groups = op.groups.value.data if isinstance(op, ops.GroupNormOp) else channels
    split = [] if groups == channels else [channels // groups]
    shape, along = [batch, groups, *split, *sizes], range(1, 2 + len(split))
    scale, bias = (
        Input(at.reshape(at.value(each), [groups, *split]), axes_map(len(shape), along)) for each in (op.scale, op.bias)
    )
    return (_rows(op, at, shape, 2, scale, bias),)


# Local response normalization: a sum over neighboring channels. Batch norms, and float group norms, are lowered part by
# part.


def _local_response_norm(op: ops.LocalResponseNormOp, at: Lowering) -> Sequence[SSAValue]:
    """Sums squares by ascending channel, in f64 and rounded once; the rest is in f32, or in f64 for f64."""
    shape, size = at.result_shape(), op.size.value.data
    rank = len(shape)
    computing = f64 if at.result_element() == f64 else f32
    dtype = np.float64 if computing == f64 else np.float32
    low, high = [0] * rank, [0] * rank
    low[1], high[1] = (size - 1) // 2, size // 2
    padded = at.pad(at.value(op.input), low, high, 0.0)
    dims = [AffineExpr.dimension(axis) for axis in range(rank)]
    source = AffineMap(rank + 1, 0, (dims[0], dims[1] + AffineExpr.dimension(rank), *dims[2:]))
    neighbours = Input(at.empty([size], computing), axes_map(rank + 1, [rank]))

    def add(element: Scalar, _: Scalar, so_far: Scalar) -> Scalar:
        x = element.to(computing)
        return so_far + (x * x).to(f64)

    output = at.fill(shape, f64, 0.0), axes_map(rank + 1, range(rank))
    total = at.generic([Input(padded, source), neighbours], [output], add)[0]
    # As in the evaluator: each number in the computing type, each step rounded.
    alpha, beta, bias = (dtype(each.value.data) for each in (op.alpha, op.beta, op.bias))
    factor = float(alpha / dtype(size))

    def normalized(x: Scalar, sum_: Scalar) -> Scalar:
        base = float(bias) + factor * sum_.to(computing)
        return x / base.apply(PowFOp, base.constant(float(beta)))

    readings = [quantized.plain(at, op.input, identity(at)), whole(at, total)]
    return (quantized.compute(at, readings, quantized.writing(at, 0, identity(at)), normalized),)


def _quantized_by(integer_norm: Lower, otherwise: Lower) -> Lower:
    """Returns a lowering that uses `integer_norm` for quantized data and `otherwise` for floats."""

    def chosen(op: ops.RowNormOp, at: Lowering) -> Sequence[SSAValue] | None:
        return (otherwise if quantized.uniform_element(at, op.operands[0]) is None else integer_norm)(op, at)

    return chosen


LOWERINGS: dict[type[Operation], Lower] = {
    ops.HardmaxOp: _hardmax,
    ops.LogSoftmaxOp: by_rows,
    ops.SoftmaxOp: by_rows,
    ops.GroupNormOp: _quantized_by(channel_norm, no_lowering),
    ops.InstanceNormOp: _quantized_by(channel_norm, by_rows),
    ops.LayerNormOp: _quantized_by(trailing_norm, by_rows),
    ops.LocalResponseNormOp: _local_response_norm,
    ops.LpNormOp: by_rows,
    ops.RmsNormOp: _quantized_by(trailing_norm, by_rows),
}


def _qlinear_softmax(op: ops.SoftmaxOp, at: Lowering) -> Sequence[SSAValue]:
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


QLINEAR: dict[type[Operation], Lower] = {ops.SoftmaxOp: _qlinear_softmax}
