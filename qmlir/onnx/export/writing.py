"""Exports single operations to nodes and tensors, and writes model files."""

import hashlib
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from copy import deepcopy
from pathlib import Path

from google.protobuf.message import DecodeError
from onnx import ModelProto, TensorProto, printer
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from qmlir.arithmetic.requantization import Mode
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.evaluation.parameters import requantization_of
from qmlir.dialects.quant.ops import DequantizeCastOp
from qmlir.dialects.quant.types import StoredType
from qmlir.ir.builtin_types import element_of
from qmlir.ir.diagnostics import text_error
from qmlir.onnx import metadata
from qmlir.onnx.export.choosing import write, write_constant
from qmlir.onnx.export.emission import Exporter, ExportForm, NodeEmitter, Settings, packed_type, tensor_proto
from qmlir.onnx.export.qdq import can_be_between_casts
from qmlir.onnx.export.signed_as_unsigned import shifted_constant, write_as_held
from qmlir.onnx.filenames import ONNX_SUFFIXES, TEXT_SUFFIXES
from qmlir.text.files import read_regular
from qmlir.text.weights import ExternalWeightsAttr
from qmlir.text.writing import Derived, check_file, write_file, write_with_derived


def written(
    op: Operation,
    settings: Settings,
    names: Mapping[SSAValue, str],
    exporters: Mapping[type[Operation], Exporter],
    packed: Mapping[SSAValue, int],
    unsigned: AbstractSet[SSAValue],
) -> NodeEmitter:
    """Exports one operation; `names` contains the names of its operands and results.

    `packed` and `unsigned` contain the values whose exported tensors have another type than the values.
    """
    out = NodeEmitter(op, settings, names, [names[result] for result in op.results], packed=packed)
    if not isinstance(op, ConstantOp):
        write_as_held(out, op, unsigned, lambda out, op: write(out, op, exporters))
    elif isinstance(op.value, ExternalWeightsAttr):
        raise out.error("has elided weights; read the module together with its weights file")
    elif op.result in packed:
        out.tensor(tensor_proto(out.output, op.array, packed[op.result]))
    else:
        write_constant(out, shifted_constant(op) if op.result in unsigned else op)
    return out


def packed_constants(function: FuncOp, settings: Settings) -> dict[SSAValue, int]:
    """Returns the data types of packed constants: those of at most 4 bits that are only dequantized."""
    found: dict[SSAValue, int] = {}
    if settings.form is not ExportForm.QDQ or settings.exact:
        return found
    for op in function.body.block.ops:
        if not isinstance(op, ConstantOp) or not isinstance(element := element_of(op.result), StoredType):
            continue
        kind = packed_type(element, settings.opset)
        if kind is not None and all(_dequantizes(use.operation) for use in op.result.uses):
            found[op.result] = kind
    return found


def _dequantizes(user: Operation) -> bool:
    """Returns True if an operation computes with the real values of its operands."""
    if isinstance(user, DequantizeCastOp):
        return True
    if not isinstance(user, NnOp) or user.components is not None or user.quantization_slots().shares_parameters:
        return False
    return can_be_between_casts(user) and requantization_of(user)[0] is Mode.F32


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
    write_with_derived(path, lean.SerializeToString(), beside, data)


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
