"""What the elementwise operations compute on float, integer and boolean arrays, in the precision of their operands."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation
from xdsl.utils.exceptions import InterpretationError

from qmlir.dialects.nn.base import element_of
from qmlir.dialects.nn.ops import elementwise as ops
from qmlir.text.elements import dense_dtype

Array = npt.NDArray[Any]
Meaning = Callable[..., tuple[Array, ...]]

_erf = np.vectorize(math.erf, otypes=[np.float64])


def erf(x: Array) -> Array:
    """The error function, computed in f64 and rounded to the precision of `x`."""
    return _erf(x).astype(x.dtype) if x.size else x


def sigmoid(x: Array) -> Array:
    """`1 / (1 + e^-x)` without overflow: the exponent is never positive."""
    decay = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + decay), decay / (1 + decay)).astype(x.dtype)


def _divide(a: Array, b: Array) -> Array:
    if not np.issubdtype(a.dtype, np.integer):
        return a / b
    if (b == 0).any():
        raise InterpretationError("an integer is divided by 0")
    quotient = np.abs(a.astype(np.int64)) // np.abs(b.astype(np.int64))
    return (quotient * np.sign(a.astype(np.int64)) * np.sign(b.astype(np.int64))).astype(a.dtype)


def _relu(x: Array) -> Array:
    return np.maximum(x, x.dtype.type(0))


def _reciprocal(x: Array) -> Array:
    return x.dtype.type(1) / x


def _gelu(op: ops.GeluOp, x: Array) -> tuple[Array]:
    if op.tanh_approximation.value.data:
        inner = x.dtype.type(math.sqrt(2 / math.pi)) * (x + x.dtype.type(0.044715) * x * x * x)
        return (x.dtype.type(0.5) * x * (1 + np.tanh(inner)),)
    return (x.dtype.type(0.5) * x * (1 + erf(x * x.dtype.type(math.sqrt(0.5)))),)


def _hard_swish(x: Array) -> Array:
    gate = np.clip(x * x.dtype.type(1 / 6) + x.dtype.type(0.5), 0, 1)
    return x * gate


def _leaky_relu(op: ops.LeakyReluOp, x: Array) -> tuple[Array]:
    return (np.where(x < 0, x * x.dtype.type(op.alpha.value.data), x),)


def _clip(op: ops.ClipOp, x: Array) -> tuple[Array]:
    for bound, limit in ((op.minimum, np.maximum), (op.maximum, np.minimum)):
        if bound is not None:
            x = limit(x, x.dtype.type(bound.value.data))
    return (x,)


def _where(op: ops.WhereOp, condition: Array, a: Array, b: Array) -> tuple[Array]:
    return (np.where(condition.astype(bool), a, b),)


def _cast(op: ops.CastOp, x: Array) -> tuple[Array]:
    dtype = dense_dtype(element_of(op.result))
    assert dtype is not None
    if element_of(op.result) == element_of(op.input):
        return (x,)
    return ((x != 0).astype(dtype) if _is_boolean(op) else x.astype(dtype),)


def _is_boolean(op: ops.CastOp) -> bool:
    return str(element_of(op.result)) == "i1"


def _plainly(function: Callable[..., Array]) -> Meaning:
    """The meaning of an operation without properties."""

    def meaning(op: Operation, *arrays: Array) -> tuple[Array]:
        with np.errstate(all="ignore"):  # what IEEE gives for a division by 0 or an overflow is the answer
            return (np.asarray(function(*arrays)),)

    return meaning


def _compare(function: Callable[..., Array]) -> Meaning:
    def compared(a: Array, b: Array) -> Array:
        return function(a, b).astype(np.int8)

    return _plainly(compared)


_FUNCTIONS: dict[type[Operation], Callable[..., Array]] = {
    ops.ReluOp: _relu,
    ops.AbsOp: np.abs,
    ops.NegOp: np.negative,
    ops.SqrtOp: np.sqrt,
    ops.ExpOp: np.exp,
    ops.LogOp: np.log,
    ops.ReciprocalOp: _reciprocal,
    ops.ErfOp: erf,
    ops.SigmoidOp: sigmoid,
    ops.TanhOp: np.tanh,
    ops.HardSwishOp: _hard_swish,
    ops.AddOp: np.add,
    ops.SubOp: np.subtract,
    ops.MulOp: np.multiply,
    ops.DivOp: _divide,
    ops.PowOp: np.power,
    ops.MinOp: np.minimum,
    ops.MaxOp: np.maximum,
}

_COMPARISONS: dict[type[Operation], Callable[..., Array]] = {
    ops.EqualOp: np.equal,
    ops.GreaterOp: np.greater,
    ops.GreaterOrEqualOp: np.greater_equal,
    ops.LessOp: np.less,
    ops.LessOrEqualOp: np.less_equal,
}

MEANINGS: dict[type[Operation], Meaning] = {
    **{operation: _plainly(function) for operation, function in _FUNCTIONS.items()},
    **{operation: _compare(function) for operation, function in _COMPARISONS.items()},
    ops.GeluOp: _gelu,
    ops.LeakyReluOp: _leaky_relu,
    ops.ClipOp: _clip,
    ops.WhereOp: _where,
    ops.CastOp: _cast,
}
