"""Predicates of recipe rules: find values for which 8 bits lose too much, from statistics and the graph structure."""

import math
from collections.abc import Callable, Container, Iterable, Iterator, Set

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
from qmlir.ir.control_flow import makers, reached, uses_of
from qmlir.ir.interfaces import MultipliesAndAdds, Quantizable, Slot
from qmlir.quantization.profiles.statistics import observed, observed_range, seen_statistics
from qmlir.quantization.retyping import is_f32, is_float, slots_of
from qmlir.quantization.shared_scales import Groups, width

# Residual streams: sums to which many layers add small contributions, and which the norms of these layers read.
#
# The stream of a transformer is a sum that keeps growing, so the contribution of a single layer is comparatively small
# and would be lost in 8 bits, in layer after layer. A norm divides each row by its spread. A stream therefore consists
# of the values that reach a row norm through additions, and the norm results that feed the next addition.


def computed_operands(op: Quantizable) -> list[SSAValue]:
    """Returns the data operands of `op` that are not constant."""
    data = (value for value, slot in op.operands_with_slots() if slot is not None and is_float(value))
    return [value for value in data if constant_array(value) is None]


def residual_values(function: FuncOp) -> Set[SSAValue]:
    """Returns the values of `function` on a residual stream.

    These are:

    - sums of two computed values that a row norm reads;
    - the addends of these sums, except for results of contractions, which are exact until they are added;
    - values in between that are only moved, or shifted by a constant.
    """
    norms = [op for op in function.walk() if isinstance(op, Quantizable) and op.quantization_slots().normalizes_rows]
    summed = [op.operands[0] for op in norms if _adds_up(op.operands[0])]
    found = reached(summed, lambda value: _operands_of(value.owner, is_passed_on))
    return {value for value in found if isinstance(value.owner, Operation)}


def _operands_of(op: object, is_walked: Callable[[Quantizable], bool]) -> list[SSAValue]:
    """Returns the computed operands of `op` if `is_walked` accepts it; none for other operations and blocks."""
    return computed_operands(op) if isinstance(op, Quantizable) and is_walked(op) else []


def computing(starts: Iterable[SSAValue], is_walked: Callable[[Quantizable], bool]) -> set[Quantizable]:
    """Returns the operations that compute the values `starts`.

    If `is_walked` accepts an operation, the operations that compute its operands are also included, recursively.
    """
    values = reached(starts, lambda value: _operands_of(value.owner, is_walked))
    return {op for op in makers(values) if isinstance(op, Quantizable)}


def is_passed_on(op: Quantizable) -> bool:
    """Returns True if `op` only adds or moves values, so that a residual stream passes through it."""
    slots = op.quantization_slots()
    return slots.takes_accumulators or slots.shares_parameters


def _adds_up(value: SSAValue) -> bool:
    """Returns True if `value` is a sum of two computed values, possibly shifted by a constant."""
    while isinstance(op := value.owner, Quantizable) and is_passed_on(op):
        data = computed_operands(op)
        if op.quantization_slots().takes_accumulators and len(data) > 1:
            return True
        if len(data) != 1:
            return False
        (value,) = data
    return False


# Operands of roots and logarithms: near 0, these functions distinguish values that share a code in 8 bits.
#
# If the results of a root range up to `R` in steps of `R / 2^8`, its operands range from `(R / 2^8)^2` to `R^2`, which
# requires 16 bits. Examples are the magnitude of a spectrum, `sqrt(re^2 + im^2)`, a variance, and the logarithm of an
# energy. If a value is squared before a root, the value needs at least the precision of the root: it also has 16 bits,
# and its square has 32. If such a root is a divisor, the root needs the precision of its operand. In contractions of
# nonnegative values, such as the bands of a mel spectrum, terms do not cancel, so the operands need the precision of
# the results.

_LINEAR = (AddOp, SubOp, MaxOp, ClipOp, ReluOp, ReduceSumOp, ReduceMeanOp)
"""Operations whose result needs the same absolute precision as their operands."""


