"""Values that are fed back: each step of a recurrence reads values of the previous step, with their rounding errors.

The state of a recurrent cell is such a value. So are the scores of a greedy decoder, which select the token that the
next step reads. In 8 bits, the errors of all steps accumulate, and one wrong token changes all later tokens. Therefore,
each value that is rounded on the path from one state to the next has 16 bits, and the scores also have 16 bits. Weights
keep their width.

Recurrences are found by their structure, however the model writes them:
- a loop whose body computes its carried values from those values;
- a state that the caller feeds back: it is named, or it is an output that a gate mixes with an input of its shape;
- unrolled steps: contractions with the same weights, each of which depends on the previous one;
- a recurrent layer whose results one of the above reads. Other recurrent layers are covered by rules for their parts.

Values that are only moved, such as a cache or the list of all outputs, accumulate no errors.

In a recurrent layer, a gate multiplies the state of the previous step. A gate of 0.99 keeps a state for 100 steps. In 8
bits it becomes 0.988 or 0.992, which keep the state for 85 or 128 steps; a gate of 1 becomes 255/256. `slow_gates`
finds the layers with observed gates so close to 1 that this matters.

All units of a cell state share one scale. If one unit counts the time steps, the scale grows with the count, and the
steps of 16 bits are too coarse for the other units, whose values are about 1. `wide_cells` finds these layers.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.elementwise.ops import AddOp, MulOp, SubOp
from qmlir.dialects.nn.recurrent.decompose import CELL, KEEPING, RECURRENCE, WALKS
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.control_flow import CONTROL, forwarded, makers, reached, together, uses_of
from qmlir.ir.decomposition import is_part, is_repeated, marks_on, role_of
from qmlir.ir.interfaces import MultipliesAndAdds, Quantizable, Slot
from qmlir.ir.provenance import origins_of
from qmlir.quantization.predicates import computed_operands, computing, is_passed_on
from qmlir.quantization.profiles.statistics import observed_range, seen_statistics
from qmlir.quantization.retyping import fixed_range, is_f32, is_float, moves_values, slots_of
from qmlir.quantization.shared_scales import Groups

Pair = tuple[SSAValue, SSAValue]
"""A value computed in one step, and the value through which the next step reads it."""

_LAYERS = {operation.name for operation in WALKS}

_STEPS = 3
"""How many contractions must share weights to count as steps; two layers may share theirs, as in an autoencoder."""

_SAMPLE = 64
"""The number of elements of two weight tensors that are compared before all of them are."""


_GATE_STEP = 2.0**-8
"""The scale of a gate in 8 bits, whose largest value is 1 - `_GATE_STEP`."""

_MOST_NOISE = 1e-3
"""The largest accepted mean square of the relative error of a state due to the rounding of its gate: 30 dB."""

_WIDEST_CELL = 64.0
"""The largest range of a cell state for 16 bits: its scale is then 2^-10. The tanh of a unit near 0 has the scale 2^-7
in 8 bits, so the rounding errors of 64 steps add up to at most that of the tanh."""


@dataclass(frozen=True)
class Feedback:
    """The values of a function that are fed back."""

    makers: Set[Operation] = frozenset()
    """The operations that compute values that are fed back."""

    states: Sequence[Pair] = ()
    """Outputs that the caller presumably feeds back although no option names them, each with its input."""


def find_feedback(function: FuncOp, named: Sequence[Pair], residual: Set[SSAValue]) -> Feedback:
    """Returns the values of `function` that are fed back, including the states in `named`, which the caller declares.

    Layers that share weights along a stream of `residual` values do not count as steps, because the stream already has
    16 bits.
    """
    guessed = [] if named else _gated_states(function)
    pairs, shared = [*named, *guessed], _sharing_weights(function)
    loops = [(each.given, each.taken) for op in function.walk() for each in forwarded(op)]
    if not pairs and not loops and not shared:
        return Feedback()
    exact, every = (_Flow(function, [*loops, *pairs], is_exact=is_exact) for is_exact in (True, False))
    found, picked = _rounding(exact.cycles()), _picking(every.cycles())
    layers = list[Set[SSAValue]]()
    for flow in (exact, every):
        for cycle in flow.unrolled(shared):
            if _is_layer(cycle):
                layers.append(cycle)
            elif residual.isdisjoint(cycle) and flow is exact:
                found |= _rounding([cycle])
            elif residual.isdisjoint(cycle):
                picked |= _picking([cycle])
    if pairs and found:
        picked |= _given_scores(function, {given for given, _ in pairs})
    reaching = exact.before([*picked, *(value for op in found for value in op.operands)])
    found |= _rounding(cycle for cycle in layers if not reaching.isdisjoint(cycle))
    found |= _added(found, picked)
    if not found:
        return Feedback(states=guessed)
    roles = {role_of(op) for op in found if is_part(op)}
    found |= {op for op in function.walk() if is_part(op) and role_of(op) in roles}
    return Feedback(_of_one_type(function, found), guessed)


# --- Data flow --------------------------------------------------------------------------------------------------------


@dataclass
class _Flow:
    """The data flow of a function: which values are computed from which others.

    An `is_exact` flow leaves out integers and conditions, which do not propagate small errors.
    """

    function: FuncOp
    edges: Sequence[Pair]
    """The pairs of values that regions pass on, and the states of the caller."""

    is_exact: bool
    _after: dict[SSAValue, list[SSAValue]] = field(default_factory=lambda: defaultdict(list), init=False)
    _before: dict[SSAValue, list[SSAValue]] = field(default_factory=lambda: defaultdict(list), init=False)

    def __post_init__(self) -> None:
        self.edges = [pair for pair in self.edges if not self.is_exact or all(map(is_float, pair))]
        for given, taken in self.edges:
            self._add(given, taken)
        for op in self.function.walk():
            if isinstance(op, CONTROL):
                continue
            for pair in product(op.operands, op.results):
                if not self.is_exact or all(map(is_float, pair)):
                    self._add(*pair)

    def _add(self, given: SSAValue, taken: SSAValue) -> None:
        self._after[given].append(taken)
        self._before[taken].append(given)

    def before(self, values: Iterable[SSAValue]) -> set[SSAValue]:
        """Returns `values` and all values from which they are computed."""
        return set(reached(values, lambda value: self._before.get(value, ())))

    def after(self, values: Iterable[SSAValue]) -> set[SSAValue]:
        """Returns `values` and all values that are computed from them."""
        return set(reached(values, lambda value: self._after.get(value, ())))

    def cycles(self) -> list[Set[SSAValue]]:
        """Returns the sets of values that are computed from each other; only `edges` close cycles."""
        return list(self._closed_by(self.edges))

    def _closed_by(self, edges: Iterable[Pair]) -> Iterator[Set[SSAValue]]:
        known = set[SSAValue]()
        for given, taken in edges:
            if given not in known:
                cycle = self.after([taken]) & self.before([given])
                known |= cycle
                if cycle:
                    yield cycle

    def unrolled(self, shared: Sequence[Sequence[Operation]]) -> list[Set[SSAValue]]:
        """Returns the cycles that result if contractions with the same weights are identified, including those of
        layers.

        A cycle that contains a contraction with unshared weights is excluded: layers that share a filter are not steps.
        """
        chains = [chain for products in shared if len(chain := self._behind(products)) >= _STEPS]
        closing = [(chain[-1].results[0], chain[0].results[0]) for chain in chains]
        repeated = {op for chain in chains for op in chain}
        for given, taken in closing:
            self._add(given, taken)
        found = list(self._closed_by(closing))
        for given, taken in closing:
            self._after[given].remove(taken)
            self._before[taken].remove(given)
        return [cycle for cycle in found if all(op in repeated for op in makers(cycle) if _weights(op) is not None)]

    def _behind(self, products: Sequence[Operation]) -> list[Operation]:
        """Returns the first of `products` and those that depend on it."""
        first, *others = products
        behind = self.after(first.results)
        return [first, *(op for op in others if not behind.isdisjoint(op.results))]


# --- Where cycles are -------------------------------------------------------------------------------------------------


def _weights(op: Operation) -> SSAValue | None:
    """Returns the constant weights of a contraction, or `None` for any other operation."""
    if not isinstance(op, MultipliesAndAdds) or not isinstance(op, Quantizable) or len(op.results) != 1:
        return None
    weights = (op.operands[position] for position, slot in slots_of(op).items() if slot is Slot.WEIGHT)
    return next((value for value in weights if constant_array(value) is not None), None)


def _sharing_weights(function: FuncOp) -> list[list[Operation]]:
    """Returns the contractions outside of regions, in groups of at least `_STEPS` with equal weights, in order."""
    by_value: dict[tuple[Hashable, SSAValue], list[Operation]] = defaultdict(list)
    for op in function.body.block.ops:
        if (weights := _weights(op)) is not None:
            by_value[(type(op), frozenset(op.properties.items())), weights].append(op)
    alike: dict[Hashable, list[tuple[Array, list[Operation]]]] = defaultdict(list)
    for (kind, value), products in by_value.items():
        weights = constant_array(value)
        assert weights is not None
        sample = weights.reshape(-1)[:: max(1, weights.size // _SAMPLE)]
        groups = alike[kind, weights.shape, sample.tobytes()]
        group = next((each for known, each in groups if np.array_equal(known, weights)), None)
        if group is None:
            groups.append((weights, products))
        else:
            group += products
    return [products for groups in alike.values() for _, products in groups if len(products) >= _STEPS]


def _is_layer(cycle: Set[SSAValue]) -> bool:
    """Returns True if `cycle` lies inside one recurrent layer, without any operation that produces a layer's result."""
    ops = makers(cycle)
    roles = [origins_of(op) for op in ops if _weights(op) is not None]
    is_of_layers = all(any(origin.role.endswith(f"/{RECURRENCE}") for origin in origins) for origins in roles)
    return is_of_layers and not any(mark.name in _LAYERS for op in ops for mark in marks_on(op))


