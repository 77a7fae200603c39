"""Predicates of recipe rules: where 8 bits lose too much, by recorded statistics and the structure of the graph."""

import math
from collections.abc import Container, Iterable, Iterator, Set

import numpy as np
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.activations.ops import ReluOp
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.contraction.ops import ConvOp
from qmlir.dialects.nn.elementwise.ops import (
    AddOp,
    BinaryOp,
    ClipOp,
    DivOp,
    LogOp,
    MaxOp,
    MulOp,
    PowOp,
    ReciprocalOp,
    SqrtOp,
    SubOp,
    UnaryOp,
)
from qmlir.dialects.nn.movement.ops import ConcatOp
from qmlir.dialects.nn.reduction.ops import ReduceMeanOp, ReduceSumOp
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.interfaces import MultipliesAndAdds, Quantizable, Slot
from qmlir.quantization.profiles.statistics import observed, observed_range
from qmlir.quantization.retyping import is_f32, is_float, slots_of
from qmlir.quantization.shared_scales import Groups, width

# Residual streams: what many layers add to, each a little, and what their norms read.
#
# A transformer's stream is a sum that never gets smaller, beside which the addends of one layer are small: in 8 bits
# they are lost, layer after layer. A norm divides each row by its own spread, so a stream is what goes into a norm
# of rows through additions, and what the norms of one hand to the next addition.


def computed_operands(op: Quantizable) -> list[SSAValue]:
    """The operands of `op` that are computed, not constants."""
    return [
        value
        for value, slot in op.operands_with_slots()
        if slot is not None and is_float(value) and constant_array(value) is None
    ]


def residual_values(function: FuncOp) -> Set[SSAValue]:
    """The values of `function` on a residual stream.

    Those are the sums that norms of rows read, where they add two values that are computed; what they add, but for
    sums of products, which are exact before they are added; and what is moved or shifted by a constant in between.
    """
    found: set[SSAValue] = set()
    norms = [op for op in function.walk() if isinstance(op, Quantizable) and op.quantization_slots().normalizes_rows]
    todo = [op.operands[0] for op in norms if _adds_up(op.operands[0])]
    while todo:
        value = todo.pop()
        if value in found:
            continue
        found.add(value)
        owner = value.owner
        if isinstance(owner, Quantizable) and is_passed_on(owner):
            todo += computed_operands(owner)
    return {value for value in found if isinstance(value.owner, Operation)}


def residual_results(function: FuncOp) -> Set[Operation]:
    """The operations of `function` whose result lies on a residual stream."""
    return {value.owner for value in residual_values(function) if isinstance(value.owner, Operation)}


def is_passed_on(op: Quantizable) -> bool:
    """Whether `op` only adds or moves: what it takes lies on the residual stream that its result lies on."""
    slots = op.quantization_slots()
    return slots.takes_accumulators or slots.shares_parameters


def _adds_up(value: SSAValue) -> bool:
    """Whether `value` is a sum of two values that are computed, which a constant may have been added to."""
    while isinstance(op := value.owner, Quantizable) and is_passed_on(op):
        data = computed_operands(op)
        if op.quantization_slots().takes_accumulators and len(data) > 1:
            return True
        if len(data) != 1:
            return False
        (value,) = data
    return False


# What a root or a logarithm reads: near 0, these tell apart what 8 bits make one code.
#
# A root that has steps of `R / 2^8` up to `R` reads squares of `(R / 2^8)^2` up to `R^2`: 16 bits, and not fewer,
# hold what it tells apart. So it is with the magnitude of a spectrum, `sqrt(re^2 + im^2)`, with a variance, and with
# the logarithm of an energy. What is squared for a root is as fine as the root, which is rounded once more: it has
# 16 bits, too, and its squares twice as many. Something that is divided by such a root needs it as finely as its
# operand. Products of values that are never negative, such as the bands of a mel spectrum, cancel nothing: what they
# sum is as fine.

