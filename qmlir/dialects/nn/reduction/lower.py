"""Lowering of reductions and scans in ascending order: floats sum in f64 and round once, integers are exact or wrap."""

import math as numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import math
from xdsl.dialects.builtin import AnyFloat, IntegerType, f64, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineMap

from qmlir.dialects.kernel.lowering import quantized
from qmlir.dialects.kernel.lowering.lowering import Input, Lower, Lowering, nest, unchanged
from qmlir.dialects.kernel.lowering.scalars import ArithBuilder, Number, Scalar, extracted, inserted, position
from qmlir.dialects.nn.base import computing_type, element_limits
from qmlir.dialects.nn.lowering import ExactReading, ExactReal, axes_map, exact_reals, identity, whole
from qmlir.dialects.nn.reduction import ops
from qmlir.dialects.quant.infer import broadcast_parameters, same_along
from qmlir.dialects.quant.types import UniformQuantizedType, storage_limits
from qmlir.ir.builtin_types import element_of, shape_of

Step = Callable[[Scalar], Scalar]


@dataclass(frozen=True)
class _Reduction:
    """The steps of a reduction `after(combine of before(x))`: on each element, on pairs, and on the result."""

    before: Step = unchanged
    combine: Callable[[Scalar, Scalar], Scalar] = Scalar.__add__
    start: Number = 0
    after: Step = unchanged
    in_float: bool = False
    """Whether integers are computed in f64."""


def _kept_map(rank: int, gone: Sequence[int]) -> AffineMap:
    return axes_map(rank, [axis for axis in range(rank) if axis not in gone])


def _output(
    at: Lowering, shape: Sequence[int], gone: Sequence[int], element: Attribute, start: Number
) -> tuple[SSAValue, AffineMap]:
    """Returns an output for the reduction of a tensor of this shape over the axes `gone`, filled with `start`."""
    return at.fill(ops.reduced_shape(shape, gone, keep_dims=False), element, start), _kept_map(len(shape), gone)


def _combined(
    at: Lowering, value: SSAValue, gone: Sequence[int], rule: _Reduction, wide: Attribute, computing: Attribute
) -> SSAValue:
    """Combines the elements of an operand in the type `wide`, over the axes `gone`, which the result lacks."""
    shape = shape_of(value)
    reading = quantized.real(at, value, AffineMap.identity(len(shape)))
    output = _output(at, shape, gone, wide, rule.start)
    unsigned = at.signedness(value) and not isinstance(wide, AnyFloat)

    def body(*scalars: Scalar) -> Scalar:
        *own, so_far = scalars
        element = rule.before(reading.read(own).to(computing, unsigned)).to(wide, unsigned)
        return rule.combine(so_far, element)

    return at.generic(reading.inputs, [output], body)[0]


def _finished(at: Lowering, reduced: SSAValue, after: Step, unsigned: bool = False) -> SSAValue:
    """Applies `after` to every reduced element, in the shape and the type of the result."""
    reading = whole(at, at.reshape(reduced, at.result_shape()), unsigned)
    return quantized.compute(at, [reading], quantized.writing(at, 0, identity(at)), after)


def _reduce(rule: _Reduction, is_mean: bool = False) -> Lower:
    def lower(op: ops.ReduceOp, at: Lowering) -> Sequence[SSAValue]:
        gone = op.reduced_axes(len(shape_of(op.input)))
        if is_mean or type(op) is ops.ReduceSumOp:
            exact = _exact_sum(op, at, gone, is_mean)
            if exact is not None:
                return (exact,)
        element = quantized.uniform_element(at, op.input)
        plain: Attribute = element_of(at.value(op.input)) if element is None else element.expressed
        is_integer = not isinstance(plain, AnyFloat)
        computing: Attribute = f64 if is_integer and rule.in_float else computing_type(plain)
        wide: Attribute = f64 if isinstance(computing, AnyFloat) else computing
        if is_integer and is_mean:
            wide = i64
        count = numbers.prod(shape_of(op.input)[axis] for axis in gone)

        def after(total: Scalar) -> Scalar:
            rounded = total if is_integer and is_mean else total.to(computing)
            mean = rounded / count if is_mean else rounded
            found = rule.after(mean)
            return _inside(found, element_of(op.input)) if found.is_float and is_integer else found

        if is_mean and is_integer and not count:
            raise at.error("the integer mean of zero elements is undefined")
        reduced = _combined(at, op.input, gone, rule, wide, computing)
        return (_finished(at, reduced, after, at.signedness(op.input)),)

    return lower


