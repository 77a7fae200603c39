"""Which composites stay whole, and which are made again of their parts, by the descriptions of targets."""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation
from xdsl.traits import ConstantLike

from qmlir import registry
from qmlir.dialects.target.description import Description
from qmlir.ir.decomposition import Keep, Parts
from qmlir.ir.provenance import Origin
from qmlir.quantization.supports import first_target, why_not


def _computes_parts(target: Description, composite: Operation) -> bool:
    """Whether `target` computes every part of `composite`, whatever their types are, or keeps the part."""
    decomposition = registry.decompositions().get(type(composite))
    if decomposition is None:
        return False
    parts = Parts(composite)
    try:
        if decomposition(composite, parts) is None:
            return False
        return all(_computes(target, part) for part in parts.operations)
    finally:
        parts.discard()


def _computes(target: Description, op: Operation) -> bool:
    return op.has_trait(ConstantLike) or target.why_not(op) is None or _computes_parts(target, op)


def stays_whole(targets: Sequence[Description], composite: Operation) -> bool:
    """Whether the first target that computes `composite`, whole or in parts, wants it whole."""
    for target in targets:
        if composite in Keep(target.keep) and target.why_not(composite) is None:
            return True
        if _computes_parts(target, composite):
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
    """Whether the target that computes the `last` part of a composite wants the composite; so it is without targets."""
    target = first_target(targets, last, with_mode=False)
    return target is None or Keep(target.raises).names_one(kind, origins)


def raising_fault(targets: Sequence[Description], composite: Operation, last: Operation) -> str | None:
    """Why the target of the `last` part of `composite` does not compute `composite`; `None` where it does."""
    target = first_target(targets, last, with_mode=False)
    return None if target is None else why_not(target, composite, with_mode=False)
