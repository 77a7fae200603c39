"""`kernel.winograd`: integer convolutions with 3x3 kernels by Winograd's algorithms, and their matrices.

F(m x m, 3 x 3) computes m by m sums from tiles of m + 2 by m + 2 elements of each channel: `A^T (U * (B^T d B)) A`,
where `*` multiplies elementwise and sums over the channels. F(2x2, 3x3) needs 16 products instead of 36, and F(4x4,
3x3) needs 36 instead of 144. All matrices are integers, so the result is a multiple of the true sums. The factor is a
power of two, which a shift removes, times an odd number, which has an inverse modulo 2^32.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, IntegerType, StringAttr, i8, i16, i32, i64
from xdsl.irdl import irdl_op_definition, prop_def
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.arrays import Array, magnitude
from qmlir.dialects.kernel.contraction import ContractionOp, EpilogueOp
from qmlir.dialects.kernel.ops import shaped

Matrix = tuple[tuple[int, ...], ...]

KERNEL_SIZE = 3
"""The number of kernel taps along each axis."""


# Why the integer results are exact: over the rationals, Y = A^T [(G g G^T) * (B^T d B)] A is the convolution (Lavin and
# Gray, "Fast algorithms for convolutional neural networks", 2016; after Cook and Toom). G has fractions; scaled to
# integers, it yields k * Y, where k = (odd << shift)^2 for two axes. Reduction modulo 2^32 is a ring homomorphism from
# the integers, so wrapping in any intermediate step still yields k * Y modulo 2^32. An odd number has an inverse modulo
# 2^32; multiplying by it removes odd^2, which leaves 2^(2 * shift) * Y modulo 2^32. If |2^(2 * shift) * Y| < 2^31, this
# is the exact number, and an arithmetic shift yields Y. The pass `kernel-winograd` proves the bound on Y from ranges.
#
# The input transform is the only value that must not wrap modulo 2^16, since products take 16-bit operands. The
# absolute values of a row of B^T sum to 2 for F(2x2) and to 10 for F(4x4), so the elements of B^T d B are at most 4 and
# 100 times as large as those of d.
@dataclass(frozen=True)
class Algorithm:
    """The algorithm F(step, 3) along each axis: `A^T (G g * B^T d)` is `odd << shift` times the sums."""

    name: str
    variant: str
    """The family of loops, as named in the registry table `variants`."""

    input: Matrix
    """The input transform `B^T`."""

    weights: Matrix
    """The weight transform `G`, scaled to integers."""

    output: Matrix
    """The output transform `A^T`, scaled to integers."""

    odd: int
    shift: int

    takes_bytes: bool = False
    """Whether the operation takes weights as i8 taps and leaves their transform to the loops."""

    @property
    def step(self) -> int:
        """The number of sums in a tile along each axis, which is also the distance between adjacent tiles."""
        return len(self.output)

    @property
    def tile(self) -> int:
        """The number of input elements in a tile along each axis."""
        return len(self.input)

    @property
    def weight_size(self) -> int:
        """The number of elements of the weight operand of `kernel.winograd` along each axis."""
        return KERNEL_SIZE if self.takes_bytes else self.tile

    @property
    def weight_element(self) -> IntegerType:
        """The element type of the weight operand."""
        return i8 if self.takes_bytes else i16

    def taken(self, weights: Array) -> Array:
        """Converts taps of shape `[O, 3, 3, C]` to the weight operand of `kernel.winograd`."""
        return weights.astype(np.int8) if self.takes_bytes else transformed_taps(self.weights, weights).astype(np.int16)

    def title(self, axes: int = 2) -> str:
        """Returns the conventional name, such as F(2x2, 3x3)."""
        return f"F({'x'.join([str(self.step)] * axes)}, {'x'.join([str(KERNEL_SIZE)] * axes)})"

    @property
    def shift_of_sums(self) -> int:
        """The exponent of the power of two by which the transformed sums are scaled, for two axes."""
        return 2 * self.shift

    @property
    def inverse(self) -> int:
        """The signed inverse, modulo 2^32, of the odd factor by which the transformed sums are scaled."""
        found = pow(self.odd**2, -1, 1 << 32)
        return found - (found >> 31 << 32)

    def sums_of_weights(self, weights: Array) -> Array:
        """Recovers the sums of the taps, `[O, C]`, from the weight operand; transformed weights contain them."""
        if self.takes_bytes:
            return weights.astype(np.int64).sum(axis=(1, 2))
        position = next(index for index, row in enumerate(self.weights) if len(set(row)) == 1)
        return weights[:, position, position].astype(np.int64) // self.weights[position][0] ** 2


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
"""F(4x4, 3x3) with i8 taps.

