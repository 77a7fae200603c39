"""Which target computes each operation while types are decided, and what that target lets a value be.

An operation starts with the first target that supports what rules and options ask for. Where it would get types that
this target does not take, the next one has its turn; what none takes stays in float. With no targets on the module,
nothing here changes anything.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from xdsl.ir import Operation

from qmlir.dialects.target.description import Accepted, Description, Support
from qmlir.ir.diagnostics import op_error
from qmlir.ir.float_reasons import FloatCause
from qmlir.ir.interfaces import Quantizable, Slot
from qmlir.quantization.choice import Choice, GranularityChoice
from qmlir.quantization.recipe import Recipe
from qmlir.quantization.retyping import slots_of


@dataclass(frozen=True)
class Candidate:
    """A target, and one of the ways in which it computes an operation."""

    target: Description
    support: Support


def granularity_text(granularity: GranularityChoice) -> str:
    """`tensor`, `channel` or `block:N`."""
    return "channel" if granularity.is_channel else f"block:{granularity.block}" if granularity.block else "tensor"


def _has_granularity(accepted: Accepted, granularity: GranularityChoice) -> bool:
    return accepted.has_granularity(granularity_text(granularity))


_ACCEPTS: Mapping[str, tuple[str, Callable[..., bool]]] = {
    "storage": ("storages", Accepted.has_storage),
    "scheme": ("schemes", Accepted.has_scheme),
    "granularity": ("granularities", _has_granularity),
    "scale": ("scales", Accepted.has_scale),
}
"""For each field of a choice, the field that says what is accepted, and who decides."""


def _value_text(value: Any) -> str:
    return granularity_text(value) if isinstance(value, GranularityChoice) else str(value)


@dataclass
class Assignment:
    """The targets of a module, and for each operation the one whose turn it is."""

    targets: Sequence[Description]
    recipe: Recipe
    remarks: dict[Operation, str] = field(default_factory=dict[Operation, str])
    """What was left to a later target because a rule asks for what an earlier one has not."""

    _candidates: dict[Operation, list[Candidate]] = field(default_factory=dict[Operation, list[Candidate]])
    _sources: dict[tuple[Operation, Slot], dict[str, str]] = field(
        default_factory=dict[tuple[Operation, Slot], dict[str, str]]
    )

    def float_reason(self, op: Quantizable) -> str | None:
        """Why no target computes `op` on quantized values whatever its types are; `None` where one may.

        Raises `DiagnosticError` where a rule asks for what none of them has.
        """
        if not self.targets:
            return None
        if op not in self._candidates:
            self._candidates[op] = self._start(op)
        candidates = self._candidates[op]
        if not candidates:
            return "; ".join(filter(None, (target.why_not(op) for target in self.targets)))
        first = candidates[0]
        slots = dict.fromkeys((*slots_of(op).values(), Slot.OUTPUT))
        if any((each := first.support.slot(slot)) is not None and each.is_float_only for slot in slots):
            return FloatCause.TARGET_FLOAT.reason(target=first.target.name)
        return None

    def may_stay_in_float(self, op: Operation) -> bool:
        """Whether a target computes `op` in float; so it is without targets."""
        supports = [support for target in self.targets for support in target.supports_of(op)]
        taken = [[support.slot(slot) for slot in (Slot.INPUT, Slot.OUTPUT)] for support in supports]
        return not self.targets or any(
            all(accepted is None or not accepted.storages or accepted.floats for accepted in slots) for slots in taken
        )

    def _start(self, op: Quantizable) -> list[Candidate]:
        """The ways in which targets compute `op`, in order, without those that cannot be what rules ask for."""
        found = [Candidate(target, support) for target in self.targets for support in target.supports_of(op)]
        conflicts = {place: self._conflict(op, candidate) for place, candidate in enumerate(found)}
        kept = [candidate for place, candidate in enumerate(found) if conflicts[place] is None]
        refused = next(filter(None, conflicts.values()), None)
        if refused is not None and not kept:
            others = "" if len(self.targets) == 1 else ", and no other target supports that"
            raise op_error(op, f"its rules ask for {refused}{others}")
        if refused is not None and conflicts[0] is not None and kept[0].target is not found[0].target:
            self.remarks[op] = f"is assigned to target '{kept[0].target.name}': its rules ask for {refused}"
        return kept

    def _conflict(self, op: Quantizable, candidate: Candidate) -> str | None:
        added = (Slot.BIAS,) if op.quantization_slots().takes_accumulators else ()
        for slot in dict.fromkeys((*slots_of(op).values(), *added, Slot.OUTPUT, Slot.ACCUMULATOR)):
            accepted = candidate.support.slot(slot)
            if accepted is None:
                continue
            for name, (value, source) in self.recipe.asked(op, slot).items():
                if name in _ACCEPTS and not _ACCEPTS[name][1](accepted, value):
                    has = ", ".join(getattr(accepted, _ACCEPTS[name][0]))
                    text = f"{slot} {name} {_value_text(value)} (by {source})"
                    return f"{text}, but target '{candidate.target.name}' supports {has}"
        return None

    def support(self, op: Operation) -> Support | None:
        """How the target whose turn it is computes `op`; `None` without targets."""
        candidates = self._candidates.get(op)
        return candidates[0].support if candidates else None

    def target(self, op: Operation) -> Description | None:
        """The target whose turn it is."""
        candidates = self._candidates.get(op)
        return candidates[0].target if candidates else None

    def advance(self, op: Operation, reason: str) -> bool:
        """Let the next way have its turn, for a reason; whether there is one."""
        candidates = self._candidates.get(op, [])
        if len(candidates) < 2:
            return False
        left = candidates.pop(0).target
        if candidates[0].target is not left:
            self.remarks.setdefault(op, f"is assigned to target '{candidates[0].target.name}': {reason}")
        return True

    def settled(self, op: Operation, slot: Slot, choice: Choice, others: Iterable[Accepted | None] = ()) -> Choice:
        """`choice` as the target of `op` has it where no rule says otherwise; `others` share the value.

        The target's own first way counts that all accept, else its first, and then it is for the others to refuse.
        """
        if not self.targets or (support := self.support(op)) is None:
            return choice
        own, asked = support.slot(slot), self.recipe.asked(op, slot)
        accepted = [each for each in (own, *others) if each is not None]
        changed: dict[str, Any] = {}
        for name, (_, accepts) in _ACCEPTS.items():
            if name in asked or (name == "granularity" and slot is not Slot.WEIGHT):
                continue
            present = getattr(choice, name)
            values = list(_preferred(name, own)) or [present, *(v for each in accepted for v in _preferred(name, each))]
            if name in self.recipe.yielding(op, slot):
                values = [present, *values]  # what is known to want more bits has them where the target has
            fitting = [value for value in values if all(accepts(each, value) for each in accepted)]
            value = fitting[0] if fitting else next(iter(_preferred(name, own)), present)
            if value != present:
                changed[name] = value
        target = self.target(op)
        assert target is not None
        self._sources[op, slot] = dict.fromkeys(changed, f"target '{target.name}'")
        return replace(choice, **changed)

    def sources(self, op: Operation, slot: Slot) -> Mapping[str, str]:
        """Which fields of the choice for `slot` of `op` a target said, and which one."""
        return self._sources.get((op, slot), {})


def _preferred(name: str, accepted: Accepted | None) -> Iterator[Any]:
    """The values of a field that a slot accepts, the preferred one first; nothing where it accepts all."""
    if accepted is None:
        return
    match name:
        case "storage":
            yield from accepted.integers
        case "scheme":
            yield from accepted.named_schemes
        case "scale":
            yield from accepted.scales
        case _:
            yield from (GranularityChoice.parse(text) for text in accepted.granularities if text != "block")
