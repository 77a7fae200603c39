"""Exporters of activation functions with more than a row in `qmlir.onnx.mirrored`."""

from typing import Any

import numpy as np
from xdsl.ir import Operation

from qmlir.dialects.nn.ops import activations as ops
from qmlir.onnx.export.emission import Outgoing, number

SWISH_SINCE = 24


def _swish(out: Outgoing, op: ops.SwishOp) -> None:
    """ONNX Swish; before it was there, its definition."""
    if out.opset >= SWISH_SINCE:
        out.node("Swish", out.inputs, out.output, alpha=number(op.alpha))
        return
    (value,) = out.inputs
    scaled = out.node("Mul", [value, out.constant(np.array(op.alpha.value.data), out.element(op.input))])
    out.node("Mul", [value, out.node("Sigmoid", [scaled])], out.output)


def _gelu(out: Outgoing, op: ops.GeluOp) -> None:
    kind = "tanh" if op.tanh_approximation.value.data else "none"
    out.node("Gelu", out.inputs, out.output, approximate=kind)


EXPORTERS: dict[type[Operation], Any] = {ops.SwishOp: _swish, ops.GeluOp: _gelu}
