"""Operators that select or sort elements by value."""

import numpy as np
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.indexing import ops as indexing
from qmlir.dialects.nn.movement import ops as movement
from qmlir.dialects.nn.selection import ops
from qmlir.ir.builtin_types import shape_of
from qmlir.onnx.export.emission import Exporter, Outgoing, attributes_of
from qmlir.onnx.node import Importer, Node
from qmlir.onnx.one_to_one import Mirrored
from qmlir.onnx.operators.movement import flattened


def _compress(node: Node) -> SSAValue:
    """ONNX Compress: a gather along `axis`, or of the flattened input, at the places where the condition is true."""
    data, condition = node.quantized(), node.input(1)
    axis = node.attribute("axis")
    if axis is None:
        data, axis = flattened(node, data), 0
    places = node.add(ops.NonZeroOp, condition).result
    places = node.add(movement.SqueezeOp, places, axes=(0,)).result
    return node.add(indexing.GatherOp, data, places, axis=axis).result


def _export_top_k(out: Outgoing, op: ops.TopKOp) -> None:
    k = out.parameter("k")
    if op.k_value is not None and not shape_of(op.k_value):
        k = out.node("Reshape", [k, out.constant(np.array([1], np.int64))])
    out.node("TopK", [out.name(op.input), k], out.outputs, **attributes_of(op, "axis largest"))


IMPORTERS: dict[str, Importer] = {"TopK": Mirrored("TopK", ops.TopKOp, "axis largest").imported, "Compress": _compress}
EXPORTERS: dict[type[Operation], Exporter] = {ops.TopKOp: _export_top_k}
