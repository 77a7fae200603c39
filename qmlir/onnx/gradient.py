"""Reverse-mode differentiation of what has been imported, as `nn` operations: one rule for each operation.

A rule takes an operation and the gradient of its result, and adds what gives the gradients of its operands: `None` for
one that is 0 everywhere. The gradient of a value has its shape and its element type.
"""

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.ops import activations, contraction, expansion, movement, reduction, shapes
from qmlir.dialects.nn.ops import elementwise as ops
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.provenance import describe
from qmlir.onnx.node import Node

Gradients = Sequence[SSAValue | None]
Rule = Callable[[Node, Any, SSAValue], Gradients]


def gradients(node: Node, target: SSAValue, seed: SSAValue, variables: Sequence[SSAValue]) -> Gradients:
    """The gradients with respect to `variables`, where `seed` is that of `target`; `None` for one that is 0 everywhere.

    Each of `variables` is taken to depend on nothing. Raises `DiagnosticError`, naming it, for an operation between
    them and the target that has no rule.
    """
    operations = [op for op in node.graph.block.ops if not any(result in variables for result in op.results)]
    dependent = set(variables)
    for op in operations:
        if not dependent.isdisjoint(op.operands):
            dependent.update(op.results)
    found = {target: seed}
    for op in reversed(operations):
        if not any(result in found and result in dependent for result in op.results):
            continue
        rule = RULES.get(type(op))
        if rule is None:
            raise node.error(f"cannot differentiate {describe(op)}: there is no rule for it")
        for operand, part in zip(op.operands, rule(node, op, found[op.results[0]]), strict=True):
            if part is not None and operand in dependent:
                found[operand] = _add(node, found[operand], part) if operand in found else part
    return [found.get(variable) for variable in variables]


# What rules are made of


def _adding(operation: type[NnOp]) -> Callable[..., SSAValue]:
    """The function that adds an operation on values, and gives its result."""

    def add(node: Node, *operands: SSAValue) -> SSAValue:
        return node.add(operation, *operands).results[0]

    return add


_add, _sub, _mul, _div = map(_adding, (ops.AddOp, ops.SubOp, ops.MulOp, ops.DivOp))
_neg, _where = map(_adding, (ops.NegOp, ops.WhereOp))


def _product(node: Node, a: SSAValue, b: SSAValue, transpose_b: bool = False) -> SSAValue:
    return node.add(contraction.MatMulOp, a, b, transpose_b=transpose_b).result


def _transposed(node: Node, value: SSAValue) -> SSAValue:
    """`value` with its last two axes exchanged."""
    *outer, row, column = range(len(shape_of(value)))
    return node.add(movement.TransposeOp, value, permutation=(*outer, column, row)).result


def _unsqueezed(node: Node, value: SSAValue, axes: Sequence[int]) -> SSAValue:
    return node.add(movement.UnsqueezeOp, value, axes=axes).result if axes else value


def _squeezed(node: Node, value: SSAValue, axes: Sequence[int]) -> SSAValue:
    return node.add(movement.SqueezeOp, value, axes=axes).result if axes else value


def _reshaped(node: Node, value: SSAValue, like: SSAValue) -> SSAValue:
    sizes = shape_of(like)
    shape = node.add(shapes.ShapeOp, like).result if sizes.count(DYNAMIC_INDEX) > 1 else None
    type_ = TensorType(element_of(value), sizes)
    return node.add(movement.ReshapeOp, value, shape, result_types=[type_], allow_zero=True).result


def _expanded(node: Node, value: SSAValue, like: SSAValue) -> SSAValue:
    sizes = shape_of(like)
    shape = node.add(shapes.ShapeOp, like).result if DYNAMIC_INDEX in sizes else sizes
    return node.add(expansion.ExpandOp, value, shape=shape, result_types=[TensorType(element_of(value), sizes)]).result


def _summed(node: Node, gradient: SSAValue, operand: SSAValue, others: Sequence[Sequence[int]]) -> SSAValue:
    """`gradient`, that of a value to which `operand` was broadcast together with tensors of the shapes `others`."""
    wide = shape_of(gradient)
    added = len(wide) - len(shape_of(operand))
    axes = list(range(added))
    for axis, size in enumerate(shape_of(operand), added):
        met = {other[axis - len(wide)] for other in others if axis - len(wide) >= -len(other)}
        if size == DYNAMIC_INDEX and met - {1}:
            raise node.error(
                f"whether {operand.type} is broadcast along axis {axis - added} must be known to differentiate: "
                "fix the shapes of the inputs"
            )
        if size == 1 and wide[axis] != 1:
            axes.append(axis)
    if axes:
        gradient = node.add(reduction.ReduceSumOp, gradient, axes=axes).result
    return _squeezed(node, gradient, range(added))


# Rules


def _broadcasting(rule: Rule) -> Rule:
    """A rule that leaves it open whether operands were broadcast."""

    def summed(node: Node, op: Operation, gradient: SSAValue) -> Gradients:
        shapes_of = [shape_of(operand) for operand in op.operands]
        return [
            None if part is None else _summed(node, part, operand, shapes_of[:place] + shapes_of[place + 1 :])
            for place, (operand, part) in enumerate(zip(op.operands, rule(node, op, gradient), strict=True))
        ]

    return summed


def _divided(node: Node, op: ops.DivOp, gradient: SSAValue) -> Gradients:
    part = _div(node, gradient, op.rhs)
    return part, _neg(node, _mul(node, part, op.result))


