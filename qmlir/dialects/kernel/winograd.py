"""`kernel.winograd`: convolutions of 3x3 kernels by Winograd's algorithms in integers, and their matrices.

F(m x m, 3 x 3) gets m by m sums from tiles of m + 2 by m + 2 elements of each channel: `A^T (U * (B^T d B)) A`, where
`*` multiplies element by element and sums over the channels. F(2x2, 3x3) needs 16 products for what the window takes 36
for, F(4x4, 3x3) 36 for 144. All matrices are integers, so a multiple of the sums comes out: a power of two, which is a
shift, times an odd number, which has an inverse modulo 2^32.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, IntegerType, StringAttr, i8, i16, i32, i64
from xdsl.irdl import irdl_op_definition, prop_def
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.kernel.contraction import ContractionOp, EpilogueOp
from qmlir.dialects.kernel.ops import shaped

Matrix = tuple[tuple[int, ...], ...]

KERNEL_SIZE = 3
"""Taps of the window along each axis."""


# Why integers come out exactly. Over the rationals, Y = A^T [(G g G^T) * (B^T d B)] A is the sum of products of the
# window (Lavin and Gray, "Fast algorithms for convolutional neural networks", 2016; from Cook and Toom). G has
# fractions; scaled to integers it gives k * Y with k = (odd << shift)^2 along two axes. Addition and multiplication
# modulo 2^32 are a ring homomorphism of the integers, so that wrapping anywhere on the way gives k * Y modulo 2^32.
# An odd number has an inverse modulo 2^32, which takes odd^2 off; what is left is 2^(2 * shift) * Y modulo 2^32.
# Where |2^(2 * shift) * Y| < 2^31 that is the number itself, and an arithmetic shift gives Y. The bound on Y is
# proven by `kernel-winograd` from ranges.
#
# The transform of the input is the one value that must not wrap modulo 2^16 (products take 16 bits): a row of B^T has
# absolute sum 2 for F(2x2) and 10 for F(4x4), so the elements of B^T d B are at most 4 and 100 times those of d.
@dataclass(frozen=True)
class Algorithm:
    """F(step, 3) along each axis: `A^T (G g * B^T d)` is `odd << shift` times the sums."""

    name: str
    variant: str
    """The loops: a name of the registry's `variants`."""

    input: Matrix
    """B^T."""

    weights: Matrix
    """G, scaled so that it is made of integers."""

    output: Matrix
    """A^T, scaled likewise."""

    odd: int
    shift: int

    takes_bytes: bool = False
    """Whether weights come as taps of a byte, and the loops transform them."""

    @property
    def step(self) -> int:
        """Sums of a tile along each axis, and how far apart the tiles begin."""
        return len(self.output)

    @property
    def tile(self) -> int:
        """Elements of a tile along each axis."""
        return len(self.input)

    @property
    def weight_size(self) -> int:
        """Elements of the weights along each axis, as `kernel.winograd` takes them."""
        return KERNEL_SIZE if self.takes_bytes else self.tile

    @property
    def weight_element(self) -> IntegerType:
        """What one of these is held in."""
        return i8 if self.takes_bytes else i16

    def taken(self, weights: Array) -> Array:
        """Taps `[O, 3, 3, C]` as `kernel.winograd` takes them."""
        wide = weights.astype(np.int64)
        return wide.astype(np.int8) if self.takes_bytes else transformed(self.weights, wide, (1, 2)).astype(np.int16)

    def title(self, axes: int = 2) -> str:
        """F(2x2, 3x3) and so on."""
        return f"F({'x'.join([str(self.step)] * axes)}, {'x'.join([str(KERNEL_SIZE)] * axes)})"

    @property
    def shift_of_sums(self) -> int:
        """What comes out of the transforms along two axes is the sum times 2 to this, times an odd number."""
        return 2 * self.shift

    @property
    def inverse(self) -> int:
        """What takes that odd number off again, modulo 2^32, as a signed number."""
        found = pow(self.odd**2, -1, 1 << 32)
        return found - (found >> 31 << 32)

    def sums_of_weights(self, weights: Array) -> Array:
        """The plain sum of the taps `[O, C]` of weights as they are taken: one element of transformed ones has it."""
        if self.takes_bytes:
            return weights.astype(np.int64).sum(axis=(1, 2))
        place = next(index for index, row in enumerate(self.weights) if len(set(row)) == 1)
        return weights[:, place, place].astype(np.int64) // self.weights[place][0] ** 2


F2 = Algorithm(
    "f2", "winograd",
    input=((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0), (0, 1, 0, -1)),
    weights=((2, 0, 0), (1, 1, 1), (1, -1, 1), (0, 0, 2)),
    output=((1, 1, 1, 0), (0, 1, -1, -1)),
    odd=1, shift=1,
)  # fmt: skip

