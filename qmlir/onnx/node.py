"""`Node`, the interface of importers: an ONNX node with its attributes and inputs, and methods that add operations.

An importer is a function that takes a `Node` and returns the values of its outputs. Packages use the same interface:
the entry point group `qmlir.onnx_importers` names tables from operator (`Relu`, `com.example::Relu`) to importer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from onnx import AttributeProto, NodeProto, helper
from xdsl.ir import Attribute, SSAValue

from qmlir.formats.node import NO_DEFAULT, SourceNode
from qmlir.ir.builtin_types import AnyTensor
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.onnx.protos import RefusedNodeError, node_error
from qmlir.onnx.signatures import attribute_kind, schema_of
from qmlir.onnx.types import ELEMENT_TYPES, data_type_name

if TYPE_CHECKING:
    from qmlir.onnx.graph import GraphBuilder

Importer = Callable[["Node"], "SSAValue | Sequence[SSAValue | None]"]
"""A function that adds the operations of a node and returns its outputs in order; `None` for an unused output."""


@dataclass(frozen=True)
class Node(SourceNode):
    """A node, the version of its operator set, its inputs, and the graph under construction."""

    graph: GraphBuilder
    proto: NodeProto
    version: int
    """The version of the node's operator set."""

    tensors: Mapping[str, SSAValue] = field(default_factory=dict[str, SSAValue])
    """The values that have been imported so far, by name."""

    declared: Mapping[str, AnyTensor] = field(default_factory=dict[str, AnyTensor])
    """The types that the model declares, by name."""

    def error(self, message: str) -> DiagnosticError:
        """Returns an error that names this node."""
        return node_error(self.proto, message)

    def unsupported(self, reason: str) -> DiagnosticError:
        """Returns an error about a valid node that its importer doesn't support; the node may become an island."""
        return RefusedNodeError(self.proto, reason)

    # Attributes

    def attribute(self, name: str, default: Any = NO_DEFAULT) -> Any:
        """Returns an attribute as a Python value: a number, a string, a list, a NumPy array for a tensor, or a graph.

        If the model omits the attribute, returns `default` if given, else the default in ONNX's schema of the node's
        version, else `None`.
        """
        for attribute in self.proto.attribute:
            if attribute.name == name:
                return _python_value(attribute, self)
        if default is not NO_DEFAULT:
            return default
        schema = schema_of(self.proto, self.version)
        declared = None if schema is None else schema.attributes.get(name)
        if declared is None or declared.default_value.type == AttributeProto.UNDEFINED:
            return None
        return _python_value(declared.default_value, self)

    def has_attribute(self, name: str) -> bool:
        """Returns True if the node has this attribute."""
        return any(attribute.name == name for attribute in self.proto.attribute)

    def element_type(self, data_type: int) -> Attribute:
        """Returns the element type of an ONNX data type. Raises `DiagnosticError` if `nn` doesn't support it."""
        element = ELEMENT_TYPES.get(data_type)
        if element is None:
            raise self.unsupported(f"elements of {data_type_name(data_type)} are not supported")
        return element


def _python_value(attribute: AttributeProto, node: Node) -> Any:
    match attribute.type:
        case AttributeProto.TENSOR:
            return node.graph.tensor_array(attribute.t)
        case AttributeProto.STRING:
            return _text(attribute.s, attribute, node)
        case AttributeProto.STRINGS:
            return [_text(each, attribute, node) for each in attribute.strings]
        case AttributeProto.GRAPH:
            return attribute.g
        case AttributeProto.INT | AttributeProto.INTS | AttributeProto.FLOAT | AttributeProto.FLOATS:
            return helper.get_attribute_value(attribute)
        case _:
            raise node.error(f"attribute '{attribute.name}' has the unsupported kind {attribute_kind(attribute.type)}")


def _text(data: bytes, attribute: AttributeProto, node: Node) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise node.error(f"attribute '{attribute.name}' must be UTF-8 text, but got {data!r}") from error
