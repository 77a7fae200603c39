"""Metadata of models: annotations by other tools, the text of an exported module, and recorded ranges of tensors.

The text refers to tensors of the model for large constants. A digest of the text, the tensors, the nodes and the
recorded ranges detects models that were edited after the export; it doesn't authenticate the author.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any, cast

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorAnnotation, TensorProto, ValueInfoProto, numpy_helper
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    Signedness,
    StringAttr,
    UnknownLoc,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.arrays import integer_limits
from qmlir.arithmetic.statistics import Summary
from qmlir.dialects.calib.types import StatsAttr
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.environment import default_environment
from qmlir.ir.builtin_types import AnyDense, as_dense, as_integer, tensor
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, Severity, emit, warn
from qmlir.ir.provenance import ANNOTATIONS, origins_of, texts_of
from qmlir.ir.verification import verify
from qmlir.onnx.export.emission import Settings
from qmlir.onnx.protos import nodes_within, subgraphs
from qmlir.onnx.reading import OnnxModel, tensor_bytes
from qmlir.onnx.types import ELEMENT_TYPES
from qmlir.quantization.profiles.keys import has_parameters, keyed_values, tensor_of
from qmlir.quantization.profiles.statistics import attach, observed, set_ranges, stats_of
from qmlir.text.data import parse_data
from qmlir.text.parsing import parse_module
from qmlir.text.printing import ELEMENTS_ALIAS_BYTES, PrintOptions, Weights, module_text
from qmlir.text.weights import ExternalWeightsAttr, WeightsError, WeightsReader, dense_weights

PREFIX = "qmlir."

EXPORT = "qmlir.export"
"""Key on a model: the export settings, the version of this metadata, and the digest of the model, as JSON."""

MODULE = "qmlir.module"
"""Key on a model: the text of the module, which refers to tensors of the model for large constants."""

PRODUCER = "qmlir.producer"
"""Key on a model: an empty entry means that the module names no producer."""

STATISTICS = {name: f"qmlir.{name}" for name in ("min", "max", "mean", "std", "count")}
"""Keys on a value: its recorded statistics, as decimal numbers; the module has all statistics in `calib.stats`."""


def entries(proto: Any) -> dict[str, str]:
    """Returns the metadata of a model, graph, node, tensor or value."""
    return {each.key: each.value for each in proto.metadata_props}


def write(proto: Any, pairs: Mapping[str, str]) -> None:
    """Adds metadata to a model, graph, node, tensor or value."""
    for key, value in pairs.items():
        proto.metadata_props.add(key=key, value=value)


def without_module(model: ModelProto) -> ModelProto:
    """Returns a copy of a model without the text of its module, which is easier to read."""
    found = deepcopy(model)
    del found.metadata_props[:]
    write(found, {key: value for key, value in entries(model).items() if key not in (EXPORT, MODULE)})
    return found


def write_statistics(info: ValueInfoProto, value: SSAValue) -> None:
    """Adds the recorded statistics of a value, if any, to the metadata of its declaration."""
    if (stats := stats_of(value)) is None:
        return
    summary = stats.summary
    numbers = (summary.minimum, summary.maximum, summary.mean, summary.deviation)
    texts = [np.format_float_positional(number, trim="-") for number in numbers]
    write(info, dict(zip(STATISTICS.values(), [*texts, str(summary.count)], strict=True)))


# --- Annotations by other tools ---------------------------------------------------------------------------------------
#
# The documentation (`doc_string`) and the metadata of nodes and tensors are entries of one attribute of the module,
# `nn.annotations`, by name. Those of the model and its graph are in `nn.description`. An exported node has the
# annotations of all nodes that its operation stands for; the first of these wins if two have the same key.

DESCRIPTION = "nn.description"
"""Attribute of a module: the documentation of the model and its graph, and the domain and version of the model."""

_DOC, _METADATA, _NODES, _TENSORS, _GRAPH = "doc", "metadata", "nodes", "tensors", "graph"

_SCOPES = "pkg.torch.onnx.name_scopes"
"""Key on a node from PyTorch: a list of the paths of its modules, outermost first, and the name of the node itself."""

_NAMESPACE = "namespace"
"""Key on a node from PyTorch: its modules with their classes (`path: class`), and the node, separated by slashes."""

_QUOTED = re.compile(r"""'([^']*)'|"([^"]*)\"""")


