"""Reads a model: the protobuf, and the bytes of its weights in the same file or in external files.

Models are untrusted input: lengths are checked before reading, and paths must not leave the folder of the model.
"""

import math
from copy import deepcopy
from dataclasses import dataclass, replace
from os.path import normpath
from pathlib import Path
from stat import S_ISREG
from typing import Any, cast

import numpy as np
from google.protobuf.message import DecodeError
from onnx import ModelProto, TensorProto, helper, numpy_helper, parser

from qmlir.formats.types import shape_fault
from qmlir.ir.diagnostics import text_error, warn
from qmlir.onnx.filenames import TEXT_SUFFIXES
from qmlir.onnx.types import ELEMENT_TYPES, SUB_BYTE, data_type_name
from qmlir.text.elements import dense_dtype
from qmlir.text.files import mistaken_for, note_input, read_given, read_weights, reason_of

SHOWN = 10
"""The maximum number of classes that a warning names."""


@dataclass(frozen=True)
class OnnxModel:
    """A model, its name for messages, and the folder with its external data."""

    proto: ModelProto
    name: str
    directory: Path | None = None


def read_model(source: Path | ModelProto) -> OnnxModel:
    """Reads a model from a file, or takes one from memory, and removes final ZipMap nodes.

    Raises `DiagnosticError` if the file doesn't contain a model.
    """
    if isinstance(source, ModelProto):
        return _without_zip_maps(OnnxModel(source, source.graph.name or "the model"))
    try:
        note_input(source)
        content = read_given(source)
    except OSError as error:
        raise text_error(f"cannot read '{source}': {reason_of(error)}") from error
    model = _parsed_text(source, content) if source.suffix in TEXT_SUFFIXES else _parsed(source, content)
    if not model.ir_version or not model.opset_import or not model.HasField("graph"):
        raise text_error(f"'{source}' is not an ONNX model: it has no IR version, operator sets or graph")
    return _without_zip_maps(OnnxModel(model, str(source), source.parent))


def _without_zip_maps(model: OnnxModel) -> OnnxModel:
    """Returns `model` with final ZipMap nodes removed, so that the tensor of probabilities is the output.

    By default, converters from scikit-learn, XGBoost and LightGBM end a classifier with a ZipMap, which returns a list
    of maps from class to probability. Modules don't support maps. The columns of the tensor correspond to the classes
    in the order of the node's attribute, which a warning lists.
    """
    graph = model.proto.graph
    ends = {each.name for each in graph.output}
    used = {name for node in graph.node for name in node.input}
    dropped = [
        position
        for position, node in enumerate(graph.node)
        if (node.domain, node.op_type) == ("ai.onnx.ml", "ZipMap")
        and len(node.input) == len(node.output) == 1
        and node.output[0] in ends - used
    ]
    if not dropped:
        return model
    proto = deepcopy(model.proto)
    for position in dropped:
        node = proto.graph.node[position]
        name, output = node.input[0], node.output[0]
        labels = [str(label) for each in node.attribute for label in each.ints]
        labels += [text.decode("utf-8", "replace") for each in node.attribute for text in each.strings]
        listed = ", ".join(labels[:SHOWN]) + (", …" if len(labels) > SHOWN else "")
        message = (
            f"{model.name}: the final ZipMap is dropped: output '{output}' is the tensor '{name}', with a column for "
            f"each of {len(labels)} classes: {listed}"
        )
        warn(message)
        node.CopyFrom(helper.make_node("Identity", [name], [output], name=node.name))
        for info in proto.graph.output:
            if info.name == output:
                info.type.CopyFrom(helper.make_tensor_type_proto(TensorProto.FLOAT, None))
    return replace(model, proto=proto)


def _parsed(source: Path, content: bytes) -> ModelProto:
    if not content:
        raise text_error(f"'{source}' is not an ONNX model: it is empty")
    if instead := mistaken_for(content):
        raise text_error(f"'{source}' is not an ONNX model but {instead}")
    try:
        return ModelProto.FromString(content)
    except DecodeError as error:
        raise text_error(f"'{source}' is not an ONNX model: it is truncated, or not a protobuf") from error