def read_by_roots(function: FuncOp) -> Set[Operation]:
    """Returns the operations that compute operands of roots and logarithms, and the roots that are used as divisors.

    The search goes back to the nearest contractions.
    """
    roots = [op for op in function.walk() if isinstance(op, SqrtOp | LogOp)]
    divisors: set[Operation] = {op for op in roots if isinstance(op, SqrtOp) and any(_divides(op.result))}

    def is_walked(op: Quantizable) -> bool:
        # the root of a scaled value, or of a square, is linear
        is_scaled_or_squared = isinstance(op, MulOp | PowOp) and len(set(computed_operands(op))) == 1
        return isinstance(op, _LINEAR) or is_passed_on(op) or is_scaled_or_squared or adds_up_positive(op)

    return divisors | computing((op.input for op in roots), is_walked)


def adds_up_positive(op: Quantizable) -> bool:
    """Returns True if `op` sums products of values that were never negative.

    Terms do not cancel then, so the data needs the precision of the result, as in the bands of a spectrum.
    """
    factors = (op.operands[position] for position, slot in slots_of(op).items() if slot is not Slot.BIAS)
    return isinstance(op, MultipliesAndAdds) and all(map(_is_positive, factors))


def _is_positive(value: SSAValue) -> bool:
    array, seen = constant_array(value), observed(value)
    return bool((array >= 0).all()) if array is not None else seen is not None and seen.minimum >= 0


def squares_for_roots(function: FuncOp) -> Set[Operation]:
    """Returns the operations in `function` that compute or add squares for a root or a logarithm.

    Squares that a reduction or a contraction sums up are excluded: sums of 32-bit codes would not fit in 32 bits.
    """
    rooted, found = read_by_roots(function), set[Operation]()
    for op in function.walk():
        if op not in rooted or not isinstance(op, Quantizable) or isinstance(op, SqrtOp):
            continue
        operands = computed_operands(op)
        is_of_squares = _is_square(op, operands) or any(operand.owner in found for operand in operands)
        users = {use.operation for use in uses_of(op)}
        sums = (ReduceSumOp, ReduceMeanOp, MultipliesAndAdds)
        if is_of_squares and not any(isinstance(user, sums) for user in (op, *users)):
            found.add(op)
    return found


def _is_square(op: Operation, computed: list[SSAValue]) -> bool:
    """Returns True if `op` is `x * x`, or a power of `x`."""
    return isinstance(op, PowOp) or (isinstance(op, MulOp) and len(computed) == 2 and len(set(computed)) == 1)


def _divides(value: SSAValue) -> Iterator[bool]:
    """Yields True for each user that divides by `value`, with moves allowed in between."""
    for use in value.uses:
        user = use.operation
        if isinstance(user, ReciprocalOp) or (isinstance(user, DivOp) and use.index == 1):
            yield True
        elif isinstance(user, Quantizable) and is_passed_on(user):
            yield from _divides(user.results[0])


# Scores that 8 bits round too coarsely: operands of a softmax with a wide range.
#
# A softmax turns differences into factors: a rounding error `d` in a score multiplies its probability by `e^d`. So the
# absolute size of the scale matters, not its ratio to the range. Confident attention has scores from -60 to 60, which
# 8 bits divide into steps of about 0.5, so probabilities change by up to a quarter in each row.

COARSEST = 0.25
"""The largest 8-bit scale at which scores keep 8 bits.

The first layer of a small GPT has a scale of 0.43. With 16 bits there, the perplexity is 0.3% instead of 1.0% above
that of the float model; with 16 bits in a layer with a scale of 0.25, it does not change
(`python -m benchmarks.perplexity`). In all layers of a text encoder, 16 bits cost 9% of the run time and do not improve
the embeddings.
"""


def coarse_scores(function: FuncOp) -> Set[Operation]:
    """Returns the operations, back to contractions, that compute softmax operands for which 8 bits are too coarse."""
    coarse = [op.operands[0] for op in function.walk() if isinstance(op, Quantizable) and _is_coarse(op)]
    behind = computing(coarse, lambda op: not isinstance(op, MultipliesAndAdds) and _is_passed_on_or_scaled(op))
    return {op for op in behind if isinstance(op, MultipliesAndAdds) or _is_passed_on_or_scaled(op)}


def _is_passed_on_or_scaled(op: Operation) -> bool:
    """Returns True if `op` adds or moves values, multiplies one computed value by a constant, or divides it."""
    if not isinstance(op, Quantizable):
        return False
    return is_passed_on(op) or (isinstance(op, MulOp | DivOp) and len(computed_operands(op)) == 1)


