"""The elementary steps of float functions: operations that IEEE 754 and two's complement define bit by bit.

A definition is written once in terms of `Steps`: with NumPy arrays it computes values, with IR values it builds
operations. Each step rounds once, and steps are never fused, so equal steps yield bit-identical results everywhere.
Formulas are written in terms of `FunctionSteps`, which adds the functions themselves, rounded as in their definitions.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from qmlir.arithmetic.arrays import Array

Value = Any
"""Floats or integers of one type with Python's operators `+ - * /` and comparisons; integers also have `& << >>`.

A Python number as the other operand is converted to a constant of this type, rounded once. `>>` is an arithmetic shift.
"""

Condition = Any
"""The result of a comparison, with `&` and `|`. A comparison with NaN is true only for `!=`."""


class Steps(Protocol):
    """The elementary steps that have no Python operator."""

    def constant(self, number: float, like: Value) -> Value:
        """Returns `number` as a value of the type of `like`."""

    def where(self, condition: Condition, chosen: Value, otherwise: Value) -> Value:
        """Selects `chosen` if the condition is true and `otherwise` if not; one of them may be a number."""

    def sqrt(self, x: Value) -> Value:
        """Computes the square root, rounded once."""

    def round_even(self, x: Value) -> Value:
        """Rounds to the nearest integer, ties to even."""

    def absolute(self, x: Value) -> Value:
        """Returns the absolute value of a float, by clearing its sign."""

    def copysign(self, x: Value, sign: Value) -> Value:
        """Returns `x`, a value or a number, with the sign of `sign`; signs of zeros count."""

    def bits(self, x: Value) -> Value:
        """Returns the bits of f32 as i32, or of f64 as i64."""

    def of_bits(self, x: Value) -> Value:
        """Returns the float whose bits are the integer `x`."""

    def shift_in_zeros(self, x: Value, count: Value) -> Value:
        """Shifts the bits of an integer right by `count`, logically."""

    def wide(self, x: Value) -> Value:
        """Converts f32 to f64, or i32 to i64."""

    def narrow(self, x: Value) -> Value:
        """Rounds f64 to f32."""

    def real(self, x: Value) -> Value:
        """Converts an integer to f64, rounded once."""

    def whole(self, x: Value) -> Value:
        """Converts an integral f64 to a 64-bit integer; the value must be in range."""


class FunctionSteps(Steps, Protocol):
    """The steps that formulas are written in: `Steps`, and the functions in `qmlir.arithmetic.functions`."""

    def function(self, name: str, *operands: Value) -> Value:
        """Applies the function with the given name of a `math` operation, such as `exp` or `tanh`."""

    def floor(self, x: Value) -> Value:
        """Rounds down to an integer."""

    def ceil(self, x: Value) -> Value:
        """Rounds up to an integer."""

    def maximum(self, x: Value, other: Value) -> Value:
        """Returns the maximum of two values, or of a value and a number, as defined in `qmlir.arithmetic.arrays`."""

    def minimum(self, x: Value, other: Value) -> Value:
        """Returns the minimum of two values, or of a value and a number, as defined in `qmlir.arithmetic.arrays`."""


Definition = Callable[..., Value]
"""The definition of a function on f32 values, called as `definition(steps, *values)`."""

_SAME_SIZE = {np.dtype(a): np.dtype(b) for a, b in (("f4", "i4"), ("i4", "f4"), ("f8", "i8"), ("i8", "f8"))}


class NumPySteps:
    """The steps on NumPy arrays, evaluated immediately."""

    # Their type stubs are loose, and they are used on values of any kind.
    where: Any = staticmethod(np.where)
    sqrt: Any = staticmethod(np.sqrt)
    round_even: Any = staticmethod(np.rint)
    absolute: Any = staticmethod(np.abs)
    copysign: Any = staticmethod(np.copysign)

    def constant(self, number: float, like: Array) -> Value:
        return np.asarray(number, like.dtype)

    def bits(self, x: Array) -> Value:
        return x.view(_SAME_SIZE[x.dtype])

    of_bits = bits

    def shift_in_zeros(self, x: npt.NDArray[np.int64], count: Value) -> Value:
        return (x.view(np.uint64) >> np.asarray(count, np.int64).view(np.uint64)).view(np.int64)

    def wide(self, x: Array) -> Value:
        return x.astype(np.float64 if x.dtype.kind == "f" else np.int64)

    def narrow(self, x: npt.NDArray[np.float64]) -> Value:
        return x.astype(np.float32)

    def real(self, x: npt.NDArray[np.int64]) -> Value:
        return x.astype(np.float64)

    def whole(self, x: npt.NDArray[np.float64]) -> Value:
        return x.astype(np.int64)


NUMPY: Steps = NumPySteps()
