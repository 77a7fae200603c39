"""Lowering of matrix products and convolutions to contractions, including block-wise weight scales."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import AnyFloat, IntegerAttr, IntegerType, TensorType, f32, f64, i32, i64
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from qmlir.arithmetic.arrays import Array, integer_limits
from qmlir.arithmetic.requantization import accumulator_scale
from qmlir.arithmetic.schemes import TwoLevelScales, are_powers_of_two, scale_type_of
from qmlir.dialects.kernel.contraction import ContractionOp, ConvOp, MatMulOp, zero_point_type
from qmlir.dialects.kernel.lowering import quantized
from qmlir.dialects.kernel.lowering.lowering import Input, Lowering, unchanged
from qmlir.dialects.kernel.lowering.scalars import ArithBuilder, Scalar
from qmlir.dialects.kernel.ops import YieldOp
from qmlir.dialects.nn.contraction import ops
from qmlir.dialects.nn.lowering import axes_map, exact_integers, uniform_type
from qmlir.dialects.quant.infer import broadcast_parameters
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.builtin_types import as_integer, element_of, shape_of
from qmlir.text.elements import dense_dtype, integers_of, stored_integers

# Sums of products as `kernel` contractions: two factors, an accumulator type, and a region for each sum.
#
# The accumulator is i32 if a bound from the stored types, and from constant weights, proves that it holds every sum,
# and i64 otherwise. Sums of plain integers that exceed it wrap, as in `nn`.

LARGEST = (1 << 31) - 1
"""The largest sum that fits in i32."""

_LARGEST_WIDE = (1 << 63) - 1


@dataclass(frozen=True)
class Factor:
    """An operand of a contraction: stored integers or plain numbers, in the layout that the kernel reads."""

    value: SSAValue
    element: UniformQuantizedType | None
    is_unsigned: bool
    zero_points: Array
    """The zero point of each output channel, or a common one."""
    known: Array | None = None
    """The stored elements in the layout of the kernel, if they are constant."""
    row_total: int | None = None
    """A bound on the sum of `|q - z|` over the terms of a row, if it is lower than the type tells."""

    @property
    def limits(self) -> tuple[int, int]:
        """The smallest and largest stored integer: among the elements of a constant, otherwise of the storage type.

        A quantized type with a narrower range is not relied on, since an argument may violate it.
        """
        integer = as_integer(element_of(self.value))
        assert integer is not None
        if self.known is not None and self.known.size:
            stored = stored_integers(self.known, integer, is_unsigned=self.is_unsigned)
            return int(stored.min()), int(stored.max())
        return integer_limits(integer.width.data, is_signed=not self.is_unsigned)

    def largest(self) -> int:
        """Returns an upper bound on `|q - z|`."""
        low, high = self.limits
        return max(abs(int(limit) - int(zero)) for limit in (low, high) for zero in np.unique(self.zero_points))

    def at_value(self, value: SSAValue, known: Array | None = None) -> "Factor":
        """Returns this factor for `value`, which holds its elements in another layout."""
        return replace(self, value=value, known=known)

    def at_constant(self, at: Lowering, known: Array) -> "Factor":
        """Returns this factor with its stored elements in another layout."""
        known = np.ascontiguousarray(known)
        return self.at_value(at.constant(known, element_of(self.value)), known)

    def reshaped(self, at: Lowering, shape: Sequence[int]) -> "Factor":
        """Returns this factor with another shape."""
        return self.at_value(at.reshape(self.value, shape), None if self.known is None else self.known.reshape(shape))


def factor(at: Lowering, value: SSAValue) -> Factor:
    """Returns an operand as a factor in its current layout."""
    element = quantized.uniform_element(at, value)
    zero_points = np.zeros(1, np.int64) if element is None else element.zero_points.reshape(-1)
    return Factor(at.value(value), element, at.signedness(value), zero_points, at.known(value))


def arranged(at: Lowering, own: Factor, order: Sequence[int]) -> Factor:
    """Returns a factor with its axes permuted; a constant is permuted at compile time."""
    if tuple(order) == tuple(range(len(order))):
        return own
    if own.known is None:
        return own.at_value(at.transpose(own.value, order))
    return own.at_constant(at, own.known.transpose(order))


def _zero_points(at: Lowering, per_channel: Array) -> SSAValue:
    """Returns a constant with the zero point of the weights of each output channel."""
    element = zero_point_type(per_channel.tolist())
    return at.constant(per_channel.astype(dense_dtype(element)), element)


@dataclass(frozen=True)
class Contraction(ABC):
    """A contraction of two factors; the last axis of its sums is the output channel."""

    x: Factor
    w: Factor

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The shape of the sums."""

    @property
    @abstractmethod
    def terms(self) -> int:
        """The number of products in each sum."""

    @abstractmethod
    def operation(self, *operands: Any, **named: Any) -> ContractionOp:
        """Creates the kernel operation on these operands."""

    @abstractmethod
    def wrapped(self, at: Lowering, wide: IntegerType) -> SSAValue:
        """Computes the sums as a structured operation that wraps to the width of `wide`."""

    @abstractmethod
    def rows(self, known: Array) -> Array:
        """Returns constant weights as `[…, channels, terms]`."""

    @property
    def channel_map(self) -> AffineMap:
        """Returns the map from the dimensions of the sums to the output channel."""
        return axes_map(len(self.shape), [len(self.shape) - 1])

    @cached_property
    def _largest_weights(self) -> int:
        """A bound of the sum of `|q - z|` over the weights of one output channel, each of which is read once."""
        if self.w.known is None:
            return self.w.largest() * self.terms
        rows = stored_integers(self.rows(self.w.known), element_of(self.w.value), is_unsigned=self.w.is_unsigned)
        zero_points = self.w.zero_points.reshape(-1, 1) if self.w.zero_points.size > 1 else self.w.zero_points
        moved = np.subtract(rows, zero_points, dtype=np.int64 if element_of(self.w.value) in (i32, i64) else np.int32)
        return int(np.abs(moved).sum(axis=-1, dtype=np.int64).max(initial=0))

    def largest(self) -> int:
        """Returns an upper bound on the absolute value of every sum."""
        largest = self.x.largest() * self._largest_weights
        return largest if self.x.row_total is None else min(largest, self.x.row_total * self.w.largest())

    def accumulator(self) -> IntegerType | AnyFloat:
        """Returns the type in which products are summed; integer sums are exact, or wrap in i64."""
        element = element_of(self.x.value)
        if isinstance(element, AnyFloat):
            return f64 if element == f64 else f32
        return i32 if self.largest() <= LARGEST else i64

    def build(
        self, at: Lowering, element: Attribute, epilogue: Sequence[Input], body: Callable[..., Scalar]
    ) -> SSAValue:
        """Builds the kernel; its region applies `body` to the sum and one element of each epilogue operand."""
        accumulator = self.accumulator()
        if isinstance(accumulator, IntegerType) and self.largest() > _LARGEST_WIDE:
            if self.x.element is not None:
                raise at.error(
                    f"cannot be compiled: sums of {self.terms} products up to {self.largest()} overflow 64 bits; "
                    "use types with fewer bits"
                )
            sums = Input(self.wrapped(at, i64), AffineMap.identity(len(self.shape)))
            return at.compute([sums, *epilogue], self.shape, element, body)
        block = Block(arg_types=[accumulator, *(element_of(each.value) for each in epilogue)])
        builder = ArithBuilder(Builder(InsertPoint.at_end(block)))
        flags = [False, *(each.unsigned for each in epilogue)]
        arguments = [Scalar(argument, builder, flag) for argument, flag in zip(block.args, flags, strict=True)]
        block.add_op(YieldOp(body(*arguments).value))
        first, per_channel = int(self.w.zero_points[0]), self.w.zero_points
        has_several = bool((per_channel != first).any())
        op = self.operation(
            self.x.value,
            self.w.value,
            Region(block),
            result_type=TensorType(element, self.shape),
            epilogue=[(each.value, each.map_) for each in epilogue],
            weight_zero_points=_zero_points(at, per_channel) if has_several else None,
            zero_points=(int(self.x.zero_points[0]), 0 if has_several else first),
            unsigned=(self.x.is_unsigned, self.w.is_unsigned),
        )
        if self.x.row_total is not None:
            op.input_total = IntegerAttr(self.x.row_total, i64)
        return at.insert(op)

    def _multiplied(
        self, at: Lowering, wide: IntegerType, shape: Sequence[int], maps: tuple[AffineMap, ...], w: SSAValue
    ) -> SSAValue:
        x_map, w_map, sum_map = maps
        inputs = [Input(self.x.value, x_map, self.x.is_unsigned), Input(w, w_map, self.w.is_unsigned)]

        def body(left: Scalar, right: Scalar, so_far: Scalar) -> Scalar:
            return so_far + left.to(wide) * right.to(wide)

        return at.generic(inputs, [(at.fill(shape, wide, 0), sum_map)], body)[0]


