"""Exporters of activation functions: rows of a table, from operation to operator."""

from typing import Any

import numpy as np
from xdsl.ir import Operation

from qmlir.dialects.nn.ops import activations as ops
from qmlir.onnx.export.emission import Outgoing, number
from qmlir.onnx.export.operators.elementwise import one_to_one

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


EXPORTERS: dict[type[Operation], Any] = {
    ops.ReluOp: one_to_one("Relu"),
    ops.LeakyReluOp: one_to_one("LeakyRelu", "alpha"),
    ops.PReluOp: one_to_one("PRelu"),
    ops.ThresholdedReluOp: one_to_one("ThresholdedRelu", "alpha"),
    ops.EluOp: one_to_one("Elu", "alpha"),
    ops.CeluOp: one_to_one("Celu", "alpha"),
    ops.SeluOp: one_to_one("Selu", "alpha", "gamma"),
    ops.SigmoidOp: one_to_one("Sigmoid"),
    ops.HardSigmoidOp: one_to_one("HardSigmoid", "alpha", "beta"),
    ops.HardSwishOp: one_to_one("HardSwish"),
    ops.SwishOp: _swish,
    ops.MishOp: one_to_one("Mish"),
    ops.TanhOp: one_to_one("Tanh"),
    ops.SoftplusOp: one_to_one("Softplus"),
    ops.SoftsignOp: one_to_one("Softsign"),
    ops.GeluOp: _gelu,
}
