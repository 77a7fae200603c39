"""What an exported model says of the module that it was made of, taken up where the graph agrees.

The metadata names the operation that some nodes were. It is built again on the values that its operands have become,
and written as ONNX in the same way: where that gives the nodes that are there, tensor for tensor, it is the operation.
Where it does not, because the graph or the metadata was edited, the nodes are imported as those of any other model.

Nodes that were added after the export read and give the tensors of the model, restored operations have the types of the
module: between signed values and the unsigned integers that hold them stand additions.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto
from xdsl.dialects.builtin import DictionaryAttr, IntegerType, Signedness, TensorType, i8, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue, TypeAttribute
from xdsl.utils.exceptions import InterpretationError, VerifyException

from qmlir import registry
from qmlir.dialects.nn.constant.ops import ConstantOp, storage_element
from qmlir.dialects.nn.elementwise.ops import AddOp, CastOp
from qmlir.dialects.quant.types import StoredType
from qmlir.ir.builtin_types import AnyTensor, dense, element_of, ranked_tensor, shape_of
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, Severity, emit
from qmlir.ir.provenance import Origin, origins_of
from qmlir.ir.signature import inputs_of, outputs_of
from qmlir.onnx.export import metadata
from qmlir.onnx.export.emission import NeedsOpsetError, Settings, held_types, plain_tensor_type
from qmlir.onnx.export.functions import flattened
from qmlir.onnx.export.metadata import Reader, UnreadableError
from qmlir.onnx.export.naming import hint_of
from qmlir.onnx.export.signed_as_unsigned import UNSIGNED, has_twin, offset
from qmlir.onnx.export.writing import written
from qmlir.onnx.graph import GraphBuilder
from qmlir.onnx.ports import declared_type
from qmlir.onnx.reading import OnnxModel
from qmlir.onnx.types import ELEMENT_TYPES, SUB_BYTE
from qmlir.quantization.profiles.attributes import STATS


def _shifted(builder: GraphBuilder, value: SSAValue, number: int, element: Attribute) -> SSAValue:
    origins: Sequence[Origin] = origins_of(value.owner) if isinstance(value.owner, Operation) else ()
    shape = shape_of(value)
    wide = builder.append(CastOp.create(operands=[value], result_types=[TensorType(i32, shape)]), origins).result
    constant = builder.append(ConstantOp.of(np.array(number, np.int32), TensorType(i32, [])), origins).result
    added = builder.append(AddOp.create(operands=[wide, constant], result_types=[wide.type]), origins).result
    return builder.append(CastOp.create(operands=[added], result_types=[TensorType(element, shape)]), origins).result


def as_held(builder: GraphBuilder, value: SSAValue) -> SSAValue:
    """The unsigned integers that the model holds for a signed value."""
    element = element_of(value)
    assert isinstance(element, StoredType)
    return _shifted(builder, builder.plain(value), offset(element), IntegerType(8, Signedness.UNSIGNED))


def from_held(builder: GraphBuilder, value: SSAValue, element: StoredType) -> SSAValue:
    """The signed value for which the model holds the integers of `value`."""
    return builder.stored(_shifted(builder, builder.plain(value), -offset(element), i8), element, [])


MAX_NAMED = 3
"""How many operations a warning names."""

FAULTS = (UnreadableError, VerifyException, DiagnosticError, InterpretationError, NeedsOpsetError, ValueError, KeyError)
"""What metadata may lead to that says something wrong."""


_LONGEST_PLACE = 18
"""Digits: no graph has so many nodes."""


class DisagreesError(Exception):
    """The graph is not what the metadata says."""


@dataclass(frozen=True)
class NodeGroup:
    """The nodes of one operation, or one node that says nothing of where it comes from; or a constant."""

    nodes: Sequence[NodeProto] = ()
    constant: TensorProto | None = None

    @property
    def name(self) -> str:
        """How a warning calls it."""
        if self.constant is not None:
            return self.constant.name
        said = metadata.entries(self.nodes[0])
        return self.nodes[0].name or said.get(metadata.OPERATION, self.nodes[0].op_type)


def _place(proto: NodeProto | TensorProto) -> int | None:
    text = metadata.entries(proto).get(metadata.PLACE, "")
    return int(text) if text.isdecimal() and len(text) <= _LONGEST_PLACE else None


@dataclass
class Restoration:
    """What is taken up of the metadata of one model."""

    model: OnnxModel
    graph: GraphProto
    """The graph, with local functions that it was written with put back."""

    settings: Settings
    reader: Reader
    infos: Mapping[str, ValueInfoProto]
    initializers: Mapping[str, TensorProto]
    refused: list[str] = field(default_factory=list[str])
    reasons: list[str] = field(default_factory=list[str])
    packed: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    unsigned: set[SSAValue] = field(default_factory=set[SSAValue])

    @staticmethod
    def of(model: OnnxModel) -> "Restoration | None":
        """The restoration of a model that says that it was exported; `None` for any other."""
        said = metadata.entries(model.proto).get(metadata.EXPORT)
        if said is None:
            return None
        graph = flattened(model.proto)
        opsets = [each.version for each in model.proto.opset_import if each.domain in ("", "ai.onnx")]
        try:
            settings = metadata.settings_of(said)
        except DiagnosticError:
            _warn(f"{model.name}: ignoring its metadata, whose version is unsupported")
            return None
        if opsets != [settings.opset]:
            _warn(f"{model.name}: ignoring its metadata, which is for operator set {settings.opset}")
            return None
        infos = {each.name: each for each in (*graph.value_info, *graph.output, *graph.input)}
        return Restoration(model, graph, settings, Reader(), infos, {each.name: each for each in graph.initializer})

    def steps(self) -> Iterator[NodeGroup]:
        """Constants and operations in the order of the module; nodes that say nothing at the place that they have."""
        graph = self.graph
        constants = sorted(
            ((place, each) for each in graph.initializer if (place := _place(each)) is not None),
            key=lambda pair: pair[0],
        )
        waiting: list[NodeProto] = []
        last: int | None = None
        for node in graph.node:
            place = _place(node)
            if waiting and (place != last or place is None):
                yield NodeGroup(waiting)
                waiting = []
            while place is not None and constants and constants[0][0] < place:
                yield NodeGroup(constant=constants.pop(0)[1])
            waiting.append(node)
            last = place
        if waiting:
            yield NodeGroup(waiting)
        yield from (NodeGroup(constant=each) for _, each in constants)

    def is_ordered(self) -> bool:
        """Whether each node follows what it uses, as in an exported model."""
        graph = self.graph
        known = {each.name for each in (*graph.input, *graph.initializer)}
        for node in graph.node:
            if any(name and name not in known for name in node.input):
                return False
            known.update(node.output)
        return True

    # Values

    def type_of(self, name: str) -> TypeAttribute:
        """The type of a tensor: what its metadata says, where that is held as the graph says."""
        info = self.infos.get(name)
        if info is None:
            raise DisagreesError(f"the graph does not declare the type of '{name}'")
        text = metadata.entries(info).get(metadata.TYPE)
        declared = declared_type(info)
        if text is None:
            if declared is None:
                raise DisagreesError(f"the type of '{name}' is not a type of qmlir")
            return cast(TypeAttribute, declared)
        found = self.reader.attribute(text)
        is_tensor = ranked_tensor(found) is not None
        if declared not in held_types(found) if is_tensor else info.type.HasField("tensor_type"):
            raise DisagreesError(f"'{name}' is declared as {declared}, which cannot hold {found}")
        if not isinstance(found, TypeAttribute):
            raise UnreadableError(f"expected a type, but got {text[:80]}")
        return found

    def _is_held_unsigned(self, name: str, type_: Attribute) -> bool:
        """Whether a signed value is held by a tensor of unsigned integers."""
        ranked, info = ranked_tensor(type_), self.infos.get(name)
        if ranked is None or info is None or not has_twin(ranked.get_element_type()):
            return False
        return info.type.tensor_type.elem_type == TensorProto.UINT8

    def is_held(self, value: SSAValue, info: ValueInfoProto) -> bool:
        """Whether a tensor of the type that the model declares may hold a value: packed, or unsigned."""
        declared = ELEMENT_TYPES.get(info.type.tensor_type.elem_type)
        held = [ranked_tensor(each) for each in held_types(value.type)]
        return any(each is not None and each.get_element_type() == declared for each in held)

    def input_type(self, name: str) -> TypeAttribute | None:
        """The type of an input where the metadata gives a finer one."""
        try:
            return self.type_of(name)
        except (*FAULTS, DisagreesError) as error:
            self._refuse(name, error)
            return None

    def name_value(self, value: SSAValue, name: str) -> None:
        """Give a value its name in the text."""
        info = self.infos.get(name)
        said = {} if info is None else metadata.entries(info)
        hint = said.get(metadata.HINT, hint_of(name))
        value.name_hint = hint if hint and SSAValue.is_valid_name(hint) else None

    # Operations

    def restore(self, step: NodeGroup, values: dict[str, SSAValue], builder: GraphBuilder) -> bool:
        """Add what the step was, and name what it gives in `values`; gives false where the graph does not agree."""
        try:
            if step.constant is not None:
                self._constant(step.constant, values, builder)
                return True
            said = metadata.entries(step.nodes[0])
            if metadata.OPERATION not in said:
                # An Identity for an output that is another one's value, or a node that was added after the export.
                return False
            self._operation(step, said, values, builder)
        except (*FAULTS, DisagreesError) as error:
            self._refuse(step.name, error)
            return False
        return True

    def _refuse(self, name: str, error: Exception) -> None:
        self.refused.append(name)
        self.reasons.append(" ".join(str(error).split()))

    def _dictionary(self, said: Mapping[str, str], prefix: str) -> dict[str, Attribute]:
        return {
            key.removeprefix(prefix): self.reader.attribute(text)
            for key, text in said.items()
            if key.startswith(prefix)
        }

    def _constant(self, proto: TensorProto, values: dict[str, SSAValue], builder: GraphBuilder) -> None:
        said = metadata.entries(proto)
        type_ = ranked_tensor(self.type_of(proto.name))
        if type_ is None or type_.get_shape() != tuple(proto.dims):
            raise DisagreesError(f"tensor '{proto.name}' must have the shape of {type_}, but got {list(proto.dims)}")
        array = builder.tensor_array(proto)
        element = type_.get_element_type()
        if is_unsigned := has_twin(element) and proto.data_type == TensorProto.UINT8:
            assert isinstance(element, StoredType)
            array = (array.astype(np.int16) - offset(element)).astype(np.int8)
        if isinstance(element, StoredType) and array.size:
            low, high = int(array.min()), int(array.max())
            if low < element.storage_min or high > element.storage_max:
                raise DisagreesError(
                    f"tensor '{proto.name}' has values in [{low}, {high}], out of the range of {element}"
                )
        stored: AnyTensor = TensorType(storage_element(element), type_.get_shape())
        attributes = self._checked_statistics(self._dictionary(said, metadata.ATTRIBUTE), [proto.name])
        properties = self._dictionary(said, metadata.PROPERTY)
        op = ConstantOp.create(
            properties={"value": dense(array.tobytes(), stored), **properties},
            attributes=attributes,
            result_types=[type_],
        )
        op.verify_()
        builder.block.add_op(op)
        values[proto.name] = op.result
        self.name_value(op.result, proto.name)
        if is_unsigned:
            self.unsigned.add(op.result)
        if proto.data_type in SUB_BYTE and isinstance(element, StoredType):
            self.packed[op.result] = proto.data_type

    def _operation(
        self, step: NodeGroup, said: Mapping[str, str], values: dict[str, SSAValue], builder: GraphBuilder
    ) -> None:
        kind = self.reader.ctx.get_optional_op(said[metadata.OPERATION])
        if kind is None:
            raise UnreadableError(f"unknown operation '{said[metadata.OPERATION]}'")
        operand_names = self.reader.names(said.get(metadata.OPERANDS, "[]"))
        result_names = self.reader.names(said.get(metadata.RESULTS, "[]"))
        origins = builder.block.last_op
        operands = [self._operand(name, values, builder) for name in operand_names]
        attributes = self._checked_statistics(self._dictionary(said, metadata.ATTRIBUTE), result_names)
        op = kind.create(
            operands=operands,
            result_types=[self.type_of(name) for name in result_names],
            properties=self._dictionary(said, metadata.PROPERTY),
            attributes=attributes,
        )
        try:
            op.verify()
            names = dict(zip(operands, operand_names, strict=True)) | dict(zip(op.results, result_names, strict=True))
            self.unsigned.update(value for value in op.results if self._is_held_unsigned(names[value], value.type))
            self._compare(step, op, names, builder)
        except BaseException:
            op.drop_all_references()
            while builder.block.last_op is not origins and (last := builder.block.last_op) is not None:
                last.detach()
                last.erase()
            raise
        builder.block.add_op(op)
        for name, value in zip(result_names, op.results, strict=True):
            values[name] = value
            self.name_value(value, name)

    def _operand(self, name: str, values: Mapping[str, SSAValue], builder: GraphBuilder) -> SSAValue:
        """A value as the operand that it was: integers of a part that was imported otherwise get the type again."""
        value = values.get(name)
        if value is None:
            raise DisagreesError(f"tensor '{name}' is not defined")
        wanted = self.type_of(name)
        if value.type == wanted:
            return value
        ranked = ranked_tensor(wanted)
        element = None if ranked is None else ranked.get_element_type()
        if isinstance(element, StoredType) and self._is_held_unsigned(name, wanted):
            if plain_tensor_type(value.type) == TensorType(UNSIGNED, shape_of(value)):
                found = from_held(builder, value, element)
                self.unsigned.add(found)
                return found
        elif isinstance(element, StoredType) and plain_tensor_type(value.type) == plain_tensor_type(wanted):
            return builder.stored(value, element, [])
        raise DisagreesError(f"'{name}' must be {wanted}, but got {value.type}")

    def as_held(
        self, names: Iterable[str], values: Mapping[str, SSAValue], builder: GraphBuilder
    ) -> dict[str, SSAValue]:
        """Values that the graph holds in unsigned integers instead of signed ones, as those integers."""
        return {
            name: as_held(builder, values[name])
            for name in dict.fromkeys(names)
            if name in values and values[name] in self.unsigned
        }

    def _compare(self, step: NodeGroup, op: Operation, names: Mapping[SSAValue, str], builder: GraphBuilder) -> None:
        found = written(op, self.settings, names, registry.onnx_exporters(), self.packed, self.unsigned)
        if [_plain(node) for node in found.nodes] != [_plain(node) for node in step.nodes]:
            raise DisagreesError("its nodes differ")
        for wanted in found.initializers:
            there = self.initializers.get(wanted.name)
            if there is None or there.data_type != wanted.data_type or list(there.dims) != list(wanted.dims):
                raise DisagreesError(f"tensor '{wanted.name}' differs")
            if not np.array_equal(_bits(builder.tensor_array(there)), _bits(builder.tensor_array(wanted))):
                raise DisagreesError(f"tensor '{wanted.name}' has other values")

    def _checked_statistics(self, attributes: dict[str, Attribute], names: Sequence[str]) -> dict[str, Attribute]:
        """The attributes, without statistics that are not those of the values."""
        if STATS not in attributes:
            return attributes
        for place, name in enumerate(names):
            info = self.infos.get(name)
            said = {} if info is None else metadata.entries(info)
            wanted = metadata.statistics_of(metadata.stats_of(attributes[STATS], place))
            if {key: said.get(key) for key in metadata.STATISTICS.values() if key in said} != wanted:
                self._refuse(f"the statistics of {name}", DisagreesError("value and operation have others"))
                return {key: value for key, value in attributes.items() if key != STATS}
        return attributes

    # The module

    def finish(self, function: FuncOp) -> bool:
        """Give the function its other attributes; return whether its inputs and outputs agree."""
        text = metadata.entries(self.graph).get(metadata.FUNCTION)
        if text is None:
            return False
        before, graph = dict(function.properties), self.graph
        given = {each.name for each in graph.initializer}
        names = [
            [each.name for each in graph.input if each.name not in given],
            [each.name for each in graph.output],
        ]
        try:
            said = self.reader.dictionary(text)
            for kind, target in (("properties", function.properties), ("attributes", function.attributes)):
                entries = said[kind]
                assert isinstance(entries, DictionaryAttr)
                target.update(entries.data)
            function.verify_()
            if [[port.name for port in ports] for ports in (inputs_of(function), outputs_of(function))] != names:
                raise DisagreesError("its inputs or outputs differ")
        except (*FAULTS, DisagreesError, AssertionError) as error:
            function.properties.clear()
            function.properties.update(before)
            function.attributes.clear()
            self._refuse("the function", error)
            return False
        return True

    def module_attributes(self) -> dict[str, Attribute]:
        """What the module has besides its metadata and its producer."""
        try:
            return self.reader.dictionary(metadata.entries(self.model.proto).get(metadata.MODULE, "{}"))
        except UnreadableError as error:
            self._refuse("the module", error)
            return {}

    def report(self) -> None:
        """Warn of what was not taken up."""
        if self.refused:
            named = "; ".join(
                f"{name} ({reason})" for name, reason in list(zip(self.refused, self.reasons, strict=True))[:MAX_NAMED]
            )
            more = f" and {len(self.refused) - MAX_NAMED} more" if len(self.refused) > MAX_NAMED else ""
            _warn(f"{self.model.name}: ignoring metadata that does not match the graph: {named}{more}")


def _warn(message: str) -> None:
    emit(Diagnostic(Severity.WARNING, message))


def _bits(array: Any) -> Any:
    """The array by its bits: NaN is NaN."""
    return array if array.dtype.kind in "iuO" or not array.ndim else array.view(f"u{array.dtype.itemsize}")


def _plain(node: NodeProto) -> tuple[Any, ...]:
    """What a node computes: without its name and what is said of it."""
    attributes = sorted((each.name, each.SerializeToString(deterministic=True)) for each in node.attribute)
    domain = "" if node.domain == "ai.onnx" else node.domain
    return node.op_type, domain, node.overload, list(node.input), list(node.output), attributes
