"""The common base of `simd` operations, and the verification of their vector and memory types."""

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import TypeAlias, cast

from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerType, MemRefType, VectorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, ParsePropInAttrDict
from xdsl.utils.exceptions import VerifyException

from qmlir.ir.builtin_types import as_integer

AnyVector: TypeAlias = VectorType[Attribute]
AnyMemory: TypeAlias = MemRefType[Attribute]


class SimdOp(IRDLOperation):
    """An operation of `simd`. A kernel has thousands, so its fast constructor takes only required operands."""

    irdl_options = (ParsePropInAttrDict(),)

    def __init__(
        self, operands: Sequence[SSAValue], result_types: Sequence[Attribute] = (),
        properties: Mapping[str, Attribute] = MappingProxyType({}),
    ) -> None:  # fmt: skip
        Operation.__init__(self, operands=operands, result_types=result_types, properties=properties)


def as_vector(type_: Attribute) -> AnyVector | None:
    """Returns `type_` if it is a vector type; `None` otherwise."""
    return cast(AnyVector, type_) if isinstance(type_, VectorType) else None


def vector_of(value: SSAValue) -> AnyVector:
    """Returns the type of a register or of a register tile. Raises `VerifyException` for a value of any other type."""
    found = as_vector(value.type)
    if found is None or not found.get_num_dims() or found.get_num_scalable_dims():
        raise VerifyException(f"expected a vector of fixed size, but got '{value.type}'")
    return found


def register_of(value: SSAValue) -> AnyVector:
    """Returns the type of a register. Raises `VerifyException` for a value of any other type."""
    found = vector_of(value)
    if found.get_num_dims() != 1:
        raise VerifyException(f"expected a 1-D vector, but got '{value.type}'")
    return found


def lanes_of(value: SSAValue) -> int:
    """Returns the number of lanes of a register, or of each register of a tile."""
    return vector_of(value).get_shape()[-1]


def tile_of(value: SSAValue) -> tuple[int, ...]:
    """Returns the shape of a register tile, in registers: `()` for a single register."""
    return vector_of(value).get_shape()[:-1]


def element_of(value: SSAValue) -> Attribute:
    """Returns the element type of a vector."""
    return vector_of(value).get_element_type()


def is_tile_type(type_: Attribute) -> bool:
    """Returns true for the type of register tiles: a vector of rank 2 or more."""
    found = as_vector(type_)
    return found is not None and found.get_num_dims() > 1


def is_tile(value: SSAValue) -> bool:
    """Returns true if a value is a register tile."""
    return is_tile_type(value.type)


@cache
def vector(lanes: int, element: Attribute, tile: tuple[int, ...] = ()) -> AnyVector:
    """Returns the type of a register, or of a register tile; cached, since a kernel has only a few distinct types."""
    return VectorType(element, [*tile, lanes])


def bits_of(element: Attribute) -> int:
    """Returns the width of an integer or float type in bits; an `index` counts as 64."""
    if isinstance(element, IndexType):
        return 64
    if isinstance(element, AnyFloat):
        return element.bitwidth
    integer = as_integer(element)
    if integer is None:
        raise VerifyException(f"elements must be integers or floats, but got {element}")
    return integer.width.data


def is_signless(element: Attribute, *widths: int) -> bool:
    """Returns whether a type is a signless integer whose width is one of `widths`, or any width if none are given."""
    integer = as_integer(element)
    return integer is not None and integer == IntegerType(integer.width.data) and (
        not widths or integer.width.data in widths
    )  # fmt: skip


def check_place(memory: SSAValue, indices: Sequence[SSAValue], element: Attribute | None) -> None:
    """Raises `VerifyException` unless `indices` address memory whose innermost axis is contiguous.

    `element` is the required element type of the memory, if one is required.
    """
    type_ = cast(AnyMemory, memory.type)
    if len(indices) != type_.get_num_dims() or not indices:
        raise VerifyException(f"expected one index per axis of '{type_}', but got {len(indices)}")
    strides = type_.get_strides()
    if strides is None or strides[-1] != 1:
        raise VerifyException(f"innermost stride of the memref must be 1, but got '{type_}'")
    if element is not None and type_.get_element_type() != element:
        raise VerifyException(f"expected a memref of {element}, but got '{type_}'")
