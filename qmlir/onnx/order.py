"""Dependencies between the nodes of a graph, and selection of the nodes that its outputs depend on."""

from collections.abc import Iterable, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter

from onnx import GraphProto, NodeProto

from qmlir.ir.control_flow import reached
from qmlir.onnx.errors import describe_node, model_error, node_error


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


def captured_tensors(graph: GraphProto) -> list[str]:
    """Returns the names of the tensors that a subgraph captures from enclosing graphs, in order."""
    own = {
        *(each.name for each in (*graph.input, *graph.initializer)),
        *(name for node in graph.node for name in node.output),
    }
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


def _needed(graph: GraphProto, producers: dict[str, int]) -> set[int]:
    """Returns the indices of the nodes that the graph's outputs depend on."""

    def produced(names: Iterable[str]) -> list[int]:
        return [producers[name] for name in names if name in producers]

    outputs = produced(each.name for each in graph.output)
    return set(reached(outputs, lambda position: produced(used_tensors(graph.node[position]))))


def needed_nodes(graph: GraphProto) -> list[NodeProto]:
    """Returns the nodes that the outputs depend on, in the model's order.

    Raises `DiagnosticError` for a cycle, or for nodes that are not in topological order.
    """
    nodes = list(graph.node)
    producers = producers_of(nodes)
    needed = sorted(_needed(graph, producers))
    given = {each.name for each in (*graph.input, *graph.initializer)} | {
        each.values.name for each in graph.sparse_initializer
    }
    for position in needed:
        for name in nodes[position].input:
            if name and name not in producers and name not in given:
                raise node_error(nodes[position], f"tensor '{name}' is not defined")
    for each in graph.output:
        if each.name not in producers and each.name not in given:
            raise model_error(f"graph output '{each.name}' is not defined")
    used = {position: used_tensors(nodes[position]) for position in needed}
    late = [(position, name) for position in needed for name in used[position] if producers.get(name, -1) >= position]
    if not late:
        return [nodes[position] for position in needed]
    uses = {position: [producers[name] for name in used[position] if name in producers] for position in needed}
    try:
        TopologicalSorter(uses).prepare()
    except CycleError as error:
        cycle: list[int] = error.args[1]
        path = " -> ".join(describe_node(nodes[position]) for position in cycle[:5])
        raise model_error(f"the graph has a cycle: {path}") from error
    position, name = late[0]
    raise node_error(
        nodes[position],
        f"uses '{name}', which is defined later by {describe_node(nodes[producers[name]])}; sort the nodes of "
        "the graph topologically",
    )