def _inside(value: Scalar, element: Attribute) -> Scalar:
    """Clamps a float so that its integral part fits the type; NaN becomes an unspecified value."""
    low, high = element_limits(element)
    return value.compare("ge", low).select(value, low).minimum(high)


def _exact_sum(op: ops.ReduceOp, at: Lowering, gone: Sequence[int], is_mean: bool) -> SSAValue | None:
    """Lowers sums and means of stored integers of one scale: exact, requantized once."""
    element = quantized.uniform_element(at, op.input)
    if element is None or quantized.uniform_element(at, op.result) is None:
        return None
    shape = shape_of(op.input)
    scales, _ = broadcast_parameters(element, shape)
    scale = same_along(np.asarray(scales, np.float32), gone)
    if scale is None:
        return None
    count = numbers.prod(shape[axis] for axis in gone)
    if is_mean and not count:
        raise at.error("the mean of zero elements is undefined")
    low, high = storage_limits(element.storage)
    largest = (high - low) * max(count, 1)
    wide = i32 if largest < 1 << 31 else i64
    total = summed(at, quantized.centered(at, op.input, AffineMap.identity(len(shape))), shape, gone, wide)
    if scale.ndim and not op.keeps_axes:
        scale = scale.squeeze(tuple(gone))
    writing = quantized.requantizing(at, 0, scale, largest, identity(at), count if is_mean else 1)
    return quantized.compute(at, [total], writing, unchanged)


def summed(
    at: Lowering, reading: quantized.ElementLoad, shape: Sequence[int], gone: Sequence[int], wide: IntegerType
) -> quantized.ElementLoad:
    """Sums the integers of `reading`, of `shape`, along the axes `gone`; returns how the result reads the sums."""

    def add(*scalars: Scalar) -> Scalar:
        return scalars[-1] + reading.read(scalars[:-1]).to(wide)

    total = at.generic(reading.inputs, [_output(at, shape, gone, wide, 0)], add)[0]
    return whole(at, at.reshape(total, at.result_shape()))


def _log_sum_exp(op: ops.ReduceLogSumExpOp, at: Lowering) -> Sequence[SSAValue]:
    """Subtracts the maximum, if it is finite."""
    gone, shape = op.reduced_axes(len(shape_of(op.input))), shape_of(op.input)
    element = quantized.uniform_element(at, op.input)
    plain = element_of(at.value(op.input)) if element is None else element.expressed
    computing: Attribute = f64 if isinstance(plain, IntegerType) else computing_type(plain)
    largest = _combined(at, op.input, gone, _Reduction(unchanged, Scalar.maximum, -numbers.inf), computing, computing)
    kept, every = _kept_map(len(shape), gone), AffineMap.identity(len(shape))
    reading = quantized.real(at, op.input, every)
    init = at.fill(shape_of(largest), f64, 0.0)

    def add(*scalars: Scalar) -> Scalar:
        *own, extreme, so_far = scalars
        shifted = reading.read(own).to(computing) - _finite(extreme)
        return so_far + shifted.apply(math.ExpOp).to(f64)

    total = at.generic([*reading.inputs, Input(largest, kept)], [(init, kept)], add)[0]
    both = [at.reshape(each, at.result_shape()) for each in (total, largest)]
    readings = [whole(at, each) for each in both]

    def finish(sum_: Scalar, extreme: Scalar) -> Scalar:
        return sum_.to(computing).apply(math.LogOp) + _finite(extreme)

    return (quantized.compute(at, readings, quantized.writing(at, 0, identity(at)), finish),)


