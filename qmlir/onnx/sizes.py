"""Where a size comes from: a list of sizes at run time may hold those of a tensor that is at hand.

`x.reshape(x.size(0), -1)` comes as a list whose first number is unknown; that it is the size of axis 0 of `x` tells
the other one. A size is followed through the operations that make the list, and from there through those that leave
an axis of a tensor as it is.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.infer.movement import slice_indices
from qmlir.dialects.nn.ops import contraction, elementwise, indexing, movement, normalization, pooling, shapes, softmax
from qmlir.ir.builtin_types import shape_of

Dimension = tuple[SSAValue, int]
"""An axis of a tensor."""


@dataclass(frozen=True)
class Copied:
    """The size of an axis of the data."""

    axis: int


def resolved_sizes(before: Sequence[int], after: Sequence[int | Copied]) -> list[int]:
    """The sizes after a reshape of data of shape `before`, with the one that is open where the others tell it."""
    taken = {size.axis for size in after if isinstance(size, Copied)}
    sizes = [before[size.axis] if isinstance(size, Copied) else size for size in after]
    if len(taken) != sum(isinstance(size, Copied) for size in after):
        return sizes
    rest = [size for axis, size in enumerate(before) if axis not in taken]
    others = [size for size in after if not isinstance(size, Copied)]
    if DYNAMIC_INDEX in rest or others.count(DYNAMIC_INDEX) != 1:
        return sizes
    count, known = math.prod(rest), math.prod(size for size in others if size != DYNAMIC_INDEX)
    # A copied size of 0 would leave any number of elements open.
    if known == 0 or count % known:
        return sizes
    open_place = next(place for place, size in enumerate(after) if size == DYNAMIC_INDEX)
    return [count // known if place == open_place else size for place, size in enumerate(sizes)]


# Through the operations that make a list of sizes


def _listed(op: Operation, place: int) -> tuple[SSAValue, int] | Dimension | None:
    """The list, and the place in it, that `place` of the result of `op` is taken from."""
    match op:
        case movement.ReshapeOp() | movement.SqueezeOp() | movement.UnsqueezeOp() | elementwise.CastOp():
            return op.input, place
        case movement.ConcatOp():
            for value in op.inputs:
                length = math.prod(shape_of(value))
                if length < 0:
                    return None
                if place < length:
                    return value, place
                place -= length
            return None
        case indexing.GatherOp():
            indices = constant_array(op.indices)
            if indices is None or len(shape_of(op.input)) != 1:
                return None
            index = int(indices.reshape(-1)[place])
            return op.input, index % shape_of(op.input)[0]
        case movement.SliceOp():
            if len(shape_of(op.input)) != 1 or not all(op.is_known(name) for name in op.PARAMETERS):
                return None
            starts, ends, _, steps = op.bounds()
            size = shape_of(op.input)[0]
            return op.input, slice_indices(size, starts[0], ends[0], steps[0])[place]
        case _:
            return None


def _dimension(value: SSAValue, place: int) -> Dimension | None:
    """The axis whose size is the number at `place` of a list."""
    while isinstance(value.owner, Operation):
        op = value.owner
        if isinstance(op, shapes.ShapeOp):
            return op.input, range(len(shape_of(op.input)))[op.bounds][place]
        source = _listed(op, place)
        if source is None:
            return None
        value, place = source
    return None


# Through the operations that leave an axis of a tensor as it is


def _unchanged(op: Operation, axis: int) -> Dimension | None:
    """The axis of an operand whose size is that of `axis` of the one result of `op`."""
    match op:
        case elementwise.UnaryOp() | elementwise.CastOp() | softmax.SoftmaxLikeOp():
            return op.input, axis
        case normalization.NormOp():
            return op.operands[0], axis
        case contraction.BiasedContractionOp() | pooling.PoolOp() | pooling.GlobalPoolOp() if axis == 0:
            return op.operands[0], axis
        case contraction.FullyConnectedOp() if axis < len(shape_of(op.data)) - 1:
            return op.data, axis
        case contraction.MatMulOp() if axis < len(shape_of(op.lhs)) - 1 and len(shape_of(op.rhs)) == 2:
            return op.lhs, axis
        case movement.TransposeOp():
            return op.input, op.order[axis]
        case movement.ConcatOp() if axis != op.axis.value.data % len(shape_of(op.result)):
            return op.inputs[0], axis
        case movement.ReshapeOp():
            return _through_reshape(op.input, shape_of(op.input), shape_of(op.result))
        case _:
            return None


def _through_reshape(value: SSAValue, before: Sequence[int], after: Sequence[int]) -> Dimension | None:
    """The one unknown size before a reshape that leaves one open: they are the same where all others are."""
    if before.count(DYNAMIC_INDEX) != 1 or after.count(DYNAMIC_INDEX) != 1:
        return None
    counts = [math.prod(size for size in sizes if size != DYNAMIC_INDEX) for sizes in (before, after)]
    return (value, before.index(DYNAMIC_INDEX)) if counts[0] == counts[1] != 0 else None


def _origin(dimension: Dimension) -> Dimension:
    """The axis furthest back that has the same size."""
    value, axis = dimension
    while isinstance(value.owner, Operation) and len(value.owner.results) == 1:
        source = _unchanged(value.owner, axis)
        if source is None:
            break
        value, axis = source
    return value, axis


def size_source(sizes: SSAValue, place: int, data: SSAValue) -> int | None:
    """The axis of `data` whose size is the number at `place` of the list `sizes`, `None` where that is not known.

    Only axes whose size is not known are of interest; of several axes the one at the same place comes first.
    """
    named = _dimension(sizes, place)
    if named is None:
        return None
    origin = _origin(named)
    axes = [axis for axis, size in enumerate(shape_of(data)) if size == DYNAMIC_INDEX]
    axes.sort(key=lambda axis: axis != place)
    return next((axis for axis in axes if _origin((data, axis)) == origin), None)
