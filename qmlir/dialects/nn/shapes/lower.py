"""Lowering of shapes, which are constants if static, and of ranges of static length."""

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.kernel.lowering import quantized
from qmlir.dialects.kernel.lowering.lowering import Lower, Lowering
from qmlir.dialects.kernel.lowering.scalars import Scalar, position
from qmlir.dialects.nn.lowering.elements import identity
from qmlir.dialects.nn.lowering.indexing import one_element
from qmlir.dialects.nn.shapes import ops
from qmlir.ir.builtin_types import shape_of


def _shape(op: ops.ShapeOp, at: Lowering) -> Sequence[SSAValue]:
    return (at.constant(np.array(shape_of(op.input)[op.bounds], np.int64), i64),)


def _size(op: ops.SizeOp, at: Lowering) -> Sequence[SSAValue]:
    return (at.constant(np.array(np.prod(shape_of(op.input), dtype=np.int64)), i64),)


def _range(op: ops.RangeOp, at: Lowering) -> Sequence[SSAValue]:
    """Computes `start + i * delta`; the length is that of the result type."""
    bounds = [quantized.plain(at, value, one_element(at, value, 1).map_) for value in (op.start, op.delta)]

    def number(start: Scalar, delta: Scalar) -> Scalar:
        place = position(start.builder, 0).to(i64).to(start.type)
        return start + place * delta

    return (quantized.compute(at, bounds, quantized.writing(at, 0, identity(at)), number),)


LOWERINGS: dict[type[Operation], Lower] = {ops.ShapeOp: _shape, ops.SizeOp: _size, ops.RangeOp: _range}
