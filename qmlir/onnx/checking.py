"""Validity checks of a model before it is imported.

There are four checks. First, names must be valid text. Second, each node must match the signature of its operator.
Third, the ONNX checker must accept the model; it runs after the others because its messages don't name the expected
values. Fourth, the input types of each node must match the signature, which is checked during the import, as types
become known.

The ONNX checker receives a copy of the model without weights, so that they aren't held in memory twice. The sizes of
weights are checked when they become constants, those of external files here. One rule of the checker is not applied: an
input may have an unknown rank, and an output an unknown rank and type, as in models of some exporters and of ONNX
Runtime's tools. `--shape` and the graph determine them.

An exported model is checked before it is written, by the ONNX checker and by type inference.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import onnx.checker
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, TypeProto, ValueInfoProto, defs
from onnx.checker import ValidationError
from onnx.helper import make_tensor_value_info
from onnx.shape_inference import InferenceError, infer_shapes
from xdsl.ir import SSAValue

from qmlir.ir.diagnostics import DiagnosticError, nearest_name, text_error
from qmlir.onnx.ports import type_name
from qmlir.onnx.protos import domain_of, node_error, nodes_within, reason_of, shown_names
from qmlir.onnx.reading import OnnxModel, external_file
from qmlir.onnx.signatures import UNBOUNDED, Functions, attribute_kind, declared_kind, is_added, schema_of

_PRIVATE = "qmlir.added"
"""A domain for operators of ONNX's own domain that the checker doesn't know, in the copy of the model for it."""

LARGE = 1024
"""The number of elements above which a tensor is not copied for the checker."""


def opsets(imports: Sequence[Any]) -> dict[str, int]:
    """Returns the version of each imported operator set. Raises `DiagnosticError` for two versions of one set."""
    found: dict[str, int] = {}
    for each in imports:
        domain = "" if each.domain == "ai.onnx" else each.domain
        if found.setdefault(domain, each.version) != each.version:
            raise text_error(
                f"the model imports operator set '{domain}' twice, in versions {found[domain]} and {each.version}"
            )
        if not 1 <= each.version <= UNBOUNDED:
            raise text_error(f"the version of operator set '{domain}' must be at least 1, but got {each.version}")
    newest = defs.onnx_opset_version()
    if found.get("", 1) > newest:
        raise text_error(
            f"the model uses operator set {found['']}, but the installed 'onnx' package supports up to {newest}; "
            "update 'onnx'"
        )
    return found


# --- Text -------------------------------------------------------------------------------------------------------------


def check_text(message: Message) -> None:
    """Raises `DiagnosticError` if a name, a key or a doc string of a model is not UTF-8."""
    waiting: list[Message] = [message]
    while waiting:
        each = waiting.pop()
        if isinstance(each, TensorProto):  # reading its data would copy it
            fields = [(field, getattr(each, field.name)) for field in _TENSOR_FIELDS]
        else:
            fields = each.ListFields()
        for field, value in fields:
            if field.type == FieldDescriptor.TYPE_MESSAGE:
                waiting.extend([value] if isinstance(value, Message) else value)
            elif field.type == FieldDescriptor.TYPE_STRING:
                for text in (value,) if isinstance(value, str | bytes) else value:
                    if isinstance(text, bytes):
                        kind = each.DESCRIPTOR.name.removesuffix("Proto").lower()
                        article = "an" if kind[0] in "aeiou" else "a"
                        raise text_error(f"the {field.name} {text!r} of {article} {kind} must be UTF-8 text")


_TENSOR_FIELDS = tuple(
    TensorProto.DESCRIPTOR.fields_by_name[name] for name in ("name", "doc_string", "external_data", "metadata_props")
)


# --- Nodes ------------------------------------------------------------------------------------------------------------


def check_nodes(model: ModelProto) -> None:
    """Raises `DiagnosticError` for a node that doesn't match the signature of its operator.

    This includes nodes in functions. Nodes in subgraphs are checked by the ONNX checker.
    """
    functions = Functions(model.functions)
    check_branch(model.graph, opsets(model.opset_import), functions)
    for function in model.functions:
        own = opsets(function.opset_import)
        given = {*function.attribute, *(each.name for each in function.attribute_proto)}
        for node in function.node:
            _check_node(node, own, functions, given)


def check_branch(graph: GraphProto, versions: Mapping[str, int], functions: Functions) -> None:
    """Raises `DiagnosticError`, like `check_nodes`, for the nodes of a graph, such as a branch that replaces its If."""
    for node in graph.node:
        _check_node(node, versions, functions, None)


def _check_node(node: NodeProto, versions: Mapping[str, int], functions: Functions, given: set[str] | None) -> None:
    """Checks a node. `given` are the attributes of the function that contains it, `None` outside functions."""
    for attribute in node.attribute:
        reference = attribute.ref_attr_name
        if reference and given is None:
            raise node_error(
                node, f"attribute '{attribute.name}' refers to function attribute '{reference}' outside of a function"
            )
        if reference and given is not None and reference not in given:
            raise node_error(
                node,
                f"attribute '{attribute.name}' refers to unknown function attribute '{reference}' (available: "
                f"{_named(given)})",
            )
    function = functions.find(node)
    if function is not None:
        known = {*function.attribute, *(each.name for each in function.attribute_proto)}
        _check_count(node, "inputs", len(node.input), 0, len(function.input))
        _check_count(node, "outputs", len(node.output), 0, len(function.output))
        for attribute in node.attribute:
            _check_known(node, attribute, known)
        return
    domain = domain_of(node)
    version = versions.get(domain)
    if version is None:
        raise node_error(node, f"the model does not declare a version of the operator set '{domain}'")
    schema = schema_of(node, version)
    if schema is None:
        if not domain:
            raise node_error(node, f"operator set {version} has no such operator{_since(node)}")
        return
    if schema.deprecated:
        raise node_error(node, f"operator set {version} no longer has this operator")
    _check_inputs(node, schema)
    _check_attributes(node, schema)


def _since(node: NodeProto) -> str:
    """Returns the part of a message that names the first version with the operator, empty if there is none."""
    own = (each for each in defs.get_all_schemas_with_history() if (each.domain, each.name) == ("", node.op_type))
    first = min((each.since_version for each in own), default=None)
    return "" if first is None else f", which is there from {first} on"


def _named(names: set[str]) -> str:
    return shown_names(sorted(names), 12) or "none"


def _check_count(node: NodeProto, what: str, count: int, least: int, most: int) -> None:
    if least <= count <= most:
        return
    accepted = str(least) if least == most else f"{least} to {most}" if most < UNBOUNDED else f"at least {least}"
    raise node_error(node, f"expected {accepted} {what}, but got {count}")


def _check_inputs(node: NodeProto, schema: defs.OpSchema) -> None:
    for position, (name, formal) in enumerate(zip(node.input, schema.inputs, strict=False)):
        if not name and formal.option == defs.OpSchema.FormalParameterOption.Single:
            raise node_error(node, f"missing input {position} ('{formal.name}')")
    _check_count(node, "inputs", len(node.input), schema.min_input, schema.max_input)
    _check_count(node, "outputs", len(node.output), 0, schema.max_output)


def _check_known(node: NodeProto, attribute: AttributeProto, known: set[str]) -> None:
    if attribute.name not in known:
        near = nearest_name(attribute.name, known)
        raise node_error(node, f"has no attribute '{attribute.name}'{near} (available: {_named(known)})")


def _check_attributes(node: NodeProto, schema: defs.OpSchema) -> None:
    declared = schema.attributes
    seen: set[str] = set()
    for attribute in node.attribute:
        name = attribute.name
        if name in seen:
            raise node_error(node, f"duplicate attribute '{name}'")
        seen.add(name)
        if name.startswith("__"):
            continue  # ONNX reserves these names for tools
        _check_known(node, attribute, set(declared))
        found, accepted = attribute_kind(attribute.type), declared_kind(declared[name])
        if found != accepted:
            raise node_error(node, f"attribute '{name}' must be {accepted}, but got {found}")
    for name, attribute in declared.items():
        if attribute.required and name not in seen:
            raise node_error(node, f"missing attribute '{name}' ({declared_kind(attribute)})")


def check_types(node: NodeProto, version: int, inputs: Sequence[SSAValue | None]) -> None:
    """Raises `DiagnosticError` if the types of a node's inputs don't match its operator or each other."""
    schema = schema_of(node, version)
    if schema is None:
        return
    formals = schema.inputs
    bound: dict[str, tuple[str, defs.OpSchema.FormalParameter]] = {}
    for position, value in enumerate(inputs):
        found = None if value is None else type_name(value)
        if found is None or not formals:
            continue
        formal = formals[min(position, len(formals) - 1)]  # the last one may be variadic
        if found not in formal.types:
            raise node_error(
                node,
                f"input {position} ('{formal.name}') must be one of {', '.join(sorted(formal.types))}, but got {found}",
            )
        first, other = bound.setdefault(formal.type_str, (found, formal))
        if first != found and formal.is_homogeneous:
            raise node_error(
                node, f"inputs '{other.name}' and '{formal.name}' must have one type, but got {first} and {found}"
            )


# --- The checker ------------------------------------------------------------------------------------------------------


def check_standard(model: OnnxModel, held: set[str]) -> None:
    """Raises `DiagnosticError` if the ONNX checker rejects the model; `held` names tensors whose data it requires."""
    try:
        cast(Any, onnx.checker).check_model(_without_weights(model, held).SerializeToString())
    except ValidationError as error:
        raise text_error(f"{model.name} is not a valid ONNX model: {reason_of(error)}") from error


def _skeleton(model: ModelProto) -> ModelProto:
    """Returns a copy of a model without initializers, whose data is never copied."""
    graph = model.graph
    copy = ModelProto(ir_version=model.ir_version, opset_import=model.opset_import, functions=model.functions)
    copy.graph.MergeFrom(GraphProto(name=graph.name, node=graph.node, input=graph.input, output=graph.output))
    return copy


def _without_weights(model: OnnxModel, held: set[str]) -> ModelProto:
    proto = model.proto
    light, source = _skeleton(proto), proto.graph
    graph = light.graph
    light.metadata_props.MergeFrom(proto.metadata_props)
    graph.sparse_initializer.MergeFrom(source.sparse_initializer)
    for info in graph.output:
        if info.type.WhichOneof("value") is None:
            info.type.tensor_type.elem_type = TensorProto.FLOAT
    for info in (*graph.input, *graph.output):
        if info.type.tensor_type.HasField("elem_type"):
            info.type.tensor_type.shape.SetInParent()
    for tensor in source.initializer:
        is_empty = tensor.data_location == TensorProto.EXTERNAL or (tensor.name in held and is_large(tensor.dims))
        graph.initializer.append(_empty(tensor, model.directory) if is_empty else tensor)
    version = opsets(proto.opset_import).get("", 1)
    for scope in (light, *light.functions):
        scope.opset_import.add(domain=_PRIVATE, version=1)
    for node in nodes_within([*light.graph.node, *(node for function in light.functions for node in function.node)]):
        if is_added(node, version):
            node.domain = _PRIVATE  # the checker skips unknown domains
        for attribute in node.attribute:
            if attribute.t.data_location == TensorProto.EXTERNAL:
                attribute.t.CopyFrom(_empty(attribute.t, model.directory))
    return light


def is_large(dims: Sequence[int]) -> bool:
    """Returns True if a tensor has more than `LARGE` elements; the checks then omit its data."""
    return LARGE < math.prod(dims) < UNBOUNDED and all(size > 0 for size in dims)


def _empty(tensor: TensorProto, directory: Path | None = None) -> TensorProto:
    """Returns `tensor` without elements, so that it needs no data. Checks its external file, if any."""
    if tensor.data_location == TensorProto.EXTERNAL:
        external_file(tensor, directory)
    return TensorProto(name=tensor.name, data_type=tensor.data_type, dims=[0])


# --- Types of tensors, declared or inferred ---------------------------------------------------------------------------


def declared_infos(graph: GraphProto) -> dict[str, ValueInfoProto]:
    """Returns the declarations of all tensors of a graph that declare a type, by name."""
    infos = (*graph.input, *graph.value_info, *graph.output)
    found = {info.name: info for info in infos if info.type.WhichOneof("value")}
    for each in graph.initializer:
        found.setdefault(each.name, make_tensor_value_info(each.name, each.data_type, list(each.dims)))
    return found


def _with_weights_as_inputs(model: ModelProto) -> ModelProto:
    """Returns a copy of a model in which large and external tensors are inputs instead of initializers."""
    copy, source = _skeleton(model), model.graph
    graph = copy.graph
    graph.name = source.name or "graph"
    graph.value_info.MergeFrom(source.value_info)
    known = {info.name for info in source.input}
    for tensor in source.initializer:
        if tensor.data_location != TensorProto.EXTERNAL and not is_large(tensor.dims):
            graph.initializer.append(tensor)
        elif tensor.name not in known:
            graph.input.append(make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))
    return copy


def _inferred(model: ModelProto) -> GraphProto:
    """Returns the graph with the types that ONNX infers; an empty graph if inference fails."""
    try:
        return infer_shapes(model, data_prop=True).graph
    except (RuntimeError, ValueError, InferenceError):
        return GraphProto()  # the model is invalid: the importer reports a better error


def inferred_types(model: OnnxModel) -> Mapping[str, TypeProto]:
    """Returns the declared and inferred types of tensors by name; only the declared types if inference fails."""
    found = {name: info.type for name, info in declared_infos(model.proto.graph).items()}
    graph = _inferred(_with_weights_as_inputs(model.proto))
    return found | {name: info.type for name, info in declared_infos(graph).items()}


def type_fault(model: ModelProto) -> str | None:
    """Returns ONNX's error message about a node with an invalid input element type, or `None` if there is none."""
    try:
        infer_shapes(model, check_type=True)
    except InferenceError as error:
        return reason_of(error)
    return None


