"""Decisions: the quantized type of every value of a function, from a recipe and the recorded statistics.

Each value has one type, which is derived from:

- the range of the group of values that share the type (see `shared_scales`);
- for the accumulator of a contraction, the scale `s_x * s_w` (see `decisions`);
- for a constant, its elements and the slot in which each user reads it.

An operation that does not support the decided types stays in float, and the types of all other operations are decided
again.
"""

import math
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.requantization import fit_bias
from qmlir.arithmetic.schemes import F64, Storage
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.dynamic.ops import STEPS as DYNAMIC_SCHEMES
from qmlir.dialects.nn.recurrent.ops import RecurrentOp
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.dialects.target.description import Accepted, Description
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.control_flow import ForwardedValue, makers, together
from qmlir.ir.diagnostics import emit_remark, emit_warning, op_error
from qmlir.ir.float_reasons import FloatCause
from qmlir.ir.interfaces import MultipliesAndAdds, Quantizable, Slot
from qmlir.ir.provenance import describe
from qmlir.quantization import types
from qmlir.quantization.assignment import Assignment
from qmlir.quantization.casts import data_places
from qmlir.quantization.choice import ALL_REPAIRS, Basis, Choice, GranularityChoice, ObservedRange, Reason
from qmlir.quantization.decisions import Accumulators, Decisions, Key, moves_between_floats, refusals, target_refusals
from qmlir.quantization.edges import Edges, find_edges
from qmlir.quantization.feedback import find_feedback
from qmlir.quantization.fills import Fills
from qmlir.quantization.given import Given, given_in, represented, saturated, saturates
from qmlir.quantization.masks import mask_arithmetic
from qmlir.quantization.operand_domains import computed_for, flat_below, undefined_constants, within_domains
from qmlir.quantization.predicates import residual_values, uneven_values
from qmlir.quantization.profiles.keys import given_type, has_nan, values_with_nan
from qmlir.quantization.profiles.statistics import Observed, observed, was_infinite
from qmlir.quantization.recipe import PARAMETERS, Recipe
from qmlir.quantization.report import DYNAMIC, REASON, branch_remarks, read_exactly, scales_dynamically
from qmlir.quantization.retyping import (
    fixed_range,
    is_f32,
    is_float,
    may_be_quantized,
    moves_values,
    place_of,
    slots_of,
)
from qmlir.quantization.shared_scales import Groups, RoleParts, StatePair
from qmlir.quantization.stored_ports import StoredPort, check_decided, wanted_storage
from qmlir.quantization.types import fixed_type, type_from_range, type_of_parameters, undivided_sum, weight_type
from qmlir.registry import PackageError

HEADROOM = 128.0
"""The factor by which the range of an inexact 32-bit sum exceeds the observed range, so that the sum does not saturate.
The remaining 24 bits equal the precision of f32."""


_ENOUGH_FOR_DATA = 16
"""The largest bit width of data for contractions. With wider data, many biases do not fit 32 bits at the scale of the
sum."""

SATURATED = 0.01
"""The fraction of observed elements outside of given parameters above which a warning is emitted."""

_INFINITE_WEIGHT = FloatCause.INFINITE_WEIGHT.reason()
"""Why a contraction stays in float: a saturated infinite weight would turn infinite sums into finite ones."""


_NOT_A_NUMBER = FloatCause.NAN.reason()

_MAY_BE_NAN = FloatCause.MAYBE_NAN.reason()


def _named(value: SSAValue) -> str:
    if isinstance(value.owner, Operation):
        return f"the result of {describe(value.owner)}"
    return f"the argument %{value.name_hint or getattr(value, 'index', '')}"


@contextmanager
def _parameters_of(op: Operation, named: str) -> Generator[None]:
    """Reports an exception inside the `with` block as an error at `op`: `named` has no quantization parameters."""
    try:
        yield
    except (ValueError, PackageError) as error:
        raise op_error(op, f"cannot compute quantization parameters for {named}: {error}") from error


def _known(array: Array) -> Observed:
    """Returns the statistics of the finite elements of a constant without NaN; its infinities saturate."""
    return Observed.of_constant(array[np.isfinite(array)])


def _begun_by_nan(control: Sequence[tuple[Operation, Sequence[ForwardedValue], Sequence[SSAValue]]]) -> set[SSAValue]:
    """Returns the values that loops and branches carry together with a constant that contains NaN."""

    groups = Groups()
    for _, given, taken in control:
        groups.join((*taken, *(each.given for each in given if constant_array(each.given) is None)))
    begun = [taken[0] for _, given, taken in control if any(has_nan(each.given) for each in given)]
    return {member for value in begun for member in groups.members(value)}


