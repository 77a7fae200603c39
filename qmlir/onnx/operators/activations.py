"""Importers of activation functions with more than a row in `qmlir.onnx.mirrored`."""

from xdsl.ir import SSAValue

from qmlir.dialects.nn.ops import activations as ops
from qmlir.dialects.nn.ops.movement import UnsqueezeOp
from qmlir.onnx.node import Importer, Node


def _gelu(node: Node) -> SSAValue:
    kind = node.attribute("approximate")
    if kind not in ("none", "tanh"):
        raise node.error(f"approximate is '{kind}': none and tanh are supported")
    return node.add(ops.GeluOp, node.input(), tanh_approximation=kind == "tanh").result


def _prelu(node: Node) -> SSAValue:
    """ONNX PRelu; one slope for each channel, as before version 7, where the slopes do not broadcast otherwise."""
    data, slope = node.input(0), node.input(1)
    shape, slopes = node.shape(0), node.shape(1)
    if len(slopes) == 1 and len(shape) > 2 and slopes[0] not in (1, shape[-1]) and slopes[0] == shape[1]:
        slope = node.add(UnsqueezeOp, slope, axes=range(1, len(shape) - 1)).result
    return node.add(ops.PReluOp, data, slope).result


IMPORTERS: dict[str, Importer] = {"PRelu": _prelu, "Gelu": _gelu}
