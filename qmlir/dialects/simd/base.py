"""What the operations of `simd` share: vectors and memory in their types, and the checks on these."""

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import TypeAlias, cast

from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerType, MemRefType, VectorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.utils.exceptions import VerifyException

from qmlir.ir.builtin_types import as_integer

AnyVector: TypeAlias = VectorType[Attribute]
AnyMemory: TypeAlias = MemRefType[Attribute]


class SimdOp(IRDLOperation):
    """An operation of `simd`. A kernel has thousands: its constructor takes operands as they are, none optional."""

    def __init__(
        self, operands: Sequence[SSAValue], result_types: Sequence[Attribute] = (),
        properties: Mapping[str, Attribute] = MappingProxyType({}),
    ) -> None:  # fmt: skip
        Operation.__init__(self, operands=operands, result_types=result_types, properties=properties)


def as_vector(type_: Attribute) -> AnyVector | None:
    """`type_` where it is a vector."""
    return cast(AnyVector, type_) if isinstance(type_, VectorType) else None


def vector_of(value: SSAValue) -> AnyVector:
    """The type of a value that is a vector of one axis. Raises `VerifyException` for any other."""
    found = as_vector(value.type)
    if found is None or found.get_num_dims() != 1 or found.get_num_scalable_dims():
        raise VerifyException(f"expected a 1-D vector, but got '{value.type}'")
    return found


def lanes_of(value: SSAValue) -> int:
    """The number of lanes of a vector."""
    return vector_of(value).get_shape()[0]


def element_of(value: SSAValue) -> Attribute:
    """The element type of a vector."""
    return vector_of(value).get_element_type()


@cache
def vector(lanes: int, element: Attribute) -> AnyVector:
    """The type of a vector of one axis; the same object each time, as the values of a tile have few types."""
    return VectorType(element, [lanes])


def bits_of(element: Attribute) -> int:
    """The width of an integer or float type in bits; `index` has 64."""
    if isinstance(element, IndexType):
        return 64
    if isinstance(element, AnyFloat):
        return element.bitwidth
    integer = as_integer(element)
    if integer is None:
        raise VerifyException(f"elements must be integers or floats, but got {element}")
    return integer.width.data


def is_signless(element: Attribute, *widths: int) -> bool:
    """Whether a type is a signless integer, of one of the `widths` where some are given."""
    integer = as_integer(element)
    return integer is not None and integer == IntegerType(integer.width.data) and (
        not widths or integer.width.data in widths
    )  # fmt: skip


def check_place(memory: SSAValue, indices: Sequence[SSAValue], element: Attribute | None) -> None:
    """Raise `VerifyException` unless `indices` name a place in memory whose innermost axis has no gaps.

    `element` is the type that the elements in memory must have, where it is known.
    """
    type_ = cast(AnyMemory, memory.type)
    if len(indices) != type_.get_num_dims() or not indices:
        raise VerifyException(f"expected one index per axis of '{type_}', but got {len(indices)}")
    strides = type_.get_strides()
    if strides is None or strides[-1] != 1:
        raise VerifyException(f"innermost stride of the memref must be 1, but got '{type_}'")
    if element is not None and type_.get_element_type() != element:
        raise VerifyException(f"expected a memref of {element}, but got '{type_}'")