@dataclass(frozen=True)
class MatrixProduct(Contraction):
    """The product of `x` `[…, M, K]` and `w` `[…, N, K]`; the batch axes of `w` must be a prefix of those of `x`."""

    @property
    def shape(self) -> tuple[int, ...]:
        return (*shape_of(self.x.value)[:-1], shape_of(self.w.value)[-2])

    @property
    def terms(self) -> int:
        return shape_of(self.x.value)[-1]

    def operation(self, *operands: Any, **named: Any) -> ContractionOp:
        return MatMulOp(*operands, **named)

    def rows(self, known: Array) -> Array:
        return known

    def wrapped(self, at: Lowering, wide: IntegerType) -> SSAValue:
        rank = len(self.shape)
        x_map = axes_map(rank + 1, [*range(rank - 1), rank])
        w_map = axes_map(rank + 1, [*range(len(shape_of(self.w.value)) - 2), rank - 1, rank])
        maps = (x_map, w_map, axes_map(rank + 1, range(rank)))
        return self._multiplied(at, wide, self.shape, maps, self.w.value)


@dataclass(frozen=True)
class Convolution(Contraction):
    """A convolution of padded `x` `[N, spatial…, C]` with `w` `[O, taps…, C / groups]`.

    `counts` holds the number of windows along each spatial axis."""

    counts: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    groups: int

    @property
    def shape(self) -> tuple[int, ...]:
        return (shape_of(self.x.value)[0], *self.counts, shape_of(self.w.value)[0])

    @property
    def terms(self) -> int:
        return math.prod(shape_of(self.w.value)[1:])

    def operation(self, *operands: Any, **named: Any) -> ContractionOp:
        return ConvOp(*operands, **named, properties=ConvOp.windows(self.strides, self.dilations, self.groups))

    def rows(self, known: Array) -> Array:
        return known.reshape(known.shape[0], -1)

    def wrapped(self, at: Lowering, wide: IntegerType) -> SSAValue:
        """Computes the wrapped sums with the iterators `[N, windows…, group, channel, taps…, C / groups]`."""
        spatial, channels, *taps = len(self.counts), *shape_of(self.w.value)
        count = 4 + 2 * spatial
        dims = [AffineExpr.dimension(axis) for axis in range(count)]
        group, first_tap, term = 1 + spatial, 3 + spatial, count - 1
        positions = [
            dims[1 + axis] * self.strides[axis] + dims[first_tap + axis] * self.dilations[axis]
            for axis in range(spatial)
        ]
        channel = dims[group] * taps[-1] + dims[term] if self.groups > 1 else dims[term]
        x_map = AffineMap(count, 0, (dims[0], *positions, channel))
        w_map = axes_map(count, range(group, count))
        shape = (*self.shape[:-1], self.groups, channels // self.groups)
        w = at.reshape(self.w.value, (self.groups, channels // self.groups, *taps))
        sums = self._multiplied(at, wide, shape, (x_map, w_map, axes_map(count, range(first_tap))), w)
        return at.reshape(sums, self.shape)


def finish_plain(at: Lowering, found: Contraction, element: Attribute, biases: Sequence[Input] = ()) -> SSAValue:
    """Builds the sums of plain numbers, plus an optional bias: floats are rounded once to `element`, integers wrap."""

    def body(accumulator: Scalar, *scalars: Scalar) -> Scalar:
        total = accumulator + scalars[0].to(accumulator.type) if scalars else accumulator
        return total.to(element)

    return found.build(at, element, biases, body)


# Contractions with block-wise weight scales: the exact sum of each block, then an f32 sum over the blocks.
#
# Each block is a matrix product of a batch, converted to f32 by its own scale; blocks are summed in ascending order
# from 0, the bias is added last, and the total is quantized. A convolution first lays out its windows by blocks.


def _parameters(at: Lowering, weight: SSAValue) -> tuple[Array, Array]:
    """Returns the scale and the zero point of every weight."""
    shape = shape_of(weight)
    scales, zero_points = broadcast_parameters(uniform_type(at, weight), shape)
    return np.broadcast_to(scales, shape), np.broadcast_to(zero_points, shape)


def _with_one_zero_point(at: Lowering, weight: SSAValue) -> Factor:
    """Returns the weights in their own layout; if blocks have different zero points, as wider integers without them."""
    element, own, known = uniform_type(at, weight), at.value(weight), at.known(weight)
    zero_points = np.unique(element.zero_points)
    if zero_points.size == 1:
        return Factor(own, element, at.signedness(weight), zero_points, known)
    wide = IntegerType(16 if element.bits < 16 else 32 if element.bits < 32 else 64)
    none = np.zeros(1, np.int64)
    if known is not None:
        integers = integers_of(known, element_of(own), is_unsigned=at.signedness(weight))
        centered = (integers - _parameters(at, weight)[1]).astype(f"i{wide.bitwidth // 8}")
        return Factor(at.constant(centered, wide), None, False, none, centered)
    return Factor(exact_integers(at, weight, wide), element=None, is_unsigned=False, zero_points=none)


def _laid_out(at: Lowering, own: Factor, shapes: Sequence[Sequence[int]], order: Sequence[int]) -> Factor:
    """Reshapes a factor to the first of two shapes, permutes its axes, and reshapes it to the second shape."""
    first, second = shapes
    if own.known is None:
        return own.at_value(at.reshape(at.transpose(at.reshape(own.value, first), order), second))
    return own.at_constant(at, own.known.reshape(first).transpose(order).reshape(second))


def _has_short_scales(scales: Array, terms: int) -> bool:
    """Returns True if scales `[…, B, N]` of blocks of `terms` terms are held in less than 32 bits.

    Scales of the first channel tell if there are two levels.
    """
    first = scales.reshape(-1, *scales.shape[-2:])[0, :, :1]
    return scale_type_of(scales) != "f32" or TwoLevelScales.along(first, 0, terms) is not None


def _of_each_block(at: Lowering, x: Factor, w: Factor, scale: Array) -> SSAValue:
    """Computes `f32(s_x * s_b) * f32(a_b)` for `x` `[…, M, K]`, `w` `[…, N, K]` and `scale` `[…, N]`, a batch per
    block."""
    assert x.element is not None
    product = MatrixProduct(x, w)
    rank = len(product.shape)
    map_ = axes_map(rank, [*range(rank - 2), rank - 1])
    own = x.element.scales.reshape(())
    # Multiplying by the scale of x would take more bits for each scale.
    is_apart = not are_powers_of_two(own) and _has_short_scales(scale, shape_of(w.value)[-1])
    scales = np.asarray(scale if is_apart else accumulator_scale(own, scale), np.float32)
    factor = quantized.parameter(at, scales, f32, map_)

    def body(accumulator: Scalar, *scalars: Scalar) -> Scalar:
        found = factor.of(scalars, accumulator)
        return (found.constant(float(own)) * found if is_apart else found) * accumulator.to(f32)

    return product.build(at, f32, factor.inputs, body)


def _summed(at: Lowering, parts: SSAValue, order: Sequence[int]) -> SSAValue:
    """Returns the f32 sum of `parts` over the axes not in `order`, that of the result, in ascending order from 0."""
    shape, rank = shape_of(parts), len(shape_of(parts))
    init = at.fill([shape[each] for each in order], f32, 0.0), axes_map(rank, order)

    def add(part: Scalar, so_far: Scalar) -> Scalar:
        return so_far + part

    return at.generic([Input(parts, AffineMap.identity(rank))], [init], add)[0]


def _quantized(at: Lowering, total: Input, bias: SSAValue | None, channel_axis: int = 1) -> SSAValue:
    """Quantizes the f32 totals, plus a per-channel bias, to the type of the result."""
    shape = at.result_shape()
    element, identity = uniform_type(at, at.op.results[0]), AffineMap.identity(len(shape))
    writing = quantized.quantizing(at, element, shape, identity, is_rounded=True)
    readings = [quantized.ElementLoad((total,), lambda scalars: scalars[0])]
    if bias is not None:
        readings.append(quantized.real(at, bias, axes_map(len(shape), [channel_axis])))

    def add(sum_: Scalar, *offset: Scalar) -> Scalar:
        return sum_.to(offset[0].type) + offset[0] if offset else sum_

    return quantized.compute(at, readings, writing, add)


def matrix_product(
    at: Lowering, x: Factor, weight: SSAValue, order: Sequence[int], bias: SSAValue | None = None
) -> SSAValue:
    """Multiplies `x` `[…, M, K]` by `weight`, which is `[…, N, K]` after its axes are permuted by `order`.

    Vectors count as one row."""
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
    own = own.reshaped(at, columns)
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


OperandAccess = Callable[[int, AffineExpr, AffineExpr], AffineExpr]
"""Returns the index into padded data along a spatial axis, given the indices into the result and into the kernel."""


def _windows(
    at: Lowering, groups: int, padded: SSAValue, counts: Sequence[int], sizes: Sequence[int], reading: OperandAccess
) -> SSAValue:
    """Returns the windows of channels-last data, `[group, blocks…, N, windows…, terms of a block…]`.

    Blocks and their terms run along the channels of a group, then along the kernel.
    """
    spatial = len(sizes) - 1
    batch, *_, channels = shape_of(padded)
    shape = (groups, *counts, batch, *at.result_shape()[2:], *sizes)
    dims = [AffineExpr.dimension(axis) for axis in range(len(shape))]
    group, blocks, image = dims[0], dims[1 : 2 + spatial], dims[2 + spatial]
    positions, terms = dims[3 + spatial : 3 + 2 * spatial], dims[3 + 2 * spatial :]
    channel = group * (channels // groups) + blocks[0] * sizes[0] + terms[0]
    along = [
        reading(axis, positions[axis], blocks[1 + axis] * sizes[1 + axis] + terms[1 + axis]) for axis in range(spatial)
    ]
    map_ = AffineMap(len(shape), 0, (image, *along, channel))
    return at.compute([Input(padded, map_)], shape, element_of(padded), unchanged)


Split = tuple[Sequence[int], Sequence[int]]
"""The shape of weights with each axis split, and the order of the axes `[G, blocks…, O, terms of a block…]`."""


@dataclass(frozen=True)
class _Blocks:
    """The number and size of the blocks of weights along each summed axis, the channels of a group first."""

    counts: tuple[int, ...]
    sizes: tuple[int, ...]

    @staticmethod
    def of(element: UniformQuantizedType, axes: Sequence[int], terms: Sequence[int]) -> "_Blocks":
        """Returns the blocks along the summed `axes`, whose sizes are `terms`."""
        known = dict(zip(element.axes, element.block_sizes, strict=True))
        sizes = tuple(known.get(axis, size) for axis, size in zip(axes, terms, strict=True))
        return _Blocks(tuple(size // block for size, block in zip(terms, sizes, strict=True)), sizes)

    def pairs(self, first: int = 0) -> list[int]:
        """Returns the number and the size of the blocks along each axis."""
        return [each for pair in zip(self.counts[first:], self.sizes[first:], strict=True) for each in pair]


def _convolved(
    op: ops.WindowedContractionOp, at: Lowering, padded: Factor, blocks: _Blocks, weights: Split, reading: OperandAccess
) -> SSAValue:
    """Computes the sums of windows of padded, channels-last data."""
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
    """Lowers a convolution of channels-last data that is already padded."""
    (channels, *terms), windows = shape_of(op.weight), op.windows
    blocks = _Blocks.of(uniform_type(at, op.weight), range(1, 1 + len(terms)), terms)
    split = [op.group_count, channels // op.group_count, *blocks.pairs()]  # [G, O, B_c, K_c, B_1, K_1, …]
    order = (0, *range(2, len(split), 2), 1, *range(3, len(split), 2))

    def reading(axis: int, position: AffineExpr, tap: AffineExpr) -> AffineExpr:
        return position * windows.strides[axis] + tap * windows.dilations[axis]

    return _convolved(op, at, padded, blocks, (split, order), reading)


def conv_transpose(op: ops.ConvTransposeOp, at: Lowering, spread: Factor) -> SSAValue:
    """Lowers a transposed convolution of channels-last data, already dilated by the strides and padded for the
    kernel."""
    (inputs, outputs, *kernel), windows = shape_of(op.weight), op.windows
    terms = (inputs // op.group_count, *kernel)
    blocks = _Blocks.of(uniform_type(at, op.weight), (0, *range(2, 2 + len(kernel))), terms)
    split = [op.group_count, blocks.counts[0], blocks.sizes[0], outputs, *blocks.pairs(1)]  # [G, B_c, K_c, O, B_1, …]
    order = (0, 1, *range(4, len(split), 2), 3, 2, *range(5, len(split), 2))

    def reading(axis: int, position: AffineExpr, tap: AffineExpr) -> AffineExpr:
        return position + (tap * -1 + (kernel[axis] - 1)) * windows.dilations[axis]

    return _convolved(op, at, spread, blocks, (split, order), reading)
