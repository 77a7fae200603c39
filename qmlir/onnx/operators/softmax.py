"""Importers of softmax and its relatives."""

import math

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, i64
from xdsl.ir import SSAValue

from qmlir.dialects.nn.infer.movement import normalized_axis
from qmlir.dialects.nn.ops import softmax as ops
from qmlir.dialects.nn.ops.shapes import ShapeOp
from qmlir.onnx.node import Importer, Node


def _along_axis(operation: type[ops.SoftmaxLikeOp]) -> Importer:
    def importer(node: Node) -> SSAValue:
        axis = node.attribute("axis")
        if node.version >= 13:
            return node.add(operation, node.input(), axis=axis).results[0]
        return _over_trailing_axes(node, operation, axis)

    return importer


def _over_trailing_axes(node: Node, operation: type[ops.SoftmaxLikeOp], axis: int) -> SSAValue:
    """Before version 13: over all axes from `axis` on together. They are made one where more than one has elements."""
    value, shape = node.input(), node.shape()
    axis = normalized_axis(axis, len(shape))
    tail = shape[axis:]
    spread = [place for place, size in enumerate(tail) if size != 1]
    if len(spread) <= 1:
        return node.add(operation, value, axis=axis + (spread[0] if spread else 0)).results[0]
    last = DYNAMIC_INDEX if DYNAMIC_INDEX in tail else math.prod(tail)
    # 0 copies a size: the sizes before `axis` need not be known.
    target = node.add_constant(np.array([0] * axis + [-1], np.int64), i64)
    flat = node.reshaped(value, [*shape[:axis], last], target)
    result = node.add(operation, flat, axis=-1).results[0]
    back = None if shape.count(DYNAMIC_INDEX) <= 1 else node.add(ShapeOp, value).result
    return node.reshaped(result, shape, back)


IMPORTERS: dict[str, Importer] = {
    "Softmax": _along_axis(ops.SoftmaxOp),
    "LogSoftmax": _along_axis(ops.LogSoftmaxOp),
    "Hardmax": _along_axis(ops.HardmaxOp),
}
