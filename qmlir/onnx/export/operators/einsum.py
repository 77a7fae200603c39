"""Exporter of Einsum."""

from typing import Any

from xdsl.ir import Operation

from qmlir.dialects.nn.ops import einsum as ops
from qmlir.onnx.export.operators.elementwise import one_to_one

EXPORTERS: dict[type[Operation], Any] = {ops.EinsumOp: one_to_one("Einsum", "equation")}