def _gated_states(function: FuncOp) -> list[Pair]:
    """Returns the outputs that a gate mixes with an input of their shape, and the other states if there are any of
    these.

    The other states are outputs with the shape of an input that only contractions read, such as the hidden state of an
    LSTM.
    """
    inputs = [value for value in function.body.block.args if is_f32(value)]
    outputs = [value for value in _returned(function) if is_f32(value)]
    found: dict[SSAValue, SSAValue] = {}
    for is_state in (_is_mixed, _is_beside):
        for argument in inputs:
            if argument in found.values() or (is_state is _is_beside and not found):
                continue
            fitting = (each for each in outputs if each not in found and shape_of(each) == shape_of(argument))
            given = next((each for each in fitting if is_state(argument, each)), None)
            if given is not None:
                found[given] = argument
    return list(found.items())


def _is_mixed(argument: SSAValue, given: SSAValue) -> bool:
    """Returns True if `given` is `argument` times a gate plus another value, with moves allowed in between."""

    def after(entry: tuple[SSAValue, bool, bool]) -> Iterator[tuple[SSAValue, bool, bool]]:
        value, is_gated, is_summed = entry
        for op in {use.operation for use in value.uses}:
            if not isinstance(op, Quantizable) or is_repeated(op):  # a layer iterates over a sequence itself
                continue
            is_sum = isinstance(op, AddOp | SubOp) and len(computed_operands(op)) == 2
            is_gate = isinstance(op, MulOp) and any(other is not value and _is_gate(other) for other in op.operands)
            if is_sum or is_gate or op.quantization_slots().shares_parameters:
                yield from ((each, is_gated or is_gate, is_summed or (is_gated and is_sum)) for each in op.results)

    entries = reached([(argument, False, False)], after)
    return any(value is given and is_summed for value, _, is_summed in entries)


