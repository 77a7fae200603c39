"""What movement and reductions compute; movement works on stored values of any kind."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation

from qmlir.dialects.nn.infer.movement import normalized_axes, slice_indices
from qmlir.dialects.nn.ops import constant, movement, reduction

Array = npt.NDArray[Any]


def _constant(op: constant.ConstantOp) -> tuple[Array]:
    return (op.array,)


def _reshape(op: movement.ReshapeOp, x: Array) -> tuple[Array]:
    return (x.reshape(op.infer_result_types()[0].get_shape()),)


def _transpose(op: movement.TransposeOp, x: Array) -> tuple[Array]:
    return (np.transpose(x, op.order),)


def _slice(op: movement.SliceOp, x: Array) -> tuple[Array]:
    starts, ends, axes, steps = op.bounds
    for axis, start, end, step in zip(normalized_axes(axes, x.ndim), starts, ends, steps, strict=True):
        x = x.take(list(slice_indices(x.shape[axis], start, end, step)), axis=axis)
    return (x,)


def _concat(op: movement.ConcatOp, *arrays: Array) -> tuple[Array]:
    return (np.concatenate(arrays, axis=op.axis.value.data),)


def _reduction(function: Callable[..., Array]) -> Callable[..., tuple[Array]]:
    def meaning(op: reduction.ReduceOp, x: Array) -> tuple[Array]:
        return (np.asarray(function(x, axis=op.reduced_axes, keepdims=bool(op.keep_dims.value.data))).astype(x.dtype),)

    return meaning


MEANINGS: dict[type[Operation], Callable[..., tuple[Array, ...]]] = {
    constant.ConstantOp: _constant,
    movement.ReshapeOp: _reshape,
    movement.TransposeOp: _transpose,
    movement.SliceOp: _slice,
    movement.ConcatOp: _concat,
    reduction.ReduceSumOp: _reduction(np.sum),
    reduction.ReduceMeanOp: _reduction(np.mean),
    reduction.ReduceMaxOp: _reduction(np.max),
    reduction.ReduceMinOp: _reduction(np.min),
}
