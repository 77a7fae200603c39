"""Exports quantized operations as integer arithmetic: ConvInteger, MatMulInteger, tables and elementary operators.

Exact integers are i32, or i64 if the bound on their magnitude requires it. The formulas are those of
`qmlir.arithmetic.requantization`. ONNX has no arithmetic shift: `v >> n` is exported as `(v - mod(v, 2^n)) / 2^n`,
where the remainder is never negative. Each exporter computes exactly the integers of
`qmlir.dialects.nn.evaluators`. An operation without an exporter here, or whose parameters don't allow exact
integers, is exported between casts.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType, Signedness, f32, f64, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import InterpretationError

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
from qmlir.dialects.nn.activations import ops as activations
from qmlir.dialects.nn.base import Kind, NnOp, kind_of
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.contraction import ops as contraction
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.evaluation import requantization_of
from qmlir.dialects.nn.indexing.ops import GatherOp
from qmlir.dialects.nn.pooling import ops as pooling
from qmlir.dialects.nn.reduction import ops as reduction
from qmlir.dialects.nn.requantize import Requantizing, common_scale, headroom
from qmlir.dialects.nn.result_shapes import covered_elements
from qmlir.dialects.quant.evaluate import quantize as quantized_array
from qmlir.dialects.quant.infer import broadcast_parameters, same_along
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.formats.one_to_one import attributes_of
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.evaluation import evaluate
from qmlir.onnx.export.casts import dequantize, has_blocks, magnitude_of, per_tensor, quantize, saturated, uniform
from qmlir.onnx.export.emission import WINDOWS, NodeEmitter, container, namesake

EXACT_F32 = 1 << 24
"""The magnitude up to which f32 represents every integer, so that sums of integers below it are exact."""

_MOST_SHIFTED = 62
_I32 = 1 << 31


@dataclass(frozen=True)
class Exact:
    """A tensor of exact integers: its name, its element type (i32 or i64), and a bound on the absolute values."""

    name: str
    element: IntegerType
    bound: int


def spread_over(out: NodeEmitter, value: SSAValue) -> tuple[Array, Array]:
    """Returns the scales (f32) and zero points of `value` in a shape that broadcasts to its shape."""
    element = uniform(out, element_of(value))
    shape = shape_of(value)
    if element.granularity is Granularity.BLOCK and min(shape, default=1) < 0:
        raise out.error(f"computes with block-wise {element} on a dynamic tensor, but blocks require static sizes")
    scales, zero_points = broadcast_parameters(element, shape)
    return np.asarray(scales, np.float32), zero_points


def _largest_of(value: SSAValue, element: UniformQuantizedType) -> int:
    """Returns a bound of `|q - z|`: that of the type, or for a constant that of its elements."""
    stored = constant_array(value)
    if stored is None or not stored.size or (element.zero_points != element.zero_points.flat[0]).any():
        return magnitude_of(element)
    return int(np.abs(stored.astype(np.int64) - element.zero_points.flat[0]).max())


def held_as(out: NodeEmitter, value: Exact, element: IntegerType) -> Exact:
    """Returns `value` converted to the integer type `element`."""
    if value.element == element:
        return value
    return replace(value, name=out.cast(value.name, element), element=element)


def widened(out: NodeEmitter, value: Exact, bound: int) -> Exact:
    """Returns `value` in an integer type that can represent `bound`."""
    return value if bound < _I32 else held_as(out, value, i64)


def centered(out: NodeEmitter, value: SSAValue) -> Exact:
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


def joined(out: NodeEmitter, operator: str, values: Sequence[Exact], bound: int, **attributes: Any) -> Exact:
    """Adds an operator on `values`, in an integer type that can represent them and `bound`, the bound on the result."""
    wide = i64 if bound >= _I32 or any(each.element == i64 for each in values) else i32
    names = [held_as(out, each, wide).name for each in values]
    return Exact(out.node(operator, names, **attributes), wide, bound)


def constant(out: NodeEmitter, number: npt.ArrayLike, like: Exact) -> str:
    """Adds a constant with the element type of `like`."""
    return out.constant(np.asarray(number, np.int64), like.element)


# Requantization


def rescaled(
    out: NodeEmitter, op: NnOp, total: Exact, scale: npt.ArrayLike, count: npt.ArrayLike = 1, output: str | None = None
) -> str:
    """Requantizes the exact integers `total`, whose scale is the f32 `scale`, to the stored result of `op`.

    For a mean, `total` is a sum of `count` elements. `scale` and `count` broadcast to the result.
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
        return saturated(out, rounded, element, shape_of(result), output, f32)
    rounded = out.cast(rounded, f64)
    if (multiplier == 1).any() and total.bound >= EXACT_F32:
        is_kept = out.constant(multiplier == 1, IntegerType(1))
        rounded = out.node("Where", [is_kept, out.cast(total.name, f64), rounded])
    return saturated(out, rounded, element, shape_of(result), output)