The common factors of the rows of `F4.weights` are moved to the columns of `output`, where they are applied only once
for all channels.
"""

ALGORITHMS: Mapping[str, Algorithm] = {each.name: each for each in (F2, F4, F4_BYTES)}
"""The algorithms by name."""

VARIANTS: Mapping[str, Algorithm] = {each.variant: each for each in ALGORITHMS.values()}
"""The algorithms by the name of their loop family."""


def transformed(matrix: Matrix, array: Array, axes: Iterable[int]) -> Array:
    """Applies `matrix` along the given axes in the dtype of `array`; for two axes, `matrix @ tile @ matrix^T`."""
    for axis in axes:
        parts = np.moveaxis(array, axis, 0)  # NumPy multiplies matrices of integers slowly
        rows = [sum(factor * part for factor, part in zip(row, parts, strict=True) if factor) for row in matrix]
        array = np.stack(rows, axis)
    return array


def transformed_taps(matrix: Matrix, taps: Array) -> Array:
    """Applies `matrix` along each inner axis of integers of shape `[O, 3, …, C]`; returns the exact integers as floats.

    Integers that f64 may not hold are returned as Python integers.
    """
    axes = taps.ndim - 2
    both = reduce(np.kron, [np.array(matrix)] * axes)
    largest = magnitude(taps) * int(np.abs(both).sum(axis=1).max())
    if largest >= 1 << 53:
        return transformed(matrix, taps.astype(object), range(1, axes + 1))
    element = np.float32 if largest <= 1 << 24 else np.float64  # NumPy multiplies matrices of floats fast
    tiles = taps.astype(element).reshape(len(taps), KERNEL_SIZE**axes, taps.shape[-1])
    return (both.astype(element) @ tiles).reshape(len(taps), *[len(matrix)] * axes, taps.shape[-1])


class ByAlgorithmOp(EpilogueOp):
    """Common base of Winograd convolutions: the algorithm, and the number of parts into which channels are divided."""

    algorithm = prop_def(StringAttr, default_value=StringAttr(F2.name))
    parts = prop_def(IntegerAttr, default_value=IntegerAttr(1, i64))

    @property
    def form(self) -> Algorithm:
        """The algorithm that the operation names."""
        return ALGORITHMS[self.algorithm.data]

    @property
    def part_count(self) -> int:
        """The number of parts into which the channels are divided."""
        return self.parts.value.data

    def terms(self) -> int:
        return KERNEL_SIZE * KERNEL_SIZE * shaped(self.x)[0][-1]

    def multiply_adds(self) -> int:
        """The number of multiply-adds of the direct convolution, not of the Winograd algorithm."""
        return math.prod(shaped(self.target)[0]) * self.terms()

    @property
    def tiles(self) -> tuple[int, int, int]:
        """The number of samples, followed by the number of tiles along each spatial axis."""
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
    """Convolves the padded input `x` `[N, H + 2, W + 2, C]` with 3x3 kernels at stride 1, to `[N, H, W, O]`.

    `w` holds i16 weights transformed by the algorithm's `G`: `[O, 4, 4, C]` for `f2`, F(2x2, 3x3), and `[O, 6, 6, C]`
    for `f4`, F(4x4, 3x3). `f4_bytes` takes the i8 weights `[O, 3, 3, C]` and transforms them itself.

    The epilogue receives the sum `(A^T m A) >> 2` for `f2`, and `((A^T m A) / 9) >> 6` for the other algorithms. Here,
    `m = sum over C of u * (B^T d B)`, `u` are the transformed weights, and the division by 9 is a multiplication by its
    inverse modulo 2^32. The transformed input has 16 bits and all other values have 32 bits; both wrap. If `parts` is
    greater than 1, the channels are divided into that number of equal consecutive parts, whose sums are added.

    The result is the exact convolution if 16 bits hold the transform of every input, and 32 bits hold every sum of a
    part times 4 (`f2`) or 64 (`f4`, `f4_bytes`): all intermediate wrapping then cancels. `kernel-winograd` creates the
    operation and proves these bounds.
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


# The parts add up without overflow: each is an exact sum of at most 2^31 / 2^(2 * shift), and there are at most 2^(2 *
# shift) parts.
def part_counts(channels: int, form: Algorithm) -> tuple[int, ...]:
    """Returns the numbers of parts into which `channels` may be divided such that the total fits in 32 bits."""
    most = 1 << form.shift_of_sums
    return (1, *(parts for parts in range(2, most + 1) if channels and channels % (2 * parts) == 0))


def winograd_sums(x: Array, w: Array, form: Algorithm, parts: int = 1) -> Array:
    """Computes the sums for samples `[N, H + 2, W + 2, C]` and weights in the layout of `kernel.winograd`."""
    taken = transformed(form.weights, w.astype(np.int64), (1, 2)) if form.takes_bytes else w
    pieces = zip(np.split(x, parts, axis=-1), np.split(taken, parts, axis=-1), strict=True)
    sums = [_part_sums(*piece, form).astype(np.int64) for piece in pieces]
    return np.asarray(sum(sums)).astype(np.int32)


# The reference wraps exactly where the loops do: it casts to i16 and i32 wherever the loops hold 16 and 32 bits. A
# violated bound therefore yields the same wrong number at every level; only the proof in the pass rules it out.
def _part_sums(x: Array, w: Array, form: Algorithm) -> Array:
    """The sums of one part of the channels, for transformed weights."""
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
