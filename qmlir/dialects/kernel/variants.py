"""Variants of contraction loops: what one multiplies in a step, and how packed operands hold it.

A variant is one object, of the file that has its loops as well; `variants` of the registry names them. Here is what an
operation on packed operands means: what is read of `x`, and where each weight is. Packed weights are `[groups, blocks,
taps…, steps, channels of a block * terms of a step]`: what one step multiplies lies in one piece, and each step follows
the one before. Zeros fill blocks and steps up, so what a step reads of `x` beyond its own terms counts for nothing.
"""

import math
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import IntegerType

from qmlir import registry
from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.small_floats import PlainFloat

SCALAR = "scalar"
"""What a schedule says of loops over scalars, on operands as they are."""

LANES = "lanes"
"""Of structured operations: the innermost loop over vectors, operands having their elements beside each other."""


def _joined(parts: Array, bits: int) -> Array:
    """Weights `[…, parts, width]` of so many bits as bytes: the first one in the lowest bits."""
    placed = (parts.astype(np.int64) & ((1 << bits) - 1)) << (np.arange(8 // bits) * bits)[:, None]
    return placed.sum(axis=-2).astype(np.uint8).view(np.int8)


def _apart(joined: Array, bits: int, *, is_signed: bool) -> Array:
    """The weights `[…, parts, width]` that bytes hold."""
    above = (8 - bits - np.arange(8 // bits) * bits)[:, None]
    highest = (joined.view(np.uint8)[..., None, :] << above).astype(np.uint8)
    return highest.view(np.int8) >> (8 - bits) if is_signed else (highest >> (8 - bits)).view(np.int8)


@dataclass(frozen=True)
class WeightLayout:
    """Where packed weights are: `groups` by `channels` by `taps` by runs of `run` terms, for blocks of channels.

    A block has `vectors` registers of `lanes` channels.
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
        """The channels of a block."""
        return self.vectors * self.lanes

    @property
    def blocks(self) -> int:
        """The blocks of a group."""
        return -(-self.channels // self.width)

    @property
    def steps(self) -> int:
        """The groups of terms of a run, the last one padded; of weights that share bytes, groups of these."""
        return -(-self.run // (self.variant.group * self.variant.parts))

    @property
    def terms(self) -> int:
        """How many products each sum has."""
        return math.prod(self.taps) * self.run

    @property
    def reads_past(self) -> bool:
        """Whether the last step of a run reads terms of `x` that are not its own."""
        return self.run % (self.variant.group * self.variant.parts) != 0

    @property
    def fault(self) -> str:
        """Why weights of these sizes can't be packed so, as the end of a message; empty where they can."""
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
        """The same, filled up to whole blocks and steps."""
        return (self.groups, self.blocks * self.width, *self.taps, self.steps * self.variant.parts * self.variant.group)

    @property
    def split(self) -> tuple[int, ...]:
        """The same with axes for the channels of a block and the terms of a step."""
        return (
            self.groups, self.blocks, self.width, *self.taps, self.steps * self.variant.parts, self.variant.group,
        )  # fmt: skip

    @property
    def order(self) -> tuple[int, ...]:
        """The axes of `split` in the order in which packed weights have them."""
        rank = len(self.split)
        return (0, 1, *range(3, rank - 1), 2, rank - 1)

    def pack(self, weights: Array) -> Array:
        """Weights of any shape with these elements in this order, packed."""
        border = [(0, after - before) for before, after in zip(self.unpadded, self.padded, strict=True)]
        ordered = np.pad(weights.reshape(self.unpadded), border).reshape(self.split).transpose(self.order)
        if (parts := self.variant.parts) > 1:
            ordered = ordered // self.variant.weight_step
            ordered = _joined(ordered.reshape(*self.shape[:-1], parts, self.shape[-1]), 8 // parts)
        return np.ascontiguousarray(ordered.reshape(self.shape))

    def unpack(self, packed: Array) -> Array:
        """The weights `[groups, channels, taps…, run]` that were packed."""
        if (parts := self.variant.parts) > 1:
            packed = _apart(packed, 8 // parts, is_signed=not self.variant.weight_offset)
            packed = packed * np.int8(self.variant.weight_step)
        sizes = tuple(self.split[axis] for axis in self.order)
        whole = packed.reshape(sizes).transpose(np.argsort(self.order)).reshape(self.padded)
        return whole[tuple(slice(size) for size in self.unpadded)]


@dataclass(frozen=True, eq=False, kw_only=True)
class Variant:
    """A family of loops: how its packed operands are read. `qmlir/targets/cpu/microkernels` has the loops."""

    name: str

    group: int = 1
    """The terms that one lane sums in a step."""

    element: IntegerType | None = None
    """What packed weights are held in, `None` for the type of the sum."""

    weight_bits: int | None = None
    """The bits that weights without their zero points must fit, where `element` has more."""

    parts: int = 1
    """How many weights share a byte: those of steps behind each other."""

    weight_step: int = 1
    """What weights that share bytes are multiples of, which their bits leave out."""

    weight_offset: int = 0
    """How much more than weights without their zero points those are that share bytes: they have no sign then."""

    sums_apart: bool = False
    """Whether each of the weights of a byte has sums of its own: they are multiplied where they are in the byte."""
    short_steps: int = 0
    """The steps whose products are added in 16 bits, neighbours together, before 32 bits take them; 0 where none are.

    If `weight_bits` doesn't prove that they fit, the weights must (`qmlir.analysis.contraction_ranges`)."""

    most_terms: int | None = None
    """The most terms of a sum, where its width is not all that limits them."""

    reads_unsigned: bool | None = None
    """Whether bytes are read as unsigned or as signed ones, moved by 128 where they are not; `None`: as they are."""

    input_element: IntegerType | None = None
    """What `x` is held in, `None` for any type."""

    holds_signed: bool = False
    """Whether unsigned bytes of `x` are moved into the signed range before, in memory, rather than where loops read."""

    is_centred: bool = False
    """Whether `x` is held there without its zero point."""

    sums_blocks: bool = False
    """Whether loops sum blocks of terms by themselves, where each has a scale."""

    widens_weights: bool = False
    """Whether weights that are held in few bits are multiplied, in blocks, as floats of 32."""

    weight_float: PlainFloat | None = None
    """The floats whose codes such weights are; `None` where they are integers."""

    is_lanewise: bool = False
    """Whether each channel has a lane and weights of its own: a depthwise convolution."""

    is_interleaved: bool = False
    """Whether a lane has `group` rows of a window: there are as many registers of sums."""

    layout: type[WeightLayout] = WeightLayout

    @property
    def spare(self) -> int:
        """The bits of a byte beyond those of a weight: so far to the left are the sums, unless they are apart."""
        return 0 if self.sums_apart else 8 - 8 // self.parts

    def offset(self, *, is_unsigned: bool) -> int:
        """What is added to an element of `x` that is read."""
        return 0 if self.reads_unsigned is None else 128 * (self.reads_unsigned - is_unsigned)

    @property
    def makes_signed(self) -> bool:
        """Whether what loops read of `x` has a sign, whatever it was."""
        return self.is_centred or self.holds_signed

    @property
    def reads_neighbours(self) -> bool:
        """Whether loops read elements of `x` that must lie beside each other."""
        return self.group > 1 or self.is_lanewise


def variant_names() -> tuple[str, ...]:
    """The variants that operands can be packed for: those of the registry."""
    return tuple(registry.named("variants"))


def variant_named(name: str) -> Variant:
    """The variant of this name, one of those of the registry."""
    return registry.named("variants")[name].load(Variant)
