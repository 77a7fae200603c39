"""Convolutions, fully connected layers and matmuls, on floats or on quantized values."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from qmlir.arithmetic.requantization import Mode, accumulator_scale
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.contraction import ops as contraction
from qmlir.dialects.nn.movement.ops import TransposeOp
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.extensions.litert.node import LiteNode, first
from qmlir.extensions.litert.operators import hybrid
from qmlir.extensions.litert.operators.row import BYTES, SIGNED, LiteRow
from qmlir.extensions.litert.values import Layout
from qmlir.formats.types import accumulator_type
from qmlir.ir.builtin_types import element_of, shape_of

SAME = 0
"""The padding that gives `ceil(size / stride)` windows."""

_I32 = np.iinfo(np.int32)


def same_pads(
    sizes: Sequence[int], kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> list[int]:
    """Returns the padding before all axes, then after all axes, for `ceil(size / stride)` windows."""
    totals = [
        max((-(-size // stride) - 1) * stride + (extent - 1) * dilation + 1 - size, 0)
        for size, extent, stride, dilation in zip(sizes, kernel, strides, dilations, strict=True)
    ]
    return [total // 2 for total in totals] + [total - total // 2 for total in totals]


def strides_of(node: LiteNode) -> list[int]:
    """Returns the strides along the height and the width."""
    return positive(node, "stride_h", "stride_w")


def positive(node: LiteNode, *names: str) -> list[int]:
    """Returns options that must be positive. Raises `DiagnosticError` if one isn't."""
    found = [int(node.attribute(name) or 0) for name in names]
    if min(found) < 1:
        raise node.error(f"{' and '.join(names)} must be positive, but are {found}")
    return found


def _arranged(node: LiteNode, index: int, order: Sequence[int], factors: Any = None) -> SSAValue:
    """Returns input `index` of the file with its axes in another order, a constant if it is one.

    `factors` is the type of the data that it is multiplied by, if both are quantized.
    """
    tensor = node.given(index)
    value = node.in_layout(index, Layout.LAST)
    if len(shape_of(value)) != len(order):
        raise node.error(f"input {index} must have {len(order)} axes, but has shape {list(shape_of(value))}")
    element: Any = element_of(value)
    array = constant_array(value)
    if array is None:
        return node.add(TransposeOp, value, permutation=list(order)).result
    if isinstance(element, UniformQuantizedType):
        if isinstance(factors, UniformQuantizedType):
            element = _multipliable(element, factors)
        if element.granularity is Granularity.AXIS:
            element = element.along(list(order).index(element.axis))
    return node.owner.add_constant(array.transpose(order), element, tensor)


def _multipliable(weight: UniformQuantizedType, data: UniformQuantizedType) -> UniformQuantizedType:
    """Returns the type of weights with scales that are large enough for the products with the scale of the data.

    LiteRT's multiplier of such a channel is 0 in either case: models contain channels whose weights are all 0.
    """
    scales = np.asarray(weight.scales, np.float32)
    while (small := accumulator_scale(data.scales, scales) < np.finfo(np.float32).tiny).any():
        scales = np.where(small, scales * np.float32(2.0**16), scales).astype(np.float32)
    if (scales == weight.scales).all():
        return weight
    if weight.granularity is Granularity.TENSOR:
        return UniformQuantizedType.per_tensor(weight.storage, f32, float(scales), int(weight.zero_points))
    return UniformQuantizedType.per_axis(weight.storage, f32, weight.axis, scales, weight.zero_points)


def _bias(node: LiteNode, index: int, data: SSAValue, weight: SSAValue) -> SSAValue | None:
    """Returns the bias: of the type of accumulators if data and weights are quantized; `None` if it is omitted."""
    tensor = node.tensor(index)
    if tensor is None:
        return None
    value, x, w = node.quantized(index), element_of(data), element_of(weight)
    if not isinstance(x, UniformQuantizedType) or not isinstance(w, UniformQuantizedType):
        return value
    if x.bits == 16 and tensor.element != "INT64" and node.operator.name != "FULLY_CONNECTED":
        raise node.unsupported("data of 16 bits requires a bias of 64 bits")
    element = accumulator_type(x, w, 0)
    array = constant_array(value)
    if array is None:
        return node.graph.stored(value, element, [node.origin])
    if array.size and not (_I32.min <= array.min() and array.max() <= _I32.max):
        raise node.unsupported(f"the bias '{tensor.name}' has elements of more than 32 bits")
    return node.owner.add_constant(array.astype(np.int32), element, tensor)


