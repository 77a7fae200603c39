"""Quantization operators of PT2E models: constant scales and zero points become types."""

from collections.abc import Mapping
from functools import partial
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp
from qmlir.dialects.quant.types import UniformQuantizedType, storage_limits
from qmlir.extensions.pt2.node import AtenNode, Importer
from qmlir.ir.builtin_types import as_integer, element_of, shape_of

# PyTorch multiplies by the reciprocal, `round_half_even(x * f32(1 / scale)) + zero_point`, and `quant.qcast` divides by
# f32(scale). The integers differ by one if the two quotients are on different sides of a tie.


def _parameter(node: AtenNode, name: str) -> Array:
    """Returns a scale or zero point, which may be a number or a constant tensor, as a vector."""
    found = node.arguments.get(name)
    return node.array(name).reshape(-1) if isinstance(found, SSAValue) else np.array([node.number(name)])


def _type(node: AtenNode, storage: Attribute, *, by_channel: bool, narrow: bool) -> UniformQuantizedType:
    """Returns the quantized type of a node; `narrow` keeps limits that are narrower than the storage type."""
    integer = as_integer(storage)
    if integer is None:
        raise node.unsupported(f"the stored values must be integers, but got {storage}")
    low, high = storage_limits(integer)
    given = node.index("quant_min", low), node.index("quant_max", high)
    limits = given if narrow and given != (low, high) else None
    if by_channel:
        scales, points = np.asarray(node.array("scales")), np.zeros(1, np.int64)
        if node.has_attribute("zero_points"):
            points = np.asarray(node.array("zero_points"))
        axis = node.axis("axis", rank=len(node.shape()))
        scales, points = scales.astype(np.float32).reshape(-1), points.astype(np.int64).reshape(-1)
        if scales.size != shape_of(node.any_tensor("input"))[axis] or points.size not in (1, scales.size):
            raise node.error(f"has {scales.size} scales and {points.size} zero points for axis {axis}")
        points = np.broadcast_to(points, scales.shape)
        return UniformQuantizedType.per_axis(integer, f32, axis, scales.astype(np.float64), points, limits)
    scale, point = (_parameter(node, name) for name in ("scale", "zero_point"))
    if scale.size != 1 or point.size != 1:
        raise node.error(f"must have one scale and zero point, but has {scale.size} and {point.size}")
    return UniformQuantizedType.per_tensor(integer, f32, float(scale.astype(np.float32)[0]), int(point[0]), limits)


def _quantize(node: AtenNode, *, by_channel: bool) -> SSAValue:
    value = node.tensor("input")
    element = _type(node, node.element, by_channel=by_channel, narrow=True)
    return node.insert(QuantizeCastOp(node.cast(value, f32), TensorType(element, shape_of(value)))).result


def _dequantize(node: AtenNode, *, by_channel: bool) -> SSAValue:
    value = node.any_tensor("input")
    held = element_of(value)
    storage = held.storage if isinstance(held, UniformQuantizedType) else held
    element = _type(node, storage, by_channel=by_channel, narrow=False)
    if isinstance(held, UniformQuantizedType):
        own = cast(Any, element)
        same = (own.scales == held.scales).all() and (own.zero_points == held.zero_points).all()
        element = held if same else element
    stored = node.graph.stored(value, element, [node.origin])
    return node.insert(DequantizeCastOp(stored, TensorType(f32, shape_of(value)))).result


def _checked(node: AtenNode, run: Any, *, by_channel: bool) -> SSAValue:
    try:
        return run(node, by_channel=by_channel)
    except (VerifyException, OverflowError) as error:
        raise node.error(" ".join(str(error).split())) from error


OPERATORS: Mapping[str, Importer] = {
    f"quantized_decomposed.{name}_{kind}": partial(_checked, run=run, by_channel=kind == "per_channel")
    for name, run in (("quantize", _quantize), ("dequantize", _dequantize))
    for kind in ("per_tensor", "per_channel")
}
"""The importer of each operator of this family."""
