"""Variants of contraction loops: the operands that one step reads, and their packed layout.

Each variant is an object that is defined next to its loops and listed in the registry table `variants`. This module
defines the semantics of packed operands: how `x` is read, and at which index each weight is stored. Packed weights have
the shape `[groups, blocks, taps…, steps, channels of a block * terms of a step]`: the weights of one step are
contiguous, and steps follow one another. Blocks and steps are padded with zeros, so elements of `x` that a step reads
beyond its terms contribute nothing.
"""

import math
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import IntegerType

from qmlir import registry
from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.small_floats import PlainFloat

SCALAR = "scalar"
"""The schedule variant for scalar loops on unpacked operands."""

LANES = "lanes"
"""The schedule variant for structured operations whose innermost loop is vectorized over contiguous elements."""


def _joined(parts: Array, bits: int) -> Array:
    """Packs weights `[…, parts, width]` of `bits` bits into bytes, the first one in the lowest bits."""
    placed = (parts.astype(np.uint8) & np.uint8((1 << bits) - 1)) << np.arange(0, 8, bits, dtype=np.uint8)[:, None]
    return np.bitwise_or.reduce(placed, axis=-2).view(np.int8)


def _apart(joined: Array, bits: int, *, is_signed: bool) -> Array:
    """Unpacks bytes into the weights `[…, parts, width]`."""
    above = (8 - bits - np.arange(8 // bits) * bits)[:, None]
    highest = (joined.view(np.uint8)[..., None, :] << above).astype(np.uint8)
    return highest.view(np.int8) >> (8 - bits) if is_signed else (highest >> (8 - bits)).view(np.int8)


@dataclass(frozen=True)
class WeightLayout:
    """The layout of packed weights of logical shape `[groups, channels, *taps, run]`, divided into blocks of channels.

    `run` is the number of consecutive terms per tap. A block consists of `vectors` registers of `lanes` channels.
    """

    variant: "Variant"
    vectors: int
    lanes: int
    groups: int
    channels: int
    taps: tuple[int, ...]
    run: int

    @property
    def width(self) -> int:
        """The number of channels in a block."""
        return self.vectors * self.lanes

    @property
    def blocks(self) -> int:
        """The number of blocks in a group."""
        return -(-self.channels // self.width)

    @property
    def steps(self) -> int:
        """The number of steps per run of terms, the last of which is padded.

        A step covers `Variant.group` terms in each lane; if several weights share a byte, `Variant.parts` times that
        number.
        """
        return -(-self.run // (self.variant.group * self.variant.parts))

    @property
    def terms(self) -> int:
        """The number of products in each sum."""
        return math.prod(self.taps) * self.run

    @property
    def reads_past(self) -> bool:
        """Whether the last step of a run reads elements of `x` beyond the run's terms."""
        return self.run % (self.variant.group * self.variant.parts) != 0

    @property
    def fault(self) -> str:
        """Why weights of these sizes cannot be packed, phrased as the end of a message; empty if they can."""
        return ""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of packed weights."""
        return (self.groups, self.blocks, *self.taps, self.steps, self.width * self.variant.group)

    @property
    def unpadded(self) -> tuple[int, ...]:
        """The shape of weights before packing."""
        return (self.groups, self.channels, *self.taps, self.run)

    @property
    def padded(self) -> tuple[int, ...]:
        """The shape of weights padded to whole blocks and steps."""
        return (self.groups, self.blocks * self.width, *self.taps, self.steps * self.variant.parts * self.variant.group)

    @property
    def split(self) -> tuple[int, ...]:
        """The padded shape, with separate axes for blocks, channels of a block, and terms of a step."""
        return (
            self.groups, self.blocks, self.width, *self.taps, self.steps * self.variant.parts, self.variant.group,
        )  # fmt: skip

    @property
    def order(self) -> tuple[int, ...]:
        """The permutation of the axes of `split` that yields the order of packed weights."""
        rank = len(self.split)
        return (0, 1, *range(3, rank - 1), 2, rank - 1)

    def pack(self, weights: Array) -> Array:
        """Packs weights given as the elements of a tensor of shape `unpadded`, in row-major order."""
        border = [(0, after - before) for before, after in zip(self.unpadded, self.padded, strict=True)]
        padded = np.pad(weights.reshape(self.unpadded), border) if self.padded != self.unpadded else weights
        split = np.ascontiguousarray(padded.reshape(self.split))
        size, is_last = split.itemsize * self.split[-1], self.order[-1] == len(self.order) - 1
        if size in (2, 4, 8) and is_last and split.dtype != object:  # NumPy moves a group faster as one integer
            ordered = split.view(f"u{size}").transpose(self.order).copy().view(split.dtype)
        else:
            ordered = np.ascontiguousarray(split.transpose(self.order))
        if (parts := self.variant.parts) > 1:
            ordered = ordered // self.variant.weight_step
            ordered = _joined(ordered.reshape(*self.shape[:-1], parts, self.shape[-1]), 8 // parts)
        return np.ascontiguousarray(ordered.reshape(self.shape))

    def unpack(self, packed: Array) -> Array:
        """Recovers the weights, of shape `[groups, channels, taps…, run]`, from their packed form."""
        if (parts := self.variant.parts) > 1:
            packed = _apart(packed, 8 // parts, is_signed=not self.variant.weight_offset)
            packed = packed * np.int8(self.variant.weight_step)
        sizes = tuple(self.split[axis] for axis in self.order)
        whole = packed.reshape(sizes).transpose(np.argsort(self.order)).reshape(self.padded)
        return whole[tuple(slice(size) for size in self.unpadded)]


@dataclass(frozen=True, eq=False, kw_only=True)
class Variant:
    """Describes how a family of loops in `qmlir/targets/cpu/microkernels` reads its packed operands."""

    name: str

    group: int = 1
    """The number of terms that each lane adds up in one step."""

    element: IntegerType | None = None
    """The element type of packed weights; `None` if it is the type of the sum."""

    weight_bits: int | None = None
    """The number of bits in which weights without their zero points must fit, if `element` is wider."""

    parts: int = 1
    """The number of weights that share a byte; these belong to consecutive steps."""

    weight_step: int = 1
    """The common factor of weights that share bytes; it is divided out before they are stored."""

    weight_offset: int = 0
    """The offset that makes weights that share bytes unsigned; it is added after their zero points are subtracted."""

    sums_apart: bool = False
    """Whether the weights of a byte have separate sums: each is multiplied at its bit position in the byte."""
    short_steps: int = 0
    """The number of steps whose products are added pairwise in 16 bits before they are added in 32 bits; 0 if none are.

    If `weight_bits` does not prove that the 16-bit sums fit, the values of the weights must (see
    `qmlir.analysis.contraction_ranges`).
    """

    most_terms: int | None = None
    """The maximum number of terms in a sum, if the sum is limited by more than its width."""

    reads_unsigned: bool | None = None
    """Whether the loops read `x` as unsigned (True) or signed (False); `None` reads it unchanged.

    Bytes of the other signedness are shifted by 128 when they are read, and 16-bit integers by 2^15.
    """

    input_element: IntegerType | None = None
    """The element type of `x`; `None` for any type."""

    holds_signed: bool = False
    """Whether unsigned bytes of `x` are shifted to the signed range in memory beforehand, instead of by the loops."""

    is_centered: bool = False
    """Whether `x` is stored in memory with its zero point already subtracted."""

    sums_blocks: bool = False
    """Whether the loops sum blocks of terms separately, each with its own scale."""

    widens_weights: bool = False
    """Whether low-bit block-wise weights are converted to f32 before the multiplication."""

    weight_float: PlainFloat | None = None
    """The low-precision float type of such block-wise weights; `None` for integers."""

    is_lanewise: bool = False
    """Whether each lane computes a separate channel with its own weights, as in a depthwise convolution."""

    is_interleaved: bool = False
    """Whether each lane holds `group` rows of a window, with one register of sums per row."""

    is_unpacked: bool = False
    """Whether weights are bytes in the order of their tensor, from which their zero point is not subtracted."""

    subtracts_offset: bool = False
    """Whether the loops subtract the `offset` of the operation from `x`, by the sums of the weights that they read."""

    layout: type[WeightLayout] = WeightLayout

    @property
    def spare(self) -> int:
        """The number of bits by which sums are shifted left: those of a byte above a weight; 0 for unsigned weights."""
        return 0 if self.weight_offset else 8 - 8 // self.parts

    def offset(self, *, is_unsigned: bool) -> int:
        """Returns the offset that the loops add to an element of `x` when they read it."""
        bits = 8 if self.input_element is None else self.input_element.width.data
        return 0 if self.reads_unsigned is None else (self.reads_unsigned - is_unsigned) << bits - 1

    @property
    def makes_signed(self) -> bool:
        """Whether the loops read `x` as signed, regardless of its type."""
        return self.is_centered or self.holds_signed

    @property
    def reads_neighbours(self) -> bool:
        """Whether the loops require neighboring elements of `x` to be contiguous."""
        return self.group > 1 or self.is_lanewise


def variant_names() -> tuple[str, ...]:
    """Returns the names of all registered variants."""
    return tuple(registry.named("variants"))


def variant_named(name: str) -> Variant:
    """Returns the registered variant called `name`."""
    return registry.named("variants")[name].load(Variant)