def _multiplied(node: LiteNode, data: SSAValue, weight: SSAValue) -> SSAValue:
    """Returns the weights as floats if the data are floats, and the model is to compute in floats."""
    return node.dequantized(weight, f32) if node.owner.floats and _is_dynamic(node, data, weight) else weight


def _is_dynamic(node: LiteNode, data: SSAValue, weight: SSAValue) -> bool:
    """Returns whether the weights are integers and the data are floats, which LiteRT quantizes at run time."""
    quantized = [isinstance(element_of(value), UniformQuantizedType) for value in (data, weight)]
    if quantized[0] and not quantized[1]:
        raise node.error("its data are quantized, but its weights are not")
    if not quantized[1] or quantized[0]:
        return False
    if element_of(data) != f32:
        raise node.error(f"its weights are quantized, but its data are {element_of(data)}")
    return True


def _dynamic(
    node: LiteNode, data: SSAValue, weight: SSAValue, bias: SSAValue | None, contract: hybrid.Contract,
    *, rows: bool, depthwise: bool = False, pixels: bool = False,
) -> SSAValue:  # fmt: skip
    """Returns the product of float data and integer weights.

    With `rows`, each row of the data has one scale, otherwise each image; with `pixels`, XNNPACK uses one per pixel.
    """
    element, rank = element_of(weight), len(shape_of(data))
    assert isinstance(element, UniformQuantizedType)
    if element.zero_points.any():
        raise node.unsupported("weights of dynamic-range quantization must have zero point 0")
    is_single, is_auto = element.granularity is Granularity.TENSOR, node.requantize.mode is Mode.LITERT_XNNPACK
    if is_auto and (depthwise or (is_single and not rows)):
        raise node.unsupported("dynamic-range quantization of this form has no known arithmetic in XNNPACK")
    scales = np.asarray(element.scales, np.float32)
    per_channel = node.add_constant(scales, f32)
    factors = hybrid.Scales(
        per_channel if is_single else hybrid.channels(node, per_channel, rank),
        None if bias is None else hybrid.channels(node, bias, rank),
    )
    axes = [1] if rows or (pixels and is_auto) else list(range(1, rank))
    is_symmetric = not node.attribute("asymmetric_quantize_inputs") if rows else is_single and not depthwise
    quantized = hybrid.by_xnnpack if is_auto else hybrid.symmetric if is_symmetric else hybrid.asymmetric
    found = quantized(node, data, axes)
    order = "fused" if is_auto else "scales" if rows or depthwise or is_single else "weights"
    total = hybrid.sums(node, found.integers, weight, contract)
    return hybrid.scaled(node, total, found, factors, order)


def _windows(node: LiteNode, data: SSAValue, kernel: Sequence[int]) -> dict[str, Any]:
    strides, dilations = strides_of(node), positive(node, "dilation_h_factor", "dilation_w_factor")
    is_same = node.attribute("padding") == SAME
    pads = same_pads(shape_of(data)[2:], kernel, strides, dilations) if is_same else [0] * 4
    return {"strides": strides, "dilations": dilations, "pads": pads}


