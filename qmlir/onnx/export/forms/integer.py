"""Quantized operations as integer arithmetic: ConvInteger and MatMulInteger, and convolutions these do not take."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType, Signedness, f32, f64, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.requantization import Mode, Ties, accumulator_scale
from qmlir.dialects.nn.activations import ops as activations
from qmlir.dialects.nn.base import Kind, NnOp, kind_of
from qmlir.dialects.nn.contraction import ops as contraction
from qmlir.dialects.nn.contraction.ops import EinsumOp
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.evaluation.parameters import requantization_of
from qmlir.dialects.nn.indexing.ops import GatherOp
from qmlir.dialects.nn.pooling import ops as pooling
from qmlir.dialects.nn.reduction import ops as reduction
from qmlir.dialects.nn.requantize import common_scale, headroom
from qmlir.dialects.nn.result_shapes import covered_elements
from qmlir.dialects.quant.evaluate import quantize
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.evaluation import evaluate
from qmlir.onnx.export.emission import WINDOWS, Outgoing, attributes_of, container
from qmlir.onnx.export.forms.arithmetic import (
    EXACT_F32,
    Exact,
    by_integers,
    centred,
    constant,
    exact_sum,
    magnitude_of,
    product_of,
    rescaled,
    spread_over,
    together,
    widened,
)
from qmlir.onnx.export.forms.casts import has_blocks, uniform

# Integer convolutions that ConvInteger doesn't support: in f32 if that is exact, otherwise byte by byte.
#
# `q - z = sum 256^k (b_k - c_k)`, where `b_k` are the bytes of `q` and `c_k` those of its zero point. Each pair of
# bytes is a ConvInteger of u8 and u8, exact in 32 bits, which pads with the zero point as required. There is no
# transposed integer convolution: a pair of bytes is a ConvTranspose in f32, whose sums are exact for fewer terms.

_BYTE = IntegerType(8, Signedness.UNSIGNED)
_BASE = 256
_LARGEST = 255
_MOST_TERMS = (2**31 - 1) // _LARGEST**2
"""The number of products of bytes minus their zero points whose sum fits 32 bits."""

MOST_TRANSPOSED_TERMS = (EXACT_F32 - 1) // _LARGEST**2
"""The number of such products whose sum is exact in f32."""

_BITS = 17
"""The bits of a stored integer of 16 bits minus its zero point, with the sign."""


@dataclass(frozen=True)
class Byte:
    """One byte of each integer of a tensor: the name of the tensor of bytes, its zero point, and its factor."""

    name: str
    zero_point: int
    factor: int


def _bytes_of(out: Outgoing, value: SSAValue) -> list[Byte]:
    """Returns the bytes of the integers of an operand, highest first."""
    element = uniform(out, element_of(value))
    held, point = container(element), int(element.zero_points.flat[0])
    if (element.zero_points != point).any():
        whole = centred(out, value)
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
    for place in reversed(range(-(-bits // 8))):
        factor = _BASE**place
        part = out.node("Div", [name, out.constant(factor, wide)]) if place else name
        if factor * _BASE < 1 << bits:
            part = out.node("Mod", [part, out.constant(_BASE, wide)])
        found.append(Byte(out.cast(part, _BYTE), point // factor % _BASE, factor))
    return found


def _constant_bytes(out: Outgoing, integers: Array) -> list[Byte]:
    """Returns the bytes of constant integers without zero point, highest first."""
    bits = max(int(np.abs(integers).max(initial=0)).bit_length() + 1, 8)
    shift = 1 << (bits - 1)
    return [
        Byte(
            out.constant((integers + shift) // _BASE**place % _BASE, _BYTE),
            shift // _BASE**place % _BASE,
            _BASE**place,
        )
        for place in reversed(range(-(-bits // 8)))
    ]


def _of_bytes(out: Outgoing, left: Byte, right: Byte, attributes: Mapping[str, Any], *, is_transposed: bool) -> str:
    """Convolves two bytes minus their zero points to i32."""
    if not is_transposed:
        points = [out.constant(each.zero_point, _BYTE) for each in (left, right)]
        return out.node("ConvInteger", [left.name, right.name, *points], **attributes)
    floats = [
        out.node("Sub", [out.cast(each.name, f32), out.constant(float(each.zero_point), f32)]) for each in (left, right)
    ]
    return out.cast(out.node("ConvTranspose", floats, **attributes), i32)


def wide_convolution(
    out: Outgoing,
    data: SSAValue,
    weight: SSAValue | Array,
    bound: int,
    terms: int,
    attributes: Mapping[str, Any],
    *,
    is_transposed: bool = False,
) -> Exact:
    """Returns the exact sums of a convolution; `bound` is their magnitude, `terms` the number of products in each.

    The weights are an operand, or integers without zero point.
    """
    if bound < EXACT_F32:
        x = out.cast(centred(out, data).name, f32)
        w = out.cast(centred(out, weight).name, f32) if isinstance(weight, SSAValue) else out.constant(weight, f32)
        operator = "ConvTranspose" if is_transposed else "Conv"
        return Exact(out.cast(out.node(operator, [x, w], **attributes), i32), i32, bound)
    most = MOST_TRANSPOSED_TERMS if is_transposed else _MOST_TERMS
    if terms > most:
        raise out.error(f"reduces {terms} terms, but a convolution of this width supports at most {most}")
    wide = i64 if bound >= 1 << 31 else i32
    total: Exact | None = None
    rights = _bytes_of(out, weight) if isinstance(weight, SSAValue) else _constant_bytes(out, weight)
    for left in _bytes_of(out, data):
        for right in rights:
            name = _of_bytes(out, left, right, attributes, is_transposed=is_transposed)
            part = Exact(name if wide == i32 else out.cast(name, wide), wide, bound)
            if (factor := left.factor * right.factor) != 1:
                # If the total fits 32 bits, intermediate overflow cancels out.
                part = Exact(out.node("Mul", [part.name, constant(out, factor, part)]), wide, bound)
            total = part if total is None else Exact(together(out, "Add", total, part, 0).name, wide, bound)
    assert total is not None
    return total


# Quantized operations as integer arithmetic: ConvInteger or MatMulInteger, and requantization in elementary operators.
#
# Each computes exactly the integers of `qmlir.dialects.nn.quantized_evaluators`. An operation without an exporter here,
# or whose parameters don't allow exact integers, is exported between casts.

Integer = Callable[[Outgoing, Any], bool]
"""Adds the nodes; returns False, without adding any, if the parameters don't allow exact integers."""

