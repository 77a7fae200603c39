"""Lowering of selection and ordering: by counting the preceding elements of each one, or by insertion into a list."""

from collections.abc import Sequence

from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerType, f32, f64, i32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from qmlir.arithmetic.arrays import integer_limits
from qmlir.dialects.kernel.lowering.lowering import Input, Lower, Lowering, nest
from qmlir.dialects.kernel.lowering.scalars import ArithBuilder, Scalar, extracted, inserted, position
from qmlir.dialects.nn.lowering.elements import identity
from qmlir.dialects.nn.lowering.indexing import axes_map
from qmlir.dialects.nn.movement.ops import normalized_axis
from qmlir.dialects.nn.selection import ops
from qmlir.ir.builtin_types import element_of, shape_of

_INSERTION_GAIN = 12
"""The ratio of all elements to selected ones above which insertion into a list is used.

Measured with AVX2: a step of a list takes 1.3 to 2 ns, a comparison of all with all, which is vectorized, 0.14
to 0.28 ns. So 5 of 1000 take 12 us by a list and 118 us by comparisons, 500 of 2000 take 1.9 ms and 0.5 ms.
"""


def _keys(at: Lowering, value: SSAValue) -> SSAValue:
    """Returns integer keys in the order of the elements: floats by their bits, NaN as the largest, both zeros equal."""
    element = element_of(value)
    if not isinstance(element, AnyFloat):
        return value
    computing = f64 if element == f64 else f32
    bits = IntegerType(64 if element == f64 else 32)
    _, largest = integer_limits(bits.bitwidth)

    def key(number: Scalar) -> Scalar:
        wide = number.to(computing) + 0.0
        stored = wide.bitcast(bits)
        ordered = stored.compare("lt", 0).select(stored ^ largest, stored)
        return wide.compare("eq", wide).select(ordered, largest)

    shape = shape_of(value)
    return at.compute([Input(value, AffineMap.identity(len(shape)))], shape, bits, key)


def _ranks(at: Lowering, keys: SSAValue, axis: int, is_largest: bool, unsigned: bool) -> SSAValue:
    """Returns, for each element, the number of elements along the axis that precede it; equal ones keep their order."""
    shape = shape_of(keys)
    rank = len(shape)
    own = AffineMap(rank + 1, 0, tuple(AffineExpr.dimension(place) for place in range(rank)))
    other = (*own.results[:axis], AffineExpr.dimension(rank), *own.results[axis + 1 :])
    inputs = [Input(keys, own, unsigned), Input(keys, AffineMap(rank + 1, 0, other), unsigned)]
    after, before = ("ge", "gt") if is_largest else ("le", "lt")

    def count(key: Scalar, another: Scalar, so_far: Scalar) -> Scalar:
        is_earlier = position(key.builder, rank).compare("lt", position(key.builder, axis))
        comes_before = another.compare(before, key) | (is_earlier & another.compare(after, key))
        return so_far + comes_before.to(i32)

    return at.generic(inputs, [(at.fill(shape, i32, 0), own)], count)[0]


def _by_counting(at: Lowering, keys: SSAValue, axis: int, count: int, is_largest: bool, unsigned: bool) -> SSAValue:
    """Returns the indices of the first `count` elements in order, from the ranks of all: n squared comparisons."""
    shape = list(shape_of(keys))
    rank, shape[axis] = len(shape), count
    ranks = _ranks(at, keys, axis, is_largest, unsigned)
    # The iterators are those of the result, and one over the elements, of which the one with the right rank is kept.
    kept = axes_map(rank + 1, range(rank))
    all_ = axes_map(rank + 1, [rank if place == axis else place for place in range(rank)])

    def find(own_rank: Scalar, so_far: Scalar) -> Scalar:
        builder = own_rank.builder
        is_here = own_rank.to(IndexType()).compare("eq", position(builder, axis))
        return is_here.select(position(builder, rank).to(i64), so_far)

    return at.generic([Input(ranks, all_)], [(at.fill(shape, i64, 0), kept)], find)[0]


def _by_insertion(at: Lowering, keys: SSAValue, axis: int, count: int, is_largest: bool, unsigned: bool) -> SSAValue:
    """Returns these indices by inserting each element into a list of the first `count` so far: n times `count` steps.

    An empty entry holds the number of elements. The list is shifted from its end, one entry per step, so that each step
    reads entries from before the insertion.
    """
    shape = list(shape_of(keys))
    size, shape[axis] = shape[axis], count
    outer = [length for place, length in enumerate(shape) if place != axis]

    def step(builder: ArithBuilder, point: Sequence[Scalar], so_far: SSAValue) -> SSAValue:
        *others, element, back = point

        def beside(place: Scalar) -> list[Scalar]:
            return [*others[:axis], place, *others[axis:]]

        def key_of(place: Scalar) -> Scalar:
            return extracted(builder, keys, beside(place), unsigned)

        def comes_before(index: Scalar) -> Scalar:
            is_ahead = key_of(element).compare("gt" if is_largest else "lt", key_of(index.minimum(size - 1)))
            return index.compare("eq", size) | is_ahead

        place = count - 1 - back
        own, previous = (
            extracted(builder, so_far, beside(each)).to(IndexType()) for each in (place, (place - 1).maximum(0))
        )
        moves = comes_before(previous) & place.compare("gt", 0)
        put = comes_before(own).select(moves.select(previous, element), own).to(i64)
        return inserted(builder, put, so_far, beside(place))

    return nest(at.builder, [*outer, size, count], at.fill(shape, i64, size), step)


def _top_k(op: ops.TopKOp, at: Lowering) -> Sequence[SSAValue]:
    value, result = at.value(op.input), at.result_shape()
    rank = len(result)
    axis = normalized_axis(op.axis.value.data, rank)
    count = result[axis]
    order = _by_insertion if _INSERTION_GAIN * count < shape_of(value)[axis] else _by_counting
    indices = order(at, _keys(at, value), axis, count, bool(op.largest.value.data), at.signedness(op.input))

    def take(index: Scalar) -> Scalar:
        point = [position(index.builder, place) for place in range(rank)]
        point[axis] = index.to(IndexType())
        return extracted(index.builder, value, point)

    values = at.compute([Input(indices, identity(at))], result, at.result_element(), take)
    return values, indices


def _reverse_sequence(op: ops.ReverseSequenceOp, at: Lowering) -> Sequence[SSAValue]:
    value, shape = at.value(op.input), at.result_shape()
    rank = len(shape)
    time, batch = (normalized_axis(each.value.data, rank) for each in (op.time_axis, op.batch_axis))
    lengths = Input(at.value(op.lengths), axes_map(rank, [batch]), at.signedness(op.lengths))

    def body(length: Scalar) -> Scalar:
        builder = length.builder
        point = [position(builder, place) for place in range(rank)]
        end, step = length.to(i64), point[time].to(i64)
        place = step.compare("lt", end).select(end - 1 - step, step)
        # A length beyond the axis is an error in the interpreter: loops clamp the index, so that accesses
        # stay in bounds.
        point[time] = place.clamp(0, shape[time] - 1).to(IndexType())
        return extracted(builder, value, point)

    return (at.compute([lengths], shape, at.result_element(), body),)


LOWERINGS: dict[type[Operation], Lower] = {
    ops.TopKOp: _top_k,
    ops.ReverseSequenceOp: _reverse_sequence,
}
