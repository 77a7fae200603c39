"""Assignment to targets: decides which target computes each operation, and which composites are not decomposed."""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any

from xdsl.ir import Operation
from xdsl.traits import ConstantLike

from qmlir.dialects.target.description import Accepted, Description, Support
from qmlir.ir.decomposition import Keep
from qmlir.ir.diagnostics import op_error
from qmlir.ir.float_reasons import FloatCause
from qmlir.ir.interfaces import Quantizable, Slot
from qmlir.ir.provenance import Origin, describe
from qmlir.quantization.choice import Choice, GranularityChoice
from qmlir.quantization.recipe import Recipe
from qmlir.quantization.retyping import moves_values, reads_weights, slots_of, trial_parts
from qmlir.quantization.supports import first_target, why_not

# The target of each operation while types are decided, and the types that the target supports.
#
# An operation starts with the first target that supports the types that rules and options require. If the types decided
# for the operation are not supported by this target, the next target is tried. An operation for which no target is left
# stays in float. If the module names no targets, this code has no effect.


@dataclass(frozen=True)
class Candidate:
    """A target that may compute an operation, and the entry of its description that allows it."""

    target: Description
    support: Support


def _has_granularity(accepted: Accepted, granularity: GranularityChoice) -> bool:
    return accepted.has_granularity(granularity.scope)


def _takes_floats(accepted: Accepted | None) -> bool:
    return accepted is None or not accepted.storages or bool(accepted.floats)


def _granularities(accepted: Accepted) -> list[GranularityChoice]:
    return [GranularityChoice.parse(text) for text in accepted.granularities if text != "block"]


_FIELDS: Mapping[str, tuple[str, Callable[..., bool], Callable[[Accepted], Sequence[Any]]]] = {
    "storage": ("storages", Accepted.has_storage, lambda accepted: accepted.integers),
    "scheme": ("schemes", Accepted.has_scheme, lambda accepted: accepted.named_schemes),
    "granularity": ("granularities", _has_granularity, _granularities),
    "bias_scale": ("scales", Accepted.has_scale, lambda accepted: accepted.scales),
}
"""For each field of a choice, the field of `Accepted` with its values, the check, and the values, the preferred one
first; there are none if a slot accepts all."""

Sources = dict[tuple[Operation, Slot], dict[str, str]]


