"""`cse`: equal operations become one, which stands for the nodes of all."""

from collections.abc import Hashable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import AnyFloat, ModuleOp, UnregisteredOp
from xdsl.ir import Block, Operation, Region
from xdsl.passes import ModulePass
from xdsl.traits import ConstantLike, IsolatedFromAbove, IsTerminator, is_side_effect_free

from qmlir.ir.builtin_types import element_of
from qmlir.ir.provenance import PROVENANCE_ATTRIBUTES, hand_on, origins_of
from qmlir.ir.statistics import count


def _key(op: Operation, *, keeps_places: bool) -> Hashable:
    """What makes two operations equal: all but their results, regions, location and provenance.

    With `keeps_places` the places that a constant of floats stands for are a part of it.
    """
    name = op.op_name.data if isinstance(op, UnregisteredOp) else op.name
    attributes = ((key, value) for key, value in op.attributes.items() if key not in PROVENANCE_ATTRIBUTES)
    return (
        name,
        tuple(op.operands),
        tuple(op.result_types),
        frozenset(op.properties.items()),
        frozenset(attributes),
        frozenset(origins_of(op)) if keeps_places and _is_float_constant(op) else None,
    )


def _is_float_constant(op: Operation) -> bool:
    is_constant = op.has_trait(ConstantLike, value_if_unregistered=False)
    return is_constant and any(isinstance(element_of(result), AnyFloat) for result in op.results)


Known = dict[Hashable, list[Operation]]


def _find_equal(op: Operation, candidates: list[Operation]) -> Operation | None:
    """The first candidate whose regions are the same too."""
    for candidate in candidates:
        pairs = zip(op.regions, candidate.regions, strict=True)
        if all(mine.is_structurally_equivalent(other) for mine, other in pairs):
            return candidate
    return None


def _merge_in_block(block: Block, known: Known, *, keeps_places: bool) -> None:
    for op in list(block.ops):
        # Inside an isolated operation no outer value can be named.
        isolated = op.has_trait(IsolatedFromAbove, value_if_unregistered=True)
        for region in op.regions:
            _merge_in_region(region, {} if isolated else known, keeps_places=keeps_places)
        if not op.results or op.has_trait(IsTerminator, value_if_unregistered=True) or not is_side_effect_free(op):
            continue
        candidates = known.setdefault(_key(op, keeps_places=keeps_places), [])
        existing = _find_equal(op, candidates)
        if existing is None:
            candidates.append(op)
            continue
        for old, new in zip(op.results, existing.results, strict=True):
            old.replace_all_uses_with(new)
        hand_on((op,), existing)
        op.detach()
        op.erase()
        count("operations merged")


def _merge_in_region(region: Region, known: Known, *, keeps_places: bool) -> None:
    blocks = list(region.blocks)
    for block in blocks:
        # With several blocks only what the block itself holds is known to come before.
        inherited = {key: list(ops) for key, ops in known.items()} if len(blocks) == 1 else {}
        _merge_in_block(block, inherited, keeps_places=keeps_places)


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
        _merge_in_region(op.body, {}, keeps_places=self.keep_places)
