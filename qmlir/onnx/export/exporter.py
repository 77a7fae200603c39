"""Exports a module with one function as an ONNX model.

The model's metadata contains the text of the module, so that importing an exported model restores the module
(`qmlir.onnx.metadata`).
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from itertools import groupby
from typing import TypeAlias

from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, defs, helper
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from qmlir import registry
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.ir.control_flow import terminator_of
from qmlir.ir.diagnostics import op_error, text_error, unknown
from qmlir.ir.exception_boundary import faults_from_outside
from qmlir.ir.provenance import origins_of, tensor_name
from qmlir.ir.signature import Port, inputs_of, outputs_of
from qmlir.onnx import metadata
from qmlir.onnx.export import emission
from qmlir.onnx.export.choosing import exporter_of, packed_constants, write, write_constant
from qmlir.onnx.export.control import SILENT, ControlWriter, is_structured, nested_values, of_regions, sink_constants
from qmlir.onnx.export.corrections import Correction, corrections
from qmlir.onnx.export.emission import (
    OLDEST_OPSET,
    Exporter,
    ExportForm,
    NeedsOpsetError,
    NodeEmitter,
    Settings,
    ValueNames,
)
from qmlir.onnx.export.qlinear import absorbed_weights
from qmlir.onnx.export.signed_as_unsigned import unsigned_values, write_as_held
from qmlir.onnx.protos import nodes_within, subgraphs, used_tensors

NEWEST_OPSET = defs.onnx_opset_version()

_IR_VERSIONS = ((27, 14), (25, 13), (24, 12), (23, 11), (OLDEST_OPSET, 10))
"""Pairs of an operator set and the oldest ONNX IR version that supports it, newest first."""


def _wishes(value: SSAValue) -> list[str]:
    """Returns possible names of a value, best first."""
    if not isinstance(value, OpResult):
        return [value.name_hint or "", "value"]
    op = value.op
    part = "_".join(str(origin) for origin in origins_of(op)[:1])
    return [tensor_name(value), value.name_hint or "", part, op.name.rpartition(".")[2]]


def _names_of(
    function: FuncOp, inputs: Sequence[Port], outputs: Sequence[Port], nested: Iterable[SSAValue]
) -> tuple[dict[SSAValue, str], ValueNames]:
    """Returns a unique name for each value of a function, and the set of these names.

    A returned value gets the name of its output. `nested` contains values inside regions, which also get unique names.
    """
    names = ValueNames([port.name for port in (*inputs, *outputs)])
    ports = zip(function.body.block.args, inputs, strict=True)
    found: dict[SSAValue, str] = {argument: port.name for argument, port in ports}
    used = set(found.values())
    for value, port in zip(terminator_of(function.body.block).operands, outputs, strict=True):
        if not isinstance(value, BlockArgument) and value not in found and port.name not in used:
            found[value] = port.name
            used.add(port.name)
    # Components of a node may ask for the name of its output tensor; a value with this name in the model has priority.
    rest = [result for op in function.body.block.ops for result in op.results if result not in found]
    for value in (*sorted(rest, key=lambda value: not tensor_name(value)), *nested):
        found[value] = names.take(*_wishes(value))
    return found, names


@dataclass
class _ModuleExporter:
    """The state of one export."""

    module: ModuleOp
    settings: Settings
    exporters: Mapping[type[Operation], Exporter] = field(default_factory=registry.onnx_exporters)
    names: Mapping[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    taken: ValueNames = field(default_factory=ValueNames)
    node_names: ValueNames = field(default_factory=ValueNames)
    packed: Mapping[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    unsigned: AbstractSet[SSAValue] = field(default_factory=set[SSAValue])
    absorbed: AbstractSet[Operation] = frozenset()
    """The operations that need no nodes, because MatMulNBits holds their weights."""

    corrections: Mapping[Operation, Correction] = field(default_factory=dict[Operation, Correction])
    """The contractions with a zero point known only at run time, by the last operation of each."""

    tensors: set[str] = field(default_factory=set[str])
    """The names of the tensors added so far."""

    constants: metadata.HeldConstants = field(default_factory=metadata.HeldConstants)

    versions: dict[str, int] = field(default_factory=dict[str, int])
    """The versions of other operator sets (not ONNX's own) that operations require."""

    def run(self) -> ModelProto:
        module, function = self.module, _only_function(self.module)
        if any(map(is_structured, function.body.block.ops)):
            self.module = self.module.clone()
            function = _only_function(self.module)
            sink_constants(function)
        self.annotations = metadata.Annotations(module)
        inputs, outputs = inputs_of(function), outputs_of(function)
        self.names, self.taken = _names_of(function, inputs, outputs, nested_values(function))
        graph = GraphProto(name=(self.module.sym_name or function.sym_name).data)
        self.packed = packed_constants(function, self.settings)
        self.unsigned = unsigned_values(function, self.settings, self.packed) - of_regions(function)
        self.control = ControlWriter(self.names, self.taken, self.node_names, self._added)
        self.absorbed = absorbed_weights(function) if self.settings.form is ExportForm.QOPERATOR else frozenset()
        self.corrections, corrected = corrections(function)
        ops = [op for op in function.body.block.ops if op not in self.absorbed | corrected]
        groups = [(op, self._added(graph, op)) for op in ops if not isinstance(op, ReturnOp)]
        self._add_ports(graph, function, inputs, outputs)
        ends = {port.name for port in outputs}
        results = [result for op in ops for result in op.results if emission.has_onnx_type(result.type)]
        graph.value_info.extend(self._info(result) for result in results if self.names[result] not in ends)
        self.annotations.add_to_tensors(graph)
        model = self._model(graph)
        if self.settings.functions:
            for op in filter(is_structured, ops):
                raise op_error(op, "has subgraphs, which require an export without local functions (functions=False)")
            _move_to_functions(model, groups, {port.name for port in outputs})
        if not self.absorbed:  # the text of the module would hold their weights a second time
            metadata.keep(model, self.constants.text(module), self.settings)
        return model

    def _added(self, graph: GraphProto, op: Operation) -> Sequence[NodeProto]:
        """Adds the nodes and tensors of an operation to the graph; returns the nodes."""
        if isinstance(op, SILENT):
            return []
        if is_structured(op):
            nodes = self.control.nodes(op)
            self.annotations.add_to_nodes(op, nodes)
            graph.node.extend(nodes)
            return nodes
        if op.regions:
            raise op_error(op, "cannot be exported: it has a region")
        outputs = [self.names[result] for result in op.results]
        found = NodeEmitter(op, self.settings, self.names, outputs, packed=self.packed, taken=self.taken)
        if isinstance(op, ConstantOp):
            write_constant(found, op, self.unsigned)
            self.constants.add(op, found.initializers[0])
        else:
            exporter, corrected = exporter_of(op, self.exporters), self.corrections.get(op)
            with faults_from_outside(lambda reason: op_error(op, f"cannot be exported: its exporter failed: {reason}")):
                if corrected is not None:
                    names = self.names[corrected.data], self.names[corrected.zero_point]
                    whole = replace(found, op=corrected.product)
                    write_as_held(whole, whole.op, self.unsigned, lambda out, op: corrected.write(out, op, *names))
                else:
                    write_as_held(found, op, self.unsigned, lambda out, op: write(out, op, self.exporters))
            if not found.nodes:
                where = registry.of_package(exporter)
                raise op_error(op, f"cannot be exported: its exporter adds no node{where}")
        for node in found.nodes:
            own = "+".join(map(str, origins_of(op))) or self.names[op.results[0]]
            node.name = self.node_names.take(own if len(found.nodes) == 1 else "", f"{own}/{node.op_type}")
        self.annotations.add_to_nodes(op, found.nodes)
        graph.node.extend(found.nodes)
        for domain, number in found.versions.items():
            if self.versions.setdefault(domain, number) != number:
                other = self.versions[domain]
                raise op_error(op, f"uses version {number} of operator set '{domain}', but other nodes use {other}")
        for tensor in found.initializers:
            if tensor.name not in self.tensors:  # operations share tables
                graph.initializer.append(tensor)
                self.tensors.add(tensor.name)
        return found.nodes

    def _add_ports(self, graph: GraphProto, function: FuncOp, inputs: Sequence[Port], outputs: Sequence[Port]) -> None:
        # ONNX Runtime infers types in branches that these sizes may never take, and rejects mismatches there. So inputs
        # that are used in branches are declared with dynamic sizes.
        in_branches = {name for node in graph.node if subgraphs(node) for name in used_tensors(node)}
        for argument, port in zip(function.body.block.args, inputs, strict=True):
            info = _port_info("input", argument, port)
            metadata.write_statistics(info, argument)
            if port.name in in_branches:
                for dim in info.type.tensor_type.shape.dim:
                    dim.ClearField("dim_value")
            graph.input.append(info)
        for value, port in zip(terminator_of(function.body.block).operands, outputs, strict=True):
            info = _port_info("output", value, port)
            if self.names[value] == port.name:
                metadata.write_statistics(info, value)
            else:  # the value is also an input or another output
                graph.node.append(helper.make_node("Identity", [self.names[value]], [port.name]))
            graph.output.append(info)

    def _info(self, value: SSAValue) -> ValueInfoProto:
        """Returns the declaration of a value: its exported type and its statistics."""
        info = emission.value_info(self.names[value], value.type)
        if value in self.packed:
            info.type.tensor_type.elem_type = self.packed[value]
        if value in self.unsigned:
            info.type.tensor_type.elem_type = TensorProto.UINT8
        metadata.write_statistics(info, value)
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
        for key, value in metadata.pairs_in(given.get("nn.metadata")):
            model.metadata_props.add(key=key, value=value)
        metadata.describe(model, given.get(metadata.DESCRIPTION))
        if "nn.producer" not in given:
            metadata.write(model, {metadata.PRODUCER: ""})
        return model


def _port_info(what: str, value: SSAValue, port: Port) -> ValueInfoProto:
    """Returns the declaration of an input or output. Raises `DiagnosticError` if ONNX doesn't support its type."""
    if not emission.has_onnx_type(value.type):
        raise text_error(f"{what} '{port.name}' has type {value.type}, which ONNX does not support")
    return emission.value_info(port.name, value.type, port.dims)


def _only_function(module: ModuleOp) -> FuncOp:
    functions = [op for op in module.ops if isinstance(op, FuncOp)]
    if len(functions) != 1 or len(list(module.ops)) != 1 or functions[0].is_declaration:
        found = ", ".join(f"'{op.name}'" for op in module.ops)
        raise text_error(f"ONNX export requires a module with one function, but got {found or 'none'}")
    (function,) = functions
    if not isinstance(function.body.block.last_op, ReturnOp):
        raise text_error(f"function '{function.sym_name.data}' must end in func.return")
    return function


# --- Local functions for composites -----------------------------------------------------------------------------------
#
# Each contains the nodes of one operation, or of the components of one model node. Tensors have the same names inside
# and outside a function. Each function has a single call.

DOMAIN = "qmlir"
"""The domain of local functions in exported models."""


_Group: TypeAlias = tuple[Operation, Sequence[NodeProto]]
"""An operation and its nodes."""


def _composite(op: Operation) -> tuple[str, str] | None:
    """Returns name and operator of the model node that an operation is a component of, or `None`."""
    origins = origins_of(op)
    if len(origins) != 1 or not origins[0].role:
        return None
    return origins[0].name, origins[0].op_type


def _runs(groups: Iterable[_Group]) -> Iterator[list[_Group]]:
    """Groups adjacent components of one composite; every other operation is a separate group."""
    with_nodes = (group for group in groups if not isinstance(group[0], ConstantOp))
    for _, run in groupby(with_nodes, lambda group: _composite(group[0]) or id(group)):
        yield list(run)


_NO_NAME = re.compile(r"[^A-Za-z0-9_]+")


def _function_name(run: Sequence[_Group]) -> str:
    first, _ = run[0]
    composite, origins = _composite(first), origins_of(first)
    kind = composite[1] if composite and composite[1] else first.name.rpartition(".")[2]
    own = origins[0].name if composite and origins else "_".join(map(str, origins))
    return _NO_NAME.sub("_", f"{kind}_{own}" if own else kind).strip("_")


def _move_to_functions(model: ModelProto, groups: Sequence[_Group], outputs: AbstractSet[str]) -> None:
    """Moves the nodes of each composite with several nodes into a function, and replaces them with a call."""
    graph = model.graph
    rest = list(graph.node)[sum(len(nodes) for _, nodes in groups) :]
    uses = Counter(name for node in graph.node for name in node.input)
    names, nodes = ValueNames(), list[NodeProto]()
    infos = {each.name: each for each in graph.value_info}
    for run in _runs(groups):
        body = [node for _, own in run for node in own]
        if len(body) < 2:
            nodes.extend(body)
            continue
        function = FunctionProto(name=names.take(_function_name(run)), domain=DOMAIN)
        function.opset_import.extend(model.opset_import)
        inside = {name for node in body for name in node.output if name}
        used = [name for node in body for name in node.input if name]
        function.input.extend(dict.fromkeys(name for name in used if name not in inside))
        function.output.extend(
            name
            for node in body
            for name in node.output
            if name and (name in outputs or uses[name] > used.count(name) or name not in used)
        )
        function.node.extend(body)
        kept = inside - set(function.output)
        function.value_info.extend(infos.pop(name) for name in list(infos) if name in kept)
        origins = dict.fromkeys(origin.name for op, _ in run for origin in origins_of(op))
        function.doc_string = ", ".join(origins)
        model.functions.append(function)
        nodes.append(helper.make_node(function.name, function.input, function.output, function.name, domain=DOMAIN))
    del graph.node[:]
    graph.node.extend([*nodes, *rest])
    del graph.value_info[:]
    graph.value_info.extend(infos.values())
    if model.functions:
        model.opset_import.append(helper.make_opsetid(DOMAIN, 1))


# --- The whole model --------------------------------------------------------------------------------------------------


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
    try:
        chosen = ExportForm(format)
    except ValueError:
        raise text_error(unknown("form", format, ExportForm)) from None
    if opset is not None and not OLDEST_OPSET <= opset <= NEWEST_OPSET:
        raise text_error(f"opset must be in [{OLDEST_OPSET}, {NEWEST_OPSET}], but got {opset}")
    settings = Settings(chosen, opset or OLDEST_OPSET, exact=exact, functions=functions, signed=signed)
    while True:
        try:
            return _ModuleExporter(module, settings).run()
        except NeedsOpsetError as error:
            reason = f"but the installed 'onnx' supports up to {NEWEST_OPSET}"
            if opset is not None:
                reason = f"but got {opset}; help: pass --opset {error.opset} (opset={error.opset})"
            elif error.opset <= NEWEST_OPSET:
                settings = replace(settings, opset=error.opset)
                continue
            message = f"requires operator set {error.opset} for {error.what}, {reason}"
            raise op_error(error.op, message) from error
