"""Gradients of data movement: the gradients of moved elements are moved back, and those of copies are summed."""

from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.contraction.ops import MatMulOp
from qmlir.dialects.nn.gradient_rules import Backward, Gradients, Rule, first_only
from qmlir.dialects.nn.movement import ops as movement
from qmlir.dialects.nn.movement.ops import normalized_axis, slice_indices
from qmlir.ir.builtin_types import shape_of


def _reshape(at: Backward, op: movement.MovementOp, gradient: SSAValue) -> SSAValue:
    return at.reshaped_as(gradient, op.operands[0])


def _transpose(at: Backward, op: movement.TransposeOp, gradient: SSAValue) -> SSAValue:
    return at.restored(gradient, op.order)


def check_known(at: Backward, op: Any, *names: str) -> None:
    """Raises `DiagnosticError` if a parameter of `op` among `names` is a run-time operand."""
    for name in names:
        if not op.is_known(name):
            raise at.error(f"{name} must be constant")


def _slice(at: Backward, op: movement.SliceOp, gradient: SSAValue) -> SSAValue:
    """Pads with zeros: between the elements if there are steps, then around them."""
    check_known(at, op, *op.PARAMETERS)
    shape = at.known_shape(op.input)
    starts, ends, axes, steps = op.bounds()
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        axis = normalized_axis(axis, len(shape))
        taken = slice_indices(shape[axis], start, end, step)
        if step < 0:
            gradient, taken = at.sliced(gradient, axis, -1, -(2**31), -1), taken[::-1]
        if abs(step) > 1 and taken:
            sizes = list(shape_of(gradient))
            rows = at.padded(at.unsqueezed(gradient, [axis + 1]), axis + 1, 0, abs(step) - 1)
            sizes[axis] *= abs(step)
            gradient = at.reshaped(rows, sizes)
        first = taken[0] if taken else 0
        gradient = at.padded(gradient, axis, first, shape[axis] - first - shape_of(gradient)[axis])
    return gradient


def _concat(at: Backward, op: movement.ConcatOp, gradient: SSAValue) -> Gradients:
    axis = normalized_axis(op.axis.value.data, len(shape_of(op.result)))
    parts: list[SSAValue] = []
    start = 0
    for value in op.inputs:
        size = shape_of(value)[axis]
        if size == DYNAMIC_INDEX:
            raise at.error(f"operands must have a static size along axis {axis}, but got '{value.type}'")
        parts.append(at.sliced(gradient, axis, start, start + size))
        start += size
    return parts


def _split(at: Backward, op: movement.SplitOp, *gradients: SSAValue | None) -> SSAValue:
    parts = [at.filled(0.0, part) if given is None else given for part, given in zip(op.parts, gradients, strict=True)]
    return at.add(movement.ConcatOp, parts, axis=op.axis).result


def _blocks(at: Backward, op: movement.BlocksOp, gradient: SSAValue) -> SSAValue:
    is_deep = isinstance(op, movement.SpaceToDepthOp)
    inverse = movement.DepthToSpaceOp if is_deep else movement.SpaceToDepthOp
    return at.add(inverse, gradient, block_size=op.block_size, mode=op.mode).result


def along(at: Backward, value: SSAValue, axis: int, matrix: np.ndarray[Any, Any]) -> SSAValue:
    """Multiplies the vectors along `axis` by `matrix`, which has one row for each vector element."""
    order = [position for position in range(len(shape_of(value))) if position != axis] + [axis]
    product = at.add(MatMulOp, at.transposed(value, order), at.constant(matrix, value)).result
    return at.restored(product, order)


RULES: dict[type[Operation], Rule] = {
    movement.ReshapeOp: first_only(_reshape),
    movement.SqueezeOp: first_only(_reshape),
    movement.UnsqueezeOp: first_only(_reshape),
    movement.TransposeOp: first_only(_transpose),
    movement.SliceOp: first_only(_slice),
    movement.ConcatOp: _concat,
    movement.SplitOp: first_only(_split),
    movement.DepthToSpaceOp: first_only(_blocks),
    movement.SpaceToDepthOp: first_only(_blocks),
}
