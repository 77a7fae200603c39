"""Exporters of operations that take or write elements by index."""

from typing import Any

from xdsl.ir import Operation

from qmlir.dialects.nn.ops import indexing as ops
from qmlir.onnx.export.emission import Outgoing, number
from qmlir.onnx.export.operators.elementwise import one_to_one


def _one_hot(out: Outgoing, op: ops.OneHotOp) -> None:
    depth = out.parameter("depth", is_scalar=True)
    out.node("OneHot", [out.name(op.indices), depth, out.name(op.values)], out.output, axis=number(op.axis))


EXPORTERS: dict[type[Operation], Any] = {
    ops.GatherOp: one_to_one("Gather", "axis"),
    ops.GatherElementsOp: one_to_one("GatherElements", "axis"),
    ops.GatherNDOp: one_to_one("GatherND", "batch_dims"),
    ops.ScatterElementsOp: one_to_one("ScatterElements", "axis", "reduction"),
    ops.ScatterNDOp: one_to_one("ScatterND", "reduction"),
    ops.OneHotOp: _one_hot,
}
