"""Which values of a function are accumulators, and the exact sums that they hold.

An accumulator is the result of a contraction, or a sum of such results, that only goes into operations that take sums
before they are rounded. `sums` says what type it has; here is which operations add what up, and how large it gets.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.interfaces import Quantizable, Slot
from qmlir.quantization import sums
from qmlir.quantization.decisions import Decisions
from qmlir.quantization.groups import Groups
from qmlir.quantization.retyping import place_of, slots_of
from qmlir.quantization.sums import SumBound


@dataclass
class Accumulators:
    """The sums of a function whose operations in `quantized` get quantized types, as far as `decisions` has them."""

    decisions: Decisions
    groups: Groups
    quantized: Set[Operation]
    unrounded: Set[SSAValue] = frozenset()
    """Sums that what computes in float reads as they are."""

    _sums: dict[Operation, SumBound | None] = field(default_factory=dict[Operation, SumBound | None], init=False)
    _is_sum: dict[Operation, bool] = field(default_factory=dict[Operation, bool], init=False)

    def is_accumulator(self, value: SSAValue) -> bool:
        """Whether `value` is a sum that only goes into operations that take accumulators."""
        owner = value.owner
        if not isinstance(owner, Quantizable) or not self.is_sum(owner) or self.groups.is_shared(value):
            return False
        users = [use.operation for use in value.uses]
        return value in self.unrounded or (
            bool(users)
            and all(
                isinstance(user, Quantizable)
                and user in self.quantized
                and user.quantization_slots().takes_accumulators
                for user in users
            )
        )

    def is_sum(self, op: Quantizable) -> bool:
        """Whether `op` is a contraction, or adds something up with the result of one."""
        if op not in self._is_sum:
            slots = op.quantization_slots()
            is_contraction = Slot.WEIGHT in slots.operands.values() and slots.weight_channel_axis is not None
            owners = (operand.owner for operand in op.operands) if slots.takes_accumulators else ()
            self._is_sum[op] = op in self.quantized and (
                is_contraction or any(isinstance(owner, Quantizable) and self.is_sum(owner) for owner in owners)
            )
        return self._is_sum[op]

    def moved_to(self, members: Sequence[SSAValue]) -> SSAValue | None:
        """The one of `members`, a group of values that share a type, which is a sum that the others are moved from.

        `None` where the group is not such a sum, or is taken by operations that want it rounded.
        """
        inside = set(members)
        givers = [
            member
            for member in members
            if not isinstance(member.owner, Operation) or inside.isdisjoint(member.owner.operands)
        ]
        if len(members) == 1 or len(givers) != 1 or self.groups.limited & inside:
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
        """The exact sum that `op` computes, in steps that 32 bits have room for; `None` where there is none."""
        if op not in self._sums:
            found = self._sum_of_sums(op) if op.quantization_slots().takes_accumulators else self._sum_of_products(op)
            if found is not None and found.raised_by:
                steps = f"2^{found.raised_by} times as large"
                self.decisions.remarks.append((op, f"its sums overflow 32 bits: its accumulator uses a scale {steps}"))
            self._sums[op] = None if found is None else found.fitted()
        return self._sums[op]

    def product_type(self, op: Quantizable) -> UniformQuantizedType | None:
        """The type of the sums of products of `op`; `None` where it is not a contraction, or one of blocks."""
        weight, data = place_of(op, Slot.WEIGHT), place_of(op, Slot.INPUT)
        slots = op.quantization_slots()
        if weight is None or data is None or slots.weight_channel_axis is None:
            return None
        weight_type_, data_type = (self.decisions.operand_type(op, place) for place in (weight, data))
        if weight_type_ is None or data_type is None:
            return None
        return sums.product_type(data_type, weight_type_, slots.result_channel_axis, slots.channel_repeats)

    def _sum_of_products(self, op: Quantizable) -> SumBound | None:
        type_ = self.product_type(op)
        weight, data, bias = (place_of(op, slot) for slot in (Slot.WEIGHT, Slot.INPUT, Slot.BIAS))
        if type_ is None or weight is None or data is None:
            return None
        data_type, own_type = (self.decisions.operand_type(op, place) for place in (data, weight))
        axis, value = op.quantization_slots().weight_channel_axis, op.operands[weight]
        assert data_type is not None
        assert own_type is not None
        assert axis is not None
        if (array := constant_array(value)) is not None:
            bound = float(sums.reach(data_type) * sums.weights_reach(array, own_type, axis))
        elif DYNAMIC_INDEX in shape_of(value):
            return SumBound(type_, np.inf)
        else:
            count = int(np.prod(shape_of(value))) // max(shape_of(value)[axis], 1)
            bound = float(sums.reach(data_type) * sums.reach(own_type) * count)
        added = None if bias is None else constant_array(op.operands[bias])
        if added is not None and bias is not None and (bias_type := self.decisions.operand_type(op, bias)) is not None:
            bound += sums.bound_of(added, bias_type)
        return SumBound(type_, bound)

    def _sum_of_sums(self, op: Quantizable) -> SumBound | None:
        accumulators: list[SumBound] = []
        others: list[SumBound] = []
        result = shape_of(op.results[0])
        for place in slots_of(op):
            value, type_ = op.operands[place], self.decisions.operand_type(op, place)
            if type_ is None:
                return None
            owner, array = value.owner, constant_array(value)
            found = self.sum_of(owner) if isinstance(owner, Quantizable) and self.is_sum(owner) else None
            if array is not None:
                others.append(SumBound(type_, sums.bound_of(array, type_)))
            elif found is not None and found.type_ == type_ and len(shape_of(value)) == len(result):
                accumulators.append(found)
            else:
                others.append(SumBound(type_, sums.reach(type_)))
        total = sums.sum_of(accumulators, others) if accumulators else None
        if total is None or total.type_.granularity is Granularity.TENSOR:
            return total
        return total if result[total.type_.axis] == total.type_.scales.size else None
