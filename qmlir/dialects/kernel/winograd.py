"""`kernel.winograd`: convolutions of 3x3 taps by Winograd's F(2x2, 3x3) in integers, and its matrices.

Two by two sums come from four by four elements of each channel: `A^T (U * (B^T d B)) A`, where `*` multiplies element
by element and sums over the channels, `16` products where the window itself has 36. `B` and `A` have entries 0, 1 and
-1; the weights are transformed with twice the usual `G`, so that they are integers, and four times the sums come out.
"""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import i8, i16, i32
from xdsl.irdl import irdl_op_definition
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.kernel.ops import ContractionOp, shaped

Array = npt.NDArray[Any]
Matrix = tuple[tuple[int, ...], ...]

TAPS = 3
"""Taps of the window along each axis."""

STEP = 2
"""Sums of a tile along each axis, and how far apart the tiles begin."""

TILE = 4
"""Elements of a tile along each axis."""

SCALE_BITS = 2
"""What comes out of the transforms is the sum times this power of two."""

INPUT: Matrix = ((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0), (0, 1, 0, -1))
"""B^T."""

WEIGHTS: Matrix = ((2, 0, 0), (1, 1, 1), (1, -1, 1), (0, 0, 2))
"""2 G."""

OUTPUT: Matrix = ((1, 1, 1, 0), (0, 1, -1, -1))
"""A^T."""

SUM_OF_TAPS = (1, 1)
"""The element of a transformed window that is the plain sum of its taps."""


def transformed(matrix: Matrix, array: Array, axes: Iterable[int]) -> Array:
    """`matrix` applied along each of some axes, `matrix @ tile @ matrix^T` for two, in the integers of `array`."""
    for axis in axes:
        moved = np.moveaxis(array, axis, -1) @ np.array(matrix, array.dtype).T
        array = np.moveaxis(moved, -1, axis)
    return array


@irdl_op_definition
class WinogradOp(ContractionOp):
    """Convolutions of 3x3 taps, each next to the other: `x` `[N, H + 2, W + 2, C]`, padded, to `[N, H, W, O]`.

    `w` `[O, 4, 4, C]` are weights of i16, transformed with twice Winograd's `G`. The sum that the epilogue gets is
    `(A^T m A) >> 2` where `m = sum over C of w * (B^T d B)`: the transform of the input is held in 16 bits and all else
    in 32, both wrap. Where 16 bits hold the transform of every input, and 32 four times every sum, it is the sum
    itself: what wraps on the way unwraps. `kernel-winograd` makes the operation and proves that.
    """

    name = "kernel.winograd"

    def channels(self) -> int:
        return shaped(self.target)[0][-1]

    def terms(self) -> int:
        return TAPS * TAPS * shaped(self.x)[0][-1]

    def multiply_adds(self) -> int:
        """Those of the convolution: what is computed, not how."""
        return math.prod(shaped(self.target)[0]) * self.terms()

    @property
    def tiles(self) -> tuple[int, int, int]:
        """Images, and tiles along each axis of one."""
        batch, height, width, _ = shaped(self.target)[0]
        return batch, -(-height // STEP), -(-width // STEP)

    def sum_shape(self) -> tuple[int, ...]:
        x, w = list(shaped(self.x)[0]), list(shaped(self.w)[0])
        if len(x) != 4 or len(w) != 4 or w[1:-1] != [TILE, TILE]:
            raise VerifyException(f"takes x [N, H + 2, W + 2, C] and w [O, 4, 4, C], found {x} and {w}")
        if x[-1] != w[-1]:
            raise VerifyException(f"has {x[-1]} input channels of x and {w[-1]} of w")
        if min(x[1:-1]) < TILE:
            raise VerifyException(f"takes images of {TILE} elements or more along each axis, found {x[1:-1]}")
        return (x[0], *(size - TAPS + 1 for size in x[1:-1]), w[0])

    def _verify_operands(self) -> None:
        super()._verify_operands()
        if self.weight_zero_points is not None or self.weight_zero_point.value.data or self.weight_unsigned is not None:
            raise VerifyException("takes transformed weights: signed, and without zero points")

    def verify_(self) -> None:
        super().verify_()
        elements = [shaped(value)[1] for value in (self.x, self.w)]
        if elements[0] not in (i8, i16) or elements[1] != i16 or self.accumulator_type != i32:
            raise VerifyException(
                f"multiplies i8 or i16 by i16 and sums in i32, found {elements[0]} by {elements[1]} in "
                f"{self.accumulator_type}"
            )


def winograd_sums(x: Array, w: Array) -> Array:
    """The sums of images `[N, H + 2, W + 2, C]` by transformed weights `[O, 4, 4, C]`, as `kernel.winograd` says."""
    batch, height, width, channels = x.shape
    sizes = height - TAPS + 1, width - TAPS + 1
    tiles = [-(-size // STEP) for size in sizes]
    padded = np.pad(x.astype(np.int64), [(0, 0), *((0, size % STEP) for size in sizes), (0, 0)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (TILE, TILE), axis=(1, 2))  # type: ignore[call-overload]
    taken = windows[:, ::STEP, ::STEP]  # [N, tiles, tiles, C, 4, 4]
    moved = transformed(INPUT, taken, (-2, -1)).astype(np.int16).astype(np.int64)
    rows = np.moveaxis(moved, 3, -1).reshape(-1, TILE, TILE, channels).transpose(1, 2, 0, 3)
    products = rows @ w.astype(np.int64).transpose(1, 2, 3, 0)  # [4, 4, tiles, O]
    total = transformed(OUTPUT, products.astype(np.int32).astype(np.int64), (0, 1)).astype(np.int32)
    scattered = (total >> SCALE_BITS).reshape(STEP, STEP, batch, *tiles, -1).transpose(2, 3, 0, 4, 1, 5)
    result = scattered.reshape(batch, tiles[0] * STEP, tiles[1] * STEP, -1)
    return np.ascontiguousarray(result[:, : sizes[0], : sizes[1]])


OPERATIONS = (WinogradOp,)
