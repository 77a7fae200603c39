"""`LiteRow`: the importer of an operator, its layout, and the stored integers that it accepts."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from qmlir.extensions.litert.node import LiteImporter, LiteNode, last
from qmlir.extensions.litert.values import Layout

NONE: Collection[str] = ()
BYTES: Collection[str] = ("INT8",)
SIGNED: Collection[str] = ("INT8", "INT16")
ALL: Collection[str] = ("INT8", "INT16", "UINT8")


@dataclass(frozen=True)
class LiteRow:
    """How an operator is imported."""

    imported: LiteImporter
    """The importer: a function, or the method of a row for all formats."""

    layout: Callable[[LiteNode], Layout] = last
    """The layout of its inputs and outputs."""

    stored: Collection[str] = NONE
    """The elements that its quantized tensors may have."""

    def check(self, node: LiteNode) -> None:
        """Raises `DiagnosticError` if the operator has quantized tensors that it doesn't support."""
        inputs = [node.tensor(index) for index in range(len(node.operator.inputs))]
        outputs = [node.output(index) for index in range(len(node.operator.outputs))]
        for tensor in (*inputs, *outputs):
            if tensor is None:
                continue
            element = node.owner.element(tensor)
            if tensor.scales and tensor.element in ALL and tensor.element not in self.stored:
                wanted = f"supports {' and '.join(self.stored)}, not" if self.stored else "is not supported on"
                raise node.unsupported(f"{wanted} quantized {tensor.element} ('{tensor.name}', {element})")
