"""Evaluation of the `simd` operations in NumPy: registers and tiles are arrays, and memory is arrays that are modified.

A vector access may extend past the end of a row into the underlying memory of the array, but never past the end of that
memory.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import AnyFloat, i1
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import InterpretationError

from qmlir import registry
from qmlir.arithmetic.arrays import Array, compared_floats, compared_integers, integer_limits
from qmlir.dialects.simd import lanes, memory
from qmlir.dialects.simd.base import bits_of, element_of, lanes_of, tile_of, vector_of
from qmlir.text.elements import dtype_of, narrowed

Place = Sequence[int]


# --- Memory -----------------------------------------------------------------------------------------------------------


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def _run(array: Array, position: Place, count: int) -> Array:
    """Returns a view of `count` consecutive elements in memory, starting at `position`."""
    for index, size in zip(position[:-1], array.shape[:-1], strict=True):
        if not 0 <= index < size:
            raise InterpretationError(f"index {list(position)} is out of bounds of memory of shape {list(array.shape)}")
    root = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    offset = sum(index * stride for index, stride in zip(position, array.strides, strict=True))
    start = _address(array) - _address(root) + offset
    size = count * array.itemsize
    if not root.flags.c_contiguous or start < 0 or start + size > root.nbytes:
        raise InterpretationError(
            f"reading or writing {count} elements at {list(position)} is out of bounds of memory of shape "
            f"{list(array.shape)}"
        )
    return root.reshape(-1).view(np.uint8)[start : start + size].view(array.dtype)


def _moved(position: Place, offset: int) -> Place:
    return (*position[:-1], position[-1] + offset)


def _tile(op: memory.PlaceLoadOp, array: Array, position: Place, count: int) -> Array:
    """Returns copies of `count` consecutive elements for each register of the result."""
    runs = [_run(array, _moved(position, offset), count) for offset in op.offsets(op.result)]
    return np.stack(runs).reshape(*tile_of(op.result), count)


def _load(op: memory.LoadOp, array: Array, position: Place) -> tuple[Array]:
    return (_tile(op, array, position, lanes_of(op.result)),)


def _load_partial(op: memory.LoadPartialOp, array: Array, position: Place, count: int) -> tuple[Array]:
    loaded = np.zeros(lanes_of(op.result), array.dtype)
    active = min(max(count, 0), loaded.size)
    if active:
        loaded[:active] = _run(array, position, active)
    return (loaded,)


def _load_group_splat(op: memory.LoadGroupSplatOp, array: Array, position: Place) -> tuple[Array]:
    group = memory.GROUP_BITS // (8 * array.itemsize)
    return (np.tile(_tile(op, array, position, group), lanes_of(op.result) // group),)


def _store_lanes(value: Array, array: Array, position: Place) -> None:
    if not array.flags.writeable:
        raise InterpretationError("cannot write to constant memory")
    _run(array, position, value.size)[...] = value


def _store(op: memory.StoreOp, value: Array, array: Array, position: Place) -> tuple[()]:
    for offset, register in zip(op.offsets(op.vector), value.reshape(-1, value.shape[-1]), strict=True):
        _store_lanes(register, array, _moved(position, offset))
    return ()


def _store_partial(op: memory.StorePartialOp, value: Array, array: Array, position: Place, count: int) -> tuple[()]:
    active = min(max(count, 0), value.size)
    if active:
        _store_lanes(value[:active], array, position)
    return ()


def _prefetch(op: memory.PrefetchOp, array: Array, index: int) -> tuple[()]:
    return ()


def _gather(op: memory.GatherOp, table: Array, positions: Array) -> tuple[Array]:
    wrong = (positions < 0) | (positions >= table.size)
    if wrong.any():
        raise InterpretationError(f"index {positions[wrong][0]} is out of range for a table of {table.size} elements")
    return (table[positions],)


def _look_up(op: memory.LookUpOp, table: Array, positions: Array) -> tuple[Array]:
    return (table[positions.view(np.uint8)],)


# --- Registers --------------------------------------------------------------------------------------------------------


def _dot_accumulate(op: lanes.DotAccumulateOp, accumulator: Array, x: Array, w: Array) -> tuple[Array]:
    left = x.view(np.uint8) if op.signs.data == lanes.Signs.US else x
    products = left.astype(np.int64) * w.astype(np.int64)
    sums = accumulator.astype(np.int64) + products.reshape(*accumulator.shape, -1).sum(axis=-1)
    return (sums.astype(np.int32),)


def _multiply_pairs(op: lanes.MultiplyPairsOp, x: Array, w: Array) -> tuple[Array]:
    products = x.view(np.uint8).astype(np.int64) * w.astype(np.int64)
    return (products.reshape(*x.shape[:-1], -1, 2).sum(axis=-1).clip(-(1 << 15), (1 << 15) - 1).astype(np.int16),)


def _convert(op: lanes.ConvertOp, value: Array) -> tuple[Array]:
    kind = lanes.Conversion(op.kind.data)
    if kind is lanes.Conversion.BITCAST:
        return (np.ascontiguousarray(value).view(dtype_of(element_of(op.result))),)
    evaluator = cast(Callable[..., tuple[Array]], registry.evaluators("arith")[lanes.ConvertOp.ARITH[kind]])
    return evaluator(op, value)


def _round_to_int(op: lanes.RoundToIntOp, value: Array) -> tuple[Array]:
    rounded = np.rint(value.astype(np.float64))
    wrong = ~((rounded >= -(2.0**31)) & (rounded < 2.0**31))
    if wrong.any():
        raise InterpretationError(f"{value[wrong][0]} does not fit 32 bits")
    return (rounded.astype(np.int32),)


def _narrow(op: lanes.NarrowOp, values: Sequence[Array]) -> tuple[Array]:
    element = element_of(op.result)
    low, high = integer_limits(bits_of(element), is_signed=op.unsigned is None)
    return (_wrapped(np.clip(np.concatenate(values, axis=-1).astype(np.int64), low, high), element),)


def _wrapped(value: Array, element: Attribute) -> Array:
    """Wraps integers modulo 2^N, as arrays store them."""
    return narrowed(value.astype(dtype_of(element)), element)


def _signed(value: Array, element: Attribute) -> Array:
    return -value if element == i1 else value  # a true i1 is -1


def _unsigned(value: Array, element: Attribute) -> Array:
    return value.astype(np.int64).view(np.uint64) & np.uint64((1 << bits_of(element)) - 1)


def _compare(op: lanes.CompareOp, lhs: Array, rhs: Array) -> tuple[Array]:
    element, predicate = element_of(op.lhs), op.predicate.data
    if isinstance(element, AnyFloat):
        holds = compared_floats(predicate, lhs, rhs)
    else:
        readings = (partial(reading, element=element) for reading in (_signed, _unsigned))
        holds = compared_integers(predicate, lhs, rhs, *readings)
    return (np.asarray(holds).astype(np.int8),)


def _select(op: lanes.SelectOp, condition: Array, lhs: Array, rhs: Array) -> tuple[Array]:
    return (np.asarray(np.where(condition != 0, lhs, rhs)),)


def _interleave(half: int) -> Callable[[lanes.InterleaveOp, Array, Array], tuple[Array]]:
    def evaluator(op: lanes.InterleaveOp, lhs: Array, rhs: Array) -> tuple[Array]:
        a, b = (each.reshape(-1, 2, op.block_lanes // 2)[:, half] for each in (lhs, rhs))
        return (np.stack([a, b], axis=-1).reshape(lhs.shape),)

    return evaluator


def _stack(op: lanes.StackOp, values: Sequence[Array]) -> tuple[Array]:
    return (np.stack(values).reshape(vector_of(op.result).get_shape()),)


def _transpose(op: lanes.TransposeOp, value: Array) -> tuple[Array]:
    return (value.swapaxes(0, 1),)


def _reduce_add(op: lanes.ReduceAddOp, value: Array) -> tuple[Any]:
    while value.size > 1:
        low, high = value.reshape(2, -1)
        value = low + high
    element = element_of(op.value)
    return ((value if isinstance(element, AnyFloat) else _wrapped(value, element))[0],)


EVALUATORS: dict[type[Operation], Callable[..., tuple[Any, ...]]] = {
    memory.LoadOp: _load,
    memory.LoadPartialOp: _load_partial,
    memory.LoadGroupSplatOp: _load_group_splat,
    memory.StoreOp: _store,
    memory.StorePartialOp: _store_partial,
    memory.PrefetchOp: _prefetch,
    memory.GatherOp: _gather,
    memory.LookUpOp: _look_up,
    lanes.DotAccumulateOp: _dot_accumulate,
    lanes.MultiplyPairsOp: _multiply_pairs,
    lanes.ConvertOp: _convert,
    lanes.RoundToIntOp: _round_to_int,
    lanes.NarrowOp: _narrow,
    lanes.CompareOp: _compare,
    lanes.SelectOp: _select,
    lanes.InterleaveLowOp: _interleave(0),
    lanes.InterleaveHighOp: _interleave(1),
    lanes.ReduceAddOp: _reduce_add,
    lanes.StackOp: _stack,
    lanes.TransposeOp: _transpose,
}
