"""Importers of QONNX's quantizers: Quant, BipolarQuant, Trunc, FloatQuant and MultiThreshold."""

import math
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType, Signedness, f32
from xdsl.ir import SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.movement import ops as movement
from qmlir.dialects.nn.reduction import ops as reduction
from qmlir.dialects.quant.syntax import MAX_STORAGE_BITS
from qmlir.dialects.quant.types import Granularity, UniformFloatType, UniformQuantizedType
from qmlir.extensions.qonnx.formats import FORMATS, MAX_BITS, limits_of_bits
from qmlir.extensions.qonnx.quantizer import HALF_EVEN, Quantizer, axis_of, is_computed_quantized, parameters
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.onnx.node import Importer, Node

DOMAINS = ("qonnx.custom_op.general", "finn.custom_op.general", "onnx.brevitas")
"""The domains of QONNX: its own, its former one, and that of Brevitas' exporter."""


_WIDEST = 128
"""The largest number of bits: the integers of more bits exceed f32."""

_FIELD_LIMITS = {"exponent width": (0, 8), "mantissa width": (0, 8), "exponent bias": (-256, 256)}
"""The smallest and largest parameters of floats, which include those of all types."""

_Value = TypeVar("_Value", int, float, str)


def _attribute(node: Node, name: str, kind: type[_Value], default: _Value | None = None) -> _Value:
    """Returns an attribute of a `kind`; without a default, it is required."""
    if default is None and not node.has_attribute(name):
        raise node.error(f"requires the attribute '{name}'")
    found = node.attribute(name, default)
    if not isinstance(found, kind):
        expected = {int: "an integer", float: "a float", str: "a string"}[kind]
        raise node.error(f"attribute '{name}' must be {expected}, but got {found!r}")
    return found


def _flag(node: Node, name: str, default: int | None = None) -> bool:
    """Returns an attribute that is 0 or 1."""
    found = _attribute(node, name, int, default)
    if found not in (0, 1):
        raise node.error(f"attribute '{name}' must be 0 or 1, but got {found}")
    return bool(found)


def _known(node: Node, index: int, what: str) -> Any:
    """Returns the number in input `index`, as a NumPy scalar, so that arithmetic on it has its precision."""
    known = node.constant(index)
    if known is None:
        raise node.unsupported(f"{what} must be constant, but input {index} is not")
    if known.size != 1:
        raise node.unsupported(f"requires one {what}, but input {index} has shape {list(known.shape)}")
    return known.reshape(())[()]


def _bits(node: Node, index: int) -> Any:
    bits = _known(node, index, "bit width")
    if not np.isfinite(bits) or bits < 1:
        raise node.error(f"bit width must be at least 1, but got {bits}")
    if bits > _WIDEST:
        raise node.unsupported(f"bit width must be at most {_WIDEST}, but got {bits}")
    return bits


def _bipolar(quantizer: Quantizer, value: SSAValue, data: SSAValue) -> SSAValue:
    """Adds a quantizer to -1 and 1, which the narrow range of two bits represents."""
    element = quantizer.type_of(shape_of(value), (-1, 1), 2, is_signed=True)
    return quantizer.dequantized(quantizer.signs(value), element, data)


def _quant(node: Node) -> SSAValue:
    """Imports Quant: `clamp(x / scale + zero_point)`, rounded, and dequantized."""
    is_signed, is_narrow = _flag(node, "signed"), _flag(node, "narrow")
    mode, bits = _attribute(node, "rounding_mode", str, "ROUND"), _bits(node, 3)
    quantizer, data = parameters(node, 1, 2), node.input()
    if bits == 1 and is_signed:
        return _bipolar(quantizer, quantizer.to_quotient(data), data)
    limits = limits_of_bits(bits, is_signed=is_signed, is_narrow=is_narrow)
    is_constant = node.constant(0) is not None
    is_inner = is_computed_quantized(data)
    most = MAX_STORAGE_BITS if is_constant or is_inner else MAX_BITS
    element = quantizer.type_of(shape_of(data), limits, bits, is_signed=is_signed, most_bits=most)
    rounds_alike = mode.upper() in HALF_EVEN and (quantizer.zero_point is None or is_inner)
    if element is not None and rounds_alike and not is_constant:
        return quantizer.cast(data, element)
    integers = quantizer.rounded(quantizer.clamped(quantizer.to_quotient(data), limits), mode)
    if element is not None and element.bits > MAX_BITS and not _fits(integers):
        element = None
    return quantizer.dequantized(integers, element, data)


