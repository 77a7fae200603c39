"""How large a value is, whatever its level: its shape, its elements, their bits, its bytes.

Sizes that are not known count as 1, so that numbers are for one sample.
"""

import math
from typing import cast

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    MemRefType,
    TensorType,
)
from xdsl.ir import Attribute, SSAValue

from qmlir.dialects.quant.types import CalibratedQuantizedType, StoredType, UniformFloatType
from qmlir.ir.builtin_types import AnyMemRef, AnyTensor, memref_type, ranked_tensor
from qmlir.ir.interfaces import volume
from qmlir.ir.small_floats import as_small_float


def bits_of(element: Attribute) -> int:
    """How many bits an element is stored in: 1 for a bool, 64 for an index; 0 for text, which has no width."""
    match element:
        case StoredType() | UniformFloatType():
            return element.bits
        case CalibratedQuantizedType():
            return bits_of(element.expressed_type)
        case Float64Type() | IndexType():
            return 64
        case Float32Type():
            return 32
        case Float16Type() | BFloat16Type():
            return 16
        case IntegerType():
            return element.width.data
        case _:
            small = as_small_float(element)
            return 0 if small is None else small.bitwidth


def shaped_type(value: SSAValue) -> tuple[Attribute, tuple[int, ...]] | None:
    """The element type and the shape of a tensor or of memory; sizes that are not known as xDSL has them."""
    found = ranked_tensor(value.type) or memref_type(value)
    return None if found is None else (found.get_element_type(), tuple(found.get_shape()))


def elements_of(value: SSAValue) -> int:
    """How many elements a value has."""
    found = shaped_type(value)
    return 0 if found is None else volume(found[1])


def type_bytes(type_: Attribute) -> int:
    """The bytes of a value of a type, its elements packed as their storage type allows."""
    if not isinstance(type_, TensorType | MemRefType):
        return 0
    found = cast(AnyTensor | AnyMemRef, type_)
    return math.ceil(volume(found.get_shape()) * bits_of(found.get_element_type()) / 8)


def bytes_of(value: SSAValue) -> int:
    """The bytes of a value, its elements packed as their storage type allows."""
    return type_bytes(value.type)
