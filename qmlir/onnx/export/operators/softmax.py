"""Exporters of softmax and its relatives."""

from typing import Any

from xdsl.ir import Operation

from qmlir.dialects.nn.ops import softmax as ops
from qmlir.onnx.export.operators.elementwise import one_to_one

EXPORTERS: dict[type[Operation], Any] = {
    ops.SoftmaxOp: one_to_one("Softmax", "axis"),
    ops.LogSoftmaxOp: one_to_one("LogSoftmax", "axis"),
    ops.HardmaxOp: one_to_one("Hardmax", "axis"),
}
