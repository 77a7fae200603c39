"""Evaluation of contractions, on floats and on quantized values."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation, SSAValue

from qmlir.arithmetic.arrays import Array, as_integers, exact_matmul, magnitude, sum_dtype
from qmlir.arithmetic.requantization import accumulator_scale, to_f32
from qmlir.arithmetic.requantization import widened as widened_integers
from qmlir.dialects.nn import evaluation
from qmlir.dialects.nn.contraction import ops
from qmlir.dialects.nn.evaluation import (
    Centered,
    centered,
    columns,
    has_blocks,
    is_integral,
    positions,
    rescaled,
    rescaling,
    uniform_of,
)
from qmlir.dialects.nn.requantize import product_scale
from qmlir.dialects.nn.result_shapes import Windows, output_sizes
from qmlir.dialects.quant.evaluate import dequantize, quantize
from qmlir.dialects.quant.infer import parameters_by_rows
from qmlir.dialects.quant.types import Granularity, storage_limits
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.text.elements import narrowed

# Matrix products and convolutions: sums of products through BLAS, with exact integers.
#
# f16 and bf16 are computed in f32 and rounded once. Integers wrap to their type as in C: they are computed in f64 if a
# bound proves that it holds every sum, otherwise in their own type.

COLUMNS_AT_ONCE = 2**24
"""The number of window elements that are laid out at a time (at least one sample), which bounds memory use."""

EXACT_IN_F64 = 2**53
"""f64 represents every integer below this bound."""


def summable(left: Array, right: Array, terms: int) -> tuple[Array, Array]:
    """Converts both factors to the type in which sums of `terms` products are computed."""
    if is_integral(left) and magnitude(left) * magnitude(right) * terms < EXACT_IN_F64:
        return left.astype(np.float64), right.astype(np.float64)
    return evaluation.widened(left), evaluation.widened(right)


def settled(total: Array, result: SSAValue, dtype: np.dtype[Any]) -> Array:
    """Converts sums of products to elements of `result`, stored as `dtype`: floats are rounded once, integers wrap."""
    if dtype.kind not in "iu":
        return total.astype(dtype, copy=False)
    integers = total.astype(np.int64) if total.dtype == np.float64 else total
    return narrowed(integers.astype(dtype, copy=False), element_of(result))


def _finished(total: Array, bias: Array | None, spatial: int, result: SSAValue, dtype: np.dtype[Any]) -> Array:
    """Adds the bias to `total` in place, and converts the sums to result elements."""
    if dtype.kind in "iu":  # a bias may lie beyond the bound of the products
        total = settled(total, result, dtype)
    if bias is not None:
        total += bias.reshape(-1, *(1,) * spatial).astype(total.dtype)
    return settled(total, result, dtype)


def _images_at_once(images: int, each: int) -> int:
    return max(1, min(images, COLUMNS_AT_ONCE // max(each, 1)))


def convolve(data: Array, weight: Array, windows: Windows, groups: int, counts: tuple[int, ...]) -> Array:
    """Computes the cross-correlation of each group of channels; sums use the type of `data`.

    The windows are laid out as columns, sample by sample, and multiplied by the kernels. In measurements, this was
    faster than a sum over shifted products, even for depthwise kernels.
    """
    batch, channels = data.shape[:2]
    outputs = weight.shape[0]
    terms = math.prod(weight.shape[1:])
    kernels = weight.reshape(groups, outputs // groups, terms)
    result = np.empty((batch, groups, outputs // groups, math.prod(counts)), data.dtype)
    step = _images_at_once(batch, channels * math.prod(windows.kernel) * math.prod(counts))
    for first in range(0, batch, step):
        images = slice(first, min(first + step, batch))
        laid_out = columns(data[images], windows, counts)
        laid_out = laid_out.reshape(len(laid_out), groups, terms, math.prod(counts))
        np.matmul(kernels, laid_out, out=result[images])
    return result.reshape(batch, outputs, *counts)


def convolve_transposed(data: Array, weight: Array, windows: Windows, groups: int, sizes: tuple[int, ...]) -> Array:
    """Computes the transpose of `convolve` as a linear map: each element adds its weighted kernel to a result of
    `sizes`."""
    batch, channels = data.shape[:2]
    counts = data.shape[2:]
    outputs, taps = weight.shape[1], math.prod(weight.shape[2:])
    kernels = weight.reshape(groups, channels // groups, outputs * taps).swapaxes(1, 2)
    result = np.zeros((batch, groups * outputs, *sizes), data.dtype)
    step = _images_at_once(batch, groups * outputs * taps * math.prod(counts))
    each = (slice(None), slice(None))
    for first in range(0, batch, step):
        images = slice(first, min(first + step, batch))
        flat = data[images].reshape(images.stop - first, groups, channels // groups, math.prod(counts))
        spread = np.matmul(kernels, flat).reshape(len(flat), groups * outputs, *windows.kernel, *counts)
        for position in positions(windows, sizes, counts):
            result[(images, slice(None), *position.elements)] += spread[(*each, *position.tap, *position.windows)]
    return result


def _conv(op: ops.ConvOp, data: Array, weight: Array, bias: Array | None) -> tuple[Array]:
    windows = op.windows_of(weight.shape[2:])
    counts = output_sizes(data.shape[2:], windows)
    left, right = summable(data, weight, math.prod(weight.shape[1:]))
    total = convolve(left, right, windows, op.group_count, counts)
    return (_finished(total, bias, len(counts), op.result, data.dtype),)


def _conv_transpose(op: ops.ConvTransposeOp, data: Array, weight: Array, bias: Array | None) -> tuple[Array]:
    windows = op.windows_of(weight.shape[2:])
    sizes = op.output_sizes(data.shape[2:], windows)
    left, right = summable(data, weight, weight.shape[0] * math.prod(weight.shape[2:]))
    total = convolve_transposed(left, right, windows, op.group_count, sizes)
    return (_finished(total, bias, len(sizes), op.result, data.dtype),)


def _matmul(op: ops.MatMulOp, lhs: Array, rhs: Array) -> tuple[Array]:
    left, right = summable(lhs, rhs, lhs.shape[-1])
    product = np.matmul(left, np.swapaxes(right, -1, -2) if op.is_rhs_transposed else right)
    return (settled(np.asarray(product), op.result, lhs.dtype),)


def _fully_connected(op: ops.FullyConnectedOp, data: Array, weight: Array, bias: Array | None) -> tuple[Array]:
    left, right = summable(data, weight, weight.shape[1])
    return (_finished(left @ right.T, bias, 0, op.result, data.dtype),)


# Einstein sums: f16 and bf16 in f32, rounded once; integers wrap.


def _einsum(op: ops.EinsumOp, arrays: tuple[Array, ...]) -> tuple[Array]:
    equation = op.parsed
    equation.shape([array.shape for array in arrays])
    total = np.asarray(np.einsum(str(equation), *map(evaluation.widened, arrays), optimize=len(arrays) > 1))
    result = total.astype(arrays[0].dtype)  # a copy, since NumPy returns a view if possible
    return (narrowed(result, element_of(op.result)) if is_integral(result) else result,)


EVALUATORS: dict[type[Operation], Callable[..., tuple[Array, ...]]] = {
    ops.ConvOp: _conv,
    ops.ConvTransposeOp: _conv_transpose,
    ops.MatMulOp: _matmul,
    ops.FullyConnectedOp: _fully_connected,
    ops.EinsumOp: _einsum,
}


# Quantized contractions: exact integer sums of `(qx - zx)(qw - zw)`, through BLAS only if a bound proves that
# exact.
#
# Convolutions become matrix products of the windows, laid out as rows, with the kernels. Block-wise weights have no
# integer accumulator: their blocks are summed in f32, in an order that is part of the semantics.

Result = tuple[Array] | None


def _sum_of_blocks(left: Array, right: Array, scale: Array, blocks: Array) -> npt.NDArray[np.float32]:
    """Returns the f32 sum, in ascending order, of the exact sums of blocks.

    `left` is `[…, M, K]`, `right` and `scale` are `[…, K, N]`, `blocks` numbers the block of each of the K terms.
    """
    total = np.zeros((), np.float32)
    for block in np.unique(blocks):
        (positions,) = np.nonzero(blocks == block)
        partial = to_f32(exact_matmul(left[..., positions], right[..., positions, :]))
        total = total + scale[..., positions[:1], :] * partial
    return total


@dataclass(frozen=True)
class _Product:
    """A contraction as a matrix product of centered integers `left` `[…, M, K]` and `right` `[…, K, N]`.

    `scale` is `f32(s_x * s_w)` in a shape that broadcasts to `right`; `blocks` numbers the block of each of the K
    terms if the weights have blocks. `arrange` converts `[…, M, N]` to the layout of the result.
    """

    left: Array
    right: Array
    scale: npt.NDArray[np.float32]
    blocks: Array | None
    arrange: Callable[[Array], Array]

    def quantized(self, op: ops.ContractionOp, bias: Array | None = None) -> Result:
        """Returns the stored result; `bias` broadcasts to it, and is f32 for block-wise weights, otherwise integers."""
        if self.blocks is not None:
            total = self.arrange(_sum_of_blocks(self.left, self.right, self.scale, self.blocks))
            return (quantize(total if bias is None else total + bias, uniform_of(op.results[0])),)
        if self.scale.ndim and self.scale.shape[-2] != 1:
            return None
        product = exact_matmul(self.left, self.right)
        accumulator, scale = self.arrange(product), self.arrange(np.broadcast_to(self.scale, product.shape))
        return _rescaled(op, accumulator, scale, bias)


def _rescaled(op: ops.ContractionOp, accumulator: Array, scale: Array, bias: Array | None) -> Result:
    """Adds the integers of a bias to exact sums, and returns the stored result."""
    if bias is not None:
        integers = bias.astype(np.int64)
        accumulator = widened_integers(accumulator, magnitude(accumulator) + magnitude(integers)) + integers
    return (rescaled(op, accumulator, scale),)


def _operands(x: Centered, w: Centered, terms: int) -> tuple[Array, Array]:
    dtype = sum_dtype(magnitude(x.integers), magnitude(w.integers), terms)
    return x.integers.astype(dtype), w.integers.astype(dtype)


def _blocks(weight: SSAValue, stored: Array, axes: Sequence[int]) -> Array | None:
    """Returns the index of the block, in row-major order, of each weight along the flattened summed `axes`."""
    if not has_blocks(weight):
        return None
    return ops.block_numbers(uniform_of(weight), {axis: stored.shape[axis] for axis in axes}).reshape(-1)


def _bias(op: ops.BiasedContractionOp, bias: Array | None, spatial: int) -> Array | None:
    """Returns the bias in a shape that broadcasts to the result: as integers, or as f32 if the weights have blocks."""
    if bias is None or op.bias is None:
        return None
    values = dequantize(bias, uniform_of(op.bias)) if has_blocks(op.weight) else bias
    return values.reshape(-1, *(1,) * spatial)


_BLOCKS_AT_ONCE = 1 << 21
"""The number of block-wise weights of a matrix that are converted at a time: products of fewer channels are slow."""


def _sums_by_blocks(data: SSAValue, stored: Array, weight: SSAValue, held: Array, *, transposed: bool) -> Array:
    """Returns the f32 sums of `_sum_of_blocks` for a matrix of weights, `[channels, terms]` if `transposed`."""
    x, element, summed = centered(data, stored), uniform_of(weight), int(transposed)
    blocks = dict(zip(element.axes, element.block_sizes, strict=True))
    size = blocks[summed] if summed in blocks else held.shape[summed]
    (low, high), points = storage_limits(element.storage), element.zero_points
    largest = max(high - int(points.min()), int(points.max()) - low)
    dtype = sum_dtype(magnitude(x.integers), largest, size)
    left = x.integers.astype(dtype)
    total = np.zeros((*left.shape[:-1], held.shape[1 - summed]), np.float32)
    at_once = _BLOCKS_AT_ONCE if transposed or 0 in element.axes else held.size  # slabs don't divide blocks
    for rows, scales, zero_points in parameters_by_rows(element, held.shape, at_once):
        right = (held[rows].astype(np.int64) - zero_points).astype(dtype)
        steps = accumulator_scale(x.scale, scales)
        own, sums = left[..., rows], total
        if transposed:
            right, steps, own, sums = right.T, steps.T, left, total[..., rows]
        for first in range(0, len(right), size):
            terms = slice(first, first + size)
            sums += steps[first] * to_f32(exact_matmul(own[..., terms], right[terms]))
    return total


def matmul_by(op: ops.MatMulOp, rhs: Array, scale: Array, reach: int) -> Callable[[Array], Result]:
    """Returns the quantized product with `rhs` as a function of the integers `q - z` of `lhs`, of magnitude `reach`.

    `scale` holds the scales of `lhs`.
    """
    w = centered(op.rhs, rhs)
    right, scale = w.integers, product_scale(op, scale, w.scale)
    dropped = [-2] if len(shape_of(op.lhs)) == 1 else []
    if right.ndim == 1:
        right, scale = right[:, None], scale[:, None] if scale.ndim else scale
        dropped.append(-1)
    if op.is_rhs_transposed:
        right, scale = right.swapaxes(-1, -2), scale.swapaxes(-1, -2) if scale.ndim else scale
    summed = rhs.ndim - 1 if op.is_rhs_transposed or rhs.ndim == 1 else rhs.ndim - 2
    blocks = _blocks(op.rhs, rhs, (summed,))
    right = right.astype(sum_dtype(reach, magnitude(right), right.shape[-2]))

    def arrange(product: Array) -> Array:
        return product.squeeze(tuple(dropped))

    is_one_sum = blocks is None and not has_blocks(op.result) and (not scale.ndim or scale.shape[-2] == 1)
    ones = (1,) * len(shape_of(op.result))
    rescale = rescaling(op, ones, arrange(scale) if scale.ndim else scale) if is_one_sum else None

    def multiplied(integers: Array) -> Result:
        left = integers.astype(right.dtype)
        left = left[None, :] if left.ndim == 1 else left
        if rescale is not None:
            return (rescale(arrange(exact_matmul(left, right))),)
        return _Product(left, right, scale, blocks, arrange).quantized(op)

    return multiplied


def _quantized_matmul(op: ops.MatMulOp, lhs: Array, rhs: Array) -> Result:
    if rhs.ndim == 2 and has_blocks(op.rhs):
        total = _sums_by_blocks(op.lhs, lhs, op.rhs, rhs, transposed=op.is_rhs_transposed)
        return (quantize(total, uniform_of(op.result)),)
    x = centered(op.lhs, lhs)
    return matmul_by(op, rhs, x.scale, magnitude(x.integers))(x.integers)


def _quantized_fully_connected(op: ops.FullyConnectedOp, data: Array, weight: Array, bias: Array | None) -> Result:
    added = _bias(op, bias, 0)
    if has_blocks(op.weight):
        total = _sums_by_blocks(op.data, data, op.weight, weight, transposed=True)
        return (quantize(total if added is None else total + added, uniform_of(op.result)),)
    x, w = centered(op.data, data), centered(op.weight, weight)
    left, right = _operands(x, w, data.shape[-1])
    product = _Product(left, right.T, product_scale(op, x.scale, w.scale).T, None, lambda product: product)
    return product.quantized(op, added)


def _columns(data: Array, windows: Windows, groups: int, counts: tuple[int, ...]) -> Array:
    """Returns the windows as rows: `[groups, N * windows, C / groups * taps]`, padded with 0."""
    batch, channels = data.shape[:2]
    spatial = len(counts)
    view = evaluation.window_view(data, windows, counts, 0)
    view = view.reshape(batch, groups, channels // groups, *counts, *windows.kernel)
    order = (1, 0, *range(3, 3 + spatial), 2, *range(3 + spatial, 3 + 2 * spatial))
    terms = channels // groups * math.prod(windows.kernel)
    return view.transpose(order).reshape(groups, batch * math.prod(counts), terms)


def _quantized_conv(op: ops.ConvOp, data: Array, weight: Array, bias: Array | None) -> Result:
    x, w = centered(op.data, data), centered(op.weight, weight)
    groups, windows = op.group_count, op.windows_of(weight.shape[2:])
    counts = output_sizes(data.shape[2:], windows)
    batch, rows, terms = data.shape[0], weight.shape[0] // groups, math.prod(weight.shape[1:])
    left, right = _operands(x, w, terms)
    scale = product_scale(op, x.scale, w.scale)
    if scale.ndim:
        scale = scale.reshape(groups, rows, -1).swapaxes(1, 2)

    def arrange(product: Array) -> Array:
        moved = product.reshape(groups, batch, *counts, rows)
        return np.moveaxis(moved, (0, -1), (1, 2)).reshape(batch, groups * rows, *counts)

    product = _Product(
        _columns(left, windows, groups, counts),
        right.reshape(groups, rows, terms).swapaxes(1, 2),
        scale,
        _blocks(op.weight, weight, range(1, weight.ndim)),
        arrange,
    )
    return product.quantized(op, _bias(op, bias, len(counts)))


def _quantized_conv_transpose(op: ops.ConvTransposeOp, data: Array, weight: Array, bias: Array | None) -> Result:
    x, w = centered(op.data, data), centered(op.weight, weight)
    windows, groups, spatial = op.windows_of(weight.shape[2:]), op.group_count, data.ndim - 2
    left, right = _operands(x, w, weight.shape[0] // groups * math.prod(weight.shape[2:]))
    sizes = op.output_sizes(data.shape[2:], windows)
    element = uniform_of(op.weight)
    if element.granularity is Granularity.BLOCK:
        numbers, own = op.block_numbers(element), op.by_output(accumulator_scale(x.scale, w.scale))
        rows, total = op.by_output(numbers)[0], np.zeros((), np.float32)
        for block in np.unique(numbers):
            part = np.where(numbers == block, right, np.zeros((), right.dtype))
            scale = own[:, np.argmax(rows == block)].reshape(-1, *(1,) * spatial)
            total = total + scale * to_f32(as_integers(convolve_transposed(left, part, windows, groups, sizes)))
        bias = _bias(op, bias, spatial)
        return (quantize(total if bias is None else total + bias, uniform_of(op.result)),)
    accumulator = as_integers(convolve_transposed(left, right, windows, groups, sizes))
    scale = op.of_channels(product_scale(op, x.scale, w.scale)).reshape(-1, *(1,) * spatial)
    return _rescaled(op, accumulator, scale, _bias(op, bias, spatial))


def _quantized_einsum(op: ops.EinsumOp, arrays: tuple[Array, ...]) -> Result:
    """Computes the exact sum of the products of one or two operands."""
    factors = [centered(value, stored) for value, stored in zip(op.inputs, arrays, strict=True)]
    equation, scales = op.parsed, [factor.scale for factor in factors]
    equation.shape([array.shape for array in arrays])
    bound = math.prod(magnitude(factor.integers) for factor in factors) * math.prod(array.size for array in arrays)
    total = np.asarray(np.einsum(str(equation), *(widened_integers(factor.integers, bound) for factor in factors)))
    scale = accumulator_scale(*scales) if len(scales) > 1 else scales[0]
    return (rescaled(op, total, scale),)


QUANTIZED: dict[type[Operation], Callable[..., Result]] = {
    ops.EinsumOp: _quantized_einsum,
    ops.MatMulOp: _quantized_matmul,
    ops.FullyConnectedOp: _quantized_fully_connected,
    ops.ConvOp: _quantized_conv,
    ops.ConvTransposeOp: _quantized_conv_transpose,
}


# Contractions as matrix products: each row of the data is multiplied by one row of weights per output channel.
#
# The rows of a convolution are its windows. A row consists of the terms of one sum, in the order of the weights.
# Channel groups are separate products.


@dataclass(frozen=True)
class ContractionRows:
    """A contraction with constant weights, viewed as one matrix product for each of `groups` channel groups."""

    weight: SSAValue
    data: SSAValue
    groups: int
    of_data: Callable[[Array], Array]
    """Converts the data to `[groups, rows, terms]`, with 0 where a window extends beyond the data."""

    of_weights: Callable[[Array], Array]
    """Converts an array of the weights' shape to `[groups, channels, terms]`."""

    to_weights: Callable[[Array], Array]
    """Converts an array `[groups, channels, terms]` back to the weights' shape."""


