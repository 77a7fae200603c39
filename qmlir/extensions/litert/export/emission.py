"""The exporter's view of a graph: the tensor of each value, in an order of axes that the operators of LiteRT want.

Images are channels-first in `nn` and channels-last in LiteRT. A value has one tensor, whose axes are some permutation
of the axes of the value; a transposition of a value only changes that permutation. A TRANSPOSE is emitted where an
operator depends on another order.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import AnyFloat, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.requantization import Mode
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.elementwise.ops import MaxOp, MinOp, UnaryOp
from qmlir.dialects.nn.lowering import table_of
from qmlir.dialects.nn.requantize import mode_of
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.extensions.litert.export.writing import Graph, Operator, Tensor, TensorParameters
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.provenance import origins_of
from qmlir.text.elements import dtype_of

CHANNELS_LAST = (0, 2, 3, 1)
"""The axes of a channels-first image in the order in which LiteRT stores them."""

Order = tuple[int, ...]
"""The axis of the value that each axis of its tensor is."""


class NoFormError(Exception):
    """Raised if an operation has no form in LiteRT; the text is the reason."""


@dataclass(frozen=True)
class TensorForm:
    """The tensor of a value, and the order of its axes."""

    tensor: int
    order: Order

    @property
    def is_plain(self) -> bool:
        """Whether the axes of the tensor are those of the value."""
        return self.order == tuple(range(len(self.order)))


@dataclass
class LiteEmission:
    """A graph under construction, and the form of each value."""

    graph: Graph = field(default_factory=Graph)
    forms: dict[SSAValue, TensorForm] = field(default_factory=dict[SSAValue, TensorForm])
    others: dict[tuple[int, Order], int] = field(default_factory=dict[tuple[int, Order], int])
    """Transposed tensors, by the tensor and the permutation."""

    reserved: set[str] = field(default_factory=set[str])
    """Names of outputs, which no other tensor gets."""

    def reserve(self, names: Iterable[str]) -> None:
        """Keeps names for outputs."""
        self.reserved = set(names) - self.graph.names
        self.graph.names |= self.reserved

    # Tensors

    def parameters(self, element: Attribute, order: Order) -> tuple[np.dtype[Any], TensorParameters | None]:
        """Returns the NumPy type and the quantization parameters of tensors of an element type."""
        if not isinstance(element, UniformQuantizedType):
            if not isinstance(element, AnyFloat | IntegerType):
                raise NoFormError(f"elements of type '{element}' don't exist in LiteRT")
            return dtype_of(cast(Attribute, element)), None
        if element.granularity is Granularity.BLOCK:
            raise NoFormError(f"blocks of weights with separate scales don't exist in LiteRT: '{element}'")
        if element.bits not in (8, 16, 32, 64) or (element.bits != 8 and not element.is_signed):
            raise NoFormError(f"integers of {element.bits} bits don't exist in LiteRT: '{element}'")
        moved = 0 if element.is_signed else 128
        scales, points = np.asarray(element.scales, np.float32).reshape(-1), np.asarray(element.zero_points).reshape(-1)
        axis = order.index(element.axis) if element.axes else 0
        return np.dtype(f"i{element.bits // 8}"), TensorParameters(scales, points.astype(np.int64) - moved, axis)

    def declare(self, value: SSAValue, order: Order | None = None, name: str = "") -> int:
        """Adds the tensor of a result, whose axes are in `order`, by default those of the value."""
        shape = shape_of(value)
        order = tuple(range(len(shape))) if order is None else order
        element = element_of(value)
        if (
            isinstance(element, UniformQuantizedType)
            and element.storage_max - element.storage_min != (1 << element.bits) - 1
        ):
            raise NoFormError(f"results of LiteRT have all integers of their storage, unlike '{element}'")
        dtype, parameters = self.parameters(element, order)
        named = name or name_of(value) or f"value{len(self.graph.tensors)}"
        index = self.graph.add(Tensor(named, tuple(shape[axis] for axis in order), dtype, parameters))
        self.forms[value] = TensorForm(index, order)
        return index

    def replace(self, value: SSAValue) -> None:
        """Adds a tensor for a result that no operator computes, because its users are checked as well."""
        dtype = np.dtype(np.int8 if isinstance(element_of(value), UniformQuantizedType) else np.float32)
        order = tuple(range(len(shape_of(value))))
        self.forms[value] = TensorForm(self.graph.add(Tensor("none", shape_of(value), dtype)), order)

    def named(self, tensor: int, name: str) -> int:
        """Names the tensor of an output, which is copied if it is an input or another output, and returns it."""
        source = self.graph.tensors[tensor]
        if name in self.reserved:
            self.reserved.discard(name)
            self.graph.names.discard(name)
        if tensor in (*self.graph.inputs, *self.graph.outputs) or source.data is not None:
            copied = self.graph.add(replace(source, name=name, data=None))
            self.operator("RESHAPE", [tensor, self.integers(source.shape, "shape")], [copied])
            return copied
        if name not in self.graph.names:
            self.graph.names.add(name)
            self.graph.tensors[tensor] = replace(source, name=name)
        return tensor

    def constant(self, array: Array, name: str, element: Attribute | None = None, axis: int | None = None) -> int:
        """Adds a constant with the elements of `array`; `axis` is that of the scales of `element`."""
        parameters = None
        if isinstance(element, UniformQuantizedType):
            if not element.is_signed:
                array = (array.astype(np.int16) - 128).astype(np.int8)
            own = element if axis is None or not element.axes else element.along(axis)
            dtype, parameters = self.parameters(own, tuple(range(array.ndim)))
            array = array.astype(dtype)
        return self.graph.add(Tensor(name, array.shape, array.dtype, parameters, np.ascontiguousarray(array)))

    def integers(self, numbers: Sequence[int], name: str) -> int:
        """Adds a constant list of 32-bit integers."""
        return self.graph.add(Tensor(name, (len(numbers),), np.dtype(np.int32), None, np.asarray(numbers, np.int32)))

    def known(self, value: SSAValue) -> Array | None:
        """Returns the stored elements of a constant, or `None`."""
        return constant_array(value)

    def form(self, value: SSAValue) -> TensorForm:
        """Returns the form of a value; a constant gets its tensor on first use."""
        if value not in self.forms:
            array = self.known(value)
            if array is None:
                raise NoFormError("an operand has no tensor")
            element = element_of(value)
            axis = element.axis if isinstance(element, UniformQuantizedType) and element.axes else None
            index = self.constant(array, name_of(value) or "constant", element, axis)
            self.forms[value] = TensorForm(index, tuple(range(array.ndim)))
        return self.forms[value]

    def ordered(self, value: SSAValue, order: Order | None = None) -> int:
        """Returns a tensor of a value whose axes are in `order`, by default that of the value."""
        form = self.form(value)
        order = tuple(range(len(form.order))) if order is None else order
        if form.order == order:
            return form.tensor
        permutation = tuple(form.order.index(axis) for axis in order)
        key = form.tensor, permutation
        if key not in self.others:
            self.others[key] = self._transposed(form.tensor, permutation)
        return self.others[key]

    def _transposed(self, tensor: int, permutation: Order) -> int:
        source = self.graph.tensors[tensor]
        shape = tuple(source.shape[axis] for axis in permutation)
        parameters = source.parameters
        if parameters is not None and parameters.scales.size > 1:
            parameters = replace(parameters, axis=permutation.index(parameters.axis))
        if source.data is not None:
            data = np.ascontiguousarray(source.data.transpose(permutation))
            return self.graph.add(Tensor(source.name, shape, source.dtype, parameters, data))
        moved = self.graph.add(Tensor(f"{source.name}_transposed", shape, source.dtype, parameters))
        if keeps_elements(source.shape, permutation):
            self.operator("RESHAPE", [tensor, self.integers(shape, "shape")], [moved])
        else:
            self.operator("TRANSPOSE", [tensor, self.integers(permutation, "permutation")], [moved], 2)
        return moved

    # Operators

    def operator(
        self, name: str, inputs: Sequence[int], outputs: Sequence[int], version: int = 1, kind: str = "", **options: Any
    ) -> None:
        """Adds an operator; `options` has the names of the schema."""
        self.graph.operators.append(Operator(name, version, list(inputs), list(outputs), kind, options))

    def alias(self, result: SSAValue, form: TensorForm) -> None:
        """Gives a result the tensor of another value."""
        self.forms[result] = form

    def with_type(self, value: SSAValue, result: SSAValue) -> None:
        """Gives `result` the elements of `value` with another type of the same width, without a conversion."""
        form = self.form(value)
        dtype, parameters = self.parameters(element_of(result), form.order)
        tensor = self.graph.tensors[form.tensor]
        if tensor.dtype != dtype:
            raise NoFormError(f"a cast from {tensor.dtype} to {dtype} without conversion doesn't exist in LiteRT")
        if parameters is None or same_parameters(parameters, tensor.parameters):
            self.alias(result, form)
            return
        users = [each for each in self.graph.operators if form.tensor in each.inputs]
        is_free = form.tensor not in self.graph.inputs and not users and tensor.data is None
        sharing = [each for each, held in self.forms.items() if held.tensor == form.tensor]
        if is_free and all(each.has_one_use() for each in sharing):
            self.graph.tensors[form.tensor] = replace(tensor, parameters=parameters)
            self.alias(result, form)
            return
        copied = self.graph.add(Tensor(f"{tensor.name}_typed", tensor.shape, tensor.dtype, parameters))
        self.operator("RESHAPE", [form.tensor, self.integers(tensor.shape, "shape")], [copied])
        self.alias(result, TensorForm(copied, form.order))


def keeps_elements(shape: Sequence[int], permutation: Sequence[int]) -> bool:
    """Returns whether a transposition leaves the elements in place in memory, because it moves only axes of size 1."""
    moved = [axis for axis in permutation if shape[axis] != 1]
    return moved == sorted(moved)


def same_parameters(first: TensorParameters | None, second: TensorParameters | None) -> bool:
    """Returns whether two tensors have equal scales and zero points, or none."""
    if first is None or second is None:
        return first is second
    return (
        np.array_equal(first.scales, second.scales)
        and np.array_equal(first.zero_points, second.zero_points)
        and (first.scales.size == 1 or first.axis == second.axis)
    )


def name_of(value: SSAValue) -> str:
    """Returns the name of a value in the model that it comes from, or its name in the module; empty if it has none."""
    origins = origins_of(value.owner) if isinstance(value.owner, Operation) else ()
    own = next((origin.name for origin in origins if not origin.role), "")
    return own or value.name_hint or ""


Export = Callable[[LiteEmission, Any], None]
"""A function that adds the operators of an operation. Raises `NoFormError`."""


_FIXED = {"nn.sigmoid": (2.0**-8, -128), "nn.softmax": (2.0**-8, -128), "nn.tanh": (2.0**-7, 0)}
"""The scale and the zero point of 8-bit results that LiteRT's kernels require."""


