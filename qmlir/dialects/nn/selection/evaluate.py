"""Evaluation of operations that select or order elements by their values."""

import numpy as np
from xdsl.ir import Operation
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.evaluation.arrays import widened
from qmlir.dialects.nn.selection import ops
from qmlir.ir.evaluation import Evaluator


def _top_k(op: ops.TopKOp, x: Array, k: Array | None) -> tuple[Array, Array]:
    axis = op.axis.value.data
    (count,) = op.integers("k", k) or (0,)
    size = x.shape[axis]
    if not 0 <= count <= size:
        raise InterpretationError(f"k must be in [0, {size}] along axis {axis}, but got {count}")
    keys = widened(x)
    if op.largest.value.data:
        # Sorting from the end and reading backward keeps the first of equal elements first.
        order = size - 1 - np.flip(np.argsort(np.flip(keys, axis), axis=axis, kind="stable"), axis)
    else:
        order = np.argsort(keys, axis=axis, kind="stable")
    indices = order.take(range(count), axis=axis)
    return np.take_along_axis(x, indices, axis), indices.astype(np.int64)


def _non_zero(op: ops.NonZeroOp, x: Array) -> tuple[Array]:
    return (np.argwhere(x).T.astype(np.int64),)


def _unique(op: ops.UniqueOp, x: Array) -> tuple[Array, Array, Array, Array]:
    axis = None if op.axis is None else op.axis.value.data
    keys = widened(x)
    _, first, inverse, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True, axis=axis)
    inverse = inverse.reshape(-1)
    if not op.sorted_values.value.data:
        order = np.argsort(first, kind="stable")
        inverse = np.argsort(order, kind="stable")[inverse]
        first, counts = first[order], counts[order]
    values = x.reshape(-1)[first] if axis is None else x.take(first, axis=axis)
    return values, first.astype(np.int64), inverse.astype(np.int64), counts.astype(np.int64)


def _reverse_sequence(op: ops.ReverseSequenceOp, x: Array, lengths: Array) -> tuple[Array]:
    time, batch = op.time_axis.value.data % x.ndim, op.batch_axis.value.data % x.ndim
    size = x.shape[time]
    wrong = (lengths < 0) | (lengths > size)
    if wrong.any():
        raise InterpretationError(f"sequence length must be in [0, {size}], but got {lengths[wrong].flat[0]}")
    steps = np.arange(size, dtype=np.int64)
    ends = lengths.astype(np.int64)[:, None]
    places: Array = np.where(steps < ends, ends - 1 - steps, steps)
    layout = [1] * x.ndim
    layout[time], layout[batch] = size, len(lengths)
    order = (places.T if time < batch else places).reshape(layout)
    return (np.take_along_axis(x, order, axis=time),)


EVALUATORS: dict[type[Operation], Evaluator] = {
    ops.TopKOp: _top_k,
    ops.NonZeroOp: _non_zero,
    ops.UniqueOp: _unique,
    ops.ReverseSequenceOp: _reverse_sequence,
}