# The order of decisions, and why it terminates. A type depends on the uses of a value (its group, its users' slots, a
# sum), and an operation may not support the types decided for it. Such an operation is rejected, and each round decides
# all types again with the rejected operations in float. The loop ends when a round rejects no further operation. The
# set of rejected operations only grows, so the number of rounds is bounded by the number of operations. The steps of a
# round are:
# 1. Select the operations that can be quantized (`_reason_for_float` returns the cause for each other operation).
# 2. Form groups: values that an operation only moves, or for which it requires one type, share parameters.
# 3. Visit operands in program order, so that the type of a producer is known before the scale of its consumer's sum.
# 4. Decide data and weights before biases: a bias has the scale s_x * s_w of its sum, which must be known by then.
# 5. Decide results: an accumulator from its factors, all others from the union of the ranges of their group.
#
# No type changes within a round: `group_types` decides the type of each group once, for whichever member is first.
@dataclass
class _Decider:
    """The type decisions of one function; the operations in `refused` stay in float."""

    function: FuncOp
    recipe: Recipe
    refused: Mapping[Operation, str]
    assignment: Assignment
    residual: Set[SSAValue]
    """The values on residual streams."""

    uneven: Set[SSAValue]
    """The values concatenated from parts of very different magnitude."""

    masking: Set[Operation]
    """The operations that only compute masks."""

    exact: Mapping[Operation, str]
    """The operations that need exact values, with the reason: fallback nodes read them, masks fill them, or integers
    would lose too much of them next to inputs and outputs."""

    unrounded: Set[SSAValue]
    """The sums of contractions that such operations or outputs read without rounding."""

    states: Sequence[Sequence[SSAValue]]
    """The values that leave the function and enter it again; both ends share one type."""

    ports: Sequence[StoredPort]
    """The inputs and outputs whose storage the caller chose."""

    def __post_init__(self) -> None:
        self.decisions = Decisions()
        self.groups = Groups()
        self.quantized: set[Operation] = set()
        self.given = given_in(self.function, self.recipe)
        module, walk = self.function.parent_op(), self.function.walk()
        assert isinstance(module, ModuleOp)
        self.control = [(op, *group) for op in walk for group in together(op) if all(map(is_f32, group[1]))]
        self.not_numbers, self.may_be_nan = _begun_by_nan(self.control), values_with_nan(module)
        self.forwarded: set[SSAValue] = set()
        self.begun: dict[SSAValue, set[SSAValue]] = {}
        """The initial values of each loop-carried value that have separate types: constants, and those of several
        loops."""
        self.group_types: dict[SSAValue, UniformQuantizedType] = {}
        rounded = {value for value, given in self.given.items() if any(each.is_named for each in given)}
        self.accumulators = Accumulators(self.decisions, self.groups, self.quantized, self.unrounded, rounded)

    def run(self) -> Decisions:
        numbers = [op for op in self.function.walk() if isinstance(op, Quantizable) and op not in self.masking]
        chosen: list[Quantizable] = []
        for op in filter(data_places, numbers):
            reason = self._reason_for_float(op)
            if reason is None:
                chosen.append(op)
                self.quantized.add(op)
            else:
                self.decisions.left_in_float[op] = reason
        self.decisions.quantized = tuple(chosen)
        for op in chosen:
            limits = partial(self._limits_storage, op)
            self.groups.join_by(op, self._activations(op), filter(is_f32, op.results), limits)
        for state in self.states:
            self.groups.join(filter(is_f32, state))
        begun = Counter(each.given for _, given, _ in self.control for each in given if each.user.regions)
        for _, given, taken in self.control:
            shared = {each.given for each in given if begun[each.given] > 1 or constant_array(each.given) is not None}
            self.groups.join((*taken, *(each.given for each in given if each.given not in shared)))
            self.forwarded.update(taken)
            self.begun[taken[0]] = shared
        self.steps = RoleParts(chosen)
        self.steps.join(self.groups)
        for position, _, values in self.recipe.shared():
            own = [each for each in values if is_f32(each) and constant_array(each) is None and self._is_own(each)]
            self.groups.join(own)
            self.recipe.used.update([position] if len(own) > 1 else [])
        for op in chosen:
            self._decide_operands(op)
            for result in filter(is_f32, op.results):
                self.decisions.values[result] = self._type_of(result, op)
        for op, given, taken in self.control:
            self._hand_on(op, given, taken)
        for op in numbers:
            if op in self.recipe.floats and op in self.decisions.left_in_float:
                self._decide_float_weights(op)
        if not chosen:  # no neighbor computes on integers, so that no operation can be fused with casts
            self.decisions.kept_in_float -= self.recipe.floats
        return self.decisions

    # A loop-carried value has one type at both ends, so that no iteration casts it; the result of an `if` has one type
    # in both branches. It is the type of the group if a quantized operation inside produces the value; otherwise
    # nothing is rounded inside.
    def _hand_on(self, op: Operation, given: Sequence[ForwardedValue], taken: Sequence[SSAValue]) -> None:
        """Gives the values that the branch or loop `op` yields or carries the type of their group."""
        type_ = self.group_types.get(self.groups.find(taken[0]))
        owners = makers(self.groups.members(taken[0]))
        is_inside = any(owner in self.quantized and op.is_ancestor(owner) for owner in owners)
        if type_ is None or not is_inside or type_.granularity is not Granularity.TENSOR:
            return
        for each in given:
            if constant_array(each.given) is not None:
                self.decisions.constants[each.user, each.position] = type_
            elif each.given.owner not in self.quantized or self.decisions.values.get(each.given) != type_:
                self.decisions.operands[each.user, each.position] = type_

    # A clamp (such as ReLU) that takes over the type of its operand leaves the upper or lower codes unused. If the
    # operand has the type of the clamp's result instead, it saturates at the limits of the clamp, and all codes are
    # used.
    def _limits_storage(self, op: Quantizable, operand: SSAValue) -> bool:
        """Returns True if `operand` may have the type of the clamped result of `op`: no target needs it wider, and no
        rule gives it other parameters."""
        given = [
            {each.parameters for value in values for each in self.given.get(value, ())}
            for values in (self.groups.members(operand), op.results)
        ]
        if not given[0] <= given[1]:
            return False
        owner = operand.owner
        if not self.assignment.targets or not isinstance(owner, Operation) or owner not in self.quantized:
            return True
        wishes = ((each, self.recipe.wish(each, Slot.OUTPUT)) for each in (op, owner))
        one, other = (self.assignment.settled(each, Slot.OUTPUT, wish).storage for each, wish in wishes)
        return one == other

    # Which operations

    def _reason_for_float(self, op: Quantizable) -> str | None:
        """Returns why `op` is not quantized, or `None` if it is."""
        slots = slots_of(op)
        wanted = self.recipe.quantizes(op, (*slots.values(), Slot.OUTPUT), changes=op.fuses_with_casts())
        if op.fuses_with_casts() and (not wanted or op in self.recipe.floats):
            self.decisions.kept_in_float.add(op)
            return (FloatCause.FLOAT_ACTIVATIONS if wanted else FloatCause.EXCLUDED).reason()
        if op in self.recipe.floats:
            return FloatCause.FLOAT_ACTIVATIONS.reason()
        if not op.accepts_quantized_values():
            return op.float_reason()
        if not may_be_quantized(op):
            return FloatCause.ALREADY_FLOAT.reason()
        if op in self.exact:
            return self.exact[op]
        if op in self.refused:
            return self.refused[op]
        if (reason := self.assignment.float_reason(op)) is not None:
            return reason
        for position, slot in slots.items():
            value = op.operands[position]
            if not is_f32(value):
                return FloatCause.NOT_F32.reason(type=value.type)
            array = constant_array(value)
            if value in self.not_numbers or has_nan(value):
                return _NOT_A_NUMBER
            if value in self.may_be_nan:
                return _MAY_BE_NAN
            if array is not None and slot is Slot.WEIGHT and np.isinf(array).any():
                return _INFINITE_WEIGHT
            if array is None and not self._has_range(value):
                return FloatCause.NO_OPERAND_RANGE.reason(value=_named(value))
            if was_infinite(value) and value not in self.given:
                return FloatCause.INFINITE_OPERAND.reason(value=_named(value))
        for result in op.results:
            if result in self.not_numbers:
                return _NOT_A_NUMBER
            if is_float(result) and not self._has_range(result, op):
                return FloatCause.NO_RESULT_RANGE.reason()
            if is_float(result) and was_infinite(result) and result not in self.given:
                return FloatCause.INFINITE_RESULT.reason()
        return None

    def _has_range(self, value: SSAValue, op: Operation | None = None) -> bool:
        """Returns True if `value` has an observed range, or one that follows from a rule, `op` or its quantized
        producer."""
        if observed(value) is not None or given_type(value) is not None or value in self.given:
            return True
        owner = value.owner if op is None else op
        if not isinstance(owner, Quantizable) or not (op is owner or owner in self.quantized):
            return False
        slots = owner.quantization_slots()
        return slots.shares_parameters or slots.fixed_output is not None

    def _activations(self, op: Quantizable) -> Iterator[SSAValue]:
        for position, slot in slots_of(op).items():
            if slot is not Slot.BIAS and constant_array(op.operands[position]) is None:
                yield op.operands[position]

    # Types

    def _choice(
        self, op: Operation, slot: Slot, others: Iterable[Accepted | None] = (), value: SSAValue | None = None
    ) -> Choice:
        """Returns how the `value` in `slot` of `op` is quantized, by rules and target; `others` are accepted
        elsewhere."""
        choice = self.assignment.settled(op, slot, self.recipe.choice(op, slot, value), others)
        if not choice.storage.has_zero and slot is not Slot.WEIGHT:
            fault = f"storage '{choice.storage}' is only supported for weights, but it is set for slot '{slot}'"
            raise op_error(op, fault)
        return choice

    def _is_own(self, value: SSAValue) -> bool:
        """Returns True if `value` belongs to the function."""
        owner = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
        return owner is not None and self.function.is_ancestor(owner)

    def _accepted_around(self, members: Iterable[SSAValue], position: Operation) -> Iterator[Accepted | None]:
        """Yields the types that targets accept for `members` at producers and users other than `position`."""
        for member in members:
            owner = member.owner
            if isinstance(owner, Quantizable) and owner in self.quantized and owner is not position:
                yield self._accepted(owner, Slot.OUTPUT)
            for use in member.uses:
                user = use.operation
                if isinstance(user, Quantizable) and user in self.quantized:
                    slot = slots_of(user).get(use.index)
                    yield None if slot is None else self._accepted(user, slot)

    def _accepted(self, op: Operation, slot: Slot) -> Accepted | None:
        candidate = self.assignment.candidate(op)
        return None if candidate is None else candidate.support.slot(slot)

    def _decide_operands(self, op: Quantizable) -> None:
        for value in self._activations(op):
            if value not in self.decisions.values:
                self.decisions.values[value] = self._type_of(value, op)
        self._rescale_parts(op)
        slots = slots_of(op)
        for position, slot in slots.items():
            if slot is Slot.INPUT and isinstance(op, MultipliesAndAdds) and self._is_wide(op.operands[position]):
                self._narrow(op, position)
        for wanted in (Slot.INPUT, Slot.WEIGHT):  # the bias must fit the scale of data and weights
            for position, array in self._constants(op).items():
                if slots[position] is wanted:
                    self.decisions.constants[op, position] = self._constant_type(op, position, wanted, array)
                    if (repair := self.recipe.wish(op, wanted).allowed_repair) != ALL_REPAIRS:
                        self.decisions.repairs[op, position] = repair
        self._decide_bias(op)

    def _rescale_parts(self, op: Quantizable) -> None:
        """Makes `op` read the values that it concatenates, and that have separate types, in the type of its result."""
        joined = next(filter(is_f32, op.results), None)
        if joined is None or not op.quantization_slots().shares_parameters:
            return
        for position in slots_of(op):
            value = op.operands[position]
            if constant_array(value) is None and self.groups.find(value) is not self.groups.find(joined):
                self.decisions.operands[op, position] = self._shared_type(op, position, joined)

    def _is_wide(self, value: SSAValue) -> bool:
        members = self.groups.members(value)
        return not (self.residual.isdisjoint(members) and self.uneven.isdisjoint(members))

    def _narrow(self, op: Quantizable, position: int) -> None:
        """Makes `op` read a residual stream, or an uneven value, in the type of its slot if that has fewer bits."""
        value, choice = op.operands[position], self._choice(op, Slot.INPUT)
        seen = observed(value)
        if any(member in self.given for member in self.groups.members(value)):
            return
        if seen is None or (choice.needs_statistics and seen.statistics is None):
            return  # a loop-carried value has no statistics
        if choice.storage.bits < self.decisions.values[value].bits:
            why = Reason(Basis.RANGE, op, Slot.INPUT, choice)
            self.decisions.operands[op, position] = self._from_ranges((op, position), [(_named(value), seen)], why)

    def _type_of(self, value: SSAValue, at: Operation) -> UniformQuantizedType:
        """Returns the type of a value that `at` computes or reads."""
        owner = value.owner
        if isinstance(owner, Quantizable) and self.accumulators.is_accumulator(value):
            return self._accumulator_type(owner, value)
        root = self.groups.find(value)
        if root not in self.group_types:
            moved = self._moved_accumulator(value)
            if moved is None:
                moved = self._type_by_rules(value)
            if moved is None:
                moved = within_domains(value, self._group_type(value, at), self.decisions, self.quantized)
            self.group_types[root] = moved
        return self.group_types[root]

    def _because(self, key: Key, reason: Reason) -> None:
        """Records the reason of a type; all values that share the type get the same reason."""
        self.decisions.reasons.update(dict.fromkeys((key, *reason.members), reason))

    # Reshapes and transposes between a contraction and its bias must not add a rounding: the sum stays an accumulator.
    def _moved_accumulator(self, value: SSAValue) -> UniformQuantizedType | None:
        """Returns the type of a group that a sum enters and that only operations on accumulators read.

        Returns `None` for any other group, and if the sum has parameters along an axis that may be moved.
        """
        members = self.groups.members(value)
        defining_op = self.accumulators.moved_to(members)
        if defining_op is None or not isinstance(defining_op.owner, Quantizable):
            return None
        type_ = self._accumulator_type(defining_op.owner, defining_op)
        if type_.granularity is not Granularity.TENSOR:
            same = {(len(shape_of(member)), shape_of(member)[type_.axis :]) for member in members}
            if len(same) > 1:
                return None
        self._because(value, replace(self.decisions.reasons[defining_op], members=tuple(members)))
        return type_

    # All values of a group share one type, so rules must not give two of them different parameters.
    def _type_by_rules(self, value: SSAValue) -> UniformQuantizedType | None:
        """Returns the type of the group of `value` if rules give its parameters; otherwise `None`.

        Raises `DiagnosticError` if rules give different parameters to values of the group.
        """
        members = self.groups.members(value)
        found = [each for member in members for each in self.given.get(member, ())]
        own = next(filter(None, map(given_type, members)), None)
        if not found or own is not None:
            return None
        first, types_, choices = found[0], list[UniformQuantizedType](), list[Choice]()
        for each in found:
            choice = self._choice(each.op, each.slot, self._accepted_around(members, each.op), each.value)
            if (storage := wanted_storage(self.ports, members)) is not None:
                choice = replace(choice, storage=storage)
            choices.append(choice)
            types_.append(each.type_with(choice))
            if types_[-1] != types_[0]:
                one, other = (f"{given.source} gives {given.parameters}" for given in (first, each))
                shared = f"shares one quantized type with {describe(first.op)}, but {one} and {other}"
                raise op_error(each.op, f"{shared}; help: use the same parameters for both")
        self._because(value, Reason(Basis.RULE, first.op, first.slot, choices[0], members=tuple(members)))
        self._warn_of_saturation(members, types_[0], first)
        return types_[0]

    def _warn_of_saturation(self, members: Sequence[SSAValue], type_: UniformQuantizedType, given: Given) -> None:
        """Warns if many observed elements of `members`, or what clamps leave of them, lie outside of `type_`."""
        for member in members:
            users = [use.operation for use in member.uses]
            slots = [each.quantization_slots() if isinstance(each, Quantizable) else None for each in users]
            is_clamped = bool(users) and all(each is not None and each.limits_operand for each in slots)
            seen = observed(users[0].results[0] if is_clamped else member)
            if seen is not None and (share := saturated(seen, type_)) > SATURATED:
                low, high = represented(type_)
                outside = (
                    f"{share:.0%} of the observed elements of {_named(member)} lie outside [{low:.6g}, {high:.6g}]"
                )
                said = f"{given.source} gives {given.parameters}"
                self.decisions.warnings[given.op] = f"saturates: {said}, but {outside}"

    def _group_type(self, value: SSAValue, at: Operation) -> UniformQuantizedType:
        members = self.groups.members(value)
        owners = [member.owner for member in members if member.owner in self.quantized]
        owners = list(dict.fromkeys(op for op in owners if isinstance(op, Quantizable)))
        position, slot = (owners[0], Slot.OUTPUT) if owners else (at, Slot.INPUT)
        if not owners and not self.assignment.targets:  # a norm in float sets the type of its result
            normed = (each.owner for each in members if each in self.residual and each.owner not in self.recipe.floats)
            position, slot = next(((op, Slot.OUTPUT) for op in normed), (position, slot))
            assert isinstance(position, Operation)
        choice = self._choice(position, slot, self._accepted_around(members, position))
        if (storage := wanted_storage(self.ports, members)) is not None:
            choice = replace(choice, storage=storage)
        for op in owners[1:]:
            if self.recipe.wish(op, slot) != self.recipe.wish(position, slot):
                self.decisions.remark(op, f"shares its type with {describe(position)}, whose rules apply")
        movers = dict.fromkeys(op for op in owners if op.quantization_slots().shares_parameters)
        sources = [each for each in members if each.owner not in movers and each not in self.groups.limited]
        sources = [each for each in sources if each not in self.forwarded] or sources
        constants = [(op, _known(array)) for op in movers for array in self._constants(op).values()]
        fixed = {fixed_range(each) for each in sources}
        why = Reason(Basis.RANGE, position, slot, choice, members=tuple(members))
        given = next(filter(None, map(given_type, members)), None)
        if given is not None:
            self._because(value, replace(why, basis=Basis.GIVEN))
            return given
        # The initial values of the loops that carry the members, if these have separate types.
        initial = (each for member in members for each in self.begun.get(member, ()))
        begun = [(_named(each), found) for each in initial if (found := self._seen(each)) is not None]
        known = fixed.pop() if len(fixed) == 1 and not constants else None
        ends = [end for _, each in begun for end in (each.minimum, each.maximum)]
        if known is not None and all(known.minimum <= end <= known.maximum for end in ends):
            self._because(value, replace(why, basis=Basis.FIXED))
            with _parameters_of(position, _named(value)):
                return fixed_type(known, choice)
        seen = [(_named(each), found) for each in (sources or members) if (found := observed(each)) is not None]
        seen += [(f"a constant of {describe(op)}", known_constant) for op, known_constant in constants]
        seen += begun
        return self._from_ranges(value, seen, why, floor=flat_below(members, self.quantized, self.recipe))

    @staticmethod
    def _seen(value: SSAValue) -> Observed | None:
        array = constant_array(value)
        return observed(value) if array is None else _known(array)

    @staticmethod
    def _constants(op: Quantizable) -> dict[int, Array]:
        """Returns the constants among the operands of `op` that may be quantized, by operand index."""
        arrays = {position: constant_array(op.operands[position]) for position in slots_of(op)}
        return {position: array for position, array in arrays.items() if array is not None}

    # The range is the union of all ranges and 0: zero padding and ReLU need an exact zero (Jacob et al., 2018, section
    # 2.1).
    def _from_ranges(
        self, key: Key, seen: list[tuple[str, Observed]], why: Reason, floor: float = -math.inf
    ) -> UniformQuantizedType:
        """Returns the type with one scale for the union of the ranges in `seen`, cut off below `floor`.

        Each entry of `seen` has a name for messages.
        """
        assert why.choice is not None
        ranges: list[ObservedRange] = []
        for named, each in seen:
            with _parameters_of(why.op, named):
                lowest, highest = each.range(why.choice)
                ends, is_recorded = (max(lowest, floor), max(highest, floor)), each.statistics is not None
                ranges.append(ObservedRange(named, each.minimum, each.maximum, *ends, is_recorded))
        low, high = (min(0.0, *(each.low for each in ranges)), max(0.0, *(each.high for each in ranges)))
        self._because(key, replace(why, ranges=tuple(ranges)))
        with _parameters_of(why.op, seen[-1][0]):
            return type_from_range(low * why.headroom, high * why.headroom, why.choice)

    # Accumulators

    def _accumulator_type(self, op: Quantizable, value: SSAValue) -> UniformQuantizedType:
        choice = self._choice(op, Slot.ACCUMULATOR)
        candidate = self.assignment.candidate(op)
        # The adder of the target holds the sums, or the target rejects the operation.
        is_added = candidate is not None and candidate.support.adder == str(choice.storage)
        is_exact = choice.storage == types.STORAGE or is_added
        found = self.accumulators.sum_of(op) if is_exact else None
        why = Reason(Basis.RANGE, op, Slot.ACCUMULATOR, choice, headroom=HEADROOM if is_exact else 1.0)
        if found is not None:
            self._because(value, replace(why, basis=Basis.SUM, headroom=1.0))
            return types.with_scales(found.type_, found.type_.scales, choice.storage)
        seen = observed(value)
        assert seen is not None  # no range of a sum follows from other values
        type_ = self._from_ranges(value, [(_named(value), seen)], why)
        exact = self.accumulators.sum_of(op)
        return type_ if exact is None else types.no_finer(type_, exact.type_)

    # Constants

    def _constant_type(self, op: Quantizable, position: int, slot: Slot, array: Array) -> UniformQuantizedType:
        if slot is Slot.WEIGHT:
            return self._weight_type(op, position, array)
        slots = op.quantization_slots()
        if slots.shares_parameters and (moved := next(filter(is_f32, op.results), None)) is not None:
            return self._table_type(op, position, array) or self._shared_type(op, position, moved)
        if slots.takes_accumulators and len(op.operands) == 2:
            other = op.operands[1 - position]
            if self.accumulators.is_accumulator(other):
                return self._addend_type(op, position, array, other)
        if not array.any() and (state := self.steps.state_of(op, position)) is not None:
            return self._shared_type(op, position, state)
        choice = self._choice(op, slot, value=op.operands[position])
        if choice.parameters is not None:
            return self._given_type(op, position, slot, choice)
        why = Reason(Basis.RANGE, op, slot, choice)
        return self._from_ranges((op, position), [("its constant", _known(array))], why)

    def _given_type(
        self, op: Quantizable, position: int, slot: Slot, choice: Choice, axis: int | None = None
    ) -> UniformQuantizedType:
        """Returns the type of a constant whose parameters a rule gives; its output channels lie along `axis`."""
        assert choice.parameters is not None
        self._because((op, position), Reason(Basis.RULE, op, slot, choice))
        scales, source = choice.parameters.scales, self.recipe.sources(op, slot)[PARAMETERS]
        with _parameters_of(op, f"slot '{slot}' by {source}"):
            type_ = type_of_parameters(choice.parameters, choice, axis)
            if axis is not None and choice.parameters.is_per_channel:
                channels = shape_of(op.operands[position])[axis]
                if len(scales) != channels:
                    raise ValueError(f"expected {channels} scales, one for each output channel, but got {len(scales)}")
            if (array := constant_array(op.operands[position])) is not None and array.size:
                share = float(saturates(array, type_).mean())
                outside = [f"{share:.0%} of the elements of slot '{slot}'"] if share > SATURATED else []
                outside += ["its bias"] if slot is Slot.WEIGHT and self._saturates_bias(op, type_.scales) else []
                if outside:
                    said = f"{source} gives {choice.parameters}"
                    self.decisions.warnings[op] = f"saturates: {said}, which does not cover {' and '.join(outside)}"
        return type_

    def _saturates_bias(self, op: Quantizable, scales: F64) -> bool:
        """Returns True if `op` has a bias that does not fit 32 bits with the weight `scales`."""
        if place_of(op, Slot.BIAS) is None:
            return False
        bias, position = self._bias_range(op), place_of(op, Slot.INPUT)
        data = None if position is None else self.decisions.operand_type(op, position)
        if bias is None or data is None:
            return False
        return bool(fit_bias(*bias, data.scale, np.broadcast_to(scales, bias[0].shape)).raised.any())

    # A 32-bit bias has the scale s_x * s_w, whatever type its sum is rounded to: the device adds it before the
    # rounding, or in the same step.
    def _addend_type(self, op: Quantizable, position: int, array: Array, other: SSAValue) -> UniformQuantizedType:
        """Returns the type of a constant that `op` adds to the accumulator `other`, by the rules of the bias slot."""
        choice = self._choice(op, Slot.BIAS)
        type_, is_exact = self.decisions.values[other], choice.storage == types.STORAGE
        if (
            is_exact
            and not choice.bias_scale
            and isinstance(other.owner, Quantizable)
            and type_.bits != choice.storage.bits
        ):
            type_ = found.type_ if (found := self.accumulators.sum_of(other.owner)) is not None else type_
        if choice.bias_scale == "sum" or (is_exact and not choice.bias_scale):
            shared = types.addend_type(array, type_, len(shape_of(other)), choice.storage)
            if shared is not None:
                self._because((op, position), Reason(Basis.ADDEND, op, Slot.BIAS, choice))
                return shared
            if "bias_scale" in self.recipe.asked(op, Slot.BIAS):
                raise op_error(op, f"the bias does not fit {choice.storage} with the scale of its accumulator, {type_}")
        why = Reason(Basis.RANGE, op, Slot.BIAS, choice)
        return self._from_ranges((op, position), [("its bias", _known(array))], why)

    def _shared_type(self, op: Quantizable, position: int, value: SSAValue) -> UniformQuantizedType:
        """Returns the type of `value` for an operand that shares it."""
        type_ = self._type_of(value, op)
        self._because((op, position), replace(self.decisions.reasons[value], basis=Basis.SHARED))
        return type_

    def _table_type(self, op: Quantizable, position: int, array: Array) -> UniformQuantizedType | None:
        """Returns the type of an embedding table if it has fewer bits than the gathered rows, else `None`."""
        if op not in self.recipe.known["embedding"] or not np.isfinite(array).all():
            return None
        choice, (moved,) = self._choice(op, Slot.WEIGHT, value=op.operands[position]), op.results
        rows = self._type_of(moved, op)
        if choice.storage.bits >= rows.bits:
            asked = self.recipe.asked_of_table(op)
            is_other = asked and (asked.keys() - {"storage"} or asked["storage"].bits != rows.bits)
            if is_other or choice.parameters is not None:
                said = "'embedding = true'" if choice.parameters is None else str(choice.parameters)
                self.decisions.warnings[op] = (
                    f"{said} has no effect: the rows of this table are read as {rows.bits}-bit values, and "
                    "the table has their type; help: use fewer bits for the table, or more for the result"
                )
            return None
        if choice.parameters is not None:
            return self._given_type(op, position, Slot.WEIGHT, choice, 0)
        self._because((op, position), Reason(Basis.WEIGHTS, op, Slot.WEIGHT, choice))
        with _parameters_of(op, "its table"):
            return self._of_weights(op, position, choice, weight_type(array, choice, 0, lambda scales: scales))

    def _weight_type(self, op: Quantizable, position: int, array: Array) -> UniformQuantizedType:
        choice, slots = self._choice(op, Slot.WEIGHT, value=op.operands[position]), op.quantization_slots()
        if choice.parameters is not None:
            return self._given_type(op, position, Slot.WEIGHT, choice, slots.weight_channel_axis)
        choice = self._divided(op, array, choice, slots.weight_channel_axis, slots.weight_sum_axis)
        self._because((op, position), Reason(Basis.WEIGHTS, op, Slot.WEIGHT, choice))
        with _parameters_of(op, "its weights"):
            fit = partial(self._with_room_for_bias, op, choice=choice)
            type_ = weight_type(array, choice, slots.weight_channel_axis, fit, slots.weight_sum_axis)
            return self._of_weights(op, position, choice, type_)

    def _divided(self, op: Quantizable, array: Array, choice: Choice, axis: int | None, along: int | None) -> Choice:
        """Returns `choice`, with one scale per channel and a warning if its blocks do not divide the sums of `op`."""
        if (size := undivided_sum(array, choice, axis, along)) is None:
            return choice
        self.decisions.warnings[op] = (
            f"block size {choice.granularity.block} does not divide its reduction size ({size}); using one weight "
            "scale per channel"
        )
        return replace(choice, granularity=GranularityChoice(is_channel=True))

    # Weight-only quantization: `quant.dcast` makes floats of the stored integers, which the operation reads. Programs
    # do so in registers, or once for each call. Rows of embedding tables become floats after they are gathered.
    def _decide_float_weights(self, op: Quantizable) -> None:
        """Decides the types of the constant weights of `op`, which computes in float."""
        is_table = op in self.recipe.known["embedding"] and moves_values(op)
        data = self.recipe.wish(op, Slot.INPUT)
        for position, array in self._constants(op).items():
            if not is_table and (slots_of(op)[position] is not Slot.WEIGHT or not isinstance(op, MultipliesAndAdds)):
                continue
            choice = self._choice(op, Slot.WEIGHT, value=op.operands[position])
            if not choice.is_quantized or not is_f32(op.operands[position]):
                continue
            if not np.isfinite(array).all():
                self.decisions.warnings[op] = "its weights stay in float: a weight is not finite"
                continue
            slots = op.quantization_slots()
            axis, along = (0, None) if is_table else (slots.weight_channel_axis, slots.weight_sum_axis)
            if isinstance(op, RecurrentOp):  # [directions, channels of all gates, terms]
                axis, along = 1, 2
            if choice.parameters is None:
                choice = self._divided(op, array, choice, axis, along)
                self._because((op, position), Reason(Basis.WEIGHTS, op, Slot.WEIGHT, choice))
                with _parameters_of(op, "its weights"):
                    type_ = weight_type(array, choice, axis, lambda scales: scales, along)
                    type_ = self._of_weights(op, position, choice, type_)
            else:
                type_ = self._given_type(op, position, Slot.WEIGHT, choice, axis)
            self.decisions.constants[op, position] = type_
            if data.storage.scope and not is_table:
                if str(data.scheme) not in DYNAMIC_SCHEMES:
                    known = " or ".join(DYNAMIC_SCHEMES)
                    raise op_error(op, f"activations '{data.storage}' require scheme {known}, but got {data.scheme}")
                self.decisions.dynamic[op] = data.storage.scope, str(data.scheme)
            if choice.allowed_repair != ALL_REPAIRS:
                self.decisions.repairs[op, position] = choice.allowed_repair

    def _of_weights(
        self, op: Quantizable, position: int, choice: Choice, type_: UniformQuantizedType
    ) -> UniformQuantizedType:
        """Returns `type_`, the type of weights; binary weights are also recorded as signs."""
        if choice.storage.has_zero:
            return type_
        if type_.zero_points.any():
            raise ValueError(f"binary weights must have zero point 0, but scheme '{choice.scheme}' gives another one")
        self.decisions.signed.add((op, position))
        return type_

    # Bias

    def _bias_range(self, op: Quantizable) -> tuple[F64, F64] | None:
        """Returns the smallest and largest bias added to the sums of a contraction, for each channel or for all."""
        position = place_of(op, Slot.BIAS)
        value: SSAValue | None = None
        if position is not None:
            value = op.operands[position]
        elif len(op.results) == 1 and self.accumulators.is_accumulator(op.results[0]) and op.results[0].has_one_use():
            (use,) = op.results[0].uses
            is_exact = self._choice(op, Slot.ACCUMULATOR).storage == types.STORAGE and use.operation in self.quantized
            value = use.operation.operands[1 - use.index] if is_exact and len(use.operation.operands) == 2 else None
        if value is None:
            return None
        if (array := constant_array(value)) is not None:
            repeated = array.reshape(op.quantization_slots().channel_repeats, -1).astype(np.float64)
            return repeated.min(0), repeated.max(0)
        seen = observed(value) if position is not None else None
        return None if seen is None else (np.array([seen.minimum]), np.array([seen.maximum]))

    # A bias is stored with the scale s_x * s_w of its sum, in 32 bits: |b| / (s_x * s_w) < 2^31. Data of more than 16
    # bits makes s_x so small that many biases do not fit. The contraction then reads the data in 16 bits, which lose
    # less than narrower weights would. If all weights of a channel are tiny, s_w is so small that the bias does not
    # fit. Raising s_w then costs precision only of weights that hardly matter.
    def _with_room_for_bias(self, op: Quantizable, scales: F64, choice: Choice) -> F64:
        """Returns the weight `scales`, raised if the bias would not fit the scale `s_x * s_w`."""
        bias, position = self._bias_range(op), place_of(op, Slot.INPUT)
        data = None if position is None else self.decisions.operand_type(op, position)
        if bias is None or data is None or (bias[0].size not in (1, scales.size) and scales.size != 1):
            return scales
        count = scales.size if bias[0].size == 1 else bias[0].size
        low, high = (np.broadcast_to(end, (count,)) for end in bias)
        fitted = fit_bias(low, high, data.scale, scales, is_power_of_two=choice.scheme.is_power_of_two)
        most = float((fitted.weight_scales / scales).max())
        assert position is not None
        if most > 2 and (coarser := self._coarser(op, position, data)) is not None:
            why = f"a 32-bit bias would make its weight scale {most:.3g} times larger"
            self.decisions.remark(op, f"reads its data in {coarser.bits} bits instead of {data.bits}, because {why}")
            fitted = fit_bias(low, high, coarser.scale, scales, is_power_of_two=choice.scheme.is_power_of_two)
        if fitted.raised.any():
            count, most = int(np.count_nonzero(fitted.raised)), float((fitted.weight_scales / scales).max())
            raised = "weight scale" if scales.size == 1 else f"{count} of its {scales.size} weight scales"
            self.decisions.remark(op, f"{raised} raised by up to {most:.3g} times, so that the bias fits 32 bits")
        return fitted.weight_scales

    def _coarser(self, op: Quantizable, position: int, data: UniformQuantizedType) -> UniformQuantizedType | None:
        """Returns the 16-bit type in which `op` reads `data` of more bits, or `None` if there is none."""
        value, choice = op.operands[position], self._choice(op, Slot.INPUT)
        seen = observed(value)
        if data.bits <= _ENOUGH_FOR_DATA or constant_array(value) is not None or seen is None:
            return None
        storage = Storage(_ENOUGH_FOR_DATA, is_signed=data.is_signed)
        why = Reason(Basis.RANGE, op, Slot.INPUT, replace(choice, storage=storage))
        self.decisions.operands[op, position] = self._from_ranges((op, position), [(_named(value), seen)], why)
        return self.decisions.operands[op, position]

    def _decide_bias(self, op: Quantizable) -> None:
        position = place_of(op, Slot.BIAS)
        if position is None:
            return
        value, product = op.operands[position], self.accumulators.product_type(op)
        array = constant_array(value)
        if product is None:  # block-wise weights: the bias is added in float
            seen = self._seen(value)
            assert seen is not None
            why = Reason(Basis.RANGE, op, Slot.BIAS, self._choice(op, Slot.BIAS))
            type_ = self._from_ranges((op, position), [("its bias", seen)], why)
        else:
            type_ = product.along(0) if product.granularity is Granularity.AXIS else product
            self._because((op, position), Reason(Basis.SUM, op, Slot.BIAS))
        (self.decisions.operands if array is None else self.decisions.constants)[op, position] = type_
        if self.recipe.wish(op, Slot.ACCUMULATOR).storage != types.STORAGE:
            reason = "rules for accumulators apply only to decomposed operations"
            self.decisions.remark(op, f"keeps its 32-bit accumulator: {reason}")


