"""Ranges and constants, and the indices along an axis for importers of other operators."""

from typing import Any

import numpy as np
from onnx import TensorProto
from xdsl.dialects.builtin import DYNAMIC_INDEX, Float64Type, TensorType, f32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from qmlir.dialects.nn.shapes import ops
from qmlir.dialects.nn.shapes.ops import range_size
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.onnx.export.emission import Exporter, Outgoing
from qmlir.onnx.node import Importer, Node

_NUMBERS: dict[str, Attribute] = {"value_float": f32, "value_floats": f32, "value_int": i64, "value_ints": i64}
"""The attributes of Constant that give numbers, and the type that the elements have."""


def _constant(node: Node) -> SSAValue:
    for attribute in node.proto.attribute:
        if attribute.name == "value":
            return node.graph.initializer(attribute.t, node.origin.name)
        if attribute.name in _NUMBERS:
            element = _NUMBERS[attribute.name]
            numbers = np.array(node.attribute(attribute.name), dtype=node.graph.dtype_of(element))
            return node.add_constant(numbers, element)
    found = ", ".join(f"'{attribute.name}'" for attribute in node.proto.attribute) or "no attribute"
    raise node.unsupported(f"value must be a dense tensor, floats or integers, but got {found}")


def _range(node: Node) -> SSAValue:
    """ONNX Range; f16 and bf16 may ask for sums in f64."""
    bounds = [node.input(place) for place in range(3)]
    element = element_of(bounds[0])
    if node.attribute("stash_type", TensorProto.FLOAT) != TensorProto.DOUBLE or isinstance(element, Float64Type):
        return _range_of(node, bounds)
    wide = node.element_type(TensorProto.DOUBLE)
    return node.cast(_range_of(node, [node.cast(each, wide) for each in bounds]), element)


def _range_of(node: Node, bounds: list[SSAValue]) -> SSAValue:
    known: list[Any] = [None if (value := node.graph.constant_value(bound)) is None else value for bound in bounds]
    hint = None
    if all(value is not None for value in known):
        start, limit, delta = (value.reshape(()).item() for value in known)
        if not delta:
            raise node.error("the step of a range must not be 0")
        hint = [TensorType(element_of(bounds[0]), [range_size(start, limit, delta)])]
    return node.add(ops.RangeOp, *bounds, result_types=hint).result


def size_of(node: Node, value: SSAValue, axis: int) -> SSAValue:
    """Returns the size of an axis as an i64 vector of one element."""
    size = shape_of(value)[axis]
    if size != DYNAMIC_INDEX:
        return node.add_constant(np.array([size], np.int64), i64)
    return node.add(ops.ShapeOp, value, start=axis, end=axis + 1).result


def counting(node: Node, count: SSAValue | None, size: int = DYNAMIC_INDEX) -> SSAValue:
    """Returns the i64 vector `0, 1, …` below `size` or, if the size is dynamic, below `count`, an i64 vector."""
    if count is None:
        return node.add_constant(np.arange(size, dtype=np.int64), i64)
    start, step = (node.add_constant(np.array([number], np.int64), i64) for number in (0, 1))
    return node.add(ops.RangeOp, start, count, step).result


def places(node: Node, value: SSAValue, axis: int) -> SSAValue:
    """Returns the indices along an axis as an i64 vector."""
    size = shape_of(value)[axis]
    return counting(node, size_of(node, value, axis) if size == DYNAMIC_INDEX else None, size)


def _export_range(out: Outgoing, op: ops.RangeOp) -> None:
    """ONNX Range, whose operands have no axes."""
    empty = np.zeros(0, np.int64)
    scalars = [
        out.node("Reshape", [name, out.constant(empty)]) if shape_of(value) else name
        for name, value in zip(out.inputs, op.operands, strict=True)
    ]
    out.node("Range", scalars, out.output)


IMPORTERS: dict[str, Importer] = {"Constant": _constant, "Range": _range}
EXPORTERS: dict[type[Operation], Exporter] = {ops.RangeOp: _export_range}