@dataclass
class Assignment:
    """The targets of a module, and the current candidate target of each operation."""

    targets: Sequence[Description]
    recipe: Recipe
    remarks: dict[Operation, str] = field(default_factory=dict[Operation, str])
    """A remark for each operation that moved to a later target because an earlier target does not support its types."""

    _candidates: dict[Operation, list[Candidate]] = field(default_factory=dict[Operation, list[Candidate]])
    _sources: Sources = field(default_factory=Sources)

    def float_reason(self, op: Quantizable) -> str | None:
        """Returns why no target computes `op` on quantized values, whatever their types; `None` if a target may.

        Raises `DiagnosticError` if a rule requires a type that no target supports.
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
        """Returns True if a target computes `op` in float, or if there are no targets."""
        supports = (support for target in self.targets for support in target.supports_of(op))
        taken = ([support.slot(slot) for slot in (Slot.INPUT, Slot.OUTPUT)] for support in supports)
        return not self.targets or any(all(_takes_floats(accepted) for accepted in slots) for slots in taken)

    def _start(self, op: Quantizable) -> list[Candidate]:
        """Returns the support entries of targets for `op`, in order, without those that conflict with rules."""
        found = [Candidate(target, support) for target in self.targets for support in target.supports_of(op)]
        conflicts = [self._conflict(op, candidate) for candidate in found]
        kept = [candidate for candidate, conflict in zip(found, conflicts, strict=True) if conflict is None]
        refused = next(filter(None, conflicts), None)
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
                if name in _FIELDS and not _FIELDS[name][1](accepted, value):
                    has = ", ".join(getattr(accepted, _FIELDS[name][0]))
                    named = name.removeprefix(f"{slot}_")
                    return f"{slot} {named} {value} (by {source}), but target '{candidate.target.name}' supports {has}"
        return None

    def candidate(self, op: Operation) -> Candidate | None:
        """Returns the current target of `op`, with its entry for `op`; `None` if it has none."""
        candidates = self._candidates.get(op)
        return candidates[0] if candidates else None

    def advance(self, op: Operation, reason: str) -> bool:
        """Moves `op` to its next candidate target, and records `reason`; returns False if there is no next one."""
        candidates = self._candidates.get(op, [])
        if len(candidates) < 2:
            return False
        left = candidates.pop(0).target
        if candidates[0].target is not left:
            self.remarks.setdefault(op, f"is assigned to target '{candidates[0].target.name}': {reason}")
        return True

    def settled(self, op: Operation, slot: Slot, choice: Choice, others: Iterable[Accepted | None] = ()) -> Choice:
        """Returns `choice` with each field that no rule sets replaced by a value that the target of `op` supports.

        `others` are the types that targets accept in the other slots that hold the same tensor. Of the values that the
        target supports, the first one that all these slots accept is used. If there is none, the target's first value
        is used, and the other slots may reject it.
        """
        if (candidate := self.candidate(op)) is None:
            return choice
        own, asked = candidate.support.slot(slot), self.recipe.asked(op, slot)
        accepted = [each for each in (own, *others) if each is not None]
        changed: dict[str, Any] = {}
        for name, (_, accepts, preferred) in _FIELDS.items():
            if name in asked or (name == "granularity" and slot is not Slot.WEIGHT):
                continue
            present: Any = getattr(choice, name)
            wanted: Sequence[Any] = () if own is None else preferred(own)
            values = wanted or [present, *(value for each in accepted for value in preferred(each))]
            if name in self.recipe.yielding(op, slot):
                values = [present, *values]  # a value that needs more bits has them if the target supports them
            fitting = (value for value in values if all(accepts(each, value) for each in accepted))
            value: Any = next(fitting, wanted[0] if wanted else present)
            if value != present:
                changed[name] = value
        self._sources[op, slot] = dict.fromkeys(changed, f"target '{candidate.target.name}'")
        return replace(choice, **changed)

    def sources(self, op: Operation, slot: Slot) -> Mapping[str, str]:
        """Returns the fields of the choice for `slot` of `op` that a target sets, each with the name of the target."""
        return self._sources.get((op, slot), {})


# Target descriptions decide which composites are not decomposed, and which are raised from their parts.


def _computes_parts(
    targets: Sequence[Description], composite: Operation, are_meant: Callable[[Operation], bool] | None = None
) -> bool:
    """Returns True if `targets` together compute or keep all parts of `composite`, whatever their types.

    With `are_meant`, returns True if they compute at least one part for which it returns True.
    """
    with trial_parts(composite) as parts:
        if parts is None or are_meant is None:
            return parts is not None and all(_computes(targets, part) for part in parts.operations)
        return any(are_meant(part) and _computes(targets, part) for part in parts.operations)


def _computes(targets: Sequence[Description], op: Operation) -> bool:
    is_computed = op.has_trait(ConstantLike) or any(target.why_not(op) is None for target in targets)
    return is_computed or _computes_parts(targets, op)


def asks_for_parts(composite: Operation, recipe: Recipe) -> bool:
    """Returns True if a rule sets the accumulator type or the bias type of a composite layer that could stay whole.

    These types depend on the ranges of the parts. The layer must therefore be decomposed for profiling and for type
    decisions, and raised again afterwards.
    """
    if not isinstance(composite, Quantizable) or not composite.accepts_quantized_values():
        return False
    with trial_parts(composite) as parts:
        if parts is None or not any(map(reads_weights, parts.operations)):
            return False
        slots = {part: Slot.ACCUMULATOR if reads_weights(part) else Slot.BIAS for part in parts.operations}
        pairs = ((rule, part, slot) for rule in recipe.rules for part, slot in slots.items())
        return any(rule.slot is slot and rule.matches(part, slot, set()) for rule, part, slot in pairs)


def stays_whole(targets: Sequence[Description], composite: Operation) -> bool:
    """Returns True if the first target that computes `composite`, whole or in parts, keeps it whole.

    A target that computes only the contractions among the parts gets these if later targets can compute the remaining
    parts.
    """
    for position, target in enumerate(targets):
        if composite in Keep(target.keep) and target.why_not(composite) is None:
            return True
        if _computes_parts((target,), composite):
            return False
        if _computes_parts((target,), composite, reads_weights) and _computes_parts(targets[position:], composite):
            return False
    return False


@dataclass(frozen=True)
class TargetComposites:
    """The set of composites that are not decomposed for the given targets."""

    targets: Sequence[Description]

    def __contains__(self, op: object) -> bool:
        return isinstance(op, Operation) and stays_whole(self.targets, op)


def kept(names: tuple[str, ...], targets: Sequence[Description]) -> Container[Operation]:
    """Returns the composites that are not decomposed: those in `names`, or else those that `targets` keep."""
    return Keep(names) if names else TargetComposites(targets)


def is_wanted_whole(targets: Sequence[Description], kind: str, origins: Iterable[Origin], last: Operation) -> bool:
    """Returns True if the composite `kind` should be raised from its parts.

    It should be if no target computes its `last` part, or if the target that computes `last`, or a more preferred one,
    raises this kind.
    """
    own = first_target(targets, last, with_mode=False)
    upto = targets[: 0 if own is None else targets.index(own) + 1]
    return own is None or any(Keep(target.raises).names_one(kind, origins) for target in upto)


def raising_fault(targets: Sequence[Description], composite: Operation, parts: Iterable[Operation]) -> str | None:
    """Returns why no target computes `composite` instead of its `parts`; `None` if a target does.

    Raising never moves a part to a less preferred target than the first one that computes this part.
    """
    computing = (part for part in parts if not part.has_trait(ConstantLike) and not moves_values(part))
    assigned = ((part, first_target(targets, part, with_mode=False)) for part in computing)
    computed = [(targets.index(target), part) for part, target in assigned if target is not None]
    if not computed:
        return None
    first, part = min(computed, key=itemgetter(0))
    wanting = [target for target in targets[: first + 1] if composite in Keep(target.raises)]
    reasons = [why_not(target, composite, with_mode=False) for target in wanting]
    if None in reasons:
        return None
    own = targets[first]
    if own in wanting:
        return reasons[-1]
    return f"target '{own.name}' computes {describe(part)}, and is preferred to those that want it whole"
