"""Operations next to inputs and outputs that stay in float, because integers would lose too much of their results.

A model with inputs and outputs in physical units begins with `(x - mean) / deviation` and ends with `y * scale +
offset`. A pressure of 1013 that varies by 25 takes only a dozen distinct values in 8 bits. If the caller passes floats
anyway, such operations cost nothing in float: the input is quantized after them, and the output is dequantized before
them. A concatenation that only outputs read needs no common type either.

If the scaler of an input is folded into the first contraction, no operation is left to stay in float. Columns of small
inputs then have proportionally larger weights, so the contraction needs 16-bit data and weights. If 16 bits also lose
too much, the contraction and its bias stay in float.

The loss of an operation is predicted from the recorded statistics. Rounding to steps of size `s` adds noise with mean
square `s^2 / 12`, which constants scale element by element. This noise is compared with the variation of the value next
to the contractions, not with its power, because a mean that a constant adds carries no information.

The branches of an `scf.if` belong to the function: a value that they yield is an output if the corresponding result of
the `scf.if` is one. A value also counts as an output if some of its users only make a decision with it, such as a
comparison or an ArgMax.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects import scf
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue, Use

from qmlir.arithmetic.schemes import F64
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.contraction.ops import MatMulOp
from qmlir.dialects.nn.elementwise.ops import AddOp, BinaryOp, ComparisonOp, DivOp, MulOp, NegOp, SubOp, UnaryOp
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.control_flow import forwarded, uses_of
from qmlir.ir.decomposition import is_part, role_of
from qmlir.ir.float_reasons import FloatCause
from qmlir.ir.interfaces import MultipliesAndAdds, Quantizable, Slot
from qmlir.ir.provenance import describe
from qmlir.quantization.choice import Choice
from qmlir.quantization.predicates import ENOUGH, computed_operands
from qmlir.quantization.profiles.statistics import observed, observed_range, seen_statistics
from qmlir.quantization.retyping import is_f32, may_be_quantized, place_of, reads_weights, slots_of
from qmlir.quantization.shared_scales import WORTH, width

_AMPLIFIED = 6.0
"""The least number of decibels that the weights must cost an input to be the cause; equal columns cost none."""

_OTHER_UNIT = 1e-3
"""A channel whose weights have less than this fraction of the mean square of all counts as one of a different unit."""

_LEAST_LEVELS = 256
"""The least number of levels for which loss is predicted: a request for fewer than 8 bits accepts the loss."""

_WIDE_LEVELS = 1 << 16
"""The number of levels of the data and weights of a contraction with a folded scaler."""

Wish = Callable[[Operation, Slot], Choice]
"""A function that returns the settings that a recipe chooses for the value in a slot of an operation."""


@dataclass(frozen=True)
class Edges:
    """The operations next to inputs and outputs of a function that lose too much in integers."""

    in_float: dict[Operation, str] = field(default_factory=dict[Operation, str])
    """The operations that should stay in float, each with the reason."""

    sums: set[SSAValue] = field(default_factory=set[SSAValue])
    """The results of contractions that `in_float` operations or outputs read: 32-bit sums that are not rounded."""

    wide: set[Operation] = field(default_factory=set[Operation])
    """Contractions with a column scaler folded into their weights, which amplify the rounding of an input."""


def _decibels(ratio: float) -> float:
    """Returns the SQNR in decibels for noise that is `ratio` times the signal."""
    return -10 * math.log10(ratio) if ratio > 0 else math.inf


def _deviation(value: SSAValue) -> float:
    """Returns the recorded deviation of `value`, or that of a uniform distribution if only the range is known."""
    seen = observed(value)
    if seen is None:
        return 0.0
    return seen.statistics.deviation if seen.statistics is not None else (seen.maximum - seen.minimum) / math.sqrt(12)


def _power(value: SSAValue) -> float:
    """Returns the mean square of `value`."""
    known, ends = seen_statistics(value), observed_range(value) or (0.0, 0.0)
    mean = sum(ends) / 2 if known is None else known.mean
    return mean**2 + _deviation(value) ** 2


def _relative(noise: F64, signal: F64) -> float:
    """Returns the mean ratio of noise to signal over the elements with a signal, each at most 1."""
    noise, signal = np.broadcast_arrays(noise, signal)
    if not (signal > 0).any():
        return 0.0
    return float(np.minimum(noise[signal > 0] / signal[signal > 0], 1.0).mean())


def _constant(op: Operation) -> tuple[F64, int] | None:
    """Returns the constant operand of a binary operation and its index, if exactly one operand is constant."""
    arrays = {position: array for position, array in enumerate(map(constant_array, op.operands)) if array is not None}
    if len(op.operands) != 2 or len(arrays) != 1:
        return None
    ((position, array),) = arrays.items()
    return array.astype(np.float64), position


def _gain(op: Operation) -> F64 | None:
    """Returns the squared factor by which an affine operation scales each element; `None` for any other operation."""
    found = _constant(op)
    if isinstance(op, NegOp) or (isinstance(op, AddOp | SubOp) and found is not None):
        return np.ones(())
    if found is None or not np.isfinite(found[0]).all():
        return None
    if isinstance(op, MulOp):
        return found[0] ** 2
    if isinstance(op, DivOp) and found[1] == 1 and found[0].all():
        return found[0] ** -2
    return None


@dataclass
class _Reader:
    """Finds the edges of one function."""

    function: FuncOp
    wish: Wish
    states: Set[SSAValue]
    ignored: Set[Operation]

    def __post_init__(self) -> None:
        self._variations: dict[SSAValue, F64] = {}
        ops = list(_with_branches(self.function.body.block))
        roles = Counter(role_of(op) for op in ops if is_part(op))
        # The steps of a recurrent layer are alike: the last one is not an edge, or the layer could not be raised.
        repeated = {role for role, count in roles.items() if count > 1}
        kept = (op for op in ops if isinstance(op, Quantizable) and may_be_quantized(op) and op not in self.ignored)
        self.operations = [op for op in kept if op.results and role_of(op) not in repeated]

    # --- Loss by rounding ---------------------------------------------------------------------------------------------

    def _noise(self, value: SSAValue) -> float:
        """Returns the mean square of the noise from rounding `value` to its own type."""
        owner, slot = value.owner, Slot.OUTPUT
        if not isinstance(owner, Operation):
            users = (use.operation for use in value.uses if isinstance(use.operation, Quantizable))
            owner, slot = next(users, None), Slot.INPUT
        if owner is None:
            return 0.0
        choice, reach = self.wish(owner, slot), width([value])
        slots = owner.quantization_slots() if isinstance(owner, Quantizable) and slot is Slot.OUTPUT else None
        if (slots is None or slots.fixed_output is None) and (seen := observed(value)) is not None:
            low, high = seen.range(choice) if seen.statistics is not None else (seen.minimum, seen.maximum)
            low, high = min(low, 0.0), max(high, 0.0)
            reach = 2 * max(-low, high) if choice.scheme.is_symmetric else high - low
        return (reach / max(choice.storage.levels - 1, _LEAST_LEVELS - 1)) ** 2 / 12

    def _variation(self, value: SSAValue) -> F64:
        """Returns the mean square of the variation of each element of `value`, scaled by its constants."""
        scaled: list[tuple[SSAValue, F64]] = []
        while value not in self._variations and isinstance(op := value.owner, Quantizable):
            gain, computed = _gain(op), computed_operands(op)
            if gain is None or len(computed) != 1:
                break
            scaled.append((value, gain))
            (value,) = computed
        if value not in self._variations:
            op, own = value.owner, np.asarray(_deviation(value) ** 2)
            shares = self._shares_of_channels(op) if isinstance(op, MatMulOp) else None
            self._variations[value] = own if shares is None else own * shares
        found = self._variations[value]
        for each, gain in reversed(scaled):
            self._variations[each] = found = found * gain
        return found

    @staticmethod
    def _shares_of_channels(op: Quantizable) -> F64 | None:
        """Returns the variation of a contraction's channels relative to their mean, 1 for those in the usual unit."""
        slots, position = op.quantization_slots(), place_of(op, Slot.WEIGHT)
        weights = None if position is None else constant_array(op.operands[position])
        axis, along = slots.weight_channel_axis, slots.result_channel_axis
        if weights is None or axis is None or along is None or len(op.results) != 1:
            return None
        squares = np.square(np.moveaxis(weights, axis, 0).reshape(weights.shape[axis], -1), dtype=np.float64).sum(1)
        squares = np.tile(squares, slots.channel_repeats)
        behind = len(shape_of(op.results[0])) - 1 - along
        if not squares.any():
            return None
        shares = squares / squares.mean()
        return np.where(shares < _OTHER_UNIT, shares, 1.0).reshape(-1, *(1,) * behind)

    # --- Outputs ------------------------------------------------------------------------------------------------------

    def _all_leave(self, uses: list[Use], leaving: Set[Operation]) -> bool:
        """Returns True if only float outputs and operations in `leaving` read the values of these `uses`."""
        read = [use for use in uses if not _decides(use.operation)]
        return bool(read) and all(
            use.operation in leaving or use.operation in self.ignored or self._is_output(use, leaving) for use in read
        )

    def _is_output(self, use: Use, leaving: Set[Operation]) -> bool:
        """Returns True if a use makes a value a float output, directly or as the result of a branch."""
        value, user = use.operation.operands[use.index], use.operation
        if not is_f32(value) or value in self.states:
            return False
        choice = user.parent_op()
        if isinstance(user, scf.YieldOp) and isinstance(choice, scf.IfOp):
            taken = [each.taken for each in forwarded(choice) if each.user is user and each.position == use.index]
            return self._all_leave([after for result in taken for after in result.uses], leaving)
        return isinstance(user, ReturnOp)

    def outputs(self) -> Edges:
        """Returns the operations between contractions and outputs that lose too much."""
        found, leaving, losing = Edges(), set[Operation](), dict[Operation, str]()
        read: dict[Operation, bool] = {}
        for op in reversed(self.operations):
            if not self._all_leave(uses_of(op), leaving):
                continue
            if _is_transparent(op):
                leaving.add(op)
                if not is_part(op) and (lost := self._lost_by_joining(op)) > WORTH:
                    losing[op] = FloatCause.OUTPUT_JOIN.reason(lost=lost)
            elif _is_elementwise(op) and (reached := self._at_output(op)) < ENOUGH:
                leaving.add(op)
                losing[op] = FloatCause.OUTPUT_LOSS.reason(reached=reached)
            elif self._is_product(op) and (self._is_read(op, losing, read) or self._at_output(op) < ENOUGH):
                found.sums.add(op.results[0])
        for op in self.operations:
            before = [value.owner for value in computed_operands(op) if isinstance(value.owner, Operation)]
            cause = next((each for each in before if each in found.in_float), None)
            if op in losing:
                found.in_float[op] = losing[op]
            elif cause is not None and (op in leaving or _decides(op)):
                kind = FloatCause.OUTPUT_MOVE if op in leaving else FloatCause.OUTPUT_CHOICE
                found.in_float[op] = kind.reason(op=describe(cause))
            elif op in leaving and not found.sums.isdisjoint(computed_operands(op)):
                found.in_float[op] = FloatCause.OUTPUT_SUM.reason()
        return found

    def _is_read(self, op: Operation, losing: dict[Operation, str], known: dict[Operation, bool]) -> bool:
        """Returns True if an operation in `losing` reads a result of `op`, moved or not; `known` caches results."""
        if op not in known:
            users = {use.operation for use in uses_of(op) if isinstance(use.operation, Quantizable)}
            known[op] = any(user in losing and _is_elementwise(user) for user in users) or any(
                self._is_read(user, losing, known) for user in users if _is_transparent(user)
            )
        return known[op]

    @staticmethod
    def _is_product(op: Quantizable) -> bool:
        slots = op.quantization_slots()
        is_contraction = reads_weights(op) and slots.weight_channel_axis is not None
        return is_contraction and len(op.results) == 1

    def _at_output(self, op: Quantizable) -> float:
        """Returns the SQNR of the result of `op`, rounded to its type."""
        (result,) = op.results
        rounded = result
        while (user := _only_user(rounded)) is not None and user.quantization_slots().limits_operand:
            (rounded,) = user.results  # the result has the type of the clamp
        own = _relative(np.asarray(self._noise(rounded)), self._variation(result))
        computed = computed_operands(op)
        if _is_elementwise(op) and len(computed) == 1:
            (before,) = computed
            is_sum = isinstance(before.owner, Quantizable) and self._is_product(before.owner)
            taken = 0.0 if is_sum else _relative(np.asarray(self._noise(before)), self._variation(before))
            if _decibels(taken) - _decibels(taken + own) <= WORTH:
                return math.inf
        return _decibels(own)

    def _lost_by_joining(self, op: Quantizable) -> float:
        """Returns the decibels that the joined range costs the smallest operand of `op`; 0 for a single operand."""
        values = [op.operands[position] for position in slots_of(op)]
        known = [array for value in values if (array := constant_array(value)) is not None and array.size]
        low = min((float(array.min()) for array in known), default=0.0)
        high = max((float(array.max()) for array in known), default=0.0)
        computed = computed_operands(op)
        if len(values) < 2 or not all(map(math.isfinite, (low, high))):
            return 0.0
        own = [size for value in computed if (size := width([value])) > 0]
        joined = max(width(computed), high - min(low, 0.0))
        return 20 * math.log10(joined / min(own)) if own else 0.0

    # --- Inputs -------------------------------------------------------------------------------------------------------

    def inputs(self) -> Edges:
        """Returns the operations between inputs and contractions that lose too much."""
        noises: dict[SSAValue, F64] = {}
        entering: dict[Operation, None] = {}
        for op in self.operations:
            computed = computed_operands(op)
            if not computed or not (_is_elementwise(op) or _is_transparent(op)):
                continue
            for value in computed:
                if isinstance(value, BlockArgument) and is_f32(value) and value not in self.states:
                    noises.setdefault(value, np.asarray(self._noise(value)))
            if all(value in noises for value in computed) and all(map(is_f32, op.results)):
                entering[op] = None
                noises |= {result: self._propagated(op, result, noises) for result in op.results}
        found, todo = Edges(), list[tuple[Operation, str]]()
        for op in self.operations:
            if isinstance(op, MatMulOp) and (lost := self._lost_by_weights(op, noises)):
                if (reached := lost[1]) < ENOUGH:
                    reason = FloatCause.INPUT_SCALER.reason(reached=reached)
                    found.in_float.update(dict.fromkeys((op, *_biases(op)), reason))
                else:
                    found.wide.add(op)
        for op in entering:
            for result in op.results:
                if self._is_taken(result, entering) and (reached := self._at_input(result, noises)) < ENOUGH:
                    todo.append((op, FloatCause.INPUT_LOSS.reason(reached=reached)))
        while todo:
            op, reason = todo.pop()
            if op not in found.in_float:
                found.in_float[op] = reason
                makers = (value.owner for value in op.operands)
                todo += [(before, reason) for before in makers if isinstance(before, Operation) and before in entering]
        return found

    # As for depthwise convolutions: a contraction of few large and many small weights averages nothing out. The weights
    # differ as much as the columns, so they also need more bits.
    def _lost_by_weights(self, op: MatMulOp, noises: dict[SSAValue, F64]) -> tuple[float, float] | None:
        """Returns the SQNR of the result of `op` in 8 and in 16 bits, if 8 bits of weights and input lose too much.

        Returns `None` if the SQNR in 8 bits is at least `ENOUGH`, or not far below that of the input itself.
        """
        weights, is_input = constant_array(op.rhs), isinstance(op.lhs, BlockArgument) and op.lhs not in self.states
        if weights is None or weights.ndim != 2 or not weights.size or not is_f32(op.lhs):
            return None
        if not is_input and op.lhs not in noises:
            return None
        if self.wish(op, Slot.WEIGHT).storage.levels < _LEAST_LEVELS - 1:  # symmetric 8 bits have one level fewer
            return None
        columns, channels = (weights.T if op.is_rhs_transposed else weights).shape
        seen = seen_statistics(op.lhs)
        if seen is None or seen.moments.zeros * columns >= seen.count:
            return None  # a column that was always 0 can have arbitrary weights
        steps = 2 * np.abs(weights).max(-1 if op.is_rhs_transposed else -2) / (_LEAST_LEVELS - 1)
        of_weights = float(np.square(steps, dtype=np.float64).mean()) / 12 * columns * _power(op.lhs)
        of_data = self._noise(op.lhs) * float(np.square(weights, dtype=np.float64).sum()) / channels
        signal, finer = np.asarray(_deviation(op.result) ** 2), ((_LEAST_LEVELS - 1) / (_WIDE_LEVELS - 1)) ** 2
        before = _relative(np.asarray(self._noise(op.lhs)), np.asarray(_deviation(op.lhs) ** 2))
        after, wide = (_relative(np.asarray((of_data + of_weights) * each), signal) for each in (1.0, finer))
        if _decibels(after) >= ENOUGH or _decibels(before) - _decibels(after) <= _AMPLIFIED:
            return None
        return _decibels(after), _decibels(wide)

    def _is_taken(self, value: SSAValue, entering: dict[Operation, None]) -> bool:
        """Returns True if an operation other than an edge computes with `value`."""
        return any(isinstance(use.operation, Quantizable) and use.operation not in entering for use in value.uses)

    def _at_input(self, value: SSAValue, noises: dict[SSAValue, F64]) -> float:
        signal = np.asarray(_deviation(value) ** 2)
        rounded = _relative(np.asarray(self._noise(value)), signal)
        reached = _relative(noises[value], signal)
        return _decibels(reached) if _decibels(rounded) - _decibels(reached) > WORTH else math.inf

    def _propagated(self, op: Quantizable, result: SSAValue, noises: dict[SSAValue, F64]) -> F64:
        """Returns the mean square of the rounding noise in each element of `result`, from all roundings up to it."""
        computed = computed_operands(op)
        if _is_transparent(op):
            joined = self._noise(result) if len(computed) > 1 else 0.0
            return np.asarray(sum(float(noises[value].mean()) for value in computed) / len(computed) + joined)
        own = self._noise(result)
        if (gain := _gain(op)) is not None:
            return noises[computed[0]] * gain + own
        if isinstance(op, AddOp | SubOp):
            return sum((noises[value] for value in computed), np.zeros(())) + own
        if isinstance(op, BinaryOp) and len(computed) == 2:
            parts = [noises[value] / _power(value) for value in computed if _power(value) > 0]
            return _power(result) * sum(parts, np.zeros(())) + own
        before, after = _deviation(computed[0]), _deviation(result)
        return noises[computed[0]] * ((after / before) ** 2 if before > 0 else 0.0) + own


