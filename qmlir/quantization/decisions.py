"""The decisions made for one function, and which of its values are accumulators."""

from collections.abc import Callable, Container, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.control_flow import makers, reached, uses_of
from qmlir.ir.float_reasons import FloatCause
from qmlir.ir.interfaces import Quantizable, Slot
from qmlir.quantization import types
from qmlir.quantization.assignment import Assignment
from qmlir.quantization.choice import Reason
from qmlir.quantization.retyping import (
    hypothetical_clone,
    is_float,
    moves_values,
    place_of,
    reads_weights,
    refusal,
    slots_of,
)
from qmlir.quantization.shared_scales import Groups
from qmlir.quantization.supports import inexpressible, mismatch
from qmlir.quantization.types import SumBound

# The decisions for one function, and the operations that do not support the decided types.

Types = dict[tuple[Operation, int], UniformQuantizedType]
Key = SSAValue | tuple[Operation, int]
"""A value, or an operand of an operation that has a type of its own."""

Reasons = dict[Key, Reason]
TargetSettings = dict[tuple[Operation, Slot], Mapping[str, str]]


@dataclass
class Decisions:
    """The type decisions for one function, with their reasons."""

    quantized: tuple[Quantizable, ...] = ()
    """The operations that compute on quantized values, in order."""

    values: dict[SSAValue, UniformQuantizedType] = field(default_factory=dict[SSAValue, UniformQuantizedType])
    """The type of each computed value and argument."""

    stored: Set[SSAValue] = frozenset()
    """The inputs and outputs that callers pass as integers: operations in float also read their rounded values."""

    constants: Types = field(default_factory=Types)
    """The type of each constant operand, by the operation that reads it and the operand index."""

    signed: set[tuple[Operation, int]] = field(default_factory=set[tuple[Operation, int]])
    """The constant operands whose codes are signs: binary weights."""

    repairs: dict[tuple[Operation, int], str] = field(default_factory=dict[tuple[Operation, int], str])
    """The accuracy recovery passes that may change each weight, if a rule names them, by user and operand index."""

    operands: Types = field(default_factory=Types)
    """The type of each operand that an operation reads in a type other than that of the value, by operation and operand
    index: a computed bias is read in the type of the sum, and a residual stream in the type of a contraction's data."""

    dynamic: dict[Operation, tuple[str, str]] = field(default_factory=dict[Operation, tuple[str, str]])
    """The scope and the scheme of the data of each operation that `nn-quantize-dynamically` is to quantize."""

    left_in_float: dict[Operation, str] = field(default_factory=dict[Operation, str])
    """The float operations that are not quantized, each with the reason."""

    kept_in_float: set[Operation] = field(default_factory=set[Operation])
    """The operations in `left_in_float` that a rule leaves in float."""

    undefined: dict[Operation, str] = field(default_factory=dict[Operation, str])
    """The operations that have no finite result for some value of an operand's type, each with the reason."""

    reasons: Reasons = field(default_factory=Reasons)
    """The reason for each type, by the value, or by the operation and the index of its operand."""

    warnings: dict[Operation, str] = field(default_factory=dict[Operation, str])
    """A warning for each operation on which a rule has no effect."""

    remarks: list[tuple[Operation, str]] = field(default_factory=list[tuple[Operation, str]])
    """Remarks on decisions that do not follow from the recipe alone, each with its operation."""

    targets: dict[Operation, str] = field(default_factory=dict[Operation, str])
    """The target of each quantized operation, if the module names targets."""

    target_settings: TargetSettings = field(default_factory=TargetSettings)
    """The fields of each choice that a target sets, with their source, by operation and slot."""

    def remark(self, op: Operation, text: str) -> None:
        """Adds a remark on a decision that does not follow from the recipe alone."""
        self.remarks.append((op, text))

    def note_targets(self, assignment: Assignment) -> None:
        """Records the target of each operation, the settings from targets, and the remarks of `assignment`."""
        pairs = ((op, assignment.candidate(op)) for op in self.quantized)
        self.targets |= {op: each.target.name for op, each in pairs if each is not None}
        for reason in self.reasons.values():
            self.target_settings[reason.op, reason.slot] = assignment.sources(reason.op, reason.slot)
        self.remarks += assignment.remarks.items()

    def operand_type(self, op: Operation, position: int) -> UniformQuantizedType | None:
        """Returns the type in which the quantized operation `op` reads its operand at index `position`, if decided."""
        own = self.constants.get((op, position)) or self.operands.get((op, position))
        return own if own is not None else self.values.get(op.operands[position])


def _elements(decisions: Decisions, op: Operation) -> list[Attribute]:
    """Returns the element types that the operands of `op` would have."""
    return [decisions.operand_type(op, position) or element_of(value) for position, value in enumerate(op.operands)]


