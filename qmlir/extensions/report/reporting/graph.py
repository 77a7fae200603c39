"""The graph of a function as users of the model know it: operations, inputs and outputs, without casts and constants.

Nodes hold their operations and keys; edges connect node numbers.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from qmlir.extensions.report.reporting.layout import Edge
from qmlir.ir.signature import inputs_of, outputs_of
from qmlir.quantization.report import CASTS
from qmlir.workflows.comparison.names import ModuleNames


@dataclass(frozen=True)
class GraphNode:
    """A node: an operation, or a port of the function."""

    number: int
    key: str
    """The key of its first value, or the name of the port."""

    operation: Operation | None = None
    """The operation; `None` for a port."""

    value: SSAValue | None = None
    """The value that the node represents; for a quantized input the quantized value."""

    is_output: bool = False


@dataclass
class ReportGraph:
    """Nodes in the order of computation, and edges without duplicates."""

    nodes: list[GraphNode] = field(default_factory=list[GraphNode])
    edges: list[Edge] = field(default_factory=list[Edge])


def _operands(op: Operation) -> Iterator[SSAValue]:
    """Yields the operands of an operation and of those in its regions."""
    for each in op.walk():
        yield from each.operands


class _Builder:
    """Builds the graph of one function."""

    def __init__(self, function: FuncOp, names: ModuleNames) -> None:
        self.function = function
        self.names = names
        self.graph = ReportGraph()
        self.sources: dict[SSAValue, frozenset[int]] = {}
        """The nodes that each value comes from, through casts and other operations that are not drawn."""

    def build(self) -> ReportGraph:
        block = self.function.body.block
        for port, argument in zip(inputs_of(self.function), block.args, strict=True):
            self._input(port.name, argument)
        for op in block.ops:
            if isinstance(op, ReturnOp):
                self._outputs(op)
                continue
            came = self._came_from(op)
            drawn = [value for value in op.results if value in self.names.values]
            if drawn and not isinstance(op, CASTS):
                key = self.names.values[drawn[0]]
                came = self._add(GraphNode(len(self.graph.nodes), key, op, drawn[0]), came)
            self.sources.update(dict.fromkeys(op.results, came))
        return self.graph

    def _input(self, name: str, argument: SSAValue) -> None:
        seen = [result for use in argument.uses for result in use.operation.results if result in self.names.values]
        keys = {name, f"input:{name}"}
        value = next((each for each in seen if self.names.values[each] in keys), None)
        key = self.names.inputs.get(name, name) if value is None else self.names.values[value]
        self.sources[argument] = self._add(GraphNode(len(self.graph.nodes), key, None, value or argument), frozenset())

    def _outputs(self, op: ReturnOp) -> None:
        for port, value in zip(outputs_of(self.function), op.operands, strict=False):
            node = GraphNode(len(self.graph.nodes), f"output:{port.name}", None, value, is_output=True)
            self._add(node, self.sources.get(value, frozenset()))

    def _came_from(self, op: Operation) -> frozenset[int]:
        return frozenset(number for value in _operands(op) for number in self.sources.get(value, ()))

    def _add(self, node: GraphNode, came: frozenset[int]) -> frozenset[int]:
        self.graph.nodes.append(node)
        self.graph.edges += [(source, node.number) for source in sorted(came)]
        return frozenset({node.number})


def graph_of(function: FuncOp, names: ModuleNames) -> ReportGraph:
    """Returns the graph of `function`, whose values have `names`."""
    return _Builder(function, names).build()