_LINEAR = (AddOp, SubOp, MaxOp, ClipOp, ReluOp, ReduceSumOp, ReduceMeanOp)
"""A step of the result is a step of the operands."""


def read_by_roots(function: FuncOp) -> Set[Operation]:
    """What computes the operands of roots and logarithms in `function`, from products on, and roots that divide."""
    roots = [op for op in function.walk() if isinstance(op, SqrtOp | LogOp)]
    found: set[Operation] = {op for op in roots if isinstance(op, SqrtOp) and any(_divides(op.result))}
    todo: list[SSAValue] = [op.input for op in roots]
    while todo:
        op = todo.pop().owner
        if not isinstance(op, Quantizable) or op in found:
            continue
        found.add(op)
        operands = computed_operands(op)
        is_scaled_or_squared = isinstance(op, MulOp | PowOp) and len(set(operands)) == 1  # the root of both is linear
        if isinstance(op, _LINEAR) or is_passed_on(op) or is_scaled_or_squared or adds_up_positive(op):
            todo += operands
    return found


def adds_up_positive(op: Quantizable) -> bool:
    """Whether `op` sums products of values of which none was negative.

    Nothing cancels, so its result tells apart what its data tells apart: the bands of a spectrum.
    """
    return isinstance(op, MultipliesAndAdds) and all(
        (array >= 0).all() if (array := constant_array(op.operands[place])) is not None else _is_positive(place, op)
        for place, slot in slots_of(op).items()
        if slot is not Slot.BIAS
    )


def _is_positive(place: int, op: Operation) -> bool:
    seen = observed(op.operands[place])
    return seen is not None and seen.minimum >= 0


def squares_for_roots(function: FuncOp) -> Set[Operation]:
    """What squares for a root or a logarithm in `function`, and what adds squares up before it.

    Sums along an axis are none of these: codes of 32 bits leave no room for them in 32 bits.
    """
    rooted, found = read_by_roots(function), set[Operation]()
    for op in function.walk():
        if op not in rooted or not isinstance(op, Quantizable) or isinstance(op, SqrtOp):
            continue
        operands = computed_operands(op)
        is_of_squares = _is_square(op, operands) or any(operand.owner in found for operand in operands)
        users = {use.operation for result in op.results for use in result.uses}
        sums = (ReduceSumOp, ReduceMeanOp, MultipliesAndAdds)
        if is_of_squares and not any(isinstance(user, sums) for user in (op, *users)):
            found.add(op)
    return found


def _is_square(op: Operation, computed: list[SSAValue]) -> bool:
    """Whether `op` is `x * x`, or a power of `x`."""
    return isinstance(op, PowOp) or (isinstance(op, MulOp) and len(computed) == 2 and len(set(computed)) == 1)


def _divides(value: SSAValue) -> Iterator[bool]:
    """Whether users divide by `value`, also where it is moved before."""
    for use in value.uses:
        user = use.operation
        if isinstance(user, ReciprocalOp) or (isinstance(user, DivOp) and use.index == 1):
            yield True
        elif isinstance(user, Quantizable) and is_passed_on(user):
            yield from _divides(user.results[0])


# Scores that 8 bits round too coarsely: what a softmax reads, where its values lie far apart.
#
# A softmax makes factors of differences: a score that is rounded by `d` changes its probability by the factor `e^d`.
# So what counts is the scale itself, not how it compares with the range. Attention that is sure has scores from -60
# to 60, which 8 bits divide in steps of a half: probabilities change by a quarter, in each row.

COARSEST = 0.25
"""The largest scale of scores in 8 bits. The first layer of a small GPT has .43: 16 bits there take its perplexity
from 1.0% to 0.3% above float's, and 16 bits for a layer that has .25 change nothing (`python -m
benchmarks.perplexity`). In all layers of a text encoder they take 9% of its time, and give its embeddings nothing."""


