"""`cse`: merges equal operations; the remaining operation gets the provenance of all of them."""

from collections.abc import Hashable
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import AnyFloat, ModuleOp, UnregisteredOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import ConstantLike, IsolatedFromAbove
from xdsl.utils.type import get_element_type_or_self

from qmlir.ir.effects import has_no_effect, is_terminator
from qmlir.ir.passes import count
from qmlir.ir.provenance import PROVENANCE_ATTRIBUTES, Origin, hand_on, origins_of


def _attributes(op: Operation) -> dict[str, Attribute]:
    """Returns the discardable attributes other than provenance."""
    return {key: value for key, value in op.attributes.items() if key not in PROVENANCE_ATTRIBUTES}


def _positions(op: Operation) -> frozenset[Origin] | None:
    """Returns the places in the model of a float constant; `None` for other operations."""
    is_constant = op.has_trait(ConstantLike, value_if_unregistered=False)
    is_float = is_constant and any(isinstance(get_element_type_or_self(each), AnyFloat) for each in op.result_types)
    return frozenset(origins_of(op)) if is_float else None


Known = dict[Hashable, list[Operation]]

Merged = dict[Operation, list[Operation]]
"""The operations that were merged into each operation, in order."""


def _key(op: Operation, *, keeps_places: bool) -> Hashable:
    """Returns a key that equal operations share, without regions and provenance; for operations with operands a coarser
    one.

    Hashing attributes takes time. Few operations have the same operands, but constants, which have none, are numerous.
    With `keeps_places`, the key of float constants includes their places in the model.
    """
    name = op.op_name.data if isinstance(op, UnregisteredOp) else op.name
    if op.operands:
        return name, tuple(op.operands)
    positions = _positions(op) if keeps_places else None
    return name, tuple(op.result_types), frozenset(op.properties.items()), frozenset(_attributes(op).items()), positions


_FEW = 8
"""If at least this number of operations have the same operands, further ones are looked up by their attributes."""


def _whole_key(op: Operation) -> Hashable:
    """Returns a key of all parts of an operation except regions and provenance, for values with many slices."""
    properties, attributes = frozenset(op.properties.items()), frozenset(_attributes(op).items())
    return op.name, tuple(op.operands), tuple(op.result_types), properties, attributes


def _is_equal(op: Operation, other: Operation, *, keeps_places: bool) -> bool:
    """Returns True if two operations with the same key are equal except for location and provenance.

    With `keeps_places`, float constants must also have the same places in the model.
    """
    return (
        op.result_types == other.result_types
        and op.properties == other.properties
        and _attributes(op) == _attributes(other)
        and (not keeps_places or _positions(op) == _positions(other))
        and len(op.regions) == len(other.regions)
        and all(mine.is_structurally_equivalent(its) for mine, its in zip(op.regions, other.regions, strict=True))
    )


@dataclass
class _Merger:
    """Merges the equal operations of a module."""

    keeps_places: bool
    merged: Merged = field(default_factory=Merged)
    _pure: dict[Operation, bool] = field(default_factory=dict[Operation, bool])
    """Caches whether operations with regions are free of side effects, since enclosing operations ask again."""

    _keys: dict[Operation, tuple[int, int]] = field(default_factory=dict[Operation, tuple[int, int]])
    """The `_region_key` of operations with regions."""

    def merge_in_region(self, region: Region, known: Known) -> None:
        """Merges the operations of a region with each other and with the operations in `known`, which is left
        unchanged.
        """
        blocks = list(region.blocks)
        for block in blocks:
            # With several blocks, only operations of the same block are known to dominate.
            self._merge_in_block(block, known if len(blocks) == 1 else {})

    def _merge_in_block(self, block: Block, known: Known) -> None:
        added: list[list[Operation]] = []
        for op in list(block.ops):
            if op.regions:
                # An operation isolated from above cannot reference outer values.
                isolated = op.has_trait(IsolatedFromAbove, value_if_unregistered=True)
                for region in op.regions:
                    self.merge_in_region(region, {} if isolated else known)
                self._keys[op] = self._region_key(op)
            if not op.results or is_terminator(type(op)) or not has_no_effect(op, self._pure):
                continue
            candidates = known.setdefault(self._key(op), [])
            alike = candidates
            if len(candidates) >= _FEW:
                candidates = known.setdefault((_whole_key(op), self._keys.get(op)), [])
                alike = (*alike[:_FEW], *candidates)
            positions = self.keeps_places
            existing = next((each for each in alike if _is_equal(op, each, keeps_places=positions)), None)
            if existing is None:
                candidates.append(op)
                added.append(candidates)
                continue
            for old, new in zip(op.results, existing.results, strict=True):
                old.replace_all_uses_with(new)
            self.merged.setdefault(existing, []).append(op)
            op.detach()
            op.erase()
            count("operations merged")
        for candidates in added:
            candidates.pop()

    def _key(self, op: Operation) -> Hashable:
        key = _key(op, keeps_places=self.keeps_places)
        return (key, self._keys[op]) if op.regions else key

    def _region_key(self, op: Operation) -> tuple[int, int]:
        """Returns hashes that equal operations with regions share: of the names inside, in order, and of the outer
        values.

        The hash of the outer values is the sum over all uses inside, minus the uses of values defined inside, so each
        operation is visited once at any nesting depth.
        """
        names: list[Hashable] = []
        outer = 0
        for block in (block for region in op.regions for block in region.blocks):
            names.append(len(block.args))
            outer -= sum(map(_used, block.args))
            for each in block.ops:
                inside, used = self._keys.get(each, (0, 0))
                names.append((each.name, inside))
                outer += used + sum(hash((operand,)) for operand in each.operands) - sum(map(_used, each.results))
        return hash(tuple(names)), outer


def _used(value: SSAValue) -> int:
    return hash((value,)) * len(list(value.uses))


@dataclass(frozen=True)
class Cse(ModulePass):
    """Merges operations that compute the same result from the same operands, and joins their provenance.

    With `keep_places`, equal float constants are merged only if they have the same provenance, because trainable
    constants may be equal initially and diverge during training.

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
        merger = _Merger(self.keep_places)
        merger.merge_in_region(op.body, {})
        for existing, others in merger.merged.items():  # all at once: one by one, each would copy all names so far
            hand_on(others, existing)
