"""One operation on its way out: its operands and results by their ONNX names, and the nodes that it becomes.

An exporter is a function from an `Outgoing` to nothing: it adds nodes, the last of which give `outputs`. It is all that
a package outside writes, too: the entry point group `qmlir.onnx_exporters` names tables from operation class to
exporter. Names inside an operation come from those of its results, so that the same operation gives the same nodes.

A quantized value is a tensor of its integers, in the smallest type that ONNX's operators compute with: 8, 16 or 32
bits. Constants of 4 bits and less are packed where they are only dequantized.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from hashlib import sha256
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from onnx import AttributeProto, NodeProto, TensorProto, TypeProto, ValueInfoProto, helper, numpy_helper
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyUnrankedTensorType,
    ArrayAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    Signedness,
    StringAttr,
    TensorType,
    i1,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.base import NnOp, plain_type
from qmlir.dialects.nn.types import SequenceType, StringType
from qmlir.dialects.quant.types import StoredType, UniformFloatType
from qmlir.ir.builtin_types import AnyTensor, as_integer, element_of, integer_list, ranked_tensor, tensor
from qmlir.ir.diagnostics import DiagnosticError, op_error
from qmlir.onnx.types import DATA_TYPES, ELEMENT_TYPES, SINCE, SUB_BYTE
from qmlir.text.elements import dense_dtype

CONTAINER_BITS = (8, 16, 32)
"""Widths in which operators compute."""

PACKED = {2: (TensorProto.INT2, TensorProto.UINT2), 4: (TensorProto.INT4, TensorProto.UINT4)}
"""Data types of several values in a byte, signed and unsigned."""

PACKED_SINCE = {2: 25, 4: 21}
"""The first operator set that has them."""


def container(element: StoredType) -> IntegerType:
    """The integers that hold a quantized value at run time, as `nn` writes them: `i8`, `ui8`."""
    bits = next(bits for bits in CONTAINER_BITS if element.bits <= bits)
    return IntegerType(bits) if element.is_signed else IntegerType(bits, Signedness.UNSIGNED)


def held_element(element: Attribute) -> Attribute:
    """The plain element type in which ONNX holds a value: f32 for a profiled f32, integers for a quantized one."""
    if isinstance(element, UniformFloatType):
        return element.storage
    return container(element) if isinstance(element, StoredType) else plain_type(element)


def data_type(element: Attribute) -> int | None:
    """ONNX's data type of an element, `None` where it has none."""
    return DATA_TYPES.get(held_element(element))


def element_since(element: Attribute) -> int:
    """The first operator set whose operators take such elements; 0 for those that all take."""
    return SINCE.get(data_type(element) or 0, 0)


def packed_type(element: StoredType, opset: int) -> int | None:
    """The data type of constants that are packed, `None` where they are not."""
    for bits, types in PACKED.items():
        if element.bits <= bits and opset >= PACKED_SINCE[bits]:
            return types[not element.is_signed]
    return None


def tensor_proto(name: str, array: Array, kind: int) -> TensorProto:
    """The tensor of data type `kind` that holds `array`."""
    if kind in SUB_BYTE:
        return numpy_helper.from_array(array.astype(helper.tensor_dtype_to_np_dtype(kind)), name)
    return TensorProto(name=name, data_type=kind, dims=array.shape, raw_data=np.ascontiguousarray(array).tobytes())


def plain_proto(name: str, array: Array, element: Attribute) -> TensorProto:
    """The tensor of elements of a plain type, held in `array`; i1 as 0 and 1."""
    kind = DATA_TYPES[element]
    dtype = dense_dtype(element)
    assert dtype is not None
    return tensor_proto(name, np.asarray(array, dtype), kind)


def describe_type(proto: TypeProto, type_: Attribute, dims: Sequence[str] = ()) -> None:
    """Write the type of a value; `dims` names open sizes."""
    if isinstance(type_, SequenceType):
        _describe_tensor(proto.sequence_type.elem_type, type_.tensors, ())
    else:
        _describe_tensor(proto, tensor(type_), dims)


def _describe_tensor(proto: TypeProto, type_: AnyTensor | AnyUnrankedTensorType, dims: Sequence[str]) -> None:
    element = type_.get_element_type()
    proto.tensor_type.elem_type = TensorProto.STRING if isinstance(element, StringType) else data_type(element) or 0
    ranked = ranked_tensor(type_)
    if ranked is None:
        return
    proto.tensor_type.shape.SetInParent()
    for place, size in enumerate(ranked.get_shape()):
        dim = proto.tensor_type.shape.dim.add()
        if size != DYNAMIC_INDEX:
            dim.dim_value = size
        elif place < len(dims) and dims[place]:
            dim.dim_param = dims[place]