def _with_branches(block: Block) -> Iterator[Operation]:
    """Yields the operations of `block`, including those in branches of `scf.if`, in order."""
    for op in block.ops:
        yield op
        if isinstance(op, scf.IfOp):
            for inner in (block for region in op.regions for block in region.blocks):
                yield from _with_branches(inner)


def _decides(op: Operation) -> bool:
    """Returns True if `op` has no float result, as for a comparison or an ArgMax."""
    return isinstance(op, Quantizable) and bool(op.results) and not any(map(is_f32, op.results))


def _biases(op: Operation) -> Iterator[Operation]:
    """Yields the additions of constants to the result of `op` before any other operation reads it."""
    while isinstance(user := _only_user(op.results[0]), AddOp | SubOp) and _constant(user) is not None:
        yield (op := user)


def _only_user(value: SSAValue) -> Quantizable | None:
    users = {use.operation for use in value.uses}
    user = users.pop() if len(users) == 1 else None
    return user if isinstance(user, Quantizable) else None


def _is_elementwise(op: Operation) -> bool:
    """Returns True if `op` computes and rounds each element independently."""
    is_arithmetic = isinstance(op, UnaryOp | BinaryOp) and not isinstance(op, ComparisonOp)
    return is_arithmetic and isinstance(op, Quantizable) and not op.quantization_slots().limits_operand


def _is_transparent(op: Quantizable) -> bool:
    """Returns True if `op` rounds nothing: it moves, joins or clamps."""
    slots = op.quantization_slots()
    return slots.shares_parameters or slots.limits_operand


def find_edges(function: FuncOp, wish: Wish, states: Set[SSAValue], ignored: Set[Operation]) -> Edges:
    """Returns the operations of `function` next to inputs and outputs that lose too much in integers.

    `states` are passed to and returned from the function as integers. The operations in `ignored` stay in float anyway.
    A function without contractions has no edges.
    """
    if not any(isinstance(op, MultipliesAndAdds) for op in function.walk()):
        return Edges()
    reader = _Reader(function, wish, states, ignored)
    before, after = reader.inputs(), reader.outputs()
    return Edges(before.in_float | after.in_float, after.sums, before.wide)
