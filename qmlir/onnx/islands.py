"""Unsupported nodes of a model: listed in one error, or grouped into islands that another runtime executes.

An island is one `nn.onnx_island` operation; this module infers its types, imports it and exports it.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from google.protobuf.message import DecodeError
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, TypeProto, helper, version_converter
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Operation, SSAValue, TypeAttribute
from xdsl.utils.exceptions import InterpretationError, VerifyException

from qmlir import registry
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.base import shapes_agree
from qmlir.dialects.nn.island.ops import RUNS, TABLE, OnnxIslandOp
from qmlir.dialects.nn.types import SequenceType
from qmlir.ir.builtin_types import AnyTensor, element_of, ranked_tensor
from qmlir.ir.diagnostics import DiagnosticError, text_error, warn
from qmlir.ir.provenance import Origin, origins_of
from qmlir.onnx import protos
from qmlir.onnx.checking import inferred_outputs, is_large, opsets, type_fault
from qmlir.onnx.control import STRUCTURED
from qmlir.onnx.export.emission import MICROSOFT, Exporter, NodeEmitter, plain_proto, value_info
from qmlir.onnx.graph import GraphBuilder
from qmlir.onnx.ports import tensor_type
from qmlir.onnx.protos import RefusedNodeError, node_error, node_name, operator_key
from qmlir.onnx.reading import inlined
from qmlir.onnx.signatures import Functions, fixed_definition, is_defined_by_function, standard_schema
from qmlir.onnx.types import DATA_TYPES, ELEMENT_TYPES
from qmlir.text.elements import dense_dtype

_OPTIMIZED_DOMAINS = ("com.microsoft.nchwc", "com.ms.internal.nhwc")
"""The domains of operators whose data layout ONNX Runtime's optimizer has chosen for the CPU that it ran on."""


def is_structured(node: NodeProto) -> bool:
    """Returns True if the subgraphs of a node are imported as regions, or replace the node."""
    return node.op_type in STRUCTURED and not protos.domain_of(node)


def chosen_branch(node: NodeProto, condition: Array | None) -> GraphProto | None:
    """Returns the branch that an If takes, or `None` if its condition is known only at run time."""
    if condition is None or condition.size != 1:
        return None
    name = "then_branch" if condition.item() else "else_branch"
    graph = next(attribute.g for attribute in node.attribute if attribute.name == name)
    return None if graph.sparse_initializer else graph


def _shown_operators(nodes: Mapping[str, Sequence[str]]) -> str:
    """Returns operators with the names of their nodes as text, such as `Det (1: 'd'); Fancy (2: 'a', 'b')`."""
    return "; ".join(f"{key} ({len(names)}: {protos.shown_names(names)})" for key, names in sorted(nodes.items()))


