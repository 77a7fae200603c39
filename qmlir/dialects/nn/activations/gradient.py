"""Gradients of activation functions. At a kink, the gradient is that on the lower side, as in torch.

For example, the gradient at 0 is 0 for `relu`, and the slope for `leaky_relu`; ONNX's hard sigmoid has gradient 0 at
both kinks.
"""

import math

from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.activations import ops
from qmlir.dialects.nn.elementwise.ops import ErfOp, ExpOp
from qmlir.dialects.nn.gradient_rules import Backward, Gradients, Rule, Terms, formula
from qmlir.dialects.nn.terms import Expr


def _elu(g: Expr, x: Expr, alpha: float, scale: float = 1.0, rate: float = 1.0) -> Expr:
    """The gradient of `scale x` for `x > 0`, `scale alpha (e^(rate x) - 1)` otherwise."""
    above = g if scale == 1 else g * scale
    return above.where(x > 0.0, g * (x * rate).apply(ExpOp) * (scale * alpha * rate))


def _prelu(g: Expr, x: Expr, slope: Expr, y: Expr) -> Terms:
    is_above = x > 0.0
    return g.where(is_above, g * slope), (g * x).unless(is_above)


def _hard_sigmoid(g: Expr, x: Expr, y: Expr, alpha: float, beta: float) -> Expr:
    line = x * alpha + beta
    return (g * alpha).where(line > 0.0).where(line < 1.0)


def _hard_swish(g: Expr, x: Expr, y: Expr) -> Expr:
    return (g * (x * (1 / 3) + 0.5)).where(x < 3.0, g).where(x > -3.0)


def _swish(g: Expr, x: Expr, y: Expr, alpha: float) -> Expr:
    """The gradient is `s + alpha x s (1 - s)` with `s = sigmoid(alpha x)`."""
    s = (x * alpha).apply(ops.SigmoidOp)
    return g * (s + y * (1.0 - s) * alpha)


def _mish(g: Expr, x: Expr, y: Expr) -> Expr:
    """The gradient is `t + x (1 - t^2) sigmoid(x)` with `t = tanh(softplus(x))`."""
    t = x.apply(ops.SoftplusOp).apply(ops.TanhOp)
    return g * (t + x * (1.0 - t * t) * x.apply(ops.SigmoidOp))


def _softsign(g: Expr, x: Expr, y: Expr) -> Expr:
    width = abs(x) + 1.0
    return g / (width * width)


def _gelu(at: Backward, op: ops.GeluOp, gradient: SSAValue) -> Gradients:
    """The gradient is `Phi(x) + x phi(x)`, or the derivative of the approximation."""

    def exact(g: Expr, x: Expr, y: Expr) -> Expr:
        density = (x * x * -0.5).apply(ExpOp) * (1 / math.sqrt(2 * math.pi))
        return g * (((x * math.sqrt(0.5)).apply(ErfOp) + 1.0) * 0.5 + x * density)

    def approximate(g: Expr, x: Expr, y: Expr) -> Expr:
        factor = math.sqrt(2 / math.pi)
        t = ((x + x * x * x * 0.044715) * factor).apply(ops.TanhOp)
        inner = (x * x * (3 * 0.044715) + 1.0) * factor
        return g * ((t + 1.0) * 0.5 + x * (1.0 - t * t) * inner * 0.5)

    return formula(approximate if op.tanh_approximation.value.data else exact)(at, op, gradient)


RULES: dict[type[Operation], Rule] = {
    ops.ReluOp: formula(lambda g, x, y: g.where(y > 0.0)),
    ops.LeakyReluOp: formula(lambda g, x, y, alpha: g.where(x > 0.0, g * alpha), "alpha"),
    ops.PReluOp: formula(_prelu),
    ops.ThresholdedReluOp: formula(lambda g, x, y, alpha: g.where(x > alpha), "alpha"),
    ops.EluOp: formula(lambda g, x, y, alpha: _elu(g, x, alpha), "alpha"),
    ops.CeluOp: formula(lambda g, x, y, alpha: _elu(g, x, alpha, rate=1 / alpha), "alpha"),
    ops.SeluOp: formula(lambda g, x, y, alpha, gamma: _elu(g, x, alpha, scale=gamma), "alpha", "gamma"),
    ops.SigmoidOp: formula(lambda g, x, y: g * y * (1.0 - y)),
    ops.HardSigmoidOp: formula(_hard_sigmoid, "alpha", "beta"),
    ops.HardSwishOp: formula(_hard_swish),
    ops.SwishOp: formula(_swish, "alpha"),
    ops.MishOp: formula(_mish),
    ops.TanhOp: formula(lambda g, x, y: g * (1.0 - y * y)),
    ops.SoftplusOp: formula(lambda g, x, y: g * x.apply(ops.SigmoidOp)),
    ops.SoftsignOp: formula(_softsign),
    ops.GeluOp: _gelu,
}
