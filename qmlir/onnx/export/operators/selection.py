"""Exporters of operations that choose elements by their values, or order them by it."""

from typing import Any

import numpy as np
from xdsl.ir import Operation

from qmlir.dialects.nn.ops import selection as ops
from qmlir.ir.builtin_types import shape_of
from qmlir.onnx.export.emission import Outgoing, number
from qmlir.onnx.export.operators.elementwise import one_to_one


def _top_k(out: Outgoing, op: ops.TopKOp) -> None:
    k = out.parameter("k")
    if op.k_value is not None and not shape_of(op.k_value):
        k = out.node("Reshape", [k, out.constant(np.array([1], np.int64))])
    out.node("TopK", [out.name(op.input), k], out.outputs, axis=number(op.axis), largest=number(op.largest))


EXPORTERS: dict[type[Operation], Any] = {
    ops.TopKOp: _top_k,
    ops.UniqueOp: one_to_one("Unique", "axis", sorted="sorted_values"),
    ops.ReverseSequenceOp: one_to_one("ReverseSequence", "batch_axis", "time_axis"),
}