def _parsed_text(source: Path, content: bytes) -> ModelProto:
    try:
        return parser.parse_model(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise text_error(f"cannot read '{source}': byte {error.start} is not UTF-8 text") from error
    except parser.ParseError as error:
        reason = " ".join(str(error).split())
        raise text_error(f"'{source}' is not an ONNX model in text form: {reason}") from error


def external_file(tensor: TensorProto, directory: Path | None) -> tuple[Path, int, int]:
    """Returns the path of a tensor's external file, and the offset and number of its bytes in the file.

    Raises `DiagnosticError` if the file is missing, is reached through links, isn't a regular file (reading it might
    never end), or is too short.
    """
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    if directory is None:
        raise text_error(f"tensor '{tensor.name}' is stored in '{location}', but the model was not read from a file")
    try:
        root = directory.resolve()
        path = (root / location).resolve()
        offset, length = int(entries.get("offset") or 0), int(entries.get("length") or -1)
        if not path.is_relative_to(root):
            raise text_error(f"tensor '{tensor.name}' is stored in '{location}', outside the folder of the model")
        status = path.stat()
    except ValueError as error:
        raise text_error(f"tensor '{tensor.name}' has an invalid data location: {error}") from error
    except RuntimeError as error:  # Python 3.11 raises it for a loop of links
        raise text_error(f"tensor '{tensor.name}' is stored in '{location}', a link to itself") from error
    except OSError as error:
        raise text_error(f"tensor '{tensor.name}': cannot read '{location}': {error.strerror}") from error
    if path != Path(normpath(root / location)) or status.st_nlink > 1 or not S_ISREG(status.st_mode):
        raise text_error(f"tensor '{tensor.name}' is stored in '{location}', which is a link or not a regular file")
    size = status.st_size
    if offset < 0 or length < -1 or offset + max(length, 0) > size:
        raise text_error(f"tensor '{tensor.name}' is beyond the end of '{location}', which has {size} bytes")
    return path, offset, size - offset if length == -1 else length


def inlined(tensor: TensorProto, directory: Path | None) -> TensorProto:
    """Returns `tensor` with external data copied into it. Raises `DiagnosticError` like `external_file`."""
    if tensor.data_location != TensorProto.EXTERNAL:
        return tensor
    data = bytes(_file_bytes(tensor, *external_file(tensor, directory)))
    return TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims, raw_data=data)


def _file_bytes(tensor: TensorProto, path: Path, offset: int, length: int) -> bytes | memoryview:
    try:
        note_input(path)
        return read_weights(path, offset, length)
    except OSError as error:
        raise text_error(f"tensor '{tensor.name}': cannot read '{path}': {error.strerror}") from error


def tensor_bytes(tensor: TensorProto, directory: Path | None) -> bytes:
    """Returns the elements of a tensor as little-endian bytes of their storage type, one byte per packed element.

    Raw bytes in the model are returned without a copy, and large external data as a view of the mapped file. Raises
    `DiagnosticError` for a type that `nn` doesn't support, and if the number of bytes doesn't match the shape.
    """
    element = ELEMENT_TYPES.get(tensor.data_type)
    dtype = None if element is None else dense_dtype(element)
    if dtype is None:
        raise text_error(f"tensor '{tensor.name}' has unsupported elements of {data_type_name(tensor.data_type)}")
    count = math.prod(tensor.dims)
    if (fault := shape_fault(tensor.dims)) is not None and count:
        raise text_error(f"tensor '{tensor.name}' has {fault}")
    bits = SUB_BYTE.get(tensor.data_type, 8 * dtype.itemsize)
    expected = -(-count * bits // 8)
    if tensor.data_location == TensorProto.EXTERNAL:
        path, offset, length = external_file(tensor, directory)
        data = _file_bytes(tensor, path, offset, length) if length == expected else None
    elif tensor.HasField("raw_data"):
        data = tensor.raw_data
        length = len(data)
    else:
        return _listed(tensor, dtype, count)
    if data is None or length != expected:
        raise text_error(
            f"tensor '{tensor.name}' of shape {list(tensor.dims)} must have {expected} bytes, but got {length}"
        )
    if tensor.data_type in SUB_BYTE:
        packed = TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims, raw_data=bytes(data))
        return _listed(packed, dtype, count)
    return cast(bytes, data)  # a view has all operations of bytes that constants need, their hash included


def _listed(tensor: TensorProto, dtype: np.dtype[Any], count: int) -> bytes:
    """Returns the bytes of elements that are packed, or listed in the field of their type."""
    try:
        array = numpy_helper.to_array(tensor)
    except (ValueError, TypeError) as error:
        raise text_error(f"tensor '{tensor.name}' of shape {list(tensor.dims)}: {error}") from error
    if array.size != count:
        raise text_error(f"tensor '{tensor.name}' of shape {list(tensor.dims)} has {array.size} elements")
    return np.ascontiguousarray(array.astype(dtype)).tobytes()
