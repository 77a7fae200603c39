"""The larger and the smaller of two numbers, as every level has them: IEEE 754-2019 `maximum` and `minimum`.

NaN where one of two floats is; 0 is larger than -0. NumPy leaves the sign of a zero to the order of its operands, which
a reciprocal turns into infinities of either sign. So NumPy finds the number, and where that is 0 the signs decide: all
zeros among the operands of a maximum that is 0 stand beside negative numbers, so it is -0 where every operand is
negative, and a minimum that is 0 is -0 where one is. Integers have one 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from qmlir.arithmetic.arrays import Array

_where: Any = np.where  # typed loosely by its stubs, and used on arrays and scalars


def _with_signs(values: Any, is_negative: Any) -> Any:
    """`values`, the zeros among them with these signs."""
    zero = values.dtype.type(0)
    return _where(values == 0, _where(is_negative, -zero, zero), values)[()]


@dataclass(frozen=True)
class Extreme:
    """The larger or the smaller one: of two numbers, of those along axes, and of those that are put at places."""

    numbers: np.ufunc
    """NumPy's function, without a promise for zeros."""

    signs: np.ufunc
    """Whether a result of 0 is negative, from whether its operands are."""

    def __call__(self, a: Any, b: Any) -> Any:
        """Element by element, of arrays or NumPy's scalars of one type."""
        with np.errstate(invalid="ignore"):  # NaN
            found: Any = self.numbers(a, b)
        if found.dtype.kind == "f" and np.ndim(b) == 0 and not self.signs(True, np.signbit(b)):
            return found + found.dtype.type(0)  # no zero is negative, as in a ReLU
        if found.dtype.kind in "iu" or (found != 0).all():
            return found
        return _with_signs(found, self.signs(np.signbit(a), np.signbit(b)))

    def along(self, x: Array, axes: Sequence[int] | None, *, initial: Any, keepdims: bool = False) -> Array:
        """That of the elements along `axes`, `initial` where there are none; `initial` yields to every number."""
        gone = None if axes is None else tuple(axes)
        with np.errstate(invalid="ignore"):
            found = np.asarray(self.numbers.reduce(x, axis=gone, keepdims=keepdims, initial=initial), x.dtype)
        if x.dtype.kind in "iu" or (found != 0).all():
            return found
        return np.asarray(_with_signs(found, self.signs.reduce(np.signbit(x), axis=gone, keepdims=keepdims)), x.dtype)

    def at(self, values: Array, places: Any, updates: Array) -> Array:
        """`values`, each with all updates that are put at its place."""
        found = values.copy()
        with np.errstate(invalid="ignore"):
            self.numbers.at(found, places, updates)
        if found.dtype.kind in "iu":
            return found
        is_negative = np.signbit(values)
        self.signs.at(is_negative, places, np.signbit(updates))
        return np.asarray(_with_signs(found, is_negative))


maximum = Extreme(np.maximum, np.logical_and)
minimum = Extreme(np.minimum, np.logical_or)


def clipped(x: Any, low: Any, high: Any) -> Any:
    """`minimum(maximum(x, low), high)` of floats; the bounds take the type of `x`."""
    return minimum(maximum(x, x.dtype.type(low)), x.dtype.type(high))
