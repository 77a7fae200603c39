"""Unsupported nodes of a model: listed in one error, or grouped into islands that fall back to another runtime."""

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
"""Domains of operators with layouts that ONNX Runtime's optimizer chooses for its CPU."""

MAX_NODES_NAMED = 5
"""The number of nodes per operator that an error names at most."""


def domain_of(node: NodeProto) -> str:
    """Returns the domain of a node's operator; empty for ONNX's own domain."""
    return "" if node.domain == "ai.onnx" else node.domain


def operator_key(node: NodeProto) -> str:
    """Returns the key of a node's operator in the tables of importers, such as `Relu` or `com.example::Relu`."""
    return f"{node.domain}::{node.op_type}" if domain_of(node) else node.op_type


def is_structured(node: NodeProto) -> bool:
    """Returns True if the graphs of a node are imported as regions, or replace the node."""
    return node.op_type in STRUCTURED and not domain_of(node)


def chosen_branch(node: NodeProto, condition: Array | None) -> GraphProto | None:
    """Returns the graph that an If runs, or `None` if its condition is known only at run time."""
    if condition is None or condition.size != 1:
        return None
    name = "then_branch" if condition.item() else "else_branch"
    graph = next(attribute.g for attribute in node.attribute if attribute.name == name)
    return None if graph.sparse_initializer else graph


def shown_names(names: Sequence[str]) -> str:
    """Returns the names of nodes as text, at most `MAX_NODES_NAMED`, followed by the number of the others."""
    more = f" and {len(names) - MAX_NODES_NAMED} more" if len(names) > MAX_NODES_NAMED else ""
    return ", ".join(f"'{name}'" for name in names[:MAX_NODES_NAMED]) + more


def _shown_operators(nodes: Mapping[str, Sequence[str]]) -> str:
    """Returns operators with the names of their nodes as text, such as `Det (1: 'd'); Fancy (2: 'a', 'b')`."""
    return "; ".join(f"{key} ({len(names)}: {shown_names(names)})" for key, names in sorted(nodes.items()))


@dataclass(frozen=True)
class Operators:
    """The supported operators: importers and functions of the model; `fallback` allows islands for the others."""

    importers: Mapping[str, Callable[..., Any]]
    functions: Functions
    fallback: bool

    def has(self, node: NodeProto, versions: Mapping[str, int]) -> bool:
        """Returns True if a node can be imported: as operations, by a function, or as a structured operation."""
        if self.functions.find(node) is not None or operator_key(node) in self.importers:
            return True
        if is_structured(node):  # for an If, only one branch may be imported
            nodes = (inner for graph in subgraphs(node) for inner in graph.node)
            return node.op_type == "If" or all(self.has(inner, versions) for inner in nodes)
        version = versions.get(domain_of(node), 0)
        body = fixed_definition(node, version)
        if body is None:
            return is_defined_by_function(node, version)
        own = {**versions, **opsets(body.opset_import)}
        return all(self.has(inner, own) for inner in body.node)

    def may_be_island(self, node: NodeProto) -> bool:
        """Returns True if a node may fall back to another runtime."""
        return self.fallback and _may_run(node)

    def check(self, nodes: Iterable[NodeProto], versions: Mapping[str, int], model: str) -> None:
        """Raises one `DiagnosticError` that lists every unsupported operator that can't be in an island."""
        missing: dict[str, list[str]] = defaultdict(list)
        self._collect(nodes, versions, missing, set())
        if missing:
            raise self._error(missing, model)

    def tell_islands(self, module: ModuleOp, model: str) -> None:
        """Reports the nodes in islands; without a fallback, raises an error about them.

        An exported model may contain islands even if all of its nodes can be imported.
        """
        missing: dict[str, list[str]] = defaultdict(list)
        refused: dict[str, list[str]] = defaultdict(list)
        islands = [op for op in module.walk() if isinstance(op, OnnxIslandOp)]
        for island in islands:
            nodes = ModelProto.FromString(island.model_bytes).graph.node
            origins = origins_of(island)
            names = list(map(str, origins)) if len(origins) == len(nodes) else list(map(node_name, nodes))
            if reason := _refusals_of(island):  # a branch is named after its If
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
        """Collects unsupported nodes in `missing`. `called` are the functions visited so far, by identity."""
        for node in nodes:
            function = self.functions.find(node)
            if function is not None:
                if id(function) not in called:
                    called.add(id(function))
                    self._collect(function.node, opsets(function.opset_import), missing, called)
            elif not self.has(node, versions) and not self.may_be_island(node):
                missing[operator_key(node)].append(node_name(node))