def _finite(extreme: Scalar) -> Scalar:
    """Returns the shift, 0 instead of infinity, which would turn infinities into NaN."""
    return (extreme - extreme).compare("eq", 0).select(extreme, 0)


# --- Extremes ---------------------------------------------------------------------------------------------------------


def _extreme(is_largest: bool) -> Lower:
    def lower(op: ops.ExtremeOp, at: Lowering) -> Sequence[SSAValue]:
        shape, unsigned = shape_of(op.input), at.signedness(op.input)
        gone = op.reduced_axes(len(shape))
        value, start = at.value(op.input), element_limits(element_of(op.input))[0 if is_largest else 1]
        output = _output(at, shape, gone, element_of(value), start)

        def body(x: Scalar, so_far: Scalar) -> Scalar:
            before = Scalar(so_far.value, so_far.builder, unsigned)
            return before.maximum(x) if is_largest else before.minimum(x)

        source = Input(value, AffineMap.identity(len(shape)), unsigned)
        reduced = at.generic([source], [output], body)[0]
        return (at.reshape(reduced, at.result_shape()),)

    return lower


def _arg_extreme(is_largest: bool) -> Lower:
    """Tracks the index of the best element and that element, which are further, unused results."""

    def lower(op: ops.ArgExtremeOp, at: Lowering) -> Sequence[SSAValue]:
        rank = len(shape_of(op.input))
        axis = op.axis.value.data % rank
        every = AffineMap.identity(rank)
        element = quantized.uniform_element(at, op.input)
        predicate = _BETTER[is_largest, bool(op.select_last_index.value.data)]
        if element is None or _is_ordered(op.input, element, axis):
            reading = (quantized.plain if element is None else quantized.stored)(at, op.input, every)
            return (_place_of_number(op, at, axis, reading, predicate),)
        (exact,) = exact_reals(at, [(op.input, element, every)])
        return (_place_of_real(at, axis, exact, predicate),)

    return lower


_BETTER = {(True, True): "ge", (True, False): "gt", (False, True): "le", (False, False): "lt"}
"""The predicate for a better element, keyed by whether the maximum is sought and whether the last of equals wins."""


def _is_ordered(value: SSAValue, element: UniformQuantizedType, axis: int) -> bool:
    """Whether the stored integers along `axis` have the order of the real values."""
    parameters = broadcast_parameters(element, shape_of(value))
    return all(same_along(each, (axis,)) is not None for each in parameters)


Better = Callable[[Sequence[Scalar]], tuple[Scalar, Sequence[Scalar]]]
"""A function that takes the scalars of an element and of the previous best.

It returns whether the element is better, and its scalars.
"""


def _positions(
    at: Lowering, axis: int, inputs: Sequence[Input], best: Attribute, step: Better, count: int = 1
) -> SSAValue:
    """Returns the index of the best element; elements and the previous best have `count` scalars each."""
    shape = shape_of(at.op.operands[0])
    outputs = [_output(at, shape, (axis,), best, 0) for _ in range(count)]

    def body(*scalars: Scalar) -> Sequence[Scalar]:
        *rest, index = scalars
        better, candidate = step(rest)
        better = better | index.compare("lt", 0)
        here = position(index.builder, axis).to(i64)
        before = rest[len(inputs) :]
        chosen = [better.select(own, old) for own, old in zip(candidate, before, strict=True)]
        return [*chosen, better.select(here, index)]

    found = at.generic(inputs, [*outputs, _output(at, shape, (axis,), i64, -1)], body)[-1]
    return at.reshape(found, at.result_shape())


