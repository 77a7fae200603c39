"""Builtin types: typed access to xDSL's types, low-precision floats, and bounds of affine expressions."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import ml_dtypes
import numpy as np
import numpy.typing as npt
from xdsl.dialects import builtin
from xdsl.ir import Attribute, SSAValue, TypeAttribute
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineExpr

# xDSL's generic builtin types, with explicit parameters, which an `isinstance` alone leaves unknown.

AnyTensor: TypeAlias = builtin.TensorType[Attribute]
AnyMemRef: TypeAlias = builtin.MemRefType[Attribute]
AnyDense: TypeAlias = builtin.DenseIntOrFPElementsAttr[Any]


def ranked_tensor(type_: Attribute) -> AnyTensor | None:
    """Returns `type_` if it is a ranked tensor type; otherwise `None`."""
    return cast(AnyTensor, type_) if isinstance(type_, builtin.TensorType) else None


def unranked_tensor(type_: Attribute) -> builtin.UnrankedTensorType[Attribute] | None:
    """Returns `type_` if it is an unranked tensor type; otherwise `None`."""
    return cast(builtin.UnrankedTensorType[Attribute], type_) if isinstance(type_, builtin.UnrankedTensorType) else None


def tensor(type_: Attribute) -> AnyTensor:
    """Returns `type_`, which must be a ranked tensor type, as verified operations guarantee."""
    found = ranked_tensor(type_)
    assert found is not None
    return found


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """Returns the shape of a tensor value; `DYNAMIC_INDEX` stands for a dynamic size."""
    return tensor(value.type).get_shape()


def element_of(value: SSAValue) -> Attribute:
    """Returns the element type of a tensor value."""
    return tensor(value.type).get_element_type()


def element_or_self(type_: Attribute) -> Attribute:
    """Returns the element type of a tensor, vector or memref type; any other type is returned unchanged.

    xDSL's function of this purpose compares generic types, which takes several times as long.
    """
    return cast(Attribute, type_.get_element_type()) if isinstance(type_, builtin.ContainerType) else type_


def reshaped_like(type_: TypeAttribute, other: Attribute) -> TypeAttribute:
    """Returns `type_` with the shape of `other` if both are ranked tensors; otherwise `type_`."""
    mine, shaped = ranked_tensor(type_), ranked_tensor(other)
    return type_ if mine is None or shaped is None else builtin.TensorType(mine.element_type, shaped.get_shape())


def integer_list(attribute: builtin.DenseArrayBase[Any]) -> tuple[int, ...]:
    """Returns the elements of an `array<iN: …>` attribute."""
    return tuple(int(value) for value in cast(builtin.DenseArrayBase[builtin.IntegerType], attribute).get_values())


def float_list(attribute: builtin.DenseArrayBase[Any]) -> tuple[float, ...]:
    """Returns the elements of an `array<fN: …>` attribute."""
    return tuple(float(value) for value in attribute.get_values())


def dense(data: bytes, type_: AnyTensor) -> AnyDense:
    """Returns a dense attribute of type `type_` that shares the bytes of `data`, without a copy."""
    return builtin.DenseIntOrFPElementsAttr(cast(builtin.TensorType[Any], type_), builtin.BytesAttr(data))


def as_dense(attribute: Attribute) -> AnyDense | None:
    """Returns `attribute` if it is dense elements; otherwise `None`."""
    return cast(AnyDense, attribute) if isinstance(attribute, builtin.DenseIntOrFPElementsAttr) else None


def as_float(attribute: Attribute) -> builtin.FloatAttr[Any] | None:
    """Returns `attribute` if it is a float attribute; otherwise `None`."""
    return cast(builtin.FloatAttr[Any], attribute) if isinstance(attribute, builtin.FloatAttr) else None


def as_integer(type_: Attribute) -> builtin.IntegerType | None:
    """Returns `type_` if it is an integer type; otherwise `None`."""
    return cast(builtin.IntegerType, type_) if isinstance(type_, builtin.IntegerType) else None


def memref_type(value: SSAValue) -> AnyMemRef | None:
    """Returns the type of a memref value; `None` for other values."""
    type_: Attribute = value.type
    return cast(AnyMemRef, type_) if isinstance(type_, builtin.MemRefType) else None


def tensor_or_memref(type_: Attribute) -> AnyTensor | AnyMemRef | None:
    """Returns `type_` if it is a ranked tensor or memref type; otherwise `None`."""
    return cast(AnyMemRef, type_) if isinstance(type_, builtin.MemRefType) else ranked_tensor(type_)


def sizes_of(value: SSAValue) -> tuple[int, ...]:
    """Returns the shape of a tensor or memref; empty for a scalar."""
    shaped_type = tensor_or_memref(value.type)
    return () if shaped_type is None else shaped_type.get_shape()


def is_truth(type_: Attribute) -> bool:
    """Returns whether `type_` is a tensor type whose elements callers represent as NumPy booleans."""
    ranked = ranked_tensor(type_)
    return ranked is not None and ranked.get_element_type() == builtin.i1


# Floats of 8 bits and fewer: their NumPy types, with one value per byte, and their special encodings.
#
# xDSL's type of each defines its bits, its bias, and its treatment of infinities and NaN (`SEMANTICS`). All reads and
# writes of such floats rely on that, so a new format is a new row of `DTYPES`.

SmallFloat: TypeAlias = (
    builtin.Float4E2M1FNType
    | builtin.Float6E2M3FNType
    | builtin.Float6E3M2FNType
    | builtin.Float8E3M4Type
    | builtin.Float8E4M3Type
    | builtin.Float8E4M3FNType
    | builtin.Float8E4M3FNUZType
    | builtin.Float8E4M3B11FNUZType
    | builtin.Float8E5M2Type
    | builtin.Float8E5M2FNUZType
    | builtin.Float8E8M0FNUType
)

DTYPES: Mapping[type[Attribute], npt.DTypeLike] = {
    builtin.Float4E2M1FNType: ml_dtypes.float4_e2m1fn,
    builtin.Float6E2M3FNType: ml_dtypes.float6_e2m3fn,
    builtin.Float6E3M2FNType: ml_dtypes.float6_e3m2fn,
    builtin.Float8E3M4Type: ml_dtypes.float8_e3m4,
    builtin.Float8E4M3Type: ml_dtypes.float8_e4m3,
    builtin.Float8E4M3FNType: ml_dtypes.float8_e4m3fn,
    builtin.Float8E4M3FNUZType: ml_dtypes.float8_e4m3fnuz,
    builtin.Float8E4M3B11FNUZType: ml_dtypes.float8_e4m3b11fnuz,
    builtin.Float8E5M2Type: ml_dtypes.float8_e5m2,
    builtin.Float8E5M2FNUZType: ml_dtypes.float8_e5m2fnuz,
    builtin.Float8E8M0FNUType: ml_dtypes.float8_e8m0fnu,
}
"""The NumPy type of each format. Each value occupies one byte; narrower formats use its low bits."""

PLAIN_DTYPES: Mapping[type[Attribute], npt.DTypeLike] = {
    builtin.Float16Type: np.float16,
    builtin.BFloat16Type: ml_dtypes.bfloat16,
    builtin.Float32Type: np.float32,
    builtin.Float64Type: np.float64,
}
"""The NumPy type of each float type that operations compute with."""

FLOAT_DTYPES: Mapping[type[Attribute], npt.DTypeLike] = {**PLAIN_DTYPES, **DTYPES}
"""The NumPy type of each float type that has one."""


def as_small_float(type_: Attribute) -> SmallFloat | None:
    """Returns `type_` if it is a float of 8 bits or fewer; otherwise `None`."""
    return type_ if isinstance(type_, SmallFloat) else None


def small_dtype(type_: SmallFloat) -> np.dtype[Any]:
    """Returns the NumPy type that stores values of the low-precision float type `type_`."""
    return np.dtype(DTYPES[type(type_)])


@dataclass(frozen=True)
class Codes:
    """The special encodings of a format, with the sign bit clear."""

    largest: int
    """The largest finite value."""

    nan: int | None
    """The encoding of NaN, quiet if there are several; only the sign bit is set in a format without negative zero."""

    infinity: int | None
    """The encoding of infinity; larger encodings are NaN."""

    sign: int
    """The mask of the sign bit; 0 for an unsigned format."""

    has_negative_zero: bool

    @staticmethod
    def of(format_: builtin.FloatSemantics) -> "Codes":
        """Returns the special encodings of a format."""
        ones = (1 << format_.exponent_bits + format_.mantissa_bits) - 1
        sign = 1 << format_.sign_shift if format_.has_sign else 0
        if format_.nonfinite is builtin.FloatNonfiniteBehavior.FINITE_ONLY:
            return Codes(ones, None, None, sign, True)
        if format_.nonfinite is builtin.FloatNonfiniteBehavior.IEEE:
            infinity = format_.max_exponent << format_.mantissa_bits
            return Codes(infinity - 1, infinity | 1 << format_.mantissa_bits - 1, infinity, sign, True)
        if format_.nan_encoding is builtin.FloatNanEncoding.NEGATIVE_ZERO:
            return Codes(ones, sign, None, sign, False)
        return Codes(ones - 1, ones, None, sign, True)


# Values of affine expressions over a box of dimensions: bounds, and whether they stay inside an axis.


def bounds_of(expression: AffineExpr, ranges: Sequence[int]) -> tuple[int, int]:
    """Returns a lower and an upper bound on `expression` if each dimension `i` is in `[0, ranges[i])`."""
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
"""The maximum number of points at which an expression is evaluated one by one."""


def lies_outside(expression: AffineExpr, ranges: Sequence[int], size: int) -> bool:
    """Returns whether `expression` can leave `[0, size)` if each dimension `i` is in `[0, ranges[i])`.

    In most cases, the bounds on the expression decide. Bounds on a remainder or a difference may be too wide; the
    expression is then evaluated at every point. If there are too many points, returns False.
    """
    low, high = bounds_of(expression, ranges)
    if 0 in ranges or (low >= 0 and high < size):
        return False
    used = sorted(expression.used_dims())
    if math.prod(ranges[axis] for axis in used) > _MOST_POINTS:
        return False
    # An expression is evaluated on NumPy arrays in the same way as on numbers.
    grid: Any = np.ix_(*(np.arange(ranges[axis]) for axis in used))
    positions: dict[int, Any] = dict(zip(used, grid, strict=True))
    values = np.asarray(expression.eval([positions.get(axis, 0) for axis in range(len(ranges))], ()))
    return bool((values < 0).any() or (values >= size).any())
