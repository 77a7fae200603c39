"""Evaluation of resizing, axis by axis: each new element is a weighted sum of old elements.

Coordinates are computed in f32, in the order of operations of the ONNX specification, because this order decides ties.
Weights are computed in f64. Sums use f32 for f16, bf16 and small integers, f64 for other integers, and otherwise the
type of the data. Integer results are rounded half to even and saturate.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.evaluation import computing_dtype
from qmlir.dialects.nn.resizing import ops
from qmlir.dialects.nn.resizing.ops import Resized
from qmlir.ir.builtin_types import as_integer, element_of

Floats = npt.NDArray[np.floating[Any]]


class Axis(NamedTuple):
    """A resized axis: its old size, the resize, and the sampled interval, which is `[0, 1]` without a crop."""

    length: int
    to: Resized
    scale: np.float32
    start: np.float32
    end: np.float32

    @property
    def is_whole(self) -> bool:
        """Whether the axis stays unchanged."""
        return self.scale == 1 and self.to.size == self.length and (self.start, self.end) == (0, 1)


def _half_pixel(x: Floats, axis: Axis) -> Floats:
    return (x + 0.5) / axis.scale - 0.5


def _half_pixel_symmetric(x: Floats, axis: Axis) -> Floats:
    adjustment = axis.to.size / (axis.scale * axis.length)
    return axis.length / 2 * (1 - adjustment) + _half_pixel(x, axis)


def _align_corners(x: Floats, axis: Axis) -> Floats:
    # The width that the scale implies, which may exceed the number of elements.
    width = axis.scale * axis.length
    return x * (axis.length - 1) / (width - 1) if axis.to.size > 1 else np.zeros_like(x)


def _tf_crop_and_resize(x: Floats, axis: Axis) -> Floats:
    last = axis.length - 1
    if axis.to.size <= 1:
        return np.full_like(x, 0.5 * (axis.start + axis.end) * last)
    return axis.start * last + x * (axis.end - axis.start) * last / (axis.to.size - 1)


COORDINATES: dict[str, Callable[[Floats, Axis], Floats]] = {
    "half_pixel": _half_pixel,
    "half_pixel_symmetric": _half_pixel_symmetric,
    "pytorch_half_pixel": lambda x, axis: _half_pixel(x, axis) if axis.to.size > 1 else np.zeros_like(x),
    "align_corners": _align_corners,
    "asymmetric": lambda x, axis: x / axis.scale,
    "tf_half_pixel_for_nn": lambda x, axis: (x + 0.5) / axis.scale,
    ops.CROP: _tf_crop_and_resize,
}
"""For each mode, the function that maps positions in the result to positions in the input."""


def coordinates(op: ops.ResizeOp, axis: Axis) -> Floats:
    """Returns, for each element of the result, its position in the input."""
    return COORDINATES[op.coordinate_transformation_mode.data](np.arange(axis.to.size, dtype=np.float32), axis)


def is_outside(x: Floats, axis: Axis) -> npt.NDArray[np.bool_]:
    """Returns a mask of the positions outside the input, at which a crop has a fixed value."""
    return (x < 0) | (x > axis.length - 1)


NEAREST: dict[str, Callable[[Floats, Axis], Floats]] = {
    "round_prefer_floor": lambda x, axis: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x, axis: np.floor(x + 0.5),
    "floor": lambda x, axis: np.floor(x),
    "ceil": lambda x, axis: np.ceil(x),
    ops.FLOOR_UP_CEIL_DOWN: lambda x, axis: np.ceil(x) if axis.scale < 1 else np.floor(x),
}
"""For each mode, the function that maps positions in the input to element indices."""


def _cubic(distance: Floats, a: float) -> Floats:
    near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0))


FILTERS: dict[str, tuple[int, Callable[[Floats, float], Floats]]] = {
    "linear": (1, lambda distance, a: np.maximum(1 - distance, 0)),
    "cubic": (2, _cubic),
}
"""The reach of each filter, and the function for its weight at a distance and the cubic coefficient `a`."""


def weights_of(op: ops.ResizeOp, x: Floats, axis: Axis) -> tuple[npt.NDArray[np.int64], Floats]:
    """Returns the indices of the elements to sum for each position `x`, and their weights, both `[places, taps]`."""
    reach, function = FILTERS[op.mode.data]
    is_wider = bool(op.antialias.value.data) and axis.scale < 1
    shrink = axis.scale if is_wider else 1.0
    taps = math.ceil(reach / shrink)
    elements = np.floor(x).astype(np.int64)[:, None] + np.arange(1 - taps, taps + 1)
    x = x.astype(np.float64)
    weights = function(np.abs(elements - x[:, None]) * shrink, float(op.cubic_coeff_a.value.data))
    if is_wider:
        weights = weights / weights.sum(axis=1, keepdims=True)
    if op.exclude_outside.value.data:
        weights = np.where((elements < 0) | (elements >= axis.length), 0, weights)
        total = weights.sum(axis=1, keepdims=True)
        weights = weights / np.where(total == 0, 1, total)
    return np.clip(elements, 0, axis.length - 1), weights


def _interpolated(op: ops.ResizeOp, data: Array, x: Floats, axis: Axis) -> Array:
    number = axis.to.axis
    elements, weights = weights_of(op, x, axis)
    layout = (-1, *(1,) * (data.ndim - number - 1))
    total = np.zeros((*data.shape[:number], axis.to.size, *data.shape[number + 1 :]), data.dtype)
    for tap in range(elements.shape[1]):
        if weights[:, tap].any():
            weight = weights[:, tap].astype(data.dtype).reshape(layout)
            total += np.take(data, elements[:, tap], axis=number) * weight
    return total


def nearest_elements(op: ops.ResizeOp, x: Floats, axis: Axis) -> npt.NDArray[np.int64]:
    """Returns the index of the selected element for each position `x`."""
    return np.clip(NEAREST[op.nearest_mode.data](x, axis).astype(np.int64), 0, axis.length - 1)


def _nearest(op: ops.ResizeOp, data: Array, x: Floats, axis: Axis) -> Array:
    return np.take(data, nearest_elements(op, x, axis), axis=axis.to.axis)


def as_elements(x: Array, element: Attribute, dtype: np.dtype[Any]) -> Array:
    """Converts `x` to elements stored as `dtype`; integers are rounded half to even and saturate."""
    integer = as_integer(element)
    if integer is None:
        return x.astype(dtype, copy=False)
    bits = 8 * dtype.itemsize - integer.width.data
    low, high = np.iinfo(dtype).min >> bits, np.iinfo(dtype).max >> bits
    whole = np.clip(np.rint(x), low, high)
    # f64 cannot represent the largest 64-bit integers: a value rounded to the next power of two is the largest one.
    return np.where(whole >= high, dtype.type(high), np.where(whole >= high, 0, whole).astype(dtype))


def summing_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Returns the type in which elements stored as `dtype` are summed."""
    if dtype.kind in "iu":
        return np.dtype(np.float64 if dtype.itemsize > 2 else np.float32)
    return computing_dtype(dtype)