def value_info(name: str, type_: Attribute, dims: Sequence[str] = ()) -> ValueInfoProto:
    """What a graph says of a value."""
    info = ValueInfoProto(name=name)
    describe_type(info.type, type_, dims)
    return info


def has_onnx_type(type_: Attribute) -> bool:
    """Whether ONNX has a type for such a value."""
    if isinstance(type_, SequenceType):
        return type_.tensors.get_element_type() in DATA_TYPES
    ranked = ranked_tensor(type_)
    return ranked is not None and data_type(ranked.get_element_type()) is not None


def is_integer(element: Attribute) -> bool:
    """Whether a plain element type is an integer, i1 not among them."""
    found = as_integer(element)
    return found is not None and found.width.data > 1


def plain_tensor_type(type_: Attribute) -> Attribute:
    """The type that an import gives a tensor held as ONNX holds `type_`."""
    ranked = ranked_tensor(type_)
    if ranked is None:
        return type_
    kind = data_type(ranked.get_element_type())
    return TensorType(cast(Any, ELEMENT_TYPES.get(kind or 0)), ranked.get_shape()) if kind in ELEMENT_TYPES else type_


TABLE = "qmlir/table/"
"""What the names of shared tables begin with."""

_DIGITS = 24

MICROSOFT = "com.microsoft"
"""The domain of ONNX Runtime's own operators."""

MATRIX = 2
"""The rank of a matrix."""

WINDOWS = "group=groups strides dilations pads"
"""The attributes of a convolution, for `attributes_of`."""

OLDEST_OPSET = 21
"""The oldest operator set that is written: the first with blocks, 4 and 16 bits in QuantizeLinear, and metadata."""


class ExportForm(StrEnum):
    """How operations on quantized values are written."""

    QDQ = "qdq"
    """Float operators between DequantizeLinear and QuantizeLinear."""

    QOPERATOR = "qoperator"
    """QLinear operators where they compute the same integers."""

    INTEGER = "integer"
    """ConvInteger and MatMulInteger, and the arithmetic spelled out."""


@dataclass(frozen=True)
class Settings:
    """What the user chose."""

    form: ExportForm = ExportForm.QDQ
    opset: int = OLDEST_OPSET
    exact: bool | None = None
    """Whether to write the same integers for every session: in the form Q/DQ integer arithmetic where floats between
    casts may round another way. By default (`None`) sessions of ONNX Runtime with optimizations, which fuse some
    casts, compute the same integers. Neither has products of signed integers. `False` leaves everything between casts,
    and constant weights signed, whose products saturate in ONNX Runtime on x86 CPUs without VNNI."""

    functions: bool = False
    """Whether the parts of a composite are written as a local function."""

    signed: bool = False
    """Whether signed integers of 8 bits stay signed where ONNX Runtime has products of unsigned ones only."""


class NeedsOpsetError(DiagnosticException):
    """An operator is newer than the operator set that was chosen."""

    def __init__(self, op: Operation, opset: int, what: str):
        super().__init__(what)
        self.op = op
        self.opset = opset
        self.what = what


