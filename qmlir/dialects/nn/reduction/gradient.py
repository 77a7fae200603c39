"""Gradients of reductions and cumulative sums.

`reduce_max` and `reduce_min` divide the gradient equally among equal extrema, as torch's `amax` does. The gradient of a
norm of zeros is 0.
"""

import math
from collections.abc import Callable

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.elementwise.ops import CastOp, ExpOp, SignOp
from qmlir.dialects.nn.gradient_rules import Backward, Rule, first_only
from qmlir.dialects.nn.reduction import ops
from qmlir.dialects.nn.shapes import ops as shapes
from qmlir.dialects.nn.terms import Expr
from qmlir.ir.builtin_types import element_of, shape_of


def _kept(at: Backward, op: ops.ReduceOp, value: SSAValue) -> SSAValue:
    """Reshapes `value`, of the shape of the result, to keep the reduced axes with size 1."""
    if not op.is_known("axes"):
        raise at.error("axes must be constant")
    return value if op.keeps_axes else at.unsqueezed(value, op.reduced_axes(len(shape_of(op.input))))


def _reducing(function: Callable[[Expr, Expr, Expr], Expr]) -> Rule:
    """Returns the rule by `function(g, x, y)` of the gradient, the operand and the result, with reduced axes kept."""

    def rule(at: Backward, op: ops.ReduceOp, gradient: SSAValue) -> SSAValue:
        g, y = (Expr(at, _kept(at, op, value)) for value in (gradient, op.result))
        return at.expanded(function(g, Expr(at, op.input), y).value, op.input)

    return first_only(rule)


def _mean(at: Backward, op: ops.ReduceMeanOp, gradient: SSAValue) -> SSAValue:
    return at.expanded(_kept(at, op, (Expr(at, gradient) / _count(at, op, gradient)).value), op.input)


def _count(at: Backward, op: ops.ReduceMeanOp, gradient: SSAValue) -> Expr | float:
    """Returns the number of elements of each mean."""
    known = [math.prod(shape_of(value)) for value in (op.input, op.result) if DYNAMIC_INDEX not in shape_of(value)]
    if len(known) == 2:
        return known[0] / max(known[1], 1)
    type_ = TensorType(element_of(gradient), [])
    sizes = [at.add(shapes.SizeOp, value).result for value in (op.input, op.result)]
    total, count = (Expr(at, at.add(CastOp, size, result_types=[type_]).result) for size in sizes)
    return total / count


def _extreme(at: Backward, op: ops.ExtremeOp, gradient: SSAValue) -> SSAValue:
    x, y, g = (Expr(at, value) for value in (op.input, _kept(at, op, op.result), _kept(at, op, gradient)))
    axes = op.reduced_axes(len(shape_of(op.input)))
    is_chosen = x.equals(y)
    ones = Expr(at, at.filled(1.0, op.input)).where(is_chosen)
    return (g / Expr(at, at.sum(ones.value, axes, keep_dims=True))).where(is_chosen).value


def _product(at: Backward, op: ops.ReduceProdOp, gradient: SSAValue) -> SSAValue:
    """Multiplies the products of the elements before and after each one, which avoids a division by 0."""
    shape = at.known_shape(op.input)
    g = Expr(at, _kept(at, op, gradient))
    axes = op.reduced_axes(len(shape))
    order = [*(axis for axis in range(len(shape)) if axis not in axes), *axes]
    count = math.prod(shape[axis] for axis in axes)
    moved = at.transposed(op.input, order)
    rows = at.reshaped(moved, [*(shape[axis] for axis in order[: len(shape) - len(axes)]), count])
    before, after = (
        Expr(at, at.add(ops.CumProdOp, rows, axis=len(shape) - len(axes), exclusive=True, reverse=reverse).result)
        for reverse in (False, True)
    )
    others = at.reshaped((before * after).value, shape_of(moved))
    return (g * Expr(at, at.restored(others, order))).value


def _running_sum(at: Backward, op: ops.CumSumOp, gradient: SSAValue) -> SSAValue:
    """Computes the cumulative sum from the other end."""
    axis = op.axis_value if op.axis is None else op.axis
    is_reverse, exclusive = bool(op.reverse.value.data), bool(op.exclusive.value.data)
    return at.add(ops.CumSumOp, gradient, axis=axis, exclusive=exclusive, reverse=not is_reverse).result


RULES: dict[type[Operation], Rule] = {
    ops.ReduceSumOp: _reducing(lambda g, x, y: g),
    ops.ReduceMeanOp: first_only(_mean),
    ops.ReduceProdOp: first_only(_product),
    ops.ReduceL1Op: _reducing(lambda g, x, y: g * x.apply(SignOp)),
    ops.ReduceL2Op: _reducing(lambda g, x, y: (g * x / y).unless(y.equals(0.0))),
    ops.ReduceLogSumOp: _reducing(lambda g, x, y: g / y.apply(ExpOp)),
    ops.ReduceLogSumExpOp: _reducing(lambda g, x, y: g * (x - y).apply(ExpOp)),
    ops.ReduceSumSquareOp: _reducing(lambda g, x, y: g * 2.0 * x),
    ops.ReduceMaxOp: first_only(_extreme),
    ops.ReduceMinOp: first_only(_extreme),
    ops.CumSumOp: first_only(_running_sum),
}
