"""Imports an ONNX graph as one function. A node becomes one operation if `nn` has its operator."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, TypeProto, helper
from onnx.shape_inference import InferenceError
from onnx.version_converter import ConvertError, convert_version
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from qmlir import registry
from qmlir.dialects.nn.base import shapes_agree
from qmlir.dialects.nn.dynamic.ops import DynamicQuantizeOp
from qmlir.dialects.nn.training.ops import BatchNormTrainingOp, DropoutOp
from qmlir.dialects.quant.types import QuantizedType
from qmlir.formats.graph import suggest_name
from qmlir.ir.builtin_types import AnyTensor, ranked_tensor
from qmlir.ir.diagnostics import DiagnosticError, text_error, warn
from qmlir.ir.exception_boundary import faults_from_outside
from qmlir.ir.provenance import Origin, name_results, origins_of
from qmlir.ir.signature import set_ports
from qmlir.ir.verification import verify
from qmlir.onnx import checking, islands, metadata, ports, protos
from qmlir.onnx.control import STRUCTURED, Control, NoRegionForm
from qmlir.onnx.graph import GraphBuilder
from qmlir.onnx.node import Node
from qmlir.onnx.protos import RefusedNodeError, describe_node, node_error, node_name, operator_key, verification_error
from qmlir.onnx.reading import OnnxModel
from qmlir.onnx.signatures import MAX_CALL_DEPTH, Functions, bound_nodes, definition, without_inputs
from qmlir.specialization.specialize import specialize

OLDEST_OPSET = 7
"""The oldest supported version of ONNX's operator set. ONNX's version converter upgrades older models to it."""

_IN_TRAINING: Mapping[type[Operation], str] = {
    BatchNormTrainingOp: "normalizes by the mean and the variance of each batch",
    DropoutOp: "drops elements at random",
}
"""Descriptions of the effects of operations that are intended for training, for messages."""


@dataclass
class _Scope:
    """The scope of one graph or function: its block, values by name, and the versions of its operator sets."""

    builder: GraphBuilder
    opsets: Mapping[str, int]
    values: dict[str, SSAValue] = field(default_factory=dict[str, SSAValue])
    initializers: Mapping[str, TensorProto] = field(default_factory=dict[str, TensorProto])
    declared: Mapping[str, AnyTensor] = field(default_factory=dict[str, AnyTensor])
    types: Mapping[str, str] = field(default_factory=dict[str, str])
    """The declared types of tensors, without shapes, by name."""

    call: Origin | None = None
    """The node that calls the function being inlined, if any."""


def _check_given(
    node: NodeProto, found: Sequence[SSAValue | None], declared: Mapping[str, AnyTensor], where: str
) -> None:
    """Raises `DiagnosticError` if the importer of a package returns values that don't match the outputs of its node."""
    if len(found) > len(node.output):
        raise node_error(node, f"its importer must return {len(node.output)} values, but returned {len(found)}{where}")
    for name, value in zip(node.output, found, strict=False):
        if not name:
            continue
        if value is None:
            raise node_error(node, f"its importer returned None for the output '{name}'{where}")
        if isinstance(value.owner, Operation) and value.owner.parent is None:
            raise node_error(node, f"its importer returned a value for '{name}' that is not in the module{where}")
        wanted, type_ = declared.get(name), ranked_tensor(value.type)
        if wanted is None:
            continue
        element = None if type_ is None else type_.get_element_type()
        is_alike = element == wanted.get_element_type() or isinstance(element, QuantizedType)
        if type_ is None or not is_alike or not shapes_agree(type_.get_shape(), wanted.get_shape()):
            text = f"its importer gives a value of type {value.type} for '{name}', which the model declares as {wanted}"
            raise node_error(node, f"{text}{where}")


