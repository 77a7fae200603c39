"""An exported model is checked before anything is written: by ONNX's checker, and by its inference of types."""

from typing import Any, cast

from onnx import GraphProto, ModelProto, checker, defs, shape_inference

from qmlir.ir.diagnostics import DiagnosticError, text_error
from qmlir.onnx.errors import reason_of
from qmlir.onnx.order import nodes_within

LARGEST_CHECKED_WHOLE = 1 << 30
"""Models with more bytes of tensors are checked without them, since the checkers copy a model."""

_KEPT_BYTES = 4096
"""Tensors of at most this size stay: the checker may read them."""


def check_exported(model: ModelProto) -> bytes | None:
    """Return the bytes of `model`, or `None` if it is larger than `LARGEST_CHECKED_WHOLE`, once it is found valid.

    Raises `DiagnosticError` for a model that ONNX's checker rejects, or whose types are not those that it infers.
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
    """The error, to be raised, for a model that is not written."""
    return text_error(f"the exported model is invalid and was not written: {reason}; please report this bug")


def _check(data: bytes, *, is_whole: bool) -> None:
    try:
        cast(Any, checker).check_model(data, full_check=is_whole)
    except (checker.ValidationError, shape_inference.InferenceError) as error:
        raise invalid_export(reason_of(error)) from error


def _without_data(model: ModelProto) -> ModelProto:
    """The model, in which large tensors have no elements; their data is never copied."""
    graph = model.graph
    light = ModelProto(ir_version=model.ir_version, opset_import=model.opset_import, functions=model.functions)
    light.graph.MergeFrom(GraphProto(name=graph.name, node=graph.node, input=graph.input, output=graph.output))
    for tensor in graph.initializer:
        copy = light.graph.initializer.add(name=tensor.name, data_type=tensor.data_type)
        if len(tensor.raw_data) > _KEPT_BYTES:
            copy.dims.append(0)
        else:
            copy.CopyFrom(tensor)
    return light
