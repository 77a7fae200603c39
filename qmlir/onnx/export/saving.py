"""Writing a model to a file; tensors that protobuf cannot hold, or that the user wants outside, go beside it."""

from pathlib import Path

from onnx import ModelProto, TensorProto, printer

from qmlir.ir.diagnostics import text_error
from qmlir.onnx.suffixes import ONNX_SUFFIXES, TEXT_SUFFIXES
from qmlir.text.weights import write_together

MOST_BYTES = 2**31 - 2**20
"""Protobuf holds no message of 2 GB; what is not tensors has the rest."""

EXTERNAL_BYTES = 1024
"""Tensors of more bytes go into the file beside the model."""

_ALIGNMENT = 64


def save_onnx(model: ModelProto, path: Path, *, external_data: bool | None = None) -> None:
    """Write a model to `path`: `.onnx`, or `.onnxtxt` in ONNX's textual syntax, which has no metadata of nodes.

    With `external_data`, and by default where a file cannot hold it, tensors of more than 1024 bytes go into
    `<name>.onnx.data` beside the model. Raises `DiagnosticError` where the files cannot be written.
    """
    if path.suffix not in ONNX_SUFFIXES:
        raise text_error(f"cannot write '{path}': the name of a model ends in {', '.join(sorted(ONNX_SUFFIXES))}")
    if path.suffix in TEXT_SUFFIXES:
        write_together((path, printer.to_text(model)))
        return
    size = sum(len(tensor.raw_data) for tensor in model.graph.initializer)
    if external_data is None:
        external_data = size > MOST_BYTES
    if not external_data:
        write_together((path, model.SerializeToString()))
        return
    beside = path.with_name(f"{path.name}.data")
    lean, data = _without_data(model, beside.name)
    write_together((beside, data), (path, lean.SerializeToString()))


def _without_data(model: ModelProto, location: str) -> tuple[ModelProto, bytes]:
    """The model with large tensors by reference, and the bytes that they refer to."""
    lean, data = ModelProto(), bytearray()
    lean.CopyFrom(model)
    for tensor in lean.graph.initializer:
        if len(tensor.raw_data) <= EXTERNAL_BYTES:
            continue
        data.extend(bytes(-len(data) % _ALIGNMENT))
        entries = {"location": location, "offset": str(len(data)), "length": str(len(tensor.raw_data))}
        data.extend(tensor.raw_data)
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in entries.items():
            tensor.external_data.add(key=key, value=value)
    return lean, bytes(data)
