"""Whether an operation is dead, by what its class says of its effects, and what erases dead operations.

The answers are those of `xdsl.transforms.dead_code_elimination`, which asks each operation for the set of its effects,
and a loop for those of all operations in it, at every level of a nest again. Most classes have the same effects in all
their operations, so they are asked once, and a loop ends at its last operation that writes.
"""

from collections.abc import Callable
from enum import Enum, auto
from functools import cache
from typing import Any, cast

from xdsl.ir import Operation, OpResult, Region
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
    is_side_effect_free,
)
from xdsl.transforms.dead_code_elimination import LiveSet, result_only_effects


class _Effects(Enum):
    """The effects of all operations of a class."""

    NONE = auto()
    """None at all."""

    READ = auto()
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
    _function(MemoryReadEffect): _Effects.READ,
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


@cache
def never_dead(kind: type[Operation]) -> bool:
    """Whether no operation of a class is ever dead."""
    return _effects_of(kind) is _Effects.SHOWN or _is_kept(kind)


@cache
def is_terminator(kind: type[Operation]) -> bool:
    """Whether the operations of a class end blocks. Nobody knows of unregistered ones: they may."""
    return kind.has_trait(IsTerminator, value_if_unregistered=True)


def has_no_effect(op: Operation, known: dict[Operation, bool]) -> bool:
    """Whether `op` neither reads nor writes: what `xdsl.traits.is_side_effect_free` says.

    The answers for operations with regions are put into `known`, so that those of a nest are found once.
    """
    effects = _effects_of(type(op))
    if effects is _Effects.NESTED:
        if op not in known:
            inside = (each for region in op.regions for block in region.blocks for each in block.ops)
            known[op] = all(has_no_effect(each, known) for each in inside)
        return known[op]
    return is_side_effect_free(op) if effects is _Effects.ASKED else effects is _Effects.NONE


def dead_if_unused(op: Operation) -> bool:
    """Whether nothing would notice that `op` is gone if nothing used its results."""
    kind = type(op)
    if never_dead(kind):
        return False
    effects = _effects_of(kind)
    if effects in (_Effects.NONE, _Effects.READ):
        return True
    if effects is _Effects.NESTED and any(_effects_of(type(each)) is _Effects.SHOWN for each in op.walk(reverse=True)):
        return False
    return result_only_effects(op)


def is_dead(op: Operation) -> bool:
    """Whether nothing would notice that `op` is gone."""
    for result in op.results:
        if result.first_use is not None:
            return False
    return dead_if_unused(op)


class _Live(LiveSet):
    """The operations that something uses or notices: those are found once, and lead to what they use."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers: set[int] = set()  # xDSL's hash of an operation is its number, asked by a call of Python

    def is_live(self, op: Operation) -> bool:
        return id(op) in self._numbers

    def propagate_region_liveness(self, region: Region) -> None:
        if len(region.blocks) != 1:  # those that nothing reaches are not live
            super().propagate_region_liveness(region)
            return
        op = region.block.last_op
        while op is not None:
            self.propagate_op_liveness(op)
            op = op.prev_op

    def propagate_op_liveness(self, op: Operation) -> None:
        for region in op.regions:
            self.propagate_region_liveness(region)
        if id(op) in self._numbers or dead_if_unused(op):
            return
        self._numbers.add(id(op))
        found = [op]
        while found:
            for operand in found.pop().operands:
                if isinstance(operand, OpResult) and id(operand.op) not in self._numbers:
                    self._numbers.add(id(operand.op))
                    found.append(operand.op)


def erase_dead(region: Region, listener: PatternRewriterListener | None = None) -> None:
    """Erase what nothing uses, also in circles, and blocks that nothing reaches; tell `listener` of each operation."""
    live = _Live()
    live.propagate_region_liveness(region)
    live.delete_dead(region, listener)
