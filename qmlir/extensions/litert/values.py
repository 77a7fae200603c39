"""`LiteValues`: the values of the tensors of a graph under construction, in one of two layouts.

Images are channels-last in LiteRT, and channels-first in `nn`. A tensor of rank 4 has a value in either layout, or in
both; the other value is made once, if an operator requires it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntegerType, Signedness, TensorType, f16, f32, f64, i1
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.kernel.attributes import RequantizeAttr
from qmlir.dialects.nn.base import build
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.movement.ops import ReshapeOp, TransposeOp
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.extensions.litert.model import LiteGraph, LiteTensor
from qmlir.formats.graph import BlockBuilder, suggest_name
from qmlir.ir.builtin_types import AnyTensor, as_integer, dense, element_of, shape_of
from qmlir.ir.diagnostics import DiagnosticError, text_error
from qmlir.ir.provenance import Origin, origins_of


class Layout(Enum):
    """The order of the axes of an image, as the axes of `[N, H, W, C]`."""

    LAST = (0, 1, 2, 3)
    """`[N, H, W, C]`, as in the file. Tensors of other ranks have this layout."""

    FIRST = (0, 3, 1, 2)
    """`[N, C, H, W]`."""

    def axis(self, axis: int) -> int:
        """Returns the position of axis `axis` of the file in this layout."""
        return self.value.index(axis)

    def ordered(self, numbers: Sequence[Any]) -> list[Any]:
        """Returns one element per axis of the file in the order of this layout."""
        return [numbers[axis] for axis in self.value]


IMAGE = 4
"""The rank of an image."""

_PLAIN: dict[str, Attribute] = {
    "FLOAT16": f16, "FLOAT32": f32, "FLOAT64": f64, "BOOL": i1,
    **{f"INT{bits}": IntegerType(bits) for bits in (8, 16, 32, 64)},
    **{f"UINT{bits}": IntegerType(bits, Signedness.UNSIGNED) for bits in (8, 16, 32, 64)},
}  # fmt: skip

_STORED = ("INT8", "UINT8", "INT16")
"""The elements that are quantized if they have a scale; INT32 and INT64 with a scale are biases, which have another."""


@dataclass
class LiteValues:
    """The tensors of a graph, and the values that the builder has added for them."""

    graph: LiteGraph
    builder: BlockBuilder
    requantize: RequantizeAttr
    """The arithmetic of quantized operations."""

    floats: bool = False
    """Whether integer weights of float data become floats, instead of quantizing the data at run time."""

    forms: dict[tuple[int, Layout], SSAValue] = field(default_factory=dict[tuple[int, Layout], SSAValue])
    """The values of tensors, by index and layout."""

    made: list[tuple[int, Layout]] = field(default_factory=list[tuple[int, Layout]])
    """The keys of `forms` that the current operator added for its inputs."""

    def error(self, tensor: LiteTensor, message: str) -> DiagnosticError:
        """Returns an error that names a tensor."""
        return text_error(f"tensor '{tensor.name}' {message}")

    def element(self, tensor: LiteTensor) -> Any:
        """Returns the element type of a tensor: quantized if it has a scale."""
        if tensor.fault:
            raise text_error(f"tensor '{tensor.name}': {tensor.fault}")
        plain = _PLAIN[tensor.element]
        storage = as_integer(plain)
        if not tensor.scales or storage is None or tensor.element not in _STORED:
            return plain
        try:
            if len(tensor.scales) == 1:
                return UniformQuantizedType.per_tensor(storage, f32, tensor.scales[0], tensor.zero_points[0])
            scales = np.maximum(tensor.scales, np.finfo(np.float32).tiny)
            return UniformQuantizedType.per_axis(storage, f32, tensor.axis, scales, tensor.zero_points)
        except VerifyException as error:
            raise text_error(f"tensor '{tensor.name}': {error}") from error

    def constant(self, tensor: LiteTensor, array: Array, layout: Layout) -> SSAValue:
        """Adds a constant tensor, whose elements are `array`, in the order of `layout`."""
        element = self.element(tensor)
        if isinstance(element, UniformQuantizedType) and element.axes and array.shape != tensor.shape:
            element = element.along(layout.axis(element.axis + array.ndim - len(tensor.shape)))
        return self.add_constant(array, element, tensor)

    def add_constant(self, array: Array, element: Any, tensor: LiteTensor) -> SSAValue:
        """Adds a constant of `element` with the elements of `array`, named after `tensor`."""
        value = self.builder.append(
            ConstantOp.of(np.ascontiguousarray(array), TensorType(element, array.shape)), [Origin(tensor.name)]
        ).result
        suggest_name(value, tensor.name)
        return value

    def is_first_only(self, tensor: LiteTensor) -> bool:
        """Returns whether the only value of an image so far is channels-first."""
        return (tensor.index, Layout.FIRST) in self.forms and (tensor.index, Layout.LAST) not in self.forms

    def value(self, tensor: LiteTensor, layout: Layout) -> SSAValue:
        """Returns the value of a tensor in a layout, which is made from the other one if necessary."""
        if len(tensor.shape) != IMAGE:
            layout = Layout.LAST
        key = tensor.index, layout
        if key not in self.forms:
            self.forms[key] = self._made(tensor, layout)
            self.made.append(key)
        return self.forms[key]

    def _made(self, tensor: LiteTensor, layout: Layout) -> SSAValue:
        if tensor.data is not None:
            if layout is Layout.FIRST:
                return self.constant(tensor, tensor.array.transpose(layout.value), layout)
            type_: AnyTensor = TensorType(_PLAIN[tensor.element], tensor.shape)
            held = ConstantOp(dense(tensor.data, type_), TensorType(self.element(tensor), tensor.shape))
            value = self.builder.append(held, [Origin(tensor.name)]).result
            suggest_name(value, tensor.name)
            return value
        other = Layout.LAST if layout is Layout.FIRST else Layout.FIRST
        if len(tensor.shape) != IMAGE or (tensor.index, other) not in self.forms:
            raise self.error(tensor, "is used before it is computed")
        return self.permuted(self.forms[tensor.index, other], layout, tensor.name)

    def permuted(self, image: SSAValue, layout: Layout, name: str) -> SSAValue:
        """Returns an image of the other layout in `layout`; if only sizes of 1 move, by a reshape."""
        order = (0, 3, 1, 2) if layout is Layout.FIRST else (0, 2, 3, 1)
        sizes = [shape_of(image)[axis] for axis in order]
        moves = [axis for axis in order if shape_of(image)[axis] != 1]
        origins = origins_of(image.owner) if isinstance(image.owner, Operation) else [Origin(name)]
        if moves == sorted(moves):
            op = build(ReshapeOp, [image], result_types=[TensorType(element_of(image), sizes)])
            return self.builder.append(op, origins).result
        return self.builder.append(build(TransposeOp, [image], {"permutation": order}), origins).result

    def any_form(self, index: int) -> SSAValue | None:
        """Returns the value of an input in any layout."""
        if index < 0:
            return None
        found = self.forms.get((index, Layout.FIRST))
        return self.value(self.graph.tensors[index], Layout.LAST) if found is None else found

    def settle(self, before: Operation | None, results: Sequence[SSAValue]) -> list[SSAValue]:
        """Folds the operations after `before` (see `BlockBuilder.settle`), and returns the values of `results`."""
        added = self.builder.block.first_op if before is None else before.next_op
        made = [self.forms[key] for key in self.made]
        settled = [value for value in self.builder.settle(added, [*results, *made]) if value is not None]
        self.forms.update(zip(self.made, settled[len(results) :], strict=True))
        self.made.clear()
        return settled[: len(results)]
