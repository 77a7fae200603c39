"""What the activation functions compute, in the precision of their operands; none overflows on the way.

Each is a formula of steps that round in the order in which they are written; its functions are those of
`qmlir.arithmetic.functions`. A lowering that takes the same steps finds the same bits.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation

from qmlir.arithmetic import functions
from qmlir.arithmetic.extremes import clipped, maximum
from qmlir.dialects.nn.interpret.precision import Meaning, of_arrays, of_operation
from qmlir.dialects.nn.ops import activations as ops

Array = npt.NDArray[Any]


def sigmoid(x: Array) -> Array:
    """`1 / (1 + e^-x)` without overflow: the exponent is never positive."""
    decay = functions.exp(-np.abs(x))
    return np.where(x >= 0, x.dtype.type(1), decay) / (1 + decay)


def softplus(x: Array) -> Array:
    """`ln(1 + e^x)` without overflow: the exponent is never positive."""
    return relu(x) + functions.log1p(functions.exp(-np.abs(x)))


def relu(x: Array) -> Array:
    """`maximum(x, 0)`: never -0."""
    return maximum(x, x.dtype.type(0))


def _prelu(x: Array, slope: Array) -> Array:
    return np.where(x < 0, x * slope, x)


def _mish(x: Array) -> Array:
    return x * functions.tanh(softplus(x))


def _softsign(x: Array) -> Array:
    return x / (1 + np.abs(x))


def _hard_swish(x: Array) -> Array:
    gate = clipped(x * x.dtype.type(1 / 6) + x.dtype.type(0.5), 0, 1)
    return x * gate


def _leaky_relu(op: ops.LeakyReluOp, x: Array) -> Array:
    return np.where(x < 0, x * x.dtype.type(op.alpha.value.data), x)


def _thresholded_relu(op: ops.ThresholdedReluOp, x: Array) -> Array:
    return np.where(x > x.dtype.type(op.alpha.value.data), x, 0)


def _elu(op: ops.EluOp, x: Array) -> Array:
    return np.where(x < 0, x.dtype.type(op.alpha.value.data) * functions.expm1(x), x)


def _celu(op: ops.CeluOp, x: Array) -> Array:
    alpha = x.dtype.type(op.alpha.value.data)
    return np.where(x < 0, alpha * functions.expm1(x / alpha), x)


def _selu(op: ops.SeluOp, x: Array) -> Array:
    alpha, gamma = x.dtype.type(op.alpha.value.data), x.dtype.type(op.gamma.value.data)
    return gamma * np.where(x < 0, alpha * functions.expm1(x), x)


def _hard_sigmoid(op: ops.HardSigmoidOp, x: Array) -> Array:
    return clipped(x * x.dtype.type(op.alpha.value.data) + x.dtype.type(op.beta.value.data), 0, 1)


def _swish(op: ops.SwishOp, x: Array) -> Array:
    return x * sigmoid(x * x.dtype.type(op.alpha.value.data))


def _gelu(op: ops.GeluOp, x: Array) -> Array:
    if op.tanh_approximation.value.data:
        inner = x.dtype.type(math.sqrt(2 / math.pi)) * (x + x * x * x * x.dtype.type(0.044715))
        return x.dtype.type(0.5) * x * (1 + functions.tanh(inner))
    return x.dtype.type(0.5) * x * (1 + functions.erf(x * x.dtype.type(math.sqrt(0.5))))


_FUNCTIONS: dict[type[Operation], Callable[..., Any]] = {
    ops.ReluOp: relu,
    ops.PReluOp: _prelu,
    ops.SigmoidOp: sigmoid,
    ops.HardSwishOp: _hard_swish,
    ops.MishOp: _mish,
    ops.TanhOp: functions.tanh,
    ops.SoftplusOp: softplus,
    ops.SoftsignOp: _softsign,
}

_WITH_PROPERTIES: dict[type[Operation], Callable[..., Any]] = {
    ops.LeakyReluOp: _leaky_relu,
    ops.ThresholdedReluOp: _thresholded_relu,
    ops.EluOp: _elu,
    ops.CeluOp: _celu,
    ops.SeluOp: _selu,
    ops.HardSigmoidOp: _hard_sigmoid,
    ops.SwishOp: _swish,
    ops.GeluOp: _gelu,
}

MEANINGS: dict[type[Operation], Meaning] = {
    **{operation: of_operation(of_arrays(function)) for operation, function in _FUNCTIONS.items()},
    **{operation: of_operation(function) for operation, function in _WITH_PROPERTIES.items()},
}
