"""What is wrong with a model, in one line that names the node."""

import re

from onnx import NodeProto
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.nn.base import UnsupportedFormError
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, Severity, text_error


def reason_of(error: Exception) -> str:
    """What ONNX's own code says in an error, in one line and without the name of its class."""
    return " ".join(re.sub(r"\[\w+Error\]", "", str(error)).split())


def node_name(node: NodeProto) -> str:
    """The name by which a node is known: its own, or its first output's where it has none."""
    return node.name or next((name for name in node.output if name), "")


def describe_node(node: NodeProto) -> str:
    """`Conv node 'conv1'`, as every message names a node."""
    domain = f"{node.domain}." if node.domain not in ("", "ai.onnx") else ""
    return f"{domain}{node.op_type} node '{node_name(node)}'"


def model_error(message: str) -> DiagnosticError:
    """The error, to be raised, about a model as a whole."""
    return text_error(message)


def node_error(node: NodeProto, message: str) -> DiagnosticError:
    """The error, to be raised, about one node."""
    return text_error(f"{describe_node(node)}: {message}")


class RefusedNodeError(DiagnosticError):
    """A sound node of an operator that is imported, in a form that its importer does not take: an island may have it.

    What is wrong with a model is never one.
    """

    def __init__(self, node: NodeProto, reason: str):
        super().__init__(Diagnostic(Severity.ERROR, f"{describe_node(node)}: {reason}"))
        self.node, self.reason = node, reason


def verification_error(node: NodeProto, error: VerifyException) -> DiagnosticError:
    """The error, to be raised, about one node whose operation does not verify."""
    reason = " ".join(str(error).split())
    return RefusedNodeError(node, reason) if isinstance(error, UnsupportedFormError) else node_error(node, reason)
