"""`SourceNode`: one node of a model in any format, with its inputs and attributes, and methods that add operations.

An importer is a function that takes the node of its format, and returns the values of the node's outputs.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Self, TypeVar, cast

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, TensorType, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.base import NnOp, Operand, UnsupportedFormError, build
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.elementwise.ops import CastOp
from qmlir.dialects.nn.movement.ops import ReshapeOp
from qmlir.dialects.nn.types import SequenceType
from qmlir.dialects.quant.types import StoredType, UniformFloatType
from qmlir.formats.graph import BlockBuilder
from qmlir.formats.types import shape_fault
from qmlir.ir.builtin_types import AnyTensor, element_of, ranked_tensor, shape_of, unranked_tensor
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.provenance import Origin

NnOpT = TypeVar("NnOpT", bound=NnOp)
OperationT = TypeVar("OperationT", bound=Operation)

NO_DEFAULT = object()

Parameter = tuple[int, ...] | SSAValue | None
"""A list of integers: its elements if known, a value if they are known only at run time, or `None` if it is omitted."""


@cache
def attribute_names(text: str) -> Mapping[str, str]:
    """Parses `"axis keepdims=keep_dims"` to a map from attribute to property; equal names are written once."""
    words = (word.partition("=") for word in text.split())
    return {attribute: own or attribute for attribute, _, own in words}


@dataclass(frozen=True)
class SourceNode(abc.ABC):
    """A node of a model, its inputs, and the block under construction. Each format has a subclass."""

    inputs: tuple[SSAValue | None, ...]
    """The values of the inputs; `None` for an omitted input."""

    graph: BlockBuilder
    origin: Origin

    @abc.abstractmethod
    def error(self, message: str) -> DiagnosticError:
        """Returns an error that names this node."""

    @abc.abstractmethod
    def unsupported(self, reason: str) -> DiagnosticError:
        """Returns an error about a valid node that its importer doesn't support."""

    @abc.abstractmethod
    def attribute(self, name: str, default: Any = NO_DEFAULT) -> Any:
        """Returns an attribute as a Python value: a number, a string or a list.

        If the model omits the attribute, returns `default` if given, else the default of the format, else `None`.
        """

    @abc.abstractmethod
    def has_attribute(self, name: str) -> bool:
        """Returns True if the node has this attribute."""

    def part(self, role: str) -> Self:
        """Returns this node with the provenance of its component `role`, which profiles record separately."""
        return replace(self, origin=self.origin.within(role))

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
            # Formats may have integers instead of Booleans.
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
            reason = " ".join(str(error).split())
            raise (
                self.unsupported(reason) if isinstance(error, UnsupportedFormError) else self.error(reason)
            ) from error
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


def _is_flag(default: Attribute | None) -> bool:
    return isinstance(default, IntegerAttr) and cast(IntegerAttr[Any], default).type == i1
