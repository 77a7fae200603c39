"""The steps of a layer that was unrolled: parts of one role, which have one type in all of them.

So the steps can be a loop again, and a report has one line for what the model has one node for.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import replace

from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.decompose.recurrent import CELLS, prefix_of
from qmlir.ir.decomposition import role_of
from qmlir.ir.interfaces import Quantizable
from qmlir.ir.provenance import origins_of
from qmlir.quantization.groups import Groups
from qmlir.quantization.retyping import is_f32, slots_of


def _giver(value: SSAValue) -> Hashable:
    """The role of the part that gives `value`, `None` for an argument."""
    return role_of(value.owner) if isinstance(value.owner, Operation) else None


class RoleParts:
    """The parts of one role among quantized operations: there are several where a layer has steps."""

    def __init__(self, operations: Iterable[Quantizable]) -> None:
        self._parts: dict[Hashable, list[Quantizable]] = defaultdict(list)
        for op in operations:
            if any(origin.role for origin in origins_of(op)):
                self._parts[role_of(op)].append(op)

    def join(self, groups: Groups) -> None:
        """Let a part of a layer have one type in all steps, also where only the last one shares it with others.

        So does an initial state, which the first step takes where the others take the state before, unless several
        states begin with it.
        """
        begun: dict[SSAValue, dict[Hashable, SSAValue]] = defaultdict(dict)
        for steps in self._parts.values():
            for place in slots_of(steps[0]):
                values = [op.operands[place] for op in steps]
                states = {_giver(value): value for value in values if len(self._parts.get(_giver(value), ())) > 1}
                for value in values:
                    if len(states) == 1 and _giver(value) not in states and constant_array(value) is None:
                        begun[value].update(states)
        self._join_directions(groups)
        for initial, states in begun.items():
            if len(states) == 1:
                groups.join((*states.values(), initial))
        for steps in self._parts.values():
            for values in zip(*(filter(is_f32, op.results) for op in steps), strict=False):
                if len(values) > 1 and any(map(groups.is_shared, values)):
                    groups.join(values)

    # What no operation uses of a layer is not there when types are decided, so that nothing joins the cells of both
    # directions, which are one result of the composite.
    def _join_directions(self, groups: Groups) -> None:
        """Let the cells of both directions of a layer have one type."""
        for steps in list(self._parts.values()):
            origins = origins_of(steps[0])
            if any(origin.role in CELLS for origin in origins):
                other = type(steps[0]), tuple(replace(each, role=f"{prefix_of(1)}{each.role}") for each in origins)
                if others := self._parts.get(other):
                    groups.join(filter(is_f32, (op.results[0] for op in (*steps, *others))))

    def state_of(self, op: Quantizable, place: int) -> SSAValue | None:
        """What the other steps of a layer take where `op`, a part of one step, takes a constant: zeros have its type.

        So the first step has the types of all, and the steps can be a loop.
        """
        taken = (other.operands[place] for other in self._parts.get(role_of(op), ()))
        return next((value for value in taken if is_f32(value) and constant_array(value) is None), None)
