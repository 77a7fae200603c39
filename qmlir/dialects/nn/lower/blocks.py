"""Contractions whose weights have a scale for each block: the exact sum of each block, then an f32 sum over the blocks.

Each block is a matrix product of a batch, which its own scale takes to f32; the sum runs over the blocks in ascending
order from 0, the bias is added last, and the total is quantized. A convolution lays out its windows first, by blocks.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import IntegerType, f32
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.requantization import accumulator_scale
from qmlir.dialects.kernel.lowering import quantized
from qmlir.dialects.kernel.lowering.lowering import Input, Lowering, unchanged
from qmlir.dialects.kernel.lowering.scalars import Scalar
from qmlir.dialects.nn.lower.places import axes_map
from qmlir.dialects.nn.lower.products import Factor, MatrixProduct
from qmlir.dialects.nn.ops import contraction as ops
from qmlir.dialects.quant.infer import broadcast_parameters
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.text.elements import integers_of


def uniform_type(at: Lowering, weight: SSAValue) -> UniformQuantizedType:
    """The type of a value that is quantized."""
    element = quantized.uniform_element(at, weight)
    assert element is not None
    return element


def _parameters(at: Lowering, weight: SSAValue) -> tuple[Array, Array]:
    """The scale and the zero point of every weight."""
    shape = shape_of(weight)
    scales, zero_points = broadcast_parameters(uniform_type(at, weight), shape)
    return np.broadcast_to(scales, shape), np.broadcast_to(zero_points, shape)


def _with_one_zero_point(at: Lowering, weight: SSAValue) -> Factor:
    """The weights in their own layout; where blocks have zero points of their own, wider integers without them."""
    element, own, known = uniform_type(at, weight), at.value(weight), at.known(weight)
    zero_points = np.unique(element.zero_points)
    if zero_points.size == 1:
        return Factor(own, element, at.signedness(weight), zero_points, known)
    wide = IntegerType(16 if element.bits < 16 else 32 if element.bits < 32 else 64)
    none = np.zeros(1, np.int64)
    if known is not None:
        integers = integers_of(known, element_of(own), is_unsigned=at.signedness(weight))
        centred = (integers - _parameters(at, weight)[1]).astype(f"i{wide.bitwidth // 8}")
        return Factor(at.constant(centred, wide), element=None, is_unsigned=False, zero_points=none, known=centred)
    shape = shape_of(own)
    reading = quantized.centred(at, weight, AffineMap.identity(len(shape)))
    value = at.compute(reading.inputs, shape, wide, lambda *scalars: reading.read(scalars).to(wide))
    return Factor(value, element=None, is_unsigned=False, zero_points=none)


def _laid_out(at: Lowering, own: Factor, shapes: Sequence[Sequence[int]], order: Sequence[int]) -> Factor:
    """A factor under the first of two shapes, its axes in another order, under the second shape."""
    first, second = shapes
    if own.known is None:
        return own.at_value(at.reshape(at.transpose(at.reshape(own.value, first), order), second))
    known = np.ascontiguousarray(own.known.reshape(first).transpose(order).reshape(second))
    return own.at_value(at.constant(known, element_of(own.value)), known)


def _of_each_block(at: Lowering, x: Factor, w: Factor, scale: Array) -> SSAValue:
    """`f32(s_x * s_b) * f32(a_b)` for `x` `[…, M, K]`, `w` `[…, N, K]` and `scale` `[…, N]`, a batch for each block."""
    assert x.element is not None
    product = MatrixProduct(x, w)
    rank = len(product.shape)
    map_ = axes_map(rank, [*range(rank - 2), rank - 1])
    scales = np.asarray(accumulator_scale(x.element.scales.reshape(()), scale), np.float32)
    factor = quantized.parameter(at, scales, f32, map_)

    def body(accumulator: Scalar, *scalars: Scalar) -> Scalar:
        return factor.of(scalars, accumulator) * accumulator.to(f32)

    return product.build(at, f32, factor.inputs, body)


def _summed(at: Lowering, parts: SSAValue, order: Sequence[int]) -> SSAValue:
    """The f32 sum of `parts` over the axes that are not in `order`, that of the result, in ascending order from 0."""
    shape, rank = shape_of(parts), len(shape_of(parts))
    init = at.fill([shape[each] for each in order], f32, 0.0)

    def add(part: Scalar, so_far: Scalar) -> Scalar:
        return so_far + part

    part = Input(parts, AffineMap.identity(rank))
    return at.generic([part], [(init, axes_map(rank, order))], add)[0]


def _quantized(at: Lowering, total: Input, bias: SSAValue | None, channel_axis: int = 1) -> SSAValue:
    """The f32 totals, with a bias for each channel, in the type of the result."""
    result = at.op.results[0]
    element, shape = uniform_type(at, result), at.result_shape()
    identity = AffineMap.identity(len(shape))
    writing = quantized.quantizing(at, element, shape, identity, is_rounded=True)
    readings = [quantized.ScalarRead((total,), lambda scalars: scalars[0])]
    if bias is not None:
        readings.append(quantized.real(at, bias, axes_map(len(shape), [channel_axis])))

    def add(sum_: Scalar, *offset: Scalar) -> Scalar:
        return sum_.to(offset[0].type) + offset[0] if offset else sum_

    return quantized.compute(at, readings, writing, add)


def matrix_product(
    at: Lowering, x: Factor, weight: SSAValue, order: Sequence[int], bias: SSAValue | None = None
) -> SSAValue:
    """The product of `x` `[…, M, K]` and of weights whose axes are `[…, N, K]` in `order`, vectors as one row."""
    element, own = uniform_type(at, weight), _with_one_zero_point(at, weight)
    shape = shape_of(weight)
    columns = (1, *shape) if len(shape) == 1 else shape
    arranged = [columns[axis] for axis in order]
    *batches, rows, terms = shape_of(x.value)
    of_blocks = dict(zip(element.axes, element.block_sizes, strict=True))
    size = of_blocks.get(order[-1] - (len(columns) - len(shape)), terms)
    count = terms // size
    scales = _parameters(at, weight)[0].reshape(columns).transpose(order)[..., ::size]
    if math.prod(arranged[:-2]) == 1:
        batches, rows, arranged = [], math.prod(batches) * rows, arranged[-2:]
        scales = scales.reshape(arranged[0], count)
    own = own.at_value(at.reshape(own.value, columns), None if own.known is None else own.known.reshape(columns))
    rank = len(arranged)
    turned = (*range(rank - 2), rank - 1, rank - 2, rank)  # […, N, B, K] to […, B, N, K]
    split = [*arranged[:-1], count, size]
    in_order = _laid_out(at, own, (columns, arranged), order)
    w = _laid_out(at, in_order, (split, [split[axis] for axis in turned]), turned)
    by_block = [*batches, count, arranged[-2], size]
    if shape_of(w.value) != tuple(by_block):
        w = w.at_value(at.expand(w.value, by_block))
    rank = len(by_block) - 1
    turned = (*range(rank - 2), rank - 1, rank - 2, rank)
    data = at.transpose(at.reshape(x.value, [*batches, rows, count, size]), turned)
    parts = _of_each_block(at, x.at_value(data), w, scales.swapaxes(-1, -2))
    total = _summed(at, parts, [each for each in range(len(by_block)) if each != len(batches)])
    whole = at.reshape(total, at.result_shape())
    rank = len(at.result_shape())
    return _quantized(at, Input(whole, AffineMap.identity(rank)), bias, rank - 1)


# --- Convolutions -----------------------------------------------------------------------------------------------------


Reading = Callable[[int, AffineExpr, AffineExpr], AffineExpr]
"""Which element of padded data, along a spatial axis, an element of the kernel meets for one of the result."""


def _windows(
    at: Lowering, groups: int, padded: SSAValue, counts: Sequence[int], sizes: Sequence[int], reading: Reading
) -> SSAValue:
    """The windows of channels-last data, `[group, blocks…, N, windows…, terms of a block…]`.

    Blocks and their terms run along the channels of a group, then along the kernel.
    """
    spatial = len(sizes) - 1
    batch, *_, channels = shape_of(padded)
    shape = (groups, *counts, batch, *at.result_shape()[2:], *sizes)
    dims = [AffineExpr.dimension(axis) for axis in range(len(shape))]
    group, blocks, image = dims[0], dims[1 : 2 + spatial], dims[2 + spatial]
    places, terms = dims[3 + spatial : 3 + 2 * spatial], dims[3 + 2 * spatial :]
    channel = group * (channels // groups) + blocks[0] * sizes[0] + terms[0]
    along = [
        reading(axis, places[axis], blocks[1 + axis] * sizes[1 + axis] + terms[1 + axis]) for axis in range(spatial)
    ]
    map_ = AffineMap(len(shape), 0, (image, *along, channel))
    return at.compute([Input(padded, map_)], shape, element_of(padded), unchanged)


@dataclass(frozen=True)
class _Blocks:
    """How many blocks the weights have along each summed axis, the channels of a group first, and of which size."""

    counts: tuple[int, ...]
    sizes: tuple[int, ...]

    @staticmethod
    def of(element: UniformQuantizedType, axes: Sequence[int], terms: Sequence[int]) -> "_Blocks":
        """The blocks along the summed `axes`, which have so many `terms`."""
        known = dict(zip(element.axes, element.block_sizes, strict=True))
        sizes = tuple(known.get(axis, size) for axis, size in zip(axes, terms, strict=True))
        return _Blocks(tuple(size // block for size, block in zip(terms, sizes, strict=True)), sizes)

    def pairs(self, first: int = 0) -> list[int]:
        """Number and size, axis by axis."""
        return [each for pair in zip(self.counts[first:], self.sizes[first:], strict=True) for each in pair]


def _convolved(
    op: ops.WindowedContractionOp,
    at: Lowering,
    padded: Factor,
    blocks: _Blocks,
    weights: tuple[Sequence[int], Sequence[int]],
    reading: Reading,
) -> SSAValue:
    """The sums of windows of padded, channels-last data.

    `weights` is the shape of the weights with each axis split, and the order `[G, blocks…, O, terms of a block…]`.
    """
    own, (split, order) = _with_one_zero_point(at, op.weight), weights
    groups, results = op.group_count, at.result_shape()
    rows, count, size = results[0] * math.prod(results[2:]), math.prod(blocks.counts), math.prod(blocks.sizes)
    shape = (groups, count, results[1] // groups, size)
    w = _laid_out(at, own, (split, shape), order)
    scales = _parameters(at, op.weight)[0].reshape(split).transpose(order).reshape(shape)[..., 0]
    windows = _windows(at, groups, padded.value, blocks.counts, blocks.sizes, reading)
    x = padded.at_value(at.reshape(windows, (groups, count, rows, size)))
    total = _summed(at, _of_each_block(at, x, w, scales), (2, 0, 3))
    last = at.reshape(total, (results[0], *results[2:], results[1]))
    rank = len(results)
    return _quantized(at, Input(last, axes_map(rank, [0, *range(2, rank), 1])), op.bias)


def conv(op: ops.ConvOp, at: Lowering, padded: Factor) -> SSAValue:
    """The convolution of padded, channels-last data."""
    (channels, *terms), windows = shape_of(op.weight), op.windows
    blocks = _Blocks.of(uniform_type(at, op.weight), range(1, 1 + len(terms)), terms)
    split = [op.group_count, channels // op.group_count, *blocks.pairs()]  # [G, O, B_c, K_c, B_1, K_1, …]
    order = (0, *range(2, len(split), 2), 1, *range(3, len(split), 2))

    def reading(axis: int, place: AffineExpr, tap: AffineExpr) -> AffineExpr:
        return place * windows.strides[axis] + tap * windows.dilations[axis]

    return _convolved(op, at, padded, blocks, (split, order), reading)


def conv_transpose(op: ops.ConvTransposeOp, at: Lowering, spread: Factor) -> SSAValue:
    """The transposed convolution of channels-last data that has the gaps of the strides, and room for the kernel."""
    (inputs, outputs, *kernel), windows = shape_of(op.weight), op.windows
    terms = (inputs // op.group_count, *kernel)
    blocks = _Blocks.of(uniform_type(at, op.weight), (0, *range(2, 2 + len(kernel))), terms)
    split = [op.group_count, blocks.counts[0], blocks.sizes[0], outputs, *blocks.pairs(1)]  # [G, B_c, K_c, O, B_1, …]
    order = (0, 1, *range(4, len(split), 2), 3, 2, *range(5, len(split), 2))

    def reading(axis: int, place: AffineExpr, tap: AffineExpr) -> AffineExpr:
        return place + (tap * -1 + (kernel[axis] - 1)) * windows.dilations[axis]

    return _convolved(op, at, spread, blocks, (split, order), reading)
