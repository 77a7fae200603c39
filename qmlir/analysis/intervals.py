"""Interval arithmetic: bounds on integers and floats, and the transfer functions of `arith` and `math`.

Bounds are exact Python numbers, or object arrays of such numbers if each channel has its own bound. Integers are read
as signed, except that i1 is 0 or 1. A result that may overflow has the full range of its type. Floats are tracked only
through comparisons, rounding and conversions; every other float is unbounded and may be NaN.
"""

import math as python_math
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any, cast

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IndexType, IntegerAttr
from xdsl.ir import Attribute, Operation

from qmlir.arithmetic.arrays import Array, integer_limits
from qmlir.ir.builtin_types import as_dense, as_integer, element_or_self
from qmlir.text.elements import dense_array, dense_dtype, narrowed

Bound = Any
"""An int, a float, or an object array of them."""


def _smaller(a: Bound, b: Bound) -> Bound:
    return np.minimum(np.asarray(a, object), np.asarray(b, object))


def _larger(a: Bound, b: Bound) -> Bound:
    return np.maximum(np.asarray(a, object), np.asarray(b, object))


@dataclass(frozen=True, eq=False)
class Interval:
    """The smallest and the largest value of a set; the set has no elements if `is_empty`."""

    low: Bound
    high: Bound
    is_empty: bool = False

    def joined(self, other: "Interval") -> "Interval":
        """Returns the smallest interval that contains this interval and `other`."""
        if self.is_empty or other.is_empty:
            return other if self.is_empty else self
        return Interval(_smaller(self.low, other.low), _larger(self.high, other.high))

    def within(self, low: Bound, high: Bound) -> bool:
        """Returns True if the values of all channels are in `[low, high]`."""
        return self.is_empty or bool(np.all(self.low >= low) and np.all(self.high <= high))

    def is_in(self, other: "Interval") -> bool:
        """Returns True if the union of `other` over all channels contains this interval."""
        return self.is_empty or (not other.is_empty and self.within(*other.values))

    @property
    def whole(self) -> "Interval":
        """The union of the intervals of all channels."""
        if self.is_empty:
            return self
        low, high = np.asarray(self.low, object), np.asarray(self.high, object)
        return Interval(low.min(), high.max()) if low.size and high.size else EMPTY

    @property
    def values(self) -> tuple[int, int]:
        """The lower and the upper bound over all channels; `(0, 0)` if the interval is empty."""
        whole = self.whole
        return (0, 0) if whole.is_empty else (whole.low, whole.high)

    def __str__(self) -> str:
        low, high = self.values
        return f"[{low}, {high}]"


EMPTY = Interval(0, 0, is_empty=True)
"""The interval without values, for uninitialized memory."""

ANY_FLOAT = Interval(-python_math.inf, python_math.inf)

EXACT_F32 = 1 << 24
"""f32 holds every integer up to this magnitude."""

_INDEX_BITS = 64


def bits_of(type_: Attribute) -> int | None:
    """Returns the width of the integer elements of a type in bits, or `None` for other elements."""
    element = element_or_self(type_)
    if isinstance(element, IndexType):
        return _INDEX_BITS
    integer = as_integer(element)
    return None if integer is None else integer.width.data


def signed_range(bits: int) -> Interval:
    """Returns the range of a signed integer of `bits` bits; the range of i1 is [0, 1]."""
    return Interval(*integer_limits(bits, is_signed=bits > 1))


def range_of_type(type_: Attribute) -> Interval:
    """Returns the range of a value of type `type_`, or of an element if it is a tensor type."""
    bits = bits_of(type_)
    return ANY_FLOAT if bits is None else signed_range(bits)


def range_of_array(array: Array) -> Interval:
    """Returns the range of the elements of an array; if there is a NaN, the range of all floats."""
    if not array.size:
        return EMPTY
    low, high = array.min(), array.max()
    if array.dtype.kind in "iub":
        return Interval(int(low), int(high))
    return ANY_FLOAT if np.isnan(float(low)) else Interval(float(low), float(high))


def constant_elements(attribute: Attribute) -> Array | None:
    """Returns the elements of a dense constant, or `None` if the attribute doesn't hold them."""
    dense = as_dense(attribute)
    if dense is None or dense_dtype(dense.get_element_type()) is None:
        return None
    # The padding bits of an element may have any value: 15 is -1 in four bits.
    return narrowed(dense_array(dense), dense.get_element_type())


def wrapped(interval: Interval, bits: int) -> Interval:
    """Returns the range of integers in `interval` after they wrap to `bits` bits."""
    own = signed_range(bits)
    return interval if interval.within(own.low, own.high) else own


