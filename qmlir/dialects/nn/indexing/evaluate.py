"""Evaluation of gather and scatter operations, on floats and on quantized values."""

from collections.abc import Callable

import numpy as np
from xdsl.dialects.builtin import i1
from xdsl.ir import Operation
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic.arrays import Array, maximum, minimum
from qmlir.dialects.nn.evaluation.arrays import widened
from qmlir.dialects.nn.evaluation.parameters import rescaled, uniform_of
from qmlir.dialects.nn.indexing import ops
from qmlir.dialects.nn.movement.ops import normalized_axis
from qmlir.dialects.quant.infer import broadcast_parameters
from qmlir.ir.builtin_types import element_of
from qmlir.ir.evaluation import Evaluator
from qmlir.text.elements import narrowed

# Gather and scatter operations on stored values of any kind.

Places = tuple[Array, ...]
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


def _element_places(shape: tuple[int, ...], indices: Array, axis: int) -> Places:
    """Returns the position of each index, with the coordinate along `axis` replaced by the index."""
    axis = normalized_axis(axis, len(shape))
    places = list(np.ogrid[tuple(slice(size) for size in indices.shape)])
    for place, size in enumerate(indices.shape):
        if place != axis and size > shape[place]:
            raise InterpretationError(
                f"indices of shape {list(indices.shape)} are larger than the data of shape {list(shape)}"
            )
    places[axis] = checked_indices(indices, shape[axis])
    return tuple(places)


def _tuple_places(shape: tuple[int, ...], indices: Array, batch_dims: int) -> Places:
    """Returns the positions named by tuples along the last axis of `indices`, in the batches of these tuples."""
    lead = indices.shape[:-1]
    batches: Places = tuple(np.ogrid[tuple(slice(size) for size in lead)])[:batch_dims]
    numbers = (checked_indices(indices[..., place], shape[batch_dims + place]) for place in range(indices.shape[-1]))
    return (*batches, *numbers)


def _gather_elements(op: ops.GatherElementsOp, x: Array, indices: Array) -> tuple[Array]:
    return (x[_element_places(x.shape, indices, op.axis.value.data)],)


def _gather_nd(op: ops.GatherNDOp, x: Array, indices: Array) -> tuple[Array]:
    return (np.asarray(x[_tuple_places(x.shape, indices, op.batch_dims.value.data)]),)


def _put(combine: np.ufunc) -> Callable[[Array, Places, Array], Array]:
    def put(values: Array, places: Places, updates: Array) -> Array:
        result = values.copy()
        combine.at(result, places, updates)
        return result

    return put


_REDUCTIONS: dict[str, Callable[[Array, Places, Array], Array]] = {
    "add": _put(np.add),
    "mul": _put(np.multiply),
    "min": minimum.at,
    "max": maximum.at,
}
_OF_BOOLEANS = {"add": "max", "mul": "min"}
"""A sum of booleans is their disjunction, a product their conjunction."""


def _scattered(op: ops.ScatteringOp, x: Array, places: Places, updates: Array) -> tuple[Array]:
    """Applies the updates to `x`; f16 and bf16 are combined in f32 and rounded once, integers wrap."""
    element, name = element_of(op.input), op.reduction.data
    updates = updates.copy(order="C")  # NumPy writes in the order of memory, the last update is that in row-major order
    if name == "none":
        result = x.copy()
        result[places] = updates
        return (result,)
    if element == i1:
        name = _OF_BOOLEANS.get(name, name)
    result = _REDUCTIONS[name](widened(x), places, widened(updates))
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


EVALUATORS: dict[type[Operation], Evaluator] = {
    ops.GatherOp: _gather,
    ops.GatherElementsOp: _gather_elements,
    ops.GatherNDOp: _gather_nd,
    ops.ScatterElementsOp: _scatter_elements,
    ops.ScatterNDOp: _scatter_nd,
    ops.OneHotOp: _one_hot,
}


# Gathers from a tensor whose slices have separate parameters: exact integers, requantized once.

Result = tuple[Array, ...] | None


def _quantized_gather(op: ops.GatherOp, x: Array, indices: Array) -> Result:
    if not op.rescales:
        return None
    axis = op.place
    places = checked_indices(indices, x.shape[axis])
    taken, scales, zero_points = (
        np.take(array, places, axis) for array in (x, *broadcast_parameters(uniform_of(op.input), x.shape))
    )
    return (rescaled(op, taken.astype(np.int64) - zero_points, scales.astype(np.float32)),)


QUANTIZED: dict[type[Operation], Callable[..., Result]] = {ops.GatherOp: _quantized_gather}
