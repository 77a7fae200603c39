"""Evaluation of indexing and selection with NumPy."""

from collections.abc import Callable

import numpy as np
from xdsl.dialects.builtin import i1
from xdsl.ir import Operation
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic.arrays import Array, maximum, minimum
from qmlir.dialects.nn.evaluation import rescaled, uniform_of, widened
from qmlir.dialects.nn.indexing import ops
from qmlir.dialects.nn.movement.ops import normalized_axis
from qmlir.dialects.quant.infer import spread
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.ir.builtin_types import element_of
from qmlir.ir.evaluation import Evaluator
from qmlir.text.elements import narrowed

# Gather and scatter operations on stored values of any kind.

IndexTable = tuple[Array, ...]
"""Indices into each of the leading axes, in arrays that broadcast against each other."""


def checked_indices(indices: Array, size: int) -> Array:
    """Returns indices counted from the front. Raises `InterpretationError` if one is out of range."""
    wrong = (indices < -size) | (indices >= size)
    if wrong.any():
        raise InterpretationError(f"index {indices[wrong].flat[0]} is out of range for {size} elements")
    found = indices.astype(np.int64)
    return np.where(found < 0, found + size, found)


def _gather(op: ops.GatherOp, x: Array, indices: Array) -> tuple[Array]:
    axis = op.axis.value.data
    return (np.asarray(np.take(x, checked_indices(indices, x.shape[axis]), axis=axis)),)


def _element_places(shape: tuple[int, ...], indices: Array, axis: int) -> IndexTable:
    """Returns the position of each index, with the coordinate along `axis` replaced by the index."""
    axis = normalized_axis(axis, len(shape))
    positions = list(np.ogrid[tuple(slice(size) for size in indices.shape)])
    for position, size in enumerate(indices.shape):
        if position != axis and size > shape[position]:
            raise InterpretationError(
                f"indices of shape {list(indices.shape)} are larger than the data of shape {list(shape)}"
            )
    positions[axis] = checked_indices(indices, shape[axis])
    return tuple(positions)


def _tuple_places(shape: tuple[int, ...], indices: Array, batch_dims: int) -> IndexTable:
    """Returns the positions named by tuples along the last axis of `indices`, in the batches of these tuples."""
    lead = indices.shape[:-1]
    batches: IndexTable = tuple(np.ogrid[tuple(slice(size) for size in lead)])[:batch_dims]
    numbers = (
        checked_indices(indices[..., position], shape[batch_dims + position]) for position in range(indices.shape[-1])
    )
    return (*batches, *numbers)


def _gather_elements(op: ops.GatherElementsOp, x: Array, indices: Array) -> tuple[Array]:
    return (x[_element_places(x.shape, indices, op.axis.value.data)],)


def _gather_nd(op: ops.GatherNDOp, x: Array, indices: Array) -> tuple[Array]:
    return (np.asarray(x[_tuple_places(x.shape, indices, op.batch_dims.value.data)]),)


def _put(combine: np.ufunc) -> Callable[[Array, IndexTable, Array], Array]:
    def put(values: Array, positions: IndexTable, updates: Array) -> Array:
        result = values.copy()
        combine.at(result, positions, updates)
        return result

    return put


_REDUCTIONS: dict[str, Callable[[Array, IndexTable, Array], Array]] = {
    "add": _put(np.add),
    "mul": _put(np.multiply),
    "min": minimum.at,
    "max": maximum.at,
}
_OF_BOOLEANS = {"add": "max", "mul": "min"}
"""The reduction that replaces each reduction on booleans: a sum is a disjunction, a product a conjunction."""


def _scattered(op: ops.ScatteringOp, x: Array, positions: IndexTable, updates: Array) -> tuple[Array]:
    """Applies the updates to `x`; f16 and bf16 are combined in f32 and rounded once, integers wrap."""
    element, name = element_of(op.input), op.reduction.data
    updates = updates.copy(order="C")  # NumPy writes in the order of memory, the last update is that in row-major order
    if name == "none":
        result = x.copy()
        result[positions] = updates
        return (result,)
    if element == i1:
        name = _OF_BOOLEANS.get(name, name)
    result = _REDUCTIONS[name](widened(x), positions, widened(updates))
    return (narrowed(result.astype(x.dtype), element),)


def _scatter_elements(op: ops.ScatterElementsOp, x: Array, indices: Array, updates: Array) -> tuple[Array]:
    return _scattered(op, x, _element_places(x.shape, indices, op.axis.value.data), updates)


def _scatter_nd(op: ops.ScatterNDOp, x: Array, indices: Array, updates: Array) -> tuple[Array]:
    return _scattered(op, x, _tuple_places(x.shape, indices, 0), updates)


def _one_hot(op: ops.OneHotOp, indices: Array, values: Array, depth: Array | None) -> tuple[Array]:
    (size,) = op.integers("depth", depth) or (0,)
    if size < 0:
        raise InterpretationError(f"depth must be >= 0, but got {size}")
    axis = normalized_axis(op.axis.value.data, indices.ndim + 1)
    found = np.expand_dims(indices.astype(np.int64), axis)
    found = np.where(found < 0, found + size, found)
    depths = np.arange(size, dtype=np.int64).reshape(-1, *(1,) * (indices.ndim - axis))
    off, on = values[:1].reshape(()), values[1:].reshape(())
    return (np.where(found == depths, on, off),)


# Gathers from a tensor whose slices have separate parameters: exact integers, requantized once.

Result = tuple[Array, ...] | None


def _taken(element: UniformQuantizedType, values: Array, shape: tuple[int, ...], positions: Array, axis: int) -> Array:
    """Returns the scales or zero points `values` of the slices at `positions`, without those of all other slices."""
    if element.granularity is Granularity.AXIS:
        return np.take(spread(element, shape, values), positions, axis)
    found = np.take(values, positions // (shape[axis] // values.shape[axis]), axis)
    for other, count in enumerate(values.shape):
        if other != axis:
            found = np.repeat(found, shape[other] // count, other if other < axis else other + positions.ndim - 1)
    return found


def _quantized_gather(op: ops.GatherOp, x: Array, indices: Array) -> Result:
    if not op.rescales:
        return None
    axis = op.position
    positions = checked_indices(indices, x.shape[axis])
    element, taken = uniform_of(op.input), np.take(x, positions, axis)
    scales, zero_points = (
        _taken(element, each, x.shape, positions, axis) for each in (element.scales, element.zero_points)
    )
    return (rescaled(op, taken.astype(np.int64) - zero_points, scales.astype(np.float32)),)


QUANTIZED: dict[type[Operation], Callable[..., Result]] = {ops.GatherOp: _quantized_gather}


# Evaluation of operations that select or order elements by their values.


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
    positions: Array = np.where(steps < ends, ends - 1 - steps, steps)
    layout = [1] * x.ndim
    layout[time], layout[batch] = size, len(lengths)
    order = (positions.T if time < batch else positions).reshape(layout)
    return (np.take_along_axis(x, order, axis=time),)


EVALUATORS: dict[type[Operation], Evaluator] = {
    ops.GatherOp: _gather,
    ops.GatherElementsOp: _gather_elements,
    ops.GatherNDOp: _gather_nd,
    ops.ScatterElementsOp: _scatter_elements,
    ops.ScatterNDOp: _scatter_nd,
    ops.OneHotOp: _one_hot,
    ops.TopKOp: _top_k,
    ops.NonZeroOp: _non_zero,
    ops.UniqueOp: _unique,
    ops.ReverseSequenceOp: _reverse_sequence,
}
