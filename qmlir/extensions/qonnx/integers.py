"""Finds the floats of which stored integers are computed, as by the quantizers that round in float arithmetic.

A cast to integers changes no element of a float value whose elements are whole numbers within the integer type. The
steps of quantizers show this: a clamp gives the range, a rounding makes elements whole.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import FloatAttr, f32, i1
from xdsl.ir import SSAValue

from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.reduction import ops as reduction
from qmlir.ir.builtin_types import element_of, shape_of


@dataclass(frozen=True)
class _Range:
    """The limits of the elements of a float value, and whether all of them are whole numbers."""

    low: float
    high: float
    is_whole: bool = False


_ROUNDINGS: dict[type, Any] = {elementwise.RoundOp: np.rint, elementwise.FloorOp: np.floor, elementwise.CeilOp: np.ceil}


def whole_floats(integers: SSAValue, low: int, high: int) -> SSAValue | None:
    """Returns the f32 value that casts turn into `integers`, if its elements are whole and in [`low`, `high`]."""
    value = integers
    while isinstance(value.owner, elementwise.CastOp) and element_of(value) != f32:
        value = value.owner.input
    if element_of(value) != f32:
        return None
    found = _range(value)
    return value if found is not None and found.is_whole and low <= found.low and found.high <= high else None


def _range(value: SSAValue) -> _Range | None:
    """Returns the range of a float value; `None` if these operations don't limit it."""
    if (known := constant_array(value)) is not None:
        is_finite = known.size > 0 and bool(np.isfinite(known).all())
        whole = bool((known == np.rint(known)).all())
        return _Range(float(known.min()), float(known.max()), whole) if is_finite else None
    op = value.owner
    match op:
        case elementwise.ClipOp(minimum=FloatAttr() as low, maximum=FloatAttr() as high):
            return _Range(float(low.value.data), float(high.value.data))
        case elementwise.RoundOp() | elementwise.FloorOp() | elementwise.CeilOp():
            inner, rounding = _range(op.operands[0]), _ROUNDINGS[type(op)]
            return None if inner is None else _Range(float(rounding(inner.low)), float(rounding(inner.high)), True)
        case elementwise.AbsOp():
            inner = _range(op.operands[0])
            return None if inner is None else _Range(0, max(-inner.low, inner.high), inner.is_whole)
        case elementwise.AddOp():
            a, b = map(_range, op.operands)
            return None if a is None or b is None else _Range(a.low + b.low, a.high + b.high, a.is_whole and b.is_whole)
        case elementwise.MulOp() if isinstance(op.operands[0].owner, elementwise.SignOp):
            inner = _range(op.operands[1])
            most = 0 if inner is None else max(-inner.low, inner.high)
            return None if inner is None else _Range(-most, most, inner.is_whole)
        case elementwise.WhereOp():
            a, b = map(_range, op.operands[1:])
            if a is None or b is None:
                return None
            return _Range(min(a.low, b.low), max(a.high, b.high), a.is_whole and b.is_whole)
        case reduction.ReduceSumOp() if op.axes is not None:
            shape = shape_of(op.input)
            count = int(np.prod([shape[axis] for axis in op.axes.get_values()]))
            is_counted = isinstance(op.input.owner, elementwise.CastOp) and element_of(op.input.owner.input) == i1
            return _Range(0, count, True) if is_counted and count > 0 else None
        case _:
            return None