def coarse_scores(function: FuncOp) -> Set[Operation]:
    """What computes the operand of a softmax in `function`, from the product on, where 8 bits are too coarse for it."""
    found: set[Operation] = set()
    todo = [op.operands[0] for op in function.walk() if isinstance(op, Quantizable) and _is_coarse(op)]
    while todo:
        op = todo.pop().owner
        if not isinstance(op, Quantizable) or op in found:
            continue
        operands = computed_operands(op)
        if isinstance(op, MultipliesAndAdds) or is_passed_on(op) or _is_scaled(op, len(operands)):
            found.add(op)
            todo += [] if isinstance(op, MultipliesAndAdds) else operands
    return found


def _is_scaled(op: Operation, computed: int) -> bool:
    """Whether `op` multiplies one value by a constant, or divides it."""
    return isinstance(op, MulOp | DivOp) and computed == 1


def _is_coarse(op: Quantizable) -> bool:
    seen = observed(op.operands[0]) if op.quantization_slots().divides_one else None
    return seen is not None and max(seen.maximum, 0.0) - min(seen.minimum, 0.0) > 255 * COARSEST


# Values joined of parts that differ much in size: one scale of 8 bits leaves the smaller part few codes.
#
# What is concatenated has one type, and so has what is cut into parts: the hidden state and the cell of a recurrent
# layer in one tensor, or the boxes and the scores of a detector. A part that is 16 times smaller than the largest
# has 16 codes of 256. In 16 bits it has those of 8 bits and more; a product that reads the part alone rounds it to 8
# bits of its own.
#
# A dense block joins a joined value again, layer after layer, so that its first part may be far smaller than the
# last one though each joined pair differs little. This matters if a constant multiplies the channels of the whole to
# equal sizes, as the normalization behind the join does.

LARGEST = 16.0
"""The largest ratio of the ranges of two parts that 8 bits hold: half of the bits are left for the smaller one."""

MATTERS = 1 / 4
"""A part of the size of the largest one, or of this share of it, after a constant has multiplied them, is needed."""

SMALLEST = float(np.finfo(np.float32).tiny)
"""What has a smaller range was 0 throughout, as an empty cache is: zeros are in every type."""


def uneven_values(function: FuncOp, in_float: Container[Operation] = ()) -> Set[SSAValue]:
    """The values of `function` that have one type with a part of themselves that is far smaller or larger, sums of such
    values, and the products of activations that sums add up to such a value.

    What computes `in_float` gives no values one type.
    """
    groups, found = Groups(), list[SSAValue]()
    for op in function.walk():
        if not isinstance(op, Quantizable) or op in in_float:
            continue
        data, results = computed_operands(op), [result for result in op.results if is_f32(result)]
        groups.join_by(op, data, results)
        if op.quantization_slots().shares_parameters and _is_uneven(op, [*data, *results]):
            found += results
        if isinstance(op, MulOp) and len(data) == 1 and _levels_parts(op, data[0]):
            found += data
    uneven = {member for value in found for member in groups.members(value)}
    for op in function.walk():  # a sum with something else has the parts still
        if uneven and isinstance(op, Quantizable) and is_passed_on(op) and not uneven.isdisjoint(computed_operands(op)):
            uneven.update(*map(groups.members, filter(is_f32, op.results)))
    for op in function.walk():  # and is no finer than the products that it adds: the old and the new part of a cell
        if isinstance(op, AddOp | SubOp) and not uneven.isdisjoint(op.results):
            uneven.update(value for value in computed_operands(op) if isinstance(value.owner, MulOp))
    return uneven


def uneven_results(function: FuncOp) -> Set[Operation]:
    """The operations of `function` whose result is among `uneven_values`."""
    return makers(uneven_values(function))


def makers(values: Iterable[SSAValue]) -> set[Operation]:
    """The operations that give `values`."""
    return {value.owner for value in values if isinstance(value.owner, Operation)}


def _is_uneven(op: Quantizable, values: list[SSAValue]) -> bool:
    """Whether the ranges of `values`, which `op` moves, differ by more than `LARGEST`; with a constant, they may."""
    if any(is_f32(operand) and constant_array(operand) is not None for operand in op.operands):
        return False
    sizes = [max(ends[1], 0.0) - min(ends[0], 0.0) for value in values if (ends := observed_range(value))]
    held = [size for size in sizes if size > SMALLEST]
    return len(held) > 1 and max(held) > LARGEST * min(held)


