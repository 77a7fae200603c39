"""Islands: unsupported nodes as one `nn.onnx_island`, which another runtime executes; types, import and export."""

from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from typing import Any, cast

import numpy as np
from google.protobuf.message import DecodeError
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, TypeProto, defs, helper, version_converter
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue, TypeAttribute
from xdsl.utils.exceptions import InterpretationError, VerifyException

from qmlir import registry
from qmlir.dialects.nn.base import shapes_agree
from qmlir.dialects.nn.island.ops import TABLE, OnnxIslandOp
from qmlir.dialects.nn.types import SequenceType
from qmlir.ir.builtin_types import AnyTensor, element_of, ranked_tensor
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, Severity
from qmlir.ir.provenance import Origin, origins_of
from qmlir.onnx.checking import is_large, opsets
from qmlir.onnx.errors import describe_node, node_error, reason_of
from qmlir.onnx.export.emission import Exporter, Outgoing, plain_proto, value_info
from qmlir.onnx.graph import GraphBuilder
from qmlir.onnx.inference import inferred_outputs, type_fault
from qmlir.onnx.order import nodes_within, subgraphs
from qmlir.onnx.ports import tensor_type
from qmlir.onnx.reading import inlined
from qmlir.onnx.types import DATA_TYPES, ELEMENT_TYPES
from qmlir.onnx.unsupported import Island, advice_for, domain_of
from qmlir.text.elements import dense_dtype

OLDEST_FORMAT = 8
"""The oldest ONNX IR version with functions, and with initializers that needn't be inputs."""

SIZES_TRIED = (1, 2)
"""The sizes used for dynamic dimensions when an island is run to find the ranks of its results."""


OPEN_RANK = "with an input whose rank is known in a run only"
"""The reason why a node is in the island that computes its input."""


class UnknownRankError(DiagnosticError):
    """Raised if the rank of an island's output is known only at run time: its users must join the island."""

    def __init__(self, node: NodeProto, tensor: str):
        self.tensor = tensor
        message = f"{describe_node(node)}: the rank of '{tensor}' is known in a run only: declare it in the model"
        super().__init__(Diagnostic(Severity.ERROR, message))


# --- Importing --------------------------------------------------------------------------------------------------------


def add_island(
    island: Island,
    values: Mapping[str, SSAValue | TensorProto],
    head: ModelProto,
    builder: GraphBuilder,
    origins: Sequence[Origin],
    declared: Mapping[str, TypeProto],
    reason: str,
    types: Mapping[str, AnyTensor] | None = None,
) -> Sequence[SSAValue]:
    """Adds the operation of `island` and returns the values of its outputs.

    `values` are the values of its inputs, or tensors of the model that only the island uses. `head` is the model
    without its graph, `declared` are the declared types, `reason` says why it is an island, and `types` are those of
    its outputs if known. Small constants become part of the island, because types may depend on them. Raises
    `DiagnosticError` if no runtime can run it or types are unknown, and `UnknownRankError` if the rank of an output
    depends on the run.
    """
    graph = GraphProto(name="island", node=[_without_files(node, builder) for node in island.nodes])
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
        array = builder.constant_value(plain)
        kind = DATA_TYPES.get(element_of(plain)) if array is not None else None
        tensor = None if array is None or kind is None else TensorProto(data_type=kind, dims=array.shape)
        if array is None or tensor is None or is_large(tensor):
            graph.input.append(value_info(name, plain.type))
            operands.append(plain)
        else:
            graph.initializer.append(plain_proto(name, array, element_of(plain)))
    model = ModelProto(
        ir_version=max(head.ir_version, OLDEST_FORMAT), opset_import=head.opset_import, functions=head.functions,
        graph=graph,
    )  # fmt: skip
    first = island.nodes[0]
    if fault := type_fault(model):  # ONNX's reference implementation would accept such a model
        raise node_error(first, fault)
    if types is None:
        _type_outputs(model, declared, first)
    else:
        for info in model.graph.output:
            info.CopyFrom(value_info(info.name, types[info.name]))
    try:
        _open(model)
    except (InterpretationError, DiagnosticError) as error:
        help = advice_for(domain_of(first), is_refused=True)
        raise node_error(first, f"is unsupported and cannot run in ONNX Runtime: {error}{help}") from error
    result_types = [_type_of(info.name, info.type, first) for info in model.graph.output]
    data = model.SerializeToString(deterministic=True)
    return builder.append(OnnxIslandOp.of(data, reason, operands, result_types), origins).results