def module_of(node: NodeProto) -> str:
    """Returns the path of the PyTorch module that a node belongs to, such as `layers.0.attn`; empty if unknown."""
    said = entries(node)
    scopes = [single or double for single, double in _QUOTED.findall(said.get(_SCOPES, ""))]
    scopes = scopes or [part.partition(":")[0] for part in said.get(_NAMESPACE, "").split("/")]
    is_module = "." in scopes[-1]  # in a list without the name of the node
    return scopes[-1] if is_module else "".join(scopes[:-1][-1:])


def pairs_attribute(pairs: Iterable[tuple[str, str]]) -> Attribute:
    """Returns keys and values of metadata as an attribute, which `pairs_in` reads."""
    return ArrayAttr(ArrayAttr(map(StringAttr, pair)) for pair in pairs)


def pairs_in(attribute: Attribute | None) -> Iterator[tuple[str, str]]:
    """Yields the keys and values in an attribute of metadata."""
    for entry in cast(ArrayAttr[Attribute], attribute) if isinstance(attribute, ArrayAttr) else ():
        if len(pair := texts_of(entry)) == 2:
            yield pair[0], pair[1]


def _annotation(proto: Any) -> DictionaryAttr:
    """Returns the documentation and the metadata of a graph, node or tensor, without entries of qmlir."""
    pairs = [pair for pair in entries(proto).items() if not pair[0].startswith(PREFIX)]
    found: dict[str, Attribute] = {_DOC: StringAttr(proto.doc_string)} if proto.doc_string else {}
    return DictionaryAttr(found | ({_METADATA: pairs_attribute(pairs)} if pairs else {}))


def _fields(attribute: Attribute | None) -> Mapping[str, Attribute]:
    return attribute.data if isinstance(attribute, DictionaryAttr) else {}


def annotations(graph: GraphProto, nodes: Mapping[str, NodeProto]) -> dict[str, Attribute]:
    """Returns the attribute with the annotations of `nodes`, by origin, and of the tensors of `graph`, if any."""
    tensors = (*graph.initializer, *graph.value_info, *graph.input, *graph.output)
    groups = {_NODES: nodes, _TENSORS: {each.name: each for each in tensors}}
    found: dict[str, Attribute] = {}
    for key, protos in groups.items():
        group = {name: _annotation(proto) for name, proto in protos.items() if proto.doc_string or proto.metadata_props}
        if shown := {name: each for name, each in group.items() if each.data}:
            found[key] = DictionaryAttr(shown)
    return {ANNOTATIONS: DictionaryAttr(found)} if found else {}


def description(model: ModelProto) -> dict[str, Attribute]:
    """Returns the attribute with the documentation, domain and version of a model, if any."""
    found = {key: StringAttr(text) for key, text in ((_DOC, model.doc_string), ("domain", model.domain)) if text}
    fields: dict[str, Attribute] = {**found}
    if model.model_version:
        fields["version"] = IntegerAttr(model.model_version, i64)
    if (graph := _annotation(model.graph)).data:
        fields[_GRAPH] = graph
    return {DESCRIPTION: DictionaryAttr(fields)} if fields else {}


def describe(model: ModelProto, attribute: Attribute | None) -> None:
    """Sets the documentation, domain and version of a model to those in an attribute from `description`."""
    fields = _fields(attribute)
    version = fields.get("version")
    if domain := "".join(texts_of(fields.get("domain"))):
        model.domain = domain
    if isinstance(version, IntegerAttr):
        model.model_version = version.value.data
    annotate(model, [fields])
    annotate(model.graph, [_fields(fields.get(_GRAPH))])


def annotate(proto: Any, found: Iterable[Mapping[str, Attribute]]) -> None:
    """Adds annotations to a model, graph, node or tensor; of two with one key, it keeps the first."""
    for fields in found:
        if (text := "".join(texts_of(fields.get(_DOC)))) and not proto.doc_string:
            proto.doc_string = text
        known = entries(proto)
        write(proto, {key: value for key, value in pairs_in(fields.get(_METADATA)) if key not in known})


