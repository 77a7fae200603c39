"""Nodes and graphs of a model as protobufs: names and errors for messages, subgraphs, and dependencies.

Each message is one line and names the node.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter

from onnx import GraphProto, NodeProto
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.nn.base import UnsupportedFormError
from qmlir.ir.control_flow import reached
from qmlir.ir.diagnostics import DiagnosticError, text_error


def reason_of(error: Exception) -> str:
    """Returns the message of an error raised by the onnx package, on one line and without class names."""
    return " ".join(re.sub(r"\[\w+Error\]", "", str(error)).split())


def node_name(node: NodeProto) -> str:
    """Returns the name of a node, or the name of its first output if the node has none."""
    return node.name or next((name for name in node.output if name), "")


def domain_of(node: NodeProto) -> str:
    """Returns the domain of a node's operator; empty for ONNX's own domain."""
    return "" if node.domain == "ai.onnx" else node.domain


def operator_key(node: NodeProto) -> str:
    """Returns the key of a node's operator in the tables of importers, such as `Relu` or `com.example::Relu`."""
    return f"{node.domain}::{node.op_type}" if domain_of(node) else node.op_type


def describe_node(node: NodeProto) -> str:
    """Describes a node for messages, such as `Conv node 'conv1'`."""
    domain = f"{node.domain}." if domain_of(node) else ""
    return f"{domain}{node.op_type} node '{node_name(node)}'"


def node_error(node: NodeProto, message: str) -> DiagnosticError:
    """Returns an error about one node."""
    return text_error(f"{describe_node(node)}: {message}")


class RefusedNodeError(DiagnosticError):
    """Raised for a valid node that its importer doesn't support; the node may become part of an island.

    Errors in the model itself never use this class.
    """

    def __init__(self, node: NodeProto, reason: str):
        super().__init__(node_error(node, reason).diagnostic)
        self.node, self.reason = node, reason


def verification_error(node: NodeProto, error: VerifyException) -> DiagnosticError:
    """Returns an error about a node whose imported operation fails verification."""
    reason = " ".join(str(error).split())
    return RefusedNodeError(node, reason) if isinstance(error, UnsupportedFormError) else node_error(node, reason)


def shown_names(names: Sequence[str], limit: int = 5) -> str:
    """Returns a string with at most `limit` of the names, followed by the number of omitted names."""
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(f"'{name}'" for name in names[:limit]) + more


# --- Subgraphs and dependencies ---------------------------------------------------------------------------------------


def subgraphs(node: NodeProto) -> list[GraphProto]:
    """Returns the subgraphs in the attributes of a node: branches of If, bodies of Loop and Scan."""
    single = [attribute.g for attribute in node.attribute if attribute.HasField("g")]
    return [*single, *(graph for attribute in node.attribute for graph in attribute.graphs)]


def nodes_within(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    """Yields each of `nodes`, followed by all nodes in its subgraphs, at any depth."""
    for node in nodes:
        yield node
        for graph in subgraphs(node):
            yield from nodes_within(graph.node)


def defined_tensors(graph: GraphProto) -> set[str]:
    """Returns the names of the tensors that a graph defines: its inputs, its initializers, and the outputs of nodes."""
    given = {each.name for each in (*graph.input, *graph.initializer)}
    return given | {name for node in graph.node for name in node.output}


def captured_tensors(graph: GraphProto) -> list[str]:
    """Returns the names of the tensors that a subgraph captures from enclosing graphs, in order."""
    own = defined_tensors(graph)
    used = [*(name for node in graph.node for name in used_tensors(node)), *(each.name for each in graph.output)]
    return [name for name in dict.fromkeys(used) if name and name not in own]


def used_tensors(node: NodeProto) -> list[str]:
    """Returns the names of the tensors that a node uses: its inputs and the tensors that its subgraphs capture.

    For Gradient, this includes the tensor to differentiate, which an attribute names.
    """
    captured = [name for graph in subgraphs(node) for name in captured_tensors(graph)]
    if (node.domain, node.op_type) == ("ai.onnx.preview.training", "Gradient"):
        captured += [attribute.s.decode() for attribute in node.attribute if attribute.name == "y"]
    return [*node.input, *captured]


def producers_of(nodes: Sequence[NodeProto]) -> dict[str, int]:
    """Returns the index of the node that computes each tensor. Raises `DiagnosticError` if two nodes do."""
    producers: dict[str, int] = {}
    for position, node in enumerate(nodes):
        for name in node.output:
            if not name:
                continue
            if name in producers:
                raise node_error(
                    node,
                    f"redefines tensor '{name}', which is already defined by {describe_node(nodes[producers[name]])}",
                )
            producers[name] = position
    return producers


def needed_nodes(graph: GraphProto) -> list[NodeProto]:
    """Returns the nodes that the outputs depend on, in the model's order.

    Raises `DiagnosticError` for a cycle, or for nodes that are not in topological order.
    """
    nodes = list(graph.node)
    producers = producers_of(nodes)

    def produced(names: Iterable[str]) -> list[int]:
        return [producers[name] for name in names if name in producers]

    ends = produced(each.name for each in graph.output)
    needed = sorted(reached(ends, lambda position: produced(used_tensors(nodes[position]))))
    given = {each.name for each in (*graph.input, *graph.initializer)} | {
        each.values.name for each in graph.sparse_initializer
    }
    for position in needed:
        for name in nodes[position].input:
            if name and name not in producers and name not in given:
                raise node_error(nodes[position], f"tensor '{name}' is not defined")
    for each in graph.output:
        if each.name not in producers and each.name not in given:
            raise text_error(f"graph output '{each.name}' is not defined")
    used = {position: used_tensors(nodes[position]) for position in needed}
    late = [(position, name) for position in needed for name in used[position] if producers.get(name, -1) >= position]
    if not late:
        return [nodes[position] for position in needed]
    try:
        TopologicalSorter({position: produced(used[position]) for position in needed}).prepare()
    except CycleError as error:
        cycle: list[int] = error.args[1]
        path = " -> ".join(describe_node(nodes[position]) for position in cycle[:5])
        raise text_error(f"the graph has a cycle: {path}") from error
    position, name = late[0]
    raise node_error(
        nodes[position],
        f"uses '{name}', which is defined later by {describe_node(nodes[producers[name]])}; sort the nodes of "
        "the graph topologically",
    )
