"""The evaluators of `vector`: arrays of fixed shape, which are combined, or moved between registers and memory."""

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any, cast

import numpy as np
from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import TensorType, VectorType
from xdsl.dialects.vector import CombiningKindFlag as Kind
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic.arrays import Array
from qmlir.interpreter.upstream.arith import BINARY, elementwise, of_floats
from qmlir.interpreter.upstream.indexing import Place, check_place, mixed, slices
from qmlir.interpreter.upstream.math import fused_multiply_add
from qmlir.interpreter.upstream.scalars import dtype_of, is_array, scalar_of, unwritten_value
from qmlir.ir.builtin_types import element_or_self, integer_list
from qmlir.ir.evaluation import Evaluator, RegionEvaluator, check_writable


def _shape_of(value: SSAValue) -> tuple[int, ...]:
    return cast(VectorType[Attribute], value.type).get_shape()


# --- Registers --------------------------------------------------------------------------------------------------------


def _broadcast(op: vector.BroadcastOp, value: Any) -> tuple[Array]:
    array = np.asarray(value, dtype_of(element_or_self(op.vector.type)))
    return (np.broadcast_to(array, _shape_of(op.vector)),)


def _extract(op: vector.ExtractOp, array: Array, dynamic: Place) -> tuple[Any]:
    found = array[_leading_place(op, array, op.vector.type, dynamic)]
    return (found if isinstance(op.result.type, VectorType) else scalar_of(found[()], op.result.type),)


def _insert(op: vector.InsertOp, value: Any, array: Array, dynamic: Place) -> tuple[Array]:
    changed = array.copy()
    changed[_leading_place(op, array, op.dest.type, dynamic)] = value
    return (changed,)


def _leading_place(
    op: vector.ExtractOp | vector.InsertOp, array: Array, type_: Attribute, dynamic: Place
) -> tuple[Any, ...]:
    position = mixed(op.static_position, dynamic)
    leading = array[(..., *[0] * (array.ndim - len(position)))]
    return (*check_place(leading, position, type_), ...)


def _shuffle(op: vector.ShuffleOp, left: Array, right: Array) -> tuple[Array]:
    rows = np.concatenate([np.atleast_1d(left), np.atleast_1d(right)])
    mask = np.array(integer_list(op.mask))
    shuffled = rows[mask]
    shuffled[mask < 0] = unwritten_value(element_or_self(op.result.type))
    return (shuffled,)


def _create_mask(op: vector.CreateMaskOp, sizes: Place) -> tuple[Array]:
    mask = np.zeros(_shape_of(op.mask_vector), np.int8)
    mask[tuple(slice(0, max(size, 0)) for size in sizes)] = 1
    return (mask,)


def _bitcast(op: vector.BitcastOp, array: Array) -> tuple[Array]:
    dtype = dtype_of(element_or_self(op.result.type))
    return (np.ascontiguousarray(array).view(dtype).reshape(_shape_of(op.result)),)


_COMBINATIONS: dict[Kind, tuple[type[Operation], ...]] = {
    Kind.ADD: (arith.AddiOp, arith.AddfOp),
    Kind.MUL: (arith.MuliOp, arith.MulfOp),
    Kind.MINUI: (arith.MinUIOp,),
    Kind.MINSI: (arith.MinSIOp,),
    Kind.MINNUMF: (arith.MinnumfOp,),
    Kind.MAXUI: (arith.MaxUIOp,),
    Kind.MAXSI: (arith.MaxSIOp,),
    Kind.MAXNUMF: (arith.MaxnumfOp,),
    Kind.AND: (arith.AndIOp,),
    Kind.OR: (arith.OrIOp,),
    Kind.XOR: (arith.XOrIOp,),
    Kind.MAXIMUMF: (arith.MaximumfOp,),
    Kind.MINIMUMF: (arith.MinimumfOp,),
}
"""For each kind of combination, the `arith` operations on two integers and, if different, on two floats."""


def _reduction(op: vector.ReductionOp, array: Array, start: Any) -> tuple[Any]:
    """Reduces in order, from the accumulator through the last element: float addition is not associative."""
    element = op.dest.type
    operations = _COMBINATIONS[op.kind.data]
    combine = BINARY[operations[-1 if dtype_of(element).kind not in "iu" else 0]]
    values = [scalar_of(value, element) for value in array.reshape(-1)]
    if start is not None:
        values.insert(0, start)
    if not values:
        raise InterpretationError("cannot reduce zero elements")
    found = reduce(lambda a, b: combine(element, a, b), values)
    return (found[()] if is_array(found) else found,)


# --- Memory -----------------------------------------------------------------------------------------------------------


