"""Decides which targets can compute an operation, why others can't, and the cost of leaving it to the host.

Costs are in bytes: the size of each value that crosses between targets, plus `transfer_bytes` per transfer. `intensity`
converts the work of a device to bytes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.traits import SymbolTable, is_side_effect_free

from qmlir.dialects.quant.infer import bytes_of, elements_of
from qmlir.dialects.quant.ops import CastOperation
from qmlir.dialects.target.description import Description
from qmlir.ir.interfaces import DataDependentShape, MultipliesAndAdds
from qmlir.quantization.retyping import moves_values
from qmlir.quantization.supports import why_not
from qmlir.target import HOST, PART
from qmlir.targets.partitioning.phases import Plan, best_plan
from qmlir.targets.partitioning.preferences import Preferences
from qmlir.targets.partitioning.problem import HOST as HOST_PLACE
from qmlir.targets.partitioning.problem import CostGraph, computing, graph_of
from qmlir.text.tables import counted


def is_free(op: Operation) -> bool:
    """Returns true if `op` only moves, selects or casts values, so it runs where the fewest bytes are transferred."""
    if isinstance(op, CastOperation):
        return True
    if op.has_trait(DataDependentShape, value_if_unregistered=False):
        return False
    return moves_values(op)


def work(op: Operation) -> int:
    """Returns the work of an operation: its multiply-adds, or its result elements if it doesn't multiply."""
    if isinstance(op, MultipliesAndAdds):
        return op.multiply_adds()
    return sum(map(elements_of, op.results))


@dataclass
class _Candidate:
    """The places that can compute an operation, preferred first, and the reasons against the others."""

    positions: list[int]
    reasons: dict[str, str] = field(default_factory=dict[str, str])


def _host_only(op: Operation) -> str | None:
    """Returns the reason why `op` must stay on the host regardless of targets; `None` if there is none."""
    if isinstance(op, CallOp):
        callee = SymbolTable.lookup_symbol(op, op.callee)
        if callee is not None and PART in callee.attributes:
            return "it is already a part"
        return "it is a call; inline it first, so that its operations can be partitioned"
    if not is_side_effect_free(op):
        return "it has side effects"
    return None


class Division:
    """The partitioning of one function: candidates, the plan, and the reason for each placement."""

    def __init__(self, function: FuncOp, targets: Sequence[Description], preferences: Preferences):
        self._function, self._preferences = function, preferences
        self._targets = targets
        self.devices = tuple(target for target in targets if target.name != HOST)
        self._candidates = {op: self._candidate(op) for op in computing(function.body.block)}
        self.graph, self.plan = self._solved()
        while small := self._too_small():
            self._refuse(small)
            self.graph, self.plan = self._solved()

    def name_of(self, phase: int) -> str:
        """Returns the target of `phase`."""
        position = self.graph.problem.position(phase)
        return HOST if position == HOST_PLACE else self.devices[position - 1].name

    def phases(self) -> list[int]:
        """Returns the phases of the parts, in order."""
        return sorted({phase for phase in self.plan if self.graph.problem.position(phase) != HOST_PLACE})

    def elsewhere(self) -> Mapping[Operation, tuple[str, str]]:
        """Returns the operations not on the preferred target, those of the host first, with target and reason."""
        named = {op: self.name_of(phase) for op, phase in zip(self.graph.operations, self.plan, strict=True)}
        others = [each.name for each in self._targets[1:] if each.name != HOST]
        return {
            op: (name, self._reason(op) if name == HOST else self._reason_before(op, name))
            for wanted in (HOST, *others)
            for op, name in named.items()
            if name == wanted
        }

    # --- Solving ------------------------------------------------------------------------------------------------------

    def _solved(self) -> tuple[CostGraph, Plan]:
        # Preferences between places of equal cost are smaller than any cost: a byte costs `unit`.
        unit = 1 + sum(1 for _ in self._function.body.block.ops) * (1 + len(self.devices))

        def crossing(value: SSAValue) -> int:
            return unit * (self._preferences.transfer_bytes + max(bytes_of(value), 1))

        def costs(op: Operation) -> Mapping[int, int]:
            positions = self._candidates[op].positions
            if is_free(op):
                return {position: rank for rank, position in enumerate(positions)}
            if not self._preferences.intensity:
                return {positions[0]: 0}
            worth = unit * int(work(op) / self._preferences.intensity)
            last = max(len(positions) - 1, 1)
            return {position: worth * rank // last + rank for rank, position in enumerate(positions)}

        graph = graph_of(self._function, 1 + len(self.devices), costs, crossing)
        return graph, best_plan(graph.problem)

    def _candidate(self, op: Operation) -> _Candidate:
        found = _Candidate([])
        refused = _host_only(op)
        for target in self._targets:
            reason = refused or why_not(target, op)
            if reason is not None:
                found.reasons[target.name] = reason
            else:
                found.positions.append(HOST_PLACE if target.name == HOST else 1 + self.devices.index(target))
        if HOST_PLACE not in found.positions:
            found.positions.append(HOST_PLACE)
        return found

    def _too_small(self) -> dict[Operation, tuple[int, int]]:
        """Returns the operations of parts that are too small, with their place and the size of the part."""
        members: dict[int, list[Operation]] = {phase: [] for phase in self.phases()}
        for op, phase in zip(self.graph.operations, self.plan, strict=True):
            if phase in members:
                members[phase].append(op)
        return {
            op: (self.graph.problem.position(phase), len(ops))
            for phase, ops in members.items()
            if len(ops) < self._preferences.min_ops
            for op in ops
        }

    def _refuse(self, small: Mapping[Operation, tuple[int, int]]) -> None:
        for op, (position, count) in small.items():
            candidate = self._candidates[op]
            candidate.positions.remove(position)
            name = self.devices[position - 1].name
            found = f"a part of {counted(count, 'operation')} is smaller than min_ops={self._preferences.min_ops}"
            candidate.reasons[name] = f"target '{name}' would compute it, but {found}"

    def _reason(self, op: Operation) -> str:
        candidate = self._candidates[op]
        if set(candidate.positions) == {HOST_PLACE}:
            reasons = {name: text for name, text in candidate.reasons.items() if name != HOST}
            return "; ".join(dict.fromkeys(reasons.values())) or "the module names no other target"
        if candidate.positions[0] == HOST_PLACE:
            return f"target '{HOST}' has priority"
        return self._border(op, self.devices[candidate.positions[0] - 1].name)

    def _reason_before(self, op: Operation, name: str) -> str:
        """Returns why the targets preferred to `name` didn't get `op`."""
        reasons = self._candidates[op].reasons
        preferred = takewhile(lambda each: each != name, (target.name for target in self._targets))
        return "; ".join(dict.fromkeys(reasons.get(each) or self._border(op, each) for each in preferred))

    def _border(self, op: Operation, name: str) -> str:
        if is_free(op):
            return f"target '{name}' supports it, but keeping it here transfers less: it only moves data"
        return (
            f"target '{name}' supports it, but the transferred bytes exceed intensity={self._preferences.intensity:g}"
        )
