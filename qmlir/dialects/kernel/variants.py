"""Variants of contraction loops: the operands of one step, and their packed layout.

Each variant is one object, defined in the file with its loops and named in `variants` of the registry. This module
defines the semantics of packed operands: how `x` is read, and where each weight is. Packed weights are `[groups,
blocks, taps…, steps, channels of a block * terms of a step]`: the weights of one step are contiguous, and steps follow
each other. Blocks and steps are zero-padded, so elements of `x` that a step reads beyond its terms contribute nothing.
"""

import math
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import IntegerType

from qmlir import registry
from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.small_floats import PlainFloat

SCALAR = "scalar"
"""The variant of schedules for loops over scalars, on unpacked operands."""

LANES = "lanes"
"""The variant of structured operations whose innermost loop is vectorized over contiguous elements."""


def _joined(parts: Array, bits: int) -> Array:
    """Packs weights `[…, parts, width]` of `bits` bits into bytes, the first one in the lowest bits."""
    placed = (parts.astype(np.int64) & ((1 << bits) - 1)) << (np.arange(8 // bits) * bits)[:, None]
    return placed.sum(axis=-2).astype(np.uint8).view(np.int8)


def _apart(joined: Array, bits: int, *, is_signed: bool) -> Array:
    """Unpacks bytes into the weights `[…, parts, width]`."""
    above = (8 - bits - np.arange(8 // bits) * bits)[:, None]
    highest = (joined.view(np.uint8)[..., None, :] << above).astype(np.uint8)
    return highest.view(np.int8) >> (8 - bits) if is_signed else (highest >> (8 - bits)).view(np.int8)


@dataclass(frozen=True)
class WeightLayout:
    """The layout of packed weights: `groups` by `channels` by `taps` by runs of `run` terms, in blocks of channels.

    A block consists of `vectors` registers of `lanes` channels.
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
        """The number of channels of a block."""
        return self.vectors * self.lanes

    @property
    def blocks(self) -> int:
        """The number of blocks of a group."""
        return -(-self.channels // self.width)

    @property
    def steps(self) -> int:
        """The number of groups of terms in a run, the last one padded; for weights that share bytes, of bytes' worth of
        groups."""
        return -(-self.run // (self.variant.group * self.variant.parts))

    @property
    def terms(self) -> int:
        """The number of products in each sum."""
        return math.prod(self.taps) * self.run

    @property
    def reads_past(self) -> bool:
        """Whether the last step of a run reads elements of `x` beyond its own terms."""
        return self.run % (self.variant.group * self.variant.parts) != 0

    @property
    def fault(self) -> str:
        """Why weights of these sizes cannot be packed, as the end of a message; empty if they can."""
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
        """The padded shape with separate axes for the channels of a block and the terms of a step."""
        return (
            self.groups, self.blocks, self.width, *self.taps, self.steps * self.variant.parts, self.variant.group,
        )  # fmt: skip

    @property
    def order(self) -> tuple[int, ...]:
        """The axes of `split` in the order of packed weights."""
        rank = len(self.split)
        return (0, 1, *range(3, rank - 1), 2, rank - 1)

    def pack(self, weights: Array) -> Array:
        """Packs weights, which must have the elements of `unpadded` in row-major order."""
        border = [(0, after - before) for before, after in zip(self.unpadded, self.padded, strict=True)]
        ordered = np.pad(weights.reshape(self.unpadded), border).reshape(self.split).transpose(self.order)
        if (parts := self.variant.parts) > 1:
            ordered = ordered // self.variant.weight_step
            ordered = _joined(ordered.reshape(*self.shape[:-1], parts, self.shape[-1]), 8 // parts)
        return np.ascontiguousarray(ordered.reshape(self.shape))

    def unpack(self, packed: Array) -> Array:
        """Recovers the weights `[groups, channels, taps…, run]`."""
        if (parts := self.variant.parts) > 1:
            packed = _apart(packed, 8 // parts, is_signed=not self.variant.weight_offset)
            packed = packed * np.int8(self.variant.weight_step)
        sizes = tuple(self.split[axis] for axis in self.order)
        whole = packed.reshape(sizes).transpose(np.argsort(self.order)).reshape(self.padded)
        return whole[tuple(slice(size) for size in self.unpadded)]


@dataclass(frozen=True, eq=False, kw_only=True)
class Variant:
    """A family of loops, and how it reads packed operands; the loops are in `qmlir/targets/cpu/microkernels`."""

    name: str

    group: int = 1
    """The number of terms that one lane sums in a step."""

    element: IntegerType | None = None
    """The element type of packed weights; `None` for the type of the sum."""

    weight_bits: int | None = None
    """The width, in bits, that weights without their zero points must fit, if `element` is wider."""

    parts: int = 1
    """The number of weights that share a byte; they belong to consecutive steps."""

    weight_step: int = 1
    """The common factor of weights that share bytes, which their bits omit."""

    weight_offset: int = 0
    """The offset added to weights that share bytes, without their zero points, to make them unsigned."""

    sums_apart: bool = False
    """Whether each of the weights of a byte has separate sums: it is multiplied at its position in the byte."""
    short_steps: int = 0
    """The number of steps whose products are added pairwise in 16 bits before they are added in 32 bits; 0 for none.

    If `weight_bits` doesn't prove that they fit, the weights must (`qmlir.analysis.contraction_ranges`).
    """

    most_terms: int | None = None
    """The maximum number of terms of a sum, if its width is not the only limit."""

    reads_unsigned: bool | None = None
    """Whether bytes are read as unsigned or signed, shifted by 128 if they are not; `None` reads them unchanged."""

    input_element: IntegerType | None = None
    """The element type of `x`; `None` for any type."""

    holds_signed: bool = False
    """Whether unsigned bytes of `x` are shifted to the signed range in memory beforehand, rather than by the loops."""

    is_centred: bool = False
    """Whether `x` is stored there without its zero point."""

    sums_blocks: bool = False
    """Whether the loops sum blocks of terms separately, each with its own scale."""

    widens_weights: bool = False
    """Whether block-wise weights of few bits are converted to f32 before the multiplication."""

    weight_float: PlainFloat | None = None
    """The low-precision float type that such weights encode; `None` for integers."""

    is_lanewise: bool = False
    """Whether each channel has its own lane and weights, as in a depthwise convolution."""

    is_interleaved: bool = False
    """Whether a lane holds `group` rows of a window, with one register of sums for each."""

    layout: type[WeightLayout] = WeightLayout

    @property
    def spare(self) -> int:
        """The bits of a byte beyond those of a weight, by which sums are shifted left, unless they are separate."""
        return 0 if self.sums_apart else 8 - 8 // self.parts

    def offset(self, *, is_unsigned: bool) -> int:
        """Returns the offset added to an element of `x` when it is read."""
        return 0 if self.reads_unsigned is None else 128 * (self.reads_unsigned - is_unsigned)

    @property
    def makes_signed(self) -> bool:
        """Whether the loops read `x` as signed regardless of its type."""
        return self.is_centred or self.holds_signed

    @property
    def reads_neighbours(self) -> bool:
        """Whether the loops require certain elements of `x` to be contiguous."""
        return self.group > 1 or self.is_lanewise


def variant_names() -> tuple[str, ...]:
    """Returns the names of the variants in the registry."""
    return tuple(registry.named("variants"))


def variant_named(name: str) -> Variant:
    """Returns the variant `name` of the registry."""
    return registry.named("variants")[name].load(Variant)
