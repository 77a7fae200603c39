"""Element types of `nn` values, in the kinds that an operation's verifier tells apart."""

import math
from enum import Flag, auto

from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    Signedness,
    f32,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.integers import integer_limits
from qmlir.dialects.nn.types import StringType
from qmlir.dialects.quant.types import CalibratedQuantizedType, StoredType, UniformFloatType
from qmlir.ir.small_floats import as_small_float

PLAIN_FLOATS = (Float16Type, BFloat16Type, Float32Type, Float64Type)
"""The float types that operations compute with."""


def verify_precision(precision: Attribute) -> None:
    """Check that a property which names the type of an intermediate result names one that is computed with."""
    if not isinstance(precision, PLAIN_FLOATS):
        raise VerifyException(f"the precision is f16, bf16, f32 or f64, found {precision}")


def computing_type(element: Attribute) -> Attribute:
    """The type in which values of a plain type are computed: f32 for shorter floats."""
    return f32 if isinstance(element, AnyFloat) and not isinstance(element, Float64Type) else element


class Kind(Flag):
    """A kind of element type; the kinds that an operation accepts are joined with `|`."""

    FLOAT = auto()
    """f16, bf16, f32, f64, or such a type with a profiled range."""

    INTEGER = auto()
    """iN (signed) and uiN."""

    BOOLEAN = auto()
    """i1."""

    QUANTIZED = auto()
    """Integers that stand for real numbers."""

    SMALL_FLOAT = auto()
    """Floats of 8 bits and fewer, plain or as what a quantized type stores: they are moved and cast, and nothing
    computes with them."""

    STRING = auto()
    """Text. An operation has to accept it explicitly: values that operations add, such as padding by 0, are numbers."""

    NUMBER = FLOAT | INTEGER | QUANTIZED
    ANY = NUMBER | BOOLEAN
    """All that is computed with."""

    MOVED = ANY | SMALL_FLOAT | STRING
    """All that can be put elsewhere as it is."""

    def __str__(self) -> str:
        return ", ".join((kind.name or "").lower() for kind in type(self) if kind in self)


def kind_of(element: Attribute) -> Kind | None:
    """The kind of an element type, `None` for a type that no `nn` operation takes."""
    match element:
        case Float16Type() | BFloat16Type() | Float32Type() | Float64Type() | CalibratedQuantizedType():
            return Kind.FLOAT
        case StoredType():
            return Kind.QUANTIZED
        case UniformFloatType():
            return Kind.SMALL_FLOAT
        case IntegerType():
            return Kind.BOOLEAN if element.width.data == 1 else Kind.INTEGER
        case StringType():
            return Kind.STRING
        case _:
            return None if as_small_float(element) is None else Kind.SMALL_FLOAT


def plain_type(element: Attribute) -> Attribute:
    """The type that a value has before anything is known or decided of it: f32 for a profiled or quantized f32."""
    match element:
        case CalibratedQuantizedType():
            return element.expressed_type
        case StoredType():
            expressed = element.expressed_type
            return element if expressed is None else expressed
        case _:
            return element


def element_limits(element: Attribute) -> tuple[float, float]:
    """The limits `low <= x <= high` of all elements of a type: of stored integers, of integers, infinite of floats.

    Limits of integers are Python's integers.
    """
    match element:
        case StoredType():
            return element.storage_min, element.storage_max
        case IntegerType():
            is_signed = element.width.data > 1 and element.signedness.data is not Signedness.UNSIGNED
            return integer_limits(element.width.data, is_signed=is_signed)
        case _:
            return -math.inf, math.inf
