"""The precision in which evaluators compute, and how the results of elementwise ones become elements again.

f32 and f64 are computed in their own precision. Shorter floats are computed in f32 and rounded once, half-way cases to
even. Integers wrap around, those of less than a byte too. What IEEE gives for a division by 0 or an overflow is the
answer.
"""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.ir import Operation

from qmlir.arithmetic.arrays import Array
from qmlir.ir.builtin_types import element_of
from qmlir.ir.small_floats import DTYPES
from qmlir.text.elements import narrowed

Evaluator = Callable[..., tuple[Array, ...]]

SHORT_FLOATS = frozenset(np.dtype(each) for each in (np.float16, ml_dtypes.bfloat16, *DTYPES.values()))


def computing_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type in which values of `dtype` are computed: f32 for shorter floats."""
    return np.dtype(np.float32) if dtype in SHORT_FLOATS else dtype


def widened(array: Array) -> Array:
    """`array`, in f32 where it holds shorter floats."""
    return array.astype(computing_dtype(array.dtype), copy=False)


def is_integral(array: Array) -> bool:
    """Whether `array` holds integers."""
    return array.dtype.kind in "iu"


def of_operation(function: Callable[..., Any]) -> Evaluator:
    """The evaluator of an operation whose result has the type of its operands, by `function(op, *arrays)`."""

    def evaluator(op: Operation, *arrays: Array) -> tuple[Array]:
        dtype = arrays[0].dtype
        with np.errstate(all="ignore"):
            result = np.asarray(function(op, *(widened(array) for array in arrays))).astype(dtype, copy=False)
        return (narrowed(result, element_of(op.results[0])) if is_integral(result) else result,)

    return evaluator


def of_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function(*arrays)` as one that takes the operation first, for operations whose properties do not matter."""

    def of_their_values(op: Operation, *arrays: Array) -> Any:
        return function(*arrays)

    return of_their_values


def of_question(function: Callable[..., Any]) -> Evaluator:
    """The evaluator of an operation whose result is i1, 0 and 1, by `function(op, *arrays)`."""

    def evaluator(op: Operation, *arrays: Array) -> tuple[Array]:
        with np.errstate(all="ignore"):
            return (np.asarray(function(op, *(widened(array) for array in arrays))).astype(np.int8),)

    return evaluator
