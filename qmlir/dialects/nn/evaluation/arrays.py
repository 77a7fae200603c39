"""The precision in which evaluators compute, windows over arrays, and contractions as matrix products of rows."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.contraction import ops
from qmlir.dialects.nn.result_shapes import Windows, output_sizes, taps
from qmlir.ir.builtin_types import DTYPES, element_of, shape_of
from qmlir.ir.limits import budget, over
from qmlir.text.elements import narrowed

# The precision in which evaluators compute, and the conversion of results to their element type.
#
# f32 and f64 values are computed in their own precision. Shorter floats are computed in f32 and rounded once, ties to
# even. Integers wrap around, also those narrower than a byte. Divisions by 0 and overflows have IEEE results.

Evaluator = Callable[..., tuple[Array, ...]]

SHORT_FLOATS = frozenset(np.dtype(each) for each in (np.float16, ml_dtypes.bfloat16, *DTYPES.values()))


def computing_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Returns the type in which values of `dtype` are computed: f32 for floats shorter than f32, otherwise `dtype`."""
    return np.dtype(np.float32) if dtype in SHORT_FLOATS else dtype


def widened(array: Array) -> Array:
    """Converts floats shorter than f32 to f32; other arrays are returned unchanged."""
    return array.astype(computing_dtype(array.dtype), copy=False)


def is_integral(array: Array) -> bool:
    """Returns whether `array` holds integers."""
    return array.dtype.kind in "iu"


def of_operation(function: Callable[..., Any]) -> Evaluator:
    """Returns the evaluator `function(op, *arrays)` of an operation whose result has the type of its operands."""

    def evaluator(op: Operation, *arrays: Array) -> tuple[Array]:
        dtype = arrays[0].dtype
        with np.errstate(all="ignore"):
            result = np.asarray(function(op, *(widened(array) for array in arrays))).astype(dtype, copy=False)
        return (narrowed(result, element_of(op.results[0])) if is_integral(result) else result,)

    return evaluator


