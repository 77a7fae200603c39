"""The types that ONNX's own shape inference finds for the tensors of a model, beside those that it declares."""

from collections.abc import Mapping

from onnx import GraphProto, ModelProto, TensorProto, TypeProto, ValueInfoProto, helper, shape_inference

from qmlir.onnx.checking import is_large
from qmlir.onnx.errors import reason_of
from qmlir.onnx.reading import OnnxModel


def declared_infos(graph: GraphProto) -> dict[str, ValueInfoProto]:
    """What the model says of its tensors by name, where it says their type."""
    infos = (*graph.input, *graph.value_info, *graph.output)
    found = {info.name: info for info in infos if info.type.WhichOneof("value")}
    for each in graph.initializer:
        found.setdefault(each.name, helper.make_tensor_value_info(each.name, each.data_type, list(each.dims)))
    return found


def without_weights(model: ModelProto) -> ModelProto:
    """A copy of a model whose large tensors, and those of other files, are inputs in place of initializers."""
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
    """The types of all tensors that the model declares, or that ONNX infers; of as many as it can where it fails."""
    found = {name: info.type for name, info in declared_infos(model.proto.graph).items()}
    try:
        graph = shape_inference.infer_shapes(without_weights(model.proto), data_prop=True).graph
    except (RuntimeError, ValueError, shape_inference.InferenceError):
        return found  # of a model that is wrong, which its importer says better
    return found | {name: info.type for name, info in declared_infos(graph).items()}


def type_fault(model: ModelProto) -> str | None:
    """Which node takes elements of a type that its operator does not take; `None` where all are sound."""
    try:
        shape_inference.infer_shapes(model, check_type=True)
    except shape_inference.InferenceError as error:
        return reason_of(error)
    return None


def inferred_outputs(model: ModelProto) -> Mapping[str, TypeProto]:
    """The types that ONNX infers for the outputs of a model that holds its tensors; none where it fails."""
    try:
        graph = shape_inference.infer_shapes(model, data_prop=True).graph
    except (RuntimeError, ValueError, shape_inference.InferenceError):
        return {}
    return {info.name: info.type for info in graph.output if info.type.WhichOneof("value")}