def _fits(integers: SSAValue) -> bool:
    """Returns True if f32 represents all integers as large as the largest of these constants."""
    known = constant_array(integers)
    return known is not None and bool((np.abs(known) < 2**MAX_BITS).all())


def _bipolar_quant(node: Node) -> SSAValue:
    """Imports BipolarQuant: `scale` for elements of at least 0, and `-scale` for others."""
    return _bipolar(parameters(node, 1, None), node.input(), node.input())


def _trunc(node: Node) -> SSAValue:
    """Imports Trunc: drops the low bits of integers. Since version 2, its result has a scale and limits of its own."""
    mode, data = _attribute(node, "rounding_mode", str, "FLOOR"), node.input()
    source = parameters(node, 1, 2)
    integers = source.add(elementwise.RoundOp, source.to_quotient(data))
    if node.version < 2:
        widths = float(_bits(node, 3)), float(_bits(node, 4))
        dropped = math.pow(2, widths[0] - widths[1])
        quotient = source.add(elementwise.DivOp, integers, source.constant(dropped))
        return source.dequantized(source.rounded(quotient, mode), None, data)
    ratio, bits = float(_known(node, 4, "output scale") / _known(node, 1, "scale")), _bits(node, 5)
    if not 0 < ratio < math.inf:
        raise node.error(f"the output scale must be a positive multiple of the scale, but got {ratio}")
    dropped = math.ldexp(1, round(float(np.log2(np.float32(ratio)))))
    is_signed, is_narrow = _flag(node, "signed", 1), _flag(node, "narrow", 0)
    limits = limits_of_bits(bits, is_signed=is_signed, is_narrow=is_narrow)
    divisor, zero_point = source.constant(dropped), source.zero_point
    offset = None if zero_point is None else source.add(elementwise.DivOp, zero_point, divisor)
    result = Quantizer(node, node.input(4), offset)
    quotient = source.add(elementwise.DivOp, integers, divisor)
    element = result.type_of(shape_of(data), limits, bits, is_signed=is_signed)
    return result.dequantized(source.rounded(source.clamped(quotient, limits), mode), element, data)


# FloatQuant


def _field(node: Node, index: int, what: str) -> float:
    """Returns a parameter of a float type from input `index`."""
    found, (low, high) = float(_known(node, index, what)), _FIELD_LIMITS[what]
    if not low <= found <= high:
        raise node.unsupported(f"{what} must be in [{low}, {high}], but got {found:g}")
    return found


def _float_quant(node: Node) -> SSAValue:
    """Imports FloatQuant, if a low-precision float type has its exponents, its mantissa and its largest value."""
    if not _flag(node, "saturation", 1):
        raise node.unsupported("overflows to infinity or NaN (saturation = 0), which no quantized type represents")
    mode = _attribute(node, "rounding_mode", str, "ROUND")
    if mode.upper() not in HALF_EVEN:
        raise node.unsupported(f"rounds by {mode}; floats are supported with ties to even (ROUND) only")
    exponent, mantissa, bias = (_field(node, index, what) for index, what in enumerate(_FIELD_LIMITS, start=2))
    most = float(_known(node, 5, "largest value"))
    largest = min(most, float((2 - 2.0**-mantissa) * 2.0 ** (2**exponent - 1 - bias)))
    format_ = FORMATS.get((exponent, mantissa, bias, largest))
    if format_ is None:
        raise node.unsupported(
            f"no float type has {exponent:g} exponent bits, {mantissa:g} mantissa bits, the bias {bias:g} "
            f"and the largest value {largest:g}"
        )
    data, scales = parameters(node, 1, None).node.input(), node.constant(1)
    axis = None if scales is None else axis_of(scales, len(shape_of(data)))
    if scales is None or axis is None or not (scales > 0).all():
        raise node.unsupported("requires a constant, positive scale per tensor or per index of one axis")
    granularity = Granularity.AXIS if scales.size > 1 else Granularity.TENSOR
    blocks = {axis: 1} if scales.size > 1 else None
    flat = scales.reshape(-1 if scales.size > 1 else ()).astype(np.float64)
    return Quantizer(node, node.input(1)).cast(data, UniformFloatType.of(format_, f32, flat, granularity, blocks))