def _is_gate(value: SSAValue) -> bool:
    """Returns True if `value` lies in [0, 1] by its producer: a sigmoid, or a constant minus a sigmoid."""
    op = value.owner
    if isinstance(op, SubOp):
        return constant_array(op.lhs) is not None and _is_gate(op.rhs)
    if moves_values(op) and len(computed_operands(op)) == 1:
        return _is_gate(computed_operands(op)[0])
    fixed = fixed_range(value)
    return fixed is not None and 0 <= fixed.minimum < fixed.maximum <= 1


def _is_beside(argument: SSAValue, _: SSAValue) -> bool:
    """Returns True if only contractions read `argument`, with moves allowed in between."""

    def movers(value: SSAValue) -> list[Operation]:
        return [use.operation for use in value.uses if _weights(use.operation) is None]

    moved = reached([argument], lambda value: [result for op in movers(value) for result in op.results])
    return all(value.uses and all(map(moves_values, movers(value))) for value in moved)


# --- Which values are rounded -----------------------------------------------------------------------------------------


def _rounding(cycles: Iterable[Set[SSAValue]]) -> set[Operation]:
    """Returns the operations that compute the floats of those `cycles` in which at least one value is rounded."""
    found = set[Operation]()
    for cycle in cycles:
        ops = {op for op in makers(filter(is_float, cycle)) if isinstance(op, Quantizable)}
        if any(not op.quantization_slots().shares_parameters for op in ops):
            found |= ops
    return found


def _picking(cycles: Iterable[Set[SSAValue]]) -> set[SSAValue]:
    """Returns the floats of `cycles` that an operation turns into integers or conditions of the same cycle."""
    return {
        value
        for cycle in cycles
        for op in makers(value for value in cycle if not is_float(value))
        for value in op.operands
        if value in cycle and is_float(value)
    }


def _given_scores(function: FuncOp, states: Set[SSAValue]) -> set[SSAValue]:
    """Returns the outputs, except for `states`, from which the caller may select the indices of the next step."""
    if all(map(is_float, function.body.block.args)):
        return set()
    return {value for value in _returned(function) if is_f32(value) and value not in states}