def _chosen(node: Node, op: ops.WhereOp, gradient: SSAValue) -> Gradients:
    zero = node.scalar(0, gradient)
    return None, _where(node, op.condition, gradient, zero), _where(node, op.condition, zero, gradient)


def _tanh(node: Node, op: activations.TanhOp, gradient: SSAValue) -> Gradients:
    return [_mul(node, gradient, _sub(node, node.scalar(1, gradient), _mul(node, op.result, op.result)))]


def _sigmoid(node: Node, op: activations.SigmoidOp, gradient: SSAValue) -> Gradients:
    slope = _mul(node, op.result, _sub(node, node.scalar(1, gradient), op.result))
    return [_mul(node, gradient, slope)]


def _relu(node: Node, op: activations.ReluOp, gradient: SSAValue) -> Gradients:
    zero = node.scalar(0, gradient)
    return [_where(node, node.add(ops.GreaterOp, op.input, zero).result, gradient, zero)]


def _matmul(node: Node, op: contraction.MatMulOp, gradient: SSAValue) -> Gradients:
    """Of `C = A B`: `dA = dC B'`, `dB = A' dC`; a vector is a matrix of one row or column."""
    a, b = op.lhs, op.rhs
    row, column = len(shape_of(a)) == 1, len(shape_of(b)) == 1
    if column:
        b, gradient = _unsqueezed(node, b, [1]), _unsqueezed(node, gradient, [-1])
    if row:
        a, gradient = _unsqueezed(node, a, [0]), _unsqueezed(node, gradient, [-2])
    if op.is_rhs_transposed:
        da, db = _product(node, gradient, b), _product(node, _transposed(node, gradient), a)
    else:
        da, db = _product(node, gradient, b, transpose_b=True), _product(node, _transposed(node, a), gradient)
    # The last two axes are no broadcast ones.
    da = _summed(node, da, a, [(*shape_of(b)[:-2], 1, 1)])
    db = _summed(node, db, b, [(*shape_of(a)[:-2], 1, 1)])
    return _squeezed(node, da, [0] if row else []), _squeezed(node, db, [1] if column else [])


def _fully_connected(node: Node, op: contraction.FullyConnectedOp, gradient: SSAValue) -> Gradients:
    parts = [_product(node, gradient, op.weight), _product(node, _transposed(node, gradient), op.data)]
    if op.bias is not None:
        parts.append(node.add(reduction.ReduceSumOp, gradient, axes=[0], keep_dims=False).result)
    return parts


def _sum(node: Node, op: reduction.ReduceOp, gradient: SSAValue) -> Gradients:
    if not op.is_known("axes"):
        raise node.error(f"cannot differentiate {describe(op)}: its axes must be known")
    axes = op.reduced_axes(len(shape_of(op.input)))
    kept = gradient if op.keeps_axes else _unsqueezed(node, gradient, axes)
    return [_expanded(node, kept, op.input)]


def _mean(node: Node, op: reduction.ReduceMeanOp, gradient: SSAValue) -> Gradients:
    type_ = TensorType(element_of(gradient), [])
    sizes = [node.add(shapes.SizeOp, value).result for value in (op.input, op.result)]
    total, count = (node.add(ops.CastOp, size, result_types=[type_]).result for size in sizes)
    return _sum(node, op, _div(node, gradient, _div(node, total, count)))


def _expand(node: Node, op: expansion.ExpandOp, gradient: SSAValue) -> Gradients:
    target = op.integers("shape")
    others = [(DYNAMIC_INDEX,) * len(shape_of(op.result)) if target is None else target]
    return [_summed(node, gradient, op.input, others), *[None] * (len(op.operands) - 1)]


def _reshape(node: Node, op: movement.MovementOp, gradient: SSAValue) -> Gradients:
    return [_reshaped(node, gradient, op.operands[0]), *[None] * (len(op.operands) - 1)]


def _transpose(node: Node, op: movement.TransposeOp, gradient: SSAValue) -> Gradients:
    order = op.order
    return [
        node.add(movement.TransposeOp, gradient, permutation=[order.index(axis) for axis in range(len(order))]).result
    ]


RULES: dict[type[Operation], Rule] = {
    ops.AddOp: _broadcasting(lambda node, op, gradient: (gradient, gradient)),
    ops.SubOp: _broadcasting(lambda node, op, gradient: (gradient, _neg(node, gradient))),
    ops.MulOp: _broadcasting(lambda node, op, gradient: [_mul(node, gradient, each) for each in (op.rhs, op.lhs)]),
    ops.DivOp: _broadcasting(_divided),
    ops.WhereOp: _broadcasting(_chosen),
    ops.NegOp: lambda node, op, gradient: [_neg(node, gradient)],
    ops.ExpOp: lambda node, op, gradient: [_mul(node, gradient, op.result)],
    ops.LogOp: lambda node, op, gradient: [_div(node, gradient, op.input)],
    ops.SqrtOp: lambda node, op, gradient: [_div(node, gradient, _mul(node, node.scalar(2, gradient), op.result))],
    activations.TanhOp: _tanh,
    activations.SigmoidOp: _sigmoid,
    activations.ReluOp: _relu,
    contraction.MatMulOp: _matmul,
    contraction.FullyConnectedOp: _fully_connected,
    reduction.ReduceSumOp: _sum,
    reduction.ReduceMeanOp: _mean,
    expansion.ExpandOp: _expand,
    movement.ReshapeOp: _reshape,
    movement.SqueezeOp: _reshape,
    movement.UnsqueezeOp: _reshape,
    movement.TransposeOp: _transpose,
}
"""The operations that can be differentiated."""