def advice_for(domain: str, *, is_refused: bool = False) -> str:
    """Returns the help text `; help: …` for unsupported operators of `domain`; empty if there is none.

    `is_refused` means that no other runtime can run them either.
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
    """Nodes that run on another runtime, in order, with their input and output tensors."""

    nodes: tuple[NodeProto, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def has_subgraphs(self) -> bool:
        """Whether a node contains subgraphs, which may call functions of the model."""
        return any(map(subgraphs, self.nodes))

    @property
    def operators(self) -> Mapping[str, Sequence[str]]:
        """Returns the names of the nodes of each operator."""
        found: dict[str, list[str]] = defaultdict(list)
        for node in self.nodes:
            found[operator_key(node)].append(node_name(node))
        return found


_NO_OPERATION = "qmlir has no operation for "


def reason_text(island: Island, refused: Mapping[str, str]) -> str:
    """Returns the reason for an island: the unsupported operators, and why nodes of others were `refused`."""
    by_reason: dict[str, list[str]] = defaultdict(list)
    for key, reason in refused.items():
        by_reason[reason].append(key)
    causes = [f"{', '.join(keys)} {reason}" for reason, keys in by_reason.items()]
    missing = ", ".join(key for key in island.operators if key not in refused)
    return "; ".join([*causes, f"{_NO_OPERATION}{missing}"] if missing else causes) + RUNS


def _refusals_of(island: OnnxIslandOp) -> str:
    """Returns the reason of an island with rejected nodes; empty if there are none."""
    return "" if island.cause.startswith(_NO_OPERATION) else island.cause


def nodes_of(step: NodeProto | Island) -> Sequence[NodeProto]:
    """Returns the nodes of a step: those of an island, or the node itself."""
    return step.nodes if isinstance(step, Island) else (step,)


def island_of(node: NodeProto) -> Island:
    """Returns an island of one node."""
    used = dict.fromkeys(name for name in used_tensors(node) if name)
    return Island((node,), tuple(used), tuple(name for name in node.output if name))


def island_of_graph(graph: GraphProto) -> Island:
    """Returns an island of all nodes of a graph without inputs; initializers become inputs of the island."""
    inside = {name for node in graph.node for name in node.output}
    used = [name for node in graph.node for name in used_tensors(node) if name and name not in inside]
    outputs = [each.name for each in graph.output if each.name in inside]
    return Island(tuple(graph.node), tuple(dict.fromkeys(used)), tuple(dict.fromkeys(outputs)))


def with_islands(
    nodes: Sequence[NodeProto], missing: Collection[int], wanted: Collection[str] | None
) -> Sequence[NodeProto | Island]:
    """Returns `nodes` in a topological order, with those at the indices `missing` grouped into islands.

    Phases alternate between supported and unsupported nodes; each node is in the first phase that its operands allow.
    So no path leaves an island and returns to it: all nodes between two nodes of a phase are in that phase. Connected
    nodes of a phase form one island. `wanted` are the outputs of the graph; without it, every tensor is an output.
    """
    if not missing:
        return nodes
    producers = producers_of(nodes)
    before = [[producers[name] for name in used_tensors(node) if name in producers] for node in nodes]
    phases: list[int] = []
    island = list(range(len(nodes)))  # for each node, the first node that it is connected with
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
    """Returns True if one of these tensors has a type that is supported only inside islands: optional or map."""
    return any(not _has_type(types[name]) for name in names if name in types)


def _has_type(type_: TypeProto) -> bool:
    if type_.HasField("sequence_type"):
        return type_.sequence_type.elem_type.HasField("tensor_type") or not type_.sequence_type.HasField("elem_type")
    return type_.HasField("tensor_type") or type_.WhichOneof("value") is None


class RefusedNodes:
    """The nodes of a graph that importers rejected, or that share an island with one, and their errors."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[NodeProto, RefusedNodeError]] = {}  # by identity: nodes may be equal

    def add(self, node: NodeProto, refusal: RefusedNodeError) -> None:
        """Records a node that was rejected itself, or whose definition contains a rejected node."""
        if refusal.node is not node:
            refusal = RefusedNodeError(node, f"contains the {refusal.diagnostic.message}")
        self._found[id(node)] = node, refusal

    def places(self, nodes: Iterable[NodeProto]) -> set[int]:
        """Returns the indices in `nodes` of recorded nodes."""
        return {place for place, node in enumerate(nodes) if id(node) in self._found}

    def first(self, nodes: Iterable[NodeProto]) -> RefusedNodeError | None:
        """Returns the error about the first recorded node in `nodes`, or `None`."""
        return next((self._found[id(node)][1] for node in nodes if id(node) in self._found), None)

    def reasons(self, nodes: Iterable[NodeProto]) -> Mapping[str, str]:
        """Returns why nodes in `nodes` were rejected, one reason for each operator."""
        found: dict[str, str] = {}
        for node in nodes:
            if id(node) in self._found:
                found.setdefault(operator_key(node), self._found[id(node)][1].reason)
        return found