def _block(array: Array, position: Place, shape: Sequence[int], type_: Attribute) -> Array:
    """Returns the part of memory that a vector of `shape` covers along the last axes, starting at `position`."""
    sizes = (1,) * (array.ndim - len(shape)) + tuple(shape)
    part = array[slices(array, position, sizes, (1,) * array.ndim, type_)]
    return part[(0,) * (array.ndim - len(shape))]


def _load(op: vector.LoadOp, array: Array, position: Place) -> tuple[Array]:
    return (_block(array, position, _shape_of(op.result), op.base.type).copy(),)


def _store(op: vector.StoreOp, value: Array, array: Array, position: Place) -> tuple[()]:
    check_writable(array, op.base.type)
    _block(array, position, value.shape, op.base.type)[...] = value
    return ()


def _active_places(position: Place, mask: Array) -> Iterator[tuple[int, Place]]:
    for lane in np.flatnonzero(mask):
        yield int(lane), (*position[:-1], position[-1] + int(lane))


def _masked_load(op: vector.MaskedLoadOp, array: Array, position: Place, mask: Array, others: Array) -> tuple[Array]:
    loaded = others.copy()
    for lane, source in _active_places(position, mask):
        loaded[lane] = array[check_place(array, source, op.base.type)]
    return (loaded,)


def _masked_store(op: vector.MaskedStoreOp, array: Array, position: Place, mask: Array, value: Array) -> tuple[()]:
    check_writable(array, op.base.type)
    for lane, target in _active_places(position, mask):
        array[check_place(array, target, op.base.type)] = value[lane]
    return ()


def _transfers(
    op: vector.TransferReadOp | vector.TransferWriteOp, array: Array, start: Place, shape: Place, mask: Array | None
) -> Iterator[tuple[Place, Place]]:
    """Yields the index of each transferred lane, and the index of its element in memory.

    Masked lanes and lanes out of bounds are skipped. It is an error if a lane is out of bounds along an axis declared
    `in_bounds`, or if the start is out of bounds along an axis that the vector doesn't have.
    """
    map_: AffineMap = op.permutation_map.data
    in_bounds = [bool(flag.value.data) for flag in op.in_bounds]
    # The axis of the source for each axis of the vector that is not broadcast.
    axes = {
        expression.position: axis
        for axis, expression in enumerate(map_.results)
        if isinstance(expression, AffineDimExpr)
    }
    may_leave = {position for position, axis in axes.items() if not in_bounds[axis]}
    for lane in np.ndindex(shape):
        if mask is not None and not mask[tuple(lane[axes[position]] for position in sorted(axes))]:
            continue
        place = tuple(index + (lane[axes[position]] if position in axes else 0) for position, index in enumerate(start))
        outside = [position for position, index in enumerate(place) if not 0 <= index < array.shape[position]]
        if not outside:
            yield lane, place
        elif not may_leave.issuperset(outside):
            check_place(array, place, op.source.type)


def _transfer_read(
    op: vector.TransferReadOp, array: Array, start: Place, padding: Any, mask: Array | None
) -> tuple[Array]:
    shape = _shape_of(op.result)
    read = np.full(shape, padding, array.dtype)
    for lane, position in _transfers(op, array, start, shape, mask):
        read[lane] = array[position]
    return (read,)


def _transfer_write(
    op: vector.TransferWriteOp, value: Array, array: Array, start: Place, mask: Array | None
) -> tuple[Any, ...]:
    is_value = isinstance(op.source.type, TensorType)
    target = array.copy() if is_value else array
    check_writable(target, op.source.type)
    for lane, position in _transfers(op, array, start, value.shape, mask):
        target[position] = value[lane]
    return (target,) if is_value else ()


EVALUATORS: dict[type[Operation], Evaluator | RegionEvaluator] = {
    vector.BitcastOp: _bitcast,
    vector.BroadcastOp: _broadcast,
    vector.CreateMaskOp: _create_mask,
    vector.ExtractOp: _extract,
    vector.FMAOp: elementwise(of_floats(fused_multiply_add)),
    vector.InsertOp: _insert,
    vector.LoadOp: _load,
    vector.MaskedLoadOp: _masked_load,
    vector.MaskedStoreOp: _masked_store,
    vector.ReductionOp: _reduction,
    vector.ShuffleOp: _shuffle,
    vector.StoreOp: _store,
    vector.TransferReadOp: _transfer_read,
    vector.TransferWriteOp: _transfer_write,
}

WITHOUT_EVALUATOR: dict[type[Operation], str] = {vector.PrintOp: "prints, while what a run gives are its results"}
"""The reason why an operation of the dialect has no evaluator."""