OPEN_SIZE = 1 << 16
"""The size assumed for a dynamic dimension in bounds."""

TABLE_BITS = 16
"""The largest width in bits of values whose functions are exported as lookup tables."""


# Contractions


def _has_operator(x: UniformQuantizedType, w: UniformQuantizedType, *, by_channel: bool) -> bool:
    """Whether MatMulInteger or ConvInteger take these factors: 8 bits, and one zero point unless `by_channel`."""
    narrow = all(container(each).width.data == 8 for each in (x, w))
    same = bool((w.zero_points == w.zero_points.flat[0]).all())
    return narrow and (same or by_channel)


def _zero_points(out: Outgoing, x: UniformQuantizedType, w: UniformQuantizedType) -> list[str]:
    """The zero points that the operators take, empty where they are 0; before one that is not, 0 is written."""
    is_given = [bool(x.zero_points.any() or w.zero_points.any()), bool(w.zero_points.any())]
    return [
        out.constant(each.zero_points.flat[0], container(each)) if given else ""
        for each, given in zip((x, w), is_given, strict=True)
    ]


def _summed(out: Outgoing, x: SSAValue, w: SSAValue, terms: int) -> int:
    bound = magnitude_of(uniform(out, element_of(x))) * magnitude_of(uniform(out, element_of(w)))
    return bound * (terms if terms >= 0 else OPEN_SIZE)


def _with_bias(out: Outgoing, op: contraction.BiasedContractionOp, total: Exact, spatial: int) -> Exact:
    if op.bias is None:
        return total
    name = out.name(op.bias)
    if spatial:
        name = out.node("Reshape", [name, out.constant(np.array([1, -1] + [1] * spatial, np.int64))])
    bias = Exact(name, i32, 1 << 29)
    return together(out, "Add", total, bias, total.bound + bias.bound)