def _place_of_number(
    op: ops.ArgExtremeOp, at: Lowering, axis: int, reading: quantized.ElementLoad, predicate: str
) -> SSAValue:
    unsigned, takes_last = at.signedness(op.input), predicate in ("ge", "le")

    def step(scalars: Sequence[Scalar]) -> tuple[Scalar, Sequence[Scalar]]:
        *own, so_far = scalars
        candidate, before = reading.read(own), Scalar(so_far.value, so_far.builder, unsigned)
        better = candidate.compare(predicate, before)
        if candidate.is_float:  # NaN is the extreme; the first one if the first is wanted
            is_nan, was_nan = candidate.compare("ne", candidate), before.compare("ne", before)
            better = (better & was_nan.logical_not()) | (is_nan if takes_last else is_nan & was_nan.logical_not())
        return better, [candidate]

    computing: Attribute = computing_type(element_of(reading.inputs[0].value))
    return _positions(at, axis, reading.inputs, computing, step)


def _place_of_real(at: Lowering, axis: int, reading: ExactReading, predicate: str) -> SSAValue:
    def step(scalars: Sequence[Scalar]) -> tuple[Scalar, Sequence[Scalar]]:
        own, before = scalars[: -reading.count], scalars[-reading.count :]
        candidate = reading.read(own)
        best = ExactReal(before[0], before[1] if reading.count > 1 else None)
        return candidate.compare(predicate, best), candidate.parts

    return _positions(at, axis, reading.inputs, f64, step, reading.count)


# --- Scans ------------------------------------------------------------------------------------------------------------


def _scan(combine: Callable[[Scalar, Scalar], Scalar], neutral: int) -> Lower:
    """Processes one element after the other along the axis, combining each with the previous result."""

    def lower(op: ops.ScanOp, at: Lowering) -> Sequence[SSAValue]:
        shape = shape_of(op.input)
        axis, size = op.scanned_axis(len(shape)), shape[op.scanned_axis(len(shape))]
        value = at.value(op.input)
        computing = computing_type(element_of(value))
        exclusive, reverse = bool(op.exclusive.value.data), bool(op.reverse.value.data)

        def step(builder: ArithBuilder, point: Sequence[Scalar], carried: SSAValue) -> SSAValue:
            def position(number: Scalar) -> list[Scalar]:
                along = (size - 1) - number if reverse else number
                return [along if each == axis else index for each, index in enumerate(point)]

            number = point[axis]
            before = (number - 1).maximum(0)
            earlier = extracted(builder, carried, position(before))
            is_first = number.compare("eq", 0)
            own = extracted(builder, value, position(before if exclusive else number)).to(computing)
            both = combine(earlier, own)
            if exclusive:
                first = is_first.select(own.constant(neutral), own)
                return inserted(builder, number.compare("le", 1).select(first, both), carried, position(number))
            return inserted(builder, is_first.select(own, both), carried, position(number))

        total = nest(at.builder, shape, at.empty(shape, computing), step)
        return (total if computing == at.result_element() else _finished(at, total, unchanged),)

    return lower


LOWERINGS: dict[type[Operation], Lower] = {
    ops.ReduceSumOp: _reduce(_Reduction()),
    ops.ReduceMeanOp: _reduce(_Reduction(), is_mean=True),
    ops.ReduceProdOp: _reduce(_Reduction(combine=Scalar.__mul__, start=1)),
    ops.ReduceL1Op: _reduce(_Reduction(before=Scalar.absolute)),
    ops.ReduceSumSquareOp: _reduce(_Reduction(before=lambda x: x * x)),
    ops.ReduceL2Op: _reduce(_Reduction(before=lambda x: x * x, after=lambda x: x.apply(math.SqrtOp), in_float=True)),
    ops.ReduceLogSumOp: _reduce(_Reduction(after=lambda x: x.apply(math.LogOp), in_float=True)),
    ops.ReduceLogSumExpOp: _log_sum_exp,
    ops.ReduceMaxOp: _extreme(is_largest=True),
    ops.ReduceMinOp: _extreme(is_largest=False),
    ops.ArgMaxOp: _arg_extreme(is_largest=True),
    ops.ArgMinOp: _arg_extreme(is_largest=False),
    ops.CumSumOp: _scan(Scalar.__add__, 0),
    ops.CumProdOp: _scan(Scalar.__mul__, 1),
}