@dataclass
class _ModelImporter:
    """The state of one import."""

    model: OnnxModel
    operators: islands.Operators
    is_training_expected: bool
    names: Counter[str] = field(default_factory=Counter[str])

    def run(self, shapes: Mapping[str, Sequence[int]]) -> ModuleOp:
        graph = self.model.proto.graph
        versions = checking.opsets(self.model.proto.opset_import)
        if graph.sparse_initializer:
            raise text_error(f"tensor '{graph.sparse_initializer[0].values.name}' is sparse, which is not supported")
        if not graph.output:
            raise text_error(f"{self.model.name} has no outputs")
        nodes = protos.needed_nodes(graph)
        self.operators.check(nodes, versions, self.model.name)
        checking.check_nodes(self.model.proto)
        checking.check_standard(self.model, {name for node in nodes for name in node.input})
        self.operators.functions.check_size(graph.node)
        inputs = ports.input_ports(self.model.proto, shapes)
        self._tell_defaults()
        self.names.update(map(node_name, nodes))
        function = FuncOp("main", FunctionType.from_lists([port.type for port in inputs], []))
        block = function.body.block
        values: dict[str, SSAValue] = {port.name: value for port, value in zip(inputs, block.args, strict=True)}
        initializers = {each.name: each for each in graph.initializer}
        declared = ports.declared_types(graph) if not shapes else {}
        infos = (each for each in graph.value_info if each.type.WhichOneof("value"))
        types = {each.name: ports.declared_name(each.type) for each in infos}
        scope = _Scope(GraphBuilder(block, self.model.directory), versions, values, initializers, declared, types)
        for port in inputs:
            suggest_name(scope.values[port.name], port.name)
        self._import_nodes(nodes, scope, {each.name for each in graph.output})
        outputs = self._outputs(scope)
        block.add_op(ReturnOp(*outputs))
        function.update_function_type()
        set_ports(function, inputs, list(map(ports.output_port, graph.output, outputs)))
        scope.builder.sweep()
        if not self.is_training_expected:
            self._warn_of_training(function)
        kept = {origin.name for op in function.walk() for origin in origins_of(op)}
        named = {name: node for node in nodes if (name := self._origin(node, scope).name) in kept}
        module = ModuleOp([function], _metadata(self.model) | metadata.annotations(graph, named))
        _follow_producer(module, self.model)
        self.operators.tell_islands(module, self.model.name)
        metadata.take_ranges(graph, module)
        verify(module)
        return module

    def _outputs(self, scope: _Scope) -> list[SSAValue]:
        """Returns the values of the graph's outputs, with their declared types."""
        outputs: list[SSAValue] = []
        for each in self.model.proto.graph.output:
            value = self._value(each.name, scope, None)
            found, declared = ports.type_name(value), ports.declared_name(each.type)
            if each.type.WhichOneof("value") and found not in (None, declared):
                raise text_error(f"output '{each.name}' is declared as {declared}, but is {found}")
            outputs.append(value)
        return outputs

    def _warn_of_training(self, function: FuncOp) -> None:
        """Warns if results depend on the batch or on random numbers, and suggests a fix."""
        found = [
            f"{what} ({protos.shown_names(names)})"
            for kind, what in _IN_TRAINING.items()
            if (names := [str(origin) for op in function.walk() if isinstance(op, kind) for origin in origins_of(op)])
        ]
        if not found:
            return
        message = (
            f"{self.model.name} is in training mode: it {' and '.join(found)}, so its results vary; --strip-training, "
            "or strip_training=True, reads it as it is at inference"
        )
        warn(message)

    def _tell_defaults(self) -> None:
        """Warns about inputs whose default values are not used."""
        proto = self.model.proto
        if not (names := ports.replaceable_defaults(proto)):
            return
        given = {each.name for each in proto.graph.initializer}
        others = ",".join(each.name for each in proto.graph.input if each.name not in given)
        shown = protos.shown_names(list(names))
        message = (
            f"{self.model.name} has defaults for its inputs {shown}, which every call must pass; "
            f"help: --cut-inputs {others}, or cut_inputs= of qmlir.load, makes the defaults constants"
        )
        warn(message)

    # Nodes

    def _import_nodes(self, nodes: Iterable[NodeProto], scope: _Scope, wanted: Collection[str] | None = None) -> None:
        """Imports `nodes` into `scope`; `wanted` contains the tensors that are used after them, `None` means all.

        If an importer rejects a node, that node is put into an island, and the remaining nodes are reordered.
        """
        waiting, refused = list(nodes), islands.RefusedNodes()
        while waiting:
            waiting = self._import_until_refused(waiting, refused, scope, wanted)

    def _import_until_refused(
        self, nodes: Sequence[NodeProto], refused: islands.RefusedNodes, scope: _Scope, wanted: Collection[str] | None
    ) -> list[NodeProto]:
        """Imports nodes until one is rejected and added to `refused`; returns that node and the remaining ones."""
        steps = islands.with_islands(nodes, self._missing(nodes, scope) | refused.positions(nodes), wanted)
        for position, step in enumerate(steps):
            try:
                if isinstance(step, islands.Island):
                    self._import_island(step, refused.reasons(step.nodes), scope)
                elif islands.is_structured(step):
                    self._import_structured(step, scope)
                else:
                    self._import_operation(step, scope)
            except RefusedNodeError as refusal:
                if isinstance(step, islands.Island) or not self.operators.may_be_island(step):
                    raise
                refused.add(step, refusal)
            except islands.UnknownRankError as error:
                assert isinstance(step, islands.Island)
                left = [node for each in steps[position + 1 :] for node in islands.nodes_of(each)]
                users = [node for node in left if error.tensor in protos.used_tensors(node)]
                is_inside = wanted is not None and error.tensor not in wanted
                if not is_inside or not all(map(self.operators.may_be_island, users)):
                    raise refused.first(step.nodes) or error from error
                for user in users:
                    refused.add(user, RefusedNodeError(user, islands.OPEN_RANK))
            except DiagnosticError as error:
                first = refused.first(step.nodes) if isinstance(step, islands.Island) else None
                raise (first or error) from (error if first else error.__cause__)
            else:
                continue
            return [node for each in steps[position:] for node in islands.nodes_of(each)]
        return []

    def _import_operation(self, node: NodeProto, scope: _Scope) -> None:
        """Adds the operations of a node, by its importer or its function definition."""
        for name in node.input:
            if self._is_text(name, scope):
                raise RefusedNodeError(node, f"uses '{name}', a string constant, which is not supported")
        inputs = tuple(self._value(name, scope, node) if name else None for name in node.input)
        builder = scope.builder
        first = builder.block.last_op
        try:
            results = self._import_node(node, inputs, scope)
        except RefusedNodeError:
            builder.drop_after(first)
            raise
        added = builder.block.first_op if first is None else first.next_op
        results = builder.settle(added, results)
        self._enter_results(node, results, scope)

    def _enter_results(self, node: NodeProto, values: Sequence[SSAValue | None], scope: _Scope) -> None:
        """Binds the outputs of a node to `values`, which are named after them."""
        for name, value in zip(node.output, values, strict=False):
            if name and value is not None:
                self._enter(node, name, value, scope)
        if scope.call is None:
            name_results([scope.values.get(name) for name in node.output], node.output)

    def _enter(self, node: NodeProto, name: str, value: SSAValue, scope: _Scope) -> None:
        """Binds `name` to `value`, refined by the declared type. Raises `DiagnosticError` if the types contradict."""
        declared, found = scope.types.get(name), ports.type_name(value)
        if declared is not None and found not in (None, declared):
            raise node_error(node, f"'{name}' is declared as {declared}, but the node returns {found}")
        if name in scope.declared:
            refined = self._refined(node, name, value, scope)
            if refined is not value:  # an Identity may have bound other names to it
                aliases = [alias for alias, known in scope.values.items() if known is value]
                scope.values.update(dict.fromkeys(aliases, refined))
                value = refined
        scope.values[name] = value
        suggest_name(value, name)

    def _import_structured(self, node: NodeProto, scope: _Scope) -> None:
        """Imports a node with subgraphs: as regions, as one branch if the condition is known, or else as islands."""
        inputs = tuple(self._value(name, scope, node) if name else None for name in node.input)
        graphs = protos.subgraphs(node)
        condition = inputs[0] if node.op_type == "If" else None
        known = None if condition is None else scope.builder.constant_value(condition)
        if (branch := islands.chosen_branch(node, known)) is not None:
            graphs = [branch]
        for graph in graphs:
            for name in protos.captured_tensors(graph):  # a tensor used by several graphs or nodes is a single value
                self._value(name, scope, node)
        origin = self._origin(node, scope)

        def inside(graph: GraphProto, builder: GraphBuilder, given: Sequence[SSAValue]) -> _Scope:
            if graph.sparse_initializer:
                raise NoRegionForm(
                    f"contains the sparse tensor '{graph.sparse_initializer[0].values.name}', which is not supported"
                )
            own = dict(zip((each.name for each in graph.input), given, strict=True))
            initializers = {each.name: each for each in graph.initializer}
            declared = ports.declared_types(graph) if scope.declared else {}
            return _Scope(builder, scope.opsets, {**scope.values, **own}, initializers, declared, call=origin)

        def import_graph(graph: GraphProto, builder: GraphBuilder, given: Sequence[SSAValue]) -> list[SSAValue]:
            checking.check_branch(graph, scope.opsets, self.operators.functions)
            self.operators.check(graph.node, scope.opsets, self.model.name)
            inner = inside(graph, builder, given)
            self._import_nodes(graph.node, inner, {each.name for each in graph.output})
            return [self._value(each.name, inner, node) for each in graph.output]

        def import_island(
            graph: GraphProto, builder: GraphBuilder, types: Sequence[AnyTensor], reason: str
        ) -> list[SSAValue]:
            inner = replace(inside(graph, builder, []), declared={})
            given = {each.name: type_ for each, type_ in zip(graph.output, types, strict=True)}
            self._add_island(islands.island_of(graph.node, given), reason, inner, [origin], given)
            return [self._value(each.name, inner, node) for each in graph.output]

        if condition is not None and len(graphs) == 1:
            values: Sequence[SSAValue] = import_graph(graphs[0], scope.builder, [])
        else:
            as_island = import_island if self.operators.fallback else None
            try:
                values = STRUCTURED[node.op_type](Control(self._node(node, inputs, scope), import_graph, as_island))
            except (NoRegionForm, DiagnosticError) as refused:
                if not self.operators.fallback and isinstance(refused, NoRegionForm):
                    raise node_error(node, f"{refused}: the operator is unsupported") from refused
                if not self.operators.fallback:
                    raise
                reason = protos.reason_of(refused) if isinstance(refused, DiagnosticError) else str(refused)
                self._import_island(islands.island_of([node]), {operator_key(node): reason}, scope)
                return
        self._enter_results(node, values, scope)

    # Islands

    def _missing(self, nodes: Sequence[NodeProto], scope: _Scope) -> set[int]:
        """Returns the indices of the nodes that must be in islands."""
        found = {position for position, node in enumerate(nodes) if not self.operators.has(node, scope.opsets)}
        if found and scope.call is None:  # optional values and maps stay inside islands, together with their users
            for position, node in enumerate(nodes):
                if islands.untyped_here(self._types, (*node.input, *node.output)):
                    found.add(position)
        return found

    @cached_property
    def _types(self) -> Mapping[str, TypeProto]:
        """The declared and inferred types of the model's tensors."""
        return checking.inferred_types(self.model)

    def _import_island(self, island: islands.Island, refused: Mapping[str, str], scope: _Scope) -> None:
        """Adds the island of unsupported nodes; `refused` gives the reasons for rejected ones, by operator."""
        origins = [self._origin(node, scope) for node in island.nodes]
        self._add_island(island, islands.reason_text(island, refused), scope, origins)
        if scope.call is None:
            name_results([scope.values[name] for name in island.outputs], island.outputs)

    def _add_island(
        self,
        island: islands.Island,
        reason: str,
        scope: _Scope,
        origins: Sequence[Origin],
        types: Mapping[str, AnyTensor] | None = None,
    ) -> None:
        values = {  # a constant of strings is no value
            name: scope.initializers[name] if self._is_text(name, scope) else self._value(name, scope, island.nodes[0])
            for name in island.inputs
        }
        proto = self.model.proto
        # Subgraphs may call functions of the model.
        calls = any(protos.subgraphs(node) or self.operators.functions.find(node) is not None for node in island.nodes)
        head = ModelProto(ir_version=proto.ir_version, functions=proto.functions if calls else ())
        head.opset_import.extend(helper.make_opsetid(domain, version) for domain, version in scope.opsets.items())
        declared: Mapping[str, TypeProto] = self._types if scope.call is None else {}
        results = islands.add_island(island, values, head, scope.builder, origins, declared, reason, types)
        for name, value in zip(island.outputs, results, strict=True):
            self._enter(island.nodes[-1], name, value, scope)

    @staticmethod
    def _is_text(name: str, scope: _Scope) -> bool:
        """Returns True if a name denotes a constant of strings."""
        held = scope.initializers.get(name)
        return name not in scope.values and held is not None and held.data_type == TensorProto.STRING

    def _refined(self, node: NodeProto, name: str, value: SSAValue, scope: _Scope) -> SSAValue:
        declared, found = scope.declared[name], ranked_tensor(value.type)
        if found is None or not shapes_agree(found.get_shape(), declared.get_shape()):
            message = f"{describe_node(node)}: the model declares '{name}' as {declared}, the node gives {value.type}"
            warn(message)
            return value
        return scope.builder.refine(value, declared)

    def _import_node(
        self, node: NodeProto, inputs: tuple[SSAValue | None, ...], scope: _Scope
    ) -> Sequence[SSAValue | None]:
        """Imports a node; returns the values of its outputs, with `None` for those that the model doesn't name."""
        origin = self._origin(node, scope)
        function = self.operators.functions.find(node)
        if function is not None:
            inner = _Scope(scope.builder, checking.opsets(function.opset_import), call=origin)
            return self._inline(function, node, inputs, inner)
        version = scope.opsets[protos.domain_of(node)]
        checking.check_types(node, version, inputs)
        importer = self.operators.importers.get(operator_key(node))
        if importer is not None:
            try:
                with faults_from_outside(lambda reason: node_error(node, f"its importer failed: {reason}")):
                    results: Any = importer(self._node(node, inputs, scope))
            except VerifyException as error:  # an importer may apply type rules before it creates an operation
                raise verification_error(node, error) from error
            values: Any = [results] if isinstance(results, SSAValue) else results
            if not isinstance(values, Sequence) or not all(isinstance(v, SSAValue | None) for v in cast(Any, values)):
                what = f"its importer gives {values!r}, no value and no list of values"
                raise node_error(node, f"{what}{registry.of_package(importer)}")
            found = cast(Sequence[SSAValue | None], values)
            if where := registry.of_package(importer):
                _check_given(node, found, scope.declared, where)
            if any(node.output[len(found) :]):
                raise node_error(
                    node, f"output '{node.output[len(found)]}' is not supported (only the first {len(found)})"
                )
            return found
        types = [TypeProto() if value is None else ports.onnx_type(value) for value in inputs]
        function = definition(node, version, types)
        if function is None:
            raise RefusedNodeError(
                node, "is unsupported, and ONNX defines it in terms of other operators for some inputs only"
            )
        # A definition that depends on its inputs may omit operator sets: it then uses those of the model.
        versions = {**scope.opsets, **checking.opsets(function.opset_import)}
        self.operators.check(function.node, versions, self.model.name)
        return self._inline(function, node, inputs, _Scope(scope.builder, versions, call=origin), version)

    def _node(self, node: NodeProto, inputs: tuple[SSAValue | None, ...], scope: _Scope) -> Node:
        """Returns a node for its importer."""
        version, origin = scope.opsets[protos.domain_of(node)], self._origin(node, scope)
        return Node(inputs, scope.builder, origin, node, version, scope.values, scope.declared)

    def _origin(self, node: NodeProto, scope: _Scope) -> Origin:
        """Returns the provenance of a node: its name, or that of its first output if the name isn't unique."""
        name = node_name(node)
        if scope.call is not None:
            return scope.call.within(name or node.op_type)
        if self.names[name] > 1:
            name = next((output for output in node.output if output), name)
        return Origin(name, operator_key(node), module=metadata.module_of(node))

    def _inline(
        self,
        function: FunctionProto,
        call: NodeProto,
        inputs: Sequence[SSAValue | None],
        scope: _Scope,
        version: int = 0,
    ) -> Sequence[SSAValue | None]:
        """Imports the nodes of `function`; `version` is that of the ONNX operator that it defines, if any."""
        if scope.call is not None and scope.call.role.count("/") > MAX_CALL_DEPTH:
            raise node_error(call, "calls functions that call each other recursively")
        for name, value in zip(function.input, inputs, strict=False):
            if value is not None:
                scope.values[name] = value
        missing = {name for name in function.input if name not in scope.values}
        nodes = bound_nodes(function, call, version)
        wanted = {name for name, used in zip(function.output, call.output, strict=False) if used}
        self._import_nodes((without_inputs(node, missing) for node in nodes), scope, wanted)
        # The definition needn't compute outputs that the call doesn't name.
        return [
            self._value(name, scope, call) if wanted else None
            for name, wanted in zip(function.output, call.output, strict=False)
        ]

    def _value(self, name: str, scope: _Scope, user: NodeProto | None) -> SSAValue:
        """Returns the value of a tensor; an initializer becomes a constant on first use."""
        value = scope.values.get(name)
        if value is not None:
            return value
        proto = scope.initializers.get(name)
        if proto is None:
            where = "the graph's output" if user is None else describe_node(user)
            raise text_error(f"{where}: tensor '{name}' is not defined")
        value = scope.values[name] = scope.builder.initializer(proto, name)
        suggest_name(value, name)
        return value