def _stored(out: NodeEmitter, value: Exact, element: UniformQuantizedType, zero_points: Array, output: str) -> str:
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


def _inside(out: NodeEmitter, value: Exact, low: int, high: int) -> Exact:
    """Clamps integers to two limits, unless their bound shows that they are between them."""
    if value.element == i32 and value.bound > high:
        value = replace(value, bound=_I32 - 1)  # i32 wraps; sums with a larger bound were proved to fit
    if value.bound <= min(-low, high):
        return value
    # Older versions of ONNX Runtime have no Clip for int32.
    name = out.node("Min", [out.node("Max", [value.name, constant(out, low, value)]), constant(out, high, value)])
    return Exact(name, value.element, max(abs(low), abs(high)))


def by_integers(out: NodeEmitter, total: Exact, scale: Array, target: Array, mode: Mode, ties: Ties) -> Exact:
    """Rescales integers in one of the integer modes; the result is i64 and not saturated."""
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


def _floor_shift(out: NodeEmitter, name: str, shift: Array, like: Exact) -> tuple[str, str]:
    """Returns `v >> n` and the remainder."""
    whole = constant(out, np.int64(1) << shift, like)
    rest = out.node("Mod", [name, whole])
    return out.node("Div", [out.node("Sub", [name, rest]), whole]), rest


def _shifted(out: NodeEmitter, value: Exact, shift: Array, ties: Ties) -> Exact:
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
    if ties is Ties.UP:
        is_more = out.node("GreaterOrEqual", [twice, whole])
    else:
        if ties is Ties.EVEN:
            goes_up = out.node("Equal", [out.node("Mod", [quotient, two]), constant(out, 1, value)])
        else:
            goes_up = out.node("GreaterOrEqual", [name, zero])
        tie = out.node("And", [out.node("Equal", [twice, whole]), goes_up])
        is_more = out.node("Or", [out.node("Greater", [twice, whole]), tie])
    # Without a shift the rest is 0, and `twice >= 1` is false.
    return Exact(out.node("Add", [quotient, out.cast(is_more, i64)]), i64, bound + 1)


def product_of(sizes: Sequence[int], otherwise: int) -> int:
    """Returns the product of `sizes`, counting a dynamic size as `otherwise`."""
    return math.prod(size if size >= 0 else otherwise for size in sizes)


# Integer convolutions that ConvInteger doesn't support: in f32 if that is exact, otherwise byte by byte.
#
# `q - z = sum 256^k (b_k - c_k)`, where `b_k` are the bytes of `q` and `c_k` those of its zero point. Each pair of
# bytes is a ConvInteger of u8 and u8, exact in 32 bits, which pads with the zero point as required. There is no
# transposed integer convolution: a pair of bytes is a ConvTranspose in f32, whose sums are exact for fewer terms.

_BYTE = IntegerType(8, Signedness.UNSIGNED)
_BASE = 256
_LARGEST = 255
_MOST_TERMS = (2**31 - 1) // _LARGEST**2
"""The maximum number of products `(a - z_a) * (b - z_b)` of bytes whose sum fits in 32 bits."""

MOST_TRANSPOSED_TERMS = (EXACT_F32 - 1) // _LARGEST**2
"""The number of such products whose sum is exact in f32."""

_BITS = 17
"""The width of the difference between a 16-bit stored integer and its zero point, in bits, including the sign."""


@dataclass(frozen=True)
class Byte:
    """One byte of each integer in a tensor: the name of the tensor of bytes, their zero point, and their weight."""

    name: str
    zero_point: int
    factor: int


