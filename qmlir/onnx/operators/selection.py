"""Importers of operators that choose elements by their values, or order them by it."""

from collections.abc import Sequence

from xdsl.ir import SSAValue

from qmlir.dialects.nn.ops import indexing, movement
from qmlir.dialects.nn.ops import selection as ops
from qmlir.onnx.node import Importer, Node
from qmlir.onnx.operators.movement import flattened, single


def _top_k(node: Node) -> Sequence[SSAValue]:
    """ONNX TopK: the number is an attribute before version 10, an input from then on. The result is always sorted."""
    k = node.attribute("k") if node.version < 10 else single(node, 1)
    largest = bool(node.attribute("largest", 1))
    return node.add(ops.TopKOp, node.quantized(), k=k, axis=node.attribute("axis"), largest=largest).results


def _compress(node: Node) -> SSAValue:
    """ONNX Compress: a gather along `axis`, or of the flattened input, at the places where the condition is true."""
    data, condition = node.quantized(), node.input(1)
    axis = node.attribute("axis")
    if axis is None:
        data, axis = flattened(node, data), 0
    places = node.add(ops.NonZeroOp, condition).result
    places = node.add(movement.SqueezeOp, places, axes=(0,)).result
    return node.add(indexing.GatherOp, data, places, axis=axis).result


def _unique(node: Node) -> Sequence[SSAValue]:
    is_sorted = bool(node.attribute("sorted"))
    return node.add(ops.UniqueOp, node.quantized(), axis=node.attribute("axis"), sorted_values=is_sorted).results


def _reverse_sequence(node: Node) -> SSAValue:
    axes = {name: node.attribute(name) for name in ("batch_axis", "time_axis")}
    return node.add(ops.ReverseSequenceOp, node.quantized(), node.input(1), **axes).result


IMPORTERS: dict[str, Importer] = {
    "TopK": _top_k,
    "Compress": _compress,
    "Unique": _unique,
    "ReverseSequence": _reverse_sequence,
}