def of_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adapts `function(*arrays)` to take the operation first, for operations whose properties are not needed."""

    def of_their_values(op: Operation, *arrays: Array) -> Any:
        return function(*arrays)

    return of_their_values


def of_question(function: Callable[..., Any]) -> Evaluator:
    """Returns the evaluator `function(op, *arrays)` of a predicate, whose result is i1 (0 and 1)."""

    def evaluator(op: Operation, *arrays: Array) -> tuple[Array]:
        with np.errstate(all="ignore"):
            return (np.asarray(function(op, *(widened(array) for array in arrays))).astype(np.int8),)

    return evaluator


# Windows over the spatial axes of `[N, C, …]` arrays: as a strided view, or as a slice for each kernel element.


def window_view(data: Array, windows: Windows, counts: tuple[int, ...], fill: Any) -> Array:
    """Returns a view `[N, C, *counts, *kernel]` of `data`, padded with `fill` as far as the windows extend."""
    pads = [(0, 0), (0, 0)]
    for axis, count in enumerate(counts):
        begin, end = windows.padding(axis)
        reach = (count - 1) * windows.strides[axis] + windows.extent(axis)
        pads.append((begin, max(end, reach - begin - data.shape[axis + 2])))
    padded_size = math.prod(size + sum(pad) for size, pad in zip(data.shape, pads, strict=True)) * data.itemsize
    if padded_size > budget("value-bytes"):
        raise InterpretationError(f"the size of the padded data in bytes is {over('value-bytes', padded_size)}")
    padded = np.pad(data, pads, constant_values=fill)
    spatial = tuple(range(2, data.ndim))
    extents = tuple(windows.extent(axis) for axis in range(len(counts)))
    view = np.lib.stride_tricks.sliding_window_view(padded, extents, axis=spatial)
    steps = tuple(
        slice(None, (count - 1) * stride + 1, stride) for count, stride in zip(counts, windows.strides, strict=True)
    )
    taps = tuple(slice(None, None, dilation) for dilation in windows.dilations)
    return view[(slice(None), slice(None), *steps, *taps)]


class KernelElement(NamedTuple):
    """A kernel element, with slices for the windows in which it covers data and for the covered data."""

    tap: tuple[int, ...]
    windows: tuple[slice, ...]
    elements: tuple[slice, ...]


def positions(windows: Windows, sizes: Sequence[int], counts: Sequence[int]) -> Iterator[KernelElement]:
    """Yields all kernel elements of `counts` windows over spatial axes of the given `sizes`, in row-major order."""
    along = (
        enumerate(taps(windows, axis, size, count))
        for axis, (size, count) in enumerate(zip(sizes, counts, strict=True))
    )
    for found in product(*along):
        yield KernelElement(
            tuple(tap for tap, _ in found),
            tuple(position.windows for _, position in found),
            tuple(position.elements for _, position in found),
        )


def columns(data: Array, windows: Windows, counts: tuple[int, ...]) -> Array:
    """Returns the data under each kernel element of each window, `[N, C, *kernel, *counts]`, and 0 in the padding.

    If each element of the data is one window, the result is a view of the data.
    """
    batch = (slice(None), slice(None))
    shape = (*data.shape[:2], *windows.kernel, *counts)
    if counts == data.shape[2:] and set(windows.kernel) == {1} and not any(windows.pads):
        return data.reshape(shape)
    result = np.zeros(shape, data.dtype)
    for position in positions(windows, data.shape[2:], counts):
        result[(*batch, *position.tap, *position.windows)] = data[(*batch, *position.elements)]
    return result


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


def _by_channel(
    op: ops.ConvOp | ops.FullyConnectedOp, groups: int, of_data: Callable[[Array], Array]
) -> ContractionRows:
    """Returns the rows for weights whose first axis is the channels, group by group."""
    shape = shape_of(op.weight)
    return ContractionRows(
        op.weight,
        op.data,
        groups,
        of_data,
        lambda given: given.reshape(groups, shape[0] // groups, math.prod(shape[1:])),
        lambda rows: rows.reshape(shape),
    )


def _conv(op: ops.ConvOp) -> ContractionRows:
    groups, terms = op.group_count, math.prod(shape_of(op.weight)[1:])

    def of_data(data: Array) -> Array:
        laid_out = columns(data, op.windows, output_sizes(data.shape[2:], op.windows))
        by_group = laid_out.reshape(len(data), groups, terms, -1)
        return by_group.transpose(1, 0, 3, 2).reshape(groups, -1, terms)

    return _by_channel(op, groups, of_data)


def _conv_transpose(op: ops.ConvTransposeOp) -> ContractionRows:
    groups, shape = op.group_count, shape_of(op.weight)
    taken, given, kernel = shape[0] // groups, shape[1], shape[2:]
    terms = taken * math.prod(kernel)

    def of_data(data: Array) -> Array:
        counts, sizes = data.shape[2:], op.output_sizes(data.shape[2:], op.windows)
        laid_out = np.zeros((*data.shape[:2], *kernel, *sizes), data.dtype)
        for position in positions(op.windows, sizes, counts):
            laid_out[(slice(None), slice(None), *position.tap, *position.elements)] = data[(..., *position.windows)]
        by_group = laid_out.reshape(len(data), groups, terms, -1)
        return by_group.transpose(1, 0, 3, 2).reshape(groups, -1, terms)

    def of_weights(weights: Array) -> Array:
        return weights.reshape(groups, taken, given, -1).swapaxes(1, 2).reshape(groups, given, terms)

    def to_weights(rows: Array) -> Array:
        return rows.reshape(groups, given, taken, -1).swapaxes(1, 2).reshape(shape)

    return ContractionRows(op.weight, op.data, groups, of_data, of_weights, to_weights)


def _fully_connected(op: ops.FullyConnectedOp) -> ContractionRows:
    return _by_channel(op, 1, lambda data: data.reshape(1, -1, data.shape[-1]))


def _matmul(op: ops.MatMulOp) -> ContractionRows | None:
    shape = shape_of(op.rhs)
    if len(shape) != 2:
        return None

    def turned(given: Array) -> Array:
        return given if op.is_rhs_transposed else given.swapaxes(-1, -2)

    return ContractionRows(
        op.rhs,
        op.lhs,
        1,
        lambda data: data.reshape(1, -1, data.shape[-1]),
        lambda given: turned(given)[None],
        lambda rows: turned(rows[0]),
    )


_ROWS: Mapping[type[Operation], Callable[..., ContractionRows | None]] = {
    ops.ConvOp: _conv,
    ops.ConvTransposeOp: _conv_transpose,
    ops.FullyConnectedOp: _fully_connected,
    ops.MatMulOp: _matmul,
}


def rows_of(op: Operation) -> ContractionRows | None:
    """Returns `op` as matrix products of rows.

    Returns `None` if `op` is not a contraction, or if it multiplies stacks of matrices.
    """
    made = _ROWS.get(type(op))
    return None if made is None else made(op)
