"""Importers of ONNX training operators."""

from collections.abc import Sequence

from xdsl.ir import SSAValue

from qmlir.dialects.nn.base import Kind, kind_of
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.extensions.training.reverse import gradients
from qmlir.ir.builtin_types import element_of
from qmlir.onnx.node import Importer, Node
from qmlir.onnx.operators.shapes import filled


def _gradient(node: Node) -> Sequence[SSAValue]:
    """Imports `Gradient`: the gradients of the sum of tensor `y` with respect to tensors `xs` of the graph."""
    names: list[str] = node.attribute("xs") or []
    target = node.tensors.get(node.attribute("y"))
    if target is None:
        raise node.error(f"tensor '{node.attribute('y')}' must be defined by an earlier node")
    named = [*names, *(node.attribute("zs") or ())]
    if len(named) != len(node.inputs):
        raise node.error(f"'xs' and 'zs' must name one tensor per input ({len(node.inputs)}), but got {len(named)}")
    for position, name in enumerate(named):
        if node.quantized(position) is not node.tensors.get(name):
            raise node.error(f"input {position} must be the tensor '{name}'")
    variables = [node.quantized(position) for position in range(len(names))]
    for name, value in zip([*names, node.attribute("y")], [*variables, target], strict=True):
        if kind_of(element_of(value)) is not Kind.FLOAT:
            raise node.error(f"'{name}' must be a float to be differentiated, but got {value.type}")
    for name, value in zip(names, variables, strict=True):
        if isinstance(value.owner, ConstantOp):
            # Operations on constants alone are folded during the import, so nothing would depend on it.
            raise node.error(f"'{name}' is a constant; make it an input of the graph")
    # The node's own operations come after these.
    operations = list(node.graph.block.ops)
    found = gradients(operations, {target: filled(node, 1, element_of(target), target)}, variables, node.insert)
    return [
        filled(node, 0, element_of(variable), variable) if gradient is None else gradient
        for variable, gradient in zip(variables, found, strict=True)
    ]


IMPORTERS: dict[str, Importer] = {"ai.onnx.preview.training::Gradient": _gradient}
