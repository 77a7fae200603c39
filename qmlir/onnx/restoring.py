"""Stores the text of a module in the metadata of the exported model, and restores the module on import.

The text refers to tensors of the model for large constants. A digest of the text, the tensors, the nodes and the
recorded ranges detects models that were edited after the export; it doesn't authenticate the author.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from onnx import GraphProto, ModelProto, TensorProto
from xdsl.dialects.builtin import ModuleOp, Signedness, StringAttr, UnknownLoc
from xdsl.ir import Attribute

from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.environment import default_environment
from qmlir.ir.builtin_types import AnyDense, as_dense, as_integer, tensor
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, Severity, emit
from qmlir.ir.verification import verify
from qmlir.onnx.export import naming
from qmlir.onnx.export.emission import Settings
from qmlir.onnx.order import nodes_within, subgraphs
from qmlir.onnx.reading import OnnxModel, tensor_bytes
from qmlir.onnx.types import ELEMENT_TYPES
from qmlir.text.data import parse_data
from qmlir.text.parsing import parse_module
from qmlir.text.printing import ELEMENTS_ALIAS_BYTES, PrintOptions, Weights, module_text
from qmlir.text.weights import ExternalWeightsAttr, WeightsError, WeightsReader, dense_weights

VERSION = 2
"""The version of `qmlir.export`. Models with version 1 are imported like models of other tools."""

FROM_MODEL = frozenset({"nn.metadata", "nn.producer"})
"""The attributes of a module that are stored in fields of the ONNX model instead of in the text."""

_FILE = "initializers"
"""The name of a weights file with which the text refers to the tensors of the model."""


def _held(proto: TensorProto, element: Attribute, directory: Path | None = None) -> bytes:
    """Returns the bytes that a constant has in the module. Raises `DiagnosticError` for an invalid tensor.

    A model may store signed integers of at most 8 bits as shifted unsigned integers (`export.signed_as_unsigned`).
    """
    data, integer = tensor_bytes(proto, directory), as_integer(element)
    if proto.data_type != TensorProto.UINT8 or integer is None or integer.signedness.data is Signedness.UNSIGNED:
        return data
    lower = np.frombuffer(data, np.uint8).astype(np.int16) - (1 << (integer.width.data - 1))
    return lower.astype(np.int8).tobytes()


@dataclass
class HeldConstants:
    """The names of the tensors that hold constants of the module in a model under construction, by their bytes."""

    names: dict[bytes, str] = field(default_factory=dict[bytes, str])

    def add(self, op: ConstantOp, proto: TensorProto) -> None:
        """Records that `proto` is the tensor exported for `op`, so that the text of the module can refer to it."""
        value = as_dense(op.value)
        if value is None or len(data := value.data.data) <= ELEMENTS_ALIAS_BYTES or data in self.names:
            return
        if proto.data_type in ELEMENT_TYPES and _held(proto, value.get_element_type()) == data:
            self.names[data] = proto.name

    def text(self, module: ModuleOp) -> str:
        """Returns the text of a module with references for large constants, without the attributes in `FROM_MODEL`."""
        module = module.clone()
        for key in FROM_MODEL & module.attributes.keys():
            del module.attributes[key]
        for op in module.walk():
            value = as_dense(op.value) if isinstance(op, ConstantOp) else None
            if isinstance(op, ConstantOp) and value is not None and (name := self.names.get(value.data.data)):
                file, key, digest = map(StringAttr, (_FILE, name, ""))
                op.value = ExternalWeightsAttr(file, key, digest, tensor(value.get_type()))
        return module_text(module, PrintOptions(weights=Weights.INLINE))


class _ModelWeights(WeightsReader):
    """Reads the weights that the text names from the tensors of the model."""

    def __init__(self, model: OnnxModel):
        super().__init__(None)
        self._model = model
        self._tensors = {each.name: each for each in _tensors(model.proto.graph)}

    def load(self, weights: ExternalWeightsAttr) -> AnyDense:
        """Returns the dense attribute that `weights` refers to. Raises `WeightsError` if the tensor doesn't exist."""
        proto = self._tensors.get(weights.key.data)
        if weights.file.data != _FILE or proto is None:
            raise WeightsError(f"the model has no tensor '{weights.key.data}'")
        return dense_weights(weights, _held(proto, weights.type.get_element_type(), self._model.directory))


def _tensors(graph: GraphProto) -> Iterator[TensorProto]:
    """Yields the tensors of a graph and of the subgraphs in its nodes."""
    yield from graph.initializer
    for node in nodes_within(graph.node):
        for inner in subgraphs(node):
            yield from inner.initializer


def _pieces(model: ModelProto, directory: Path | None) -> Iterator[bytes]:
    """Yields everything that the digest depends on. Tensors contribute their elements, wherever they are stored."""
    yield naming.entries(model)[naming.MODULE].encode()
    graph = model.graph
    for each in model.opset_import:
        yield f"{each.domain} {each.version}".encode()
    for infos in (graph.input, graph.output, graph.value_info):
        for info in infos:
            said = sorted(naming.entries(info).items())
            type_ = b"" if infos is graph.value_info else info.type.SerializeToString(deterministic=True)
            if said or type_:
                yield json.dumps([info.name, said]).encode() + type_
    for messages in (graph.node, model.functions, graph.quantization_annotation, graph.sparse_initializer):
        for message in messages:
            yield message.SerializeToString(deterministic=True)
    for each in graph.initializer:
        yield json.dumps([each.name, each.data_type, list(each.dims)]).encode()
        is_numbers = each.data_type in ELEMENT_TYPES
        yield tensor_bytes(each, directory) if is_numbers else each.SerializeToString(deterministic=True)


def _digest(model: ModelProto, directory: Path | None = None) -> str:
    digest = hashlib.sha256()
    for piece in _pieces(model, directory):
        digest.update(hashlib.sha256(piece).digest())
    return f"sha256:{digest.hexdigest()}"


def keep(model: ModelProto, text: str, settings: Settings) -> None:
    """Writes the module's `text` and the digest into the metadata of `model`."""
    naming.write(model, {naming.MODULE: text})
    said = {**asdict(settings), "version": VERSION, "digest": _digest(model)}
    naming.write(model, {naming.EXPORT: json.dumps(said)})


def restored(model: OnnxModel) -> ModuleOp | None:
    """Returns the module from which a model was exported, without the attributes in `FROM_MODEL`.

    Returns `None` if the model wasn't exported by qmlir. If it was edited after the export or exported by another
    version, emits a remark and also returns `None`.
    """
    said: Mapping[str, str] = naming.entries(model.proto)
    if naming.EXPORT not in said:
        return None
    try:
        header = parse_data(said[naming.EXPORT], f"'{naming.EXPORT}'")
        if header["version"].integer() != VERSION:
            _remark(f"{model.name} was exported by another version of qmlir; it is imported from its nodes")
            return None
        if naming.MODULE not in said or header["digest"].text() != _digest(model.proto, model.directory):
            _remark(f"{model.name} was edited after qmlir exported it; it is imported from its nodes")
            return None
        context, name = default_environment().new_context(), f"{model.name}:{naming.MODULE}"
        module = parse_module(context, said[naming.MODULE], name, weights=_ModelWeights(model))
        verify(module)
    except DiagnosticError as error:
        _remark(f"{model.name} is imported from its nodes: {error.diagnostic.message}")
        return None
    for op in module.walk():
        op.location = UnknownLoc()
    return module


def _remark(message: str) -> None:
    emit(Diagnostic(Severity.REMARK, message))
