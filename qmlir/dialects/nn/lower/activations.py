"""Activations: functions of one float, in the steps of `interpret.activations`.

Composites among them are not taken apart: their parts would round f16 and bf16 one by one, they themselves round once.
"""

import math as numbers
from typing import Any

from xdsl.dialects import math
from xdsl.ir import Operation

from qmlir.dialects.kernel.lowering.lowering import Lower
from qmlir.dialects.kernel.lowering.scalars import Scalar
from qmlir.dialects.nn.lower.elements import Function, elementwise
from qmlir.dialects.nn.ops import activations as ops


def _sigmoid(op: Operation, x: Scalar) -> Scalar:
    """Without overflow: the exponent is never positive."""
    decay = (-x.absolute()).apply(math.ExpOp)
    return x.compare("ge", 0).select(x.constant(1), decay) / (decay + 1)


def _tanh(op: Operation, x: Scalar) -> Scalar:
    return x.apply(math.TanhOp)


def _softplus(op: Operation, x: Scalar) -> Scalar:
    return x.maximum(0) + (-x.absolute()).apply(math.ExpOp).apply(math.Log1pOp)


def _softsign(op: Operation, x: Scalar) -> Scalar:
    return x / (1 + x.absolute())


def _negative_part(x: Scalar, negative: Scalar) -> Scalar:
    return x.compare("lt", 0).select(negative, x)


def _leaky_relu(op: ops.LeakyReluOp, x: Scalar) -> Scalar:
    return _negative_part(x, x * op.alpha.value.data)


def _prelu(op: Operation, x: Scalar, slope: Scalar) -> Scalar:
    return _negative_part(x, x * slope)


def _thresholded_relu(op: ops.ThresholdedReluOp, x: Scalar) -> Scalar:
    return x.compare("gt", op.alpha.value.data).select(x, 0)


def _elu(op: ops.EluOp, x: Scalar) -> Scalar:
    return _negative_part(x, x.constant(op.alpha.value.data) * x.apply(math.ExpM1Op))


def _between(x: Scalar, low: float, high: float) -> Scalar:
    return x.maximum(low).minimum(high)


def _celu(op: ops.CeluOp, x: Scalar) -> Scalar:
    alpha = x.constant(op.alpha.value.data)
    return _negative_part(x, alpha * (x / alpha).apply(math.ExpM1Op))


def _selu(op: ops.SeluOp, x: Scalar) -> Scalar:
    negative = x.constant(op.alpha.value.data) * x.apply(math.ExpM1Op)
    return x.constant(op.gamma.value.data) * _negative_part(x, negative)


def _hard_sigmoid(op: ops.HardSigmoidOp, x: Scalar) -> Scalar:
    return _between(x * op.alpha.value.data + op.beta.value.data, 0, 1)


def _hard_swish(op: Operation, x: Scalar) -> Scalar:
    return x * _between(x * (1 / 6) + 0.5, 0, 1)


def _swish(op: ops.SwishOp, x: Scalar) -> Scalar:
    return x * _sigmoid(op, x * op.alpha.value.data)


def _mish(op: Operation, x: Scalar) -> Scalar:
    return x * _softplus(op, x).apply(math.TanhOp)


def _gelu(op: ops.GeluOp, x: Scalar) -> Scalar:
    half = x.constant(0.5)
    if op.tanh_approximation.value.data:
        inner = x.constant(numbers.sqrt(2 / numbers.pi)) * (x + x.constant(0.044715) * x * x * x)
        return half * x * (1 + inner.apply(math.TanhOp))
    return half * x * (1 + (x * numbers.sqrt(0.5)).apply(math.ErfOp))


_FUNCTIONS: dict[Any, Function] = {
    ops.SigmoidOp: _sigmoid,
    ops.TanhOp: _tanh,
    ops.SoftplusOp: _softplus,
    ops.SoftsignOp: _softsign,
    ops.LeakyReluOp: _leaky_relu,
    ops.PReluOp: _prelu,
    ops.ThresholdedReluOp: _thresholded_relu,
    ops.EluOp: _elu,
    ops.CeluOp: _celu,
    ops.SeluOp: _selu,
    ops.HardSigmoidOp: _hard_sigmoid,
    ops.HardSwishOp: _hard_swish,
    ops.SwishOp: _swish,
    ops.MishOp: _mish,
    ops.GeluOp: _gelu,
}

LOWERINGS: dict[type[Operation], Lower] = {operation: elementwise(each) for operation, each in _FUNCTIONS.items()}