class Annotations:
    """The annotations in a module that is exported."""

    def __init__(self, module: ModuleOp) -> None:
        fields = _fields(module.attributes.get(ANNOTATIONS))
        self._nodes, self._tensors = (_fields(fields.get(key)) for key in (_NODES, _TENSORS))

    def add_to_nodes(self, op: Operation, nodes: Iterable[NodeProto]) -> None:
        """Adds the annotations of the origins of `op` to its `nodes`."""
        found = [_fields(self._nodes.get(origin.name)) for origin in origins_of(op)] if self._nodes else []
        for node in nodes if found else ():
            annotate(node, found)

    def add_to_tensors(self, graph: GraphProto) -> None:
        """Adds the annotations of tensors to the declarations and the constants of `graph`, by name."""
        for each in (*graph.initializer, *graph.value_info, *graph.input, *graph.output) if self._tensors else ():
            annotate(each, [_fields(self._tensors.get(each.name))])


# --- The text of the module -------------------------------------------------------------------------------------------

VERSION = 2
"""The version of `qmlir.export`. Models with version 1 are imported like models of other tools."""

FROM_MODEL = frozenset({"nn.metadata", "nn.producer", DESCRIPTION})
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


class HeldConstants(dict[bytes, str]):
    """The names of the tensors that hold constants of the module in a model under construction, by their bytes."""

    def add(self, op: ConstantOp, proto: TensorProto) -> None:
        """Records that `proto` is the tensor exported for `op`, so that the text of the module can refer to it."""
        value = as_dense(op.value)
        if value is None or len(data := value.data.data) <= ELEMENTS_ALIAS_BYTES or data in self:
            return
        if proto.data_type in ELEMENT_TYPES and _held(proto, value.get_element_type()) == data:
            self[data] = proto.name

    def text(self, module: ModuleOp) -> str:
        """Returns the text of a module with references for large constants, without the attributes in `FROM_MODEL`."""
        module = module.clone()
        for key in FROM_MODEL & module.attributes.keys():
            del module.attributes[key]
        for op in module.walk():
            value = as_dense(op.value) if isinstance(op, ConstantOp) else None
            if isinstance(op, ConstantOp) and value is not None and (name := self.get(value.data.data)):
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
    yield entries(model)[MODULE].encode()
    graph = model.graph
    for each in model.opset_import:
        yield f"{each.domain} {each.version}".encode()
    for infos in (graph.input, graph.output, graph.value_info):
        for info in infos:
            said = sorted(entries(info).items())
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
    write(model, {MODULE: text})
    write(model, {EXPORT: json.dumps({**asdict(settings), "version": VERSION, "digest": _digest(model)})})


def restored(model: OnnxModel) -> ModuleOp | None:
    """Returns the module from which a model was exported, without the attributes in `FROM_MODEL`.

    Returns `None` if the model wasn't exported by qmlir. If it was edited after the export or exported by another
    version, emits a remark and also returns `None`.
    """
    said: Mapping[str, str] = entries(model.proto)
    if EXPORT not in said:
        return None
    try:
        header = parse_data(said[EXPORT], f"'{EXPORT}'")
        if header["version"].integer() != VERSION:
            _remark(f"{model.name} was exported by another version of qmlir; it is imported from its nodes")
            return None
        if MODULE not in said or header["digest"].text() != _digest(model.proto, model.directory):
            _remark(f"{model.name} was edited after qmlir exported it; it is imported from its nodes")
            return None
        context, name = default_environment().new_context(), f"{model.name}:{MODULE}"
        module = parse_module(context, said[MODULE], name, weights=_ModelWeights(model))
        verify(module)
    except DiagnosticError as error:
        _remark(f"{model.name} is imported from its nodes: {error.diagnostic.message}")
        return None
    for op in module.walk():
        op.location = UnknownLoc()
    return module


def _remark(message: str) -> None:
    emit(Diagnostic(Severity.REMARK, message))


# --- Recorded ranges of tensors ---------------------------------------------------------------------------------------
#
# Values have metadata with the keys `STATISTICS`: both ends of the range, and optionally the others. Annotations of the
# ONNX standard contain a tensor's scale and zero point; those of QONNX contain the type of its integers. Invalid ranges
# are ignored with a warning.

_SCALE, _ZERO_POINT, _DATATYPE = "SCALE_TENSOR", "ZERO_POINT_TENSOR", "finn_datatype"

