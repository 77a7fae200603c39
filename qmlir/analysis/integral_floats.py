"""Floats that are known to be integers, with bounds: values that were rounded or clamped, and copies of them.

NaN is ignored: rounding returns an integer, or NaN for NaN.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, AnyFloat, FloatAttr, f32, f64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from qmlir.dialects.calib.ops import StraightThroughOp
from qmlir.dialects.nn.activations.ops import ReluOp
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.elementwise.ops import CastOp, CeilOp, ClipOp, FloorOp, MaxOp, MinOp, RoundOp
from qmlir.dialects.nn.indexing.ops import ScatteringOp
from qmlir.dialects.nn.pooling.ops import GlobalPoolOp, PoolOp
from qmlir.dialects.nn.reduction.ops import ExtremeOp
from qmlir.dialects.nn.result_shapes import covered_elements
from qmlir.ir.builtin_types import element_of, shape_of


class Whole(NamedTuple):
    """Integers `low <= x <= high`; an infinite limit means that there is none."""

    low: float
    high: float

    @property
    def largest(self) -> float:
        """The largest absolute value in the range."""
        return max(-self.low, self.high)

    def with_zero(self) -> "Whole":
        """Returns the smallest range that contains this one and 0."""
        return Whole(min(self.low, 0.0), max(self.high, 0.0))


def moved_values(op: Operation) -> list[SSAValue]:
    """Returns the operands whose elements `op` only moves or selects (with zeros added at most), else an empty list."""
    if not isinstance(op, NnOp) or not op.quantization_slots().shares_parameters:
        return []
    if isinstance(op, ScatteringOp) and op.reduction.data in op.ARITHMETIC:
        return []
    return [value for value, slot in op.operands_with_slots() if slot is not None]


def whole_numbers(function: FuncOp) -> dict[SSAValue, Whole]:
    """Returns the float values of `function` that are integers, each with its range."""
    found: dict[SSAValue, Whole] = {}
    for op in function.walk():
        whole = _of(op, found)
        if whole is not None:
            found.update((value, whole) for value in op.results if isinstance(element_of(value), AnyFloat))
    return found


def _of(op: Operation, found: dict[SSAValue, Whole]) -> Whole | None:
    match op:
        case ConstantOp():
            return _of_constant(op)
        case RoundOp() | FloorOp() | CeilOp():
            return found.get(op.operands[0], Whole(-math.inf, math.inf))
        case StraightThroughOp():
            return found.get(op.hard)
        case CastOp():
            return _of_cast(found.get(op.input), element_of(op.result))
        case ClipOp():
            return _of_clip(op, found.get(op.operands[0]))
        case ReluOp():
            taken = found.get(op.operands[0])
            return None if taken is None else Whole(max(taken.low, 0.0), max(taken.high, 0.0))
        case MaxOp() | MinOp():
            pair = [found.get(value) for value in op.operands]
            known = [each for each in pair if each is not None]
            choose = max if isinstance(op, MaxOp) else min
            is_known = len(known) == len(pair)
            return Whole(choose(x.low for x in known), choose(x.high for x in known)) if is_known else None
        case _ if _may_choose_of_nothing(op):
            return None
        case _:
            return _of_moved([found.get(value) for value in moved_values(op)])
    return None


def _may_choose_of_nothing(op: Operation) -> bool:
    """Returns True if `op` may take the maximum or minimum of no elements, which is infinite.

    This happens if a window lies in the padding or an axis has size 0. Dynamic sizes are assumed to allow it.
    """
    match op:
        case ExtremeOp():
            return not _are_positive(shape_of(op.input))
        case GlobalPoolOp():
            return not _are_positive(shape_of(op.data))
        case PoolOp():
            sizes, windows = shape_of(op.data)[2:], op.windows
            if _are_positive(sizes):
                return not covered_elements(windows, op.counts(sizes), sizes, False).all()
            return any(windows.pads) or bool(op.ceil_mode.value.data)
        case _:
            return False


def _are_positive(sizes: Sequence[int]) -> bool:
    return all(size != DYNAMIC_INDEX and size > 0 for size in sizes)


def _of_constant(op: ConstantOp) -> Whole | None:
    array = constant_array(op.result)
    if array is None or not array.size or not isinstance(element_of(op.result), AnyFloat):
        return None
    numbers = array.astype(np.float64)
    if not np.isfinite(numbers).all() or not np.array_equal(numbers, np.rint(numbers)):
        return None
    return Whole(float(numbers.min()), float(numbers.max()))


def _of_clip(op: ClipOp, taken: Whole | None) -> Whole | None:
    low, high = (_bound(each, none) for each, none in ((op.minimum, -math.inf), (op.maximum, math.inf)))
    if taken is None or not all(math.isinf(each) or each.is_integer() for each in (low, high)):
        return None
    return Whole(min(max(taken.low, low), high), min(max(taken.high, low), high))


def _of_cast(taken: Whole | None, element: Attribute) -> Whole | None:
    """Returns the range after a cast: rounding to a narrower float keeps integers and their order."""
    if taken is None or element not in (f32, f64):
        return None
    return Whole(*(float(np.float32(each)) if element == f32 else each for each in taken))


def _bound(given: FloatAttr | None, none: float) -> float:
    return none if given is None else float(given.value.data)


def _of_moved(taken: list[Whole | None]) -> Whole | None:
    known = [each.with_zero() for each in taken if each is not None]
    if not known or len(known) < len(taken):
        return None
    return Whole(min(each.low for each in known), max(each.high for each in known))