def unsigned(interval: Interval, bits: int) -> Interval:
    """Returns the range of signed integers of `bits` bits when they are reinterpreted as unsigned."""
    if bits == 1 or interval.within(0, python_math.inf):
        return interval
    if interval.within(-python_math.inf, -1):
        return Interval(interval.low + (1 << bits), interval.high + (1 << bits))
    return Interval(*integer_limits(bits, is_signed=False))


def signed(interval: Interval, bits: int) -> Interval:
    """Returns the range that signed operations see: they read i1 as 0 or -1, other integers unchanged."""
    return Interval(-interval.high, -interval.low) if bits == 1 else interval


def times(a: Interval, b: Interval) -> Interval:
    """Returns the range of the products `x * y` for `x` in `a` and `y` in `b`."""
    corners = [a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high]
    return Interval(reduce(_smaller, corners), reduce(_larger, corners))


# --- Integers ---------------------------------------------------------------------------------------------------------

Exact = Callable[[Interval, Interval], Interval | None]
"""A transfer function on exact integers, without overflow; `None` means that the result is unknown."""


def _minimum(a: Interval, b: Interval) -> Interval:
    return Interval(_smaller(a.low, b.low), _smaller(a.high, b.high))


def _maximum(a: Interval, b: Interval) -> Interval:
    return Interval(_larger(a.low, b.low), _larger(a.high, b.high))


def _and(a: Interval, b: Interval) -> Interval | None:
    for each, other in ((a, b), (b, a)):
        if each.within(0, python_math.inf):
            is_positive = other.within(0, python_math.inf)
            return Interval(0, _smaller(a.high, b.high) if is_positive else each.high)
    return None


def _or(a: Interval, b: Interval) -> Interval | None:
    if not (a.within(0, python_math.inf) and b.within(0, python_math.inf)):
        return None
    return Interval(0, (1 << max(int(a.values[1]).bit_length(), int(b.values[1]).bit_length())) - 1)


def _shift_left(a: Interval, b: Interval) -> Interval | None:
    amount, most = b.values
    return Interval(a.low * (1 << amount), a.high * (1 << amount)) if 0 <= amount == most else None


def _shift_right(a: Interval, b: Interval) -> Interval | None:
    if not b.within(0, _INDEX_BITS):
        return None
    (least, most), (low, high) = b.values, a.values
    return Interval(min(low >> least, low >> most), max(high >> least, high >> most))


def _divide(quotient: Callable[[int, int], int]) -> Exact:
    def divided(a: Interval, b: Interval) -> Interval | None:
        (low, high), (least, most) = a.values, b.values
        if least <= 0 <= most:
            return None
        corners = [quotient(value, divisor) for value in (low, high) for divisor in (least, most)]
        return Interval(min(corners), max(corners))

    return divided


def _truncating(value: int, divisor: int) -> int:
    return abs(value) // abs(divisor) * (1 if (value < 0) == (divisor < 0) else -1)


def _remainder(a: Interval, b: Interval) -> Interval | None:
    (low, high), (least, most) = a.values, b.values
    if least <= 0 <= most:
        return None
    largest = max(abs(least), abs(most)) - 1
    return Interval(max(-largest, min(low, 0)), min(largest, max(high, 0)))


