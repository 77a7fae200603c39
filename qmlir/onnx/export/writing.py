"""Writes models as protobuf or in textual syntax; tensors of models above 2 GB go into a second file."""

import hashlib
from copy import deepcopy
from pathlib import Path

from google.protobuf.message import DecodeError
from onnx import ModelProto, TensorProto, printer

from qmlir.ir.diagnostics import text_error
from qmlir.onnx import metadata
from qmlir.onnx.filenames import ONNX_SUFFIXES, TEXT_SUFFIXES
from qmlir.text.files import read_regular
from qmlir.text.writing import Derived, check_file, write_file, write_with_derived

MOST_BYTES = 2**31 - 2**20
"""The maximum size of tensors in a model, in bytes: protobuf limits the whole message to 2 GB."""

EXTERNAL_BYTES = 1024
"""The size in bytes above which a tensor may be stored in the external data file."""

_ALIGNMENT = 64


def model_text(model: ModelProto) -> str:
    """Returns a model in ONNX's textual syntax, without the text of its module."""
    return printer.to_text(metadata.without_module(model))


def save_onnx(model: ModelProto, path: Path, *, external_data: bool | None = None) -> None:
    """Writes a model to `path`: `.onnx`, or `.onnxtxt` in ONNX's textual syntax (`model_text`).

    If `external_data` is True, or if it is `None` and the model is too large for one file, tensors of more than 1024
    bytes are stored in `<name>.onnx.data` in the same folder. Raises `DiagnosticError` if the files can't be written.
    """
    if path.suffix not in ONNX_SUFFIXES:
        raise text_error(f"cannot write '{path}': the file name must end in {', '.join(sorted(ONNX_SUFFIXES))}")
    if path.suffix in TEXT_SUFFIXES:
        write_file(path, model_text(model))
        return
    size = sum(len(tensor.raw_data) for tensor in model.graph.initializer)
    size += len(metadata.entries(model).get(metadata.MODULE, ""))
    if external_data is None:
        external_data = size > MOST_BYTES
    if not external_data:
        write_file(path, model.SerializeToString())
        return
    beside = _data_file(path)
    lean, data = _without_data(model, beside.path.name)
    write_with_derived(path, lean.SerializeToString(), beside, [data])


def _data_file(path: Path) -> Derived:
    beside = path.with_name(f"{path.name}.data")
    return Derived(beside, lambda content: _names_data(content, beside))


def check_onnx_file(path: Path, *, external_data: bool | None = None) -> None:
    """Raises `DiagnosticError` if `save_onnx` can't write a model to `path`."""
    check_file(path)
    if external_data:
        _data_file(path).check(path)


def _names_data(content: bytes, data: Path) -> bool:
    """Returns True if qmlir wrote the model, and its checksum shows that the file `data` is unchanged."""
    try:
        model = ModelProto.FromString(content)
    except DecodeError:
        return False
    external = [tensor.external_data for tensor in model.graph.initializer if tensor.external_data]
    named = [{entry.key: entry.value for entry in each} for each in external]
    checksum = _checksum(read_regular(data, follow=False))
    is_named = [each.get("location") == data.name and each.get("checksum") == checksum for each in named]
    return metadata.EXPORT in metadata.entries(model) and bool(named) and all(is_named)


def _checksum(data: bytes) -> str:
    """Returns the ONNX checksum (SHA-1) of an external data file."""
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()


def _without_data(model: ModelProto, location: str) -> tuple[ModelProto, bytes]:
    """Returns the model with references for large tensors, and the bytes that they refer to."""
    lean, data = deepcopy(model), bytearray()
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
    checksum = _checksum(bytes(data))
    for tensor in lean.graph.initializer:
        if tensor.data_location == TensorProto.EXTERNAL:
            tensor.external_data.add(key="checksum", value=checksum)
    return lean, bytes(data)
