"""One operation as nodes and tensors, which the exporter adds to a graph; and the files of models."""

import hashlib
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from pathlib import Path

from google.protobuf.message import DecodeError
from onnx import ModelProto, NodeProto, TensorProto, printer
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from qmlir.arithmetic.requantization import Mode
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.evaluation.parameters import requantization_of
from qmlir.dialects.quant.ops import DequantizeCastOp
from qmlir.dialects.quant.types import StoredType
from qmlir.ir.builtin_types import element_of
from qmlir.ir.diagnostics import DiagnosticError, text_error
from qmlir.onnx.export import metadata
from qmlir.onnx.export.emission import Exporter, ExportForm, Outgoing, Settings, packed_type, tensor_proto
from qmlir.onnx.export.forms.choosing import write, write_constant
from qmlir.onnx.export.forms.qdq import can_be_between_casts
from qmlir.onnx.export.signed_as_unsigned import Twin, shifted_constant
from qmlir.onnx.filenames import ONNX_SUFFIXES, TEXT_SUFFIXES
from qmlir.text.files import read_regular
from qmlir.text.weights import ExternalWeightsAttr
from qmlir.text.writing import Derived, check_file, write_file, write_with_derived


@dataclass(frozen=True)
class Written:
    """An operation as nodes and tensors."""

    nodes: Sequence[NodeProto]
    initializers: Sequence[TensorProto]
    versions: Mapping[str, int] = field(default_factory=dict[str, int])
    """The versions of other operator sets than ONNX's own, where the operation says them."""


def written(
    op: Operation,
    settings: Settings,
    names: Mapping[SSAValue, str],
    exporters: Mapping[type[Operation], Exporter],
    packed: Mapping[SSAValue, int],
    unsigned: AbstractSet[SSAValue],
) -> Written:
    """The nodes of one operation; its operands and results have names.

    `packed` and `unsigned` say which values are held in another way than their types say.
    """
    out = Outgoing(op, settings, names, [names[result] for result in op.results], packed=packed)
    if isinstance(op, ConstantOp):
        return Written([], [_constant(out, op, is_unsigned=op.result in unsigned)])
    twin = Twin.of(op, settings, names, unsigned, packed)
    if twin is None:
        write(out, op, exporters)
    else:
        _write_twin(out, op, twin, exporters, unsigned)
    return Written(out.nodes, out.initializers, out.versions)


def _write_twin(
    out: Outgoing,
    op: Operation,
    twin: Twin,
    exporters: Mapping[type[Operation], Exporter],
    unsigned: AbstractSet[SSAValue],
) -> None:
    twin.before(out)
    outputs = twin.inner_names(out, unsigned)
    prefix = out.prefix or out.outputs[0]
    try:
        write(replace(out, op=twin.op, names=twin.names, outputs=outputs, prefix=prefix), twin.op, exporters)
    except DiagnosticError:
        # What is wrong is said of the operation as it is.
        write(replace(out, nodes=[], initializers=[], _known={}), op, exporters)
        raise
    finally:
        twin.discard()
    twin.after(out, outputs, unsigned)


def _constant(out: Outgoing, op: ConstantOp, *, is_unsigned: bool) -> TensorProto:
    if isinstance(op.value, ExternalWeightsAttr):
        raise out.error("has elided weights; read the module together with its weights file")
    if op.result in out.packed:
        return tensor_proto(out.output, op.array, out.packed[op.result])
    write_constant(out, shifted_constant(op) if is_unsigned else op)
    return out.initializers[0]


def packed_constants(function: FuncOp, settings: Settings) -> dict[SSAValue, int]:
    """The constants of 4 bits and less that are packed, with their data types: those that are only dequantized."""
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
    """Whether an operation computes with the real values of its operands."""
    if isinstance(user, DequantizeCastOp):
        return True
    if not isinstance(user, NnOp) or user.components is not None or user.quantization_slots().shares_parameters:
        return False
    return can_be_between_casts(user) and requantization_of(user)[0] is Mode.F32


MOST_BYTES = 2**31 - 2**20
"""Protobuf holds no message of 2 GB; what is not tensors has the rest."""

EXTERNAL_BYTES = 1024
"""Tensors of more bytes go into the file beside the model."""

_ALIGNMENT = 64


def model_text(model: ModelProto) -> str:
    """A model in ONNX's textual syntax, without the text of its module."""
    return printer.to_text(metadata.without_module(model))


def save_onnx(model: ModelProto, path: Path, *, external_data: bool | None = None) -> None:
    """Write a model to `path`: `.onnx`, or `.onnxtxt` in ONNX's textual syntax (`model_text`).

    With `external_data`, and by default where a file cannot hold it, tensors of more than 1024 bytes go into
    `<name>.onnx.data` beside the model. Raises `DiagnosticError` where the files cannot be written.
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
    """Raise `DiagnosticError` if `save_onnx` cannot write a model to `path`."""
    check_file(path)
    if external_data:
        _data_file(path).check(path)


def _names_data(content: bytes, data: Path) -> bool:
    """Return True if a model is qmlir's, and says that the file `data` is as qmlir wrote it."""
    model = ModelProto()
    try:
        model.ParseFromString(content)
    except DecodeError:
        return False
    external = [tensor.external_data for tensor in model.graph.initializer if tensor.external_data]
    named = [{entry.key: entry.value for entry in each} for each in external]
    checksum = _checksum(read_regular(data, follow=False))
    is_named = [each.get("location") == data.name and each.get("checksum") == checksum for each in named]
    return metadata.EXPORT in metadata.entries(model) and bool(named) and all(is_named)


def _checksum(data: bytes) -> str:
    """What ONNX calls the checksum of a file of external data."""
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()


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
    checksum = _checksum(bytes(data))
    for tensor in lean.graph.initializer:
        if tensor.data_location == TensorProto.EXTERNAL:
            tensor.external_data.add(key="checksum", value=checksum)
    return lean, bytes(data)