@dataclass
class Outgoing:
    """An operation, the names of its operands and results, and the nodes and tensors that it becomes."""

    op: Operation
    settings: Settings
    names: Mapping[SSAValue, str]
    """The ONNX name of each operand."""

    outputs: list[str]
    """The names that the nodes must give, one for each result."""

    nodes: list[NodeProto] = field(default_factory=list[NodeProto])
    initializers: list[TensorProto] = field(default_factory=list[TensorProto])
    packed: Mapping[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """The data types of constants whose tensors are packed."""

    versions: dict[str, int] = field(default_factory=dict[str, int])
    """The versions of other operator sets that the nodes are of, where that is not the first."""

    prefix: str = ""
    elements: Mapping[SSAValue, Attribute] = field(default_factory=dict[SSAValue, Attribute])
    """Element types of operands and results that are not held as their own type says: f32 after a dequantization."""

    _known: dict[tuple[Any, ...], str] = field(default_factory=dict[tuple[Any, ...], str])

    @property
    def opset(self) -> int:
        """The version of ONNX's operator set."""
        return self.settings.opset

    def needs(self, opset: int, what: str) -> None:
        """Say that `what` is there from an operator set on."""
        if self.opset < opset:
            raise NeedsOpsetError(self.op, opset, what)

    def error(self, message: str) -> DiagnosticError:
        """The error, to be raised, that names the operation."""
        return op_error(self.op, message)

    # Operands

    def name(self, value: SSAValue | None) -> str:
        """The name of an operand, empty where it is left out."""
        return "" if value is None else self.names[value]

    @property
    def inputs(self) -> list[str]:
        """The names of all operands."""
        return [self.names[value] for value in self.op.operands]

    @property
    def output(self) -> str:
        """The name of the first result."""
        return self.outputs[0]

    def element(self, value: SSAValue) -> Attribute:
        """The plain element type in which a value is held."""
        return self.elements.get(value) or held_element(element_of(value))

    # What is added

    def fresh(self, hint: str) -> str:
        """A name inside the operation."""
        return f"{self.prefix or self.outputs[0]}/{hint}{len(self.nodes) + len(self.initializers)}"

    def node(
        self,
        op_type: str,
        inputs: Sequence[str],
        outputs: Sequence[str] | str | None = None,
        *,
        domain: str = "",
        **attributes: Any,
    ) -> str:
        """Add a node, without the attributes that are `None`; the name of its first output, a new one by default.

        Trailing inputs that are left out go.
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
        """A tensor of numbers; equal ones are one."""
        found = np.asarray(array)
        key = element, found.shape, found.dtype.str, found.tobytes()
        if key not in self._known:
            name = self.fresh("c")
            self.initializers.append(plain_proto(name, found, element))
            self._known[key] = name
        return self._known[key]

    def table(self, array: npt.ArrayLike, element: Attribute) -> str:
        """A large tensor of numbers, whose name says what it holds: operations that need the same one share it."""
        found = np.asarray(array)
        digest = sha256(f"{element}{found.dtype.str}{found.shape}".encode() + found.tobytes()).hexdigest()
        name = f"{TABLE}{digest[:_DIGITS]}"
        if all(each.name != name for each in self.initializers):
            self.initializers.append(plain_proto(name, found, element))
        return name

    def tensor(self, proto: TensorProto) -> str:
        """A tensor that is made elsewhere; its name."""
        self.initializers.append(proto)
        return proto.name

    def cast(self, name: str, element: Attribute, output: str | None = None) -> str:
        """The value as elements of another plain type."""
        return self.node("Cast", [name], output, to=data_type(element))

    def transposed(self, name: str, rank: int) -> str:
        """A value of that rank with its last two axes exchanged."""
        *outer, row, column = range(rank)
        return self.node("Transpose", [name], perm=[*outer, column, row])

    # Properties

    def parameter(self, name: str, *, is_scalar: bool = False) -> str:
        """The integers of a parameter, as a tensor: the property's, or the operand; empty where there is neither."""
        op = cast(NnOp, self.op)
        value: SSAValue | None = getattr(op, f"{name}_value")
        if value is not None:
            return self.names[value]
        numbers = op.integers(name)
        if numbers is None:
            return ""
        return self.constant(np.array(numbers[0] if is_scalar else numbers, np.int64))


Exporter = Callable[[Outgoing, Any], None]
"""Adds the nodes of an operation."""


def _attribute(name: str, value: Any) -> AttributeProto:
    if isinstance(value, np.ndarray):
        raise TypeError(f"attribute '{name}' must be a tensor, but got an array")
    if isinstance(value, list) and not value:
        return AttributeProto(name=name, type=AttributeProto.INTS)
    return helper.make_attribute(name, value)


def number(attribute: Attribute | None) -> Any:
    """The number, flag, text or list of a property, as ONNX's attributes take it; `None` where it is left out."""
    match attribute:
        case None:
            return None
        case IntegerAttr():
            return abs(attribute.value.data) if attribute.type == i1 else int(attribute.value.data)
        case FloatAttr():
            return float(attribute.value.data)
        case StringAttr():
            return attribute.data
        case ArrayAttr():  # of texts; an empty list has no type in ONNX
            return [number(each) for each in attribute] or None
        case _:
            return list(integer_list(cast(Any, attribute)))


@cache
def attribute_names(text: str) -> Mapping[str, str]:
    """ONNX attribute to property of `"axis keepdims=keep_dims"`: the property is named where its name differs."""
    words = (word.partition("=") for word in text.split())
    return {attribute: own or attribute for attribute, _, own in words}


def attributes_of(op: Operation, names: str) -> dict[str, Any]:
    """The ONNX attributes that are properties of `op`, named as `attribute_names` reads them."""
    return {attribute: number(getattr(op, own)) for attribute, own in attribute_names(names).items()}
