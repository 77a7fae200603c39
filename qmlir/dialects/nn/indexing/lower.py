"""Lowering of indexing and selection to the `kernel` dialect."""

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerType, f32, f64, i1, i8, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from qmlir.arithmetic.arrays import Array, integer_limits
from qmlir.dialects.kernel.lowering import quantized
from qmlir.dialects.kernel.lowering.lowering import Input, Lower, Lowering, nest, plain_element
from qmlir.dialects.kernel.lowering.scalars import ArithBuilder, Scalar, constant, extracted, inserted, position
from qmlir.dialects.nn.indexing import ops
from qmlir.dialects.nn.lowering import axes_map, checked, identity, place_of, positions, run_of, uniform_type
from qmlir.dialects.nn.movement.ops import normalized_axis
from qmlir.dialects.quant.infer import storage_dtype
from qmlir.dialects.quant.types import Granularity
from qmlir.ir.builtin_types import element_of, shape_of

# Lowering of gather and scatter operations: structured reads at computed indices, and loops for writes.
#
# Constant indices become slices if they have a uniform stride, and checked tables otherwise. A scatter applies its
# updates one after the other, in the order of its evaluator.

# --- Taking -----------------------------------------------------------------------------------------------------------


def _gather(op: ops.GatherOp, at: Lowering) -> Sequence[SSAValue]:
    data, rank = at.value(op.input), len(at.result_shape())
    axis, count = op.position, len(shape_of(op.indices))
    size = shape_of(data)[axis]
    indices = range(axis, axis + count)
    taken = positions(at, op.indices, axes_map(rank, indices), size)

    def point(index: Scalar) -> list[Scalar]:
        others = [position(index.builder, each) for each in range(rank) if each not in indices]
        return [*others[:axis], taken.of(index), *others[axis:]]

    if op.rescales:
        return (gathered_slices(op, at, op.input),)
    known = at.known(op.indices)
    if known is not None and (run := run_of(checked(at, known, size).reshape(-1))) is not None:
        offsets, sizes, steps = [0] * len(shape_of(data)), list(shape_of(data)), [1] * len(shape_of(data))
        offsets[axis], sizes[axis], steps[axis] = run.start, len(run), run.step
        return (at.reshape(at.slice(data, offsets, sizes, steps), at.result_shape()),)

    def body(index: Scalar) -> Scalar:
        return extracted(index.builder, data, point(index))

    return (at.compute([taken.input], at.result_shape(), at.result_element(), body),)


# A program holds tables of at most 4 bits as bytes: the lowest bits of the bytes of a row are the codes of its first
# part, the next bits those of its next part, so that loops read consecutive bytes for consecutive results.
_BYTE = 8


def _packed(op: ops.GatherOp, at: Lowering, table: SSAValue) -> tuple[Array, int] | None:
    """Returns the codes of a constant table in bytes, and the bits of each; `None` if bytes hold one code each."""
    element, codes = uniform_type(at, table), at.known(table)
    bits = 2 if element.bits <= 2 else 4
    parts = _BYTE // bits
    if codes is None or element.bits > bits or op.position == codes.ndim - 1 or codes.shape[-1] % parts:
        return None
    by_part = codes.astype(np.uint8).reshape(*codes.shape[:-1], parts, -1) & ((1 << bits) - 1)
    shifts = bits * np.arange(parts, dtype=np.uint8)[:, None]
    return np.bitwise_or.reduce(by_part << shifts, -2), bits


