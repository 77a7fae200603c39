"""`NodeEmitter`, the interface of exporters: one operation, the ONNX names of its operands and results, and its nodes.

An exporter is a function that takes a `NodeEmitter` and adds nodes to it; these nodes must produce the tensors
`outputs`. Packages use the same interface: the entry point group `qmlir.onnx_exporters` names tables from operation
class to exporter. The names of tensors inside an operation derive from the names of its results, so the export is
deterministic.

A quantized value becomes a tensor of its stored integers, in the smallest type that ONNX operators support: 8, 16 or 32
bits. Constants of at most 4 bits are packed if they are only dequantized.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from itertools import zip_longest
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from onnx import AttributeProto, NodeProto, TensorProto, TypeProto, ValueInfoProto, helper, numpy_helper
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyUnrankedTensorType,
    IntegerType,
    Signedness,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from qmlir.analysis.symbols import first_free
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.base import NnOp, plain_type
from qmlir.dialects.nn.types import SequenceType
from qmlir.dialects.quant.types import StoredType, UniformFloatType
from qmlir.ir.builtin_types import AnyTensor, as_integer, element_of, ranked_tensor, shape_of, tensor
from qmlir.ir.diagnostics import DiagnosticError, op_error
from qmlir.onnx.types import DATA_TYPES, SINCE, SUB_BYTE
from qmlir.text.elements import dense_dtype

CONTAINER_BITS = (8, 16, 32)
"""The widths of integers that ONNX operators support."""

PACKED_SINCE = {2: 25, 4: 21}
"""The widths of integers of which ONNX packs several into a byte, in bits, and the first operator set with them."""


def container(element: StoredType) -> IntegerType:
    """Returns the integer type that stores a quantized value at run time, in the notation of `nn` (`i8`, `ui8`)."""
    return _integer(element, next(bits for bits in CONTAINER_BITS if element.bits <= bits))


def _integer(element: StoredType, bits: int) -> IntegerType:
    """Returns the integer type of `bits` bits with the signedness of `element`."""
    return IntegerType(bits) if element.is_signed else IntegerType(bits, Signedness.UNSIGNED)


def held_element(element: Attribute) -> Attribute:
    """Returns the plain element type of a value in ONNX: f32 for profiled f32, an integer type for a quantized type."""
    if isinstance(element, UniformFloatType):
        return element.storage
    return container(element) if isinstance(element, StoredType) else plain_type(element)


def data_type(element: Attribute) -> int | None:
    """Returns the ONNX data type of an element type, or `None` if there is none."""
    return DATA_TYPES.get(held_element(element))


def element_since(element: Attribute) -> int:
    """Returns the first operator set that supports the element type; 0 if all do."""
    return SINCE.get(data_type(element) or 0, 0)


def packed_type(element: StoredType, opset: int) -> int | None:
    """Returns the ONNX data type of packed constants of type `element`, or `None` if they aren't packed."""
    for bits, since in PACKED_SINCE.items():
        if element.bits <= bits and opset >= since:
            return DATA_TYPES[_integer(element, bits)]
    return None


def tensor_proto(name: str, array: Array, kind: int) -> TensorProto:
    """Returns a tensor of data type `kind` with the elements of `array`."""
    if kind in SUB_BYTE:
        return numpy_helper.from_array(array.astype(helper.tensor_dtype_to_np_dtype(kind)), name)
    return TensorProto(name=name, data_type=kind, dims=array.shape, raw_data=np.ascontiguousarray(array).tobytes())


def plain_proto(name: str, array: Array, element: Attribute) -> TensorProto:
    """Returns a tensor of a plain element type with the elements of `array`; elements of i1 are 0 or 1."""
    kind = DATA_TYPES[element]
    dtype = dense_dtype(element)
    assert dtype is not None
    return tensor_proto(name, np.asarray(array, dtype), kind)


def type_proto(type_: Attribute, dims: Sequence[str] = ()) -> TypeProto:
    """Returns the ONNX type of a value; `dims` contains the names of dynamic dimensions."""
    if isinstance(type_, SequenceType):
        return helper.make_sequence_type_proto(_tensor_type(type_.tensors, ()))
    return _tensor_type(tensor(type_), dims)


def _tensor_type(type_: AnyTensor | AnyUnrankedTensorType, dims: Sequence[str]) -> TypeProto:
    kind, ranked = data_type(type_.get_element_type()) or 0, ranked_tensor(type_)
    if ranked is None:
        return helper.make_tensor_type_proto(kind, None)
    named = zip_longest(ranked.get_shape(), dims[: ranked.get_num_dims()])
    sizes = [name or None if size == DYNAMIC_INDEX else size for size, name in named]
    return helper.make_tensor_type_proto(kind, sizes)