F4 = Algorithm(
    "f4", "winograd_f4",
    input=(
        (4, 0, -5, 0, 1, 0), (0, -4, -4, 1, 1, 0), (0, 4, -4, -1, 1, 0),
        (0, -2, -1, 2, 1, 0), (0, 2, -1, -2, 1, 0), (0, 4, 0, -5, 0, 1),
    ),
    weights=((6, 0, 0), (-4, -4, -4), (-4, 4, -4), (1, 2, 4), (1, -2, 4), (0, 0, 12)),
    output=((1, 1, 1, 1, 1, 0), (0, 1, -1, 2, -2, 0), (0, 1, 1, 4, 4, 0), (0, 1, -1, 8, -8, 2)),
    odd=3, shift=3,
)  # fmt: skip

F4_BYTES = Algorithm(
    "f4_bytes", "winograd_f4_bytes",
    input=F4.input,
    weights=((1, 0, 0), (1, 1, 1), (1, -1, 1), (1, 2, 4), (1, -2, 4), (0, 0, 1)),
    output=((6, -4, -4, 1, 1, 0), (0, -4, 4, 2, -2, 0), (0, -4, -4, 4, 4, 0), (0, -4, 4, 8, -8, 24)),
    odd=3, shift=3, takes_bytes=True,
)  # fmt: skip
"""What is common to a row of `F4.weights` is in the columns of `output`: it is done once for all channels."""

ALGORITHMS: Mapping[str, Algorithm] = {each.name: each for each in (F2, F4, F4_BYTES)}
"""The algorithms by name."""

VARIANTS: Mapping[str, Algorithm] = {each.variant: each for each in ALGORITHMS.values()}
"""The algorithms by the family of their loops."""


def transformed(matrix: Matrix, array: Array, axes: Iterable[int]) -> Array:
    """`matrix` applied along each of some axes, `matrix @ tile @ matrix^T` for two, in the integers of `array`."""
    for axis in axes:
        moved = np.moveaxis(array, axis, -1) @ np.array(matrix, array.dtype).T
        array = np.moveaxis(moved, -1, axis)
    return array