def _metadata(model: OnnxModel) -> dict[str, Attribute]:
    """Returns the attributes for the metadata, the documentation and the producer of the model."""
    given = model.proto.metadata_props
    entries = [(each.key, each.value) for each in given if not each.key.startswith(metadata.PREFIX)]
    found = metadata.description(model.proto)
    if entries:
        found["nn.metadata"] = metadata.pairs_attribute(entries)
    if model.proto.producer_name and all(each.key != metadata.PRODUCER for each in given):
        version = f" {model.proto.producer_version}" if model.proto.producer_version else ""
        found["nn.producer"] = StringAttr(f"{model.proto.producer_name}{version}")
    return found


def _follow_producer(module: ModuleOp, model: OnnxModel) -> None:
    """Records the scale of all-zero tensors in dynamic quantization, for which ONNX Runtime differs from ONNX.

    A model is assumed to be for ONNX Runtime if its producer is one of ONNX Runtime's quantizers, or if it uses
    operators of ONNX Runtime's domain.
    """
    if model.proto.producer_name != "onnx.quantize" and "com.microsoft" not in checking.opsets(
        model.proto.opset_import
    ):
        return
    for op in module.walk():
        if isinstance(op, DynamicQuantizeOp):
            op.zeros = StringAttr("onnxruntime")