# MultiThreshold

_LAYOUTS = {2: "NC", 3: "NWC", 4: "NCHW"}
"""The layout of a tensor that names none, by its rank."""


def _multi_threshold(node: Node) -> SSAValue:
    """Imports MultiThreshold: `out_scale * n + out_bias`, where `n` counts the thresholds that `x` reaches."""
    data, thresholds = node.input(), node.input(1)
    counter = Quantizer(node, thresholds)
    shape, rows = shape_of(data), shape_of(thresholds)
    if element_of(data) != f32 or element_of(thresholds) != f32:
        raise node.unsupported(f"requires f32, but got {element_of(data)} and {element_of(thresholds)}")
    axis = _channel_axis(node, len(shape))
    if len(rows) != 2 or DYNAMIC_INDEX in rows or rows[0] not in (1, shape[axis]):
        raise node.error(f"thresholds must have shape {shape[axis]}xN or 1xN, but got {'x'.join(map(str, rows))}")
    aligned = [rows[0] if position == axis else 1 for position in range(len(shape))]
    value = node.add(movement.UnsqueezeOp, data, axes=[-1]).result
    is_reached = node.add(elementwise.GreaterOrEqualOp, value, node.reshaped(thresholds, [*aligned, rows[1]])).result
    count = node.add(reduction.ReduceSumOp, node.cast(is_reached, f32), axes=[-1], keep_dims=False).results[0]
    scale, bias = (
        np.float32(_attribute(node, "out_scale", float, 1.0)),
        np.float32(_attribute(node, "out_bias", float, 0.0)),
    )
    element = _counted(rows[1], scale, bias)
    if element is not None:
        return counter.dequantized(count, element, data)
    if scale != 1:
        count = counter.add(elementwise.MulOp, count, counter.constant(float(scale)))
    return count if bias == 0 else counter.add(elementwise.AddOp, count, counter.constant(float(bias)))


def _channel_axis(node: Node, rank: int) -> int:
    """Returns the axis of channels: that of the attribute `data_layout`, else the usual one of the rank."""
    layout = _attribute(node, "data_layout", str, "") or _LAYOUTS.get(rank, "")
    axis = layout.index("C") if "C" in layout else 1
    if axis >= rank:
        raise node.error(f"data_layout '{layout}' has channels on axis {axis}, but the data has rank {rank}")
    return axis


def _counted(steps: int, scale: np.float32, bias: np.float32) -> UniformQuantizedType | None:
    """Returns the type of counts from 0 to `steps` if it represents `scale * count + bias`, rounded twice, exactly."""
    if not (np.isfinite(scale) and np.isfinite(bias) and scale > 0 and steps):
        return None
    zero_point = int(np.rint(-bias / scale))
    counts: Array = np.arange(steps + 1).astype(np.float32)
    is_exact = np.array_equal(scale * counts + bias, (counts - np.float32(zero_point)) * scale)
    if not is_exact or not 0 <= zero_point <= steps:
        return None
    storage = IntegerType(steps.bit_length(), Signedness.UNSIGNED)
    return UniformQuantizedType.per_tensor(storage, f32, float(scale), zero_point, (0, steps))


_OPERATORS: Mapping[str, Importer] = {
    "Quant": _quant,
    "IntQuant": _quant,
    "BipolarQuant": _bipolar_quant,
    "Trunc": _trunc,
    "FloatQuant": _float_quant,
    "MultiThreshold": _multi_threshold,
}

IMPORTERS: dict[str, Importer] = {
    f"{domain}::{name}": importer for domain in DOMAINS for name, importer in _OPERATORS.items()
}