def _is_coarse(op: Quantizable) -> bool:
    seen = observed(op.operands[0]) if op.quantization_slots().divides_one else None
    return seen is not None and max(seen.maximum, 0.0) - min(seen.minimum, 0.0) > 255 * COARSEST


# Values joined from parts of very different magnitude: one 8-bit scale leaves only a few codes for the smaller part.
#
# The operands and the result of a concatenation share a type, and so do a value and its slices. Examples are the hidden
# state and the cell of a recurrent layer in one tensor, and the boxes and scores of a detector. A part that is 16 times
# smaller than the largest one uses only 16 of 256 codes. With 16 bits it has at least as fine a scale as with a
# separate 8-bit type, and a contraction that reads only this part rounds it to such a type.
#
# A dense block concatenates the result of one concatenation again in the next layer. Its first part may therefore be
# far smaller than its last one, although the operands of each concatenation differ little. This matters if a constant
# scales the channels of the whole to equal magnitudes, as the normalization after the concatenation does.

LARGEST = 16.0
"""The largest ratio between the ranges of two parts for which 8 bits suffice: the smaller part still uses 4."""

MATTERS = 1 / 4
"""A small part matters if a constant scales it to at least this fraction of the largest part."""

SMALLEST = float(np.finfo(np.float32).tiny)
"""A value with a smaller range was 0 in all samples, such as an empty cache; any type can represent it."""


def uneven_values(function: FuncOp, in_float: Container[Operation] = ()) -> Set[SSAValue]:
    """Returns the values of `function` that share a type with a far smaller or larger part.

    Sums of such values are included, and products of activations that are added to such a value. The operations in
    `in_float` do not make values share a type.
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
    for op in function.walk():  # a sum with another value still contains the parts
        if uneven and isinstance(op, Quantizable) and is_passed_on(op) and not uneven.isdisjoint(computed_operands(op)):
            uneven.update(*map(groups.members, filter(is_f32, op.results)))
    for op in function.walk():  # and needs as much precision as the products that it adds: both parts of a cell
        if isinstance(op, AddOp | SubOp) and not uneven.isdisjoint(op.results):
            uneven.update(value for value in computed_operands(op) if isinstance(value.owner, MulOp))
    return uneven


def _is_uneven(op: Quantizable, values: list[SSAValue]) -> bool:
    """Returns True if the ranges of `values`, which `op` moves, differ by more than `LARGEST`.

    Returns False if an operand is constant.
    """
    if any(is_f32(operand) and constant_array(operand) is not None for operand in op.operands):
        return False
    sizes = [max(ends[1], 0.0) - min(ends[0], 0.0) for value in values if (ends := observed_range(value))]
    held = [size for size in sizes if size > SMALLEST]
    return len(held) > 1 and max(held) > LARGEST * min(held)


def _levels_parts(op: MulOp, joined: SSAValue) -> bool:
    """Returns True if the constant of `op` equalizes the parts of `joined`, and one part is far smaller than the
    whole."""
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
    """Yields the size along `axis` and the range of each part from which `value` was joined, possibly in steps."""
    open_ = [value]
    while open_:
        part = open_.pop()
        size, join = shape_of(part)[axis], part.owner
        if size and isinstance(join, ConcatOp) and join.axis.value.data % len(shape_of(part)) == axis:
            open_.extend(reversed(join.inputs))
        else:
            yield size, width([part])


# Outputs that use a fraction of their fixed range: the boxes of a detector, sigmoids that stay near 1/2.
#
# The result of a function with a fixed range has a type of this range, so that no input exceeds it. An 8-bit result
# that uses a tenth of the range has 26 levels, whereas its operand has 256. Inside a model, this is one rounding among
# many, and 16 bits would make contractions slower. At an output, it is the last rounding, and 16 bits only require a
# larger lookup table. A type of the observed range would saturate values that no sample contained.

_LARGEST_PART = 0.5
"""The fraction of a fixed range below which an output has 16 bits.

