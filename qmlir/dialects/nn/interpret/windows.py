"""Windows over the spatial axes of `[N, C, …]` arrays: as a strided view, or as a slice for each kernel element."""

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.infer.windows import Windows, taps
from qmlir.ir.budgets import budget, over


def window_view(data: Array, windows: Windows, counts: tuple[int, ...], fill: Any) -> Array:
    """A view `[N, C, *counts, *kernel]` of `data`, padded with `fill` as far as the windows reach."""
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
    """A kernel element, the windows in which it falls on the data, and the elements there; for all spatial axes."""

    tap: tuple[int, ...]
    windows: tuple[slice, ...]
    elements: tuple[slice, ...]


def places(windows: Windows, sizes: Sequence[int], counts: Sequence[int]) -> Iterator[KernelElement]:
    """Every kernel element of `counts` windows over spatial axes of `sizes`, in row-major order."""
    along = (
        enumerate(taps(windows, axis, size, count))
        for axis, (size, count) in enumerate(zip(sizes, counts, strict=True))
    )
    for found in product(*along):
        yield KernelElement(
            tuple(tap for tap, _ in found),
            tuple(place.windows for _, place in found),
            tuple(place.elements for _, place in found),
        )


def columns(data: Array, windows: Windows, counts: tuple[int, ...]) -> Array:
    """The element under each kernel element of each window, `[N, C, *kernel, *counts]`, 0 where it falls on padding.

    Windows of one element that stand side by side are the data itself: a view.
    """
    batch = (slice(None), slice(None))
    shape = (*data.shape[:2], *windows.kernel, *counts)
    if counts == data.shape[2:] and set(windows.kernel) == {1} and not any(windows.pads):
        return data.reshape(shape)
    result = np.zeros(shape, data.dtype)
    for place in places(windows, data.shape[2:], counts):
        result[(*batch, *place.tap, *place.windows)] = data[(*batch, *place.elements)]
    return result