class ByAlgorithmOp(EpilogueOp):
    """What convolutions by Winograd's algorithms have: which one, and into how many parts the channels are divided."""

    algorithm = prop_def(StringAttr, default_value=StringAttr(F2.name))
    parts = prop_def(IntegerAttr, default_value=IntegerAttr(1, i64))

    @property
    def form(self) -> Algorithm:
        """The row of `ALGORITHMS`."""
        return ALGORITHMS[self.algorithm.data]

    @property
    def part_count(self) -> int:
        """Into how many runs the channels are divided."""
        return self.parts.value.data

    def terms(self) -> int:
        return KERNEL_SIZE * KERNEL_SIZE * shaped(self.x)[0][-1]

    def multiply_adds(self) -> int:
        """Those of the convolution: what is computed, not how."""
        return math.prod(shaped(self.target)[0]) * self.terms()

    @property
    def tiles(self) -> tuple[int, int, int]:
        """Images, and tiles along each axis of one."""
        (batch, height, width, _), step = shaped(self.target)[0], self.form.step
        return batch, -(-height // step), -(-width // step)

    def sum_shape(self) -> tuple[int, ...]:
        x, tile = list(shaped(self.x)[0]), self.form.tile
        if len(x) != 4 or min(x[1:-1]) < tile:
            raise VerifyException(f"images must have at least {tile} elements along each axis, but got {x[1:-1]}")
        return (x[0], *(size - KERNEL_SIZE + 1 for size in x[1:-1]), self.channels())

    def _verify_properties(self) -> None:
        super()._verify_properties()
        if self.algorithm.data not in ALGORITHMS:
            raise VerifyException(f"unknown algorithm '{self.algorithm.data}' (available: {', '.join(ALGORITHMS)})")

    def verify_(self) -> None:
        super().verify_()
        elements, accepted = [shaped(value)[1] for value in (self.x, self.w)], self.form.weight_element
        if elements[0] not in (i8, i16) or elements[1] != accepted or self.accumulator_type != i32:
            raise VerifyException(
                f"expected x of i8 or i16, w of {accepted} and accumulator i32, but got {elements[0]}, "
                f"{elements[1]} and {self.accumulator_type}"
            )
        parts, channels = self.part_count, shaped(self.x)[0][-1]
        if parts not in part_counts(channels, self.form):
            raise VerifyException(
                f"expected an even number of channels per part and at most {1 << self.form.shift_of_sums} "
                f"parts, but got {parts} parts of {channels} channels"
            )


@irdl_op_definition
class WinogradOp(ByAlgorithmOp, ContractionOp):
    """Convolutions of 3x3 kernels, each next to the other: `x` `[N, H + 2, W + 2, C]`, padded, to `[N, H, W, O]`.

    `w` are weights of i16, transformed by the algorithm's `G`: `[O, 4, 4, C]` by `f2`, F(2x2, 3x3), and `[O, 6, 6, C]`
    by `f4`, F(4x4, 3x3); `f4_bytes` takes the weights themselves, `[O, 3, 3, C]` of i8, and transforms them. The sum
    that the epilogue gets is `(A^T m A) >> 2` of `f2`, `((A^T m A) / 9) >> 6` of the others, where `m = sum over C of
    u * (B^T d B)`, `u` the transformed weights, and a division by 9 is a product with its inverse modulo 2^32: the
    transform of the input is held in 16 bits and all else in 32, both wrap. With more than one of `parts` the channels
    are so many runs of one length, and their sums are added. Where 16 bits hold the transform of every input, and 32
    four times every sum of a part, or 64 times, it is the sum itself: what wraps on the way unwraps. `kernel-winograd`
    makes the operation and proves that.
    """

    name = "kernel.winograd"

    def sum_shape(self) -> tuple[int, ...]:
        x, w, size = list(shaped(self.x)[0]), list(shaped(self.w)[0]), self.form.weight_size
        if len(x) != 4 or len(w) != 4 or w[1:-1] != [size, size]:
            raise VerifyException(
                f"expected x of shape [N, H + 2, W + 2, C] and w of shape [O, {size}, {size}, C], but got {x} and {w}"
            )
        if x[-1] != w[-1]:
            raise VerifyException(f"x and w must have the same number of input channels, but got {x[-1]} and {w[-1]}")
        return (*super().sum_shape()[:-1], w[0])

    def _verify_operands(self) -> None:
        super()._verify_operands()
        if self.weight_zero_points is not None or self.weight_zero_point.value.data or self.weight_unsigned is not None:
            raise VerifyException("weights must be signed, without zero points")


# Parts add up without overflow: each is a true sum of at most 2^31 / 2^(2 * shift), and there are at most 2^(2 *
# shift).
def part_counts(channels: int, form: Algorithm) -> tuple[int, ...]:
    """Into how many parts so many channels may be divided: 32 bits hold what all of them may be."""
    most = 1 << form.shift_of_sums
    return (1, *(parts for parts in range(2, most + 1) if channels and channels % (2 * parts) == 0))


def winograd_sums(x: Array, w: Array, form: Algorithm, parts: int = 1) -> Array:
    """The sums of images `[N, H + 2, W + 2, C]` by weights as `kernel.winograd` takes them."""
    taken = transformed(form.weights, w.astype(np.int64), (1, 2)) if form.takes_bytes else w
    pieces = zip(np.split(x, parts, axis=-1), np.split(taken, parts, axis=-1), strict=True)
    sums = [_part_sums(*piece, form).astype(np.int64) for piece in pieces]
    return np.asarray(sum(sums)).astype(np.int32)


# The reference wraps as the loops do: casts to i16 and i32 stand where loops hold 16 and 32 bits, and nowhere else. A
# violated bound thus gives the same wrong number at every level, and the proof of the pass is what excludes it.
def _part_sums(x: Array, w: Array, form: Algorithm) -> Array:
    """The sums by transformed weights."""
    batch, height, width, channels = x.shape
    sizes, step, tile = (height - KERNEL_SIZE + 1, width - KERNEL_SIZE + 1), form.step, form.tile
    tiles = [-(-size // step) for size in sizes]
    padded = np.pad(x.astype(np.int64), [(0, 0), *((0, -size % step) for size in sizes), (0, 0)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (tile, tile), axis=(1, 2))
    taken = windows[:, ::step, ::step]  # [N, tiles, tiles, C, tile, tile]
    moved = transformed(form.input, taken, (-2, -1)).astype(np.int16).astype(np.int64)
    rows = np.moveaxis(moved, 3, -1).reshape(-1, tile, tile, channels).transpose(1, 2, 0, 3)
    products = rows @ w.astype(np.int64).transpose(1, 2, 3, 0)  # [tile, tile, tiles, O]
    total = transformed(form.output, products.astype(np.int32).astype(np.int64), (0, 1)).astype(np.int32)
    scaled = (total.astype(np.int64) * form.inverse).astype(np.int32) >> form.shift_of_sums
    scattered = scaled.reshape(step, step, batch, *tiles, -1).transpose(2, 3, 0, 4, 1, 5)
    result = scattered.reshape(batch, tiles[0] * step, tiles[1] * step, -1)
    return np.ascontiguousarray(result[:, : sizes[0], : sizes[1]])
