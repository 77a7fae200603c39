"""Nodes of a model that nothing imports: one error says which, or islands have them, for another runtime."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from onnx import GraphProto, ModelProto, NodeProto, TypeProto
from xdsl.dialects.builtin import ModuleOp

from qmlir import registry
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.island.ops import RUNS, TABLE, OnnxIslandOp
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, Severity, emit
from qmlir.ir.provenance import origins_of
from qmlir.onnx.checking import opsets
from qmlir.onnx.control import STRUCTURED
from qmlir.onnx.errors import RefusedNodeError, model_error, node_name
from qmlir.onnx.export.emission import MICROSOFT
from qmlir.onnx.functions import Functions, fixed_definition, is_defined_by_function
from qmlir.onnx.order import producers_of, subgraphs, used_tensors

_OPTIMIZED_DOMAINS = ("com.microsoft.nchwc", "com.ms.internal.nhwc")
"""Domains of layouts that ONNX Runtime's optimizer chooses for the CPU that it runs on."""

MAX_NODES_NAMED = 5
"""How many nodes an error names for one operator."""


def domain_of(node: NodeProto) -> str:
    """The domain of a node's operator, empty for ONNX's own."""
    return "" if node.domain == "ai.onnx" else node.domain


def operator_key(node: NodeProto) -> str:
    """The key of a node's operator in the tables of importers: `Relu`, `com.example::Relu`."""
    return f"{node.domain}::{node.op_type}" if domain_of(node) else node.op_type


def is_structured(node: NodeProto) -> bool:
    """Whether a node has graphs that are imported as regions, or in its place."""
    return node.op_type in STRUCTURED and not domain_of(node)


def chosen_branch(node: NodeProto, condition: Array | None) -> GraphProto | None:
    """The graph that an If runs; `None` where its condition is known in a run only."""
    if condition is None or condition.size != 1:
        return None
    name = "then_branch" if condition.item() else "else_branch"
    graph = next(attribute.g for attribute in node.attribute if attribute.name == name)
    return None if graph.sparse_initializer else graph


def shown_names(names: Sequence[str]) -> str:
    """The names of some nodes, not of too many."""
    more = f" and {len(names) - MAX_NODES_NAMED} more" if len(names) > MAX_NODES_NAMED else ""
    return ", ".join(f"'{name}'" for name in names[:MAX_NODES_NAMED]) + more


def _shown_operators(nodes: Mapping[str, Sequence[str]]) -> str:
    """Operators with the names of their nodes: `Det (1: 'd'); Fancy (2: 'a', 'b')`."""
    return "; ".join(f"{key} ({len(names)}: {shown_names(names)})" for key, names in sorted(nodes.items()))