def _bytes_of(out: NodeEmitter, value: SSAValue) -> list[Byte]:
    """Returns the bytes of the integers of an operand, highest first."""
    element = uniform(out, element_of(value))
    held, point = container(element), int(element.zero_points.flat[0])
    if (element.zero_points != point).any():
        whole = centered(out, value)
        bits, name, shift = _BITS, whole.name, 1 << (_BITS - 1)
        wide, point = whole.element, 0
    else:
        bits, wide = held.width.data, i32
        shift = 1 << (bits - 1) if element.is_signed else 0
        name = out.cast(out.name(value), wide)
    if shift:
        name = out.node("Add", [name, out.constant(shift, wide)])
    point += shift
    found: list[Byte] = []
    for position in reversed(range(-(-bits // 8))):
        factor = _BASE**position
        part = out.node("Div", [name, out.constant(factor, wide)]) if position else name
        if factor * _BASE < 1 << bits:
            part = out.node("Mod", [part, out.constant(_BASE, wide)])
        found.append(Byte(out.cast(part, _BYTE), point // factor % _BASE, factor))
    return found


def _constant_bytes(out: NodeEmitter, integers: Array) -> list[Byte]:
    """Returns the bytes of constant integers without zero point, highest first."""
    bits = max(int(np.abs(integers).max(initial=0)).bit_length() + 1, 8)
    shift, factors = 1 << (bits - 1), [_BASE**position for position in reversed(range(-(-bits // 8)))]
    return [
        Byte(out.constant((integers + shift) // factor % _BASE, _BYTE), shift // factor % _BASE, factor)
        for factor in factors
    ]


def _of_bytes(out: NodeEmitter, left: Byte, right: Byte, attributes: Mapping[str, Any], *, is_transposed: bool) -> str:
    """Convolves two bytes minus their zero points to i32."""
    if not is_transposed:
        points = [out.constant(each.zero_point, _BYTE) for each in (left, right)]
        return out.node("ConvInteger", [left.name, right.name, *points], **attributes)
    floats = [
        out.node("Sub", [out.cast(each.name, f32), out.constant(float(each.zero_point), f32)]) for each in (left, right)
    ]
    return out.cast(out.node("ConvTranspose", floats, **attributes), i32)


def sums_of_windows(
    out: NodeEmitter, op: contraction.WindowedContractionOp, weight: SSAValue | Array, bound: int, terms: int
) -> Exact:
    """Returns the exact sums of a convolution, each of `terms` products; `bound` is the bound on their magnitude.

    The weights are an operand, or an array of integers with zero point 0.
    """
    is_transposed = isinstance(op, contraction.ConvTransposeOp)
    attributes = attributes_of(op, f"{WINDOWS} output_padding" if is_transposed else WINDOWS)
    if bound < EXACT_F32:
        x = out.cast(centered(out, op.data).name, f32)
        w = out.cast(centered(out, weight).name, f32) if isinstance(weight, SSAValue) else out.constant(weight, f32)
        operator = "ConvTranspose" if is_transposed else "Conv"
        return Exact(out.cast(out.node(operator, [x, w], **attributes), i32), i32, bound)
    most = MOST_TRANSPOSED_TERMS if is_transposed else _MOST_TERMS
    if terms > most:
        raise out.error(f"reduces {terms} terms, but a convolution of this width supports at most {most}")
    wide = i64 if bound >= _I32 else i32
    total: Exact | None = None
    rights = _bytes_of(out, weight) if isinstance(weight, SSAValue) else _constant_bytes(out, weight)
    for left in _bytes_of(out, op.data):
        for right in rights:
            name = _of_bytes(out, left, right, attributes, is_transposed=is_transposed)
            part = held_as(out, Exact(name, i32, bound), wide)
            if (factor := left.factor * right.factor) != 1:
                # If the total fits 32 bits, intermediate overflow cancels out.
                part = replace(part, name=out.node("Mul", [part.name, constant(out, factor, part)]))
            total = part if total is None else replace(part, name=out.node("Add", [total.name, part.name]))
    assert total is not None
    return total


# Operations as exact integers, and their requantization


class Scaled(NamedTuple):
    """Exact integers to requantize, with their scale and, for a mean, the number of terms in each sum."""

    total: Exact
    scale: npt.ArrayLike
    terms: npt.ArrayLike = 1


Sums = Callable[[NodeEmitter, Any], Scaled | None]
"""Adds the nodes that compute exact integers; returns `None` if the parameters don't allow exact integers."""

Integer = Callable[[NodeEmitter, Any], bool]
"""Adds all nodes of an operation; returns False, without adding any, if the parameters don't allow exact integers."""

OPEN_SIZE = 1 << 16
"""The size assumed for a dynamic dimension in bounds."""

TABLE_BITS = 16
"""The largest width, in bits, of operands for which a function is exported as a lookup table."""


# Contractions


def over_result(op: NnOp, scales: Array) -> Array:
    """Returns the per-channel `scales` in a shape that broadcasts to the result of `op`."""
    if isinstance(op, contraction.WindowedContractionOp) and scales.ndim:
        return scales.reshape(-1, *(1,) * (len(shape_of(op.result)) - 2))
    if isinstance(op, contraction.MatMulOp) and scales.ndim > 1:
        return scales[..., None, :]
    return scales


def over_channels(out: NodeEmitter, op: contraction.BiasedContractionOp, bias: str) -> str:
    """Returns the name of the bias, reshaped so that it broadcasts to the result of `op`."""
    if not isinstance(op, contraction.WindowedContractionOp):
        return bias
    return out.node("Reshape", [bias, out.constant(np.array([1, -1] + [1] * (len(shape_of(op.result)) - 2), np.int64))])


def _has_operator(out: NodeEmitter, x: SSAValue, w: SSAValue) -> bool:
    """Returns True if MatMulInteger and ConvInteger support these factors: 8 bits, a single zero point of weights."""
    elements = [uniform(out, element_of(value)) for value in (x, w)]
    points = elements[1].zero_points
    return all(container(each).width.data == 8 for each in elements) and bool((points == points.flat[0]).all())


def _zero_points(out: NodeEmitter, x: SSAValue, w: SSAValue) -> list[str]:
    """Returns the inputs for the zero points. A zero point of 0 is omitted, unless another one follows."""
    elements = [uniform(out, element_of(value)) for value in (x, w)]
    is_given = [any(each.zero_points.any() for each in elements), elements[1].zero_points.any()]
    return [
        out.constant(each.zero_points.flat[0], container(each)) if given else ""
        for each, given in zip(elements, is_given, strict=True)
    ]


def _largest_sum(out: NodeEmitter, x: SSAValue, w: SSAValue, terms: int) -> int:
    """Returns a bound of sums of `terms` products."""
    bound = magnitude_of(uniform(out, element_of(x))) * magnitude_of(uniform(out, element_of(w)))
    return bound * (terms if terms >= 0 else OPEN_SIZE)


def _with_bias(out: NodeEmitter, op: contraction.ContractionOp, total: Exact) -> Exact:
    if not isinstance(op, contraction.BiasedContractionOp) or op.bias is None:
        return total
    bias = Exact(over_channels(out, op, out.name(op.bias)), i32, 1 << 29)
    return joined(out, "Add", [total, bias], total.bound + bias.bound)


def _factor_scales(out: NodeEmitter, x: SSAValue, w: SSAValue) -> Array:
    """Returns `f32(s_x * s_w)`: one, or one for each output channel."""
    left, right = (uniform(out, element_of(value)) for value in (x, w))
    return accumulator_scale(left.scales, right.scales)


def _is_transposed(op: NnOp) -> bool:
    """Returns True if the columns of the right factor come first."""
    return isinstance(op, contraction.FullyConnectedOp) or (
        isinstance(op, contraction.MatMulOp) and op.is_rhs_transposed
    )


def _matrices(out: NodeEmitter, op: contraction.MatMulOp | contraction.FullyConnectedOp) -> Scaled:
    lhs, rhs = op.operands[:2]
    is_transposed = _is_transposed(op)
    rank, bound = len(shape_of(rhs)), _largest_sum(out, lhs, rhs, shape_of(lhs)[-1])
    if _has_operator(out, lhs, rhs):
        right = out.transposed(out.name(rhs), rank) if is_transposed else out.name(rhs)
        # i32 wraps; if the bound is larger, the accumulator was proved to fit by other means.
        total = Exact(out.node("MatMulInteger", [out.name(lhs), right, *_zero_points(out, lhs, rhs)]), i32, bound)
    else:
        factors = [widened(out, centered(out, value), bound) for value in (lhs, rhs)]
        if is_transposed:
            factors[1] = replace(factors[1], name=out.transposed(factors[1].name, rank))
        total = joined(out, "MatMul", factors, bound)
    return Scaled(_with_bias(out, op, total), _factor_scales(out, lhs, rhs))


def _windows(out: NodeEmitter, op: contraction.ConvOp | contraction.ConvTransposeOp) -> Scaled | None:
    sizes, scales = shape_of(op.weight), _factor_scales(out, op.data, op.weight)
    if isinstance(op, contraction.ConvTransposeOp):
        terms = product_of((sizes[0] // op.group_count, *sizes[2:]), OPEN_SIZE)
        scales = op.of_channels(scales)
        scales = scales if scales.size > 1 else scales.reshape(())
    else:
        terms = product_of(sizes[1:], OPEN_SIZE)
    bound = _largest_sum(out, op.data, op.weight, terms)
    if isinstance(op, contraction.ConvOp) and _has_operator(out, op.data, op.weight):
        inputs = [out.name(op.data), out.name(op.weight), *_zero_points(out, op.data, op.weight)]
        total = Exact(out.node("ConvInteger", inputs, **attributes_of(op, WINDOWS)), i32, bound)
    elif isinstance(op, contraction.ConvTransposeOp) and (
        bound >= EXACT_F32 and terms > MOST_TRANSPOSED_TERMS and not out.settings.exact
    ):
        return None  # its sums aren't exact in f32: it is exported between casts and may differ near a tie
    else:
        total = sums_of_windows(out, op, op.weight, bound, terms)
    return Scaled(_with_bias(out, op, total), over_result(op, scales))


def _einsum(out: NodeEmitter, op: contraction.EinsumOp) -> Scaled:
    factors = [centered(out, value) for value in op.inputs]
    terms = math.prod(product_of(shape_of(value), OPEN_SIZE) for value in op.inputs)
    bound = math.prod(factor.bound for factor in factors) * terms
    total = joined(out, "Einsum", factors, bound, equation=op.equation.data)
    scales = [uniform(out, element_of(value)).scales for value in op.inputs]
    return Scaled(total, accumulator_scale(*scales) if len(scales) > 1 else np.float32(scales[0]))


# Element-wise operations


def _unary(out: NodeEmitter, op: activations.ReluOp | elementwise.AbsOp | elementwise.NegOp) -> Scaled:
    """Applies a function of one operand that keeps the scale and the bound."""
    value = centered(out, op.input)
    if isinstance(op, activations.ReluOp):
        name = out.node("Max", [value.name, constant(out, 0, value)])
    else:
        name = out.node(namesake(type(op)), [value.name])
    return Scaled(replace(value, name=name), spread_over(out, op.input)[0])


def _binary(out: NodeEmitter, op: elementwise.BinaryOp) -> Scaled | None:
    """Adds the sum, difference, minimum or maximum of two operands, which are brought to one scale."""
    a, b = (spread_over(out, value)[0] for value in op.operands)
    mode, ties = requantization_of(op)
    if np.all(a == b):
        left, right, scale = centered(out, op.lhs), centered(out, op.rhs), np.maximum(a, b)
    elif mode is Mode.F32:
        return None
    else:
        scale = common_scale(op, a, b)
        left, right = (
            _brought(out, op, value, each, scale, mode, ties) for value, each in zip(op.operands, (a, b), strict=True)
        )
    grows = isinstance(op, elementwise.AddOp | elementwise.SubOp)
    bound = left.bound + right.bound if grows else max(left.bound, right.bound)
    return Scaled(joined(out, namesake(type(op)), [left, right], bound), scale)


def _brought(
    out: NodeEmitter, op: Requantizing, value: SSAValue, own: Array, scale: Array, mode: Mode, ties: Ties
) -> Exact:
    """Returns the integers of an operand in steps of `scale`, which both operands share."""
    operand = centered(out, value)
    bits = 0 if mode is Mode.SHIFT else headroom(op, value)
    if bits:
        wide = held_as(out, operand, i64)
        operand = Exact(out.node("Mul", [wide.name, constant(out, 1 << bits, wide)]), i64, operand.bound << bits)
    return by_integers(out, operand, np.ldexp(own, -bits), scale, mode, ties)


def _mul(out: NodeEmitter, op: elementwise.MulOp) -> Scaled | None:
    scales = [spread_over(out, value)[0] for value in op.operands]
    factors = [centered(out, value) for value in op.operands]
    bound = math.prod(each.bound for each in factors)
    return None if bound >= 1 << 62 else Scaled(joined(out, "Mul", factors, bound), accumulator_scale(*scales))


# Sums and means


def _along(out: NodeEmitter, data: SSAValue, gone: Sequence[int], *, keeps: bool, is_mean: bool) -> Scaled | None:
    """Returns sums along the axes `gone`, whose parameters must be equal along them."""
    sizes = [shape_of(data)[axis] for axis in gone]
    scale = same_along(spread_over(out, data)[0], gone)
    if scale is None or (is_mean and (DYNAMIC_INDEX in sizes or 0 in sizes)):
        return None
    value = centered(out, data)
    if gone:
        axes, bound = out.constant(np.array(gone, np.int64)), value.bound * max(product_of(sizes, OPEN_SIZE), 1)
        wide = widened(out, value, bound)
        value = Exact(out.node("ReduceSum", [wide.name, axes], keepdims=int(keeps)), wide.element, bound)
    scale = scale if keeps or not scale.ndim else scale.squeeze(tuple(gone))
    return Scaled(value, scale, math.prod(sizes) if is_mean else 1)


def _reduce(out: NodeEmitter, op: reduction.ReduceSumOp | reduction.ReduceMeanOp) -> Scaled | None:
    if op.axes_value is not None:
        return None
    gone = op.reduced_axes(len(shape_of(op.input)))
    return _along(out, op.input, gone, keeps=op.keeps_axes, is_mean=isinstance(op, reduction.ReduceMeanOp))


def _global_average_pool(out: NodeEmitter, op: pooling.GlobalAveragePoolOp) -> Scaled | None:
    return _along(out, op.data, range(2, len(shape_of(op.data))), keeps=True, is_mean=True)


def _average_pool(out: NodeEmitter, op: pooling.AveragePoolOp) -> Scaled | None:
    """Sums the windows as convolutions of each channel with a kernel of ones, exact in f32 below 2^24."""
    shape, windows = shape_of(op.data), op.windows
    scale = same_along(spread_over(out, op.data)[0], range(2, len(shape)))
    bound = magnitude_of(uniform(out, element_of(op.data))) * math.prod(windows.kernel)
    if scale is None or DYNAMIC_INDEX in shape[1:] or bound >= EXACT_F32:
        return None
    sizes, counts = shape[2:], op.counts(shape[2:])
    covered = covered_elements(windows, counts, sizes, bool(op.count_include_pad.value.data))
    if not covered.all():
        return None
    # After padding that no window needs, more windows might fit than the operation has.
    ends = [
        max((count - 1) * windows.strides[axis] + windows.extent(axis) - sizes[axis] - windows.pads[axis], 0)
        for axis, count in enumerate(counts)
    ]
    value = out.cast(centered(out, op.data).name, f32)
    kernel = out.constant(np.ones((shape[1], 1, *windows.kernel)), f32)
    slides = attributes_of(op, "strides dilations")
    sums = out.node("Conv", [value, kernel], group=shape[1], pads=[*windows.pads[: len(sizes)], *ends], **slides)
    count: Array = covered if covered.min() != covered.max() else np.asarray(covered.flat[0])
    return Scaled(Exact(out.cast(sums, i32), i32, bound), scale, count)


_SUMS: dict[type[Operation], Sums] = {
    **dict.fromkeys((contraction.MatMulOp, contraction.FullyConnectedOp), _matrices),
    **dict.fromkeys((contraction.ConvOp, contraction.ConvTransposeOp), _windows),
    contraction.EinsumOp: _einsum,
    **dict.fromkeys((activations.ReluOp, elementwise.AbsOp, elementwise.NegOp), _unary),
    **dict.fromkeys((elementwise.AddOp, elementwise.SubOp, elementwise.MinOp, elementwise.MaxOp), _binary),
    elementwise.MulOp: _mul,
    **dict.fromkeys((reduction.ReduceSumOp, reduction.ReduceMeanOp), _reduce),
    pooling.GlobalAveragePoolOp: _global_average_pool,
    pooling.AveragePoolOp: _average_pool,
}
"""For each operation that requantizes exact integers, the function that adds these integers."""


def _requantized(sums: Sums, out: NodeEmitter, op: NnOp) -> bool:
    found = None if any(map(has_blocks, op.operands)) else sums(out, op)
    if found is not None:
        rescaled(out, op, *found)
    return found is not None


# Operations that do more than requantize


def _clip(out: NodeEmitter, op: elementwise.ClipOp) -> bool:
    if has_blocks(op.input) or has_blocks(op.result):
        return False
    element = uniform(out, element_of(op.result))
    value, scale = centered(out, op.input), spread_over(out, op.input)[0]
    wide = i32 if element.bits < 32 else i64
    name = out.cast(rescaled(out, op, value, scale, output=out.fresh("rescaled")), wide)
    for bound, operator in ((op.minimum, "Max"), (op.maximum, "Min")):
        if bound is not None:
            sizes = [1] * len(shape_of(op.result))
            if element.granularity is Granularity.AXIS:
                sizes[element.axis] = element.scales.size
            limit = quantized_array(np.full(sizes, bound.value.data, np.float32), element)
            name = out.node(operator, [name, out.constant(limit if limit.size > 1 else limit.reshape(()), wide)])
    out.cast(name, container(element), out.output)
    return True


@dataclass
class _OfSlices(NodeEmitter):
    """The export of a Gather whose slices have different parameters: constants hold those of the gathered slices."""

    taking: GatherOp | None = None

    def constant(self, array: npt.ArrayLike, element: Attribute = i64) -> str:
        found, op = np.asarray(array), self.taking
        name = super().constant(found, element)
        if op is None or not found.ndim:
            return name
        return self.node("Gather", [name, self.name(op.indices)], axis=op.position)


def _gather(out: NodeEmitter, op: GatherOp) -> bool:
    if not op.rescales or has_blocks(op.input):
        return False
    codes = out.node("Gather", [out.name(op.input), out.name(op.indices)], axis=op.position)
    fields: dict[str, Any] = {**vars(out), "names": {**out.names, op.input: codes}}
    slices = _OfSlices(**fields, taking=op)
    rescaled(slices, op, centered(slices, op.input), spread_over(out, op.input)[0])
    return True


def _compare(out: NodeEmitter, op: elementwise.ComparisonOp) -> bool:
    """Compares real values in f64, which holds the product of an f32 scale and 29 bits."""
    elements = [uniform(out, element_of(value)) for value in op.operands]
    if any(magnitude_of(each) >= 1 << 29 or each.expressed_type == f64 for each in elements):
        return False
    reals: list[str] = []
    for value in op.operands:
        scale = spread_over(out, value)[0].astype(np.float64)
        reals.append(out.node("Mul", [out.cast(centered(out, value).name, f64), out.constant(scale, f64)]))
    out.node(namesake(type(op)), reals, out.output)
    return True


def _arg_extreme(out: NodeEmitter, op: reduction.ArgExtremeOp) -> bool:
    """Exports ArgMax or ArgMin on integers of one scale, as f32 that holds them."""
    element = per_tensor(op.input)
    if element is None or magnitude_of(element) >= EXACT_F32:
        return False
    value, attributes = out.cast(centered(out, op.input).name, f32), "axis keepdims=keep_dims select_last_index"
    out.node(namesake(type(op)), [value], out.output, **attributes_of(op, attributes))
    return True


# Functions of one value


def is_function(op: Operation) -> bool:
    """Returns True if each element of the result depends on one element of a single operand."""
    return isinstance(op, elementwise.UnaryOp) and len(op.operands) == 1


def _tabulated(op: Operation, stored: Array, otherwise: Array) -> Array | None:
    """Returns the function at `stored`, with `otherwise` where it is undefined, which no run reaches."""
    try:
        found = evaluate(op, [stored])
    except InterpretationError:
        if stored.size == 1:
            return np.reshape(otherwise, 1)
        halves = [_tabulated(op, half, otherwise) for half in np.array_split(stored, 2)]
        return np.concatenate([half for half in halves if half is not None])
    return None if found is None else found[0]


def write_table(out: NodeEmitter, op: Operation) -> bool:
    """Exports a function of one low-precision value as a lookup table. Returns False if that is impossible."""
    if not is_function(op):
        return False
    source, target = per_tensor(op.operands[0]), per_tensor(op.results[0])
    if source is None or target is None or source.bits > TABLE_BITS:
        return False
    stored = np.arange(source.storage_min, source.storage_max + 1)
    table = _tabulated(op, stored, target.zero_points)
    if table is None:
        return False
    index = out.cast(out.name(op.operands[0]), i32)
    if source.storage_min:
        index = out.node("Sub", [index, out.constant(source.storage_min, i32)])
    out.node("Gather", [out.table(table, container(target)), index], out.output)
    return True


_COMPARISONS = (
    elementwise.EqualOp, elementwise.GreaterOp, elementwise.GreaterOrEqualOp, elementwise.LessOp,
    elementwise.LessOrEqualOp,
)  # fmt: skip

INTEGER: dict[type[Operation], Integer] = {
    **{operation: partial(_requantized, sums) for operation, sums in _SUMS.items()},
    elementwise.ClipOp: _clip,
    GatherOp: _gather,
    **dict.fromkeys(_COMPARISONS, _compare),
    **dict.fromkeys((reduction.ArgMaxOp, reduction.ArgMinOp), _arg_extreme),
}
"""The exporters of operations that need more integer arithmetic than a requantization."""


def write_integer(out: NodeEmitter, op: NnOp) -> bool:
    """Exports an operation in integer arithmetic. Returns False if that is not supported."""
    stored = [element_of(value) for value in op.operands if kind_of(element_of(value)) is Kind.QUANTIZED]
    if not all(isinstance(each, UniformQuantizedType) for each in stored):
        return False
    write = INTEGER.get(type(op))
    return (write is not None and write(out, op)) or write_table(out, op)


# Contractions with block-wise weights: exact sums of each block, added in f32 in the order of the blocks.
#
# For each block `b`, `t = f32(t + f32(f32(s_x * s_b) * f32(a_b)))`, starting from 0. The sum `a_b` is computed by a
# contraction with all weights outside the block set to 0, so the weights must be constants.


def _block_numbers(element: UniformQuantizedType, shape: tuple[int, ...], summed: tuple[int, ...]) -> Array:
    """Returns for each weight the index of its block among the blocks of its sum, in row-major order."""
    sizes = dict(zip(element.axes, element.block_sizes, strict=True))
    numbers, places = np.zeros(shape, np.int64), np.indices(shape, sparse=True)
    for axis in summed:
        block = sizes.get(axis, shape[axis])
        numbers = numbers * (shape[axis] // block) + places[axis] // block
    return numbers


def write_blocks(out: NodeEmitter, op: NnOp) -> bool:
    """Exports a contraction with block-wise weights. Returns False for any other operation."""
    if not isinstance(op, contraction.MatMulOp | contraction.BiasedContractionOp):
        return False
    data, weight = op.operands[:2]
    w, x = element_of(weight), uniform(out, element_of(data))
    stored = constant_array(weight)
    if not isinstance(w, UniformQuantizedType) or w.granularity is not Granularity.BLOCK or stored is None:
        return False
    if x.granularity is not Granularity.TENSOR or DYNAMIC_INDEX in shape_of(weight):
        return False
    scales, zero_points = broadcast_parameters(w, stored.shape)
    integers = stored.astype(np.int64) - zero_points
    if isinstance(op, contraction.ConvTransposeOp):
        numbers, rows = np.broadcast_to(op.block_numbers(w), stored.shape), op.by_output
    else:
        summed = _summed_axes(op, stored.ndim)
        numbers, rows = _block_numbers(w, stored.shape, summed), partial(_rows, summed)
    total = ""
    bound = magnitude_of(x) * int(np.abs(rows(integers)).sum(axis=-1).max(initial=0))
    wide = i64 if bound >= _I32 else i32
    is_windowed = isinstance(op, contraction.WindowedContractionOp)
    value = "" if is_windowed else out.cast(centered(out, data).name, wide)
    for block in np.unique(numbers):
        mine = numbers == block
        part = _contraction(out, op, value, np.where(mine, integers, 0), wide, bound)
        # Inside a block, a weight has the scale of its output channel.
        own = rows(np.where(mine, scales, 0)).max(axis=-1).astype(np.float32)
        factor = over_result(op, accumulator_scale(x.scales, own))
        product = out.node("Mul", [part, out.constant(factor, f32)])
        total = out.node("Add", [total, product]) if total else product
    if isinstance(op, contraction.BiasedContractionOp) and op.bias is not None:
        name = dequantize(out, out.name(op.bias), op.bias, uniform(out, element_of(op.bias)))
        total = out.node("Add", [total, over_channels(out, op, name)])
    quantize(out, total, op.results[0], uniform(out, element_of(op.results[0])), out.output)
    return True


def _rows(summed: Sequence[int], weights: Array) -> Array:
    """Returns weights with the summed axes merged into the last one."""
    kept = [size for axis, size in enumerate(weights.shape) if axis not in summed]
    return np.moveaxis(weights, summed, range(-len(summed), 0)).reshape(*kept, -1)


def _summed_axes(op: NnOp, rank: int) -> tuple[int, ...]:
    if isinstance(op, contraction.WindowedContractionOp):
        return tuple(range(1, rank))
    return (rank - 1 if _is_transposed(op) or rank == 1 else rank - 2,)


def _contraction(out: NodeEmitter, op: NnOp, value: str, integers: Array, wide: Any, bound: int) -> str:
    """Returns the exact sums in f32."""
    if isinstance(op, contraction.WindowedContractionOp):
        rows = op.by_output(integers) if isinstance(op, contraction.ConvTransposeOp) else integers
        return out.cast(sums_of_windows(out, op, integers, bound, math.prod(rows.shape[1:])).name, f32)
    factor = out.constant(integers.swapaxes(-1, -2) if _is_transposed(op) else integers, wide)
    return out.cast(out.node("MatMul", [value, factor]), f32)
