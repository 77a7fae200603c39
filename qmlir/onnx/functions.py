"""Functions: local functions of a model, and ONNX's definitions of operators by other operators."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

from onnx import AttributeProto, FunctionProto, NodeProto, TypeProto

from qmlir.onnx.errors import model_error, node_error, reason_of
from qmlir.onnx.signatures import schema_of

MAX_CALL_DEPTH = 64
"""The deepest nesting of calls; deeper ones are assumed to be recursive."""

MAX_NODES = 2**20
"""The largest number of nodes after inlining; a larger model is assumed to be an attack."""


@dataclass(frozen=True)
class Functions:
    """The local functions of a model by domain, name and overload."""

    table: Mapping[tuple[str, str, str], FunctionProto]

    @staticmethod
    def of(functions: Iterable[FunctionProto]) -> "Functions":
        """Builds the table of these functions."""
        return Functions({(each.domain, each.name, each.overload): each for each in functions})

    def find(self, node: NodeProto) -> FunctionProto | None:
        """Returns the function that `node` calls, or `None`."""
        return self.table.get((node.domain, node.op_type, node.overload))

    def check_size(self, nodes: Iterable[NodeProto]) -> None:
        """Raises `DiagnosticError` if `nodes` and the functions that they call exceed `MAX_NODES` nodes when inlined.

        The size of each function is computed once: with functions that call others twice, sizes double at each level.
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
    """The fields of an ONNX schema about function definitions, which the stubs of the package omit."""

    has_function: bool
    has_context_dependent_function: bool
    function_body: FunctionProto

    def get_context_dependent_function_with_opset_version(
        self, version: int, node: bytes, types: Sequence[bytes], /
    ) -> bytes: ...


def _schema(node: NodeProto, version: int) -> _Definition | None:
    return cast(_Definition | None, schema_of(node, version))


def is_defined_by_function(node: NodeProto, version: int) -> bool:
    """Returns True if ONNX defines the operator by other operators."""
    schema = _schema(node, version)
    return schema is not None and (schema.has_function or schema.has_context_dependent_function)


def fixed_definition(node: NodeProto, version: int) -> FunctionProto | None:
    """Returns ONNX's definition of the operator, or `None` if there is none or it depends on the node's inputs."""
    schema = _schema(node, version)
    return schema.function_body if schema is not None and schema.has_function else None


def definition(node: NodeProto, version: int, types: Iterable[TypeProto]) -> FunctionProto | None:
    """Returns ONNX's definition of the operator for inputs of `types`, or `None` if there is none."""
    schema, fixed = _schema(node, version), fixed_definition(node, version)
    if schema is None or fixed is not None or not schema.has_context_dependent_function:
        return fixed
    try:
        body = schema.get_context_dependent_function_with_opset_version(
            version, node.SerializeToString(), [type_.SerializeToString() for type_ in types]
        )
    except (RuntimeError, ValueError) as error:  # code of the onnx package, which assumes some optional inputs
        raise node_error(node, f"ONNX does not define this operator for these inputs: {reason_of(error)}") from error
    return FunctionProto.FromString(body) if body else None


def bound_nodes(function: FunctionProto, call: NodeProto, version: int) -> list[NodeProto]:
    """Returns the nodes of `function` with the attributes of `call`, or with the defaults of the function."""
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
        elif (value := given.get(attribute.ref_attr_name)) is not None:  # otherwise the call omits it
            if value.type != attribute.type:
                raise node_error(
                    call, f"attribute '{attribute.ref_attr_name}' has another type than its function requires"
                )
            bound.attribute.add().CopyFrom(value)
            bound.attribute[-1].name = attribute.name
    return bound


def without_inputs(node: NodeProto, missing: set[str]) -> NodeProto:
    """Returns `node` without the inputs that are missing in the call of its function."""
    if missing.isdisjoint(node.input):
        return node
    copy = NodeProto()
    copy.CopyFrom(node)
    del copy.input[:]
    copy.input.extend("" if name in missing else name for name in node.input)
    return copy
