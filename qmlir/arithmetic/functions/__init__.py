"""Float functions that have no hardware instruction, each defined once as a sequence of exactly specified steps.

NumPy's f32 functions depend on the CPU and differ from those of the C library. With these definitions, the interpreter
and compiled code are bit-identical: the interpreter evaluates the steps on arrays, and `math-expand` builds them as
operations. f64 functions are left to NumPy and the C library, which agree within a few ulps.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from qmlir.arithmetic.arrays import Array, maximum, minimum
from qmlir.arithmetic.functions import double, single
from qmlir.arithmetic.functions.steps import NUMPY, Definition, FunctionSteps, NumPySteps, Value

# The error function on arrays, accurate to the last bits of f64.
#
# The rational approximations are W. J. Cody's: "Rational Chebyshev Approximations for the Error Function", Mathematics
# of Computation 23 (1969), 631-637, with the coefficients of his program CALERF (netlib.org/specfun/erf).

F64 = npt.NDArray[np.float64]

# Numerators and denominators from the highest power down.

# erf(x) / x in x^2, |x| <= 0.46875
_NEAR = (
    (
        1.85777706184603153e-1, 3.16112374387056560e0, 1.13864154151050156e2, 3.77485237685302021e2,
        3.20937758913846947e3,
    ),
    (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3),
)  # fmt: skip

# e^(x^2) * erfc(x) in x, 0.46875 <= x <= 4
_MIDDLE = (
    (
        2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0, 6.61191906371416295e1,
        2.98635138197400131e2, 8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3,
        1.23033935479799725e3,
    ),
    (
        1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3,
        3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3,
    ),
)  # fmt: skip

# (1 / sqrt(pi) - x * e^(x^2) * erfc(x)) * x^2 in 1 / x^2, x >= 4
_FAR = (
    (
        1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1, 1.25781726111229246e-1,
        1.60837851487422766e-2, 6.58749161529837803e-4,
    ),
    (
        1.0, 2.56852019228982242e0, 1.87295284992346725e0, 5.27905102951428412e-1, 6.05183413124413191e-2,
        2.33520497626869185e-3,
    ),
)  # fmt: skip

_NEAR_END, _MIDDLE_END = 0.46875, 4.0

_ONE_FROM = 6.0
"""The smallest x at which the implementation returns 1: erf(x) is 1 in f64 from here on."""


def _ratio(polynomials: tuple[tuple[float, ...], tuple[float, ...]], x: F64) -> F64:
    """Returns the quotient of two polynomials of equal degree, by Horner's rule."""
    top, bottom = (np.polyval(coefficients, x) for coefficients in polynomials)
    return top / bottom


def _near(x: F64) -> F64:
    return x * _ratio(_NEAR, x * x)


def _middle(x: F64) -> F64:
    return 1 - np.exp(-x * x) * _ratio(_MIDDLE, x)


def _far(x: F64) -> F64:
    inverse = 1 / (x * x)
    return 1 - np.exp(-x * x) * (1 / np.sqrt(np.pi) - inverse * _ratio(_FAR, inverse)) / x


def erf(x: Array) -> Array:
    """Computes the error function in f64, rounded once to the type of `x`; NaN is preserved."""
    exact = x.astype(np.float64).reshape(-1)
    size = np.minimum(np.abs(exact), _ONE_FROM)
    result = size.copy()  # NaN is in none of the ranges
    near, far = size <= _NEAR_END, size > _MIDDLE_END
    for chosen, function in ((near, _near), (far, _far), (~(near | far | np.isnan(size)), _middle)):
        if chosen.any():
            result[chosen] = function(size[chosen])
    return np.copysign(result, exact).astype(x.dtype).reshape(x.shape)


# The functions by name, and the steps of formulas on arrays.

_BLOCK = 1 << 14
"""The number of elements computed at a time, so that intermediate values stay in the cache."""