def _conv(node: LiteNode) -> SSAValue:
    data = node.quantized(0)
    weight = _arranged(node, 1, (0, 3, 1, 2), element_of(data))
    channels, own = shape_of(data)[1], shape_of(weight)[1]
    if own == 0 or channels % own:
        raise node.error(f"weights of {own} channels don't divide the {channels} channels of the data")
    properties = _windows(node, data, shape_of(weight)[2:])
    return _convolved(node, data, weight, {"groups": channels // own, **properties})


def _convolved(node: LiteNode, data: SSAValue, weight: SSAValue, properties: dict[str, Any]) -> SSAValue:
    if node.given(1).is_narrow and node.requantize.mode is Mode.LITERT_XNNPACK:
        raise node.unsupported("weights of 4 bits have no known arithmetic in XNNPACK; use litert-reference")
    weight = _multiplied(node, data, weight)
    bias = _bias(node, 2, data, weight)
    if not _is_dynamic(node, data, weight):
        return node.activated(node.add(contraction.ConvOp, data, weight, bias, **properties).result)

    def contract(left: SSAValue, right: SSAValue, result: UniformQuantizedType) -> SSAValue:
        found = node.add(contraction.ConvOp, left, right, result_element=result, requantize=None, **properties)
        return found.result

    is_pointwise = {*shape_of(weight)[2:], *properties["strides"]} == {1}
    is_depthwise = node.operator.name == "DEPTHWISE_CONV_2D"
    found = _dynamic(node, data, weight, bias, contract, rows=False, depthwise=is_depthwise, pixels=is_pointwise)
    return node.activated(found)


def _depthwise(node: LiteNode) -> SSAValue:
    data = node.quantized(0)
    weight = _arranged(node, 1, (3, 0, 1, 2), element_of(data))
    properties = _windows(node, data, shape_of(weight)[2:])
    return _convolved(node, data, weight, {"groups": shape_of(data)[1], **properties})


def _transpose_conv(node: LiteNode) -> SSAValue:
    data = node.quantized(2)
    weight = _arranged(node, 1, (3, 0, 1, 2), element_of(data))
    if _is_dynamic(node, data, weight):
        raise node.unsupported("dynamic-range quantization is not supported")
    strides, wanted = strides_of(node), node.numbers(0)
    if len(wanted) != len(node.layout.value):
        raise node.error(f"input 0 must have 4 sizes, but got {list(wanted)}")
    before, after, added = list[int](), list[int](), list[int]()
    for size, stride, extent, result in zip(
        shape_of(data)[2:], strides, shape_of(weight)[2:], wanted[1:3], strict=True
    ):
        cut = (size - 1) * stride + extent - result
        before.append(max(cut, 0) // 2 if node.attribute("padding") == SAME else 0)
        after.append(max(cut, 0) - before[-1])
        added.append(max(-cut, 0))
    bias = _bias(node, 3, data, weight)
    result = node.add(
        contraction.ConvTransposeOp, data, weight, bias, strides=strides, pads=before + after, output_padding=added
    ).result
    return node.activated(result)


def _fully_connected(node: LiteNode) -> SSAValue:
    if node.attribute("weights_format"):
        raise node.unsupported("shuffled weights are not supported")
    data = node.quantized(0)
    weight = _multiplied(node, data, _arranged(node, 1, (0, 1), element_of(data)))
    outputs, terms = shape_of(weight)
    shape, elements = shape_of(data), int(np.prod(shape_of(data)))
    if terms == 0 or elements % terms:
        raise node.error(f"weights of {terms} columns don't divide data of shape {list(shape)}")
    rows = elements // terms
    if shape != (rows, terms):
        data = node.reshaped(data, (rows, terms))
    bias = _bias(node, 2, data, weight)
    if _is_dynamic(node, data, weight):
        result = _dynamic(node, data, weight, bias, partial(_sums_of_rows, node), rows=True)
    else:
        result = node.add(contraction.FullyConnectedOp, data, weight, bias).result
    result = node.activated(result)
    keeps = node.attribute("keep_num_dims") and len(shape) != 2
    return node.reshaped(result, (*shape[:-1], outputs)) if keeps else result


def _sums_of_rows(node: LiteNode, data: SSAValue, weight: SSAValue, result: UniformQuantizedType) -> SSAValue:
    return node.add(contraction.FullyConnectedOp, data, weight, result_element=result, requantize=None).result


def _batch_matmul(node: LiteNode) -> SSAValue:
    left, right = node.quantized(0), node.quantized(1)
    if _is_dynamic(node, left, right):
        raise node.unsupported("dynamic-range quantization is not supported")
    if node.attribute("adj_x"):
        *outer, row, column = range(len(shape_of(left)))
        left = node.add(TransposeOp, left, permutation=[*outer, column, row]).result
    return node.add(contraction.MatMulOp, left, right, transpose_b=bool(node.attribute("adj_y"))).result


OPERATORS: Mapping[str, LiteRow] = {
    "CONV_2D": LiteRow(_conv, first, SIGNED),
    "DEPTHWISE_CONV_2D": LiteRow(_depthwise, first, SIGNED),
    "TRANSPOSE_CONV": LiteRow(_transpose_conv, first, BYTES),
    "FULLY_CONNECTED": LiteRow(_fully_connected, stored=SIGNED),
    "BATCH_MATMUL": LiteRow(_batch_matmul, stored=BYTES),
}
"""The operators of this module."""
