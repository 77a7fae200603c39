"""Float functions that have no hardware instruction, each defined once as a sequence of exactly specified steps.

NumPy's f32 functions depend on the CPU and differ from those of the C library. With these definitions, the interpreter
and compiled code are bit-identical: the interpreter evaluates the steps on arrays, and `math-expand` builds them as
operations. f64 functions are left to NumPy and the C library, which agree within a few ulps.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from qmlir.arithmetic.arrays import Array, maximum, minimum
from qmlir.arithmetic.functions import double, single
from qmlir.arithmetic.functions.erf import erf as erf_of_array
from qmlir.arithmetic.functions.steps import NUMPY, Definition, FunctionSteps, NumPySteps, Value

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
        result = np.empty(flat[0].shape, np.float32)
        for start in range(0, len(result), _BLOCK):
            block = slice(start, start + _BLOCK)
            result[block] = self.definition(NUMPY, *(array[block] for array in flat))
        return result.reshape(broadcast[0].shape)


FUNCTIONS: Mapping[str, Function] = {
    "acos": Function(double.acos, np.arccos),
    "acosh": Function(double.acosh, np.arccosh),
    "asin": Function(double.asin, np.arcsin),
    "asinh": Function(double.asinh, np.arcsinh),
    "atan": Function(double.atan, np.arctan),
    "atan2": Function(double.atan2, np.arctan2),
    "atanh": Function(double.atanh, np.arctanh),
    "cbrt": Function(double.cbrt, np.cbrt),
    "cos": Function(double.cos, np.cos),
    "cosh": Function(double.cosh, np.cosh),
    "erf": Function(single.erf, erf_of_array),
    "exp": Function(single.exp, np.exp),
    "exp2": Function(double.exp2, np.exp2),
    "expm1": Function(single.expm1, np.expm1),
    "log": Function(single.log, np.log),
    "log10": Function(double.log10, np.log10),
    "log1p": Function(double.log1p, np.log1p),
    "log2": Function(double.log2, np.log2),
    "powf": Function(double.power, np.power),
    "rsqrt": Function(single.rsqrt, _reciprocal_root),
    "sin": Function(double.sin, np.sin),
    "sinh": Function(double.sinh, np.sinh),
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