def _as_rows(data: Array) -> Array:
    return data.reshape(1, -1, data.shape[-1])


def _by_channel(
    op: ops.ConvOp | ops.FullyConnectedOp, groups: int, of_data: Callable[[Array], Array]
) -> ContractionRows:
    """Returns the rows for weights whose first axis is the channels, group by group."""
    shape = shape_of(op.weight)
    split = groups, shape[0] // groups, math.prod(shape[1:])
    return ContractionRows(
        op.weight, op.data, groups, of_data, lambda given: given.reshape(split), lambda rows: rows.reshape(shape)
    )


def _rows_of_transposed(op: ops.ConvTransposeOp) -> ContractionRows:
    groups, shape = op.group_count, shape_of(op.weight)
    taken, given, kernel = shape[0] // groups, shape[1], shape[2:]
    terms = taken * math.prod(kernel)

    def of_data(data: Array) -> Array:
        counts, sizes = data.shape[2:], op.output_sizes(data.shape[2:], op.windows)
        laid_out = np.zeros((*data.shape[:2], *kernel, *sizes), data.dtype)
        for position in positions(op.windows, sizes, counts):
            laid_out[(slice(None), slice(None), *position.tap, *position.elements)] = data[(..., *position.windows)]
        return laid_out.reshape(len(laid_out), groups, terms, -1).transpose(1, 0, 3, 2).reshape(groups, -1, terms)

    def of_weights(weights: Array) -> Array:
        return weights.reshape(groups, taken, given, -1).swapaxes(1, 2).reshape(groups, given, terms)

    def to_weights(rows: Array) -> Array:
        return rows.reshape(groups, given, taken, -1).swapaxes(1, 2).reshape(shape)

    return ContractionRows(op.weight, op.data, groups, of_data, of_weights, to_weights)


def rows_of(op: Operation) -> ContractionRows | None:
    """Returns `op` as matrix products of rows.

    Returns `None` if `op` is not a contraction, or if it multiplies stacks of matrices.
    """
    match op:
        case ops.ConvOp():
            windows, groups = op.windows, op.group_count

            def windows_of(data: Array) -> Array:
                return _columns(data, windows, groups, output_sizes(data.shape[2:], windows))

            return _by_channel(op, groups, windows_of)
        case ops.ConvTransposeOp():
            return _rows_of_transposed(op)
        case ops.FullyConnectedOp():
            return _by_channel(op, 1, _as_rows)
        case ops.MatMulOp() if len(shape_of(op.rhs)) == 2:

            def turned(given: Array) -> Array:
                return given if op.is_rhs_transposed else given.swapaxes(-1, -2)

            return ContractionRows(
                op.rhs, op.lhs, 1, _as_rows, lambda given: turned(given)[None], lambda rows: turned(rows[0])
            )
        case _:
            return None