@dataclass(frozen=True)
class Operators:
    """The supported operators, from importers and functions of the model; `fallback` allows islands for all others."""

    importers: Mapping[str, Callable[..., Any]]
    functions: Functions
    fallback: bool

    def has(self, node: NodeProto, versions: Mapping[str, int]) -> bool:
        """Returns True if a node can be imported: by an importer, through a function, or as a structured operation."""
        if self.functions.find(node) is not None or operator_key(node) in self.importers:
            return True
        if is_structured(node):  # for an If, only one branch may be imported
            nodes = (inner for graph in protos.subgraphs(node) for inner in graph.node)
            return node.op_type == "If" or all(self.has(inner, versions) for inner in nodes)
        version = versions.get(protos.domain_of(node), 0)
        body = fixed_definition(node, version)
        if body is None:
            return is_defined_by_function(node, version)
        own = {**versions, **opsets(body.opset_import)}
        return all(self.has(inner, own) for inner in body.node)

    def may_be_island(self, node: NodeProto) -> bool:
        """Returns True if a node may fall back to another runtime."""
        return self.fallback and bool(registry.table(TABLE)["knows"](protos.domain_of(node), node.op_type))

    def check(self, nodes: Iterable[NodeProto], versions: Mapping[str, int], model: str) -> None:
        """Raises one `DiagnosticError` that lists every unsupported operator that can't be in an island."""
        missing: dict[str, list[str]] = defaultdict(list)
        for node in self._missing(nodes, versions, set()):
            missing[operator_key(node)].append(node_name(node))
        if missing:
            raise self._error(missing, model)

    def tell_islands(self, module: ModuleOp, model: str) -> None:
        """Reports the nodes in islands; without a fallback, raises an error about them.

        A model that qmlir exported may contain islands even if all of its nodes can now be imported.
        """
        missing: dict[str, list[str]] = defaultdict(list)
        refused: dict[str, list[str]] = defaultdict(list)
        islands = [op for op in module.walk() if isinstance(op, OnnxIslandOp)]
        for island in islands:
            nodes = ModelProto.FromString(island.model_bytes).graph.node
            origins = origins_of(island)
            names = list(map(str, origins)) if len(origins) == len(nodes) else list(map(node_name, nodes))
            if not island.cause.startswith(_NO_OPERATION):  # some were rejected; a branch is named after its If
                refused[island.cause].extend(map(str, origins) if origins else names)
                continue
            for node, name in zip(nodes, names, strict=True):
                missing[operator_key(node)].append(name)
        if not islands:
            return
        if missing and not self.fallback:
            raise self._error(missing, model)
        causes = [f"unsupported operators {_shown_operators(missing)}"] if missing else []
        helps = {advice_for(key.rpartition("::")[0]) for key in missing}
        causes += [f"{reason} ({protos.shown_names(names)})" for reason, names in refused.items()]
        if not self.fallback:
            raise text_error(f"{model} has nodes that would run in ONNX Runtime: {'; '.join(causes)}")
        message = (
            f"{model} has {len(islands)} subgraph{'s' if len(islands) > 1 else ''} that will run in ONNX Runtime or "
            f"ONNX's reference implementation: {'; '.join(causes)}{''.join(sorted(helps))}"
        )
        warn(message)

    @staticmethod
    def _error(missing: Mapping[str, Sequence[str]], model: str) -> DiagnosticError:
        return text_error(
            f"{model} uses {len(missing)} unsupported operator{'s' if len(missing) > 1 else ''}: "
            f"{_shown_operators(missing)}; help: a package can add importers through the entry point group "
            f"'{registry.ONNX_IMPORTERS_GROUP}'"
        )

    def _missing(
        self, nodes: Iterable[NodeProto], versions: Mapping[str, int], called: set[int]
    ) -> Iterator[NodeProto]:
        """Yields unsupported nodes. `called` are the functions visited so far, by identity."""
        for node in nodes:
            function = self.functions.find(node)
            if function is None:
                if not self.has(node, versions) and not self.may_be_island(node):
                    yield node
            elif id(function) not in called:
                called.add(id(function))
                yield from self._missing(function.node, opsets(function.opset_import), called)


def advice_for(domain: str, *, is_refused: bool = False) -> str:
    """Returns the help text `; help: …` for unsupported operators of `domain`; empty if there is none.

    `is_refused` means that no other runtime can execute the operators either.
    """
    if domain in _OPTIMIZED_DOMAINS:
        layout = "this layout is for CPUs like the one that saved the model"
        return f"; help: {layout}; save it with graph_optimization_level ORT_ENABLE_EXTENDED or lower"
    if is_refused and domain == MICROSOFT:
        return "; help: save the model with graph_optimization_level ORT_ENABLE_BASIC, or fix its shapes with --shape"
    return ""