def _product(out: Outgoing, lhs: SSAValue, rhs: SSAValue, is_transposed: bool) -> Exact:
    x, w = (uniform(out, element_of(value)) for value in (lhs, rhs))
    rank, terms = len(shape_of(rhs)), shape_of(lhs)[-1]
    bound = _summed(out, lhs, rhs, terms)
    if _has_operator(x, w, by_channel=False):
        right = out.transposed(out.name(rhs), rank) if is_transposed else out.name(rhs)
        points = _zero_points(out, x, w)
        # i32 wraps; if the bound looks too large, the accumulator was proved to fit by other means.
        return Exact(out.node("MatMulInteger", [out.name(lhs), right, *points]), i32, bound)
    left, right = (widened(out, centred(out, value), bound) for value in (lhs, rhs))
    wide = i64 if i64 in (left.element, right.element) else i32
    names = [each.name if each.element == wide else out.cast(each.name, wide) for each in (left, right)]
    if is_transposed:
        names[1] = out.transposed(names[1], rank)
    return Exact(out.node("MatMul", names), wide, bound)


def _factor_scales(op: Any, x: SSAValue, w: SSAValue) -> Array:
    """`f32(s_x * s_w)`, a vector for the last axis of the result where the right factor has one for each column."""
    left, right = element_of(x), element_of(w)
    assert isinstance(left, UniformQuantizedType)
    assert isinstance(right, UniformQuantizedType)
    return accumulator_scale(left.scales, right.scales)


def _matrices(out: Outgoing, op: contraction.MatMulOp | contraction.FullyConnectedOp) -> bool:
    left, right = op.operands[:2]
    if has_blocks(left) or has_blocks(right):
        return False
    if isinstance(op, contraction.MatMulOp):
        total = _product(out, left, right, op.is_rhs_transposed)
    else:
        total = _with_bias(out, op, _product(out, left, right, True), 0)
    rescaled(out, op, total, _factor_scales(op, left, right))
    return True


def _conv(out: Outgoing, op: contraction.ConvOp) -> bool:
    if has_blocks(op.weight):
        return False
    x, w = (uniform(out, element_of(value)) for value in (op.data, op.weight))
    bound = _summed(out, op.data, op.weight, product_of(shape_of(op.weight)[1:], OPEN_SIZE))
    attributes: dict[str, Any] = attributes_of(op, WINDOWS)
    spatial = len(shape_of(op.data)) - 2
    if _has_operator(x, w, by_channel=False):
        points = _zero_points(out, x, w)
        total = Exact(
            out.node("ConvInteger", [out.name(op.data), out.name(op.weight), *points], **attributes), i32, bound
        )
    else:
        terms = product_of(shape_of(op.weight)[1:], OPEN_SIZE)
        total = wide_convolution(out, op.data, op.weight, bound, terms, attributes)
    scales = _factor_scales(op, op.data, op.weight)
    if scales.ndim:
        scales = scales.reshape(-1, *(1,) * spatial)
    rescaled(out, op, _with_bias(out, op, total, spatial), scales)
    return True


