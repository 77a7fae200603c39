"""Normalizations: of a row, and local response normalization, a sum over neighbouring channels.

Quantized ones of rows go by `integer_norms`. Those of a batch, and in floats those of groups of channels, are lowered
part by part.
"""

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import f32, f64
from xdsl.dialects.math import PowFOp
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from qmlir.dialects.kernel.lowering import quantized
from qmlir.dialects.kernel.lowering.lowering import Input, Lower, Lowering, no_lowering
from qmlir.dialects.kernel.lowering.scalars import Scalar
from qmlir.dialects.nn.lower.elements import identity
from qmlir.dialects.nn.lower.integer_norms import channel_norm, trailing_norm
from qmlir.dialects.nn.lower.places import axes_map
from qmlir.dialects.nn.lower.rows import by_rows
from qmlir.dialects.nn.ops import normalization as ops


def _local_response_norm(op: ops.LocalResponseNormOp, at: Lowering) -> Sequence[SSAValue]:
    """The sum of squares by ascending channel, in f64 and rounded once; everything else in f32, or in f64 for f64."""
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
    # As the evaluator: each number in the type that is computed in, each step rounded.
    alpha, beta, bias = (dtype(each.value.data) for each in (op.alpha, op.beta, op.bias))
    factor = float(alpha / dtype(size))

    def normalized(x: Scalar, sum_: Scalar) -> Scalar:
        base = float(bias) + factor * sum_.to(computing)
        return x / base.apply(PowFOp, base.constant(float(beta)))

    readings = [
        quantized.plain(at, op.input, identity(at)),
        quantized.ScalarRead((Input(total, identity(at)),), lambda scalars: scalars[0]),
    ]
    return (quantized.compute(at, readings, quantized.writing(at, 0, identity(at)), normalized),)


def _quantized_by(integer_norm: Lower, otherwise: Lower) -> Lower:
    """`integer_norm` for quantized data, `otherwise` for floats."""

    def chosen(op: ops.RowNormOp, at: Lowering) -> Sequence[SSAValue] | None:
        return (otherwise if quantized.uniform_element(at, op.operands[0]) is None else integer_norm)(op, at)

    return chosen


LOWERINGS: dict[type[Operation], Lower] = {
    ops.GroupNormOp: _quantized_by(channel_norm, no_lowering),
    ops.InstanceNormOp: _quantized_by(channel_norm, by_rows),
    ops.LayerNormOp: _quantized_by(trailing_norm, by_rows),
    ops.LocalResponseNormOp: _local_response_norm,
    ops.LpNormOp: by_rows,
    ops.RmsNormOp: _quantized_by(trailing_norm, by_rows),
}