SIGNED_TRANSFERS: dict[type[Operation], Exact] = {
    arith.AddiOp: lambda a, b: Interval(a.low + b.low, a.high + b.high),
    arith.SubiOp: lambda a, b: Interval(a.low - b.high, a.high - b.low),
    arith.MuliOp: times,
    arith.MinSIOp: _minimum,
    arith.MaxSIOp: _maximum,
    arith.AndIOp: _and,
    arith.OrIOp: _or,
    arith.XOrIOp: _or,
    arith.ShLIOp: _shift_left,
    arith.ShRSIOp: _shift_right,
    arith.DivSIOp: _divide(_truncating),
    arith.FloorDivSIOp: _divide(lambda value, divisor: value // divisor),
    arith.CeilDivSIOp: _divide(lambda value, divisor: -(-value // divisor)),
    arith.RemSIOp: _remainder,
}
"""The transfer functions of operations on integers that are read as signed."""

_UNSIGNED: dict[type[Operation], Exact] = {
    arith.MinUIOp: _minimum,
    arith.MaxUIOp: _maximum,
    arith.ShRUIOp: _shift_right,
    arith.DivUIOp: _divide(_truncating),
    arith.RemUIOp: _remainder,
}


def held(interval: Interval | None, bits: int) -> Interval:
    """Returns the range that unsigned results have after they are stored in `bits` bits and read as signed."""
    return signed_range(bits) if interval is None else wrapped(interval, bits)


# --- Floats and conversions -------------------------------------------------------------------------------------------


def _as_float(interval: Interval, target: Attribute) -> Interval:
    dtype = dense_dtype(element_or_self(target))
    if dtype is None or dtype.itemsize < np.dtype(np.float32).itemsize:
        return ANY_FLOAT
    with np.errstate(over="ignore"):
        low, high = (np.float64(bound).astype(dtype) for bound in interval.values)
        if not interval.within(-EXACT_F32, EXACT_F32):
            # NumPy converts them through f64, which rounds twice: one step outward covers the difference.
            low, high = np.nextafter(low, -low.dtype.type(np.inf)), np.nextafter(high, high.dtype.type(np.inf))
    return Interval(float(low), float(high))


def _as_integer(interval: Interval, bits: int, *, is_signed: bool) -> Interval:
    own = signed_range(bits) if is_signed else Interval(*integer_limits(bits, is_signed=False))
    low, high = interval.values
    if python_math.isinf(low) or python_math.isinf(high):
        low, high = max(low, own.low), min(high, own.high)  # the conversion is undefined outside this range
    found = Interval(max(python_math.trunc(low), own.low), min(python_math.trunc(high), own.high))
    if found.low > found.high:
        return signed_range(bits)
    return found if is_signed else held(found, bits)


_MONOTONE: dict[type[Operation], Callable[[float], float]] = {
    math.RoundEvenOp: lambda value: float(np.rint(value)),
    math.FloorOp: lambda value: float(np.floor(value)),
    math.CeilOp: lambda value: float(np.ceil(value)),
    math.TruncOp: lambda value: float(np.trunc(value)),
}


def _converted(op: Operation, given: Interval) -> Interval | None:
    """Returns the range of the result of a conversion, or `None` if `op` is not one."""
    source, target = op.operands[0].type, op.results[0].type
    from_bits, to_bits = (cast(int, bits_of(type_)) for type_ in (source, target))
    match op:
        case arith.ExtSIOp():
            return signed(given, from_bits)
        case arith.ExtUIOp():
            return unsigned(given, from_bits)
        case arith.TruncIOp():
            return range_of_type(target) if to_bits == 1 else wrapped(given, to_bits)
        case arith.IndexCastOp():
            return wrapped(signed(given, from_bits), to_bits)
        case arith.SIToFPOp():
            return _as_float(signed(given, from_bits), target)
        case arith.UIToFPOp():
            return _as_float(unsigned(given, from_bits), target)
        case arith.FPToSIOp() | arith.FPToUIOp():
            return _as_integer(given, to_bits, is_signed=isinstance(op, arith.FPToSIOp))
        case arith.ExtFOp():
            return given
        case _:
            return None


def transfer(op: Operation, operands: list[Interval]) -> Interval | None:
    """Returns the range of the result of a scalar operation, or `None` if it has no transfer function."""
    kind = type(op)
    if any(each.is_empty for each in operands):
        return EMPTY
    bits = bits_of(op.results[0].type)
    if kind in SIGNED_TRANSFERS and bits is not None:
        found = SIGNED_TRANSFERS[kind](*(operands if bits != 1 else [signed(each, 1) for each in operands]))
        return range_of_type(op.results[0].type) if found is None or bits == 1 else wrapped(found, bits)
    if kind in _UNSIGNED and bits is not None:
        return held(_UNSIGNED[kind](*(unsigned(each, bits) for each in operands)), bits)
    if kind in _MONOTONE:
        low, high = operands[0].values
        return Interval(_MONOTONE[kind](low), _MONOTONE[kind](high))
    match op:
        case arith.MaximumfOp():
            return _maximum(*operands)
        case arith.MinimumfOp():
            return _minimum(*operands)
        case arith.SelectOp():
            return operands[1].joined(operands[2])
        case arith.CmpiOp() | arith.CmpfOp():
            return Interval(0, 1)
        case _:
            return _converted(op, operands[0]) if operands else None


def constant_interval(op: arith.ConstantOp) -> Interval:
    """Returns the range of the elements of a constant."""
    value: Attribute = op.value
    bits = bits_of(op.result.type)
    match value:
        case IntegerAttr():
            number = value.value.data
            return Interval(number & 1, number & 1) if bits == 1 else wrapped(Interval(number, number), bits or 64)
        case FloatAttr():
            number = float(value.value.data)
            return ANY_FLOAT if python_math.isnan(number) else Interval(number, number)
        case _:
            elements = constant_elements(value)
            return range_of_type(op.result.type) if elements is None else range_of_array(elements)


def is_float(type_: Attribute) -> bool:
    """Returns True if `type_` is a float type or has float elements."""
    return isinstance(element_or_self(type_), AnyFloat)