def modernized(model: OnnxModel) -> OnnxModel:
    """Returns `model`, converted to the oldest supported operator set if it uses an older one."""
    version = checking.opsets(model.proto.opset_import).get("", OLDEST_OPSET)
    if version >= OLDEST_OPSET:
        return model
    protos.needed_nodes(model.proto.graph)
    checking.check_nodes(model.proto)
    checking.check_standard(model, set())
    try:
        newer = convert_version(model.proto, OLDEST_OPSET)
    except (RuntimeError, ValueError, ConvertError, InferenceError) as error:
        reason = protos.reason_of(error)
        raise text_error(
            f"{model.name} uses operator set {version}, which cannot be converted to {OLDEST_OPSET}: {reason}"
        ) from error
    return replace(model, proto=newer)


def _operators(model: OnnxModel, fallback: bool) -> islands.Operators:
    return islands.Operators(registry.onnx_importers(), Functions(model.proto.functions), fallback)


def restored_module(
    model: OnnxModel, *, shapes: Mapping[str, Sequence[int]] | None = None, fallback: bool = True
) -> ModuleOp | None:
    """Returns the verified module from which `model` was exported; `None` for other models, or if it was edited.

    See `import_model` for `shapes` and `fallback`.
    """
    module = metadata.restored(model)
    if module is None:
        return None
    others = dict(module.attributes)
    module.attributes.clear()
    module.attributes.update(_metadata(model) | others)
    _operators(model, fallback).tell_islands(module, model.name)
    return specialize(module, shapes) if shapes else module


def import_model(
    model: OnnxModel,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    fallback: bool = True,
    is_training_expected: bool = False,
) -> ModuleOp:
    """Imports a model as a verified module, whose function `@main` has the inputs and outputs of the model.

    `shapes` fixes the shapes of inputs by name; a named dimension gets the same size everywhere. Unsupported nodes
    become islands, which other runtimes execute; without `fallback`, they are an error. A model in training mode causes
    a warning unless `is_training_expected` is set. If the model is invalid or unsupported, raises `DiagnosticError`
    with the name of the node.
    """
    checking.check_text(model.proto)
    model = modernized(model)
    return _ModelImporter(model, _operators(model, fallback), is_training_expected).run(shapes or {})