def _returned(function: FuncOp) -> Sequence[SSAValue]:
    end = function.body.block.last_op
    return end.operands if isinstance(end, ReturnOp) else ()


def _added(found: Set[Operation], picked: Set[SSAValue]) -> set[Operation]:
    """Returns the operations whose results are added to those of `found`, or to the values in `picked`.

    An addend needs the precision of the sum. Rows of a constant table are not rounded again in each step.
    """
    summing = [op for op in found if isinstance(op, Quantizable) and is_passed_on(op)]
    addends = [*picked, *(value for op in summing for value in computed_operands(op))]
    more = computing(addends, lambda op: op not in found and is_passed_on(op))
    return {op for op in more if op not in found and computed_operands(op)}


def _of_one_type(function: FuncOp, found: Set[Operation]) -> set[Operation]:
    """Returns `found` and the operations whose results share a type with theirs, such as initial values of loops."""
    groups = Groups()
    for op in function.walk():
        for given, taken in together(op):
            groups.join(filter(is_f32, (*taken, *(each.given for each in given))))
        if isinstance(op, Quantizable):
            groups.join_by(op, computed_operands(op), filter(is_f32, op.results))
    roots = {groups.find(result) for op in found for result in filter(is_f32, op.results)}
    members = (member for root in roots for member in groups.members(root) if constant_array(member) is None)
    return {*found, *makers(members)}


# --- Gates of recurrent layers ----------------------------------------------------------------------------------------


def slow_gates(function: FuncOp) -> Set[Operation]:
    """Returns the gate operations of each recurrent layer that keeps its state for more steps than 8-bit gates can.

    All gates of such a layer are included, because the errors of all of them accumulate in the state. Operations whose
    results a contraction reads are excluded.
    """
    gates: dict[Hashable, list[SSAValue]] = defaultdict(list)
    parts: dict[Hashable, list[Operation]] = defaultdict(list)
    for op in function.walk():
        for layer, role in _parts_of_layers(op):
            if isinstance(op, MulOp) and role in KEEPING:
                gates[layer].append(op.lhs)
            elif role.partition("/")[0].endswith("_gate") and not _is_multiplied(op):
                parts[layer].append(op)
    return {op for layer, values in gates.items() if _lost_by_gate(values) > _MOST_NOISE for op in parts[layer]}


def _parts_of_layers(op: Operation) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yields the layers and directions that `op` is a part of, each with the role, such as `forget_gate/sum`."""
    for origin in origins_of(op):
        *outer, group, part = ("", *origin.role.split("/")) if "/" in origin.role else ("", "", "")
        if group:
            yield (origin.name, origin.op_type, *outer), f"{group}/{part}"


def _is_multiplied(op: Operation) -> bool:
    """Returns True if a contraction reads a result of `op`: 16-bit data would make it slower."""
    return any(isinstance(use.operation, MultipliesAndAdds) for use in uses_of(op))


# A gate of g keeps a state for n = 1 / (1 - g) steps. An error of e in the gate at each step scales the kept state by
# (1 + e / g)^n, so the relative error is about e * n. The length of the sequence does not limit n: a layer has the same
# types at any length, and a caller may continue from the state after a single step.
def _lost_by_gate(values: Sequence[SSAValue]) -> float:
    """Returns the mean square of the relative error of a state whose gate is rounded to 8 bits in all steps."""
    lost = [0.0]
    for value in values:
        seen = seen_statistics(value)
        if seen is None or not seen.count:
            continue
        histogram = seen.histogram
        gate = np.clip(histogram.edges[:-1] + histogram.width / 2, 0.0, 1.0)
        error = np.maximum(_GATE_STEP**2 / 12, np.maximum(gate - (1 - _GATE_STEP), 0.0) ** 2)
        with np.errstate(divide="ignore"):
            noise = np.minimum(error / (1 - gate) ** 2, 1.0)
        lost.append(float(noise @ histogram.counts) / histogram.total)
    return max(lost)


def wide_cells(function: FuncOp) -> Set[Operation]:
    """Returns the operations that compute the cell states whose range in a layer is too wide for 16 bits.

    Both directions of a layer are included, because their cell states share a type.
    """
    parts: dict[Hashable, list[Operation]] = defaultdict(list)
    ends: dict[Hashable, list[float]] = defaultdict(lambda: [0.0])
    for op in function.walk():
        for (name, op_type, *_), role in _parts_of_layers(op):
            if role.startswith(CELL):
                parts[name, op_type].append(op)
                ends[name, op_type] += [end for result in op.results for end in observed_range(result) or ()]
    return {op for layer, ops in parts.items() if max(ends[layer]) - min(ends[layer]) > _WIDEST_CELL for op in ops}
