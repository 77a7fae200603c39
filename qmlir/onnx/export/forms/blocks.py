"""Contractions with a scale for each block of the weights: exact sums of blocks, added up in f32 in their order.

`t = f32(t + f32(f32(s_x * s_b) * f32(a_b)))` over the blocks, from 0. The sum of a block is the contraction with the
weights of all others 0, so the weights must be constants.
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, f32, i32, i64

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.requantization import accumulator_scale
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.contraction import ops as contraction
from qmlir.dialects.quant.infer import broadcast_parameters
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.onnx.export.emission import WINDOWS, Outgoing, attributes_of
from qmlir.onnx.export.forms.arithmetic import centred, magnitude_of
from qmlir.onnx.export.forms.casts import dequantize, quantize, uniform
from qmlir.onnx.export.forms.integer import wide_convolution


def _block_numbers(element: UniformQuantizedType, shape: tuple[int, ...], summed: tuple[int, ...]) -> Array:
    """For each weight the number of its block among those that are added up, in row-major order."""
    sizes = dict(zip(element.axes, element.block_sizes, strict=True))
    numbers = np.zeros(shape, np.int64)
    for axis in summed:
        block = sizes.get(axis, shape[axis])
        along = (np.arange(shape[axis]) // block).reshape([-1 if place == axis else 1 for place in range(len(shape))])
        numbers = numbers * (shape[axis] // block) + along
    return numbers


def write_blocks(out: Outgoing, op: NnOp) -> bool:
    """Write a contraction whose weights have blocks; gives false where it is none."""
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
    is_conv = isinstance(op, contraction.WindowedContractionOp)
    bound = magnitude_of(x) * int(np.abs(rows(integers)).sum(axis=-1).max(initial=0))
    wide = i64 if bound >= 1 << 31 else i32
    value = "" if is_conv else out.cast(centred(out, data).name, wide)
    for block in np.unique(numbers):
        mine = numbers == block
        part = _contraction(out, op, value, np.where(mine, integers, 0), wide, bound)
        # Inside a block, a weight has the scale of its output channel.
        own = rows(np.where(mine, scales, 0)).max(axis=-1).astype(np.float32)
        factor = _over_result(op, accumulator_scale(x.scales, own))
        product = out.node("Mul", [part, out.constant(factor, f32)])
        total = out.node("Add", [total, product]) if total else product
    bias = None if isinstance(op, contraction.MatMulOp) else op.bias
    if bias is not None:
        name = dequantize(out, out.name(bias), bias, uniform(out, element_of(bias)))
        if is_conv:
            rank = len(shape_of(op.results[0]))
            name = out.node("Reshape", [name, out.constant(np.array([1, -1] + [1] * (rank - 2), np.int64))])
        total = out.node("Add", [total, name])
    quantize(out, total, op.results[0], uniform(out, element_of(op.results[0])), out.output)
    return True


def _rows(summed: Sequence[int], weights: Array) -> Array:
    """Weights with the summed axes as one, the last one."""
    kept = [size for axis, size in enumerate(weights.shape) if axis not in summed]
    return np.moveaxis(weights, summed, range(-len(summed), 0)).reshape(*kept, -1)


def _summed_axes(op: NnOp, rank: int) -> tuple[int, ...]:
    match op:
        case contraction.MatMulOp():
            return (rank - 1 if op.is_rhs_transposed or rank == 1 else rank - 2,)
        case contraction.FullyConnectedOp():
            return (1,)
        case _:
            return tuple(range(1, rank))


def _contraction(out: Outgoing, op: NnOp, value: str, integers: Array, wide: Any, bound: int) -> str:
    """The exact sums, in f32."""
    if isinstance(op, contraction.ConvTransposeOp):
        terms, attributes = op.by_output(integers).shape[1], attributes_of(op, f"{WINDOWS} output_padding")
        found = wide_convolution(out, op.data, integers, bound, terms, attributes, is_transposed=True)
        return out.cast(found.name, f32)
    if isinstance(op, contraction.ConvOp):
        terms = math.prod(integers.shape[1:])
        attributes = attributes_of(op, WINDOWS)
        return out.cast(wide_convolution(out, op.data, integers, bound, terms, attributes).name, f32)
    is_transposed = isinstance(op, contraction.FullyConnectedOp) or (
        isinstance(op, contraction.MatMulOp) and op.is_rhs_transposed
    )
    factor = out.constant(integers.swapaxes(-1, -2) if is_transposed else integers, wide)
    return out.cast(out.node("MatMul", [value, factor]), f32)


def _over_result(op: NnOp, scales: Array) -> Array:
    """Scales of output channels in a shape that broadcasts against the result."""
    if isinstance(op, contraction.WindowedContractionOp):
        return scales.reshape(-1, *(1,) * (len(shape_of(op.results[0])) - 2))
    if isinstance(op, contraction.MatMulOp) and scales.ndim > 1:
        return scales[..., None, :]
    return scales
