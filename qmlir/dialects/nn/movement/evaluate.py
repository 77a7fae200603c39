"""Evaluation of data movement, on stored values of any kind."""

from collections.abc import Callable

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.movement import ops as movement
from qmlir.dialects.nn.movement.ops import sliced_axes
from qmlir.ir.builtin_types import shape_of


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
    for axis, indices in sliced_axes(x.shape, *op.bounds(*values)).items():
        x = x.take(list(indices), axis=axis)
    return (x,)


def _concat(op: movement.ConcatOp, arrays: tuple[Array, ...]) -> tuple[Array]:
    return (np.concatenate(arrays, axis=op.axis.value.data),)


def _split(op: movement.SplitOp, x: Array, split: Array | None) -> tuple[Array, ...]:
    axis = op.axis.value.data
    ends = np.cumsum(op.part_sizes(x.shape[axis], split), dtype=np.int64)
    return tuple(np.split(x, ends[:-1], axis=axis))


def _blocks(op: movement.BlocksOp, x: Array) -> tuple[Array]:
    split, order = op.split(x.shape)
    return (x.reshape(split).transpose(order).reshape(x.shape[0], *op.moved_sizes(*x.shape[1:])),)


EVALUATORS: dict[type[Operation], Callable[..., tuple[Array, ...]]] = {
    movement.ReshapeOp: _reshape,
    movement.SqueezeOp: _squeeze,
    movement.UnsqueezeOp: _unsqueeze,
    movement.TransposeOp: _transpose,
    movement.SliceOp: _slice,
    movement.ConcatOp: _concat,
    movement.SplitOp: _split,
    movement.DepthToSpaceOp: _blocks,
    movement.SpaceToDepthOp: _blocks,
}