def target_refusals(decisions: Decisions, assignment: Assignment) -> dict[Operation, str]:
    """Returns the operations whose target does not support the decided types, with the reasons."""
    found: dict[Operation, str] = {}

    def element(at: Operation, value: SSAValue) -> Attribute:
        return decisions.operand_type(at, at.operands.index(value)) or element_of(value)

    for op in decisions.quantized:
        if (candidate := assignment.candidate(op)) is None:
            continue
        target, support = candidate.target, candidate.support
        operands, made = _elements(decisions, op), [decisions.values.get(result) for result in op.results]
        results = [each or element_of(result) for each, result in zip(made, op.results, strict=True)]
        reason = mismatch(support, op, operands, results, element)
        if reason is None:  # `refusals` reports what does not verify
            with suppress(VerifyException), hypothetical_clone(op, operands, made) as as_decided:
                reason = inexpressible(target, support, as_decided)
        if reason is not None:
            found[op] = FloatCause.TARGET.reason(target=target.name, detail=f": {reason}")
    return found


def refusals(decisions: Decisions) -> dict[Operation, str]:
    """Returns the operations that do not support the types decided for them, with the reasons."""
    made = {op: [decisions.values.get(result) for result in op.results] for op in decisions.quantized}
    reasons = ((op, refusal(op, _elements(decisions, op), results)) for op, results in made.items())
    return {op: FloatCause.TYPES.reason(detail=reason) for op, reason in reasons if reason is not None}


def moves_between_floats(decisions: Decisions, is_kept: Callable[[Operation], bool]) -> dict[Operation, str]:
    """Returns the quantized operations that only move values between operations in float, with the reason.

    Connected moves are decided together. They stay quantized if one of them is next to a quantized operation, to an
    operation that may be fused with casts, or to an argument or the terminator of a region, if `is_kept` returns True
    for one, or if all their neighbors are inputs and outputs of the function.
    """
    moves: dict[Operation, None] = dict.fromkeys(op for op in decisions.quantized if moves_values(op))
    found: dict[Operation, str] = {}
    seen = set[Operation]()
    for op in moves:
        if op in seen:
            continue
        together = set(reached([op], lambda each: _around(each) & moves.keys()))
        seen |= together
        others = {other for each in together for other in _around(each)} - together
        is_held = any(is_kept(each) or _reads_arguments(each) for each in together)
        if others and not is_held and all(_stays_in_float(each, decisions) for each in others):
            found |= dict.fromkeys(together, FloatCause.FLOAT_MOVE.reason())
    return found


def _around(op: Operation) -> set[Operation]:
    """Returns the operations that compute the floats that `op` reads, and those that read its results."""
    assert isinstance(op, Quantizable)
    before = makers(value for value, _ in op.operands_with_slots() if is_float(value) and constant_array(value) is None)
    return before | {use.operation for use in uses_of(op) if not isinstance(use.operation, ReturnOp)}


def _reads_arguments(op: Operation) -> bool:
    """Returns True if `op` reads an argument of a block that isn't the body of a function."""
    return any(isinstance(each.owner, Block) and not isinstance(each.owner.parent_op(), FuncOp) for each in op.operands)


def _stays_in_float(op: Operation, decisions: Decisions) -> bool:
    if op not in decisions.left_in_float or not isinstance(op, Quantizable):
        return False
    return op in decisions.kept_in_float or not op.fuses_with_casts()


# The accumulators of a function, and the exact sums that they hold.
#
# An accumulator is the result of a contraction, or a sum of such results, whose users all accept sums that are not yet
# rounded. `types` defines its type. This section finds the terms that each operation adds, and a bound on the sum.


