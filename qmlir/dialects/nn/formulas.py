"""Formulas of elementwise operations, which the interpreter evaluates and which lowerings turn into IR.

A formula is written in terms of `FunctionSteps`: on arrays, it computes values; on scalars, it builds the body of a
structured operation. Both perform the same steps in the same order, so their results are bit-identical. No intermediate
value overflows.

A new activation needs a formula here, a row in `FORMULAS`, and a row in `qmlir.onnx.one_to_one`. Composites with a
formula are not decomposed: their parts would round f16 and bf16 values after each step, whereas the formula rounds them
once.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Operation

from qmlir.arithmetic.functions.steps import FunctionSteps, Value
from qmlir.dialects.nn.activations import ops as activations
from qmlir.dialects.nn.elementwise import ops as elementwise

# --- Formulas: take values, then numbers, which are the properties of the operation -----------------------------------


def relu(e: FunctionSteps, x: Value) -> Value:
    """Computes `maximum(x, 0)`; the result is never -0."""
    return e.maximum(x, 0)


def leaky_relu(e: FunctionSteps, x: Value, slope: Value) -> Value:
    """Computes `x` for `x >= 0`, and `slope x` otherwise; the slope is either a number or a value."""
    return e.where(x < 0, x * slope, x)


def kept_from(e: FunctionSteps, x: Value, alpha: float) -> Value:
    """Computes `x` for `x >= alpha`, and 0 otherwise: ThresholdedRelu as ONNX defines it for recurrent layers."""
    return e.where(x >= alpha, x, 0)


def sigmoid(e: FunctionSteps, x: Value) -> Value:
    """Computes `1 / (1 + e^-x)`; the argument of the exponential is never positive."""
    decay = e.function("exp", -e.absolute(x))
    return e.where(x >= 0, 1, decay) / (decay + 1)


def hard_sigmoid(e: FunctionSteps, x: Value, alpha: float, beta: float) -> Value:
    """Computes `alpha x + beta`, clamped to `[0, 1]`."""
    return e.minimum(e.maximum(x * alpha + beta, 0), 1)


def tanh(e: FunctionSteps, x: Value) -> Value:
    """Computes the hyperbolic tangent."""
    return e.function("tanh", x)


def softplus(e: FunctionSteps, x: Value) -> Value:
    """Computes `ln(1 + e^x)`; the argument of the exponential is never positive."""
    return relu(e, x) + e.function("log1p", e.function("exp", -e.absolute(x)))


def softsign(e: FunctionSteps, x: Value) -> Value:
    """Computes the softsign `x / (1 + |x|)`."""
    return x / (1 + e.absolute(x))


def elu(e: FunctionSteps, x: Value, alpha: float) -> Value:
    """Computes `x` for `x >= 0`, and `alpha (e^x - 1)` otherwise."""
    return e.where(x < 0, alpha * e.function("expm1", x), x)


def affine(e: FunctionSteps, x: Value, alpha: float, beta: float) -> Value:
    """Computes the affine function `alpha x + beta`."""
    return x * alpha + beta


def scaled_tanh(e: FunctionSteps, x: Value, alpha: float, beta: float) -> Value:
    """Computes the scaled hyperbolic tangent `alpha tanh(beta x)`."""
    return alpha * tanh(e, x * beta)


def _gelu(e: FunctionSteps, x: Value, is_tanh: bool) -> Value:
    if is_tanh:
        curve = tanh(e, math.sqrt(2 / math.pi) * (x + x * x * x * 0.044715))
    else:
        curve = e.function("erf", x * math.sqrt(0.5))
    return 0.5 * x * (1 + curve)


# --- Rows -------------------------------------------------------------------------------------------------------------


Definition = (
    Callable[[FunctionSteps, Value], Value]
    | Callable[[FunctionSteps, Value, Any], Value]
    | Callable[[FunctionSteps, Value, Any, Any], Value]
)


@dataclass(frozen=True)
class Formula:
    """A formula `definition(steps, *operands, *numbers)`; the numbers are the named properties of the operation."""

    definition: Definition
    properties: tuple[str, ...] = ()

    def of(self, op: Operation, steps: FunctionSteps, *operands: Value) -> Value:
        """Evaluates the formula of `op` on the given operands."""
        numbers = (getattr(op, name).value.data for name in self.properties)
        return self.definition(steps, *operands, *numbers)


def _function(name: str) -> Formula:
    return Formula(lambda e, x: e.function(name, x))


_NAMED = (
    elementwise.ExpOp, elementwise.LogOp, elementwise.ErfOp, elementwise.SinOp, elementwise.CosOp, elementwise.TanOp,
    elementwise.AsinOp, elementwise.AcosOp, elementwise.AtanOp, elementwise.SinhOp, elementwise.CoshOp,
    elementwise.AsinhOp, elementwise.AcoshOp, elementwise.AtanhOp,
)  # fmt: skip
"""The operations that are the function of `FunctionSteps` with the same name."""

FORMULAS: dict[type[Operation], Formula] = {
    activations.ReluOp: Formula(relu),
    activations.LeakyReluOp: Formula(leaky_relu, ("alpha",)),
    activations.PReluOp: Formula(leaky_relu),
    activations.ThresholdedReluOp: Formula(lambda e, x, alpha: e.where(x > alpha, x, 0), ("alpha",)),
    activations.EluOp: Formula(elu, ("alpha",)),
    activations.CeluOp: Formula(
        lambda e, x, alpha: e.where(x < 0, alpha * e.function("expm1", x / alpha), x), ("alpha",)
    ),
    activations.SeluOp: Formula(lambda e, x, alpha, gamma: gamma * elu(e, x, alpha), ("alpha", "gamma")),
    activations.SigmoidOp: Formula(sigmoid),
    activations.HardSigmoidOp: Formula(hard_sigmoid, ("alpha", "beta")),
    activations.HardSwishOp: Formula(lambda e, x: x * hard_sigmoid(e, x, 1 / 6, 0.5)),
    activations.SwishOp: Formula(lambda e, x, alpha: x * sigmoid(e, x * alpha), ("alpha",)),
    activations.MishOp: Formula(lambda e, x: x * tanh(e, softplus(e, x))),
    activations.TanhOp: Formula(tanh),
    activations.SoftplusOp: Formula(softplus),
    activations.SoftsignOp: Formula(softsign),
    activations.GeluOp: Formula(_gelu, ("tanh_approximation",)),
    elementwise.ReciprocalOp: Formula(lambda e, x: 1 / x),
    elementwise.SqrtOp: Formula(lambda e, x: e.sqrt(x)),
    elementwise.FloorOp: Formula(lambda e, x: e.floor(x)),
    elementwise.CeilOp: Formula(lambda e, x: e.ceil(x)),
    elementwise.RoundOp: Formula(lambda e, x: e.round_even(x)),
    **{operation: _function(operation.name.partition(".")[2]) for operation in _NAMED},
}
"""The formulas of elementwise float operations. Arithmetic that also handles integers and scales has separate rules."""
