"""Errors about a model. Each message is one line and names the node."""

import re

from onnx import NodeProto
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.nn.base import UnsupportedFormError
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, Severity, text_error


def reason_of(error: Exception) -> str:
    """Returns the message of an error raised by the onnx package, on one line and without class names."""
    return " ".join(re.sub(r"\[\w+Error\]", "", str(error)).split())


def node_name(node: NodeProto) -> str:
    """Returns the name of a node, or the name of its first output if the node has none."""
    return node.name or next((name for name in node.output if name), "")


def describe_node(node: NodeProto) -> str:
    """Describes a node for messages, such as `Conv node 'conv1'`."""
    domain = f"{node.domain}." if node.domain not in ("", "ai.onnx") else ""
    return f"{domain}{node.op_type} node '{node_name(node)}'"


def model_error(message: str) -> DiagnosticError:
    """Returns an error about a model as a whole."""
    return text_error(message)


def node_error(node: NodeProto, message: str) -> DiagnosticError:
    """Returns an error about one node."""
    return text_error(f"{describe_node(node)}: {message}")


class RefusedNodeError(DiagnosticError):
    """Raised for a valid node that its importer doesn't support; the node may become part of an island.

    Errors in the model itself never use this class.
    """

    def __init__(self, node: NodeProto, reason: str):
        super().__init__(Diagnostic(Severity.ERROR, f"{describe_node(node)}: {reason}"))
        self.node, self.reason = node, reason


def verification_error(node: NodeProto, error: VerifyException) -> DiagnosticError:
    """Returns an error about a node whose imported operation fails verification."""
    reason = " ".join(str(error).split())
    return RefusedNodeError(node, reason) if isinstance(error, UnsupportedFormError) else node_error(node, reason)
