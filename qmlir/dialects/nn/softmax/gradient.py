"""Gradients of softmax and its logarithm, computed from their results."""

from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.elementwise.ops import ExpOp
from qmlir.dialects.nn.gradient.rules import Backward, Rule, first_only, nothing
from qmlir.dialects.nn.movement.ops import normalized_axis
from qmlir.dialects.nn.softmax import ops
from qmlir.dialects.nn.terms import Term
from qmlir.ir.builtin_types import shape_of


def _along(at: Backward, op: ops.SoftmaxLikeOp, value: Term) -> Term:
    """Returns the sums along the axis, which stays with size 1."""
    axis = normalized_axis(op.axis.value.data, len(shape_of(op.input)))
    return Term(at, at.sum(value.value, [axis], keep_dims=True))


def _softmax(at: Backward, op: ops.SoftmaxOp, gradient: SSAValue) -> SSAValue:
    """The gradient is `y (g - sum(g y))`; 0 for masked elements, also in fully masked rows."""
    g, y = Term(at, gradient), Term(at, op.result)
    part = y * (g - _along(at, op, g * y))
    if op.mask is not None and op.is_uniform_if_empty:
        part = part.where(Term(at, op.mask))
    return part.value


def _log_softmax(at: Backward, op: ops.LogSoftmaxOp, gradient: SSAValue) -> SSAValue:
    """The gradient is `g - e^y sum(g)`."""
    g, y = Term(at, gradient), Term(at, op.result)
    return (g - y.apply(ExpOp) * _along(at, op, g)).value


RULES: dict[type[Operation], Rule] = {
    ops.SoftmaxOp: first_only(_softmax),
    ops.LogSoftmaxOp: first_only(_log_softmax),
    ops.HardmaxOp: nothing,
}