def gathered_slices(op: ops.GatherOp, at: Lowering, stored: SSAValue) -> SSAValue:
    """Rescales integers of slices to the type of the result, or dequantizes them if the result is a float.

    `stored` holds the integers: it is the operand of the gather, or is dequantized to it. The index also selects their
    parameters.
    """
    element, sizes, axis = uniform_type(at, stored), shape_of(stored), op.position
    shape, packed, unsigned = at.result_shape(), _packed(op, at, stored), at.signedness(stored)
    loops, parts = [*shape], 1
    if packed is None:
        data = at.value(stored)
    else:
        data, parts = at.constant(packed[0], i8), _BYTE // packed[1]
        loops[-1:] = [parts, shape[-1] // parts]
    indices = range(axis, axis + len(shape_of(op.indices)))
    taken = positions(at, op.indices, axes_map(len(loops), indices), sizes[axis])

    def point(index: Scalar) -> list[Scalar]:
        others = [position(index.builder, each) for each in range(len(shape)) if each not in indices]
        if parts > 1:
            others[-1] = others[-1] * loops[-1] + position(index.builder, len(shape))
        return [*others[:axis], taken.of(index), *others[axis:]]

    def code(index: Scalar) -> Scalar:
        if packed is None:
            return extracted(index.builder, data, point(index), unsigned).to(wide)
        place = [*point(index)[:-1], position(index.builder, len(shape))]
        shift = position(index.builder, len(shape) - 1).to(i32) * packed[1]
        found = (extracted(index.builder, data, place, unsigned=True).to(i32) >> shift) & ((1 << packed[1]) - 1)
        sign = 0 if unsigned else 1 << (packed[1] - 1)
        return (found ^ sign) - sign if sign else found

    counts = list(element.parameter_shape)
    if element.granularity is not Granularity.BLOCK:
        counts = [
            size if element.granularity is Granularity.AXIS and each == element.axis else 1
            for each, size in enumerate(sizes)
        ]

    def find(array: Array, type_: Attribute, unsigned: bool = False) -> quantized.Parameter:
        if (array == array.flat[0]).all():
            return quantized.Parameter(wide if unsigned else type_, array.flat[0].item())
        blocks = {each: sizes[each] // count for each, count in enumerate(counts) if count != 1}
        table = at.constant(array.reshape([counts[each] for each in blocks]), type_)

        def found(index: Scalar) -> Scalar:
            whole = point(index)
            inside = [whole[each] // block if block != 1 else whole[each] for each, block in blocks.items()]
            return extracted(index.builder, table, inside, unsigned)

        return quantized.Parameter(type_, None, (taken.input,), found)

    wide, points = quantized.wide_type(element), element.zero_points
    offset = find(points.astype(storage_dtype(element)), plain_element(element), unsigned)
    if stored is op.input:
        writing = quantized.requantizing(at, 0, element.scales, quantized.largest(element), find)
    else:
        writing = quantized.dequantizing(element, find)

    def body(index: Scalar) -> Scalar:
        number = code(index)
        exact = number if offset.is_always(0) else number - offset.of([index], number).to(wide)
        return writing.write(exact, [index] * len(writing.inputs))

    return at.reshape(at.compute([taken.input], loops, at.result_element(), body), shape)


def _gather_elements(op: ops.GatherElementsOp, at: Lowering) -> Sequence[SSAValue]:
    data, rank = at.value(op.input), len(at.result_shape())
    axis = normalized_axis(op.axis.value.data, rank)
    taken = positions(at, op.indices, identity(at), shape_of(data)[axis])

    def body(index: Scalar) -> Scalar:
        point = [position(index.builder, each) for each in range(rank)]
        point[axis] = taken.of(index)
        return extracted(index.builder, data, point)

    return (at.compute([taken.input], at.result_shape(), at.result_element(), body),)


def _gather_nd(op: ops.GatherNDOp, at: Lowering) -> Sequence[SSAValue]:
    data, rank = at.value(op.input), len(at.result_shape())
    *lead, length = shape_of(op.indices)
    batch = op.batch_dims.value.data
    named = axes_map(rank, range(len(lead)))
    sizes = shape_of(data)[batch : batch + length]
    taken = [positions(at, op.indices, named, size, component) for component, size in enumerate(sizes)]

    def body(*indices: Scalar) -> Scalar:
        builder = indices[0].builder
        numbers = [each.of(index) for each, index in zip(taken, indices, strict=True)]
        batches, inside = ([position(builder, axis) for axis in run] for run in (range(batch), range(len(lead), rank)))
        return extracted(builder, data, [*batches, *numbers, *inside])

    return (at.compute([each.input for each in taken], at.result_shape(), at.result_element(), body),)


# --- Writing ----------------------------------------------------------------------------------------------------------

Combine = Callable[[Scalar, Scalar], Scalar]

_REDUCTIONS: dict[str, Combine] = {
    "add": Scalar.__add__,
    "mul": Scalar.__mul__,
    "min": Scalar.minimum,
    "max": Scalar.maximum,
}
_OF_BOOLEANS: dict[str, Combine] = _REDUCTIONS | {"add": Scalar.__or__, "mul": Scalar.__and__}

Point = Sequence[Scalar]
PlaceOf = Callable[[ArithBuilder, Point], Sequence[Scalar]]
"""Returns the position in the data that the update at a given index is written to."""


def _scattered(op: ops.ScatteringOp, at: Lowering, position: PlaceOf) -> SSAValue:
    """Applies the updates one by one; f16 and bf16 are combined in f32 and rounded once."""
    name, element, unsigned = op.reduction.data, at.result_element(), at.signedness(op.input)
    data, updates = at.value(op.input), at.value(op.updates)
    combine = None if name == "none" else (_OF_BOOLEANS if element == i1 else _REDUCTIONS)[name]
    is_wide = combine is not None and isinstance(element, AnyFloat) and element != f64
    computing: Attribute = f32 if is_wide else element

    def step(builder: ArithBuilder, point: Point, so_far: SSAValue) -> SSAValue:
        target = position(builder, point)
        update = extracted(builder, updates, point, unsigned).to(computing, unsigned)
        if combine is not None:
            update = combine(extracted(builder, so_far, target, unsigned), update)
        return inserted(builder, update, so_far, target)

    joined = nest(at.builder, shape_of(updates), _converted(at, data, computing), step)
    return _converted(at, joined, element)


def _converted(at: Lowering, value: SSAValue, element: Attribute) -> SSAValue:
    if element_of(value) == element:
        return value

    def convert(number: Scalar) -> Scalar:
        return number.to(element)

    return at.compute([Input(value, identity(at))], shape_of(value), element, convert)


def _scatter_elements(op: ops.ScatterElementsOp, at: Lowering) -> Sequence[SSAValue]:
    shape = at.result_shape()
    axis = normalized_axis(op.axis.value.data, len(shape))
    indices, unsigned = at.value(op.indices), at.signedness(op.indices)

    def position(builder: ArithBuilder, point: Point) -> Sequence[Scalar]:
        named = place_of(extracted(builder, indices, point, unsigned), shape[axis])
        return [*point[:axis], named, *point[axis + 1 :]]

    return (_scattered(op, at, position),)


def _scatter_nd(op: ops.ScatterNDOp, at: Lowering) -> Sequence[SSAValue]:
    shape = at.result_shape()
    *lead, length = shape_of(op.indices)
    indices, unsigned = at.value(op.indices), at.signedness(op.indices)

    def position(builder: ArithBuilder, point: Point) -> Sequence[Scalar]:
        batch, inside = point[: len(lead)], point[len(lead) :]

        def component(number: int) -> Scalar:
            last = constant(builder, number, IndexType())
            return place_of(extracted(builder, indices, [*batch, last], unsigned), shape[number])

        return [*(component(number) for number in range(length)), *inside]

    return (_scattered(op, at, position),)


# --- One hot ----------------------------------------------------------------------------------------------------------


def _one_hot(op: ops.OneHotOp, at: Lowering) -> Sequence[SSAValue]:
    shape = at.result_shape()
    rank = len(shape)
    axis = normalized_axis(op.axis.value.data, rank)
    depth = shape[axis]
    others = axes_map(rank, [each for each in range(rank) if each != axis])
    values = at.value(op.values)
    choices = [Input(values, AffineMap(rank, 0, (AffineExpr.constant(number),))) for number in (0, 1)]

    def body(number: Scalar, off: Scalar, on: Scalar) -> Scalar:
        index = _whole(number, depth).to(i64)
        index = index.compare("lt", 0).select(index + depth, index)
        return index.compare("eq", position(index.builder, axis).to(i64)).select(on, off)

    inputs = [Input(at.value(op.indices), others, at.signedness(op.indices)), *choices]
    return (at.compute(inputs, shape, at.result_element(), body),)


def _whole(number: Scalar, depth: int) -> Scalar:
    """Clamps a float so that its integral part fits 64 bits; out-of-range indices and NaN stay out of range."""
    if not number.is_float:
        return number
    wide = number.to(f64)
    inside = wide.clamp(-depth - 1, depth)
    return inside.compare("eq", inside).select(inside, depth)


# Lowering of selection and ordering: by counting the preceding elements of each one, or by insertion into a list.

_INSERTION_GAIN = 12
"""If there are more than this number of elements per selected element, top-k inserts elements into a sorted list.

Otherwise all elements are compared with each other. Measured with AVX2, a step in a list takes 1.3 to 2 ns, and one of
the comparisons, which are vectorized, takes 0.14 to 0.28 ns. The 5 largest of 1000 elements thus take 12 us with a list
and 118 us with comparisons; the 500 largest of 2000 take 1.9 ms and 0.5 ms, respectively.
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
    own = axes_map(rank + 1, range(rank))
    other = axes_map(rank + 1, [rank if index == axis else index for index in range(rank)])
    inputs = [Input(keys, own, unsigned), Input(keys, other, unsigned)]
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
    all_ = axes_map(rank + 1, [rank if index == axis else index for index in range(rank)])

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
    outer = [length for position, length in enumerate(shape) if position != axis]

    def step(builder: ArithBuilder, point: Sequence[Scalar], so_far: SSAValue) -> SSAValue:
        *others, element, back = point

        def beside(position: Scalar) -> list[Scalar]:
            return [*others[:axis], position, *others[axis:]]

        def key_of(position: Scalar) -> Scalar:
            return extracted(builder, keys, beside(position), unsigned)

        def comes_before(index: Scalar) -> Scalar:
            is_ahead = key_of(element).compare("gt" if is_largest else "lt", key_of(index.minimum(size - 1)))
            return index.compare("eq", size) | is_ahead

        position = count - 1 - back
        own, previous = (
            extracted(builder, so_far, beside(each)).to(IndexType()) for each in (position, (position - 1).maximum(0))
        )
        moves = comes_before(previous) & position.compare("gt", 0)
        put = comes_before(own).select(moves.select(previous, element), own).to(i64)
        return inserted(builder, put, so_far, beside(position))

    return nest(at.builder, [*outer, size, count], at.fill(shape, i64, size), step)


def _top_k(op: ops.TopKOp, at: Lowering) -> Sequence[SSAValue]:
    value, result = at.value(op.input), at.result_shape()
    rank = len(result)
    axis = normalized_axis(op.axis.value.data, rank)
    count = result[axis]
    order = _by_insertion if _INSERTION_GAIN * count < shape_of(value)[axis] else _by_counting
    indices = order(at, _keys(at, value), axis, count, bool(op.largest.value.data), at.signedness(op.input))

    def take(index: Scalar) -> Scalar:
        point = [position(index.builder, each) for each in range(rank)]
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
        point = [position(builder, index) for index in range(rank)]
        end, step = length.to(i64), point[time].to(i64)
        index = step.compare("lt", end).select(end - 1 - step, step)
        # A length beyond the axis is an error in the interpreter: loops clamp the index, so that accesses
        # stay in bounds.
        point[time] = index.clamp(0, shape[time] - 1).to(IndexType())
        return extracted(builder, value, point)

    return (at.compute([lengths], shape, at.result_element(), body),)


LOWERINGS: dict[type[Operation], Lower] = {
    ops.GatherOp: _gather,
    ops.GatherElementsOp: _gather_elements,
    ops.GatherNDOp: _gather_nd,
    ops.ScatterElementsOp: _scatter_elements,
    ops.ScatterNDOp: _scatter_nd,
    ops.OneHotOp: _one_hot,
    ops.TopKOp: _top_k,
    ops.ReverseSequenceOp: _reverse_sequence,
}