def _conv_transpose(out: Outgoing, op: contraction.ConvTransposeOp) -> bool:
    if has_blocks(op.weight):
        return False
    terms = product_of((shape_of(op.weight)[0] // op.group_count, *shape_of(op.weight)[2:]), OPEN_SIZE)
    bound = _summed(out, op.data, op.weight, terms)
    if bound >= EXACT_F32 and terms > MOST_TRANSPOSED_TERMS and not out.settings.exact:
        return False  # its sums aren't exact in f32: it is exported between casts and may differ near a tie
    attributes = attributes_of(op, f"{WINDOWS} output_padding")
    total = wide_convolution(out, op.data, op.weight, bound, terms, attributes, is_transposed=True)
    spatial = len(shape_of(op.data)) - 2
    scales = op.of_channels(_factor_scales(op, op.data, op.weight))
    scales = scales.reshape(-1, *(1,) * spatial) if scales.size > 1 else scales.reshape(())
    rescaled(out, op, _with_bias(out, op, total, spatial), scales)
    return True


def _einsum(out: Outgoing, op: EinsumOp) -> bool:
    factors = [centred(out, value) for value in op.inputs]
    terms = math.prod(product_of(shape_of(value), OPEN_SIZE) for value in op.inputs)
    bound = math.prod(factor.bound for factor in factors) * terms
    wide = i64 if bound >= 1 << 31 or i64 in (factor.element for factor in factors) else i32
    names = [factor.name if factor.element == wide else out.cast(factor.name, wide) for factor in factors]
    total = Exact(out.node("Einsum", names, equation=op.equation.data), wide, bound)
    scales = [uniform(out, element_of(value)).scales for value in op.inputs]
    rescaled(out, op, total, accumulator_scale(*scales) if len(scales) > 1 else np.float32(scales[0]))
    return True


# One scale


def _unary(function: Callable[[Outgoing, Exact], str]) -> Integer:
    def write(out: Outgoing, op: elementwise.UnaryOp) -> bool:
        if has_blocks(op.input):
            return False
        value = centred(out, op.input)
        scales, _ = spread_over(out, op.input)
        rescaled(out, op, Exact(function(out, value), value.element, value.bound), scales)
        return True

    return write


def _clip(out: Outgoing, op: elementwise.ClipOp) -> bool:
    if has_blocks(op.input) or has_blocks(op.result):
        return False
    element = uniform(out, element_of(op.result))
    value = centred(out, op.input)
    scales, _ = spread_over(out, op.input)
    name = rescaled(out, op, value, scales, output=out.fresh("rescaled"))
    wide = i32 if element.bits < 32 else i64
    name = out.cast(name, wide)
    rank = len(shape_of(op.result))
    for bound, operator in ((op.minimum, "Max"), (op.maximum, "Min")):
        if bound is not None:
            sizes = [1] * rank
            if element.granularity is Granularity.AXIS:
                sizes[element.axis] = element.scales.size
            limit = quantize(np.full(sizes, bound.value.data, np.float32), element)
            name = out.node(operator, [name, out.constant(limit if limit.size > 1 else limit.reshape(()), wide)])
    out.cast(name, container(element), out.output)
    return True


def _binary(operator: str, grows: bool) -> Integer:
    def write(out: Outgoing, op: elementwise.BinaryOp) -> bool:
        if any(map(has_blocks, op.operands)):
            return False
        a, b = (spread_over(out, value)[0] for value in op.operands)
        mode, ties = requantization_of(op)
        if np.all(a == b):
            left, right, scale = centred(out, op.lhs), centred(out, op.rhs), np.maximum(a, b)
        elif mode is Mode.F32:
            return False
        else:
            scale = common_scale(op, a, b)
            left, right = (
                _brought(out, value, each, scale, mode, ties) for value, each in zip(op.operands, (a, b), strict=True)
            )
        bound = left.bound + right.bound if grows else max(left.bound, right.bound)
        rescaled(out, op, together(out, operator, left, right, bound), scale)
        return True

    return write


def _brought(out: Outgoing, value: SSAValue, own: Array, scale: Array, mode: Mode, ties: Ties) -> Exact:
    """The integers of an operand in steps of the scale that both have."""
    operand = centred(out, value)
    places = 0 if mode is Mode.SHIFT else headroom(value)
    if places:
        wide = Exact(operand.name if operand.element == i64 else out.cast(operand.name, i64), i64, operand.bound)
        operand = Exact(out.node("Mul", [wide.name, constant(out, 1 << places, wide)]), i64, operand.bound << places)
    return by_integers(out, operand, np.ldexp(own, -places), scale, mode, ties)


def _mul(out: Outgoing, op: elementwise.MulOp) -> bool:
    if any(map(has_blocks, op.operands)):
        return False
    scales = [spread_over(out, value)[0] for value in op.operands]
    left, right = centred(out, op.lhs), centred(out, op.rhs)
    if left.bound * right.bound >= 1 << 62:
        return False
    rescaled(out, op, together(out, "Mul", left, right, left.bound * right.bound), accumulator_scale(*scales))
    return True


# Slices by index


@dataclass
class _OfSlices(Outgoing):
    """Constants of a tensor along whose axis slices are taken: of parameters that each slice has, those of the slices
    taken."""

    taking: GatherOp | None = None

    def constant(self, array: npt.ArrayLike, element: Attribute = i64) -> str:
        found, op = np.asarray(array), self.taking
        name = super().constant(found, element)
        if op is None or not found.ndim:
            return name
        return self.node("Gather", [name, self.name(op.indices)], axis=op.place)


def _gather(out: Outgoing, op: GatherOp) -> bool:
    if not op.rescales or has_blocks(op.input):
        return False
    codes = out.node("Gather", [out.name(op.input), out.name(op.indices)], axis=op.place)
    fields: dict[str, Any] = {**vars(out), "names": {**out.names, op.input: codes}}
    slices = _OfSlices(**fields, taking=op)
    rescaled(slices, op, centred(slices, op.input), spread_over(out, op.input)[0])
    return True


# Sums and means


def _reduced(scale: Array, gone: tuple[int, ...], rank: int, keeps: bool) -> Array | None:
    """The scales of sums along axes, `None` where they differ along one of them."""
    if not scale.ndim:
        return scale
    for axis in gone:
        first = scale.take([0], axis=axis)
        if not (scale == first).all():
            return None
        scale = first
    return scale if keeps else scale.squeeze(gone)


def _reduce(is_mean: bool) -> Integer:
    def write(out: Outgoing, op: reduction.ReduceOp) -> bool:
        if op.axes_value is not None or has_blocks(op.input):
            return False
        shape = shape_of(op.input)
        gone = op.reduced_axes(len(shape))
        scale = _reduced(spread_over(out, op.input)[0], gone, len(shape), op.keeps_axes)
        sizes = [shape[axis] for axis in gone]
        if scale is None or (is_mean and (DYNAMIC_INDEX in sizes or 0 in sizes)):
            return False
        value = centred(out, op.input)
        if gone:
            axes = out.constant(np.array(gone, np.int64))
            value = exact_sum(out, op, value, axes, product_of(sizes, OPEN_SIZE), int(op.keeps_axes))
        rescaled(out, op, value, scale, math.prod(sizes) if is_mean else 1)
        return True

    return write


def _channel_scale(out: Outgoing, value: SSAValue) -> Array | None:
    """The scales of a value that has one for all spatial axes."""
    rank = len(shape_of(value))
    return _reduced(spread_over(out, value)[0], tuple(range(2, rank)), rank, keeps=True)


def _global_average_pool(out: Outgoing, op: pooling.GlobalAveragePoolOp) -> bool:
    sizes = shape_of(op.data)[2:]
    scale = None if has_blocks(op.data) else _channel_scale(out, op.data)
    if scale is None or DYNAMIC_INDEX in sizes or 0 in sizes:
        return False
    axes = out.constant(np.arange(2, len(shape_of(op.data)), dtype=np.int64))
    total = exact_sum(out, op, centred(out, op.data), axes, math.prod(sizes), 1)
    rescaled(out, op, total, scale, math.prod(sizes))
    return True


def _average_pool(out: Outgoing, op: pooling.AveragePoolOp) -> bool:
    """The sums of windows are convolutions of each channel with a kernel of ones, exact in f32 below 2^24."""
    shape, windows = shape_of(op.data), op.windows
    scale = None if has_blocks(op.data) else _channel_scale(out, op.data)
    bound = magnitude_of(uniform(out, element_of(op.data))) * math.prod(windows.kernel)
    if scale is None or DYNAMIC_INDEX in shape[1:] or bound >= EXACT_F32:
        return False
    sizes, counts = shape[2:], op.counts(shape[2:])
    covered = covered_elements(windows, counts, sizes, bool(op.count_include_pad.value.data))
    if not covered.all():
        return False
    spatial = len(sizes)
    ends = [
        max((count - 1) * windows.strides[axis] + windows.extent(axis) - sizes[axis] - windows.pads[axis], 0)
        for axis, count in enumerate(counts)
    ]
    value = out.cast(centred(out, op.data).name, f32)
    kernel = out.constant(np.ones((shape[1], 1, *windows.kernel)), f32)
    slides = attributes_of(op, "strides dilations")
    sums = out.node("Conv", [value, kernel], group=shape[1], pads=[*windows.pads[:spatial], *ends], **slides)
    total = Exact(sums, i32, bound)
    # Further windows than there are would fit after padding that no window needs.
    count: Array = covered if covered.min() != covered.max() else np.asarray(covered.flat[0])
    rescaled(out, op, Exact(out.cast(total.name, i32), i32, bound), scale, count)
    return True


# Comparisons, and the places of extremes


def _exact_reals(out: Outgoing, value: SSAValue) -> str | None:
    """The real values in f64, which holds the product of an f32 scale and 29 bits."""
    element = uniform(out, element_of(value))
    if magnitude_of(element) >= 1 << 29 or element.expressed_type == f64:
        return None
    scales, _ = spread_over(out, value)
    return out.node("Mul", [out.cast(centred(out, value).name, f64), out.constant(scales.astype(np.float64), f64)])


def _compare(operator: str) -> Integer:
    def write(out: Outgoing, op: elementwise.ComparisonOp) -> bool:
        if any(magnitude_of(uniform(out, element_of(value))) >= 1 << 29 for value in op.operands):
            return False
        reals = [_exact_reals(out, value) for value in op.operands]
        out.node(operator, [each or "" for each in reals], out.output)
        return True

    return write


def _arg_extreme(operator: str) -> Integer:
    def write(out: Outgoing, op: reduction.ArgExtremeOp) -> bool:
        """Of one scale, the integers say it; f32 holds those below 2^24."""
        element = uniform(out, element_of(op.input))
        if element.granularity is not Granularity.TENSOR or magnitude_of(element) >= EXACT_F32:
            return False
        value = out.cast(centred(out, op.input).name, f32)
        out.node(operator, [value], out.output, **attributes_of(op, "axis keepdims=keep_dims select_last_index"))
        return True

    return write


# Functions of one value


def is_function(op: Operation) -> bool:
    """Returns True if each element of the result depends on one element of a single operand."""
    return isinstance(op, elementwise.UnaryOp) and len(op.operands) == 1


def _tabulated(op: Operation, stored: Array, otherwise: Array) -> Array | None:
    """The function at `stored`; `otherwise` where it has no number to quantize, which no run may come to."""
    try:
        found = evaluate(op, [stored])
    except InterpretationError:
        if stored.size == 1:
            return np.reshape(otherwise, 1)
        halves = [_tabulated(op, half, otherwise) for half in np.array_split(stored, 2)]
        return np.concatenate([half for half in halves if half is not None])
    return None if found is None else found[0]


def write_table(out: Outgoing, op: Operation) -> bool:
    """Exports a function of one value of a few bits as a lookup table. Returns False if that is impossible."""
    if not is_function(op):
        return False
    source, target = (element_of(value) for value in (op.operands[0], op.results[0]))
    for element in (source, target):
        if not isinstance(element, UniformQuantizedType) or element.granularity is not Granularity.TENSOR:
            return False
    assert isinstance(source, UniformQuantizedType)
    assert isinstance(target, UniformQuantizedType)
    if source.bits > TABLE_BITS:
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


INTEGER: dict[type[Operation], Integer] = {
    contraction.MatMulOp: _matrices,
    contraction.FullyConnectedOp: _matrices,
    contraction.ConvOp: _conv,
    contraction.ConvTransposeOp: _conv_transpose,
    EinsumOp: _einsum,
    activations.ReluOp: _unary(lambda out, value: out.node("Max", [value.name, constant(out, 0, value)])),
    elementwise.AbsOp: _unary(lambda out, value: out.node("Abs", [value.name])),
    elementwise.NegOp: _unary(lambda out, value: out.node("Neg", [value.name])),
    elementwise.ClipOp: _clip,
    elementwise.AddOp: _binary("Add", grows=True),
    elementwise.SubOp: _binary("Sub", grows=True),
    elementwise.MinOp: _binary("Min", grows=False),
    elementwise.MaxOp: _binary("Max", grows=False),
    elementwise.MulOp: _mul,
    GatherOp: _gather,
    reduction.ReduceSumOp: _reduce(is_mean=False),
    reduction.ReduceMeanOp: _reduce(is_mean=True),
    pooling.GlobalAveragePoolOp: _global_average_pool,
    pooling.AveragePoolOp: _average_pool,
    elementwise.EqualOp: _compare("Equal"),
    elementwise.GreaterOp: _compare("Greater"),
    elementwise.GreaterOrEqualOp: _compare("GreaterOrEqual"),
    elementwise.LessOp: _compare("Less"),
    elementwise.LessOrEqualOp: _compare("LessOrEqual"),
    reduction.ArgMaxOp: _arg_extreme("ArgMax"),
    reduction.ArgMinOp: _arg_extreme("ArgMin"),
}
"""Operations with a specific integer arithmetic."""


def write_integer(out: Outgoing, op: NnOp) -> bool:
    """Exports an operation in integer arithmetic. Returns False if it has none."""
    write = INTEGER.get(type(op))
    stored = [element_of(value) for value in op.operands if kind_of(element_of(value)) is Kind.QUANTIZED]
    if not all(isinstance(each, UniformQuantizedType) for each in stored):
        return False
    if write is not None and write(out, op):
        return True
    return write_table(out, op)
