"""Integer arithmetic in elementary ONNX operators: exact integers with a bound, and their requantization.

Exact integers are i32, or i64 if their bound requires it. The formulas are those of
`qmlir.arithmetic.requantization`. ONNX has no arithmetic shift: `v >> n` is `(v - mod(v, 2^n)) / 2^n`, whose remainder
is never negative.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import IntegerType, f32, f64, i32, i64
from xdsl.ir import SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.requantization import (
    FRACTION_BITS,
    MULTIPLIED,
    Mode,
    Ties,
    accumulator_scale,
    f32_multiplier,
    fixed_point,
    power_of_two_shift,
)
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.evaluation.parameters import requantization_of
from qmlir.dialects.quant.infer import broadcast_parameters
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.onnx.export.emission import Outgoing, container
from qmlir.onnx.export.forms.casts import saturated, uniform

EXACT_F32 = 1 << 24
"""f32 holds every integer up to this bound, and sums of integers below it are exact."""

_MOST_SHIFTED = 62
_I32 = 1 << 31


@dataclass(frozen=True)
class Exact:
    """A tensor of exact integers: its name, element type (i32 or i64), and a bound of the absolute values."""

    name: str
    element: IntegerType
    bound: int


def spread_over(out: Outgoing, value: SSAValue) -> tuple[Array, Array]:
    """Returns scales (f32) and zero points in a shape that broadcasts to the value."""
    element = uniform(out, element_of(value))
    shape = shape_of(value)
    if element.granularity is Granularity.BLOCK and min(shape, default=1) < 0:
        raise out.error(f"computes with block-wise {element} on a dynamic tensor, but blocks require static sizes")
    scales, zero_points = broadcast_parameters(element, shape)
    return np.asarray(scales, np.float32), zero_points


def magnitude_of(element: UniformQuantizedType) -> int:
    """Returns a bound of `|q - z|` over the storage range."""
    zero_points = element.zero_points
    return int(max(abs(element.storage_max - zero_points.min()), abs(element.storage_min - zero_points.max())))


def _largest_of(value: SSAValue, element: UniformQuantizedType) -> int:
    """Returns a bound of `|q - z|`: that of the type, or for a constant that of its elements."""
    stored = constant_array(value)
    if stored is None or not stored.size or (element.zero_points != element.zero_points.flat[0]).any():
        return magnitude_of(element)
    return int(np.abs(stored.astype(np.int64) - element.zero_points.flat[0]).max())


def held_as(out: Outgoing, value: Exact, element: IntegerType) -> Exact:
    """Returns the same integers in the type `element`."""
    if value.element == element:
        return value
    return replace(value, name=out.cast(value.name, element), element=element)


def widened(out: Outgoing, value: Exact, bound: int) -> Exact:
    """Returns `value` in a type that holds `bound`."""
    return value if bound < _I32 else held_as(out, value, i64)


def centred(out: Outgoing, value: SSAValue) -> Exact:
    """Returns the stored integers of an operand minus their zero point."""
    element = uniform(out, element_of(value))
    _, zero_points = spread_over(out, value)
    bound = _largest_of(value, element)
    wide = i32 if bound < _I32 and (element.bits < 32 or not zero_points.any()) and element.bits <= 32 else i64
    name = out.name(value)
    if container(element) != wide:
        name = out.cast(name, wide)
    if zero_points.any():
        name = out.node("Sub", [name, out.constant(zero_points, wide)])
    return Exact(name, wide, bound)


def joined(out: Outgoing, operator: str, values: Sequence[Exact], bound: int, **attributes: Any) -> Exact:
    """Adds an operator on integers, in a type that holds them and `bound`."""
    wide = i64 if bound >= _I32 or any(each.element == i64 for each in values) else i32
    names = [held_as(out, each, wide).name for each in values]
    return Exact(out.node(operator, names, **attributes), wide, bound)


def constant(out: Outgoing, number: npt.ArrayLike, like: Exact) -> str:
    """Adds a constant of the type of `like`."""
    return out.constant(np.asarray(number, np.int64), like.element)


# Requantization


def rescaled(
    out: Outgoing, op: NnOp, total: Exact, scale: npt.ArrayLike, count: npt.ArrayLike = 1, output: str | None = None
) -> str:
    """Requantizes exact integers of f32 `scale` to the stored result of `op`; for a mean, `count` elements are summed.

    `scale` and `count` broadcast to the result.
    """
    result = op.results[0]
    element = uniform(out, element_of(result))
    scales, zero_points = spread_over(out, result)
    target = accumulator_scale(scales, count)
    output = output or out.output
    mode, ties = requantization_of(op)
    if mode is not Mode.F32:
        if mode is not Mode.SHIFT:
            total = _inside(out, total, *MULTIPLIED)
        rounded = by_integers(out, total, np.asarray(scale), target, mode, ties)
        return _stored(out, rounded, element, zero_points, output)
    multiplier = f32_multiplier(scale, target)
    if (multiplier == 1).all():
        return _stored(out, total, element, zero_points, output)
    product = out.node("Mul", [out.cast(total.name, f32), out.constant(multiplier, f32)])
    rounded = out.node("Round", [product])
    if element.bits <= 16:
        if zero_points.any():
            rounded = out.node("Add", [rounded, out.constant(zero_points, f32)])
        limits = [out.constant(np.array(float(each)), f32) for each in (element.storage_min, element.storage_max)]
        return out.cast(out.node("Clip", [rounded, *limits]), container(element), output)
    rounded = out.cast(rounded, f64)
    if (multiplier == 1).any() and total.bound >= EXACT_F32:
        is_kept = out.constant(multiplier == 1, IntegerType(1))
        rounded = out.node("Where", [is_kept, out.cast(total.name, f64), rounded])
    return saturated(out, rounded, element, shape_of(result), output)


def _stored(out: Outgoing, value: Exact, element: UniformQuantizedType, zero_points: Array, output: str) -> str:
    """Adds the zero point, clamps to the storage range and casts to the container type."""
    held = container(element)
    low, high = element.storage_min, element.storage_max
    if element.bits == 32 and not zero_points.any() and element.is_signed and value.element == held:
        return out.node("Identity", [value.name], output)
    reach = value.bound + int(np.abs(zero_points).max(initial=0))
    value = widened(out, value, max(reach, abs(low), abs(high)))
    name = value.name
    if zero_points.any():
        name = out.node("Add", [name, constant(out, zero_points, value)])
    value = _inside(out, Exact(name, value.element, reach), low, high)
    if value.element == held:
        return out.node("Identity", [value.name], output)
    return out.cast(value.name, held, output)


def _inside(out: Outgoing, value: Exact, low: int, high: int) -> Exact:
    """Clamps integers to two limits, unless their bound shows that they are between them."""
    if value.element == i32 and value.bound > high:
        value = replace(value, bound=_I32 - 1)  # i32 wraps; sums with a larger bound were proved to fit
    if value.bound <= min(-low, high):
        return value
    # Older versions of ONNX Runtime have no Clip for int32.
    name = out.node("Min", [out.node("Max", [value.name, constant(out, low, value)]), constant(out, high, value)])
    return Exact(name, value.element, max(abs(low), abs(high)))


def by_integers(out: Outgoing, total: Exact, scale: Array, target: Array, mode: Mode, ties: Ties) -> Exact:
    """Rescales integers by an integer mode, to i64 without saturation."""
    ratio = scale.astype(np.float32).astype(np.float64) / target.astype(np.float32).astype(np.float64)
    value = held_as(out, total, i64)
    if mode is Mode.SHIFT:
        return _shifted(out, value, power_of_two_shift(ratio), ties)
    factor, shift = fixed_point(ratio)
    nudge = np.asarray(np.int64(1) << (shift - 1))
    name = out.node("Mul", [value.name, constant(out, factor, value)])
    name = out.node("Add", [name, constant(out, nudge, value)])
    if mode is Mode.DOUBLE_ROUND and (shift > FRACTION_BITS).any():
        second = np.where(shift > FRACTION_BITS, np.int64(1 << 30), 0)
        sign = out.node("GreaterOrEqual", [value.name, constant(out, 0, value)])
        more = out.node("Where", [sign, constant(out, second, value), constant(out, -second, value)])
        name = out.node("Add", [name, more])
    bound = int(np.max((value.bound * factor.astype(object)) >> shift.astype(object))) + 2
    return Exact(_floor_shift(out, name, shift, value)[0], i64, min(bound, 1 << 61))


def _floor_shift(out: Outgoing, name: str, places: Array, like: Exact) -> tuple[str, str]:
    """Returns `v >> n` and the remainder."""
    whole = constant(out, np.int64(1) << places, like)
    rest = out.node("Mod", [name, whole])
    return out.node("Div", [out.node("Sub", [name, rest]), whole]), rest


def _shifted(out: Outgoing, value: Exact, shift: Array, ties: Ties) -> Exact:
    left, right = np.maximum(-shift, 0), np.minimum(np.maximum(shift, 0), _MOST_SHIFTED - 1)
    name, most = value.name, int(left.max())
    if most:
        # Values beyond this limit saturate in any case.
        room = 1 << max(_MOST_SHIFTED - 1 - most, 0)
        if value.bound > room:
            limits = [constant(out, limit, value) for limit in (-room, room)]
            name = out.node("Min", [out.node("Max", [name, limits[0]]), limits[1]])
        name = out.node("Mul", [name, constant(out, np.int64(1) << left, value)])
    bound = min(value.bound << most, 1 << 61)
    if not right.any():
        return Exact(name, i64, bound)
    quotient, rest = _floor_shift(out, name, right, value)
    whole = constant(out, np.int64(1) << right, value)
    zero, two = (constant(out, each, value) for each in (0, 2))
    twice = out.node("Mul", [rest, two])
    match ties:
        case Ties.UP:
            is_more = out.node("GreaterOrEqual", [twice, whole])
        case Ties.EVEN | Ties.AWAY:
            goes_up = (
                out.node("Equal", [out.node("Mod", [quotient, two]), constant(out, 1, value)])
                if ties is Ties.EVEN
                else out.node("GreaterOrEqual", [name, zero])
            )
            tie = out.node("And", [out.node("Equal", [twice, whole]), goes_up])
            is_more = out.node("Or", [out.node("Greater", [twice, whole]), tie])
    # Without a shift the rest is 0, and `twice >= 1` is false.
    return Exact(out.node("Add", [quotient, out.cast(is_more, i64)]), i64, bound + 1)


def exact_sum(out: Outgoing, value: Exact, axes: str, terms: int, keep_dims: int) -> Exact:
    """Returns sums along axes, each of at most `terms` elements."""
    bound = value.bound * max(terms, 1)
    wide = widened(out, value, bound)
    return Exact(out.node("ReduceSum", [wide.name, axes], keepdims=keep_dims), wide.element, bound)


def product_of(sizes: Sequence[int], otherwise: int) -> int:
    """Returns the product of sizes, with `otherwise` for a dynamic one."""
    return math.prod(size if size >= 0 else otherwise for size in sizes)