def _open(model: ModelProto) -> Any:
    """Returns a session of another runtime with the model. Raises `InterpretationError` if none can run it."""
    return registry.table(TABLE)["open"](model.SerializeToString(deterministic=True))


def _without_files(node: NodeProto, builder: GraphBuilder) -> NodeProto:
    """Returns a copy of `node` in which all tensors, including those of subgraphs, contain their data."""
    copy = NodeProto()
    copy.CopyFrom(node)
    tensors = [tensor for inner in nodes_within([copy]) for graph in subgraphs(inner) for tensor in graph.initializer]
    for attribute in (attribute for inner in nodes_within([copy]) for attribute in inner.attribute):
        tensors += [*([attribute.t] if attribute.HasField("t") else []), *attribute.tensors]
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
        opened = _open(model)
        for info, found in zip(model.graph.output, opened.types, strict=False):
            _learn(info.type, found)
        if all(_is_known(info.type) for info in model.graph.output):
            return
        for size in SIZES_TRIED:
            runs.append(opened.run([_zeros(info.type, size) for info in model.graph.input]))
    except (InterpretationError, DiagnosticError) as error:
        if not runs and not all(_is_known(info.type) for info in model.graph.output):
            reason = "has no importer, and the model does not declare the types that an island needs"
            help = advice_for(domain_of(node), is_refused=True)
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
        opened = _open(model)
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
    model = ModelProto()
    try:
        model.ParseFromString(op.model_bytes)
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
    """Returns the result types that ONNX and ONNX Runtime infer for an island; its own types if they contradict.

    The types of an island in a branch are those of the other branch; only a run can check them.
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
            opened = _open(model)
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


def _in_opset(model: ModelProto, out: Outgoing) -> ModelProto:
    """Converts `model` to the exported version of ONNX's operator set; returns it unchanged if no operator differs."""
    versions = opsets(model.opset_import)
    own = versions.get("", out.opset)
    nodes = (node for node in nodes_within(model.graph.node) if not domain_of(node))
    changed = [node for node in nodes if _since(node, own) != _since(node, out.opset)]
    if not changed:
        return model
    out.needs(own, f"the island's {changed[-1].op_type}")
    try:
        return version_converter.convert_version(model, out.opset)
    except (RuntimeError, ValueError, version_converter.ConvertError) as error:
        raise out.error(
            f"its {changed[-1].op_type} uses operator set {own}, which cannot be converted to {out.opset}: "
            f"{reason_of(error)}"
        ) from error


def _since(node: NodeProto, version: int) -> int:
    try:
        return int(defs.get_schema(node.op_type, version, "").since_version)
    except defs.SchemaError:
        return 0


def _export_island(out: Outgoing, op: OnnxIslandOp) -> None:
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
    out.versions |= {domain: versions[domain] for node in nodes_within(graph.node) if (domain := domain_of(node))}


def _rename(node: NodeProto, names: Mapping[str, str]) -> None:
    """Renames the inputs and outputs of `node`, also in its subgraphs unless they redefine a name."""
    for field in (node.input, node.output):
        field[:] = [names.get(name, name) for name in field]
    for graph in subgraphs(node):
        own = {each.name for each in (*graph.input, *graph.initializer)}
        own |= {name for inner in graph.node for name in inner.output}
        outer = {name: new for name, new in names.items() if name not in own}
        for inner in graph.node:
            _rename(inner, outer)
        for info in graph.output:
            info.name = outer.get(info.name, info.name)


EXPORTERS: dict[type[Operation], Exporter] = {OnnxIslandOp: _export_island}