@dataclass(frozen=True)
class Island:
    """Nodes that another runtime executes, in order, with the names of their input and output tensors."""

    nodes: tuple[NodeProto, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


_NO_OPERATION = "qmlir has no operation for "


def reason_text(island: Island, refused: Mapping[str, str]) -> str:
    """Returns the reason for an island: its unsupported operators, and why its other nodes were `refused`."""
    by_reason: dict[str, list[str]] = defaultdict(list)
    for key, reason in refused.items():
        by_reason[reason].append(key)
    causes = [f"{', '.join(keys)} {reason}" for reason, keys in by_reason.items()]
    missing = ", ".join(key for key in dict.fromkeys(map(operator_key, island.nodes)) if key not in refused)
    return "; ".join([*causes, f"{_NO_OPERATION}{missing}"] if missing else causes) + RUNS


def nodes_of(step: NodeProto | Island) -> Sequence[NodeProto]:
    """Returns the nodes of a step, which is an island or a single node."""
    return step.nodes if isinstance(step, Island) else (step,)


def island_of(nodes: Sequence[NodeProto], outputs: Iterable[str] | None = None) -> Island:
    """Returns the island of `nodes`, with all tensors that they compute as outputs, or only with those in `outputs`."""
    given = dict.fromkeys(name for node in nodes for name in node.output if name)
    used = dict.fromkeys(name for node in nodes for name in protos.used_tensors(node) if name and name not in given)
    kept = given if outputs is None else dict.fromkeys(name for name in outputs if name in given)
    return Island(tuple(nodes), tuple(used), tuple(kept))


def with_islands(
    nodes: Sequence[NodeProto], missing: Collection[int], wanted: Collection[str] | None
) -> Sequence[NodeProto | Island]:
    """Returns `nodes` in a topological order, in which the nodes at the indices `missing` are grouped into islands.

    Phases alternate between supported and unsupported nodes, and each node is assigned to the first phase that its
    operands allow. All nodes on a path between two nodes of a phase are thus in that phase, so no path leaves an island
    and returns to it. Connected nodes of an unsupported phase form one island. `wanted` contains the outputs of the
    graph; if it is `None`, every tensor is an output.
    """
    if not missing:
        return nodes
    producers = protos.producers_of(nodes)
    before = [[producers[name] for name in protos.used_tensors(node) if name in producers] for node in nodes]
    phases: list[int] = []
    island = list(range(len(nodes)))  # for each node, the first node that it is connected with
    for position in range(len(nodes)):
        earliest = max((phases[other] for other in before[position]), default=0)
        phases.append(earliest + (earliest % 2 != (position in missing)))
        if position in missing:
            together = {island[other] for other in before[position] if phases[other] == phases[position]}
            first = min(together, default=position)
            island = [first if each in together or at == position else each for at, each in enumerate(island)]
    members: dict[int, list[int]] = defaultdict(list)
    for position in sorted(range(len(nodes)), key=lambda position: (phases[position], position)):
        members[island[position]].append(position)
    users: dict[str, set[int]] = defaultdict(set)
    for position, node in enumerate(nodes):
        for name in protos.used_tensors(node):
            users[name].add(position)

    def made(positions: Sequence[int]) -> NodeProto | Island:
        if positions[0] not in missing:
            return nodes[positions[0]]
        inside = [nodes[position] for position in positions]
        given = (name for node in inside for name in node.output)
        others = (name for name in given if wanted is None or name in wanted or users[name] - set(positions))
        return island_of(inside, others)

    return [made(positions) for positions in members.values()]


def untyped_here(types: Mapping[str, TypeProto], names: Iterable[str]) -> bool:
    """Returns True if one of the named tensors has a type that is supported only inside islands: optional or map."""
    return any(not _has_type(types[name]) for name in names if name in types)


def _has_type(type_: TypeProto) -> bool:
    if type_.HasField("sequence_type"):
        return type_.sequence_type.elem_type.HasField("tensor_type") or not type_.sequence_type.HasField("elem_type")
    return type_.HasField("tensor_type") or type_.WhichOneof("value") is None


class RefusedNodes:
    """The nodes that importers rejected, or that share an island with a rejected node, and the errors about them."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[NodeProto, RefusedNodeError]] = {}  # by identity: nodes may be equal

    def add(self, node: NodeProto, refusal: RefusedNodeError) -> None:
        """Records a node that was rejected itself, or whose definition contains a rejected node."""
        if refusal.node is not node:
            refusal = RefusedNodeError(node, f"contains the {refusal.diagnostic.message}")
        self._found[id(node)] = node, refusal

    def positions(self, nodes: Iterable[NodeProto]) -> set[int]:
        """Returns the indices of the recorded nodes in `nodes`."""
        return {position for position, node in enumerate(nodes) if id(node) in self._found}

    def first(self, nodes: Iterable[NodeProto]) -> RefusedNodeError | None:
        """Returns the error about the first recorded node in `nodes`, or `None`."""
        return next((self._found[id(node)][1] for node in nodes if id(node) in self._found), None)

    def reasons(self, nodes: Iterable[NodeProto]) -> Mapping[str, str]:
        """Returns the reasons why nodes in `nodes` were rejected, one for each operator."""
        found: dict[str, str] = {}
        for node in nodes:
            if id(node) in self._found:
                found.setdefault(operator_key(node), self._found[id(node)][1].reason)
        return found


OLDEST_FORMAT = 8
"""The oldest ONNX IR version with functions, and with initializers that don't have to be inputs."""

SIZES_TRIED = (1, 2)
"""The sizes substituted for dynamic dimensions when an island is run to determine the ranks of its results."""


OPEN_RANK = "with an input whose rank is known in a run only"
"""The reason why a supported node is in the island that computes its input."""


class UnknownRankError(DiagnosticError):
    """Raised if the rank of an island's output is known only at run time, so that its users must join the island."""

    def __init__(self, node: NodeProto, tensor: str):
        self.tensor = tensor
        error = node_error(node, f"the rank of '{tensor}' is known in a run only: declare it in the model")
        super().__init__(error.diagnostic)


# --- Importing --------------------------------------------------------------------------------------------------------


def add_island(
    island: Island,
    values: Mapping[str, SSAValue | TensorProto],
    model: ModelProto,
    builder: GraphBuilder,
    origins: Sequence[Origin],
    declared: Mapping[str, TypeProto],
    reason: str,
    types: Mapping[str, AnyTensor] | None = None,
) -> Sequence[SSAValue]:
    """Adds the operation of `island` and returns the values of its outputs.

    `values` contains the values of the island's inputs, or tensors of the model that only the island uses. `model` is
    the model without its graph, `declared` contains the types that it declares, `reason` says why these nodes form an
    island, and `types` contains the types of its outputs if known. Small constants become part of the island,
    because types may depend on them. Raises `DiagnosticError` if no runtime can execute the island or its types are
    unknown, and `UnknownRankError` if the rank of an output is known only at run time.
    """
    graph = model.graph
    graph.MergeFrom(GraphProto(name="island", node=[_without_files(node, builder) for node in island.nodes]))
    for name in island.outputs:
        graph.output.add(name=name)
    operands: list[SSAValue] = []
    for name, value in values.items():
        if isinstance(value, TensorProto):
            graph.initializer.append(inlined(value, builder.directory))
            continue
        if isinstance(value.type, SequenceType):
            graph.input.append(value_info(name, value.type))
            operands.append(value)
            continue
        plain = builder.plain(value)
        array, element = builder.constant_value(plain), element_of(plain)
        if array is None or element not in DATA_TYPES or is_large(array.shape):
            graph.input.append(value_info(name, plain.type))
            operands.append(plain)
        else:
            graph.initializer.append(plain_proto(name, array, element))
    model.ir_version = max(model.ir_version, OLDEST_FORMAT)
    first = island.nodes[0]
    if fault := type_fault(model):  # ONNX's reference implementation would accept such a model
        raise node_error(first, fault)
    if types is None:
        _type_outputs(model, declared, first)
    else:
        for info in model.graph.output:
            info.CopyFrom(value_info(info.name, types[info.name]))
    data = model.SerializeToString(deterministic=True)
    try:
        _open(data)
    except (InterpretationError, DiagnosticError) as error:
        help = advice_for(protos.domain_of(first), is_refused=True)
        raise node_error(first, f"is unsupported and cannot run in ONNX Runtime: {error}{help}") from error
    result_types = [_type_of(info.name, info.type, first) for info in model.graph.output]
    return builder.append(OnnxIslandOp.of(data, reason, operands, result_types), origins).results


def _open(data: bytes) -> Any:
    """Returns a session of another runtime with the serialized model.

    Raises `InterpretationError` if none can run it.
    """
    return registry.table(TABLE)["open"](data)


def _without_files(node: NodeProto, builder: GraphBuilder) -> NodeProto:
    """Returns a copy of `node` in which all tensors, including those of subgraphs, contain their data."""
    copy = deepcopy(node)
    inside = list(protos.nodes_within([copy]))
    tensors = [tensor for node in inside for graph in protos.subgraphs(node) for tensor in graph.initializer]
    attributes = (attribute for node in inside for attribute in node.attribute)
    tensors += [tensor for attribute in attributes for tensor in (attribute.t, *attribute.tensors)]
    for tensor in tensors:
        if tensor.data_location == TensorProto.EXTERNAL:
            tensor.CopyFrom(inlined(tensor, builder.directory))
    return copy


def _type_outputs(model: ModelProto, declared: Mapping[str, TypeProto], node: NodeProto) -> None:
    """Sets the output types: inferred by ONNX, declared by the model, inferred by ONNX Runtime, or found by a run."""
    inferred = inferred_outputs(model)
    for info in model.graph.output:
        _learn(info.type, inferred.get(info.name))
    unproven = {info.name for info in model.graph.output if not _is_known(info.type)}
    for info in model.graph.output:
        _learn(info.type, declared.get(info.name))
    _correct_ranks(model, unproven & {info.name for info in model.graph.output if _is_known(info.type)})
    if all(_is_static(info.type) for info in model.graph.output):
        return
    runs: list[Sequence[Any]] = []
    try:
        opened = _open(model.SerializeToString(deterministic=True))
        for info, found in zip(model.graph.output, opened.types, strict=False):
            _learn(info.type, found)
        if all(_is_known(info.type) for info in model.graph.output):
            return
        for size in SIZES_TRIED:
            runs.append(opened.run([_zeros(info.type, size) for info in model.graph.input]))
    except (InterpretationError, DiagnosticError) as error:
        if not runs and not all(_is_known(info.type) for info in model.graph.output):
            reason = "has no importer, and the model does not declare the types that an island needs"
            help = advice_for(protos.domain_of(node), is_refused=True)
            raise node_error(node, f"{reason}: {error}{help}") from error
    for info, *results in zip(model.graph.output, *runs, strict=True):
        if _is_known(info.type) or not isinstance(results[0], np.ndarray):
            continue
        if len({np.ndim(result) for result in results}) > 1:
            raise UnknownRankError(node, info.name)
        info.type.CopyFrom(_type_of_array(cast(Any, results[0])))


def _correct_ranks(model: ModelProto, declared: Set[str]) -> None:
    """Corrects declared ranks that hold only if dynamic sizes are 1, as in the example used to trace a model."""
    if not declared:
        return
    with suppress(InterpretationError, DiagnosticError):  # the nodes may reject zeros
        opened = _open(model.SerializeToString(deterministic=True))
        results = opened.run([_zeros(info.type, max(SIZES_TRIED)) for info in model.graph.input])
        for info, result in zip(model.graph.output, results, strict=True):
            rank = len(info.type.tensor_type.shape.dim)
            if info.name in declared and isinstance(result, np.ndarray) and result.ndim != rank:
                info.type.CopyFrom(_type_of_array(cast(Any, result)))


def _learn(type_: TypeProto, found: TypeProto | None) -> None:
    """Merges `found` into `type_`: the whole type if it is unknown, else unknown sizes. Drops names of dimensions."""
    if found is None or not _is_known(found):
        return
    if not _is_known(type_):
        type_.CopyFrom(found)
    dims, others = type_.tensor_type.shape.dim, found.tensor_type.shape.dim
    for dim, other in zip(dims, others, strict=False) if len(dims) == len(others) else ():
        if not dim.HasField("dim_value"):
            dim.CopyFrom(other)
    for dim in dims:
        dim.ClearField("dim_param")  # a name of the model, or one generated by the inference


def _is_static(type_: TypeProto) -> bool:
    """Returns True if a type and all its sizes are known."""
    return _is_known(type_) and all(dim.HasField("dim_value") for dim in type_.tensor_type.shape.dim)


def _is_known(type_: TypeProto) -> bool:
    if type_.HasField("sequence_type"):
        return type_.sequence_type.elem_type.tensor_type.elem_type != 0
    return type_.tensor_type.elem_type != 0 and type_.tensor_type.HasField("shape")


def _zeros(type_: TypeProto, size: int) -> Any:
    """Returns an input of zeros of a type, with `size` for dynamic dimensions."""
    if type_.HasField("sequence_type"):
        return []
    sizes = [dim.dim_value if dim.HasField("dim_value") else size for dim in type_.tensor_type.shape.dim]
    if type_.tensor_type.elem_type == TensorProto.STRING:
        return np.full(sizes, "", dtype=np.object_)
    dtype = np.bool_ if type_.tensor_type.elem_type == TensorProto.BOOL else None
    return np.zeros(sizes, dtype or dense_dtype(ELEMENT_TYPES[type_.tensor_type.elem_type]))


def _type_of_array(array: Any) -> TypeProto:
    """Returns a type with the elements and the rank of `array`; its sizes may differ in another run."""
    is_text = array.dtype.kind in "OUS"
    kind = TensorProto.STRING if is_text else helper.np_dtype_to_tensor_dtype(array.dtype)
    return helper.make_tensor_type_proto(kind, [None] * array.ndim)


def _type_of(name: str, type_: TypeProto, node: NodeProto) -> TypeAttribute:
    """Returns the type of a result. Raises `DiagnosticError` for a kind of value that modules don't support."""
    if type_.HasField("sequence_type") and type_.sequence_type.elem_type.HasField("tensor_type"):
        return SequenceType(tensor_type(type_.sequence_type.elem_type.tensor_type))
    if not _is_known(type_) or type_.tensor_type.elem_type not in ELEMENT_TYPES:
        kind = (type_.WhichOneof("value") or "value of an unknown type").removesuffix("_type")
        raise node_error(
            node,
            f"is unsupported, and its output '{name}' is a {kind}, which a module cannot represent; cut the model "
            "before it with --cut-outputs (cut_outputs=)",
        )
    return tensor_type(type_.tensor_type)


# --- Types of an island after the types of its operands have changed --------------------------------------------------


def _model_of(op: OnnxIslandOp) -> ModelProto:
    try:
        model = ModelProto.FromString(op.model_bytes)
    except (DecodeError, InterpretationError) as error:
        raise VerifyException(f"contains no valid ONNX model: {error}") from error
    counts = len(model.graph.input), len(model.graph.output)
    if counts != (len(op.operands), len(op.results)):
        raise VerifyException(
            f"must have {counts[0]} operands and {counts[1]} results, as its model, but got {len(op.operands)} and "
            f"{len(op.results)}"
        )
    return model


def result_types(op: OnnxIslandOp) -> Sequence[TypeAttribute]:
    """Returns the result types that ONNX and ONNX Runtime infer, or the current types if these are incompatible.

    An island in a branch has the result types of the other branch, which can only be checked at run time.
    """
    model = _model_of(op)
    for info, operand in zip(model.graph.input, op.operands, strict=True):
        info.CopyFrom(value_info(info.name, operand.type))
    for info in model.graph.output:
        for dim in info.type.tensor_type.shape.dim:
            dim.Clear()
    inferred = inferred_outputs(model)
    found = [inferred.get(info.name, TypeProto()) for info in model.graph.output]
    if not all(map(_is_static, found)):
        with suppress(InterpretationError, DiagnosticError):  # rejected operands are reported at run time
            opened = _open(model.SerializeToString(deterministic=True))
            for type_, each in zip(found, opened.types, strict=False):
                _learn(type_, each)
    return [_refined(each, result.type) for each, result in zip(found, op.results, strict=True)]


def _refined(inferred: TypeProto, type_: Attribute) -> Any:
    own = ranked_tensor(type_)
    found = None if own is None or not _is_known(inferred) else ranked_tensor(tensor_type(inferred.tensor_type))
    if own is None or found is None or not shapes_agree(found.get_shape(), own.get_shape()):
        return type_
    return TensorType(own.get_element_type(), found.get_shape())


INFERENCE: Mapping[str, Callable[..., Any]] = {"types": result_types}
"""The rows of the registry table `nn.onnx_island`."""


# --- Exporting --------------------------------------------------------------------------------------------------------


def _in_opset(model: ModelProto, out: NodeEmitter) -> ModelProto:
    """Converts `model` to the exported version of ONNX's operator set; returns it unchanged if no operator differs."""
    versions = opsets(model.opset_import)
    own = versions.get("", out.opset)
    nodes = (node for node in protos.nodes_within(model.graph.node) if not protos.domain_of(node))

    def since(node: NodeProto, version: int) -> int:
        schema = standard_schema(node.op_type, version)
        return 0 if schema is None else schema.since_version

    changed = [node for node in nodes if since(node, own) != since(node, out.opset)]
    if not changed:
        return model
    out.needs(own, f"the island's {changed[0].op_type}")
    try:
        return version_converter.convert_version(model, out.opset)
    except (RuntimeError, ValueError, version_converter.ConvertError) as error:
        raise out.error(
            f"its {changed[0].op_type} uses operator set {own}, which cannot be converted to {out.opset}: "
            f"{protos.reason_of(error)}"
        ) from error


def _export_island(out: NodeEmitter, op: OnnxIslandOp) -> None:
    model = _in_opset(_model_of(op), out)
    if model.functions:
        raise out.error("its subgraphs call functions of the model, which cannot be exported")
    graph = model.graph
    ends = zip((*graph.input, *graph.output), (*out.inputs, *out.outputs), strict=True)
    names = {info.name: name for info, name in ends}
    names |= {each.name: f"{out.outputs[0]}/{each.name}" for each in graph.initializer}
    inside = (name for node in graph.node for name in node.output if name and name not in names)
    is_repeated = any(origin.role for origin in origins_of(op))  # nodes of a function are repeated for each call
    names |= {name: f"{out.outputs[0]}/{name}" if is_repeated else name for name in inside}
    for tensor in graph.initializer:
        tensor.name = names[tensor.name]
        out.initializers.append(tensor)
    for node in graph.node:
        _rename(node, names)
        out.nodes.append(node)
    versions = opsets(model.opset_import)
    domains = {protos.domain_of(node) for node in protos.nodes_within(graph.node)} - {""}
    out.versions |= {domain: versions[domain] for domain in domains}


def _rename(node: NodeProto, names: Mapping[str, str]) -> None:
    """Renames the inputs and outputs of `node`, also in its subgraphs unless they redefine a name."""
    for field in (node.input, node.output):
        field[:] = [names.get(name, name) for name in field]
    for graph in protos.subgraphs(node):
        own = protos.defined_tensors(graph)
        outer = {name: new for name, new in names.items() if name not in own}
        for inner in graph.node:
            _rename(inner, outer)
        for info in graph.output:
            info.name = outer.get(info.name, info.name)


EXPORTERS: dict[type[Operation], Exporter] = {OnnxIslandOp: _export_island}
