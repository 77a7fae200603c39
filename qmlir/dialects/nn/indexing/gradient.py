"""Gradients of gather and scatter operations: the gradient of a gather is a scatter, and vice versa."""

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.elementwise.ops import CastOp, EqualOp
from qmlir.dialects.nn.gradient_rules import Backward, Gradients, Rule, first_only
from qmlir.dialects.nn.indexing import ops
from qmlir.dialects.nn.indexing.ops import TopKOp
from qmlir.dialects.nn.movement.ops import ConcatOp, normalized_axis
from qmlir.dialects.nn.terms import Expr
from qmlir.ir.builtin_types import element_of, shape_of


def _gather(at: Backward, op: ops.GatherOp, gradient: SSAValue) -> SSAValue:
    """Scatters slice by slice, with the axis of the slices first."""
    shape, count = at.known_shape(op.input), len(shape_of(op.indices))
    axis, rank = normalized_axis(op.axis.value.data, len(shape)), len(shape_of(gradient))
    taken = range(axis, axis + count)
    updates = at.transposed(gradient, [*taken, *(position for position in range(rank) if position not in taken)])
    order = [axis, *(position for position in range(len(shape)) if position != axis)]
    zeros = at.expanded_to(at.constant(0.0, gradient), [shape[position] for position in order])
    tuples = at.unsqueezed(op.indices, [count])
    return at.restored(at.add(ops.ScatterNDOp, zeros, tuples, updates, reduction="add").result, order)


def _gather_elements(at: Backward, op: ops.GatherElementsOp, gradient: SSAValue) -> SSAValue:
    zeros = at.filled(0.0, op.input)
    return at.add(ops.ScatterElementsOp, zeros, op.indices, gradient, axis=op.axis, reduction="add").result


def _integers(at: Backward, array: Any, like: SSAValue) -> SSAValue:
    """Returns a constant with the integer type of `like`."""
    held = ConstantOp.of(np.ascontiguousarray(array, np.int64), TensorType(i64, np.shape(array)))
    value = at.append(held).result
    if element_of(like) == i64:
        return value
    return at.add(CastOp, value, result_types=[TensorType(element_of(like), np.shape(array))]).result


def _gather_nd(at: Backward, op: ops.GatherNDOp, gradient: SSAValue) -> SSAValue:
    """Scatters tuple by tuple, with the batch indices prepended to each tuple."""
    batch, indices = op.batch_dims.value.data, op.indices
    if batch:
        *lead, _ = at.known_shape(indices)
        positions = np.moveaxis(np.indices(lead)[:batch], 0, -1)
        indices = at.add(ConcatOp, [_integers(at, positions, indices), indices], axis=-1).result
    return at.add(ops.ScatterNDOp, at.filled(0.0, op.input), indices, gradient, reduction="add").result


def _top_k(at: Backward, op: TopKOp, gradient: SSAValue | None, of_indices: SSAValue | None) -> Gradients:
    zeros = at.filled(0.0, op.input)
    given = at.filled(0.0, op.values) if gradient is None else gradient
    part = at.add(ops.ScatterElementsOp, zeros, op.indices, given, axis=op.axis, reduction="add").result
    return [part, *[None] * (len(op.operands) - 1)]


# --- Writing ----------------------------------------------------------------------------------------------------------


def _scattering(read: Callable[[Backward, Any, SSAValue], SSAValue]) -> Rule:
    """Returns the rule of a scatter; `read` is the gather from its positions. The last of several updates wins."""

    def rule(at: Backward, op: ops.ScatteringOp, gradient: SSAValue) -> Gradients:
        reduction = op.reduction.data
        if reduction not in ("none", "add"):
            raise at.error(f"reduction '{reduction}' has no gradient rule")
        updates = read(at, op, gradient)
        if reduction == "add":
            return gradient, None, updates
        axis: dict[str, Any] = {"axis": op.axis} if isinstance(op, ops.ScatterElementsOp) else {}

        def written(data: SSAValue, values: SSAValue) -> SSAValue:
            return at.add(type(op), data, op.indices, values, **axis).results[0]

        shape = at.known_shape(op.updates)
        numbers = _integers(at, np.arange(np.prod(shape)).reshape(shape), op.indices)
        nobody = at.expanded_to(_integers(at, -1, op.indices), at.known_shape(op.input))
        stays = at.add(EqualOp, read(at, op, written(nobody, numbers)), numbers).result
        data = written(gradient, at.filled(0.0, op.updates))
        return data, None, Expr(at, updates).where(Expr(at, stays)).value

    return rule


def _one_hot(at: Backward, op: ops.OneHotOp, gradient: SSAValue) -> Gradients:
    """Sums the gradient over the off and on positions, for the two values."""
    depth = op.depth if op.depth_value is None else op.depth_value
    axes = range(len(shape_of(gradient)))
    sums: list[SSAValue] = []
    for values in ((1.0, 0.0), (0.0, 1.0)):
        pair = at.constant(values, gradient)
        mask = at.add(ops.OneHotOp, op.indices, pair, depth=depth, axis=op.axis).result
        sums.append(at.unsqueezed(at.sum((Expr(at, gradient) * Expr(at, mask)).value, axes), [0]))
    return [None, at.add(ConcatOp, sums, axis=0).result, *[None] * (len(op.operands) - 2)]


def _reverse_sequence(at: Backward, op: ops.ReverseSequenceOp, gradient: SSAValue) -> SSAValue:
    return at.add(ops.ReverseSequenceOp, gradient, op.lengths, batch_axis=op.batch_axis, time_axis=op.time_axis).result


RULES: dict[type[Operation], Rule] = {
    ops.GatherOp: first_only(_gather),
    ops.GatherElementsOp: first_only(_gather_elements),
    ops.GatherNDOp: first_only(_gather_nd),
    ops.ScatterElementsOp: _scattering(
        lambda at, op, value: at.add(ops.GatherElementsOp, value, op.indices, axis=op.axis).result
    ),
    ops.ScatterNDOp: _scattering(lambda at, op, value: at.add(ops.GatherNDOp, value, op.indices).result),
    ops.OneHotOp: _one_hot,
    ops.ReverseSequenceOp: first_only(_reverse_sequence),
    TopKOp: _top_k,
}
