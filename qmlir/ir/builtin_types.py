"""xDSL's generic builtin types, with their parameters spelled out where an `isinstance` alone leaves them unknown."""

from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import (
    BytesAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerType,
    MemRefType,
    TensorType,
    UnrankedTensorType,
    i1,
)
from xdsl.ir import Attribute, SSAValue, TypeAttribute

AnyTensor: TypeAlias = TensorType[Attribute]
AnyMemRef: TypeAlias = MemRefType[Attribute]
AnyDense: TypeAlias = DenseIntOrFPElementsAttr[Any]


def ranked_tensor(type_: Attribute) -> AnyTensor | None:
    """`type_` where it is a ranked tensor."""
    return cast(AnyTensor, type_) if isinstance(type_, TensorType) else None


def unranked_tensor(type_: Attribute) -> UnrankedTensorType[Attribute] | None:
    """`type_` where it is an unranked tensor."""
    return cast(UnrankedTensorType[Attribute], type_) if isinstance(type_, UnrankedTensorType) else None


def tensor(type_: Attribute) -> AnyTensor:
    """`type_`, which is a ranked tensor: verified operations have no other type where this is asked."""
    found = ranked_tensor(type_)
    assert found is not None
    return found


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The shape of a tensor value; `DYNAMIC_INDEX` stands for a size that is not known."""
    return tensor(value.type).get_shape()


def element_of(value: SSAValue) -> Attribute:
    """The element type of a tensor value."""
    return tensor(value.type).get_element_type()


def reshaped_like(type_: TypeAttribute, other: Attribute) -> TypeAttribute:
    """`type_` with the shape of `other`, where both are ranked tensors."""
    mine, shaped = ranked_tensor(type_), ranked_tensor(other)
    return type_ if mine is None or shaped is None else TensorType(mine.element_type, shaped.get_shape())


def integer_list(attribute: DenseArrayBase[Any]) -> tuple[int, ...]:
    """The numbers of `array<iN: …>`."""
    return tuple(int(value) for value in cast(DenseArrayBase[IntegerType], attribute).get_values())


def float_list(attribute: DenseArrayBase[Any]) -> tuple[float, ...]:
    """The numbers of `array<fN: …>`."""
    return tuple(float(value) for value in attribute.get_values())


def dense(data: bytes, type_: AnyTensor) -> AnyDense:
    """The dense attribute over `data`, which is not copied."""
    return DenseIntOrFPElementsAttr(cast(TensorType[Any], type_), BytesAttr(data))


def as_dense(attribute: Attribute) -> AnyDense | None:
    """`attribute` where it is dense elements."""
    return cast(AnyDense, attribute) if isinstance(attribute, DenseIntOrFPElementsAttr) else None


def as_float(attribute: Attribute) -> FloatAttr[Any] | None:
    """`attribute` where it is a float."""
    return cast(FloatAttr[Any], attribute) if isinstance(attribute, FloatAttr) else None


def as_integer(type_: Attribute) -> IntegerType | None:
    """`type_` where it is an integer type."""
    return cast(IntegerType, type_) if isinstance(type_, IntegerType) else None


def memref_type(value: SSAValue) -> AnyMemRef | None:
    """The type of a value that is memory."""
    type_: Attribute = value.type
    return cast(AnyMemRef, type_) if isinstance(type_, MemRefType) else None


def sizes_of(value: SSAValue) -> tuple[int, ...]:
    """The shape of a tensor or of memory, none of a scalar."""
    shaped_type = ranked_tensor(value.type) or memref_type(value)
    return () if shaped_type is None else shaped_type.get_shape()


def is_truth(type_: Attribute) -> bool:
    """Return True for tensors whose elements callers hold as Booleans of NumPy."""
    ranked = ranked_tensor(type_)
    return ranked is not None and ranked.get_element_type() == i1
