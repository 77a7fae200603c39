"""Shape checks and result shapes that several families share, for operands and sliding windows."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.nn.base import shapes_agree
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.limits import budget, over

# Checks of operands whose shape follows from that of other operands.


def shape_text(shape: Sequence[int]) -> str:
    """Returns a shape as it appears in error messages: `[2, ?]`."""
    return f"[{', '.join('?' if size == DYNAMIC_INDEX else str(size) for size in shape)}]"


def check_shape(what: str, value: SSAValue | None, shape: Sequence[int]) -> None:
    """Verifies that an operand, if present, has shape `shape`, as far as both shapes are static."""
    if value is not None and not shapes_agree(shape_of(value), shape):
        raise VerifyException(f"expected {what} of shape {shape_text(shape)}, but got '{value.type}'")


def check_choice(what: str, found: str, accepted: Iterable[str]) -> None:
    """Verifies that a property has one of the `accepted` values."""
    if found not in accepted:
        raise VerifyException(f"{what} must be one of {', '.join(accepted)}, but got '{found}'")


# Shapes of convolutions and pools, whose windows slide over the spatial axes, and the data that each kernel element
# covers.

LARGEST_STEP = (1 << 31) - 1
"""The limit on sizes, strides, dilations and padding, which ensures that element positions fit in 64 bits."""


@dataclass(frozen=True)
class Windows:
    """The geometry of sliding windows, with one number per spatial axis.

    As in ONNX, `pads` lists the padding at the start of all axes, followed by that at the end of all axes.
    """

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[int, ...]

    @staticmethod
    def of(
        kernel: Sequence[int],
        strides: Sequence[int] | None = None,
        dilations: Sequence[int] | None = None,
        pads: Sequence[int] | None = None,
    ) -> "Windows":
        """Returns windows with the given parameters, after verifying them.

        Omitted parameters have the defaults of ONNX: stride 1, dilation 1, no padding.
        """
        rank = len(kernel)
        windows = Windows(
            tuple(kernel),
            tuple(strides or (1,) * rank),
            tuple(dilations or (1,) * rank),
            tuple(pads or (0,) * 2 * rank),
        )
        for name, values, count, lowest in (
            ("kernel sizes", windows.kernel, rank, 1),
            ("strides", windows.strides, rank, 1),
            ("dilations", windows.dilations, rank, 1),
            ("pads", windows.pads, 2 * rank, 0),
        ):
            if len(values) != count or any(value < lowest and value != DYNAMIC_INDEX for value in values):
                raise VerifyException(f"{name} must be {count} values >= {lowest}, but got {list(values)}")
            if any(value > LARGEST_STEP for value in values):
                raise VerifyException(f"{name} must be at most {LARGEST_STEP}, but got {list(values)}")
        elements = math.prod(size for size in windows.kernel if size != DYNAMIC_INDEX)
        if elements > budget("window-elements"):
            raise VerifyException(f"the number of elements in a window is {over('window-elements', elements)}")
        return windows

    def padding(self, axis: int) -> tuple[int, int]:
        """Returns the number of elements added before and after spatial axis `axis`."""
        return self.pads[axis], self.pads[axis + len(self.kernel)]

    def extent(self, axis: int) -> int:
        """Returns the extent of the kernel along an axis, including dilation."""
        return (self.kernel[axis] - 1) * self.dilations[axis] + 1


def output_size(size: int, windows: Windows, axis: int, ceil_mode: bool = False) -> int:
    """Returns the number of windows along a spatial axis of `size` elements (ONNX Conv and MaxPool).

    In `ceil_mode`, a last window must start inside the input or the padding before it.
    """
    if DYNAMIC_INDEX in (size, windows.kernel[axis]):
        return DYNAMIC_INDEX
    begin, end = windows.padding(axis)
    stride = windows.strides[axis]
    room = size + begin + end - windows.extent(axis)
    if room < 0:
        raise VerifyException(
            f"window of {windows.extent(axis)} elements is larger than spatial axis {axis} ({size} elements, "
            f"padding {begin} and {end})"
        )
    if not ceil_mode:
        return room // stride + 1
    count = -(-room // stride) + 1
    return count - 1 if (count - 1) * stride >= size + begin else count


def output_sizes(sizes: Sequence[int], windows: Windows, ceil_mode: bool = False) -> tuple[int, ...]:
    """Returns the number of windows along each spatial axis of an input with these `sizes`."""
    return tuple(output_size(size, windows, axis, ceil_mode) for axis, size in enumerate(sizes))


def transposed_size(size: int, windows: Windows, axis: int, output_padding: int) -> int:
    """Returns the extent of `size` windows without their padding: the inverse of `output_size` (ONNX ConvTranspose)."""
    if DYNAMIC_INDEX in (size, windows.kernel[axis]):
        return DYNAMIC_INDEX
    reach = (size - 1) * windows.strides[axis] + windows.extent(axis) if size else 0
    result = reach + output_padding - sum(windows.padding(axis))
    if result < 0:
        raise VerifyException(
            f"padding {windows.padding(axis)} exceeds the {reach + output_padding} elements of spatial axis {axis}"
        )
    return result


class Tap(NamedTuple):
    """A kernel element along one axis, with slices for the windows in which it covers data and for the covered data."""

    windows: slice
    elements: slice


def taps(windows: Windows, axis: int, size: int, count: int) -> list[Tap]:
    """Returns the kernel elements of `count` windows along a spatial axis of `size` elements, ignoring the padding."""
    stride, begin = windows.strides[axis], windows.padding(axis)[0]
    found: list[Tap] = []
    for tap in range(windows.kernel[axis]):
        offset = tap * windows.dilations[axis] - begin
        first = max(0, -(offset // stride))
        end = max(first, min(count, (size - 1 - offset) // stride + 1))
        start = first * stride + offset
        stop = start + (end - first - 1) * stride + 1 if end > first else start
        found.append(Tap(slice(first, end), slice(start, stop, stride)))
    return found


def known_count(sizes: Sequence[int]) -> npt.NDArray[np.int64]:
    """Returns the number of elements spanned by axes of these sizes; an empty array if a size is dynamic."""
    return np.array([] if DYNAMIC_INDEX in sizes else [math.prod(sizes)], np.int64)


def covered_elements(
    windows: Windows, counts: Sequence[int], sizes: Sequence[int], with_padding: bool
) -> npt.NDArray[np.int64]:
    """Returns the number of elements in each window, as an array of shape `counts`.

    With `with_padding`, the number includes elements in the padding.
    """
    total = np.ones((), np.int64)
    for axis, (count, size) in enumerate(zip(counts, sizes, strict=True)):
        begin, end = windows.padding(axis)
        starts = np.arange(count) * windows.strides[axis] - begin
        low, high = (-begin, size + end) if with_padding else (0, size)
        # Of the taps at `start + tap * dilation`, the first at or after `low`, and the first at or after `high`.
        first, behind = (-((starts - limit) // windows.dilations[axis]) for limit in (low, high))
        kernel = windows.kernel[axis]
        covered = np.minimum(behind, kernel) - np.minimum(np.maximum(first, 0), kernel)
        total = np.multiply.outer(total, np.maximum(covered, 0))
    return np.asarray(total)
