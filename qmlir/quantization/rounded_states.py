"""Rounded states: a part of a recurrent layer that rounds the hidden state for its contractions, if a rule sets a type.

With this part, a state can have 16 bits and be rounded to 8 bits before it is multiplied by 8-bit weights. Without a
rule that sets the type of the part, contractions read the state directly. In float, the part is the identity, so its
range is that of the states, and a profile without the part suffices.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from qmlir.arithmetic.statistics import Statistics
from qmlir.dialects.calib.types import StatsAttr
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.contraction.ops import MatMulOp
from qmlir.dialects.nn.elementwise.ops import ClipOp
from qmlir.dialects.nn.recurrent.decompose import RECURRENCE, ROUNDED
from qmlir.ir.control_flow import reached
from qmlir.ir.interfaces import Slot
from qmlir.ir.provenance import Origin, origins_of, set_origins
from qmlir.quantization.profiles.keys import is_constant
from qmlir.quantization.profiles.statistics import Observed, attach, observed, with_range
from qmlir.quantization.recipe import Recipe
from qmlir.quantization.retyping import is_f32, moves_values, slots_of

_RESET = "reset_mul"
"""The part of a GRU that multiplies the state before a contraction, which then does not read the state itself."""


def _is_part(op: object, name: str) -> bool:
    return isinstance(op, Operation) and any(origin.role.endswith(f"/{name}") for origin in origins_of(op))


def _rounding(product: Operation) -> tuple[Origin, ...]:
    """Returns the origins of the part that rounds the state for `product`, such as `backward/hidden/rounded`."""
    outer = ((each, each.role.split("/")[:-2]) for each in origins_of(product))
    return tuple(replace(each, role="/".join((*prefix, ROUNDED))) for each, prefix in outer)


def _products_of_states(function: FuncOp) -> Iterator[MatMulOp]:
    products = (op for op in function.walk() if isinstance(op, MatMulOp) and _is_part(op, RECURRENCE))
    return (op for op in products if is_f32(op.lhs) and not _is_part(op.lhs.owner, _RESET))


def round_states(function: FuncOp, recipe: Recipe) -> None:
    """Inserts the part between each state and its contractions, if a rule sets another type for the part."""
    roundings: dict[tuple[Origin, ...], dict[SSAValue, list[MatMulOp]]] = {}
    for product in _products_of_states(function):
        roundings.setdefault(_rounding(product), {}).setdefault(product.lhs, []).append(product)
    for origins, readers in roundings.items():
        if not _is_asked_for(origins, readers, recipe):
            continue
        parts: list[ClipOp] = []
        for state, products in readers.items():
            made = ClipOp.unbounded(state)
            set_origins(made, origins)
            Rewriter.insert_op(made, InsertPoint.before(products[0]))
            for product in products:
                product.operands[0] = made.result
            parts.append(made)
        _give_range(parts)


def _is_asked_for(origins: tuple[Origin, ...], states: Iterable[SSAValue], recipe: Recipe) -> bool:
    """Returns True if a rule names the part of these origins, with another type than that of the states."""
    owners = (source.owner for source in _sources(states))
    givers = [op for op in owners if isinstance(op, Operation) and not is_constant(op)]
    part = ClipOp.unbounded(next(iter(states)))
    set_origins(part, origins)
    try:
        choice = recipe.choice(part, Slot.OUTPUT) if recipe.names_part(part, Slot.OUTPUT) else None
        return choice is not None and any(recipe.wish(defining_op, Slot.OUTPUT) != choice for defining_op in givers)
    finally:
        part.erase()


def _sources(states: Iterable[SSAValue]) -> Iterator[SSAValue]:
    """Yields the values that the states come from, through operations that only move or select values."""
    return (value for value in reached(states, lambda value: _moved(value) or ()) if _moved(value) is None)


def _moved(value: SSAValue) -> list[SSAValue] | None:
    """Returns the values that the operation behind `value` moves or selects; `None` if it does anything else."""
    op = value.owner
    return [op.operands[position] for position in slots_of(op)] if moves_values(op) and not is_constant(op) else None


def _give_range(parts: Sequence[ClipOp]) -> None:
    """Gives the parts of all steps the joint range of their operands."""
    sources = {source: constant_array(source) for source in _sources(part.input for part in parts)}
    found = (observed(each) if array is None else Observed.of_constant(array) for each, array in sources.items())
    seen = [each for each in found if each is not None and (each.minimum or each.maximum)]  # zeros are in every range
    if not seen:
        return
    low, high = min(each.minimum for each in seen), max(each.maximum for each in seen)
    known = dict.fromkeys(StatsAttr.of_statistics(each.statistics) for each in seen if each.statistics is not None)
    for part in parts:
        result = with_range(part.result, low, high)
        if all(each.statistics is not None for each in seen):
            attach(result, _together(known))


def _together(known: Collection[StatsAttr]) -> StatsAttr | Statistics:
    """Returns the merged statistics; those of several values have no batch averages."""
    if len(known) == 1:
        return next(iter(known))
    none = Statistics().axis_minima
    every = (replace(s.statistics, axis=None, axis_minima=none, axis_maxima=none, batches=None) for s in known)
    return reduce(Statistics.merged, every)
