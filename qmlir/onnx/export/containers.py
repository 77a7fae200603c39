"""How values of a module are held in ONNX: the data type of an element, the bytes of a tensor, shapes and their names.

A quantized value is a tensor of its integers, in the smallest type that ONNX's operators compute with: 8, 16 or 32
bits. Constants of 4 bits and less are packed where they are only dequantized.
"""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from onnx import TensorProto, TypeProto, ValueInfoProto, helper, numpy_helper
from xdsl.dialects.builtin import DYNAMIC_INDEX, AnyUnrankedTensorType, IntegerType, Signedness, TensorType, i8
from xdsl.ir import Attribute

from qmlir.dialects.nn.elements import plain_type
from qmlir.dialects.nn.types import SequenceType, StringType
from qmlir.dialects.quant.types import StoredType, UniformFloatType
from qmlir.ir.builtin_types import AnyTensor, as_integer, ranked_tensor, tensor
from qmlir.onnx.types import DATA_TYPES, ELEMENT_TYPES, SINCE, SUB_BYTE
from qmlir.text.elements import dense_dtype

Array = npt.NDArray[Any]

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


def held_types(type_: Attribute) -> list[Attribute]:
    """The types that an import gives tensors of values of `type_`: as it is computed with, packed, or unsigned."""
    ranked, found = ranked_tensor(type_), [plain_tensor_type(type_)]
    element = None if ranked is None else ranked.get_element_type()
    if ranked is not None and isinstance(element, StoredType):
        kinds = {packed_type(element, opset) for opset in PACKED_SINCE.values()} - {None}
        if container(element) == i8:
            kinds |= {TensorProto.UINT8}  # `unsigned`
        found += [TensorType(cast(Any, ELEMENT_TYPES[kind]), ranked.get_shape()) for kind in kinds if kind is not None]
    return found
