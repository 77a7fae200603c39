"""Values that share one quantized type: moved values, states that a caller feeds back, steps of an unrolled layer."""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import takewhile

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.recurrent.decompose import CELLS, prefix_of
from qmlir.ir.decomposition import is_part, role_of
from qmlir.ir.diagnostics import nearest_name, op_error, text_error
from qmlir.ir.interfaces import Quantizable
from qmlir.ir.provenance import origins_of
from qmlir.ir.signature import inputs_of, outputs_of
from qmlir.quantization.profiles.statistics import observed_range
from qmlir.quantization.retyping import fixed_range, is_f32, slots_of

# Values of a function that share one quantized type, because an operation moves them without a rescale.
#
# - Data movement, max pooling and concatenation require one type for their operands and results.
# - If an operation only clamps its operand (relu, clip), the operand and the values that were moved to form it have the
#   type of the result, unless they have other users.
# - If an operation joins several values (a concatenation, a `where`, a scatter), an operand keeps a separate type if
#   other operations read it and would lose accuracy by the joint range. The operand is then rescaled when it is joined.
#   A composite does not do this: a recurrent layer has one type for the values of all steps.

WORTH = 1.0
"""The smallest gain in decibels for which a joined operand gets a separate type."""


@dataclass
class _Group:
    """The state of a group, kept so that a chain of n joins does not walk over the members n times."""

    last: SSAValue
    """The last member of the linked list that begins with the representative of the group."""

    range: tuple[float, float]
    """The smallest range that includes 0 and the ranges of all members that are not limited."""

    readers: dict[Operation, None]
    """The users of members, except for those known to move one member to another."""

    readers_of_kept: dict[Operation, None]
    """The users of members that are not limited, except for those that move such a member to another."""


