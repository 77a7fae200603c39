"""Gradients of softmax and normalization."""

from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.elementwise.ops import ExpOp
from qmlir.dialects.nn.gradient_rules import Backward, Rule, first_only, nothing
from qmlir.dialects.nn.movement.ops import normalized_axis
from qmlir.dialects.nn.normalization import ops
from qmlir.dialects.nn.pooling.ops import AveragePoolOp
from qmlir.dialects.nn.terms import Expr
from qmlir.ir.builtin_types import shape_of

# Gradients of softmax and its logarithm, computed from their results.


def _along(at: Backward, op: ops.SoftmaxLikeOp, value: Expr) -> Expr:
    """Returns the sums along the axis, which stays with size 1."""
    axis = normalized_axis(op.axis.value.data, len(shape_of(op.input)))
    return Expr(at, at.sum(value.value, [axis], keep_dims=True))


def _softmax(at: Backward, op: ops.SoftmaxOp, gradient: SSAValue) -> SSAValue:
    """The gradient is `y (g - sum(g y))`; 0 for masked elements, also in fully masked rows."""
    g, y = Expr(at, gradient), Expr(at, op.result)
    part = y * (g - _along(at, op, g * y))
    if op.mask is not None and op.is_uniform_if_empty:
        part = part.where(Expr(at, op.mask))
    return part.value


def _log_softmax(at: Backward, op: ops.LogSoftmaxOp, gradient: SSAValue) -> SSAValue:
    """The gradient is `g - e^y sum(g)`."""
    g, y = Expr(at, gradient), Expr(at, op.result)
    return (g - y.apply(ExpOp) * _along(at, op, g)).value


# The gradient of local response normalization; the other normalizations have the gradients of their parts.


def _neighbours(at: Backward, value: Expr, below: int, above: int) -> Expr:
    """Returns the sums over the channels from `below` before each one to `above` after it."""
    batch, channels, *sizes = at.known_shape(value.value)
    size = below + above + 1
    rows = at.reshaped(value.value, [batch, 1, channels, *sizes])
    kernel, inner = [size, *(1 for _ in sizes)], [0 for _ in sizes]
    pads = [below, *inner, above, *inner]
    mean = at.add(AveragePoolOp, rows, kernel=kernel, pads=pads, count_include_pad=True).result
    return Expr(at, at.reshaped(mean, [batch, channels, *sizes])) * float(size)


def _local_response_norm(at: Backward, op: ops.LocalResponseNormOp, gradient: SSAValue) -> SSAValue:
    """The gradient of `x / base^beta` is `g / base^beta - 2 alpha beta / size * x * sum(g x / base^(beta + 1))`.

    The sum is over the channels whose neighborhood contains this one.
    """
    size, (alpha, beta, bias) = op.size.value.data, (each.value.data for each in (op.alpha, op.beta, op.bias))
    g, x, (below, above) = Expr(at, gradient), Expr(at, op.input), ((size - 1) // 2, size // 2)
    base = _neighbours(at, x * x, below, above) * (alpha / size) + bias
    part = g / base**beta
    return (part - x * _neighbours(at, part * x / base, above, below) * (2 * alpha * beta / size)).value


RULES: dict[type[Operation], Rule] = {
    ops.SoftmaxOp: first_only(_softmax),
    ops.LogSoftmaxOp: first_only(_log_softmax),
    ops.HardmaxOp: nothing,
    ops.LocalResponseNormOp: first_only(_local_response_norm),
}
