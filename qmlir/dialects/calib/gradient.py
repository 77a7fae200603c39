"""Gradients of fake quantization: the rounding is not differentiable, so each method uses the estimate from its paper.

The formulas are documented in `calib.fake_quant`. An observer passes its gradient through unchanged.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.calib.ops import FakeQuantOp, ObserveOp, RowNormOp, StraightThroughOp
from qmlir.dialects.nn.elementwise.ops import CeilOp, ClipOp, MaxOp, MinOp, RoundOp, SqrtOp
from qmlir.dialects.nn.gradient_rules import Backward, Gradients, Rule
from qmlir.dialects.nn.reduction.ops import ReduceMeanOp
from qmlir.dialects.nn.terms import Expr
from qmlir.ir.builtin_types import shape_of


@dataclass(frozen=True)
class _Step:
    """The quantization of `x`: `v = x / s`, `r` its rounding, `q = r + z`, and the limits of `q`."""

    g: Expr
    s: Expr
    z: Expr | float
    v: Expr
    r: Expr
    q: Expr
    low: float
    high: float

    @staticmethod
    def of(op: FakeQuantOp, g: Expr, x: Expr, s: Expr, z: Expr | float = 0.0) -> "_Step":
        low, high = op.limits
        v = x / s
        r = v.apply(RoundOp)
        return _Step(g, s, z, v, r, r if isinstance(z, float) else r + z, float(low), float(high))

    def unclipped(self) -> Expr:
        """Returns `g` where `q` is inside the limits, 0 elsewhere."""
        return self.g.where(self.q >= self.low).where(self.q <= self.high)

    def clipped(self) -> Expr:
        """Returns `g` where `q` is clipped, 0 elsewhere."""
        return self.g.where(self.q < self.low, self.g.where(self.q > self.high))

    def of_scale(self) -> Expr:
        """Returns `g` times the derivative by the scale."""
        outer = (self.low - self.z, self.high - self.z)
        slope = (self.r - self.v).unless(self.q < self.low, outer[0]).unless(self.q > self.high, outer[1])
        return self.g * slope


Estimate = Callable[..., tuple[Expr, ...]]
"""A gradient estimate `estimate(op, g, x, *parameters)`.

It returns the gradient of `x` and, for each parameter, an array of terms whose sum is the gradient of that parameter.
"""


def _tqt(op: FakeQuantOp, g: Expr, x: Expr, threshold: Expr) -> tuple[Expr, ...]:
    bits = op.bits.value.data - (1 if op.is_signed else 0)
    s = Expr(g.at, g.at.constant(2.0, x.value)) ** (threshold.apply(CeilOp) - float(bits))
    step = _Step.of(op, g, x, s)
    return step.unclipped(), step.of_scale() * s * math.log(2)


def _lsq(op: FakeQuantOp, g: Expr, x: Expr, s: Expr, offset: Expr | None = None) -> tuple[Expr, ...]:
    step = _Step.of(op, g, x if offset is None else x - offset, s)
    low, high = step.v <= step.low, step.v >= step.high
    inside = g.unless(low).unless(high)
    slope = (step.r - step.v).unless(low, step.low).unless(high, step.high)
    shape = g.at.known_shape(x.value)
    count = math.prod(shape) // (1 if op.axis is None else shape[op.axis.value.data])
    factor = 1 / math.sqrt(max(count, 1) * step.high)
    of_scale = g * slope * factor
    return (inside, of_scale) if offset is None else (inside, of_scale, (g - inside) * factor)


def _pact(op: FakeQuantOp, g: Expr, x: Expr, limit: Expr) -> tuple[Expr, ...]:
    above = x >= limit
    return g.where(x >= 0.0).unless(above), g.where(above)


def _affine(op: FakeQuantOp, g: Expr, x: Expr, s: Expr, zero_point: Expr) -> tuple[Expr, ...]:
    low, high = op.limits
    z = Expr(g.at, g.at.add(ClipOp, zero_point.apply(RoundOp).value, minimum=float(low), maximum=float(high)).result)
    step = _Step.of(op, g, x, s, z)
    return step.unclipped(), step.of_scale(), -(step.clipped() * s)


def _range(op: FakeQuantOp, g: Expr, x: Expr, minimum: Expr, maximum: Expr) -> tuple[Expr, ...]:
    """`z = n - min / s` has the derivative `-1 / s` by the minimum, and `min / s^2` by the scale."""
    low, high = op.limits
    least, most = minimum.apply(MinOp, 0.0), maximum.apply(MaxOp, 0.0)
    s = (most - least) / float(high - low)
    x_, of_scale, of_zero = _affine(op, g, x, s, float(low) - least / s)
    of_scale = (of_scale + of_zero * (least / (s * s))) / float(high - low)
    return x_, (-of_scale - of_zero / s).where(minimum <= 0.0), of_scale.where(maximum >= 0.0)


ESTIMATES: dict[str, Estimate] = {
    "tqt": _tqt, "lsq": _lsq, "lsq_plus": _lsq, "pact": _pact, "affine": _affine, "range": _range,
}  # fmt: skip


def _fake_quant(at: Backward, op: FakeQuantOp, gradient: SSAValue) -> Gradients:
    layout = op.beside(len(shape_of(op.input)))
    sizes = [shape_of(op.parameters[0])[0] if size == -1 else size for size in layout]
    beside = [Expr(at, at.reshaped(value, sizes) if sizes else value) for value in op.parameters]
    own, *parts = ESTIMATES[op.method.data](op, Expr(at, gradient), Expr(at, op.input), *beside)
    axes = [axis for axis, _ in enumerate(shape_of(op.input)) if not layout or layout[axis] == 1]
    return [own.value, *(at.sum(part.value, axes) for part in parts)]


def _observe(at: Backward, op: ObserveOp, gradient: SSAValue) -> Gradients:
    return [gradient]


def _straight_through(at: Backward, op: StraightThroughOp, gradient: SSAValue) -> Gradients:
    return [None, gradient]


def _row_norm(at: Backward, op: RowNormOp, gradient: SSAValue) -> Gradients:
    """For `y = c rho` with `rho = 1 / sqrt(mean(c^2) + epsilon / s^2)`, the gradient is `rho (g - y mean(g y))`, minus
    its
    mean if `c` is `d` minus its mean; for `s` it is the sum of `g y rho^2 epsilon / s^3`."""

    def mean(term: Expr) -> Expr:
        return Expr(at, at.add(ReduceMeanOp, term.value, axes=list(op.row), keep_dims=True).result)

    g, d, s, y = (Expr(at, value) for value in (gradient, op.input, op.scale, op.result))
    c = d - mean(d) if op.is_centered else d
    added = float(np.float32(op.epsilon.value.data)) / (s * s)
    squared = 1.0 / (mean(c * c) + added)
    along = mean(g * y)
    slope = g - y * along
    of_scale = along * squared * (added / s * float(op.bounds().count))
    return [
        (squared.apply(SqrtOp) * (slope - mean(slope) if op.is_centered else slope)).value,
        at.sum(of_scale.value, range(len(shape_of(op.input)))),
    ]


RULES: dict[type[Operation], Rule] = {
    FakeQuantOp: _fake_quant,
    ObserveOp: _observe,
    RowNormOp: _row_norm,
    StraightThroughOp: _straight_through,
}