def _levels_parts(op: MulOp, joined: SSAValue) -> bool:
    """Whether the constant of `op` makes parts of `joined` alike of which one is far smaller than the whole."""
    if not isinstance(join := joined.owner, ConcatOp) or observed_range(joined) is None:
        return False
    factors = next(array for value in op.operands if (array := constant_array(value)) is not None)
    shape, axis = shape_of(joined), join.axis.value.data % len(shape_of(joined))
    factors = np.abs(factors.reshape(*(1,) * (len(shape) - factors.ndim), *factors.shape))
    if factors.ndim != len(shape) or factors.shape[axis] != shape[axis]:
        return False
    by_channel = np.moveaxis(factors, axis, 0).reshape(shape[axis], -1).mean(1)
    parts = list(_leaves(joined, axis))
    if min(size for size, _ in parts) < 0:
        return False
    factors_of_parts = np.split(by_channel, np.cumsum([size for size, _ in parts])[:-1])
    sizes = [(reach, reach * own.mean()) for (_, reach), own in zip(parts, factors_of_parts, strict=True) if own.size]
    held = [(before, after) for before, after in sizes if before > SMALLEST]
    largest, needed = (max((each[at] for each in held), default=0.0) for at in (0, 1))
    return any(before * LARGEST < largest and after >= MATTERS * needed for before, after in held)


def _leaves(value: SSAValue, axis: int) -> Iterator[tuple[int, float]]:
    """The size along `axis` and the range of each part that `value` was joined of, also step by step."""
    open_ = [value]
    while open_:
        part = open_.pop()
        size, join = shape_of(part)[axis], part.owner
        if size and isinstance(join, ConcatOp) and join.axis.value.data % len(shape_of(part)) == axis:
            open_.extend(reversed(join.inputs))
        else:
            yield size, width([part])


# Results that a model gives in a fraction of their fixed range: the boxes of a detector, sigmoids that stay near
# 1/2.
#
# A function of a fixed range has a type of that range, so that no input leaves it. In 8 bits what uses a tenth of it
# has 26 levels, where its operand had 256. Inside a model that is one rounding among many, and 16 bits would make
# products slower; of what leaves the model it is the last rounding, and 16 bits are a table of as many entries. The
# observed range would cut off what no sample had.

_LARGEST_PART = 0.5
"""How much of a fixed range may be observed: where a sigmoid or tanh uses all of it, 16 bits gain 0.2 to 0.7 dB, as the
rounding of its operand is as large, and cost a small kernel 20 to 30% of its time."""


def _uses_little(op: Quantizable) -> bool:
    slots, seen = op.quantization_slots(), observed(op.results[0])
    if slots.divides_one or slots.fixed_output is None or seen is None:
        return False
    width = slots.fixed_output.maximum - slots.fixed_output.minimum
    return seen.maximum - seen.minimum < _LARGEST_PART * width


def _behind(op: Operation) -> Iterator[Quantizable]:
    """What the operands of `op` come from that nothing else reads, through movement."""
    for value in op.operands:
        owner = value.owner
        if isinstance(owner, Quantizable) and value.has_one_use():
            yield owner


def given_in_part(function: FuncOp) -> Set[Operation]:
    """The operations of `function` whose results it gives, and no more than half of their fixed range was observed.

    What only moves such a result on its way out is among them, as it has the same type.
    """
    found = set[Operation]()
    for end in (op for op in function.walk() if isinstance(op, ReturnOp)):
        for op in _behind(end):
            movers = list[Operation]()
            while op.quantization_slots().shares_parameters and len(computed_operands(op)) == 1:
                movers.append(op)
                before = list(_behind(op))
                if len(before) != 1:
                    break
                (op,) = before
            if _uses_little(op):
                found.update((op, *movers))
    return found