@dataclass(frozen=True)
class Operators:
    """What can be imported: the importers, the functions of the model, and whether the rest may be islands."""

    importers: Mapping[str, Callable[..., Any]]
    functions: Functions
    fallback: bool

    def has(self, node: NodeProto, versions: Mapping[str, int]) -> bool:
        """Whether a node becomes operations of its own."""
        if self.functions.find(node) is not None or operator_key(node) in self.importers:
            return True
        if is_structured(node):  # of an If, one branch may be imported alone
            nodes = (inner for graph in subgraphs(node) for inner in graph.node)
            return node.op_type == "If" or all(self.has(inner, versions) for inner in nodes)
        version = versions.get(domain_of(node), 0)
        body = fixed_definition(node, version)
        if body is None:
            return is_defined_by_function(node, version)
        own = {**versions, **opsets(body.opset_import)}
        return all(self.has(inner, own) for inner in body.node)

    def may_be_island(self, node: NodeProto) -> bool:
        """Whether another runtime may compute a node."""
        return self.fallback and _may_run(node)

    def check(self, nodes: Iterable[NodeProto], versions: Mapping[str, int], model: str) -> None:
        """Raise one error that lists every operator that nothing imports, and that no island can have."""
        missing: dict[str, list[str]] = defaultdict(list)
        self._collect(nodes, versions, missing, set())
        if missing:
            raise self._error(missing, model)

    def tell_islands(self, module: ModuleOp, model: str) -> None:
        """Say which nodes are in islands; without a fallback, raise the error about them.

        An exported model may bring islands, whatever is imported.
        """
        missing: dict[str, list[str]] = defaultdict(list)
        refused: dict[str, list[str]] = defaultdict(list)
        islands = [op for op in module.walk() if isinstance(op, OnnxIslandOp)]
        for island in islands:
            nodes = ModelProto.FromString(island.model_bytes).graph.node
            origins = origins_of(island)
            names = list(map(str, origins)) if len(origins) == len(nodes) else list(map(node_name, nodes))
            if reason := _refusals_of(island):  # a branch has the name of its If
                refused[reason].extend(map(str, origins) if origins else names)
                continue
            for node, name in zip(nodes, names, strict=True):
                missing[operator_key(node)].append(name)
        if not islands:
            return
        if missing and not self.fallback:
            raise self._error(missing, model)
        causes = [f"unsupported operators {_shown_operators(missing)}"] if missing else []
        helps = {advice_for(key.rpartition("::")[0]) for key in missing}
        causes += [f"{reason} ({shown_names(names)})" for reason, names in refused.items()]
        if not self.fallback:
            raise model_error(f"{model} has nodes that would run in ONNX Runtime: {'; '.join(causes)}")
        message = (
            f"{model} has {len(islands)} subgraph{'s' if len(islands) > 1 else ''} that will run in ONNX Runtime "
            "or ONNX's "
            f"reference implementation: {'; '.join(causes)}{''.join(sorted(helps))}"
        )
        emit(Diagnostic(Severity.WARNING, message))

    @staticmethod
    def _error(missing: Mapping[str, Sequence[str]], model: str) -> DiagnosticError:
        return model_error(
            f"{model} uses {len(missing)} unsupported operator{'s' if len(missing) > 1 else ''}: "
            f"{_shown_operators(missing)}; help: a package can add importers through the entry point group "
            f"'{registry.ONNX_IMPORTERS_GROUP}'"
        )

    def _collect(
        self, nodes: Iterable[NodeProto], versions: Mapping[str, int], missing: dict[str, list[str]], called: set[int]
    ) -> None:
        """`called`: the functions that were looked into, by their identity."""
        for node in nodes:
            function = self.functions.find(node)
            if function is not None:
                if id(function) not in called:
                    called.add(id(function))
                    self._collect(function.node, opsets(function.opset_import), missing, called)
            elif not self.has(node, versions) and not self.may_be_island(node):
                missing[operator_key(node)].append(node_name(node))


def advice_for(domain: str, *, is_refused: bool = False) -> str:
    """The help, `; help: …`, about operators of `domain` that nothing imports; empty if nothing is known to help.

    `is_refused`: no runtime takes them either.
    """
    if domain in _OPTIMIZED_DOMAINS:
        layout = "this layout is for CPUs like the one that saved the model"
        return f"; help: {layout}; save it with graph_optimization_level ORT_ENABLE_EXTENDED or lower"
    if is_refused and domain == MICROSOFT:
        return "; help: save the model with graph_optimization_level ORT_ENABLE_BASIC, or fix its shapes with --shape"
    return ""


def _may_run(node: NodeProto) -> bool:
    return bool(registry.table(TABLE)["knows"](domain_of(node), node.op_type))


