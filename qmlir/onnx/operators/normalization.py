"""Importers of normalizations."""

from xdsl.ir import SSAValue

from qmlir.dialects.nn.ops import normalization as ops
from qmlir.onnx.node import Importer, Node


def _batch_norm(node: Node) -> SSAValue:
    operands = [node.input(place) for place in range(5)]
    return node.add(ops.BatchNormOp, *operands, epsilon=node.attribute("epsilon")).result


def _softmax(node: Node) -> SSAValue:
    return node.add(ops.SoftmaxOp, node.input(), axis=node.attribute("axis")).result


IMPORTERS: dict[str, Importer] = {"BatchNormalization": _batch_norm, "Softmax": _softmax}
