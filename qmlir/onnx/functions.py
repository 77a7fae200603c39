"""Functions: those of the model, and ONNX's own definitions of operators by other operators."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

from onnx import AttributeProto, FunctionProto, NodeProto, TypeProto

from qmlir.onnx.errors import model_error, node_error, reason_of
from qmlir.onnx.signatures import schema_of

MAX_CALL_DEPTH = 64
"""Functions that call one another deeper than this never end."""

MAX_NODES = 2**20
"""A model of more nodes, its functions inlined, is an attack."""


@dataclass(frozen=True)
class Functions:
    """The local functions of a model by domain, name and overload."""

    table: Mapping[tuple[str, str, str], FunctionProto]

    @staticmethod
    def of(functions: Iterable[FunctionProto]) -> "Functions":
        """The functions of a model."""
        return Functions({(each.domain, each.name, each.overload): each for each in functions})

    def find(self, node: NodeProto) -> FunctionProto | None:
        """The function that `node` calls, `None` where it calls none."""
        return self.table.get((node.domain, node.op_type, node.overload))

    def check_size(self, nodes: Iterable[NodeProto]) -> None:
        """Raise `DiagnosticError` where `nodes` with all that they call become more than `MAX_NODES` nodes.

        Each function is counted once, whatever calls it: functions that call others twice double at each level.
        """
        sizes: dict[int, int] = {}

        def size(function: FunctionProto, depth: int) -> int:
            if depth > MAX_CALL_DEPTH:
                raise model_error(f"function '{function.name}' exceeds the call depth of {MAX_CALL_DEPTH}")
            if id(function) not in sizes:
                sizes[id(function)] = sum(own(node, depth + 1) for node in function.node)
            return sizes[id(function)]

        def own(node: NodeProto, depth: int) -> int:
            called = self.find(node)
            return 1 if called is None else size(called, depth)

        total = 0
        for node in nodes:
            total += own(node, 0)
            if total > MAX_NODES:
                raise node_error(node, f"the model has more than {MAX_NODES} nodes after inlining its functions")


class _Definition(Protocol):
    """What ONNX's schema of an operator says of its definition by others; the package's own stubs leave it out."""

    has_function: bool
    has_context_dependent_function: bool
    function_body: FunctionProto

    def get_context_dependent_function_with_opset_version(
        self, version: int, node: bytes, types: Sequence[bytes], /
    ) -> bytes: ...


def is_defined_by_function(node: NodeProto, version: int) -> bool:
    """Whether ONNX defines the operator by others."""
    schema = cast(_Definition | None, schema_of(node, version))
    return schema is not None and (schema.has_function or schema.has_context_dependent_function)


def fixed_definition(node: NodeProto, version: int) -> FunctionProto | None:
    """ONNX's definition of the operator by others, where it does not depend on the inputs of the node."""
    schema = cast(_Definition | None, schema_of(node, version))
    return schema.function_body if schema is not None and schema.has_function else None


def definition(node: NodeProto, version: int, types: Iterable[TypeProto]) -> FunctionProto | None:
    """ONNX's definition of the operator by others, for inputs of `types`; `None` where there is none."""
    schema = cast(_Definition | None, schema_of(node, version))
    if schema is None:
        return None
    if schema.has_function:
        return schema.function_body
    if not schema.has_context_dependent_function:
        return None
    try:
        body = schema.get_context_dependent_function_with_opset_version(
            version, node.SerializeToString(), [type_.SerializeToString() for type_ in types]
        )
    except (RuntimeError, ValueError) as error:  # ONNX's own code, which takes some inputs to be there
        raise node_error(node, f"ONNX does not define this operator for these inputs: {reason_of(error)}") from error
    if not body:
        return None
    function = FunctionProto()
    function.ParseFromString(body)
    return function


def bound_nodes(function: FunctionProto, call: NodeProto, version: int) -> list[NodeProto]:
    """The nodes of `function` with the attributes that `call` gives them, or the function's own defaults."""
    given: dict[str, AttributeProto] = {each.name: each for each in function.attribute_proto}
    schema = schema_of(call, version)
    if schema is not None:
        for name, declared in schema.attributes.items():
            if declared.default_value.type != AttributeProto.UNDEFINED:
                given[name] = declared.default_value
    given |= {each.name: each for each in call.attribute}
    return [_bound(node, given, call) for node in function.node]


def _bound(node: NodeProto, given: Mapping[str, AttributeProto], call: NodeProto) -> NodeProto:
    if not any(attribute.ref_attr_name for attribute in node.attribute):
        return node
    bound = NodeProto()
    bound.CopyFrom(node)
    del bound.attribute[:]
    for attribute in node.attribute:
        if not attribute.ref_attr_name:
            bound.attribute.append(attribute)
            continue
        value = given.get(attribute.ref_attr_name)
        if value is None:
            continue  # an optional attribute that the call leaves out
        if value.type != attribute.type:
            raise node_error(call, f"attribute '{attribute.ref_attr_name}' has another type than its function requires")
        copy = AttributeProto()
        copy.CopyFrom(value)
        copy.name = attribute.name
        bound.attribute.append(copy)
    return bound


def without_inputs(node: NodeProto, missing: set[str]) -> NodeProto:
    """`node` with the inputs left out that its function was called without."""
    if missing.isdisjoint(node.input):
        return node
    copy = NodeProto()
    copy.CopyFrom(node)
    del copy.input[:]
    copy.input.extend("" if name in missing else name for name in node.input)
    return copy