@dataclass(frozen=True)
class Island:
    """Nodes for another runtime, in order, and the tensors that go in and out."""

    nodes: tuple[NodeProto, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def has_subgraphs(self) -> bool:
        """Whether a node has graphs of its own, which may call functions of the model."""
        return any(map(subgraphs, self.nodes))

    @property
    def operators(self) -> Mapping[str, Sequence[str]]:
        """The names of nodes by operator."""
        found: dict[str, list[str]] = defaultdict(list)
        for node in self.nodes:
            found[operator_key(node)].append(node_name(node))
        return found


_NO_OPERATION = "qmlir has no operation for "


def reason_text(island: Island, refused: Mapping[str, str]) -> str:
    """Why nodes are an island: of which operators there is no operation, and why others are `refused`."""
    by_reason: dict[str, list[str]] = defaultdict(list)
    for key, reason in refused.items():
        by_reason[reason].append(key)
    causes = [f"{', '.join(keys)} {reason}" for reason, keys in by_reason.items()]
    missing = ", ".join(key for key in island.operators if key not in refused)
    return "; ".join([*causes, f"{_NO_OPERATION}{missing}"] if missing else causes) + RUNS


def _refusals_of(island: OnnxIslandOp) -> str:
    """What its reason says of refused nodes; empty where there are none."""
    return "" if island.cause.startswith(_NO_OPERATION) else island.cause


def nodes_of(step: NodeProto | Island) -> Sequence[NodeProto]:
    """The nodes of a step of an order."""
    return step.nodes if isinstance(step, Island) else (step,)


def island_of(node: NodeProto) -> Island:
    """The island of one node."""
    used = dict.fromkeys(name for name in used_tensors(node) if name)
    return Island((node,), tuple(used), tuple(name for name in node.output if name))


def island_of_graph(graph: GraphProto) -> Island:
    """The island of the nodes of a graph without inputs; what the graph holds are inputs of the island."""
    inside = {name for node in graph.node for name in node.output}
    used = [name for node in graph.node for name in used_tensors(node) if name and name not in inside]
    outputs = [each.name for each in graph.output if each.name in inside]
    return Island(tuple(graph.node), tuple(dict.fromkeys(used)), tuple(dict.fromkeys(outputs)))


def with_islands(
    nodes: Sequence[NodeProto], missing: Collection[int], wanted: Collection[str] | None
) -> Sequence[NodeProto | Island]:
    """`nodes` in an order in which they can run, those at the places `missing` in islands; `wanted` are the outputs.

    Phases take turns between nodes that are imported and those that are not, each node in the first one that its
    operands allow. So no path leaves an island and comes back: all between two nodes of one phase is in that phase.
    Nodes of a phase are in one island where they are connected. Without `wanted`, every tensor is.
    """
    if not missing:
        return nodes
    producers = producers_of(nodes)
    before = [[producers[name] for name in used_tensors(node) if name in producers] for node in nodes]
    phases: list[int] = []
    island = list(range(len(nodes)))  # of each node the first one that it is connected with
    for place in range(len(nodes)):
        earliest = max((phases[other] for other in before[place]), default=0)
        phases.append(earliest + (earliest % 2 != (place in missing)))
        if place in missing:
            together = {island[other] for other in before[place] if phases[other] == phases[place]}
            first = min(together, default=place)
            island = [first if each in together or at == place else each for at, each in enumerate(island)]
    members: dict[int, list[int]] = defaultdict(list)
    for place in sorted(range(len(nodes)), key=lambda place: (phases[place], place)):
        members[island[place]].append(place)
    users: dict[str, set[int]] = defaultdict(set)
    for place, node in enumerate(nodes):
        for name in used_tensors(node):
            users[name].add(place)

    def made(places: Sequence[int]) -> NodeProto | Island:
        if places[0] not in missing:
            return nodes[places[0]]
        inside = [nodes[place] for place in places]
        given = [name for node in inside for name in node.output if name]
        used = dict.fromkeys(name for node in inside for name in used_tensors(node) if name and name not in given)
        outputs = [name for name in given if wanted is None or name in wanted or users[name] - set(places)]
        return Island(tuple(inside), tuple(used), tuple(outputs))

    return [made(places) for places in members.values()]


def untyped_here(types: Mapping[str, TypeProto], names: Iterable[str]) -> bool:
    """Whether one of these tensors is of a kind that only islands have inside: an optional value, a map."""
    return any(not _has_type(types[name]) for name in names if name in types)


def _has_type(type_: TypeProto) -> bool:
    if type_.HasField("sequence_type"):
        return type_.sequence_type.elem_type.HasField("tensor_type") or not type_.sequence_type.HasField("elem_type")
    return type_.HasField("tensor_type") or type_.WhichOneof("value") is None


class RefusedNodes:
    """The nodes of a graph that importers refused, or that go with one into its island, and the errors about them."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[NodeProto, RefusedNodeError]] = {}  # by identity: nodes may be equal

    def add(self, node: NodeProto, refusal: RefusedNodeError) -> None:
        """Note a node, for what is said of it or of one that defines it."""
        if refusal.node is not node:
            refusal = RefusedNodeError(node, f"contains the {refusal.diagnostic.message}")
        self._found[id(node)] = node, refusal

    def places(self, nodes: Iterable[NodeProto]) -> set[int]:
        """Where in `nodes` they are."""
        return {place for place, node in enumerate(nodes) if id(node) in self._found}

    def first(self, nodes: Iterable[NodeProto]) -> RefusedNodeError | None:
        """The error about the first one of `nodes`."""
        return next((self._found[id(node)][1] for node in nodes if id(node) in self._found), None)

    def reasons(self, nodes: Iterable[NodeProto]) -> Mapping[str, str]:
        """Why those of `nodes` were refused, one reason for each operator."""
        found: dict[str, str] = {}
        for node in nodes:
            if id(node) in self._found:
                found.setdefault(operator_key(node), self._found[id(node)][1].reason)
        return found
