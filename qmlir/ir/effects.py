"""Dead code elimination, based on the effects that each operation class declares.

The results are identical to those of `xdsl.transforms.dead_code_elimination`, which queries the effects of each
operation, and for each loop those of all nested operations, again at every nesting level. Here, classes with constant
effects (most of them) are queried once, and the scan of a loop stops at its last operation that writes.
"""

from collections.abc import Callable
from enum import Enum, auto
from functools import cache
from typing import Any, cast

from xdsl import traits
from xdsl.ir import Operation, OpResult, Region
from xdsl.pattern_rewriter import PatternRewriterListener
from xdsl.transforms.dead_code_elimination import LiveSet, result_only_effects


class _Effects(Enum):
    """The common effects of all operations of a class."""

    NONE = auto()
    """The class has no effects."""

    READ = auto()
    """The class has no visible effects, but may read memory."""

    SHOWN = auto()
    """The class writes or frees memory, or doesn't declare its effects."""

    NESTED = auto()
    """The operation has the effects of the operations in its regions."""

    ASKED = auto()
    """The effects depend on the individual operation."""


def _function(trait: type[traits.MemoryEffect]) -> Callable[..., Any]:
    """Returns the function that computes a trait's effects, identical for all traits that inherit it."""
    return cast(Any, trait.get_effects).__func__


_KNOWN: dict[Callable[..., Any], _Effects] = {
    _function(traits.NoMemoryEffect): _Effects.NONE,
    _function(traits.MemoryReadEffect): _Effects.READ,
    _function(traits.MemoryWriteEffect): _Effects.SHOWN,
    _function(traits.MemoryFreeEffect): _Effects.SHOWN,
    _function(traits.RecursiveMemoryEffect): _Effects.NESTED,
}


@cache
def _effects_of(kind: type[Operation]) -> _Effects:
    found = {
        _KNOWN.get(_function(type(trait)), _Effects.ASKED) for trait in kind.get_traits_of_type(traits.MemoryEffect)
    }
    if not found:
        return _Effects.SHOWN
    return found.pop() if len(found) == 1 else _Effects.ASKED


@cache
def _is_kept(kind: type[Operation]) -> bool:
    """Whether operations of a class stay even if they are unused, regardless of their effects."""
    kept = (traits.IsTerminator, traits.SymbolOpInterface)
    return any(kind.has_trait(trait, value_if_unregistered=False) for trait in kept)


@cache
def never_dead(kind: type[Operation]) -> bool:
    """Returns whether operations of the class `kind` are never dead."""
    return _effects_of(kind) is _Effects.SHOWN or _is_kept(kind)


@cache
def is_terminator(kind: type[Operation]) -> bool:
    """Returns whether operations of the class `kind` may terminate blocks; unregistered operations may."""
    return kind.has_trait(traits.IsTerminator, value_if_unregistered=True)


def has_no_effect(op: Operation, known: dict[Operation, bool]) -> bool:
    """Returns whether `op` neither reads nor writes memory, like `xdsl.traits.is_side_effect_free`.

    Results for operations with regions are cached in `known`, so that each operation of a loop nest is examined once.
    """
    effects = _effects_of(type(op))
    if effects is _Effects.NESTED:
        if op not in known:
            inside = (each for region in op.regions for block in region.blocks for each in block.ops)
            known[op] = all(has_no_effect(each, known) for each in inside)
        return known[op]
    return traits.is_side_effect_free(op) if effects is _Effects.ASKED else effects is _Effects.NONE


def dead_if_unused(op: Operation) -> bool:
    """Returns whether `op` would be dead if its results were unused."""
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
    """Returns whether `op` is dead: its results are unused, and it has no visible effects."""
    for result in op.results:
        if result.first_use is not None:
            return False
    return dead_if_unused(op)


class _Live(LiveSet):
    """The live operations: those with effects, and transitively their operands, each visited once."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers: set[int] = set()  # xDSL's hash of an operation calls a Python method

    def is_live(self, op: Operation) -> bool:
        return id(op) in self._numbers

    def propagate_region_liveness(self, region: Region) -> None:
        if len(region.blocks) != 1:  # unreachable ones are not live
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
    """Erases dead operations (cycles included) and unreachable blocks; notifies `listener` of each erased operation."""
    live = _Live()
    live.propagate_region_liveness(region)
    live.delete_dead(region, listener)
