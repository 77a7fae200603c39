"""The evaluators of `tensor`. Values are immutable, so a slice may share the memory of its source."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects import tensor
from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import Operation
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic.arrays import Array
from qmlir.interpreter.interpreter import Frame
from qmlir.interpreter.upstream import indexing
from qmlir.interpreter.upstream.indexing import Place
from qmlir.interpreter.upstream.scalars import dtype_of, unwritten
from qmlir.ir import builtin_types
from qmlir.ir.builtin_types import element_or_self
from qmlir.ir.evaluation import Evaluator, RegionEvaluator


def _empty(op: tensor.EmptyOp, sizes: Place) -> tuple[Array]:
    type_ = op.tensor.type
    return (unwritten(indexing.dynamic_shape(type_.get_shape(), sizes), element_or_self(type_)),)


def _insert(op: tensor.InsertOp, scalar: Any, array: Array, position: Place) -> tuple[Array]:
    changed = array.copy()
    changed[indexing.check_place(array, position, op.dest.type)] = scalar
    return (changed,)


def _slices(
    op: tensor.ExtractSliceOp | tensor.InsertSliceOp, whole: Array, part: Sequence[int], dynamic: Sequence[Place]
) -> tuple[tuple[slice, ...], tuple[Any, ...]]:
    static: tuple[DenseArrayBase[Any], ...] = (op.static_offsets, op.static_sizes, op.static_strides)
    offsets, sizes, strides = map(indexing.mixed, static, dynamic)
    type_ = op.source.type if isinstance(op, tensor.ExtractSliceOp) else op.dest.type
    return indexing.slices(whole, offsets, sizes, strides, type_), indexing.index_of_reduced(sizes, part)


def _extract_slice(op: tensor.ExtractSliceOp, array: Array, *dynamic: Place) -> tuple[Array]:
    where, kept = _slices(op, array, builtin_types.tensor(op.result.type).get_shape(), dynamic)
    return (array[where][kept],)


def _insert_slice(op: tensor.InsertSliceOp, part: Array, array: Array, *dynamic: Place) -> tuple[Array]:
    where, kept = _slices(op, array, part.shape, dynamic)
    changed = array.copy()
    hole = changed[where][kept]
    if hole.shape != part.shape:
        raise InterpretationError(
            f"cannot insert a tensor of shape {list(part.shape)} into a slice of shape {list(hole.shape)}"
        )
    hole[...] = part
    return (changed,)


def _cast(op: tensor.CastOp, array: Array) -> tuple[Array]:
    ranked = builtin_types.ranked_tensor(op.dest.type)
    return (array if ranked is None else indexing.check_shape(array, ranked.get_shape(), ranked),)


def _reshaped(array: Array, shape: Sequence[int]) -> Array:
    if math.prod(shape) != array.size or any(size < 0 for size in shape):
        raise InterpretationError(
            f"cannot reshape {list(array.shape)} to {list(shape)}: the number of elements differs"
        )
    return array.reshape(tuple(shape))


def _reshape(op: tensor.ReshapeOp, array: Array, shape: Array) -> tuple[Array]:
    return (_reshaped(array, [int(size) for size in shape]),)


def _expand_shape(op: tensor.ExpandShapeOp, array: Array, sizes: Place) -> tuple[Array]:
    return (_reshaped(array, indexing.mixed(op.static_output_shape, sizes)),)


def _collapse_shape(op: tensor.CollapseShapeOp, array: Array) -> tuple[Array]:
    return (_reshaped(array, indexing.collapsed_shape(array.shape, op.reassociation)),)


def _from_elements(op: tensor.FromElementsOp, elements: tuple[Any, ...]) -> tuple[Array]:
    type_ = op.result.type
    return (_reshaped(np.array(elements, dtype_of(element_or_self(type_))), type_.get_shape()),)


def _splat(op: tensor.SplatOp, value: Any, sizes: Place) -> tuple[Array]:
    type_ = op.result.type
    shape = indexing.dynamic_shape(type_.get_shape(), sizes)
    return (np.full(shape, value, dtype_of(element_or_self(type_))),)


def _concat(op: tensor.ConcatOp, arrays: tuple[Array, ...]) -> tuple[Array]:
    return (np.concatenate(arrays, axis=op.dim.value.data),)


def _pad(frame: Frame, op: tensor.PadOp, array: Array, low: Place, high: Place) -> tuple[Array]:
    before, after = indexing.mixed(op.static_low, low), indexing.mixed(op.static_high, high)
    if any(width < 0 for width in (*before, *after)):
        raise InterpretationError(f"padding must be >= 0, but got low {list(before)} and high {list(after)}")
    shape = tuple(map(sum, zip(array.shape, before, after, strict=True)))
    padded = unwritten(shape, element_or_self(op.result.type))
    inside = tuple(slice(start, start + size) for start, size in zip(before, array.shape, strict=True))
    if any(argument.uses for argument in op.region.block.args):
        for position in itertools.product(*map(range, shape)):
            if not all(part.start <= index < part.stop for part, index in zip(inside, position, strict=True)):
                (padded[position],) = frame.run(op.region, *position)
    elif padded.size > array.size:
        (padded[...],) = frame.run(op.region, *before)
    padded[inside] = array
    return (padded,)


EVALUATORS: dict[type[Operation], Evaluator | RegionEvaluator] = {
    tensor.CastOp: _cast,
    tensor.CollapseShapeOp: _collapse_shape,
    tensor.ConcatOp: _concat,
    tensor.DimOp: indexing.dimension,
    tensor.EmptyOp: _empty,
    tensor.ExpandShapeOp: _expand_shape,
    tensor.ExtractOp: indexing.element,
    tensor.ExtractSliceOp: _extract_slice,
    tensor.FromElementsOp: _from_elements,
    tensor.InsertOp: _insert,
    tensor.InsertSliceOp: _insert_slice,
    tensor.PadOp: RegionEvaluator(_pad),
    tensor.ReshapeOp: _reshape,
    tensor.SplatOp: _splat,
}
