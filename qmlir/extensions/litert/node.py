"""`LiteNode`: an operator of a LiteRT model for its importer, with its inputs in one of two layouts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from qmlir.dialects.kernel.attributes import RequantizeAttr
from qmlir.dialects.nn.activations.ops import ReluOp
from qmlir.dialects.nn.base import NnOpT, Operand
from qmlir.dialects.nn.elementwise.ops import ClipOp
from qmlir.dialects.quant.ops import DequantizeCastOp
from qmlir.dialects.quant.types import StoredType, UniformQuantizedType
from qmlir.extensions.litert.flatbuffer import MalformedError
from qmlir.extensions.litert.model import LiteOperator, LiteTensor, option
from qmlir.extensions.litert.values import IMAGE, Layout, LiteValues
from qmlir.formats.node import NO_DEFAULT, SourceNode
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.diagnostics import DiagnosticError, text_error

_NO_ACTIVATION, _RELU, _RELU_N1_TO_1, _RELU6 = range(4)
BOUNDS = {_RELU_N1_TO_1: (-1.0, 1.0), _RELU6: (0.0, 6.0)}
"""The bounds of fused activations that are clips."""


@dataclass(frozen=True)
class LiteNode(SourceNode):
    """An operator, and the graph under construction."""

    operator: LiteOperator
    owner: LiteValues
    layout: Layout = Layout.LAST
    """The layout of the inputs and outputs of rank 4."""

    def error(self, message: str) -> DiagnosticError:
        return text_error(f"{self.operator.name} '{self.origin.name}': {message}")

    def unsupported(self, reason: str) -> DiagnosticError:
        return self.error(reason)

    # Options

    def attribute(self, name: str, default: Any = NO_DEFAULT) -> Any:
        """Returns an option by its name in the schema, such as `stride_w`; `None` if the operator has no options."""
        if self.operator.options is None:
            return None if default is NO_DEFAULT else default
        try:
            return option(self.operator.options, name)
        except MalformedError as error:
            raise self.error(str(error)) from error

    def has_attribute(self, name: str) -> bool:
        """Returns False: options never replace inputs."""
        return False

    # Tensors

    def tensor(self, index: int) -> LiteTensor | None:
        """Returns input tensor `index`, or `None` if it is omitted."""
        found = self.operator.inputs[index] if index < len(self.operator.inputs) else -1
        return None if found < 0 else self.owner.graph.tensors[found]

    def given(self, index: int) -> LiteTensor:
        """Returns input tensor `index`. Raises `DiagnosticError` if it is omitted."""
        tensor = self.tensor(index)
        if tensor is None:
            raise self.error(f"missing input {index}")
        return tensor

    def output(self, index: int = 0) -> LiteTensor:
        """Returns output tensor `index`."""
        if index >= len(self.operator.outputs):
            raise self.error(f"missing output {index}")
        return self.owner.graph.tensors[self.operator.outputs[index]]

    def element(self, index: int = 0) -> Any:
        """Returns the element type of output tensor `index`."""
        return self.owner.element(self.output(index))

    @property
    def is_quantized(self) -> bool:
        """Whether the first output is quantized."""
        return isinstance(self.element(), UniformQuantizedType)

    def in_layout(self, index: int, layout: Layout) -> SSAValue:
        """Returns input `index` in a layout."""
        return self.owner.value(self.given(index), layout)

    def _tensor(self, index: int) -> SSAValue | None:
        tensor = self.tensor(index)
        return None if tensor is None else self.owner.value(tensor, self.layout)

    def input(self, index: int = 0) -> SSAValue:
        """Returns input `index`, quantized or not, as an operand that broadcasts to images in the node's layout."""
        return self.ranked(index)

    def ranked(self, index: int) -> SSAValue:
        """Returns input `index` as an operand that broadcasts to images in the layout of this node."""
        value = self.quantized(index)
        shape = shape_of(value)
        if self.layout is Layout.LAST or len(shape) == IMAGE or not shape:
            return value
        full = (*(1,) * (IMAGE - len(shape)), *shape)
        tensor = self.given(index)
        if tensor.data is not None:
            array = tensor.array.reshape(full).transpose(self.layout.value)
            return self.owner.constant(tensor, np.ascontiguousarray(array), Layout.FIRST)
        from_last = self.reshaped(value, full)
        return self.owner.permuted(from_last, Layout.FIRST, tensor.name)

    def numbers(self, index: int) -> tuple[int, ...]:
        """Returns the elements of input `index`, a list of integers that must be known."""
        found = self.parameter(index)
        if not isinstance(found, tuple):
            raise self.unsupported(f"input {index} must be constant")
        return found

    def integer_of(self, index: int) -> int:
        """Returns input `index`, a single integer that must be known."""
        numbers = self.numbers(index)
        if len(numbers) != 1:
            raise self.error(f"input {index} must be one number, but got {list(numbers)}")
        return numbers[0]

    # Operations

    @property
    def requantize(self) -> RequantizeAttr:
        """The arithmetic of the quantized operations of the model."""
        return self.owner.requantize

    def add(
        self,
        operation: type[NnOpT],
        *operands: Operand,
        result_element: StoredType | None = None,
        **properties: Any,
    ) -> NnOpT:
        """Adds an operation; see `SourceNode.add`.

        An operation that computes on quantized values gets the type of the first output and LiteRT's arithmetic.
        """
        is_computed = not operation.SLOTS.shares_parameters and any(map(_is_quantized, operands))
        if is_computed and result_element is None and self.is_quantized:
            result_element = self.element()
        if result_element is not None:
            properties.setdefault("requantize", self.requantize)
        return super().add(operation, *operands, result_element=result_element, **properties)

    def _plain_operands(self, operands: Sequence[Operand]) -> tuple[Operand, ...]:
        return tuple(operands)  # integers of different scales are different numbers

    def restamped(self, value: SSAValue, index: int = 0) -> SSAValue:
        """Returns the integers of `value` with the type of output `index`: LiteRT copies them whatever the scales."""
        element = self.element(index)
        if element_of(value) == element or not isinstance(element, UniformQuantizedType):
            return value
        return self.graph.stored(value, element, [self.origin])

    def activated(self, value: SSAValue) -> SSAValue:
        """Returns `value` after the activation that is fused with the operator."""
        kind = self.attribute("fused_activation_function") or _NO_ACTIVATION
        if kind == _NO_ACTIVATION:
            return value
        if kind == _RELU:
            return self.add(ReluOp, value).result
        if kind not in BOUNDS:
            raise self.unsupported(f"fused activation {kind} is not supported")
        low, high = BOUNDS[kind]
        return self.add(ClipOp, value, minimum=low, maximum=high).result

    def dequantized(self, value: SSAValue, expressed: Any) -> SSAValue:
        """Returns a quantized value as floats."""
        return self.insert(DequantizeCastOp(value, TensorType(expressed, shape_of(value)))).result


def _is_quantized(operand: Operand) -> bool:
    values = [operand] if isinstance(operand, SSAValue) else operand or ()
    return any(isinstance(element_of(value), UniformQuantizedType) for value in values)


LiteImporter = Callable[[LiteNode], "SSAValue | Sequence[SSAValue]"]
"""A function that adds the operations of an operator and returns its outputs in order."""


def last(node: LiteNode) -> Layout:
    """The layout of operators that depend on the order of the axes in the file."""
    return Layout.LAST


def first(node: LiteNode) -> Layout:
    """The layout of operators on images, such as convolutions."""
    return Layout.FIRST


def followed(node: LiteNode) -> Layout:
    """The layout of operators for which the order of the axes is irrelevant: that of their operands.

    It is channels-first if an operand exists only so, and the result is an image.
    """
    if len(node.output().shape) != IMAGE:
        return Layout.LAST
    tensors = [node.given(index) for index, number in enumerate(node.operator.inputs) if number >= 0]
    return Layout.FIRST if any(map(node.owner.is_first_only, tensors)) else Layout.LAST
