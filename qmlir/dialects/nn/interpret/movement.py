"""What movement and reductions compute; movement works on stored values of any kind."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation

from qmlir.dialects.nn.base import shape_of
from qmlir.dialects.nn.infer.movement import normalized_axes, slice_indices
from qmlir.dialects.nn.ops import constant, movement, reduction

Array = npt.NDArray[Any]


def _constant(op: constant.ConstantOp) -> tuple[Array]:
    return (op.array,)


def _reshape(op: movement.ReshapeOp, x: Array, shape: Array | None) -> tuple[Array]:
    if shape is None:
        return (x.reshape([-1 if size == DYNAMIC_INDEX else size for size in shape_of(op.result)]),)
    copies_zero = not op.allow_zero.value.data
    sizes = [x.shape[axis] if size == 0 and copies_zero else int(size) for axis, size in enumerate(shape.reshape(-1))]
    return (x.reshape(sizes),)


def _squeeze(op: movement.SqueezeOp, x: Array, axes: Array | None) -> tuple[Array]:
    return (np.squeeze(x, op.squeezed_axes(x.shape, axes)),)


def _unsqueeze(op: movement.UnsqueezeOp, x: Array, axes: Array | None) -> tuple[Array]:
    kept = op.kept_axes(x.ndim, axes)
    named = op.integers("axes", axes) or ()
    return (np.expand_dims(x, tuple(axis for axis in range(x.ndim + len(named)) if axis not in kept)),)


def _transpose(op: movement.TransposeOp, x: Array) -> tuple[Array]:
    return (np.transpose(x, op.order),)


def _slice(op: movement.SliceOp, x: Array, *values: Array | None) -> tuple[Array]:
    starts, ends, axes, steps = op.bounds(*values)
    for axis, start, end, step in zip(normalized_axes(axes, x.ndim), starts, ends, steps, strict=True):
        x = x.take(list(slice_indices(x.shape[axis], start, end, step)), axis=axis)
    return (x,)


def _concat(op: movement.ConcatOp, arrays: tuple[Array, ...]) -> tuple[Array]:
    return (np.concatenate(arrays, axis=op.axis.value.data),)


def _reduction(function: Callable[..., Array]) -> Callable[..., tuple[Array]]:
    def meaning(op: reduction.ReduceOp, x: Array) -> tuple[Array]:
        return (np.asarray(function(x, axis=op.reduced_axes, keepdims=bool(op.keep_dims.value.data))).astype(x.dtype),)

    return meaning


MEANINGS: dict[type[Operation], Callable[..., tuple[Array, ...]]] = {
    constant.ConstantOp: _constant,
    movement.ReshapeOp: _reshape,
    movement.SqueezeOp: _squeeze,
    movement.UnsqueezeOp: _unsqueeze,
    movement.TransposeOp: _transpose,
    movement.SliceOp: _slice,
    movement.ConcatOp: _concat,
    reduction.ReduceSumOp: _reduction(np.sum),
    reduction.ReduceMeanOp: _reduction(np.mean),
    reduction.ReduceMaxOp: _reduction(np.max),
    reduction.ReduceMinOp: _reduction(np.min),
}
