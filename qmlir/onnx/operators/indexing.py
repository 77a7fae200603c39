"""Importers of operators that take or write elements by index."""

from typing import Any

from xdsl.ir import SSAValue

from qmlir.dialects.nn.ops import indexing as ops
from qmlir.onnx.node import Importer, Node
from qmlir.onnx.operators.movement import single


def _gather(operation: type[ops.GatheringOp], attribute: str) -> Importer:
    """The importer of an operator with one attribute, which is a property of that name."""

    def importer(node: Node) -> SSAValue:
        number = node.attribute(attribute, 0)
        return node.add(operation, node.quantized(), node.input(1), **{attribute: number}).result

    return importer


def _scatter(operation: type[ops.ScatteringOp], *attributes: str) -> Importer:
    def importer(node: Node) -> SSAValue:
        properties: dict[str, Any] = {name: node.attribute(name) for name in attributes}
        properties["reduction"] = node.attribute("reduction", "none")
        return node.add(operation, node.quantized(0), node.input(1), node.quantized(2), **properties).result

    return importer


def _one_hot(node: Node) -> SSAValue:
    depth, axis = single(node, 1), node.attribute("axis")
    return node.add(ops.OneHotOp, node.input(0), node.quantized(2), depth=depth, axis=axis).result


IMPORTERS: dict[str, Importer] = {
    "Gather": _gather(ops.GatherOp, "axis"),
    "GatherElements": _gather(ops.GatherElementsOp, "axis"),
    "GatherND": _gather(ops.GatherNDOp, "batch_dims"),
    "Scatter": _scatter(ops.ScatterElementsOp, "axis"),
    "ScatterElements": _scatter(ops.ScatterElementsOp, "axis"),
    "ScatterND": _scatter(ops.ScatterNDOp),
    "OneHot": _one_hot,
}