def _check_arithmetic(op: Operation) -> None:
    """Raises `NoFormError` if an operation computes quantized results unlike LiteRT's reference kernel."""
    if not isinstance(op, NnOp) or isinstance(op, ConstantOp):
        return
    values = [value for value in (*op.operands, *op.results) if isinstance(element_of(value), UniformQuantizedType)]
    if not values:
        return
    for value in values:
        element = cast(UniformQuantizedType, element_of(value))
        if element.bits != 8 and constant_array(value) is None:
            raise NoFormError(f"quantized values of LiteRT's operators must have 8 bits, but got '{element}'")
    if op.quantization_slots().shares_parameters or isinstance(op, MaxOp | MinOp):
        if len({element_of(value) for value in values}) > 1:
            raise NoFormError("its operands and results have different scales or zero points")
        return
    result = element_of(op.results[0])
    if op.name in _FIXED and isinstance(result, UniformQuantizedType):
        wanted = _FIXED[op.name]
        if (found := (result.scale, result.zero_point - (0 if result.is_signed else 128))) != wanted:
            raise NoFormError(
                f"LiteRT requires a result with scale {wanted[0]} and zero point {wanted[1]}, not {found}"
            )
    if mode_of(op) is not Mode.LITERT_REFERENCE:
        raise NoFormError(f"LiteRT's kernel doesn't compute in requantization mode '{mode_of(op)}'")