If a sigmoid or tanh uses all of its range, 16 bits gain 0.2 to 0.7 dB, because the rounding of its operand is as large,
and cost a small kernel 20 to 30% of its time.
"""


def _uses_little(op: Quantizable) -> bool:
    slots, seen = op.quantization_slots(), observed(op.results[0])
    if slots.divides_one or slots.fixed_output is None or seen is None:
        return False
    width = slots.fixed_output.maximum - slots.fixed_output.minimum
    return seen.maximum - seen.minimum < _LARGEST_PART * width


def _behind(op: Operation) -> Iterator[Quantizable]:
    """Yields the producers of the operands of `op` that have no other reader."""
    for value in op.operands:
        owner = value.owner
        if isinstance(owner, Quantizable) and value.has_one_use():
            yield owner


def given_in_part(function: FuncOp) -> Set[Operation]:
    """Returns the producers of outputs of `function` that used less than half of their fixed range in all samples.

    Operations that only move such a result before it is returned are included, because they share its type.
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


# Results that 8 bits of their fixed range cannot represent: probabilities of long rows.
#
# The elements of a softmax row add up to 1, and one 8-bit step is 1/256. In a row of 256 equal elements, each element
# is one step. In a row of 1500 equal elements, as in the attention of a speech encoder, all elements round to 0. The
# range cannot be narrower, because a row that attends to a single element needs all of it.

_LEVELS = 256

ENOUGH = 30.0
"""The SQNR in decibels below which a result counts as lost; a typical 8-bit layer reaches it."""


# Rounding to steps of size s adds noise with mean square s^2 / 12. The mean square of the values is the squared mean
# plus the squared deviation, both of which are recorded.
def _is_faint(op: Quantizable) -> bool:
    slots, seen = op.quantization_slots(), seen_statistics(op.results[0])
    if not slots.divides_one or slots.fixed_output is None or seen is None:
        return False
    step = (slots.fixed_output.maximum - slots.fixed_output.minimum) / _LEVELS
    power = seen.mean**2 + seen.deviation**2
    return 10 * math.log10(power / (step**2 / 12)) < ENOUGH if power else False


def faint_results(function: FuncOp) -> set[Operation]:
    """Returns the operations whose results would have an SQNR below 30 dB in 8 bits, by their statistics."""
    return {op for op in function.walk() if isinstance(op, Quantizable) and op.results and _is_faint(op)}


# Contractions of few terms that amplify the 8-bit rounding of their data.
#
# A contraction of many terms averages out the rounding errors of its data. A depthwise convolution often has only nine
# terms, all from one channel. If its kernel computes differences of neighbors, or if its channel is far smaller than
# the range of all channels, the result is hardly larger than the error due to rounding the data. Both magnitudes are
# known: the error from the scale of the data and the weights, and the result from its recorded deviation.


def depthwise(function: FuncOp) -> Set[Operation]:
    """Returns the depthwise convolutions of `function` with constant weights.

    With so few terms, rounding errors do not average out: rounding a channel's weights shifts the mean of its result,
    and no other channel compensates for this shift.
    """
    return {op for op in function.walk() if isinstance(op, ConvOp) and _is_depthwise(op)}


def _is_depthwise(op: ConvOp) -> bool:
    weights = constant_array(op.weight)
    return weights is not None and weights.ndim >= 3 and weights.shape[1] == 1 and op.group_count != 1


def amplifying(function: FuncOp) -> Set[Operation]:
    """Returns the depthwise convolutions whose results are less than 30 dB above the error from rounding their data."""
    return {op for op in function.walk() if isinstance(op, ConvOp) and _amplifies(op)}


# Rounding to steps of size s adds independent noise with mean square s^2 / 12 to each element. In a channel of the
# result, this noise is multiplied by the sum of the squared weights. The mean is over all channels, like the recorded
# deviation.
def _amplifies(op: ConvOp) -> bool:
    weights, data, result = constant_array(op.weight), observed(op.data), seen_statistics(op.result)
    if weights is None or not _is_depthwise(op) or data is None or result is None:
        return False
    step = (max(data.maximum, 0.0) - min(data.minimum, 0.0)) / (_LEVELS - 1)
    noise = step**2 / 12 * float(np.square(weights, dtype=np.float64).sum()) / len(weights)
    signal = result.deviation**2
    return signal > 0 and noise > 0 and 10 * math.log10(signal / noise) < ENOUGH


def amplified_results(function: FuncOp) -> Set[Operation]:
    """Returns the operations, back to the nearest contractions, that compute the data of `amplifying` convolutions.

    The operations after these contractions are elementwise, with one computed operand.
    """
    data = (op.operands[0] for op in amplifying(function))
    return computing(data, lambda op: isinstance(op, UnaryOp | BinaryOp) and len(computed_operands(op)) == 1)
