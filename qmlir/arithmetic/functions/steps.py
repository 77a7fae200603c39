"""The steps that the float functions are made of: what IEEE 754 and two's complement fix to the last bit.

A definition is written once, over `Steps`: on arrays of NumPy it computes, on values of the IR it builds operations.
Each step rounds once, and none is fused with another, so the same steps give the same bits everywhere. A formula is
written over `FunctionSteps`, which have the functions too, each rounded as its own definition says.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from qmlir.arithmetic.arrays import Array

Value = Any
"""Floats or integers of one type that have the operators of Python: `+ - * /`, comparisons; integers also `& << >>`.

A Python number beside one is a constant of its type, rounded once. `>>` repeats the sign.
"""

Condition = Any
"""What a comparison of values gives, with `&` and `|`. A comparison with NaN holds only for `!=`."""


class Steps(Protocol):
    """The steps that have no operator in Python."""

    def constant(self, number: float, like: Value) -> Value:
        """A number as a value of the type of `like`."""
        ...

    def where(self, condition: Condition, chosen: Value, otherwise: Value) -> Value:
        """`chosen` where the condition holds; both are values, or one a number."""
        ...

    def sqrt(self, x: Value) -> Value:
        """The square root, rounded once."""
        ...

    def round_even(self, x: Value) -> Value:
        """The nearest integer, of two the even one."""
        ...

    def absolute(self, x: Value) -> Value:
        """The float without its sign."""
        ...

    def copysign(self, x: Value, sign: Value) -> Value:
        """`x`, a value or a number, with the sign of `sign`, also that of a zero."""
        ...

    def bits(self, x: Value) -> Value:
        """The bits of f32 as i32, of f64 as i64."""
        ...

    def of_bits(self, x: Value) -> Value:
        """The float that has these bits."""
        ...

    def shift_in_zeros(self, x: Value, count: Value) -> Value:
        """The bits of an integer moved down by `count`, zeros moved in."""
        ...

    def wide(self, x: Value) -> Value:
        """f32 as f64, i32 as i64."""
        ...

    def narrow(self, x: Value) -> Value:
        """f64 rounded to f32."""
        ...

    def real(self, x: Value) -> Value:
        """An integer as f64, rounded once."""
        ...

    def whole(self, x: Value) -> Value:
        """A whole number in f64 as an integer of 64 bits, which holds it."""
        ...


class FunctionSteps(Steps, Protocol):
    """The steps of formulas: besides those above the functions of `qmlir.arithmetic.functions`."""

    def function(self, name: str, *operands: Value) -> Value:
        """A function by the name of its operation of `math`: `exp`, `tanh`, …"""
        ...

    def floor(self, x: Value) -> Value:
        """The largest integer that is not above `x`."""
        ...

    def ceil(self, x: Value) -> Value:
        """The smallest integer that is not below `x`."""
        ...

    def maximum(self, x: Value, other: Value) -> Value:
        """The larger of a value and another or a number, as `qmlir.arithmetic.arrays` has it."""
        ...

    def minimum(self, x: Value, other: Value) -> Value:
        """The smaller of a value and another or a number."""
        ...


Definition = Callable[..., Value]
"""`definition(steps, *values)`: a function of f32 values."""

_SAME_SIZE = {np.dtype(a): np.dtype(b) for a, b in (("f4", "i4"), ("i4", "f4"), ("f8", "i8"), ("i8", "f8"))}


class NumPySteps:
    """The steps on arrays, which compute as they are taken."""

    # Typed loosely by their stubs, and used on values of any kind.
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