def value_info(name: str, type_: Attribute, dims: Sequence[str] = ()) -> ValueInfoProto:
    """Returns the declaration of a value in a graph; `dims` contains the names of dynamic dimensions."""
    return ValueInfoProto(name=name, type=type_proto(type_, dims))


def has_onnx_type(type_: Attribute) -> bool:
    """Returns True if ONNX has a type for values of this type."""
    if isinstance(type_, SequenceType):
        return type_.tensors.get_element_type() in DATA_TYPES
    ranked = ranked_tensor(type_)
    return ranked is not None and data_type(ranked.get_element_type()) is not None


def is_integer(element: Attribute) -> bool:
    """Returns True if a plain element type is an integer type other than i1."""
    found = as_integer(element)
    return found is not None and found.width.data > 1


TABLE = "qmlir/table/"
"""The prefix of the names of lookup tables and other constants that operations share."""

_DIGITS = 24

MICROSOFT = "com.microsoft"
"""The domain of ONNX Runtime's operators."""

MATRIX = 2
"""The rank of a matrix."""

WINDOWS = "group=groups strides dilations pads"
"""The attributes of a convolution, for `attributes_of`."""

OLDEST_OPSET = 21
"""The oldest operator set for export: the first with metadata, and with blocks and 4 and 16 bits in QuantizeLinear."""


class ExportForm(StrEnum):
    """The ONNX format of operations on quantized values."""

    QDQ = "qdq"
    """Float operators between DequantizeLinear and QuantizeLinear."""

    QOPERATOR = "qoperator"
    """QLinear operators for operations for which they compute the same integers."""

    INTEGER = "integer"
    """ConvInteger and MatMulInteger, with requantization in elementary operators."""


@dataclass(frozen=True)
class Settings:
    """The options of an export."""

    form: ExportForm = ExportForm.QDQ
    opset: int = OLDEST_OPSET
    exact: bool | None = None
    """Whether every ONNX Runtime session must compute the same integers.

    With `True`, the Q/DQ format uses integer arithmetic for operations whose floats between casts may round
    differently. By default (`None`), only sessions with optimizations, which fuse some casts, compute the same
    integers. In both cases, no signed integers are multiplied. `False` keeps all operations between casts, and constant
    weights signed; their products saturate in ONNX Runtime on x86 CPUs without VNNI.
    """

    functions: bool = False
    """Whether to export the components of a composite as a local function."""

    signed: bool = False
    """Whether to keep signed 8-bit integers, even in contractions that ONNX Runtime fully supports only if unsigned."""


class NeedsOpsetError(DiagnosticException):
    """Raised if an operation requires an operator that is newer than the selected operator set."""

    def __init__(self, op: Operation, opset: int, what: str):
        super().__init__(what)
        self.op = op
        self.opset = opset
        self.what = what


