"""Exports a module with one function as an ONNX model.

The model's metadata contains the text of the module, so that importing an exported model restores the module
(`qmlir.onnx.restoring`).
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import cast

from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, defs, helper
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, OpResult, SSAValue

from qmlir import registry
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.ir.diagnostics import op_error, text_error, unknown
from qmlir.ir.exception_boundary import faults_from_outside
from qmlir.ir.provenance import origins_of
from qmlir.ir.signature import Port, inputs_of, outputs_of
from qmlir.onnx.export import naming
from qmlir.onnx.export.control import SILENT, ControlWriter, is_structured, nested_values, of_regions, sink_constants
from qmlir.onnx.export.emission import (
    OLDEST_OPSET,
    TABLE,
    Exporter,
    ExportForm,
    NeedsOpsetError,
    NodeEmitter,
    Settings,
    has_onnx_type,
    value_info,
)
from qmlir.onnx.export.forms.choosing import exporter_of
from qmlir.onnx.export.functions import Group, with_functions
from qmlir.onnx.export.naming import ValueNames, names_of
from qmlir.onnx.export.signed_as_unsigned import unsigned_values
from qmlir.onnx.export.writing import packed_constants, written
from qmlir.onnx.order import nodes_within, subgraphs, used_tensors
from qmlir.onnx.restoring import HeldConstants, keep
from qmlir.quantization.profiles.statistics import STATS

NEWEST_OPSET = defs.onnx_opset_version()

_IR_VERSIONS = ((27, 14), (25, 13), (24, 12), (23, 11), (OLDEST_OPSET, 10))
"""Pairs of an operator set and the oldest ONNX IR version that supports it, newest first."""


@dataclass
class _ModuleExporter:
    """The state of one export."""

    module: ModuleOp
    settings: Settings
    exporters: Mapping[type[Operation], Exporter] = field(default_factory=registry.onnx_exporters)
    names: Mapping[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    node_names: ValueNames = field(default_factory=ValueNames)
    packed: Mapping[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    unsigned: AbstractSet[SSAValue] = field(default_factory=set[SSAValue])
    tables: set[str] = field(default_factory=set[str])
    """The names of shared tables added so far."""

    constants: HeldConstants = field(default_factory=HeldConstants)

    versions: dict[str, int] = field(default_factory=dict[str, int])
    """The versions of other operator sets (not ONNX's own) that operations require."""

    def run(self) -> ModelProto:
        module, function = self.module, _only_function(self.module)
        if any(map(is_structured, function.body.block.ops)):
            self.module = self.module.clone()
            function = _only_function(self.module)
            sink_constants(function)
        inputs, outputs = inputs_of(function), outputs_of(function)
        self.names, taken = names_of(function, inputs, outputs, nested_values(function))
        graph = GraphProto(name=_graph_name(self.module, function))
        self.packed = packed_constants(function, self.settings)
        self.unsigned = unsigned_values(function, self.settings, self.packed) - of_regions(function)
        self.control = ControlWriter(self.names, taken, self.node_names, self._added)
        ops = list(function.body.block.ops)
        groups = [Group(op, self._added(graph, op)) for op in ops if not isinstance(op, ReturnOp)]
        self._add_ports(graph, function, inputs, outputs)
        ends = {port.name for port in outputs}
        results = [result for op in ops for result in op.results if has_onnx_type(result.type)]
        graph.value_info.extend(self._info(result) for result in results if self.names[result] not in ends)
        model = self._model(graph)
        if self.settings.functions and (structured := next(filter(is_structured, ops), None)) is not None:
            raise op_error(
                structured, "has subgraphs, which require an export without local functions (functions=False)"
            )
        if self.settings.functions:
            with_functions(model, groups, [port.name for port in outputs])
        keep(model, self.constants.text(module), self.settings)
        return model

    def _added(self, graph: GraphProto, op: Operation) -> Sequence[NodeProto]:
        """Adds the nodes and tensors of an operation to the graph; returns the nodes."""
        if isinstance(op, SILENT):
            return []
        if is_structured(op):
            nodes = self.control.nodes(op)
            graph.node.extend(nodes)
            return nodes
        if op.regions:
            raise op_error(op, "cannot be exported: it has a region")
        if not isinstance(op, ConstantOp):
            exporter_of(NodeEmitter(op, self.settings, self.names, []), op, self.exporters)
        with faults_from_outside(lambda reason: op_error(op, f"cannot be exported: its exporter failed: {reason}")):
            found = written(op, self.settings, self.names, self.exporters, self.packed, self.unsigned)
        if isinstance(op, ConstantOp):
            self.constants.add(op, found.initializers[0])
        elif not found.nodes:
            where = registry.of_package(self.exporters.get(type(op)))
            raise op_error(op, f"cannot be exported: its exporter adds no node{where}")
        for node in found.nodes:
            own = "+".join(map(str, origins_of(op))) or self.names[op.results[0]]
            node.name = self.node_names.take(own if len(found.nodes) == 1 else "", f"{own}/{node.op_type}")
        graph.node.extend(found.nodes)
        for domain, number in found.versions.items():
            if self.versions.setdefault(domain, number) != number:
                other = self.versions[domain]
                raise op_error(op, f"uses version {number} of operator set '{domain}', but other nodes use {other}")
        for tensor in found.initializers:
            if not tensor.name.startswith(TABLE) or tensor.name not in self.tables:
                graph.initializer.append(tensor)
                self.tables.add(tensor.name)
        return found.nodes

    def _add_ports(self, graph: GraphProto, function: FuncOp, inputs: Sequence[Port], outputs: Sequence[Port]) -> None:
        said = function.arg_attrs.data if function.arg_attrs is not None else [DictionaryAttr({})] * len(inputs)
        # ONNX Runtime infers types in branches that these sizes may never take, and rejects mismatches there. So inputs
        # that are used in branches are declared with dynamic sizes.
        in_branches = {name for node in graph.node if subgraphs(node) for name in used_tensors(node)}
        for argument, port, entry in zip(function.body.block.args, inputs, said, strict=True):
            if not has_onnx_type(argument.type):
                raise text_error(f"input '{port.name}' has type {argument.type}, which ONNX does not support")
            info = value_info(port.name, argument.type, port.dims)
            naming.write(info, naming.statistics_of(naming.stats_of(entry.data.get(STATS), 0)))
            if port.name in in_branches:
                for dim in info.type.tensor_type.shape.dim:
                    dim.ClearField("dim_value")
            graph.input.append(info)
        terminator = function.body.block.last_op
        assert isinstance(terminator, ReturnOp)
        for value, port in zip(terminator.operands, outputs, strict=True):
            if not has_onnx_type(value.type):
                raise text_error(f"output '{port.name}' has type {value.type}, which ONNX does not support")
            info = value_info(port.name, value.type, port.dims)
            if self.names[value] == port.name:
                naming.write(info, _statistics(value))
            else:  # the value is also an input or another output
                graph.node.append(helper.make_node("Identity", [self.names[value]], [port.name]))
            graph.output.append(info)

    def _info(self, value: SSAValue) -> ValueInfoProto:
        """Returns the declaration of a value: its exported type and its statistics."""
        info = value_info(self.names[value], value.type)
        if value in self.packed:
            info.type.tensor_type.elem_type = self.packed[value]
        if value in self.unsigned:
            info.type.tensor_type.elem_type = TensorProto.UINT8
        naming.write(info, _statistics(value))
        return info

    def _model(self, graph: GraphProto) -> ModelProto:
        opsets = [helper.make_opsetid("", self.settings.opset)]
        domains = {node.domain for node in nodes_within(graph.node)} - {""}
        opsets += [helper.make_opsetid(domain, self.versions.get(domain, 1)) for domain in sorted(domains)]
        ir_version = next(ir for opset, ir in _IR_VERSIONS if self.settings.opset >= opset)
        model = helper.make_model(graph, opset_imports=opsets, ir_version=ir_version)
        given = self.module.attributes
        producer = given.get("nn.producer")
        model.producer_name, model.producer_version = "qmlir", version("qmlir")
        if isinstance(producer, StringAttr):
            model.producer_name, _, model.producer_version = producer.data.partition(" ")
        for pair in cast(ArrayAttr[ArrayAttr[StringAttr]], given.get("nn.metadata", ArrayAttr([]))):
            key, value = pair
            model.metadata_props.add(key=key.data, value=value.data)
        if "nn.producer" not in given:
            naming.write(model, {naming.PRODUCER: ""})
        return model


def _graph_name(module: ModuleOp, function: FuncOp) -> str:
    name = module.sym_name
    return name.data if name is not None else function.sym_name.data


def _only_function(module: ModuleOp) -> FuncOp:
    functions = [op for op in module.ops if isinstance(op, FuncOp)]
    if len(functions) != 1 or len(list(module.ops)) != 1 or functions[0].is_declaration:
        found = ", ".join(f"'{op.name}'" for op in module.ops)
        raise text_error(f"ONNX export requires a module with one function, but got {found or 'none'}")
    (function,) = functions
    if not isinstance(function.body.block.last_op, ReturnOp):
        raise text_error(f"function '{function.sym_name.data}' must end in func.return")
    return function


def _statistics(value: SSAValue) -> dict[str, str]:
    """Returns the metadata entries for the statistics of a value."""
    if not isinstance(value, OpResult):
        return {}
    return naming.statistics_of(naming.stats_of(value.op.attributes.get(STATS), value.index))


def chosen_form(form: str) -> ExportForm:
    """Returns the export format named `form`. Raises `DiagnosticError` if there is none."""
    try:
        return ExportForm(form)
    except ValueError:
        raise text_error(unknown("form", form, ExportForm)) from None


def export_model(
    module: ModuleOp,
    *,
    format: str = ExportForm.QDQ,
    opset: int | None = None,
    exact: bool | None = None,
    functions: bool = False,
    signed: bool = False,
) -> ModelProto:
    """Exports a module with one function, at a level above integers, as an ONNX model.

    `format` selects the format of operations on quantized values. `opset` is the version of ONNX's operator set, by
    default the oldest version that supports the module, at least 21. With `exact`, every ONNX Runtime session computes
    the same integers: the format `qdq` uses integer arithmetic if floats between casts might round differently. By
    default, only sessions with optimizations, which fuse casts with the operators between them, compute the same
    integers. `False` keeps all supported operations between casts, and constant weights signed. `functions` exports
    composites of several nodes as local functions. `signed` keeps signed 8-bit integers; by default, operands of
    contractions are exported as unsigned integers shifted by 128, because ONNX Runtime saturates products of signed
    integers on x86 CPUs without VNNI.

    Raises `DiagnosticError` with the name of the operation if an operation can't be exported.
    """
    chosen = chosen_form(format)
    if opset is not None and not OLDEST_OPSET <= opset <= NEWEST_OPSET:
        raise text_error(f"opset must be in [{OLDEST_OPSET}, {NEWEST_OPSET}], but got {opset}")
    settings = Settings(chosen, opset or OLDEST_OPSET, exact=exact, functions=functions, signed=signed)
    while True:
        try:
            return _ModuleExporter(module, settings).run()
        except NeedsOpsetError as error:
            if opset is not None:
                raise op_error(
                    error.op,
                    f"requires operator set {error.opset} for {error.what}, but got {opset}; help: pass --opset "
                    f"{error.opset} (opset={error.opset})",
                ) from error
            if error.opset > NEWEST_OPSET:
                raise op_error(
                    error.op,
                    f"requires operator set {error.opset} for {error.what}, but the installed 'onnx' supports up to "
                    f"{NEWEST_OPSET}",
                ) from error
            settings = replace(settings, opset=error.opset)