def _reciprocal_root(x: Array) -> Array:
    return 1 / np.sqrt(x)


@dataclass(frozen=True)
class Function:
    """A float function on arrays: f32 uses its definition, shorter floats are computed in f32, and f64 uses NumPy."""

    definition: Definition
    in_f64: Any

    def __call__(self, *operands: Array) -> Array:
        """Applies the function to operands of one type, which broadcast, without warnings for infinities and NaN."""
        arrays = [np.asarray(operand) for operand in operands]
        dtype = arrays[0].dtype
        with np.errstate(all="ignore"):
            if dtype == np.float64:
                return np.asarray(self.in_f64(*arrays), dtype)
            return self._in_blocks([array.astype(np.float32, copy=False) for array in arrays]).astype(dtype, copy=False)

    def _in_blocks(self, arrays: list[Array]) -> Array:
        broadcast = np.broadcast_arrays(*arrays) if len(arrays) > 1 else arrays
        flat = [np.ascontiguousarray(array).reshape(-1) for array in broadcast]
        if len(flat[0]) <= _BLOCK:
            return np.asarray(self.definition(NUMPY, *flat), np.float32).reshape(broadcast[0].shape)
        result = np.empty(flat[0].shape, np.float32)
        for start in range(0, len(result), _BLOCK):
            block = slice(start, start + _BLOCK)
            result[block] = self.definition(NUMPY, *(array[block] for array in flat))
        return result.reshape(broadcast[0].shape)


FUNCTIONS: Mapping[str, Function] = {
    "acos": Function(double.rounded_once(double.acos), np.arccos),
    "acosh": Function(double.rounded_once(double.acosh), np.arccosh),
    "asin": Function(double.rounded_once(double.asin), np.arcsin),
    "asinh": Function(double.rounded_once(double.asinh), np.arcsinh),
    "atan": Function(double.rounded_once(double.atan), np.arctan),
    "atan2": Function(double.rounded_once(double.atan2), np.arctan2),
    "atanh": Function(double.rounded_once(double.atanh), np.arctanh),
    "cbrt": Function(double.rounded_once(double.cbrt), np.cbrt),
    "cos": Function(double.cos, np.cos),
    "cosh": Function(double.rounded_once(double.cosh), np.cosh),
    "erf": Function(single.erf, erf),
    "exp": Function(single.exp, np.exp),
    "exp2": Function(double.rounded_once(double.exp2), np.exp2),
    "expm1": Function(single.expm1, np.expm1),
    "log": Function(single.log, np.log),
    "log10": Function(double.rounded_once(double.log10), np.log10),
    "log1p": Function(double.rounded_once(double.log1p), np.log1p),
    "log2": Function(double.rounded_once(double.log2), np.log2),
    "powf": Function(double.rounded_once(double.power), np.power),
    "rsqrt": Function(single.rsqrt, _reciprocal_root),
    "sin": Function(double.sin, np.sin),
    "sinh": Function(double.rounded_once(double.sinh), np.sinh),
    "tan": Function(double.tan, np.tan),
    "tanh": Function(single.tanh, np.tanh),
}
"""The functions, keyed by the name of their `math` operation."""

exp, log, power, tanh = (FUNCTIONS[name] for name in ("exp", "log", "powf", "tanh"))


class _OnArrays(NumPySteps):
    """The steps of formulas on arrays of any float type."""

    floor: Any = staticmethod(np.floor)
    ceil: Any = staticmethod(np.ceil)

    def function(self, name: str, *operands: Array) -> Value:
        return FUNCTIONS[name](*operands)

    def maximum(self, x: Array, other: Any) -> Value:
        return maximum(x, x.dtype.type(other) if isinstance(other, int | float) else other)

    def minimum(self, x: Array, other: Any) -> Value:
        return minimum(x, x.dtype.type(other) if isinstance(other, int | float) else other)


ON_ARRAYS: FunctionSteps = _OnArrays()
