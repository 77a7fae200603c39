"""Gradients of elementwise arithmetic, selection and type conversion.

At points without a derivative, the gradient is that of torch: it is 0 for `|x|` at 0 and for piecewise constant
functions (`floor`, `sign`), and equal operands of `min` and `max` get half of it each. The exception is `clip`, which
passes the gradient at its limits because it leaves these values unchanged; in torch 2.15 the gradient is 0 there.
"""

import math

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.base import Kind, kind_of, plain_type
from qmlir.dialects.nn.elementwise import ops
from qmlir.dialects.nn.gradient_rules import Backward, Gradients, Rule, Terms, formula, nothing
from qmlir.dialects.nn.terms import Expr
from qmlir.ir.builtin_types import element_of, shape_of


def _root_of_square(x: Expr, sign: float) -> Expr:
    """Computes `sqrt(x^2 + sign)`."""
    return (x * x + sign).apply(ops.SqrtOp)


def _chosen(g: Expr, a: Expr, b: Expr, first: Expr) -> Terms:
    """The gradients of `min` and `max`; `first` is true where only `a` is the result."""
    left = g.where(first, (g * 0.5).where(a.equals(b)))
    return left, g - left


def _quotient(g: Expr, a: Expr, b: Expr, y: Expr) -> Terms:
    part = g / b
    return part, -(part * y)


def _power(g: Expr, a: Expr, b: Expr, y: Expr) -> Terms:
    """For `a^b`: `b a^(b - 1)`, 0 if `b` is 0; `a^b ln a`, 0 if `a` is 0 and `b` is not negative."""
    rise = y * a.apply(ops.LogOp)
    return g * (b * a ** (b - 1.0)).unless(b.equals(0.0)), g * rise.unless(a.equals(0.0), rise.unless(b >= 0.0))


def _remainder(at: Backward, op: ops.ModOp, gradient: SSAValue) -> Gradients:
    def slopes(g: Expr, a: Expr, b: Expr, y: Expr) -> Terms:
        quotient = (a - y) / b  # a whole number
        return g, -(g * quotient.apply(ops.RoundOp))

    return formula(slopes)(at, op, gradient)


def _clip(at: Backward, op: ops.ClipOp, gradient: SSAValue) -> Gradients:
    g, x = Expr(at, gradient), Expr(at, op.input)
    for bound, is_inside in ((op.minimum, Expr.__ge__), (op.maximum, Expr.__le__)):
        if bound is not None:
            g = g.where(is_inside(x, bound.value.data))
    return [g.value]


def _cast(at: Backward, op: ops.CastOp, gradient: SSAValue) -> Gradients:
    """Rounding to another float type counts as the identity (straight-through)."""
    source = plain_type(element_of(op.input))
    if kind_of(source) is Kind.SMALL_FLOAT:
        raise at.error(f"gradients in {source} are not supported")
    if kind_of(source) is not Kind.FLOAT:
        return [None]
    type_ = TensorType(source, shape_of(op.input))
    return [at.add(ops.CastOp, gradient, result_types=[type_]).result]


RULES: dict[type[Operation], Rule] = {
    ops.AbsOp: formula(lambda g, x, y: g * x.apply(ops.SignOp)),
    ops.NegOp: formula(lambda g, x, y: -g),
    ops.SqrtOp: formula(lambda g, x, y: g / (2.0 * y)),
    ops.ExpOp: formula(lambda g, x, y: g * y),
    ops.LogOp: formula(lambda g, x, y: g / x),
    ops.ReciprocalOp: formula(lambda g, x, y: -(g * y * y)),
    ops.ErfOp: formula(lambda g, x, y: g * (-(x * x)).apply(ops.ExpOp) * (2 / math.sqrt(math.pi))),
    ops.SinOp: formula(lambda g, x, y: g * x.apply(ops.CosOp)),
    ops.CosOp: formula(lambda g, x, y: -(g * x.apply(ops.SinOp))),
    ops.TanOp: formula(lambda g, x, y: g * (y * y + 1.0)),
    ops.AsinOp: formula(lambda g, x, y: g / (1.0 - x * x).apply(ops.SqrtOp)),
    ops.AcosOp: formula(lambda g, x, y: -(g / (1.0 - x * x).apply(ops.SqrtOp))),
    ops.AtanOp: formula(lambda g, x, y: g / (x * x + 1.0)),
    ops.SinhOp: formula(lambda g, x, y: g * x.apply(ops.CoshOp)),
    ops.CoshOp: formula(lambda g, x, y: g * x.apply(ops.SinhOp)),
    ops.AsinhOp: formula(lambda g, x, y: g / _root_of_square(x, 1.0)),
    ops.AcoshOp: formula(lambda g, x, y: g / _root_of_square(x, -1.0)),
    ops.AtanhOp: formula(lambda g, x, y: g / (1.0 - x * x)),
    ops.ClipOp: _clip,
    ops.AddOp: formula(lambda g, a, b, y: (g, g)),
    ops.SubOp: formula(lambda g, a, b, y: (g, -g)),
    ops.MulOp: formula(lambda g, a, b, y: (g * b, g * a)),
    ops.DivOp: formula(_quotient),
    ops.PowOp: formula(_power),
    ops.ModOp: _remainder,
    ops.MinOp: formula(lambda g, a, b, y: _chosen(g, a, b, a < b)),
    ops.MaxOp: formula(lambda g, a, b, y: _chosen(g, a, b, a > b)),
    ops.WhereOp: formula(lambda g, condition, a, b, y: (None, g.where(condition), g.unless(condition))),
    ops.CastOp: _cast,
    **dict.fromkeys((ops.FloorOp, ops.CeilOp, ops.RoundOp, ops.SignOp), nothing),
}
