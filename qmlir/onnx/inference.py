"""Types of the tensors of a model: those that it declares, and those that ONNX's shape inference finds."""

from collections.abc import Mapping

from onnx import GraphProto, ModelProto, TensorProto, TypeProto, ValueInfoProto, helper, shape_inference

from qmlir.onnx.checking import is_large
from qmlir.onnx.errors import reason_of
from qmlir.onnx.reading import OnnxModel


def declared_infos(graph: GraphProto) -> dict[str, ValueInfoProto]:
    """Returns the declarations of all tensors of a graph that declare a type, by name."""
    infos = (*graph.input, *graph.value_info, *graph.output)
    found = {info.name: info for info in infos if info.type.WhichOneof("value")}
    for each in graph.initializer:
        found.setdefault(each.name, helper.make_tensor_value_info(each.name, each.data_type, list(each.dims)))
    return found


def without_weights(model: ModelProto) -> ModelProto:
    """Returns a copy of a model in which large and external tensors are inputs instead of initializers."""
    copy = ModelProto(ir_version=model.ir_version, opset_import=model.opset_import, functions=model.functions)
    source, graph = model.graph, copy.graph
    graph.MergeFrom(
        GraphProto(
            name=source.name or "graph", node=source.node, input=source.input, output=source.output,
            value_info=source.value_info,
        )
    )  # fmt: skip
    known = {info.name for info in source.input}
    for tensor in source.initializer:
        if tensor.data_location != TensorProto.EXTERNAL and not is_large(tensor):
            graph.initializer.append(tensor)
        elif tensor.name not in known:
            graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))
    return copy


def inferred_types(model: OnnxModel) -> Mapping[str, TypeProto]:
    """Returns the declared and inferred types of tensors by name; only the declared ones if the inference fails."""
    found = {name: info.type for name, info in declared_infos(model.proto.graph).items()}
    try:
        graph = shape_inference.infer_shapes(without_weights(model.proto), data_prop=True).graph
    except (RuntimeError, ValueError, shape_inference.InferenceError):
        return found  # the model is invalid: the importer reports a better error
    return found | {name: info.type for name, info in declared_infos(graph).items()}


def type_fault(model: ModelProto) -> str | None:
    """Returns ONNX's error about a node with inputs of an invalid element type, or `None` if there is none."""
    try:
        shape_inference.infer_shapes(model, check_type=True)
    except shape_inference.InferenceError as error:
        return reason_of(error)
    return None


def inferred_outputs(model: ModelProto) -> Mapping[str, TypeProto]:
    """Returns the types that ONNX infers for the outputs of a model; empty if the inference fails."""
    try:
        graph = shape_inference.infer_shapes(model, data_prop=True).graph
    except (RuntimeError, ValueError, shape_inference.InferenceError):
        return {}
    return {info.name: info.type for info in graph.output if info.type.WhichOneof("value")}
