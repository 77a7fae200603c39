"""Builtin types: typed access to xDSL's types, small floats, and bounds of affine expressions."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import ml_dtypes
import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    Float4E2M1FNType,
    Float6E2M3FNType,
    Float6E3M2FNType,
    Float8E3M4Type,
    Float8E4M3B11FNUZType,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E4M3Type,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    FloatAttr,
    FloatNanEncoding,
    FloatNonfiniteBehavior,
    FloatSemantics,
    IntegerType,
    MemRefType,
    TensorType,
    UnrankedTensorType,
    i1,
)
from xdsl.ir import Attribute, SSAValue, TypeAttribute
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineExpr

# xDSL's generic builtin types, with their parameters spelled out where an `isinstance` alone leaves them unknown.

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


# Floats of 8 bits and fewer: which there are, the NumPy type that holds one in a byte, and its particular codes.
#
# xDSL's type of each says its bits, its bias, and what it has instead of infinities and NaN (`SEMANTICS`). All that
# reads or writes such floats goes by that, so one more format is one more row of `DTYPES`.

SmallFloat: TypeAlias = (
    Float4E2M1FNType
    | Float6E2M3FNType
    | Float6E3M2FNType
    | Float8E3M4Type
    | Float8E4M3Type
    | Float8E4M3FNType
    | Float8E4M3FNUZType
    | Float8E4M3B11FNUZType
    | Float8E5M2Type
    | Float8E5M2FNUZType
    | Float8E8M0FNUType
)

DTYPES: Mapping[type[Attribute], npt.DTypeLike] = {
    Float4E2M1FNType: ml_dtypes.float4_e2m1fn,
    Float6E2M3FNType: ml_dtypes.float6_e2m3fn,
    Float6E3M2FNType: ml_dtypes.float6_e3m2fn,
    Float8E3M4Type: ml_dtypes.float8_e3m4,
    Float8E4M3Type: ml_dtypes.float8_e4m3,
    Float8E4M3FNType: ml_dtypes.float8_e4m3fn,
    Float8E4M3FNUZType: ml_dtypes.float8_e4m3fnuz,
    Float8E4M3B11FNUZType: ml_dtypes.float8_e4m3b11fnuz,
    Float8E5M2Type: ml_dtypes.float8_e5m2,
    Float8E5M2FNUZType: ml_dtypes.float8_e5m2fnuz,
    Float8E8M0FNUType: ml_dtypes.float8_e8m0fnu,
}
"""The NumPy type of each: one value in a byte, a narrower one in its low bits."""


def as_small_float(type_: Attribute) -> SmallFloat | None:
    """`type_` where it is a float of 8 bits or fewer."""
    return type_ if isinstance(type_, SmallFloat) else None


def small_dtype(type_: SmallFloat) -> np.dtype[Any]:
    """The NumPy type that holds one value."""
    return np.dtype(DTYPES[type(type_)])


@dataclass(frozen=True)
class Codes:
    """The bits of the values of a format that its exponent and mantissa do not give, without the sign."""

    largest: int
    """The largest finite value."""

    nan: int | None
    """NaN (quiet where there are several); in a format without a negative zero this is the sign bit."""

    infinity: int | None
    """Infinity; larger codes are NaN."""

    sign: int
    """The sign bit, 0 where there is none."""

    has_negative_zero: bool

    @staticmethod
    def of(format_: FloatSemantics) -> "Codes":
        """The codes of a format."""
        ones = (1 << format_.exponent_bits + format_.mantissa_bits) - 1
        sign = 1 << format_.sign_shift if format_.has_sign else 0
        if format_.nonfinite is FloatNonfiniteBehavior.FINITE_ONLY:
            return Codes(ones, None, None, sign, True)
        if format_.nonfinite is FloatNonfiniteBehavior.IEEE:
            infinity = format_.max_exponent << format_.mantissa_bits
            return Codes(infinity - 1, infinity | 1 << format_.mantissa_bits - 1, infinity, sign, True)
        if format_.nan_encoding is FloatNanEncoding.NEGATIVE_ZERO:
            return Codes(ones, sign, None, sign, False)
        return Codes(ones - 1, ones, None, sign, True)


# What values an affine expression takes over a box of dimensions: bounds, and whether it stays inside an axis.


def bounds_of(expression: AffineExpr, ranges: Sequence[int]) -> tuple[int, int]:
    """A lower and an upper bound of an expression whose dimensions run from 0 to below `ranges`."""
    match expression:
        case AffineConstantExpr():
            return expression.value, expression.value
        case AffineDimExpr():
            return 0, max(ranges[expression.position] - 1, 0)
        case AffineBinaryOpExpr():
            a, b = bounds_of(expression.lhs, ranges), bounds_of(expression.rhs, ranges)
            match expression.kind:
                case AffineBinaryOpKind.Add:
                    return a[0] + b[0], a[1] + b[1]
                case AffineBinaryOpKind.Mul:
                    products = [x * y for x in a for y in b]
                    return min(products), max(products)
                case AffineBinaryOpKind.Mod:
                    return 0, b[1] - 1
                case AffineBinaryOpKind.FloorDiv:
                    return a[0] // b[0], a[1] // b[0]
                case AffineBinaryOpKind.CeilDiv:
                    return -(-a[0] // b[0]), -(-a[1] // b[0])
        case _:
            raise NotImplementedError(f"{expression} has symbols")


_MOST_POINTS = 1 << 22
"""Points at which an expression is computed one by one."""


def lies_outside(expression: AffineExpr, ranges: Sequence[int], size: int) -> bool:
    """Whether an expression whose dimensions run from 0 to below `ranges` leaves 0 to below `size` somewhere.

    Bounds decide most; those of a remainder or of a difference may be too wide, and then every point does. Where there
    are too many, nothing is known: it is taken for inside.
    """
    low, high = bounds_of(expression, ranges)
    if 0 in ranges or (low >= 0 and high < size):
        return False
    used = sorted(expression.used_dims())
    if math.prod(ranges[axis] for axis in used) > _MOST_POINTS:
        return False
    # An expression of NumPy arrays is computed as one of numbers is.
    grid: Any = np.ix_(*(np.arange(ranges[axis]) for axis in used))
    places: dict[int, Any] = dict(zip(used, grid, strict=True))
    values = np.asarray(expression.eval([places.get(axis, 0) for axis in range(len(ranges))], ()))
    return bool((values < 0).any() or (values >= size).any())
