"""Whether an operation is dead, by what its class says of its effects, and what erases dead operations.

The answers are those of `xdsl.transforms.dead_code_elimination`, which asks each operation for the set of its effects,
and a loop for those of all operations in it, at every level of a nest again. Most classes have the same effects in all
their operations, so they are asked once, and a loop ends at its last operation that writes.
"""

from collections.abc import Callable
from enum import Enum, auto
from functools import cache
from typing import Any, cast

from xdsl.ir import Operation, Region
from xdsl.pattern_rewriter import PatternRewriterListener
from xdsl.traits import (
    IsTerminator,
    MemoryEffect,
    MemoryFreeEffect,
    MemoryReadEffect,
    MemoryWriteEffect,
    NoMemoryEffect,
    RecursiveMemoryEffect,
    SymbolOpInterface,
)
from xdsl.transforms.dead_code_elimination import LiveSet, result_only_effects


class _Effects(Enum):
    """The effects of all operations of a class."""

    NONE = auto()
    """None that shows: it may read."""

    SHOWN = auto()
    """It writes, frees, or says nothing of its effects."""

    NESTED = auto()
    """Those of the operations in its regions."""

    ASKED = auto()
    """Each operation has its own."""


def _function(trait: type[MemoryEffect]) -> Callable[..., Any]:
    """What a trait says of an operation, the same object for all traits that inherit it."""
    return cast(Any, trait.get_effects).__func__


_KNOWN: dict[Callable[..., Any], _Effects] = {
    _function(NoMemoryEffect): _Effects.NONE,
    _function(MemoryReadEffect): _Effects.NONE,
    _function(MemoryWriteEffect): _Effects.SHOWN,
    _function(MemoryFreeEffect): _Effects.SHOWN,
    _function(RecursiveMemoryEffect): _Effects.NESTED,
}


@cache
def _effects_of(kind: type[Operation]) -> _Effects:
    found = {_KNOWN.get(_function(type(trait)), _Effects.ASKED) for trait in kind.get_traits_of_type(MemoryEffect)}
    if not found:
        return _Effects.SHOWN
    return found.pop() if len(found) == 1 else _Effects.ASKED


@cache
def _is_kept(kind: type[Operation]) -> bool:
    """Whether operations of a class stay though nothing uses them, whatever their effects."""
    return kind.has_trait(IsTerminator, value_if_unregistered=False) or kind.has_trait(
        SymbolOpInterface, value_if_unregistered=False
    )


def dead_if_unused(op: Operation) -> bool:
    """Whether nothing would notice that `op` is gone if nothing used its results."""
    kind = type(op)
    effects = _effects_of(kind)
    if effects is _Effects.SHOWN or _is_kept(kind):
        return False
    if effects is _Effects.NONE:
        return True
    if effects is _Effects.NESTED and any(_effects_of(type(each)) is _Effects.SHOWN for each in op.walk(reverse=True)):
        return False
    return result_only_effects(op)


def is_dead(op: Operation) -> bool:
    """Whether nothing would notice that `op` is gone."""
    return all(result.first_use is None for result in op.results) and dead_if_unused(op)


class _Live(LiveSet):
    """The operations that something uses or notices."""

    def propagate_op_liveness(self, op: Operation) -> None:
        for region in op.regions:
            self.propagate_region_liveness(region)
        if self.is_live(op):
            return
        if not dead_if_unused(op) or any(self.is_live(use.operation) for result in op.results for use in result.uses):
            self.set_live(op)


def erase_dead(region: Region, listener: PatternRewriterListener | None = None) -> None:
    """Erase what nothing uses, also in circles, and blocks that nothing reaches; tell `listener` of each operation."""
    live = _Live()
    while live.changed:
        live.changed = False
        live.propagate_region_liveness(region)
    live.delete_dead(region, listener)
