"""Decompositions of activation functions into other operations.

`nn.elu` and `nn.softplus` are not decomposed: expressed by exponentials, they would overflow or lose all digits near 0.
"""

import math

from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.activations import ops
from qmlir.dialects.nn.base import build
from qmlir.dialects.nn.decomposition import Decompose, Results, scalar
from qmlir.dialects.nn.elementwise.ops import AddOp, ClipOp, DivOp, ErfOp, LessOp, MulOp, WhereOp
from qmlir.ir.decomposition import Parts


def _hard_sigmoid(op: ops.HardSigmoidOp, parts: Parts) -> Results:
    """Decomposes to `clip(alpha * x + beta, 0, 1)`."""
    x = op.input
    sloped = parts.add("mul", MulOp(x, scalar(parts, "alpha", op.alpha.value.data, x))).result
    shifted = parts.add("add", AddOp(sloped, scalar(parts, "beta", op.beta.value.data, x))).result
    return [parts.add("clip", ClipOp.between(shifted, 0.0, 1.0)).result]


def _hard_swish(op: ops.HardSwishOp, parts: Parts) -> Results:
    """Decomposes to `x * clip(x / 6 + 1 / 2, 0, 1)`."""
    sixth = parts.add("mul", MulOp(op.input, scalar(parts, "sixth", 1 / 6, op.input))).result
    shifted = parts.add("add", AddOp(sixth, scalar(parts, "half", 0.5, op.input))).result
    gate = parts.add("gate", ClipOp.between(shifted, 0.0, 1.0)).result
    return [parts.add("product", MulOp(op.input, gate)).result]


def _swish(op: ops.SwishOp, parts: Parts) -> Results:
    """Decomposes to `x * sigmoid(alpha * x)`."""
    x, alpha = op.input, op.alpha.value.data
    argument = x if alpha == 1 else parts.add("mul", MulOp(x, scalar(parts, "alpha", alpha, x))).result
    return [parts.add("product", MulOp(x, parts.add("sigmoid", ops.SigmoidOp(argument)).result)).result]


def _mish(op: ops.MishOp, parts: Parts) -> Results:
    """Decomposes to `x * tanh(softplus(x))`."""
    curve = parts.add("tanh", ops.TanhOp(parts.add("softplus", ops.SoftplusOp(op.input)).result)).result
    return [parts.add("product", MulOp(op.input, curve)).result]


def _selu(op: ops.SeluOp, parts: Parts) -> Results:
    """Decomposes to `gamma * elu(x)`."""
    curve = parts.add("elu", build(ops.EluOp, [op.input], {"alpha": op.alpha})).result
    return [parts.add("mul", MulOp(curve, scalar(parts, "gamma", op.gamma.value.data, op.input))).result]


def _celu(op: ops.CeluOp, parts: Parts) -> Results:
    """Decomposes to `alpha * elu(x / alpha)` for `x < 0`, `x` otherwise, since `x / alpha * alpha` may differ from
    `x`."""
    x, alpha = op.input, op.alpha.value.data
    if alpha <= 0:
        return None
    if alpha == 1:
        return [parts.add("elu", build(ops.EluOp, [x])).result]
    factor = scalar(parts, "alpha", alpha, x)
    curve = parts.add("elu", build(ops.EluOp, [parts.add("div", DivOp(x, factor)).result])).result
    scaled = parts.add("mul", MulOp(curve, factor)).result
    is_below = parts.add("is_below", LessOp(x, scalar(parts, "zero", 0.0, x))).result
    return [parts.add("choice", build(WhereOp, [is_below, scaled, x])).result]


def _gelu(op: ops.GeluOp, parts: Parts) -> Results:
    """Decomposes to `x / 2 * (1 + erf(x / sqrt(2)))`, or `x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))`."""
    x = op.input
    if op.tanh_approximation.value.data:
        square = parts.add("square", MulOp(x, x)).result
        cube = parts.add("cube", MulOp(square, x)).result
        bent = parts.add("bend", MulOp(cube, scalar(parts, "coefficient", 0.044715, x))).result
        inner = parts.add("inner", AddOp(x, bent)).result
        argument = parts.add("argument", MulOp(inner, scalar(parts, "factor", math.sqrt(2 / math.pi), x))).result
        curve: SSAValue = parts.add("tanh", ops.TanhOp(argument)).result
    else:
        argument = parts.add("argument", MulOp(x, scalar(parts, "factor", math.sqrt(0.5), x))).result
        curve = parts.add("erf", ErfOp(argument)).result
    gate = parts.add("gate", AddOp(curve, scalar(parts, "one", 1.0, x))).result
    half = parts.add("half", MulOp(x, scalar(parts, "one_half", 0.5, x))).result
    return [parts.add("product", MulOp(half, gate)).result]


COMPOSITES: dict[type[Operation], Decompose] = {
    ops.HardSigmoidOp: _hard_sigmoid,
    ops.HardSwishOp: _hard_swish,
    ops.SwishOp: _swish,
    ops.MishOp: _mish,
    ops.SeluOp: _selu,
    ops.CeluOp: _celu,
    ops.GeluOp: _gelu,
}