def inferred_outputs(model: ModelProto) -> Mapping[str, TypeProto]:
    """Returns the types that ONNX infers for the outputs of a model, by name; empty if inference fails."""
    return {info.name: info.type for info in _inferred(model).output if info.type.WhichOneof("value")}


# --- Exported models --------------------------------------------------------------------------------------------------

LARGEST_CHECKED_WHOLE = 1 << 30
"""The size of tensors, in bytes, above which a model is checked without them, because the checkers copy it."""

_KEPT_BYTES = 4096
"""The size in bytes up to which tensors are kept in that case, because the checkers may read them."""


def check_exported(model: ModelProto) -> bytes | None:
    """Returns the bytes of a valid model, or `None` if it is larger than `LARGEST_CHECKED_WHOLE`.

    Raises `DiagnosticError` if the ONNX checker rejects the model, or if its types differ from those that ONNX infers.
    """
    if sum(len(tensor.raw_data) for tensor in model.graph.initializer) > LARGEST_CHECKED_WHOLE:
        _check(_without_data(model).SerializeToString(), is_whole=False)
        return None
    data = model.SerializeToString()
    # Operators of other domains have no schema here, and what they give is not inferred.
    known = {function.name for function in model.functions}
    is_known = all(
        node.op_type in known or defs.has(node.op_type, node.domain) for node in nodes_within(model.graph.node)
    )
    _check(data, is_whole=is_known)
    return data


def invalid_export(reason: str) -> DiagnosticError:
    """Returns the error, to be raised, about an exported model that is invalid and therefore not written."""
    return text_error(f"the exported model is invalid and was not written: {reason}; please report this bug")


def _check(data: bytes, *, is_whole: bool) -> None:
    try:
        cast(Any, onnx.checker).check_model(data, full_check=is_whole)
    except (ValidationError, InferenceError) as error:
        raise invalid_export(reason_of(error)) from error


def _without_data(model: ModelProto) -> ModelProto:
    """Returns a copy of a model in which large tensors have no elements."""
    light = _skeleton(model)
    for tensor in model.graph.initializer:
        light.graph.initializer.append(_empty(tensor) if len(tensor.raw_data) > _KEPT_BYTES else tensor)
    return light
