"""Contractions with block-wise weights: exact sums of each block, added in f32 in the order of the blocks.

`t = f32(t + f32(f32(s_x * s_b) * f32(a_b)))` over the blocks, from 0. The sum of a block is the contraction with all
other weights set to 0, so the weights must be constants.
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
from qmlir.onnx.export.emission import Outgoing
from qmlir.onnx.export.forms.arithmetic import centred, magnitude_of
from qmlir.onnx.export.forms.casts import dequantize, quantize, uniform
from qmlir.onnx.export.forms.integer import over_channels, over_result, sums_of_windows


def _block_numbers(element: UniformQuantizedType, shape: tuple[int, ...], summed: tuple[int, ...]) -> Array:
    """Returns for each weight the index of its block among the blocks of its sum, in row-major order."""
    sizes = dict(zip(element.axes, element.block_sizes, strict=True))
    numbers = np.zeros(shape, np.int64)
    for axis in summed:
        block = sizes.get(axis, shape[axis])
        along = (np.arange(shape[axis]) // block).reshape([-1 if place == axis else 1 for place in range(len(shape))])
        numbers = numbers * (shape[axis] // block) + along
    return numbers


def write_blocks(out: Outgoing, op: NnOp) -> bool:
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
    wide = i64 if bound >= 1 << 31 else i32
    is_windowed = isinstance(op, contraction.WindowedContractionOp)
    value = "" if is_windowed else out.cast(centred(out, data).name, wide)
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
    match op:
        case contraction.MatMulOp():
            return (rank - 1 if op.is_rhs_transposed or rank == 1 else rank - 2,)
        case contraction.FullyConnectedOp():
            return (1,)
        case _:
            return tuple(range(1, rank))


def _contraction(out: Outgoing, op: NnOp, value: str, integers: Array, wide: Any, bound: int) -> str:
    """Returns the exact sums in f32."""
    if isinstance(op, contraction.WindowedContractionOp):
        rows = op.by_output(integers) if isinstance(op, contraction.ConvTransposeOp) else integers
        return out.cast(sums_of_windows(out, op, integers, bound, math.prod(rows.shape[1:])).name, f32)
    is_transposed = isinstance(op, contraction.FullyConnectedOp) or (
        isinstance(op, contraction.MatMulOp) and op.is_rhs_transposed
    )
    factor = out.constant(integers.swapaxes(-1, -2) if is_transposed else integers, wide)
    return out.cast(out.node("MatMul", [value, factor]), f32)
