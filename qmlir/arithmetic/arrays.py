"""Array types, and arithmetic as IEEE 754 and ONNX define it: comparisons, extremes, FMA, ordered sums, exact sums."""

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

# The name of NumPy's arrays in annotations whose element type depends on the operation.

Array: TypeAlias = npt.NDArray[Any]


# Integers of a given width: their range, and reduction of others modulo their width.


def integer_limits(bits: int, *, is_signed: bool = True) -> tuple[int, int]:
    """Returns the smallest and largest integer of `bits` bits; a single signed bit holds -1 and 0."""
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if is_signed else (0, (1 << bits) - 1)


def wrapped(number: int, bits: int, *, is_signed: bool = True) -> int:
    """Returns the integer of `bits` bits that is congruent to `number` modulo `2^bits`."""
    low, _ = integer_limits(bits, is_signed=is_signed)
    return (number - low) % (1 << bits) + low


def magnitude(values: Array) -> int:
    """Returns the largest absolute value in an integer array; 0 if the array is empty."""
    return max(abs(int(values.min())), abs(int(values.max()))) if values.size else 0


# The predicates of `arith.cmpi` and `arith.cmpf`, on Python and NumPy numbers and on arrays.

OperandAccess = Callable[[Any], Any]

_ORDERS: dict[str, Callable[[Any, Any], Any]] = {
    name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")
}


def compared_integers(predicate: str, lhs: Any, rhs: Any, signed: OperandAccess, unsigned: OperandAccess) -> Any:
    """Evaluates a predicate of `cmpi`; `signed` and `unsigned` convert operands to integers of that signedness."""
    reading = signed if predicate[0] == "s" else unsigned
    order = predicate if predicate in _ORDERS else predicate[1:]
    return _ORDERS[order](reading(lhs), reading(rhs))


def is_nan(value: Any) -> Any:
    """Returns a mask of the NaNs in `value`."""
    return value != value


def compared_floats(predicate: str, lhs: Any, rhs: Any) -> Any:
    """Evaluates a predicate of `cmpf`; if an operand is NaN, `olt` (ordered) is false and `ult` (unordered) is true."""
    unordered = is_nan(lhs) | is_nan(rhs)
    ordered = np.logical_not(unordered)
    fixed = {"false": unordered & False, "true": unordered | True, "ord": ordered, "uno": unordered}
    if predicate in fixed:
        return fixed[predicate]
    compared = _ORDERS[predicate[1:]](lhs, rhs)
    return compared | unordered if predicate[0] == "u" else compared & ordered


# Maximum and minimum, at every level: IEEE 754-2019 `maximum` and `minimum`.
#
# NaN if either float is NaN; 0 is larger than -0. NumPy leaves the sign of a zero to the order of its operands,
# which a reciprocal would turn into infinities of either sign. So NumPy finds the number, and if that is 0, the signs
# decide: if a maximum is 0, all other operands are negative or zeros, so it is -0 if every operand has a negative
# sign; a minimum of 0 is -0 if any operand has a negative sign. Integers have a single 0.

_where: Any = np.where  # typed loosely by its stubs, and used on arrays and scalars


def _with_signs(values: Any, is_negative: Any) -> Any:
    """Returns `values` with these signs for zeros."""
    zero = values.dtype.type(0)
    return _where(values == 0, _where(is_negative, -zero, zero), values)[()]


