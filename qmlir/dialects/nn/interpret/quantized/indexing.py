"""Slices by index of a tensor in which each has parameters of its own: exact integers, requantized once."""

from collections.abc import Callable

import numpy as np
from xdsl.ir import Operation

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.interpret.indexing import checked_indices
from qmlir.dialects.nn.interpret.quantized.parameters import rescaled, uniform_of
from qmlir.dialects.nn.ops import indexing as ops
from qmlir.dialects.quant.infer import broadcast_parameters

Result = tuple[Array, ...] | None


def _gather(op: ops.GatherOp, x: Array, indices: Array) -> Result:
    if not op.rescales:
        return None
    axis = op.place
    places = checked_indices(indices, x.shape[axis])
    taken, scales, zero_points = (
        np.take(array, places, axis) for array in (x, *broadcast_parameters(uniform_of(op.input), x.shape))
    )
    return (rescaled(op, taken.astype(np.int64) - zero_points, scales.astype(np.float32)),)


QUANTIZED: dict[type[Operation], Callable[..., Result]] = {ops.GatherOp: _gather}