def changed_axes(
    op: ops.ResizeOp, shape: Sequence[int], resized: Sequence[Resized], roi: Array | None = None
) -> list[Axis]:
    """Returns the axes that change, in the order in which they are resized."""
    cut = (op.floats("roi", roi) if op.is_crop else None) or (0.0,) * len(resized) + (1.0,) * len(resized)
    found = [
        Axis(shape[to.axis], to, np.float32(to.scale), np.float32(start), np.float32(end))
        for to, start, end in zip(resized, cut[: len(resized)], cut[len(resized) :], strict=True)
    ]
    return [axis for axis in found if not axis.is_whole]


def _resize(
    op: ops.ResizeOp, data: Array, roi: Array | None, scales: Array | None, sizes: Array | None
) -> tuple[Array]:
    resized = op.resized(data.shape, scales, sizes)
    assert resized is not None
    axes = changed_axes(op, data.shape, resized, roi)
    if any(axis.length == 0 and axis.to.size for axis in axes):
        raise InterpretationError(f"cannot resize an empty axis of shape {list(data.shape)}")
    computing = summing_dtype(data.dtype)
    result = data if op.is_nearest else data.astype(computing, copy=False)
    outside: list[tuple[int, npt.NDArray[np.bool_]]] = []
    for axis in axes:
        x = coordinates(op, axis)
        result = (_nearest if op.is_nearest else _interpolated)(op, result, x, axis)
        if op.is_crop:
            outside.append((axis.to.axis, is_outside(x, axis)))
    element = element_of(op.result)
    if not op.is_nearest:
        result = as_elements(result, element, data.dtype)
    for number, positions in outside:
        if positions.any():
            index = (slice(None),) * number + (positions,)
            result[index] = as_elements(np.asarray(op.extrapolation_value.value.data), element, data.dtype)
    return (result,)


EVALUATORS: dict[type[Operation], Callable[..., tuple[Array, ...]]] = {ops.ResizeOp: _resize}