@dataclass(frozen=True)
class Extreme:
    """A maximum or minimum: of two numbers, along axes, and as a scatter reduction."""

    numbers: np.ufunc
    """The NumPy function, which does not specify the sign of a zero result."""

    signs: np.ufunc
    """Determines whether a zero result is negative, given whether each operand is negative."""

    def __call__(self, a: Any, b: Any) -> Any:
        """Returns the elementwise extreme of arrays or NumPy scalars of one type."""
        with np.errstate(invalid="ignore"):  # NaN
            found: Any = self.numbers(a, b)
        if found.dtype.kind == "f" and np.ndim(b) == 0 and not self.signs(True, np.signbit(b)):
            return found + found.dtype.type(0)  # no zero is negative, as for ReLU
        if found.dtype.kind in "iu" or (found != 0).all():
            return found
        return _with_signs(found, self.signs(np.signbit(a), np.signbit(b)))

    def along(self, x: Array, axes: Sequence[int] | None, *, initial: Any, keepdims: bool = False) -> Array:
        """Returns the extreme along `axes`, or `initial`, which must be the identity, if there are no elements."""
        gone = None if axes is None else tuple(axes)
        with np.errstate(invalid="ignore"):
            found = np.asarray(self.numbers.reduce(x, axis=gone, keepdims=keepdims, initial=initial), x.dtype)
        if x.dtype.kind in "iu" or (found != 0).all():
            return found
        return np.asarray(_with_signs(found, self.signs.reduce(np.signbit(x), axis=gone, keepdims=keepdims)), x.dtype)

    def at(self, values: Array, positions: Any, updates: Array) -> Array:
        """Returns `values` combined with all updates at their positions."""
        found = values.copy()
        with np.errstate(invalid="ignore"):
            self.numbers.at(found, positions, updates)
        if found.dtype.kind in "iu":
            return found
        is_negative = np.signbit(values)
        self.signs.at(is_negative, positions, np.signbit(updates))
        return np.asarray(_with_signs(found, is_negative))


maximum = Extreme(np.maximum, np.logical_and)
minimum = Extreme(np.minimum, np.logical_or)


def clipped(x: Any, low: Any, high: Any) -> Any:
    """Computes `minimum(maximum(x, low), high)` on floats; the bounds are converted to the type of `x`."""
    return minimum(maximum(x, x.dtype.type(low)), x.dtype.type(high))


# The fused multiply-add on arrays: `a * b + c` rounded once, which NumPy lacks.
#
# f64 holds the product of two numbers of at most f32 exactly. The sum with a third is rounded to odd, so that the
# single rounding to the shorter type has the effect of rounding the exact sum.