@dataclass
class Accumulators:
    """The accumulators of a function. `quantized` contains the operations that get quantized types, and `decisions` the
    types decided so far.
    """

    decisions: Decisions
    groups: Groups
    quantized: Set[Operation]
    unrounded: Set[SSAValue] = frozenset()
    """The sums that float operations read without rounding."""

    rounded: Container[SSAValue] = frozenset[SSAValue]()
    """The values that are not accumulators because rules that name them give their parameters."""

    _sums: dict[Operation, SumBound | None] = field(default_factory=dict[Operation, SumBound | None], init=False)
    _is_sum: dict[Operation, bool] = field(default_factory=dict[Operation, bool], init=False)

    def is_accumulator(self, value: SSAValue) -> bool:
        """Returns True if `value` is a sum and all its users accept accumulators."""
        owner = value.owner
        if not isinstance(owner, Quantizable) or not self.is_sum(owner) or self.groups.is_shared(value):
            return False
        if value in self.rounded:
            return False
        users = [use.operation for use in value.uses]
        return value in self.unrounded or (bool(users) and all(map(self._takes_accumulators, users)))

    def _takes_accumulators(self, op: Operation) -> bool:
        return isinstance(op, Quantizable) and op in self.quantized and op.quantization_slots().takes_accumulators

    def is_sum(self, op: Quantizable) -> bool:
        """Returns True if `op` is a contraction, or adds a value to the result of one."""
        if op not in self._is_sum:
            slots = op.quantization_slots()
            is_contraction = reads_weights(op) and slots.weight_channel_axis is not None
            owners = (operand.owner for operand in op.operands) if slots.takes_accumulators else ()
            self._is_sum[op] = op in self.quantized and (
                is_contraction or any(isinstance(owner, Quantizable) and self.is_sum(owner) for owner in owners)
            )
        return self._is_sum[op]

    def moved_to(self, members: Sequence[SSAValue]) -> SSAValue | None:
        """Returns the sum in a group of values that share a type, if all other `members` are moved copies of this sum.

        Returns `None` if there is no such sum, or if an operation that requires rounded data reads a member.
        """
        inside = set(members)
        moved = {result for op in makers(members) if not inside.isdisjoint(op.operands) for result in op.results}
        givers = [member for member in members if member not in moved]
        is_given = any(member in self.rounded for member in members)
        if is_given or len(members) == 1 or len(givers) != 1 or self.groups.limited & inside:
            return None
        owner = givers[0].owner
        if not isinstance(owner, Quantizable) or not self.is_sum(owner):
            return None
        for user in (use.operation for member in members for use in member.uses):
            if not isinstance(user, Quantizable) or user not in self.quantized:
                return None
            if not user.quantization_slots().takes_accumulators and inside.isdisjoint(user.results):
                return None
        return givers[0]

    def sum_of(self, op: Quantizable) -> SumBound | None:
        """Returns the exact sum that `op` computes, at a scale at which it fits in 32 bits; `None` if there is none."""
        if op not in self._sums:
            found = self._sum_of_sums(op) if op.quantization_slots().takes_accumulators else self._sum_of_products(op)
            if found is not None and found.raised_by:
                steps = f"2^{found.raised_by} times as large"
                self.decisions.remark(op, f"its sums overflow 32 bits: its accumulator uses a scale {steps}")
            self._sums[op] = None if found is None else found.fitted()
        return self._sums[op]

    def product_type(self, op: Quantizable) -> UniformQuantizedType | None:
        """Returns the type of the sums of products that `op` computes.

        Returns `None` for block-wise weights, and for operations that are not contractions.
        """
        weight, data = place_of(op, Slot.WEIGHT), place_of(op, Slot.INPUT)
        slots = op.quantization_slots()
        if weight is None or data is None or slots.weight_channel_axis is None:
            return None
        weight_type_, data_type = (self.decisions.operand_type(op, position) for position in (weight, data))
        if weight_type_ is None or data_type is None:
            return None
        return types.product_type(data_type, weight_type_, slots.result_channel_axis, slots.channel_repeats)

    def _sum_of_products(self, op: Quantizable) -> SumBound | None:
        type_ = self.product_type(op)
        weight, data, bias = (place_of(op, slot) for slot in (Slot.WEIGHT, Slot.INPUT, Slot.BIAS))
        if type_ is None or weight is None or data is None:
            return None
        data_type, own_type = (self.decisions.operand_type(op, position) for position in (data, weight))
        axis, value = op.quantization_slots().weight_channel_axis, op.operands[weight]
        assert data_type is not None
        assert own_type is not None
        assert axis is not None
        if (array := constant_array(value)) is not None:
            bound = float(types.reach(data_type) * types.weights_reach(array, own_type, axis))
        elif DYNAMIC_INDEX in shape_of(value):
            return SumBound(type_, np.inf)
        else:
            count = int(np.prod(shape_of(value))) // max(shape_of(value)[axis], 1)
            bound = float(types.reach(data_type) * types.reach(own_type) * count)
        added = None if bias is None else constant_array(op.operands[bias])
        if added is not None and bias is not None and (bias_type := self.decisions.operand_type(op, bias)) is not None:
            bound += types.bound_of(added, bias_type)
        return SumBound(type_, bound)

    def _sum_of_sums(self, op: Quantizable) -> SumBound | None:
        accumulators: list[SumBound] = []
        others: list[SumBound] = []
        result = shape_of(op.results[0])
        for position in slots_of(op):
            value, type_ = op.operands[position], self.decisions.operand_type(op, position)
            if type_ is None:
                return None
            owner, array = value.owner, constant_array(value)
            found = self.sum_of(owner) if isinstance(owner, Quantizable) and self.is_sum(owner) else None
            if array is not None:
                others.append(SumBound(type_, types.bound_of(array, type_)))
            elif found is not None and found.type_ == type_ and len(shape_of(value)) == len(result):
                accumulators.append(found)
            else:
                others.append(SumBound(type_, types.reach(type_)))
        total = types.sum_of(accumulators, others) if accumulators else None
        if total is None or total.type_.granularity is Granularity.TENSOR:
            return total
        return total if result[total.type_.axis] == total.type_.scales.size else None
