"""`cse`: equal operations become one, which stands for the nodes of all."""

from collections.abc import Hashable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import AnyFloat, ModuleOp, UnregisteredOp
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.passes import ModulePass
from xdsl.traits import ConstantLike, IsolatedFromAbove
from xdsl.utils.type import get_element_type_or_self

from qmlir.ir.effects import has_no_effect, is_terminator
from qmlir.ir.provenance import PROVENANCE_ATTRIBUTES, Origin, hand_on, origins_of
from qmlir.ir.statistics import count


def _attributes(op: Operation) -> dict[str, Attribute]:
    """The discardable attributes that say something of what is computed."""
    return {key: value for key, value in op.attributes.items() if key not in PROVENANCE_ATTRIBUTES}


def _places(op: Operation) -> frozenset[Origin] | None:
    """The places of the model that a constant of floats stands for, `None` for other operations."""
    is_constant = op.has_trait(ConstantLike, value_if_unregistered=False)
    is_float = is_constant and any(isinstance(get_element_type_or_self(each), AnyFloat) for each in op.result_types)
    return frozenset(origins_of(op)) if is_float else None


Known = dict[Hashable, list[Operation]]

Merged = dict[Operation, list[Operation]]
"""The operations that were merged into another one, in order."""


def _key(op: Operation) -> Hashable:
    """What equal operations have in common: all but regions and provenance, or less where that tells them apart too.

    Hashing attributes takes time. Few operations have the same operands; of constants, which have none, there are many.
    """
    name = op.op_name.data if isinstance(op, UnregisteredOp) else op.name
    if op.operands:
        return name, tuple(op.operands)
    return name, tuple(op.result_types), frozenset(op.properties.items()), frozenset(_attributes(op).items())


_FEW = 8
"""From so many operations of the same operands on, others of them are found by their attributes, too."""


def _whole_key(op: Operation) -> Hashable:
    """What equal operations have in common but regions and provenance; many may read slices of one value."""
    properties, attributes = frozenset(op.properties.items()), frozenset(_attributes(op).items())
    return op.name, tuple(op.operands), tuple(op.result_types), properties, attributes


def _is_equal(op: Operation, other: Operation, *, keeps_places: bool) -> bool:
    """Whether two operations with the same key are the same but for location and provenance.

    With `keeps_places` constants of floats must stand for the same places.
    """
    return (
        op.result_types == other.result_types
        and op.properties == other.properties
        and _attributes(op) == _attributes(other)
        and (not keeps_places or _places(op) == _places(other))
        and len(op.regions) == len(other.regions)
        and all(mine.is_structurally_equivalent(its) for mine, its in zip(op.regions, other.regions, strict=True))
    )


def _merge_in_block(block: Block, known: Known, merged: Merged, *, keeps_places: bool) -> None:
    """Merge the operations of a block with each other and with those of `known`, which it leaves as it was."""
    added: list[list[Operation]] = []
    for op in list(block.ops):
        if op.regions:
            # Inside an isolated operation no outer value can be named.
            isolated = op.has_trait(IsolatedFromAbove, value_if_unregistered=True)
            for region in op.regions:
                _merge_in_region(region, {} if isolated else known, merged, keeps_places=keeps_places)
        if not op.results or is_terminator(type(op)) or not has_no_effect(op):
            continue
        candidates = known.setdefault(_key(op), [])
        alike = candidates
        if len(candidates) >= _FEW:
            candidates = known.setdefault(_whole_key(op), [])
            alike = (*alike, *candidates)
        existing = next((each for each in alike if _is_equal(op, each, keeps_places=keeps_places)), None)
        if existing is None:
            candidates.append(op)
            added.append(candidates)
            continue
        for old, new in zip(op.results, existing.results, strict=True):
            old.replace_all_uses_with(new)
        merged.setdefault(existing, []).append(op)
        op.detach()
        op.erase()
        count("operations merged")
    for candidates in added:
        candidates.pop()


def _merge_in_region(region: Region, known: Known, merged: Merged, *, keeps_places: bool) -> None:
    blocks = list(region.blocks)
    for block in blocks:
        # With several blocks only what the block itself holds is known to come before.
        _merge_in_block(block, known if len(blocks) == 1 else {}, merged, keeps_places=keeps_places)


@dataclass(frozen=True)
class Cse(ModulePass):
    """Merge operations that compute the same from the same; the one that stays stands for the nodes of all.

    With `keep_places` equal constants of floats are merged only where they stand for the same places of the model:
    those that are trained begin as equals, and become different.

    Before:

    ```mlir
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = nn.relu %x : tensor<2xf32> {origin = "relu1"}
      %1 = nn.relu %x : tensor<2xf32> {origin = "relu2"}
      %2 = nn.add %0, %1 : tensor<2xf32>
      func.return %2 : tensor<2xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = nn.relu %x : tensor<2xf32> {origin = ["relu1", "relu2"]}
      %2 = nn.add %0, %0 : tensor<2xf32>
      func.return %2 : tensor<2xf32>
    }
    ```
    """

    name = "cse"

    keep_places: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        merged: Merged = {}
        _merge_in_region(op.body, {}, merged, keeps_places=self.keep_places)
        for existing, others in merged.items():  # at once: one by one, each would copy all names so far
            hand_on(others, existing)
