"""Lowering of shapes, repetition, padding and masks to the `kernel` dialect."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import Operation, SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.kernel.lowering import quantized
from qmlir.dialects.kernel.lowering.lowering import Input, Lower, Lowering, unchanged
from qmlir.dialects.kernel.lowering.quantized import Parameter, parameter
from qmlir.dialects.kernel.lowering.scalars import Scalar, position
from qmlir.dialects.nn.lowering import along_axes, identity, one_element
from qmlir.dialects.nn.movement.lower import strided
from qmlir.dialects.nn.shapes import ops
from qmlir.dialects.quant.infer import broadcast_parameters
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.text.elements import dense_dtype

# Lowering of shapes, which are constants if static, and of ranges of static length.


def _shape(op: ops.ShapeOp, at: Lowering) -> Sequence[SSAValue]:
    return (at.constant(np.array(shape_of(op.input)[op.bounds], np.int64), i64),)


def _size(op: ops.SizeOp, at: Lowering) -> Sequence[SSAValue]:
    return (at.constant(np.array(np.prod(shape_of(op.input), dtype=np.int64)), i64),)


def _range(op: ops.RangeOp, at: Lowering) -> Sequence[SSAValue]:
    """Computes `start + i * delta`; the length is that of the result type."""
    bounds = [quantized.plain(at, value, one_element(at, value, 1).map_) for value in (op.start, op.delta)]

    def number(start: Scalar, delta: Scalar) -> Scalar:
        index = position(start.builder, 0).to(i64).to(start.type)
        return start + index * delta

    return (quantized.compute(at, bounds, quantized.writing(at, 0, identity(at)), number),)


# Lowering of broadcasts, tiling, padding and triangular masks to structured operations.


def _tile(op: ops.TileOp, at: Lowering) -> Sequence[SSAValue]:
    """Inserts an axis of copies before each repeated axis, and merges both by a reshape."""
    value = at.value(op.input)
    before: list[int] = []
    copies: list[int] = []
    for size, target in zip(shape_of(value), at.result_shape(), strict=True):
        is_repeated = size not in (1, target)
        before += [1, size] if is_repeated else [size]
        copies += [target // size, size] if is_repeated else [target]
    return (at.reshape(at.expand(at.reshape(value, before), copies), at.result_shape()),)


def zero(at: Lowering, value: SSAValue) -> Parameter:
    """Returns the stored value for 0 in the element type of `value`: the zero point if the type is quantized."""
    element, stored = quantized.uniform_element(at, value), at.result_element()
    if element is None:
        return Parameter(stored, 0)
    _, zero_points = broadcast_parameters(element, at.result_shape())
    return parameter(at, zero_points.astype(np.int64).astype(dense_dtype(stored)), stored, identity(at))


def _border(op: ops.PadOp, at: Lowering) -> Parameter:
    """Returns the padding value of mode `constant`."""
    if op.value is None:
        return zero(at, op.input)
    known = at.known(op.value)
    if known is not None:
        return Parameter(at.result_element(), known.reshape(-1)[0].item())
    return Parameter(at.result_element(), None, (one_element(at, op.value, len(at.result_shape())),))


def _pad(op: ops.PadOp, at: Lowering) -> Sequence[SSAValue]:
    if not (op.is_known("pads") and op.is_known("axes")):
        raise at.error("cannot be compiled: pads and axes must be constant")
    value, shape = at.value(op.input), at.result_shape()
    pads = op.paddings(len(shape))
    inside = [
        range(max(-before, 0), size + min(after, 0))
        for size, (before, after) in zip(shape_of(value), pads, strict=True)
    ]
    kept = strided(at, value, inside)
    low, high = ([max(pad[side], 0) for pad in pads] for side in (0, 1))
    if op.mode.data != "constant":
        return (_read_back(op, at, kept, low, high),)
    border = _border(op, at)
    if border.number is not None:
        return (at.pad(kept, low, high, border.number),)
    return (at.put(kept, at.compute(border.inputs, shape, element_of(kept), unchanged), low),)


def _read_back(op: ops.PadOp, at: Lowering, kept: SSAValue, low: Sequence[int], high: Sequence[int]) -> SSAValue:
    """Pads with elements of the operand, found by an index table for each padded axis."""
    mode: Any = op.mode.data
    tables: dict[int, Array] = {}
    for axis, (size, before, after) in enumerate(zip(shape_of(kept), low, high, strict=True)):
        if before or after:
            if not size:
                raise at.error(f"cannot pad empty axis {axis} in mode '{mode}'")
            tables[axis] = np.pad(np.arange(size), (before, after), mode=mode)
    return along_axes(at, kept, tables)


def _trilu(op: ops.TriluOp, at: Lowering) -> Sequence[SSAValue]:
    rank, outside, is_upper = len(at.result_shape()), zero(at, op.input), bool(op.upper.value.data)
    inputs = [Input(at.value(op.input), identity(at)), *outside.inputs]
    if op.k_value is not None:
        inputs.append(one_element(at, op.k_value, rank))

    def body(element: Scalar, *rest: Scalar) -> Scalar:
        row, column = (position(element.builder, axis).to(i64) for axis in (rank - 2, rank - 1))
        shift = rest[-1] if op.k_value is not None else op.k.value.data
        is_inside = (column - row).compare("ge" if is_upper else "le", shift)
        return is_inside.select(element, outside.of(rest, element))

    return (at.compute(inputs, at.result_shape(), at.result_element(), body),)


LOWERINGS: dict[type[Operation], Lower] = {
    ops.ShapeOp: _shape,
    ops.SizeOp: _size,
    ops.RangeOp: _range,
    ops.ExpandOp: lambda op, at: (at.expand(at.value(op.input), at.result_shape()),),
    ops.TileOp: _tile,
    ops.PadOp: _pad,
    ops.TriluOp: _trilu,
}
