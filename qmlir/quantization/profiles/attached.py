"""Statistics beside values: the attribute `calib.stats` on the operation that gives a value, or on an argument.

An operation with one result has one `#calib.stats`; one with several has an array with an entry for each, `unit` where
nothing is known.
"""

from collections.abc import Mapping
from typing import cast

from xdsl.dialects.builtin import AnyFloat, ArrayAttr, BFloat16Type, DictionaryAttr, Float16Type, Float64Type, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from qmlir.arithmetic.statistics import Statistics
from qmlir.dialects.calib.types import StatsAttr
from qmlir.dialects.quant.types import CalibratedQuantizedType

STATS = "calib.stats"

_SMALLEST: Mapping[type[Attribute], float] = {Float16Type: 2.0**-24, BFloat16Type: 2.0**-133, Float64Type: 2.0**-1074}


def calibrated_type(minimum: float, maximum: float, expressed: AnyFloat) -> CalibratedQuantizedType:
    """The type of a value seen in this range.

    A range of one number is none to the type. It is widened to 0, which a quantizer does anyway; that of zeros alone
    by the smallest positive number of the expressed type, whose scale is degenerate still.
    """
    if minimum == maximum:
        minimum, maximum = min(minimum, 0.0), max(maximum, 0.0)
    if minimum == maximum:
        maximum = _SMALLEST.get(type(expressed), 2.0**-149)
    return CalibratedQuantizedType.of(minimum, maximum, expressed)


def _place(value: SSAValue) -> tuple[Operation | FuncOp, int]:
    """Who gives `value`, and at which place among its like."""
    owner = value.owner
    if isinstance(owner, Operation):
        return owner, owner.results.index(value)
    function = owner.parent_op()
    if not isinstance(function, FuncOp):
        raise ValueError("statistics stand on results and on arguments of functions")
    return function, owner.args.index(value)


def _entries(function: FuncOp) -> list[dict[str, Attribute]]:
    if function.arg_attrs is None:
        return [{} for _ in function.function_type.inputs]
    return [dict(cast(Mapping[str, Attribute], entry.data)) for entry in function.arg_attrs]


def attach(value: SSAValue, statistics: Statistics) -> None:
    """Put `statistics`, of at least one value seen, beside `value`."""
    attribute = StatsAttr.of_statistics(statistics)
    owner, place = _place(value)
    if not isinstance(value.owner, Operation):
        assert isinstance(owner, FuncOp)
        entries = _entries(owner)
        entries[place][STATS] = attribute
        owner.arg_attrs = ArrayAttr(DictionaryAttr(entry) for entry in entries)
    elif len(owner.results) == 1:
        owner.attributes[STATS] = attribute
    else:
        known = owner.attributes.get(STATS)
        each: list[Attribute] = [UnitAttr() for _ in owner.results]
        if isinstance(known, ArrayAttr):
            each = list(cast(ArrayAttr[Attribute], known))
        each[place] = attribute
        owner.attributes[STATS] = ArrayAttr(each)


def statistics_of(value: SSAValue) -> Statistics | None:
    """The statistics beside `value`, `None` where there are none, or only a summary."""
    owner, place = _place(value)
    if isinstance(value.owner, Operation):
        known = owner.attributes.get(STATS)
        if isinstance(known, ArrayAttr):
            known = cast(ArrayAttr[Attribute], known).data[place]
    else:
        assert isinstance(owner, FuncOp)
        known = _entries(owner)[place].get(STATS)
    return known.statistics if isinstance(known, StatsAttr) and known.exact.data else None
