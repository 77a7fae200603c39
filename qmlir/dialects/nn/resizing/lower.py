"""Lowering of resizing, with sampled elements and weights that the evaluator computes at compile time.

Nearest elements are selected along all axes at once: as copies or slices if they form a regular pattern, otherwise
through tables. Interpolation computes the weighted sums in one operation per axis.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IndexType, IntegerType, f32, f64, i1, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineMap

from qmlir.arithmetic.arrays import Array, integer_limits
from qmlir.dialects.kernel.lowering import quantized
from qmlir.dialects.kernel.lowering.lowering import Input, Lower, Lowering
from qmlir.dialects.kernel.lowering.scalars import Scalar, constant, extracted, position
from qmlir.dialects.nn.base import plain_type
from qmlir.dialects.nn.lowering import along_axes, axes_map, between_casts, identity, run_of
from qmlir.dialects.nn.movement.lower import strided
from qmlir.dialects.nn.resizing import evaluate, ops
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.text.elements import dtype_of


def _resize(op: ops.ResizeOp, at: Lowering) -> Sequence[SSAValue]:
    shape = shape_of(op.input)
    resized = op.resized(shape)
    if resized is None or op.scales_value is not None or op.roi_value is not None:
        raise at.error("cannot be compiled: sizes, scales and roi must be constant")
    axes = evaluate.changed_axes(op, shape, resized)
    if any(axis.length == 0 for axis in axes):
        raise at.error(f"cannot resize an empty axis of shape {list(shape)}")
    if op.moves_values:
        return (_nearest(op, at, at.value(op.input), axes),)
    if quantized.uniform_element(at, op.input) is not None:
        return between_casts(op, at)
    if op.is_nearest:
        value = _nearest(op, at, at.value(op.input), axes)
    else:
        value = _numbers(op, at)
        for axis in axes:
            value = _interpolated(op, at, value, axis)
    return (_finished(op, at, value, axes),)


def _dtype(op: ops.ResizeOp) -> np.dtype[Any]:
    """Returns the NumPy type of the elements, which distinguishes unsigned integers."""
    return dtype_of(plain_type(element_of(op.input)))


def _numbers(op: ops.ResizeOp, at: Lowering) -> SSAValue:
    """Returns the operand in the type in which its elements are summed."""
    shape = shape_of(op.input)
    computing = f64 if evaluate.summing_dtype(_dtype(op)) == np.float64 else f32
    reading = quantized.plain(at, op.input, AffineMap.identity(len(shape)))
    return at.compute(reading.inputs, shape, computing, lambda *given: reading.read(given).to(computing))


# --- Nearest elements -------------------------------------------------------------------------------------------------


def _nearest(op: ops.ResizeOp, at: Lowering, value: SSAValue, axes: Sequence[evaluate.Axis]) -> SSAValue:
    tables = {axis.to.axis: evaluate.nearest_elements(op, evaluate.coordinates(op, axis), axis) for axis in axes}
    runs = {number: run_of(table) for number, table in tables.items()}
    if all(run is not None for run in runs.values()):
        whole = [runs.get(number) or range(size) for number, size in enumerate(shape_of(value))]
        return strided(at, value, whole)
    if all(_is_repetition(table, shape_of(value)[number]) for number, table in tables.items()):
        return _repeated(at, value, tables)
    return along_axes(at, value, tables)


def _is_repetition(table: Array, size: int) -> bool:
    """Whether each of `size` elements is repeated equally often, in order."""
    return len(table) % size == 0 and bool((table == np.arange(size).repeat(len(table) // size)).all())


def _repeated(at: Lowering, value: SSAValue, tables: Mapping[int, Array]) -> SSAValue:
    """Inserts an axis of copies after each axis that grows, and merges both by a reshape."""
    before: list[int] = []
    copies: list[int] = []
    result: list[int] = []
    for number, size in enumerate(shape_of(value)):
        factor = len(tables[number]) // size if number in tables else 1
        before += [size, 1] if factor > 1 else [size]
        copies += [size, factor] if factor > 1 else [size]
        result.append(size * factor)
    return at.reshape(at.expand(at.reshape(value, before), copies), result)


# --- Between elements -------------------------------------------------------------------------------------------------


def _interpolated(op: ops.ResizeOp, at: Lowering, value: SSAValue, axis: evaluate.Axis) -> SSAValue:
    """Computes the weighted sums along one axis, sample by sample; samples whose weight is always 0 are omitted."""
    number, element = axis.to.axis, element_of(value)
    shape = list(shape_of(value))
    rank, shape[number] = len(shape), axis.to.size
    elements, weights = evaluate.weights_of(op, evaluate.coordinates(op, axis), axis)
    own = AffineMap.identity(rank)
    layout = [-1 if index == number else 1 for index in range(rank)]
    dtype = np.float64 if element == f64 else np.float32
    taps = [tap for tap in range(elements.shape[1]) if weights[:, tap].any()]
    tables = [Input(at.constant(elements[:, tap].astype(np.int32), i32), axes_map(rank, [number])) for tap in taps]
    factors = [quantized.parameter(at, weights[:, tap].astype(dtype).reshape(layout), element, own) for tap in taps]
    if not taps:
        return at.fill(shape, element, 0)

    def body(*given: Scalar) -> Scalar:
        builder = given[0].builder
        total = constant(builder, 0.0, element)
        point = [position(builder, index) for index in range(rank)]
        positions, *runs = quantized.split(given, tables, *(factor.inputs for factor in factors))
        for index, factor, run in zip(positions, factors, runs, strict=True):
            point[number] = index.to(IndexType())
            sample = extracted(builder, value, point)
            total = total + sample * factor.of(run, sample)
        return total

    inputs = [*tables, *(each for factor in factors for each in factor.inputs)]
    return at.compute(inputs, shape, element, body)


# --- Elements of the result -------------------------------------------------------------------------------------------


def _finished(op: ops.ResizeOp, at: Lowering, value: SSAValue, axes: Sequence[evaluate.Axis]) -> SSAValue:
    """Converts computed numbers to elements of the result; a crop has a separate value outside the input."""
    dtype, element = _dtype(op), plain_type(element_of(op.input))
    masks = [
        Input(at.constant(mask.astype(np.int8), i1), axes_map(len(at.result_shape()), [axis.to.axis]), unsigned=True)
        for axis in (axes if op.is_crop else ())
        if (mask := evaluate.is_outside(evaluate.coordinates(op, axis), axis)).any()
    ]
    beyond = evaluate.as_elements(np.asarray(op.extrapolation_value.value.data), element, dtype).item()

    def body(number: Scalar, *outside: Scalar) -> Scalar:
        own = number if op.is_nearest else _rounded(number, element, dtype)
        for is_beyond in outside:
            own = is_beyond.select(own.constant(beyond), own)
        return own

    inputs = [Input(value, identity(at)), *masks]
    return at.compute(inputs, at.result_shape(), at.result_element(), body)


def _rounded(number: Scalar, element: Attribute, dtype: np.dtype[Any]) -> Scalar:
    """Converts a sum to an element; integers are rounded half to even and saturate."""
    if not isinstance(element, IntegerType):
        return number.to(element)
    bits, unsigned = element.bitwidth, dtype.kind == "u"
    low, high = integer_limits(bits, is_signed=not unsigned)
    whole = number.round_even().maximum(low)
    if bits < 64:
        return whole.minimum(high).to(i32 if bits <= 16 else i64).to(IntegerType(bits))
    # f64 cannot represent the largest 64-bit integers: a value rounded to the next power of two is the largest one.
    is_beyond = whole.compare("ge", high)
    inside = is_beyond.select(whole.constant(0), whole).to(i64, unsigned)
    return is_beyond.select(inside.constant(high), inside)


LOWERINGS: dict[type[Operation], Lower] = {ops.ResizeOp: _resize}
