"""The exporter of quantization by the range of the values."""

from typing import Any

from xdsl.ir import Operation

from qmlir.dialects.nn.ops import dynamic as ops
from qmlir.onnx.export.operators.elementwise import one_to_one

EXPORTERS: dict[type[Operation], Any] = {ops.DynamicQuantizeOp: one_to_one("DynamicQuantizeLinear")}
