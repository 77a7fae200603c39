"""`Node`, the interface of importers: an ONNX node with its attributes and inputs, and methods that add operations.

An importer is a function that takes a `Node` and returns the values of its outputs. Packages use the same interface:
the entry point group `qmlir.onnx_importers` names tables from operator (`Relu`, `com.example::Relu`) to importer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from onnx import AttributeProto, NodeProto, helper
from xdsl.dialects.builtin import IntegerAttr, TensorType, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.base import NnOp, Operand, build
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.elementwise.ops import CastOp
from qmlir.dialects.nn.movement.ops import ReshapeOp
from qmlir.dialects.nn.types import SequenceType
from qmlir.dialects.quant.types import StoredType, UniformFloatType
from qmlir.ir.builtin_types import AnyTensor, element_of, ranked_tensor, shape_of, unranked_tensor
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.provenance import Origin
from qmlir.onnx.export.emission import attribute_names
from qmlir.onnx.protos import RefusedNodeError, node_error, verification_error
from qmlir.onnx.signatures import attribute_kind, schema_of
from qmlir.onnx.types import ELEMENT_TYPES, data_type_name, shape_fault

if TYPE_CHECKING:
    from qmlir.onnx.graph import GraphBuilder

NnOpT = TypeVar("NnOpT", bound=NnOp)
OperationT = TypeVar("OperationT", bound=Operation)

Importer = Callable[["Node"], "SSAValue | Sequence[SSAValue | None]"]
"""A function that adds the operations of a node and returns its outputs in order; `None` for an unused output."""

NO_DEFAULT = object()

Parameter = tuple[int, ...] | SSAValue | None
"""A list of integers: its elements if known, a value if they are known only at run time, or `None` if it is omitted."""


@dataclass(frozen=True)
class Node:
    """A node, the version of its operator set, its inputs, and the graph under construction."""

    proto: NodeProto
    version: int
    """The version of the node's operator set."""

    inputs: tuple[SSAValue | None, ...]
    """The values of the inputs; `None` for an omitted input."""

    graph: GraphBuilder
    origin: Origin

    tensors: Mapping[str, SSAValue] = field(default_factory=dict[str, SSAValue])
    """The values that have been imported so far, by name."""

    declared: Mapping[str, AnyTensor] = field(default_factory=dict[str, AnyTensor])
    """The types that the model declares, by name."""

    def error(self, message: str) -> DiagnosticError:
        """Returns an error that names this node."""
        return node_error(self.proto, message)

    def unsupported(self, reason: str) -> DiagnosticError:
        """Returns an error about a valid node that its importer doesn't support; the node may become an island."""
        return RefusedNodeError(self.proto, reason)

    def part(self, role: str) -> Node:
        """Returns this node with the provenance of its component `role`, which profiles record separately."""
        return replace(self, origin=self.origin.within(role))

    # Attributes

    def attribute(self, name: str, default: Any = NO_DEFAULT) -> Any:
        """Returns an attribute as a Python value: a number, a string, a list, a NumPy array for a tensor, or a graph.

        If the model omits the attribute, returns `default` if given, else the default in ONNX's schema of the node's
        version, else `None`.
        """
        for attribute in self.proto.attribute:
            if attribute.name == name:
                return _python_value(attribute, self)
        if default is not NO_DEFAULT:
            return default
        schema = schema_of(self.proto, self.version)
        declared = None if schema is None else schema.attributes.get(name)
        if declared is None or declared.default_value.type == AttributeProto.UNDEFINED:
            return None
        return _python_value(declared.default_value, self)

    def has_attribute(self, name: str) -> bool:
        """Returns True if the node has this attribute."""
        return any(attribute.name == name for attribute in self.proto.attribute)

    # Inputs

    def _tensor(self, index: int) -> SSAValue | None:
        """Returns input `index`, which must be a tensor, unchanged; `None` if it is omitted."""
        value = self.inputs[index] if index < len(self.inputs) else None
        if value is not None and ranked_tensor(value.type) is None:
            fault = self.error if unranked_tensor(value.type) is None else self.unsupported
            raise fault(f"input {index} must be a tensor, but got {value.type}")
        return value

    def optional(self, index: int) -> SSAValue | None:
        """Returns input `index` as a plain tensor, or `None` if it is omitted."""
        value = self._tensor(index)
        return None if value is None else self.graph.plain(value)

    def input(self, index: int = 0) -> SSAValue:
        """Returns input `index` as a plain tensor; a quantized input is converted to its integers."""
        return self.graph.plain(self.quantized(index))

    def quantized(self, index: int = 0) -> SSAValue:
        """Returns input `index` unchanged, quantized or not, for operations that support both."""
        value = self._tensor(index)
        if value is None:
            raise self.error(f"missing input {index}")
        return value

    def sequence(self) -> SSAValue:
        """Returns input 0, which must be a sequence of tensors."""
        value = self.inputs[0]
        if value is None or not isinstance(value.type, SequenceType):
            raise self.error(f"input 0 must be a sequence, but got {'none' if value is None else value.type}")
        return value

    def stored(self, index: int, element: StoredType | UniformFloatType) -> SSAValue:
        """Returns the integers of input `index` as a quantized value of type `element`."""
        return self.graph.stored(self.quantized(index), element, [self.origin])

    def shape(self, index: int = 0) -> tuple[int, ...]:
        """Returns the shape of input `index`."""
        return shape_of(self.quantized(index))

    def constant(self, index: int) -> Array | None:
        """Returns the elements of input `index`, or `None` if it is omitted or not constant."""
        value = self._tensor(index)
        return None if value is None else self.graph.constant_value(value)

    def parameter(self, index: int) -> Parameter:
        """Returns input `index`, a list of integers: its elements if known, otherwise the value as i64."""
        value = self._tensor(index)
        if value is None:
            return None
        known = self.graph.known_integers(value)
        if known is not None and None not in known:
            return tuple(number for number in known if number is not None)
        return self.cast(value, i64)

    def integer(self, index: int) -> int | SSAValue | None:
        """Returns input `index`, a single integer: the Python integer if known, otherwise the value as i64."""
        constant = self.constant(index)
        if constant is not None and constant.size == 1:
            return int(constant.reshape(())[()])
        found = self.parameter(index)
        if isinstance(found, tuple) and len(found) != 1:
            raise self.error(f"input {index} must be a single number, but got {list(found)}")
        return found[0] if isinstance(found, tuple) else found

    def moved_parameter(self, name: str, index: int, *, is_scalar: bool = False) -> Any:
        """Returns the integers of the attribute `name`, or of input `index`, which replaces it in later versions."""
        if self.has_attribute(name):
            return self.attribute(name)
        return self.integer(index) if is_scalar else self.parameter(index)

    # Operations

    def add(
        self,
        operation: type[NnOpT],
        *operands: Operand,
        attributes: str = "",
        result_types: Sequence[AnyTensor] | None = None,
        results: int = 1,
        result_element: StoredType | None = None,
        **properties: Any,
    ) -> NnOpT:
        """Adds an operation with this node's provenance; see `build` for operands and properties.

        `attributes` lists the node's attributes that become properties of the operation (`"axis keepdims=keep_dims"`,
        for example). `result_element` is the quantized type of the first result if it doesn't follow from the operands.
        If the types of quantized operands are incompatible, their plain integers are used, as in ONNX. Raises
        `DiagnosticError` if the operands are still incompatible.
        """

        flags = operation.get_irdl_definition().properties
        for name, own in attribute_names(attributes).items():
            value = self.attribute(name)
            # ONNX has integers instead of Booleans.
            is_flag = value is not None and _is_flag(flags[own].default_value)
            properties[own] = bool(value) if is_flag else value

        def built(values: Sequence[Operand]) -> NnOpT:
            op = build(operation, values, properties, result_types=result_types, results=results)
            if result_element is not None:
                type_ = TensorType(result_element, shape_of(op.results[0]))
                Rewriter.replace_value_with_new_type(op.results[0], type_)
            try:
                op.verify_()
            except VerifyException:
                op.drop_all_references()
                raise
            return op

        try:
            try:
                op = built(operands)
            except VerifyException:
                plain = self._plain_operands(operands)
                if plain == operands or result_element is not None:
                    raise
                op = built(plain)
        except VerifyException as error:
            raise verification_error(self.proto, error) from error
        for result in op.results:
            if (fault := shape_fault(shape_of(result))) is not None:
                op.drop_all_references()
                raise self.error(f"returns a tensor of {fault}")
        return self.insert(op)

    def _plain_operands(self, operands: Sequence[Operand]) -> tuple[Operand, ...]:
        plain = self.graph.plain
        return tuple([*map(plain, each)] if isinstance(each, Sequence) else each and plain(each) for each in operands)

    def cast(self, value: SSAValue, element: Attribute, **properties: Any) -> SSAValue:
        """Returns `value` cast to the plain type `element`; `properties` are properties of `nn.cast`."""
        if element_of(value) == element:
            return value
        return self.add(CastOp, value, result_types=[TensorType(element, shape_of(value))], **properties).result

    def reshaped(self, value: SSAValue, shape: Sequence[int], sizes: SSAValue | None = None) -> SSAValue:
        """Returns `value` reshaped to `shape`; `sizes` is the run-time shape if more than one size is unknown."""
        type_ = TensorType(element_of(value), shape)
        return self.add(ReshapeOp, value, sizes, result_types=[type_]).result

    def insert(self, op: OperationT) -> OperationT:
        """Adds an operation of any dialect with this node's provenance."""
        return self.graph.append(op, [self.origin])

    def add_constant(self, array: Array, element: Attribute) -> SSAValue:
        """Adds a constant with the elements of `array`, of type `element`."""
        return self.insert(ConstantOp.of(np.ascontiguousarray(array), TensorType(element, array.shape))).result

    def scalar(self, number: float, like: SSAValue) -> SSAValue:
        """Adds a scalar constant with the element type of `like`."""
        element = element_of(like)
        return self.add_constant(np.array(number, dtype=self.graph.dtype_of(element)), element)

    def element_type(self, data_type: int) -> Attribute:
        """Returns the element type of an ONNX data type. Raises `DiagnosticError` if `nn` doesn't support it."""
        element = ELEMENT_TYPES.get(data_type)
        if element is None:
            raise self.unsupported(f"elements of {data_type_name(data_type)} are not supported")
        return element


def _is_flag(default: Attribute | None) -> bool:
    return isinstance(default, IntegerAttr) and cast(IntegerAttr[Any], default).type == i1


def _python_value(attribute: AttributeProto, node: Node) -> Any:
    match attribute.type:
        case AttributeProto.TENSOR:
            return node.graph.tensor_array(attribute.t)
        case AttributeProto.STRING:
            return _text(attribute.s, attribute, node)
        case AttributeProto.STRINGS:
            return [_text(each, attribute, node) for each in attribute.strings]
        case AttributeProto.GRAPH:
            return attribute.g
        case AttributeProto.INT | AttributeProto.INTS | AttributeProto.FLOAT | AttributeProto.FLOATS:
            return helper.get_attribute_value(attribute)
        case _:
            raise node.error(f"attribute '{attribute.name}' has the unsupported kind {attribute_kind(attribute.type)}")


def _text(data: bytes, attribute: AttributeProto, node: Node) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise node.error(f"attribute '{attribute.name}' must be UTF-8 text, but got {data!r}") from error
