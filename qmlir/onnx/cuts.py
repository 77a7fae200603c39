"""Extracts the part of a model between named tensors as a separate model."""

from collections.abc import Collection, Iterator, Sequence, Set
from dataclasses import replace

from onnx import GraphProto, ModelProto, NodeProto, ValueInfoProto

from qmlir.ir.control_flow import reached
from qmlir.ir.diagnostics import nearest_name, text_error
from qmlir.onnx import metadata
from qmlir.onnx.checking import check_text, declared_infos, inferred_types
from qmlir.onnx.protos import describe_node, producers_of, used_tensors
from qmlir.onnx.reading import OnnxModel

MAX_NAMED = 12
"""The maximum number of names that an error lists."""


def _between(
    graph: GraphProto, inputs: Collection[str], outputs: Sequence[str]
) -> tuple[Sequence[NodeProto], Set[str]]:
    """Returns the nodes that `outputs` depend on, up to `inputs`, and the names of their tensors and of both ends."""
    producers = {name: at for name, at in producers_of(graph.node).items() if name not in inputs}

    def before(name: str) -> Iterator[str]:
        return filter(None, used_tensors(graph.node[producers[name]])) if name in producers else iter(())

    tensors = set(reached(outputs, before))
    positions = sorted({producers[name] for name in tensors if name in producers})
    return [graph.node[position] for position in positions], tensors


def cut(model: OnnxModel, inputs: Sequence[str] | None, outputs: Sequence[str] | None) -> OnnxModel:
    """Returns the part of `model` that computes the tensors named `outputs` from the tensors named `inputs`.

    `outputs` defaults to the outputs of the model, and `inputs` to the inputs of the model that these outputs need. A
    new input gets the type that the model declares or, otherwise, the type that ONNX infers. Raises `DiagnosticError`
    for unknown names, for outputs that depend on an input that isn't named, and for inputs that no output depends on.
    """
    if inputs is None and outputs is None:
        return model
    check_text(model.proto)
    graph = model.proto.graph
    _check_names(graph, "inputs", inputs)
    _check_names(graph, "outputs", outputs)
    wanted = [each.name for each in graph.output] if outputs is None else list(outputs)
    nodes, tensors = _between(graph, set(inputs or ()), wanted)
    given = {each.name for each in graph.initializer}
    needed = [each.name for each in graph.input if each.name not in given and each.name in tensors]
    if inputs is not None:
        _check_inputs(nodes, tensors, inputs, needed)
        needed = list(inputs)
    return replace(model, proto=_model_of(model, nodes, tensors, needed, wanted))


def _check_names(graph: GraphProto, what: str, names: Sequence[str] | None) -> None:
    known = [
        *(name for node in graph.node for name in node.output if name),
        *(each.name for each in graph.input),
        *(each.name for each in graph.initializer),
    ]
    if names is not None and not names:
        raise text_error(f"{what}: expected at least one tensor name")
    for position, name in enumerate(names or ()):
        if name not in known:
            near = nearest_name(name, known)
            ends = [each.name for each in (graph.input if what == "inputs" else graph.output)]
            shown = ", ".join(f"'{end}'" for end in ends[:MAX_NAMED])
            raise text_error(f"{what}: the model has no tensor '{name}'{near} ({what} of the model: {shown})")
        if name in (names or ())[:position]:
            raise text_error(f"{what}: duplicate name '{name}'")


def _check_inputs(nodes: Sequence[NodeProto], tensors: Set[str], inputs: Sequence[str], needed: Sequence[str]) -> None:
    for name in needed:
        if name not in inputs:
            user = next((node for node in nodes if name in used_tensors(node)), None)
            where = "an output" if user is None else describe_node(user)
            raise text_error(
                f"inputs: the outputs also depend on the model input '{name}', which is used by {where}; add it, or a "
                "tensor between it and the outputs, to the inputs"
            )
    for name in inputs:
        if name not in tensors:
            raise text_error(f"inputs: no output depends on the tensor '{name}'")


def _model_of(
    model: OnnxModel, nodes: Sequence[NodeProto], tensors: Set[str], inputs: Sequence[str], outputs: Sequence[str]
) -> ModelProto:
    """Returns the model of `nodes` with the named tensors, without metadata that describe a whole exported model."""
    proto, graph = model.proto, model.proto.graph
    infos = declared_infos(graph)
    if not infos.keys() >= {*inputs, *outputs}:
        infos = {name: ValueInfoProto(name=name, type=type_) for name, type_ in inferred_types(model).items()} | infos
    for name in inputs:
        if name not in infos:
            raise text_error(f"inputs: the type of '{name}' is neither declared nor inferred")
    annotations = [each for each in graph.quantization_annotation if each.tensor_name in tensors]
    parameters = {entry.value for each in annotations for entry in each.quant_parameter_tensor_names}
    kept = tensors - set(inputs)
    found = GraphProto(
        name=graph.name,
        doc_string=graph.doc_string,
        metadata_props=graph.metadata_props,
        node=nodes,
        input=[infos[name] for name in inputs],
        output=[infos.get(name) or ValueInfoProto(name=name) for name in outputs],
        initializer=[each for each in graph.initializer if each.name in kept or each.name in parameters],
        sparse_initializer=[each for each in graph.sparse_initializer if each.values.name in kept],
        value_info=[each for each in graph.value_info if each.name in kept and each.name not in outputs],
        quantization_annotation=annotations,
    )
    return ModelProto(
        ir_version=proto.ir_version,
        producer_name=proto.producer_name,
        producer_version=proto.producer_version,
        domain=proto.domain,
        model_version=proto.model_version,
        doc_string=proto.doc_string,
        opset_import=proto.opset_import,
        functions=proto.functions,
        graph=found,
        metadata_props=[each for each in proto.metadata_props if not each.key.startswith(metadata.PREFIX)],
    )