_NAMED_LIMITS: Mapping[str, tuple[int, int]] = {"BINARY": (0, 1), "BIPOLAR": (-1, 1), "TERNARY": (-1, 1)}
"""The smallest and largest values of QONNX types whose names have no bit width."""


@dataclass(frozen=True)
class _TensorRange:
    minimum: float
    maximum: float
    statistics: StatsAttr | None = None

    def __post_init__(self) -> None:
        if not (isfinite(self.minimum) and isfinite(self.maximum) and self.minimum <= self.maximum):
            raise ValueError(f"[{self.minimum}, {self.maximum}] is not a valid range")


def _of_metadata(said: Mapping[str, str]) -> _TensorRange | None:
    """Returns the range in the metadata of a value, or `None`. Raises `ValueError` or `VerifyException` if invalid."""
    low, high, mean, deviation, count = (said.get(key) for key in STATISTICS.values())
    if low is None and high is None:
        return None
    if low is None or high is None:
        raise ValueError("it defines only one end of a range")
    known = _TensorRange(float(low), float(high))
    if mean is None or deviation is None or count is None:
        return known
    summary = Summary(int(count), known.minimum, known.maximum, float(mean), float(deviation))
    return replace(known, statistics=StatsAttr.of(summary))


def _of_annotation(annotation: TensorAnnotation, tensors: Mapping[str, TensorProto]) -> _TensorRange | None:
    """Returns the range of the annotated type. Raises `ValueError` or `KeyError` if the annotation is invalid."""
    said = {each.key: each.value for each in annotation.quant_parameter_tensor_names}
    if _DATATYPE in said:
        return _of_datatype(said[_DATATYPE])
    if not {_SCALE, _ZERO_POINT} & said.keys():
        return None
    if missing := {_SCALE, _ZERO_POINT} - said.keys():
        raise ValueError(f"it has no {missing.pop()}")
    scale, zero_point = (numpy_helper.to_array(tensors[said[key]]) for key in (_SCALE, _ZERO_POINT))
    if scale.size != 1 or zero_point.size != 1 or zero_point.dtype.kind not in "iu":
        raise ValueError("its scale must be a single number and its zero point a single integer")
    limits = np.iinfo(zero_point.dtype)
    low, high = (float(scale.item()) * (int(end) - int(zero_point.item())) for end in (limits.min, limits.max))
    return _TensorRange(low, high)


def _of_datatype(name: str) -> _TensorRange | None:
    if name in _NAMED_LIMITS:
        return _TensorRange(*_NAMED_LIMITS[name])
    found = re.fullmatch(r"(U?)INT(\d{1,2})", name)
    return None if found is None else _TensorRange(*integer_limits(int(found[2]), is_signed=not found[1]))


def _found(graph: GraphProto) -> Iterator[tuple[str, _TensorRange]]:
    """Yields the ranges of tensors; those from metadata come last and win."""
    tensors = {each.name: each for each in graph.initializer}
    for annotation in graph.quantization_annotation:
        yield from _valid("annotation", annotation.tensor_name, partial(_of_annotation, annotation, tensors))
    for info in (*graph.input, *graph.value_info, *graph.output):
        yield from _valid("statistics", info.name, partial(_of_metadata, entries(info)))


def _valid(kind: str, name: str, read: Callable[[], _TensorRange | None]) -> Iterator[tuple[str, _TensorRange]]:
    """Yields the range that `read` returns, if any; warns if it is invalid."""
    try:
        found = read()
    except (ValueError, KeyError, VerifyException) as error:
        warn(f"ignoring the {kind} of '{name}': {error}")
    else:
        if found is not None:
            yield name, found


def take_ranges(graph: GraphProto, module: ModuleOp) -> None:
    """Attaches the ranges that `graph` stores for its tensors to the float values of the imported module."""
    ranges = dict(_found(graph))
    if not ranges:
        return
    values = {
        each.value: ranges[name]
        for each in keyed_values(module)
        if (name := tensor_of(each)) in ranges
        and not each.is_constant
        and not has_parameters(each.value)
        and observed(each.value) is None
    }
    for value, each in values.items():
        if each.statistics is not None:
            attach(value, each.statistics)
    set_ranges(module, {value: (each.minimum, each.maximum) for value, each in values.items()})
