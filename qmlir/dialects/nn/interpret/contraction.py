"""What matrix products and convolutions compute: sums of products through BLAS, integers exact.

f16 and bf16 are computed in f32 and rounded once. Integers wrap to their type as C's do: in f64 where a bound proves
that it holds every sum, otherwise in their own type.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.requantization import magnitude
from qmlir.dialects.nn.infer.windows import Windows, output_sizes
from qmlir.dialects.nn.interpret.precision import is_integral, widened
from qmlir.dialects.nn.interpret.windows import columns, places
from qmlir.dialects.nn.ops import contraction as ops
from qmlir.ir.builtin_types import element_of
from qmlir.text.elements import narrowed

COLUMNS_AT_ONCE = 2**24
"""Elements of windows laid out at a time, or those of one image where it has more; what keeps memory in bounds."""

EXACT_IN_F64 = 2**53
"""The bound below which f64 holds every integer."""


def summable(left: Array, right: Array, terms: int) -> tuple[Array, Array]:
    """The factors in the type in which sums of `terms` of their products are computed."""
    if is_integral(left) and magnitude(left) * magnitude(right) * terms < EXACT_IN_F64:
        return left.astype(np.float64), right.astype(np.float64)
    return widened(left), widened(right)


def settled(total: Array, result: SSAValue, dtype: np.dtype[Any]) -> Array:
    """A sum of products as elements of `result`, which `dtype` holds: rounded once, or wrapped."""
    if dtype.kind not in "iu":
        return total.astype(dtype, copy=False)
    integers = total.astype(np.int64) if total.dtype == np.float64 else total
    return narrowed(integers.astype(dtype, copy=False), element_of(result))


def _finished(total: Array, bias: Array | None, spatial: int, result: SSAValue, dtype: np.dtype[Any]) -> Array:
    """`total`, with the bias added in place."""
    if dtype.kind in "iu":  # a bias may lie beyond the bound of the products
        total = settled(total, result, dtype)
    if bias is not None:
        total += bias.reshape(-1, *(1,) * spatial).astype(total.dtype)
    return settled(total, result, dtype)


def _images_at_once(images: int, each: int) -> int:
    return max(1, min(images, COLUMNS_AT_ONCE // max(each, 1)))


def convolve(data: Array, weight: Array, windows: Windows, groups: int, counts: tuple[int, ...]) -> Array:
    """The correlation of each group of channels; the sum runs in the type of `data`.

    The windows are laid out as columns, image by image, and multiplied by the kernels. (Measured: for depthwise
    kernels too this is faster than a sum over shifted products.)
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
    """The transpose of `convolve` as a linear map: every element adds its kernel, weighted, to a result of `sizes`."""
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
        for place in places(windows, sizes, counts):
            result[(images, slice(None), *place.elements)] += spread[(*each, *place.tap, *place.windows)]
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


EVALUATORS: dict[type[Operation], Callable[..., tuple[Array, ...]]] = {
    ops.ConvOp: _conv,
    ops.ConvTransposeOp: _conv_transpose,
    ops.MatMulOp: _matmul,
    ops.FullyConnectedOp: _fully_connected,
}