def _in_float(edges: Edges, is_kept: Callable[[Operation], bool]) -> tuple[dict[Operation, str], Set[SSAValue]]:
    """Returns the operations of `edges` that stay in float, with the reason, and the sums that they read.

    An operation is quantized nevertheless if `is_kept` returns True for it: rules or targets require integers.
    """

    kept = {op: reason for op, reason in edges.in_float.items() if not is_kept(op)}
    unrounded = {
        value
        for value in edges.sums
        if isinstance(value.owner, Operation)
        and not is_kept(value.owner)
        and all(use.operation in kept or use.operation not in edges.in_float for use in value.uses)
    }
    return kept, unrounded


def _warn_of_idle_parameters(decider: _Decider) -> None:
    """Warns of rules that give parameters only to values that stay in float, or whose type the model defines."""
    decisions = decider.decisions
    given = [each for found in decider.given.values() for each in found]
    applied = {each.source for each in given if each.value in decisions.values and given_type(each.value) is None}
    for each in given:
        if each.source not in applied:
            decider.recipe.choice(each.op, each.slot, each.value)  # the rule matches, so it is not an error
            cause = decisions.left_in_float.get(each.op, "no quantized operation computes or reads the value")
            cause = cause if given_type(each.value) is None else "the model itself quantizes the value"
            decisions.warnings[each.op] = f"ignores {each.parameters}, given by {each.source}: {cause}"


