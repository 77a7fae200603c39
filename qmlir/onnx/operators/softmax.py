"""Softmax and related operators. A mask is exported as a Where before and after, because ONNX Softmax has no mask."""

import math
from typing import Any, cast

import numpy as np
from ml_dtypes import finfo
from xdsl.dialects.builtin import DYNAMIC_INDEX, i64
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.movement.ops import normalized_axis
from qmlir.dialects.nn.shapes.ops import ShapeOp
from qmlir.dialects.nn.softmax import ops
from qmlir.onnx.export.emission import Exporter, Outgoing, attributes_of
from qmlir.onnx.node import Importer, Node
from qmlir.text.elements import dense_dtype


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


def _export_softmax(out: Outgoing, op: ops.SoftmaxOp) -> None:
    """What is masked gets the lowest number of the type, of which a row without any other gives `1 / n`."""
    data, attributes = out.name(op.input), attributes_of(op, "axis")
    if op.mask is None:
        out.node("Softmax", [data], out.outputs, **attributes)
        return
    mask, element = out.name(op.mask), out.element(op.input)
    dtype = dense_dtype(element)
    assert dtype is not None
    info = cast(Any, finfo)(dtype)
    lowest, nothing = (out.constant(np.asarray(each, dtype), element) for each in (info.min, 0))
    if op.fill is not None:
        fill = out.constant(np.asarray(op.fill.value.data, dtype), element)
        addend = out.node("Where", [mask, nothing, fill])
        out.node("Softmax", [out.node("Add", [data, addend])], out.outputs, **attributes)
        return
    selected = out.node("Where", [mask, data, lowest])
    if op.is_uniform_if_empty:
        out.node("Softmax", [selected], out.outputs, **attributes)
    else:
        out.node("Where", [mask, out.node("Softmax", [selected], **attributes), nothing], out.outputs)


IMPORTERS: dict[str, Importer] = {
    "Softmax": _along_axis(ops.SoftmaxOp),
    "LogSoftmax": _along_axis(ops.LogSoftmaxOp),
    "Hardmax": _along_axis(ops.HardmaxOp),
}
EXPORTERS: dict[type[Operation], Exporter] = {ops.SoftmaxOp: _export_softmax}
