"""Exporters of shapes as values, and of ranges."""

from typing import Any

import numpy as np
from xdsl.ir import Operation

from qmlir.dialects.nn.ops import shapes as ops
from qmlir.ir.builtin_types import shape_of
from qmlir.onnx.export.emission import Outgoing
from qmlir.onnx.export.operators.elementwise import one_to_one


def _range(out: Outgoing, op: ops.RangeOp) -> None:
    """ONNX Range, whose operands have no axes."""
    empty = np.zeros(0, np.int64)
    scalars = [
        out.node("Reshape", [name, out.constant(empty)]) if shape_of(value) else name
        for name, value in zip(out.inputs, op.operands, strict=True)
    ]
    out.node("Range", scalars, out.output)


EXPORTERS: dict[type[Operation], Any] = {
    ops.ShapeOp: one_to_one("Shape", "start", "end"),
    ops.SizeOp: one_to_one("Size"),
    ops.RangeOp: _range,
}