@dataclass
class Groups:
    """Sets of values that share a type; a value that was never joined is alone in its group."""

    limited: set[SSAValue] = field(default_factory=set[SSAValue], init=False)
    """Values whose type need only cover the range that remains after a clamping operation."""

    _parents: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue], init=False)
    _next: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue], init=False)
    _groups: dict[SSAValue, _Group] = field(default_factory=dict[SSAValue, _Group], init=False)
    _movers: set[Operation] = field(default_factory=set[Operation], init=False)

    def find(self, value: SSAValue) -> SSAValue:
        """Returns the representative of the group of `value`."""
        while (parent := self._parents.get(value, value)) is not value:
            self._parents[value] = self._parents.get(parent, parent)  # path halving
            value = parent
        return value

    def members(self, value: SSAValue) -> list[SSAValue]:
        """Returns the values in the group of `value`, in the order in which they joined."""
        found: SSAValue | None = self.find(value)
        members: list[SSAValue] = []
        while found is not None:
            members.append(found)
            found = self._next.get(found)
        return members

    def is_shared(self, value: SSAValue) -> bool:
        """Returns True if the group of `value` has other members."""
        return self.find(value) in self._next

    def join(self, values: Iterable[SSAValue]) -> None:
        """Makes `values` share one type."""
        iterator: Iterator[SSAValue] = iter(values)
        first = next(iterator, None)
        if first is None:
            return
        for value in iterator:
            root, other = self.find(first), self.find(value)
            if root is not other:
                group, joined = self._group(root), self._group(other)
                self._parents[other] = root
                self._next[group.last] = other
                group.last = joined.last
                group.range = _hull(group.range, joined.range)
                group.readers = _union(group.readers, joined.readers)
                group.readers_of_kept = _union(group.readers_of_kept, joined.readers_of_kept)
                del self._groups[other]

    def join_by(
        self,
        op: Quantizable,
        operands: Iterable[SSAValue],
        results: Iterable[SSAValue],
        may_limit: Callable[[SSAValue], bool] = lambda _: True,
    ) -> None:
        """Joins the data `operands` and `results` of the quantized operation `op` that must share a type.

        An operand that `op` only clamps is joined if `may_limit` returns True for it.
        """
        slots = op.quantization_slots()
        if slots.shares_parameters:
            operands = tuple(operands)
            own = set[SSAValue]()
            if len(operands) > 1 and not is_part(op):
                low, high = reduce(_hull, (self._group(self.find(each)).range for each in operands))
                own = {each for each in operands if self._keeps_its_type(each, op, high - low)}
            self.join((*(each for each in operands if each not in own), *results))
            self._movers.add(op)
        elif slots.limits_operand:
            results = tuple(results)
            for operand in operands:
                if self._is_only_read_by(operand, op) and may_limit(operand):
                    self._limit(operand)
                    self.join((*results, operand))

    def _group(self, root: SSAValue) -> _Group:
        if root not in self._groups:
            readers = {use.operation: None for use in root.uses}
            self._groups[root] = _Group(root, _hull((0.0, 0.0), _range(root)), readers, dict(readers))
        return self._groups[root]

    def _limit(self, value: SSAValue) -> None:
        """Marks all members of the group of `value` as limited."""
        group = self._group(self.find(value))
        self.limited.update(self.members(value))
        group.range, group.readers_of_kept = (0.0, 0.0), {}

    # With the same number of bits, rounding noise grows with the square of the range. Readers other than `op` get the
    # noise of the operand's own range instead of the joint one. `op` gets both: a rescaled value is rounded twice.
    def _keeps_its_type(self, operand: SSAValue, op: Operation, joined: float) -> bool:
        """Returns True if it is better to rescale `operand` where `op` joins it to a range of the length `joined`."""
        low, high = self._group(self.find(operand)).range
        own = high - low
        if not 0 < own < joined or self._is_only_read_by(operand, op, of_kept=True):
            return False
        ratio = (joined / own) ** 2
        return 10 * math.log10(ratio / (1 + 1 / ratio)) > WORTH

    def _is_only_read_by(self, value: SSAValue, op: Operation, *, of_kept: bool = False) -> bool:
        """Returns True if `op` is the only user of the group of `value`, apart from moves inside the group.

        With `of_kept`, only users of members that are not limited count.
        """
        root = self.find(value)
        group = self._group(root)
        readers = group.readers_of_kept if of_kept else group.readers
        others = (user for user in readers if user is not op)
        inside = list(takewhile(lambda user: self._moves_inside(user, root, of_kept=of_kept), others))
        for user in inside:  # final, as groups only grow
            del readers[user]
        return readers.keys() <= {op}

    def _moves_inside(self, user: Operation, root: SSAValue, *, of_kept: bool) -> bool:
        return user in self._movers and all(
            self.find(result) is root and not (of_kept and result in self.limited) for result in user.results
        )


def _union(one: dict[Operation, None], other: dict[Operation, None]) -> dict[Operation, None]:
    """Returns the union, stored in the larger of the two."""
    larger, smaller = (one, other) if len(one) >= len(other) else (other, one)
    larger.update(smaller)
    return larger