def sum_to_odd(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Computes `x + y` rounded to odd: the last bit is set if the sum is inexact.

    Rounding the result to at most 51 bits therefore yields the correctly rounded exact sum."""
    total = np.asarray(x + y)
    # Knuth's error-free sum: the rounding error of the sum.
    back = total - x
    lack = np.asarray((x - (total - back)) + (y - back))
    inexact = np.isfinite(total) & (lack != 0)
    bits = total.view(np.int64)
    # Truncate if the sum was rounded away from zero; as integers, the bits of floats are ordered by magnitude.
    truncated = bits - (inexact & ((lack < 0) != (total < 0)))
    return np.asarray(truncated | inexact).view(np.float64)


def fused_f32(a: Any, b: Any, c: Any) -> npt.NDArray[np.float32]:
    """Computes `f32(a * b + c)`, rounded once; `a`, `b` and `c` must be representable in f32."""
    x, y, z = np.broadcast_arrays(*(np.asarray(value).astype(np.float32).astype(np.float64) for value in (a, b, c)))
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(sum_to_odd(np.asarray(x * y), np.asarray(z)), np.float32)


# Reproducible sums of floats: one order, one precision, one rounding.
#
# The elements are added in f64, from 0, in ascending row-major order of the reduced axes; the result is rounded once to
# the computing type. NumPy's own sums are pairwise, in an order that depends on the memory layout.

_BLOCK = 1 << 18
"""The number of elements that are converted to f64 at a time."""


def ordered_sum(x: Array, axes: tuple[int, ...]) -> Array:
    """Returns the sums of floats over `axes`, which are kept with size 1, in the type of `x`."""
    # A sum starting from 0 is never -0, one starting from the first element may be.
    return (_accumulated(np.add, x, axes, 0.0) + 0.0).astype(x.dtype)


def ordered_product(x: Array, axes: tuple[int, ...]) -> Array:
    """Returns the products of floats over `axes`, which are kept with size 1, in the type of `x`; computed in f64."""
    return _accumulated(np.multiply, x, axes, 1.0).astype(x.dtype)


def ordered_mean(x: Array, axes: tuple[int, ...]) -> Array:
    """Returns the rounded sums divided by the number of elements; NaN if there are no elements."""
    return ordered_sum(x, axes) / x.dtype.type(math.prod(x.shape[axis] for axis in axes))


def _accumulated(ufunc: np.ufunc, x: Array, axes: tuple[int, ...], start: float) -> npt.NDArray[np.float64]:
    reduced = sorted(axis % x.ndim for axis in axes)
    kept = [axis for axis in range(x.ndim) if axis not in reduced]
    shape = [math.prod(x.shape[axis] for axis in each) for each in (kept, reduced)]
    rows = x.transpose(*kept, *reduced).reshape(shape)
    result = np.full(len(rows), start)
    if rows.shape[1] < len(rows):
        for position in range(rows.shape[1]):
            ufunc(result, rows[:, position], out=result)
    elif rows.size:
        # A scan processes elements in order by definition, a reduction in any order.
        count = max(1, _BLOCK // rows.shape[1])
        for first in range(0, len(rows), count):
            block = rows[first : first + count].astype(np.float64)
            result[first : first + count] = ufunc.accumulate(block, axis=1, out=block)[:, -1]
    return result.reshape([1 if axis in reduced else size for axis, size in enumerate(x.shape)])


# Exact sums of integer products, computed by float BLAS if bounds prove them exact; and the limits of such sums.

Limits = tuple[int, int]

EXACT_FLOATS: tuple[tuple[type[np.floating[Any]], int], ...] = ((np.float32, 2**24), (np.float64, 2**53))
"""Float types, each with the bound below which it represents every integer and thus every partial sum in any order."""


def sum_dtype(left: int, right: int, terms: int) -> npt.DTypeLike:
    """Returns the fastest type in which sums of `terms` products are exact, for factors up to `left` and `right`."""
    largest = left * right * terms
    for dtype, bound in EXACT_FLOATS:
        if largest < bound:
            return dtype
    return np.int64 if largest < 2**63 else np.object_


def exact_matmul(left: Array, right: Array) -> Array:
    """Returns the matrix product of integers that are held in a `sum_dtype`, as int64 (or Python integers)."""
    return as_integers(np.matmul(left, right))


def as_integers(sums: Array) -> Array:
    """Converts integer sums held in a `sum_dtype` to int64 (or Python integers)."""
    return sums.astype(np.int64) if np.issubdtype(sums.dtype, np.floating) else sums


def limits_of_products(left: Limits, right: Limits, terms: int) -> Limits:
    """Returns the smallest and largest sum of `terms` products of factors within the limits `left` and `right`."""
    corners = [a * b for a in left for b in right]
    return min(corners) * terms, max(corners) * terms


def sums_by_sign(weights: Array, axes: tuple[int, ...]) -> tuple[Array, Array]:
    """Returns the sums of the positive and of the negative integers along `axes`, as Python integers."""
    is_wide = weights.dtype == object or magnitude(weights) * weights.size >= 2**63
    wide: Any = object if is_wide else np.int64
    parts = (limit(weights, 0) for limit in (np.maximum, np.minimum))
    positive, negative = (np.asarray(part.sum(axis=axes, dtype=wide)).astype(object) for part in parts)
    return positive, negative


def limits_of_sums(by_sign: tuple[Array, Array], limits: tuple[Any, Any]) -> tuple[Array, Array]:
    """Returns the smallest and largest sums of products of weights with integers within `limits`.

    `by_sign` are the `sums_by_sign` of the weights. Both results can occur, since each integer may take either limit.
    They are Python integers, which never overflow.
    """
    (positive, negative), (low, high) = by_sign, limits
    return positive * low + negative * high, positive * high + negative * low