def decide(
    function: FuncOp,
    recipe: Recipe,
    targets: Sequence[Description] = (),
    states: Sequence[StatePair] = (),
    ports: Sequence[StoredPort] = (),
    *,
    keeps_integers: bool = False,
) -> Decisions:
    """Decides the types of the values of `function` by `recipe`, such that one of `targets` computes each operation.

    The type of each float result and argument must have a profiled range (`!quant.calibrated`), unless the range
    follows from the operation. An operation stays in float if a range is missing, if it does not support the decided
    types, or if no target computes it. Operations next to inputs and outputs that lose too much in integers (see
    `edges`), and moves between operations in float, also stay in float, unless `keeps_integers` is set. The values of
    `ports` enter and leave as integers of the storage that their caller chose.

    Raises `DiagnosticError` if no quantization parameters exist for a range, or if a rule requires a type that no
    target supports.
    """
    refused: dict[Operation, str] = {}
    undefined: dict[Operation, str] = {}
    assignment = Assignment(targets, recipe)
    residual, masking = residual_values(function), mask_arithmetic(function)
    exact = Fills(function).reasons | dict.fromkeys(read_exactly(function), REASON)
    exact |= dict.fromkeys(scales_dynamically(function), DYNAMIC)
    # A target that supports 8-bit tables with wider rows would have to declare it, and no description can yet.
    recipe.learn(function, without=["mixed_range_concat", *(["embedding"] if targets else [])])
    own = {value for state in states for value in (state.argument, state.returned)} | {port.value for port in ports}
    named = [(state.returned, state.argument) for state in states]
    feedback = find_feedback(function, named, residual)
    recipe.known["fed_back"] |= feedback.makers
    fed_back = [*named, *feedback.states]
    recipe.find_floats(function)
    edges = find_edges(function, recipe.wish, own, masking | exact.keys() | recipe.floats)
    recipe.known["edge"] |= edges.in_float.keys() | edges.wide
    recipe.find_floats(function)

    def is_kept(op: Operation) -> bool:
        return keeps_integers or recipe.wants_integers(op) or not assignment.may_stay_in_float(op)

    in_float, unrounded = _in_float(edges, is_kept)
    tables = recipe.known["embedding"]

    def holds(op: Operation) -> bool:
        """Returns True if `op` reads weights or moves a state, which are stored as integers."""
        return op in tables or not own.isdisjoint((*op.operands, *op.results))

    uneven = uneven_values(function, in_float)
    recipe.known["mixed_range_concat"] |= makers(uneven)
    exact |= in_float
    while True:
        decider = _Decider(
            function, recipe, refused, assignment, residual, uneven, masking, exact, unrounded, fed_back, ports
        )
        decisions = decider.run()
        without_result = decisions.undefined | undefined_constants(decisions)
        undefined |= without_result
        found = refusals(decisions) | without_result
        if targets:
            found = target_refusals(decisions, assignment) | found
        moving = {} if found else moves_between_floats(decisions, lambda op: is_kept(op) or holds(op))
        if not found and not moving:
            break
        refused |= {op: reason for op, reason in found.items() if not assignment.advance(op, reason)}
        refused = computed_for(function, undefined.keys() & refused.keys()) | refused | moving
    _warn_of_idle_parameters(decider)
    check_decided(function, ports, decisions)
    decisions.stored = frozenset(port.value for port in ports)
    if targets:  # without a rule, a target may choose another type
        recipe.effective |= recipe.used
    decisions.note_targets(assignment)
    decisions.remarks += branch_remarks(function, decisions.quantized)
    for op, remark in decisions.remarks:
        emit_remark(op, remark)
    for op, warning in decisions.warnings.items():
        emit_warning(op, warning)
    for op, reason in decisions.left_in_float.items():
        if reason in (_INFINITE_WEIGHT, _NOT_A_NUMBER, undefined.get(op)):
            emit_warning(op, f"not quantized: {reason}")
    return decisions