def _looked_up(out: LiteEmission, op: Operation) -> bool:
    """Adds a function of one byte as a table of its 256 results; returns False if `op` is no such function.

    LiteRT has no kernel for most functions, and some kernels require one scale of the result. GATHER copies bytes.
    """
    if not isinstance(op, UnaryOp) or not 1 == len(op.operands) == len(op.results):
        return False
    elements = [element_of(value) for value in (op.operands[0], op.results[0])]
    if any(not isinstance(each, UniformQuantizedType) or each.axes or each.bits != 8 for each in elements):
        return False
    form, result = out.form(op.operands[0]), out.declare(op.results[0], out.form(op.operands[0]).order)
    name, shape, integer = (
        f"{out.graph.tensors[result].name}_table",
        out.graph.tensors[result].shape,
        np.dtype(np.int32),
    )
    wide, index = (out.graph.add(Tensor(f"{name}_{each}", shape, integer)) for each in ("byte", "index"))
    table = out.constant(table_of(op), name, elements[1])
    out.operator("CAST", [form.tensor], [wide])
    out.operator("ADD", [wide, out.integers([128], "lowest")], [index], 2, "AddOptions")
    out.operator("GATHER", [table, index], [result], 2, "GatherOptions", axis=0)
    return True


def emit(out: LiteEmission, op: Operation, table: Mapping[type[Operation], Export]) -> str | None:
    """Adds the operators of `op`; returns why it has no form in LiteRT, or `None` on success."""
    export, reason = table.get(type(op)), "qmlir has no operator of LiteRT for it"
    try:
        if export is not None:
            _check_arithmetic(op)
            export(out, op)
            return None
    except NoFormError as error:
        reason = str(error)
    try:
        return None if _looked_up(out, op) else reason
    except NoFormError as error:
        return str(error)
