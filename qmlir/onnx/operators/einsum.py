"""Importer of Einsum."""

from xdsl.ir import SSAValue

from qmlir.dialects.nn.ops import einsum as ops
from qmlir.onnx.node import Importer, Node


def _einsum(node: Node) -> SSAValue:
    equation = node.attribute("equation")
    if equation is None:
        raise node.error("lacks the attribute 'equation'")
    operands = [node.input(place) for place in range(len(node.inputs))]
    return node.add(ops.EinsumOp, operands, equation=equation).result


IMPORTERS: dict[str, Importer] = {"Einsum": _einsum}
