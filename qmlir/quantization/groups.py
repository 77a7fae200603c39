"""The values of a function that share one quantized type, because an operation moves them without a rescale.

Movement, max pools and concatenation give their operands and results one type. An operation that only limits its
operand (relu, clip) gives the operand, and the values that were moved to become it, the type of the result, if they
have no other users. An operation that joins several values (a concatenation, a selection, a scatter) leaves an operand
its own type if other operations read the operand and the range of the whole would cost them accuracy: the operand is
rescaled where it is joined. In a composite it is not: a recurrent layer has one type for the values of all steps.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from xdsl.ir import Operation, SSAValue

from qmlir.ir.decomposition import is_part
from qmlir.ir.interfaces import Quantizable
from qmlir.quantization.observed import observed

WORTH = 1.0
"""The decibels that a type of its own must gain an operand that is joined to others."""


class Groups:
    """Sets of values that share a type; a value that was never joined is alone in its group."""

    def __init__(self) -> None:
        self._parents: dict[SSAValue, SSAValue] = {}
        self._members: dict[SSAValue, list[SSAValue]] = {}
        self.limited: set[SSAValue] = set()
        """Values of which only what the result of a limiting operation keeps is needed."""
        self._movers: set[Operation] = set()

    def find(self, value: SSAValue) -> SSAValue:
        """The value that stands for the group of `value`."""
        while (parent := self._parents.get(value, value)) is not value:
            value = parent
        return value

    def members(self, value: SSAValue) -> list[SSAValue]:
        """The values of the group of `value`, in the order in which they joined."""
        root = self.find(value)
        return self._members.get(root, [root])

    def join(self, values: Iterable[SSAValue]) -> None:
        """Let `values` share one type."""
        iterator: Iterator[SSAValue] = iter(values)
        first = next(iterator, None)
        if first is None:
            return
        for value in iterator:
            root, other = self.find(first), self.find(value)
            if root is not other:
                merged = [*self.members(root), *self.members(other)]
                self._parents[other] = root
                self._members.pop(other, None)
                self._members[root] = merged

    def join_by(
        self,
        op: Quantizable,
        operands: Iterable[SSAValue],
        results: Iterable[SSAValue],
        may_limit: Callable[[SSAValue], bool] = lambda _: True,
    ) -> None:
        """Join what the quantized operation `op` keeps together among its data `operands` and `results`.

        What `op` only limits is joined where `may_limit` says so of it.
        """
        slots = op.quantization_slots()
        if slots.shares_parameters:
            operands = tuple(operands)
            self.join((*(each for each in operands if not self._keeps_its_type(each, op, operands)), *results))
            self._movers.add(op)
        elif slots.limits_operand:
            results = tuple(results)
            for operand in operands:
                members = self.members(operand)
                if self._is_only_read_by(members, op) and may_limit(operand):
                    self.join((*results, operand))
                    self.limited.update(members)

    # With the same number of bits, rounding noise grows with the square of the range. Readers besides `op` get that of
    # the operand's own range instead of the joined one. `op` gets both: a value that is rescaled is rounded twice.
    def _keeps_its_type(self, operand: SSAValue, op: Operation, operands: Sequence[SSAValue]) -> bool:
        """Whether `operand`, which `op` joins to the other `operands`, is better rescaled there."""
        members, everything = self._kept(operand), [each for value in operands for each in self._kept(value)]
        own, joined = width(members), width(everything)
        if len(operands) < 2 or is_part(op) or not 0 < own < joined or self._is_only_read_by(members, op):
            return False
        ratio = (joined / own) ** 2
        return 10 * math.log10(ratio / (1 + 1 / ratio)) > WORTH

    def _kept(self, value: SSAValue) -> list[SSAValue]:
        """The group of `value`, without what is clamped there to become another member."""
        return [each for each in self.members(value) if each not in self.limited]

    def _is_only_read_by(self, members: Sequence[SSAValue], op: Operation) -> bool:
        """Whether `op` is the only user of `members`, but for operations that move one member to another."""
        known = set(members)
        users = {use.operation for value in members for use in value.uses}
        return all(user is op or (user in self._movers and known.issuperset(user.results)) for user in users)


def width(values: Iterable[SSAValue]) -> float:
    """The length of the range that holds 0 and `values`; 0 where none of them has a known range."""
    low = high = 0.0
    for value in values:
        owner = value.owner
        fixed = owner.quantization_slots().fixed_output if isinstance(owner, Quantizable) else None
        known = observed(value) if fixed is None else fixed
        if known is not None:
            low, high = min(low, known.minimum), max(high, known.maximum)
    return high - low