def _hull(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return min(one[0], other[0]), max(one[1], other[1])


def _range(value: SSAValue) -> tuple[float, float]:
    """Returns the range of `value`, or (0, 0) if it is not known."""
    if (fixed := fixed_range(value)) is not None:
        return fixed.minimum, fixed.maximum
    return observed_range(value) or (0.0, 0.0)


def width(values: Iterable[SSAValue]) -> float:
    """Returns the width of the smallest range that includes 0 and `values`; 0 if no value has a known range."""
    low, high = reduce(_hull, map(_range, values), (0.0, 0.0))
    return high - low


# States: inputs for which a caller passes the outputs of the previous call, such as a KV cache.
#
# States are named in pairs, `state=next_state`. A star matches the same text on both sides: `past_*=present_*`.


@dataclass(frozen=True)
class StatePair:
    """An input of a function, and the output that becomes this input in the next call."""

    enters: str
    leaves: str
    argument: BlockArgument
    end: ReturnOp
    position: int
    """The index of the operand of `end` that returns the next state."""

    @property
    def returned(self) -> SSAValue:
        """The value that `end` returns as the next state."""
        return self.end.operands[self.position]


def states_of(function: FuncOp, entries: Iterable[str]) -> list[StatePair]:
    """Returns the states of `function` that `entries` name. Raises `DiagnosticError` if an entry matches nothing."""
    end = function.body.block.last_op
    assert isinstance(end, ReturnOp)
    inputs, outputs = ([port.name for port in ports] for ports in (inputs_of(function), outputs_of(function)))
    found: dict[str, StatePair] = {}
    for entry in entries:
        pairs = list(_pairs(entry, inputs))
        if not pairs:
            name = entry.partition("=")[0]
            raise op_error(function, f"has no input '{name}' to use as a state{nearest_name(name, inputs)}")
        for enters, leaves in pairs:
            if leaves not in outputs:
                near = nearest_name(leaves, outputs)
                raise op_error(function, f"has no output '{leaves}' for state '{enters}'{near}")
            if enters in found or leaves in (each.leaves for each in found.values()):
                raise op_error(function, f"state '{enters}={leaves}' reuses a name of another state")
            position = outputs.index(leaves)
            found[enters] = StatePair(enters, leaves, function.body.block.args[inputs.index(enters)], end, position)
    return list(found.values())


def _pairs(entry: str, inputs: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yields the pairs of names that match an entry."""
    enters, equals, leaves = entry.partition("=")
    if not enters or not equals or not leaves or enters.count("*") != leaves.count("*"):
        raise text_error(f"state must be spelled input=output or past_*=present_*, but got '{entry}'")
    pattern = re.compile(re.escape(enters).replace(r"\*", "(.*)"))
    for name in inputs:
        if (match := pattern.fullmatch(name)) is not None:
            texts = iter(match.groups())
            yield name, "".join(next(texts) if each == "*" else each for each in re.split(r"(\*)", leaves))


# The steps of an unrolled layer: parts with the same role, which have the same types in all steps.
#
# Equal types allow the steps to become a loop again, and a report to describe a node of the model in one line.


def _giver(value: SSAValue) -> Hashable:
    """Returns the role of the part that produces `value`; `None` for an argument."""
    return role_of(value.owner) if isinstance(value.owner, Operation) else None


class RoleParts:
    """The quantized parts of layers by role; a role has one part for each step of an unrolled layer."""

    def __init__(self, operations: Iterable[Quantizable]) -> None:
        self._parts: dict[Hashable, list[Quantizable]] = defaultdict(list)
        for op in operations:
            if any(origin.role for origin in origins_of(op)):
                self._parts[role_of(op)].append(op)

    def join(self, groups: Groups) -> None:
        """Makes the results of each part share one type in all steps, if a step shares its type with other values.

        The initial state, which the first step reads instead of the previous state, also gets this type, unless it
        initializes several states.
        """
        begun: dict[SSAValue, dict[Hashable, SSAValue]] = defaultdict(dict)
        for steps in self._parts.values():
            for position in slots_of(steps[0]):
                values = [op.operands[position] for op in steps]
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

    # Unused results of a layer no longer exist when types are decided. So no operation joins the cells of both
    # directions, which are one result of the composite.
    def _join_directions(self, groups: Groups) -> None:
        """Makes the cells of both directions of a layer share one type."""
        for steps in list(self._parts.values()):
            origins = origins_of(steps[0])
            if any(origin.role in CELLS for origin in origins):
                other = type(steps[0]), tuple(replace(each, role=f"{prefix_of(1)}{each.role}") for each in origins)
                if others := self._parts.get(other):
                    groups.join(filter(is_f32, (op.results[0] for op in (*steps, *others))))

    def state_of(self, op: Quantizable, position: int) -> SSAValue | None:
        """Returns the state that corresponds to a constant operand of `op`, a part of the first step of a layer.

        The same part in other steps reads the state as its operand at index `position`. The constant, such as initial
        zeros, gets the type of the state. Then all steps have the same types, and can become a loop again.
        """
        taken = (other.operands[position] for other in self._parts.get(role_of(op), ()))
        return next((value for value in taken if is_f32(value) and constant_array(value) is None), None)
