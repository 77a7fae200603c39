"""The gradient of a resize: the transpose of the sampling weights, axis by axis."""

from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.gradient_rules import Backward, Rule, first_only
from qmlir.dialects.nn.movement.gradient import along
from qmlir.dialects.nn.resizing import evaluate, ops


def _weights(op: ops.ResizeOp, axis: evaluate.Axis) -> np.ndarray[Any, Any]:
    """Returns the weight of each element for each position of the result, `[places, elements]`."""
    x = evaluate.coordinates(op, axis)
    if op.is_nearest:
        elements, weights = evaluate.nearest_elements(op, x, axis)[:, None], np.ones((axis.to.size, 1))
    else:
        elements, weights = evaluate.weights_of(op, x, axis)
    matrix = np.zeros((axis.to.size, axis.length))
    np.add.at(matrix, (np.arange(axis.to.size)[:, None], elements), weights)
    if op.is_crop:
        matrix[evaluate.is_outside(x, axis)] = 0
    return matrix


def _resize(at: Backward, op: ops.ResizeOp, gradient: SSAValue) -> SSAValue:
    shape = at.known_shape(op.input)
    resized = op.resized(shape)
    if resized is None or op.scales_value is not None or op.roi_value is not None:
        raise at.error("sizes, scales and roi must be constant")
    for axis in evaluate.changed_axes(op, shape, resized):
        gradient = along(at, gradient, axis.to.axis, _weights(op, axis))
    return gradient


RULES: dict[type[Operation], Rule] = {ops.ResizeOp: first_only(_resize)}
