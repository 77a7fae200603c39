"""Exports casts as QuantizeLinear and DequantizeLinear if these operators support the types.

Other casts (32 bits with a zero point, 32-bit results, f64) become elementary operators: a division or multiplication,
rounding, addition of the zero point, and clamping to the storage range.
"""

from typing import Any

import numpy as np
from onnx import TensorProto
from xdsl.dialects.builtin import DYNAMIC_INDEX, AnyFloat, Float16Type, Float32Type, f32, f64, i64
from xdsl.ir import Attribute, SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.quant.infer import spread
from qmlir.dialects.quant.types import (
    Granularity,
    StoredType,
    UniformFloatType,
    UniformQuantizedType,
    UniformType,
    storage_limits,
)
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.onnx.export.emission import NodeEmitter, container, held_element, tensor_proto

WIDE_BITS = 32
"""The width in bits that QuantizeLinear doesn't support."""

PRECISION_OPSET = 23
"""The first operator set in which QuantizeLinear divides in the type of its scale by default (see `precision`)."""


def uniform(out: NodeEmitter, element: Attribute) -> UniformQuantizedType:
    """Returns `element` as a uniform quantized type. Raises `DiagnosticError` if it has no scale."""
    if not isinstance(element, UniformQuantizedType):
        raise out.error(f"computes with {element}, which has no scale; only !quant.uniform can be exported")
    return element


def per_tensor(value: SSAValue) -> UniformQuantizedType | None:
    """Returns the quantized type of `value` if it has a single scale, or `None`."""
    element = element_of(value)
    if not isinstance(element, UniformQuantizedType) or element.granularity is not Granularity.TENSOR:
        return None
    return element


def magnitude_of(element: UniformQuantizedType) -> int:
    """Returns a bound on `|q - z|` over the storage range."""
    zero_points = element.zero_points
    return int(max(abs(element.storage_max - zero_points.min()), abs(element.storage_min - zero_points.max())))


def is_narrower(element: StoredType) -> bool:
    """Returns True if the storage range is narrower than that of the container type."""
    return (element.storage_min, element.storage_max) != storage_limits(container(element))


def _layout(element: UniformType) -> dict[str, Any]:
    """Returns the ONNX attributes that describe the layout of scales: axis and block size."""
    if element.granularity is Granularity.AXIS:
        return {"axis": element.axis}
    if element.scales.size == 1:  # of a block too: ONNX Runtime treats a single scale as per-tensor
        return {}
    position = _block_axis(element)
    return {"axis": position, "block_size": dict(zip(element.axes, element.block_sizes, strict=True))[position]}


def _block_axis(element: UniformType) -> int:
    """Returns the axis of the blocks in ONNX: the one with blocks of several elements."""
    sizes = dict(zip(element.axes, element.block_sizes, strict=True))
    several = [axis for axis, size in sizes.items() if size > 1]
    return several[0] if several else element.axes[-1]


