"""Which composites stay whole, and which are made again of their parts, by the descriptions of targets."""

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter

from xdsl.ir import Operation
from xdsl.traits import ConstantLike

from qmlir import registry
from qmlir.dialects.target.description import Description
from qmlir.ir.decomposition import Keep, Parts
from qmlir.ir.interfaces import Quantizable, Slot
from qmlir.ir.provenance import Origin, describe
from qmlir.quantization.recipe import Recipe
from qmlir.quantization.supports import first_target, why_not


def _computes_parts(
    targets: Sequence[Description], composite: Operation, are_meant: Callable[[Operation], bool] | None = None
) -> bool:
    """Whether `targets` compute the parts of `composite` between them, whatever their types are, or keep them.

    With `are_meant`, whether they compute a part of which that is true.
    """
    decomposition = registry.decompositions().get(type(composite))
    if decomposition is None:
        return False
    parts = Parts(composite, may_be_excerpt=True)
    try:
        if decomposition(composite, parts) is None:
            return False
        if are_meant is not None:
            return any(are_meant(part) and _computes(targets, part) for part in parts.operations)
        return all(_computes(targets, part) for part in parts.operations)
    finally:
        parts.discard()


def _computes(targets: Sequence[Description], op: Operation) -> bool:
    is_computed = op.has_trait(ConstantLike) or any(target.why_not(op) is None for target in targets)
    return is_computed or _computes_parts(targets, op)


def _multiplies(op: Operation) -> bool:
    return isinstance(op, Quantizable) and Slot.WEIGHT in op.quantization_slots().operands.values()


def asks_for_parts(composite: Operation, recipe: Recipe) -> bool:
    """Whether rules say how a layer that is quantized as a whole holds its product, or its bias: its parts have these.

    They follow the ranges of the parts, so that it has to be profiled and decided as parts, and raised again.
    """
    decomposition = registry.decompositions().get(type(composite))
    if decomposition is None or not isinstance(composite, Quantizable) or not composite.accepts_quantized_values():
        return False
    parts = Parts(composite, may_be_excerpt=True)
    try:
        if decomposition(composite, parts) is None or not any(map(_multiplies, parts.operations)):
            return False
        slots = {part: Slot.ACCUMULATOR if _multiplies(part) else Slot.BIAS for part in parts.operations}
        return any(
            rule.slot is slot and rule.matches(part, slot, set())
            for rule in recipe.rules
            for part, slot in slots.items()
        )
    finally:
        parts.discard()


def stays_whole(targets: Sequence[Description], composite: Operation) -> bool:
    """Whether the first target that computes `composite`, whole or in parts, wants it whole.

    A target that computes only its products gets those, where later targets compute the other parts.
    """
    for place, target in enumerate(targets):
        if composite in Keep(target.keep) and target.why_not(composite) is None:
            return True
        if _computes_parts((target,), composite):
            return False
        if _computes_parts((target,), composite, _multiplies) and _computes_parts(targets[place:], composite):
            return False
    return False


@dataclass(frozen=True)
class KeptByTargets:
    """The composites that stay whole for these targets."""

    targets: Sequence[Description]

    def __contains__(self, op: object) -> bool:
        return isinstance(op, Operation) and stays_whole(self.targets, op)


def kept(names: tuple[str, ...], targets: Sequence[Description]) -> Container[Operation]:
    """The composites that stay whole: those that `names` say, or else those of `targets`."""
    return Keep(names) if names else KeptByTargets(targets)


def is_wanted_whole(targets: Sequence[Description], kind: str, origins: Iterable[Origin], last: Operation) -> bool:
    """Whether a target up to that of the `last` part of a composite wants the composite; so it is without targets."""
    own = first_target(targets, last, with_mode=False)
    upto = targets[: 0 if own is None else targets.index(own) + 1]
    return own is None or any(Keep(target.raises).names_one(kind, origins) for target in upto)


def raising_fault(targets: Sequence[Description], composite: Operation, parts: Iterable[Operation]) -> str | None:
    """Why no target takes `composite` in the place of its `parts`; `None` where one does.

    A part never goes to a target that comes after the first one that computes it: that one has it apart.
    """
    computed = [
        (targets.index(target), part)
        for part in parts
        if not _is_moved(part) and (target := first_target(targets, part, with_mode=False)) is not None
    ]
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


def _is_moved(op: Operation) -> bool:
    return op.has_trait(ConstantLike) or (isinstance(op, Quantizable) and op.quantization_slots().shares_parameters)