# Results that 8 bits of their fixed range lose: probabilities of rows of many elements.
#
# The elements of a row of a softmax add up to 1. In 8 bits one step is 1/256, and a row of 256 elements of equal
# weight has one step for each; of 1500, as an encoder of speech attends to, nothing is left. The range cannot be
# narrower: one row that attends to a single element needs all of it.

_LEVELS = 256

ENOUGH = 30.0
"""How far the values have to be above the noise of rounding, in decibels: as far as a layer in 8 bits is."""


# Rounding to steps of s adds noise with the mean square s^2 / 12. The mean square of the values is known: it is the
# squared mean and the squared deviation.
def _is_faint(op: Quantizable) -> bool:
    slots, seen = op.quantization_slots(), observed(op.results[0])
    if not slots.divides_one or slots.fixed_output is None or seen is None or seen.statistics is None:
        return False
    step = (slots.fixed_output.maximum - slots.fixed_output.minimum) / _LEVELS
    power = seen.statistics.mean**2 + seen.statistics.deviation**2
    return 10 * math.log10(power / (step**2 / 12)) < ENOUGH if power else False


def faint_results(function: FuncOp) -> set[Operation]:
    """The operations of `function` whose results are below 30 dB in 8 bits, by the recorded statistics."""
    return {op for op in function.walk() if isinstance(op, Quantizable) and op.results and _is_faint(op)}


# What products of few terms make too much of: the rounding of 8 bits, which they leave larger than it was.
#
# A product of many terms averages the rounding of its data out, and its result grows with the data. A depthwise
# convolution has nine terms of one channel, and where its kernel takes differences of neighbours, or its channel is
# far smaller than the range of them all, what comes out is hardly larger than the rounding of what went in. How
# large both are is known: the scale of the data and the weights give the one, the recorded deviation of the result
# the other.


def depthwise(function: FuncOp) -> Set[Operation]:
    """The depthwise convolutions of `function` with constant weights: products of so few terms that errors add up.

    A channel's rounded weights shift the mean of its result, and no other channel makes up for that.
    """
    return {op for op in function.walk() if isinstance(op, ConvOp) and _is_depthwise(op)}


def _is_depthwise(op: ConvOp) -> bool:
    weights = constant_array(op.weight)
    return weights is not None and weights.ndim >= 3 and weights.shape[1] == 1 and op.group_count != 1


def amplifying(function: FuncOp) -> Set[Operation]:
    """The depthwise convolutions of `function` whose results are below 30 dB over the rounding of their data."""
    return {op for op in function.walk() if isinstance(op, ConvOp) and _amplifies(op)}


# Rounding to steps of s adds noise with the mean square s^2 / 12 to each number, independently. A channel of the result
# has that times the sum of its squared weights; the mean is over channels, as the recorded deviation is.
def _amplifies(op: ConvOp) -> bool:
    weights, data, result = constant_array(op.weight), observed(op.data), observed(op.result)
    if weights is None or not _is_depthwise(op) or data is None or result is None or result.statistics is None:
        return False
    step = (max(data.maximum, 0.0) - min(data.minimum, 0.0)) / (_LEVELS - 1)
    noise = step**2 / 12 * float(np.square(weights, dtype=np.float64).sum()) / len(weights)
    signal = result.statistics.deviation**2
    return signal > 0 and noise > 0 and 10 * math.log10(signal / noise) < ENOUGH


def amplified_results(function: FuncOp) -> Set[Operation]:
    """What computes the data of such convolutions in `function`, from products on: elementwise, of one value each."""
    found: set[Operation] = set()
    todo: list[SSAValue] = [op.operands[0] for op in amplifying(function)]
    while todo:
        op = todo.pop().owner
        if not isinstance(op, Quantizable) or op in found:
            continue
        found.add(op)
        operands = computed_operands(op)
        if isinstance(op, UnaryOp | BinaryOp) and len(operands) == 1:
            todo += operands
    return found