def parameters(element: UniformType, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Returns the scales and zero points in ONNX's layout.

    For a block-wise type, they are repeated so that there is one per index of each axis that isn't divided into blocks.
    """
    scales, zero_points = element.scales, element.zero_points
    if scales.size == 1 and element.granularity is Granularity.BLOCK:
        return scales.reshape(()), zero_points.reshape(())
    if element.granularity is Granularity.BLOCK:
        position = _block_axis(element)
        for axis, size in enumerate(shape):
            if axis != position and scales.shape[axis] != size:
                repeats = size // scales.shape[axis]
                scales, zero_points = np.repeat(scales, repeats, axis), np.repeat(zero_points, repeats, axis)
    return scales, zero_points


def _block_count(element: UniformType) -> int:
    """Returns the number of axes with blocks of more than one element but not the whole axis; ONNX allows one."""
    sizes = zip(element.axes, element.block_sizes, strict=True)
    return sum(size > 1 and element.scales.shape[axis] > 1 for axis, size in sizes)


def has_cast(element: UniformType, shape: tuple[int, ...]) -> bool:
    """Returns True if QuantizeLinear and DequantizeLinear support the layout of the parameters of `element`."""
    return element.granularity is not Granularity.BLOCK or (_block_count(element) <= 1 and DYNAMIC_INDEX not in shape)


def _is_direct(out: NodeEmitter, element: UniformType, shape: tuple[int, ...]) -> bool:
    """Returns True if QuantizeLinear supports this expressed type. Raises `DiagnosticError` for unsupported blocks."""
    if not has_cast(element, shape):
        raise out.error(f"has {element} on a tensor of shape {list(shape)}, but blocks require one static axis")
    is_direct = isinstance(element.expressed_type, Float32Type | Float16Type)
    if not is_direct and isinstance(element, UniformFloatType) and element.granularity is Granularity.BLOCK:
        raise out.error(f"has {element}, but float blocks require scales of f32 or f16")
    return is_direct


def _arithmetic(element: UniformType) -> AnyFloat:
    return f64 if element.expressed_type == f64 else f32


def _real_integers(
    out: NodeEmitter, name: str, element: UniformQuantizedType, shape: tuple[int, ...], arithmetic: AnyFloat
) -> str:
    """Computes `q - z` as a float."""
    wide = out.cast(name, i64)
    if element.zero_points.any():
        wide = out.node("Sub", [wide, out.constant(spread(element, shape, element.zero_points), i64)])
    return out.cast(wide, arithmetic)


def dequantize(out: NodeEmitter, name: str, value: SSAValue, element: UniformType, output: str | None = None) -> str:
    """Dequantizes stored integers or low-precision floats; returns the name of the output."""
    shape, expressed = shape_of(value), element.expressed_type
    is_direct = _is_direct(out, element, shape)
    integers = isinstance(element, UniformQuantizedType)
    is_wide = integers and container(element).width.data == WIDE_BITS
    if not is_direct or (integers and is_wide and (bool(element.zero_points.any()) or not element.is_signed)):
        arithmetic = _arithmetic(element)
        stored = _real_integers(out, name, element, shape, arithmetic) if integers else out.cast(name, arithmetic)
        scale = out.constant(spread(element, shape, element.scales), arithmetic)
        product = out.node("Mul", [stored, scale], output if expressed == arithmetic else None)
        return product if expressed == arithmetic else out.cast(product, expressed, output)
    scales, zero_points = parameters(element, shape)
    inputs = [name, out.constant(scales, expressed)]
    if value in out.packed:
        inputs.append(out.tensor(tensor_proto(out.fresh("c"), zero_points, out.packed[value])))
    elif integers and not is_wide:
        inputs.append(out.constant(zero_points, container(element)))
    return out.node("DequantizeLinear", inputs, output, **_layout(element))


def quantize(out: NodeEmitter, name: str, value: SSAValue, element: UniformType, output: str | None = None) -> str:
    """Quantizes to `saturate(rne(x / s) + z)`, or to saturated low-precision floats; returns the name of the output."""
    shape, expressed, held = shape_of(value), element.expressed_type, held_element(element)
    integers = isinstance(element, UniformQuantizedType)
    arithmetic = _arithmetic(element)
    is_short = expressed != arithmetic
    # Limits rounded to f16 or bf16 may correspond to other integers.
    is_direct = _is_direct(out, element, shape) and not (integers and is_short and is_narrower(element))
    if not is_direct or (integers and container(element).width.data == WIDE_BITS):
        reals = out.cast(name, arithmetic) if is_short else name
        scale = out.constant(spread(element, shape, element.scales), arithmetic)
        quotient = out.node("Div", [reals, scale])
        if integers:
            return saturated(out, out.cast(out.node("Round", [quotient]), f64), element, shape, output)
        return out.cast(out.cast(quotient, f32) if arithmetic == f64 else quotient, held, output)
    if integers and is_narrower(element):
        name = _limited(out, name, element, shape)
    scales, zero_points = parameters(element, shape)
    inputs = [name, out.constant(scales, expressed), out.constant(zero_points, held)]
    precision = TensorProto.FLOAT if is_short and out.settings.opset >= PRECISION_OPSET else None
    return out.node("QuantizeLinear", inputs, output, precision=precision, **_layout(element))


def _limited(out: NodeEmitter, name: str, element: UniformQuantizedType, shape: tuple[int, ...]) -> str:
    """Clamps real values to the real values of the smallest and largest integers of the storage range.

    A bound divided by the scale has a relative error of at most 2^-23, so it rounds to its integer.
    """
    scales, zero_points = element.scales.astype(np.float32), element.zero_points
    for limit, operator in ((element.storage_min, "Max"), (element.storage_max, "Min")):
        bound = spread(element, shape, (limit - zero_points).astype(np.float32) * scales)
        name = out.node(operator, [name, out.constant(bound, element.expressed_type)])
    return name


def kept_apart(
    out: NodeEmitter, name: str, value: SSAValue, element: UniformQuantizedType, output: str | None = None
) -> str:
    """Adds a Max that leaves the values unchanged, to keep a cast separate from the operator next to it.

    Between an operator and its QuantizeLinear or DequantizeLinear, the Max prevents ONNX Runtime from fusing these and
    from moving casts.
    """
    lowest = (element.storage_min - element.zero_points).astype(np.float32) * element.scales.astype(np.float32)
    bound = spread(element, shape_of(value), lowest)
    return out.node("Max", [name, out.constant(bound, element.expressed_type)], output)


def saturated(
    out: NodeEmitter, rounded: str, element: UniformQuantizedType, shape: tuple[int, ...], output: str | None,
    arithmetic: AnyFloat = f64,
) -> str:  # fmt: skip
    """Adds the zero point to rounded values of the type `arithmetic` and clamps them to the storage range."""
    if element.zero_points.any():
        rounded = out.node("Add", [rounded, out.constant(spread(element, shape, element.zero_points), arithmetic)])
    low, high = (out.constant(float(limit), arithmetic) for limit in (element.storage_min, element.storage_max))
    return out.cast(out.node("Clip", [rounded, low, high]), container(element), output)


def has_blocks(value: SSAValue) -> bool:
    """Returns True if `value` has a block-wise quantized type."""
    element = element_of(value)
    return isinstance(element, UniformQuantizedType) and element.granularity is Granularity.BLOCK