class ValueNames:
    """A set of unique names."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._taken = set(reserved)

    def __contains__(self, name: str) -> bool:
        return name in self._taken

    def take(self, *wishes: str) -> str:
        """Adds and returns the first of `wishes` that is unused, or else the first one with a numeric suffix."""
        first = next(filter(None, wishes), "value")
        found = next((wish for wish in wishes if wish and wish not in self._taken), None)
        if found is None:
            found = f"{first}.{first_free(lambda number: f'{first}.{number}' in self._taken, 1)}"
        self._taken.add(found)
        return found


@dataclass
class NodeEmitter:
    """An operation to export, the names of its operands and results, and the nodes and tensors added for it."""

    op: Operation
    settings: Settings
    names: Mapping[SSAValue, str]
    """The ONNX name of each operand."""

    outputs: list[str]
    """The names of the tensors that the nodes must produce, one for each result."""

    nodes: list[NodeProto] = field(default_factory=list[NodeProto])
    initializers: list[TensorProto] = field(default_factory=list[TensorProto])
    packed: Mapping[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """The ONNX data type of each constant whose tensor is packed."""

    versions: dict[str, int] = field(default_factory=dict[str, int])
    """The versions of other operator sets that the nodes require, if not version 1."""

    prefix: str = ""
    taken: ValueNames = field(default_factory=ValueNames)
    """The names of the values of the module, which tensors inside an operation must not have."""

    elements: Mapping[SSAValue, Attribute] = field(default_factory=dict[SSAValue, Attribute])
    """The element types of tensors that differ from those of the operands and results, such as f32 if dequantized."""

    _known: dict[tuple[Any, ...], str] = field(default_factory=dict[tuple[Any, ...], str])

    @property
    def opset(self) -> int:
        """The version of ONNX's operator set in the exported model."""
        return self.settings.opset

    def needs(self, opset: int, what: str) -> None:
        """Raises `NeedsOpsetError` if `what` requires a newer operator set (`opset`) than the exported one."""
        if self.opset < opset:
            raise NeedsOpsetError(self.op, opset, what)

    def error(self, message: str) -> DiagnosticError:
        """Returns an error that names the operation."""
        return op_error(self.op, message)

    # Operands

    def name(self, value: SSAValue | None) -> str:
        """Returns the ONNX name of an operand; empty if the operand is omitted."""
        return "" if value is None else self.names[value]

    @property
    def inputs(self) -> list[str]:
        """The ONNX names of all operands."""
        return [self.names[value] for value in self.op.operands]

    @property
    def output(self) -> str:
        """The ONNX name of the first result."""
        return self.outputs[0]

    def element(self, value: SSAValue) -> Attribute:
        """Returns the plain element type of a value in the exported model."""
        return self.elements.get(value) or held_element(element_of(value))

    # Nodes and tensors

    def own_name(self, hint: str) -> str:
        """Returns a name for a tensor inside the operation that no value of the module has."""
        name = f"{self.prefix or self.outputs[0]}/{hint}"
        while name in self.taken:  # an earlier export named a value so
            name += "_"
        return name

    def fresh(self, hint: str, suffix: str = "") -> str:
        """Returns a new name for a tensor inside the operation."""
        return self.own_name(f"{hint}{len(self.nodes) + len(self.initializers)}{suffix}")

    def node(
        self,
        op_type: str,
        inputs: Sequence[str],
        outputs: Sequence[str] | str | None = None,
        *,
        domain: str = "",
        **attributes: Any,
    ) -> str:
        """Adds a node and returns the name of its first output. By default, the node has one output with a new name.

        Attributes with the value `None` and trailing empty inputs are omitted.
        """
        given = [outputs] if isinstance(outputs, str) else list(outputs or [self.fresh(op_type)])
        kept = list(inputs)
        while kept and not kept[-1]:
            kept.pop()
        proto = NodeProto(op_type=op_type, domain=domain, input=kept, output=given)
        for key in sorted(attributes):
            if attributes[key] is not None:
                proto.attribute.append(_attribute(key, attributes[key]))
        self.nodes.append(proto)
        return given[0]

    def constant(self, array: npt.ArrayLike, element: Attribute = i64) -> str:
        """Adds a constant tensor and returns its name; equal constants of the operation share a tensor."""
        found = np.asarray(array)
        key = element, found.shape, found.dtype.str, found.tobytes()
        if key not in self._known:
            name = self.fresh("c")
            self.initializers.append(plain_proto(name, found, element))
            self._known[key] = name
        return self._known[key]

    def table(self, array: npt.ArrayLike, element: Attribute) -> str:
        """Adds a large constant that operations can share, and returns its name, a digest of its content."""
        found = np.asarray(array)
        digest = sha256(f"{element}{found.dtype.str}{found.shape}".encode() + found.tobytes()).hexdigest()
        name = f"{TABLE}{digest[:_DIGITS]}"
        if all(each.name != name for each in self.initializers):
            self.initializers.append(plain_proto(name, found, element))
        return name

    def tensor(self, proto: TensorProto) -> str:
        """Adds a tensor and returns its name."""
        self.initializers.append(proto)
        return proto.name

    def cast(self, name: str, element: Attribute, output: str | None = None) -> str:
        """Adds a Cast to another plain element type and returns the name of its output."""
        return self.node("Cast", [name], output, to=data_type(element))

    def transposed(self, name: str, rank: int) -> str:
        """Adds a Transpose of the last two axes of a value of rank `rank`; returns the name of its output."""
        *outer, row, column = range(rank)
        return self.node("Transpose", [name], perm=[*outer, column, row])

    def scalar(self, value: SSAValue | None, axes: int = 0) -> str:
        """Returns the name of an operand with one element, reshaped to rank `axes` if it has another rank."""
        name = self.name(value)
        if value is None or len(shape_of(value)) == axes:
            return name
        return self.node("Reshape", [name, self.constant(np.ones(axes, np.int64))])

    # Properties

    def parameter(self, name: str, *, is_scalar: bool = False) -> str:
        """Returns the name of a tensor with the integers of a parameter (property or operand); empty if omitted."""
        op = cast(NnOp, self.op)
        value: SSAValue | None = getattr(op, f"{name}_value")
        if value is not None:
            return self.names[value]
        numbers = op.integers(name)
        if numbers is None:
            return ""
        return self.constant(np.array(numbers[0] if is_scalar else numbers, np.int64))


Exporter = Callable[[NodeEmitter, Any], None]
"""A function that adds the nodes of an operation."""


def namesake(operation: type[Operation]) -> str:
    """Returns the ONNX operator with the name of `operation`, such as `LeakyRelu` for `LeakyReluOp`."""
    return operation.__name__.removesuffix("Op")


def _attribute(name: str, value: Any) -> AttributeProto:
    if isinstance(value, np.ndarray):
        raise TypeError(f"attribute '{name}' must be a tensor, but got an array")
    if isinstance(value, list) and not value:
        return AttributeProto(name=name, type=AttributeProto.INTS)
    return helper.make_attribute(name, value)
