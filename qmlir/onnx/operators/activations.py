"""Import and export of activation functions that a row in `qmlir.onnx.one_to_one` can't describe."""

import numpy as np
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.activations import ops
from qmlir.dialects.nn.movement.ops import UnsqueezeOp
from qmlir.onnx.export.emission import Exporter, NodeEmitter
from qmlir.onnx.node import Importer, Node
from qmlir.onnx.one_to_one import OneToOne

SWISH_SINCE = 24

_SWISH = OneToOne("Swish", ops.SwishOp, "alpha")


def _gelu(node: Node) -> SSAValue:
    kind = node.attribute("approximate")
    if kind not in ("none", "tanh"):
        raise node.error(f"approximate must be none or tanh, but got '{kind}'")
    return node.add(ops.GeluOp, node.input(), tanh_approximation=kind == "tanh").result


def _prelu(node: Node) -> SSAValue:
    """ONNX PRelu; before version 7 a slope is per channel, and does not broadcast in another way."""
    data, slope = node.input(0), node.input(1)
    shape, slopes = node.shape(0), node.shape(1)
    if len(slopes) == 1 and len(shape) > 2 and slopes[0] not in (1, shape[-1]) and slopes[0] == shape[1]:
        slope = node.add(UnsqueezeOp, slope, axes=range(1, len(shape) - 1)).result
    return node.add(ops.PReluOp, data, slope).result


def _export_gelu(out: NodeEmitter, op: ops.GeluOp) -> None:
    kind = "tanh" if op.tanh_approximation.value.data else "none"
    out.node("Gelu", out.inputs, out.output, approximate=kind)


def _export_swish(out: NodeEmitter, op: ops.SwishOp) -> None:
    """ONNX Swish; in older operator sets its definition, `x * sigmoid(alpha * x)`."""
    if out.opset >= SWISH_SINCE:
        _SWISH.exported(out, op)
        return
    (value,) = out.inputs
    scaled = out.node("Mul", [value, out.constant(np.array(op.alpha.value.data), out.element(op.input))])
    out.node("Mul", [value, out.node("Sigmoid", [scaled])], out.output)


IMPORTERS: dict[str, Importer] = {"PRelu": _prelu, "Gelu": _gelu, "Swish": _SWISH.imported}
EXPORTERS: dict[type[Operation], Exporter] = {ops.GeluOp: _export_gelu, ops.SwishOp: _export_swish}
