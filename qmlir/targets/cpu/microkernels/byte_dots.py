"""Microkernels that multiply bytes, or narrower weights, and sum in 32 bits: by dot products, or in 16 bits first."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseArrayBase, i8, i16, i64
from xdsl.dialects.vector import ShuffleOp
from xdsl.ir import SSAValue

from qmlir.dialects.kernel.ops import scalar_of
from qmlir.dialects.kernel.packed_ops import PackedBlocksOp, PackedOp
from qmlir.dialects.simd.base import lanes_of, tile_of, vector
from qmlir.dialects.simd.lanes import DotAccumulateOp, MultiplyPairsOp, Signs
from qmlir.targets.cpu.isa.predicates import NARROW_TERMS
from qmlir.targets.cpu.loops.emitter import Emitter, Index, VectorEmitter, add, reinterpreted, times
from qmlir.targets.cpu.loops.geometry import Operand, Place, Window, load
from qmlir.targets.cpu.loops.tiles import BlockWriter, GroupVariant, TileWriter

# Dot products of bytes: `u8s8_dot`, `s8s8_dot`, and `s8s8_lanes` for CPUs that can multiply by one lane of a register.

# `u8s8_dot` and `s8s8_dot`: four bytes of `x` per lane, converted to one signedness, by signed bytes of weights.


class ByteDots(GroupVariant):
    """Reads groups of four bytes; if `x` has the other signedness, moves them by 128, by flipping the highest bit."""

    def moved(self, emit: VectorEmitter, x: Operand, value: SSAValue) -> SSAValue:
        """Returns registers of bytes of `x` with the signedness that the dot product requires."""
        wide = emit.with_lanes(4 * emit.lanes)
        is_moved = x.is_unsigned != self.reads_unsigned
        return wide.binary(arith.XOrIOp, value, wide.constant(-128, i8)) if is_moved else value

    def add(self, emit: VectorEmitter, sums: SSAValue, x: SSAValue, w: SSAValue) -> SSAValue:
        return emit.insert(DotAccumulateOp(sums, x, w, Signs.US if self.reads_unsigned else Signs.SS))


U8S8_DOT = ByteDots(name="u8s8_dot", group=4, element=i8, input_element=i8, reads_unsigned=True, sums_blocks=True)
"""Inputs in the unsigned range, and weights without zero points."""

S8S8_DOT = ByteDots(name="s8s8_dot", group=4, element=i8, input_element=i8, reads_unsigned=False, sums_blocks=True)
"""Inputs in the signed range, and weights without zero points."""


# `s8s8_lanes`: like `s8s8_dot`, for CPUs whose dot products can multiply all lanes by one lane of a register.
#
# For each row of `x`, a register holds the bytes of several steps, one step per lane. Each step multiplies by its lane,
# which costs nothing if the instruction takes a lane index (ARM's `sdot`). So a row of `x` is loaded once per register
# instead of once per step. Its bytes are already in the signed range in memory.


class ByteLaneWriter(TileWriter):
    """Emits the loops of a contraction whose steps are grouped in runs, with one step per lane of a register."""

    def _sum_steps(
        self, emit: VectorEmitter, sums: Sequence[SSAValue], window: Window, weights: list[Index], valid: int
    ) -> Sequence[SSAValue]:
        whole, rest = divmod(self.geometry.steps, self.schedule.lanes)
        if whole:
            sums = emit.carried(
                whole, sums,
                lambda inner, run, before: self._run(
                    inner, before, window, weights, times(inner, run, self.schedule.lanes)
                ),
            )  # fmt: skip
        first = whole * self.schedule.lanes
        if not rest:
            return sums
        return emit.carried(
            rest, sums,
            lambda inner, step, before: self._step(inner, before, window, weights, add(inner, first, step), valid),
        )  # fmt: skip

    def _run(
        self, emit: VectorEmitter, sums: Sequence[SSAValue], window: Window, weights: list[Index], first: Index
    ) -> Sequence[SSAValue]:
        """The steps from `first` on whose bytes of `x` fill a register of each row."""
        (total,), tile = sums, tile_of(sums[0])
        moved, over = window.moved(emit, times(emit, first, self.variant.group)), emit.over(*tile)
        rows = [self._read(emit, moved.row(emit, row)) for row in range(tile[1])]
        for lane in range(self.schedule.lanes):
            step = add(emit, first, lane)
            loaded = self._step_weights(emit, tile, weights, step)
            self._prefetch_rows(emit, window, step, tile[1])
            x = emit.over(tile[1]).stacked([self._splat(emit, row, lane) for row in rows])
            total = self.variant.add(over, total, over.extended(x), over.extended(loaded))
        return [total]

    def _read(self, emit: VectorEmitter, position: Place) -> SSAValue:
        """The bytes of a row for a run of steps."""
        assert isinstance(self.variant, ByteLanes)
        value = load(emit, self.geometry.x.memory, position, self.schedule.lanes * self.variant.group)
        return self.variant.moved(emit, self.geometry.x, value)

    def _splat(self, emit: VectorEmitter, row: SSAValue, lane: int) -> SSAValue:
        """The bytes of one step in all lanes."""
        group = self.variant.group
        order = [lane * group + byte for _ in range(self.schedule.lanes) for byte in range(group)]
        mask = DenseArrayBase.from_list(i64, order)
        return emit.insert(ShuffleOp(row, row, mask, result_type=vector(len(order), i8)))


class ByteLanes(ByteDots):
    """Reads the bytes of several steps at a time, and multiplies by one lane of them per step."""

    def write(self, op: PackedOp, emit: Emitter) -> None:
        ByteLaneWriter(op, self, emit).write(emit)

    def add(self, emit: VectorEmitter, sums: SSAValue, x: SSAValue, w: SSAValue) -> SSAValue:
        # `sdot` takes a lane index only for its last factor.
        return emit.insert(DotAccumulateOp(sums, w, x, Signs.SS))


S8S8_LANES = ByteLanes(
    name="s8s8_lanes", group=4, element=i8, input_element=i8, reads_unsigned=False, holds_signed=True, sums_blocks=True
)
"""Inputs in the signed range, and weights without zero points."""


# `u8s4_short` to `u8s7_short`, `u8s8_short`: products of bytes; a few steps at a time are summed in 16 bits.
#
# One instruction multiplies bytes and adds neighboring products to 16 bits; the instruction for pairs of 16 bits
# handles only half the elements. It saturates on overflow, but `short_steps`, the number of steps that fit, is
# derived from the width of the weights, so overflow never happens. `u8s8_short` (one step), `u8s8_short2` and
# `u8s8_short4` require constant weights whose values prove it.


class ShortSumWriter(TileWriter):
    """Emits the loops of a contraction whose steps are grouped in runs of `short_steps`."""

    def _sum_steps(
        self, emit: VectorEmitter, sums: Sequence[SSAValue], window: Window, weights: list[Index], valid: int
    ) -> Sequence[SSAValue]:
        assert isinstance(self.variant, ShortSums)
        count = self.variant.short_steps
        whole, rest = divmod(self.geometry.steps, count)
        if whole:
            sums = emit.carried(
                whole, sums,
                lambda inner, run, before: self._run(inner, before, window, weights, times(inner, run, count), count),
            )  # fmt: skip
        return self._run(emit, sums, window, weights, whole * count, rest) if rest else sums

    def _run(
        self, emit: VectorEmitter, sums: Sequence[SSAValue], window: Window, weights: list[Index], first: Index,
        count: int,
    ) -> Sequence[SSAValue]:  # fmt: skip
        """Adds `count` steps from `first` on in 16 bits, and adds neighbors of the result to the 32-bit sums."""
        (total,), over = sums, emit.over(*tile_of(sums[0]))

        def added(inner: VectorEmitter, number: Index, before: Sequence[SSAValue]) -> Sequence[SSAValue]:
            step = add(inner, first, add(inner, number, 1))
            more = self._short(inner.over(*over.tile), window, weights, step)
            return [inner.binary(arith.AddiOp, *pair) for pair in zip(before, more, strict=True)]

        short: Sequence[SSAValue] = self._short(over, window, weights, first)
        if count > 1:
            short = emit.carried(count - 1, short, added)
        return [self._widened(over, total, short)]

    def _short(self, emit: VectorEmitter, window: Window, weights: list[Index], step: Index) -> Sequence[SSAValue]:
        """Returns the narrow sums of one step: the products of a tile, neighbors added, in less than 32 bits."""
        variant, alone = self.variant, emit.over(emit.tile[0], 1)
        assert isinstance(variant, ShortSums)
        loaded = self._step_weights(emit, emit.tile, weights, step)
        parts = [variant.part(alone, loaded, part) for part in range(variant.parts)]
        moved = window.moved(emit, times(emit, step, variant.group * variant.parts))
        products = list[SSAValue]()
        for part, own in enumerate(parts):
            place = moved.moved(emit, part * variant.group)
            read = emit.extended(variant.read_rows(emit.over(emit.tile[1]), self.geometry.x, place))
            products.append(variant.short(emit, read, emit.extended(own)))
        return [_total(emit, products), *self._counted(alone, parts)]

    def _counted(self, emit: VectorEmitter, weights: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """The sums of weights of a step that a run needs besides its products."""
        return []

    def _widened(self, emit: VectorEmitter, total: SSAValue, short: Sequence[SSAValue]) -> SSAValue:
        """Adds the narrow sums of a run to the 32-bit sums."""
        return emit.insert(DotAccumulateOp(total, short[0], emit.with_lanes(2 * emit.lanes).constant(1, i16)))


def _total(emit: VectorEmitter, values: Sequence[SSAValue]) -> SSAValue:
    return reduce(lambda total, value: emit.binary(arith.AddiOp, total, value), values)


class ShortBlockWriter(ShortSumWriter, BlockWriter):
    """Emits the loops of a matmul with block-wise scales whose steps are grouped in runs of `short_steps`.

    If `x` has an offset, the unsigned weights of a run are summed in bytes, and then multiplied by the offset.
    """

    @property
    def _counts(self) -> int:
        return 0

    def _counted(self, emit: VectorEmitter, weights: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return [_total(emit, weights)] if self.offset else []

    def _widened(self, emit: VectorEmitter, total: SSAValue, short: Sequence[SSAValue]) -> SSAValue:
        products, *counts = short
        total = super()._widened(emit, total, [products])
        for each in counts:
            alone = emit.over(emit.tile[0], 1)
            pairs = emit.insert(MultiplyPairsOp(each, alone.with_lanes(4 * emit.lanes).constant(1, i8)))
            factor = emit.with_lanes(2 * emit.lanes).constant(-self.offset, i16)
            total = emit.insert(DotAccumulateOp(total, emit.extended(pairs), factor))
        return total


@dataclass(frozen=True, eq=False, kw_only=True)
class ShortSums(ByteDots):
    """Multiplies unsigned bytes by narrow weights, and sums a few steps in 16 bits.

    The number of steps follows from the width of the weights. With 4 bits, eight steps of two products each reach at
    most 8 * 2 * 255 * 8 = 32640 in magnitude, which fits in 16 bits.
    """

    def write(self, op: PackedOp, emit: Emitter) -> None:
        ShortSumWriter(op, self, emit).write(emit)

    def write_blocks(self, op: PackedBlocksOp, emit: Emitter) -> None:
        ShortBlockWriter(op, self, emit).write(emit)

    def short(self, emit: VectorEmitter, x: SSAValue, w: SSAValue) -> SSAValue:
        """Returns the products of a step, neighbors added, in 16 bits."""
        return emit.insert(MultiplyPairsOp(x, w))


def _named(name: str, steps: int, bits: int | None = None) -> ShortSums:
    return ShortSums(
        name=name, group=4, element=i8, input_element=i8, weight_bits=bits, reads_unsigned=True, short_steps=steps
    )


U8S4_SHORT, U8S5_SHORT, U8S6_SHORT, U8S7_SHORT = (
    _named(f"u8s{bits}_short", 1 << 7 - bits, bits) for bits in (4, 5, 6, 7)
)
U8S8_SHORT, U8S8_SHORT2, U8S8_SHORT4 = (_named(f"u8s8_short{steps if steps > 1 else ''}", steps) for steps in (1, 2, 4))


# `u8s4_dot`, `u8s2_dot`, `s8u2_dot`, `s8u1_dot`: dot products of four bytes per lane with packed sub-byte weights.


class NarrowDots(ByteDots):
    """Moves each sub-byte weight to the highest bits of a separate byte, and sums the products.

    In these bits, a weight is a signed number scaled by `2^spare`. Moving it there takes one or two instructions, while
    sign-extending it into the lowest bits would take three. `total` removes the factor from the sums.
    """

    def part(self, emit: VectorEmitter, weights: SSAValue, part: int) -> SSAValue:
        wide = emit.with_lanes(lanes_of(weights))
        above = self.spare - part * (8 // self.parts)
        if above:
            weights = wide.binary(arith.ShLIOp, weights, wide.constant(above, i8))
        if part:
            weights = wide.binary(arith.AndIOp, weights, wide.constant(-1 << self.spare, i8))
        return weights

    def total(self, emit: VectorEmitter, sums: Sequence[SSAValue]) -> SSAValue:
        (found,) = sums
        return emit.binary(arith.ShRSIOp, found, emit.constant(self.spare, scalar_of(found.type)))


class MaskedDots(ByteDots):
    """Multiplies unsigned weights at their bit position within a shared byte, without moving them.

    A mask clears all other weights of the byte. The result, an unsigned byte, is then multiplied by signed bytes of
    `x`. This saves one instruction per part compared to moving the weights. Each part has separate sums; if its weights
    are `n` bits above the lowest bit, these sums are scaled by `2^n`. `total` shifts them back and adds them up.
    """

    def part(self, emit: VectorEmitter, weights: SSAValue, part: int) -> SSAValue:
        return _masked(emit, weights, 8 // self.parts, part)

    def add(self, emit: VectorEmitter, sums: SSAValue, x: SSAValue, w: SSAValue) -> SSAValue:
        return emit.insert(DotAccumulateOp(sums, w, x, Signs.US))

    def total(self, emit: VectorEmitter, sums: Sequence[SSAValue]) -> SSAValue:
        found, *others = sums
        element, bits = scalar_of(found.type), 8 // self.parts
        for part, other in enumerate(others, 1):
            own = emit.binary(arith.ShRSIOp, other, emit.constant(part * bits, element))
            found = emit.binary(arith.AddiOp, found, own)
        if self.weight_step == 1:
            return found
        return emit.binary(arith.ShLIOp, found, emit.constant(self.weight_step.bit_length() - 1, element))


def _masked(emit: VectorEmitter, weights: SSAValue, bits: int, part: int) -> SSAValue:
    """Clears all bits of bytes but those at index `part`, where they stay."""
    wide, mask = emit.with_lanes(lanes_of(weights)), ((1 << bits) - 1) << part * bits
    return wide.binary(arith.AndIOp, weights, wide.constant(mask - (mask >> 7 << 8), i8))


class ShortFields(ShortSums):
    """Multiplies unsigned weights, moved to the lowest bits of separate bytes, by signed bytes of `x`.

    The weights are moved in integers of 16 bits, which x86 can shift, before a mask clears all others.
    """

    def part(self, emit: VectorEmitter, weights: SSAValue, part: int) -> SSAValue:
        bits = 8 // self.parts
        if part:
            pairs = reinterpreted(emit, weights, i16)
            wide = emit.with_lanes(lanes_of(pairs))
            moved = wide.binary(arith.ShRUIOp, pairs, wide.constant(part * bits, i16))
            weights = reinterpreted(emit, moved, i8)
        return _masked(emit, weights, bits, 0)

    def short(self, emit: VectorEmitter, x: SSAValue, w: SSAValue) -> SSAValue:
        return emit.insert(MultiplyPairsOp(w, x))


def _of_byte_data(bits: int) -> NarrowDots:
    return NarrowDots(
        name=f"u8s{bits}_dot", group=4, element=i8, weight_bits=bits, parts=8 // bits, most_terms=NARROW_TERMS,
        input_element=i8, reads_unsigned=True, sums_blocks=True,
    )  # fmt: skip


def _unsigned(bits: int, short_steps: int = 0, weight_step: int = 1) -> ByteDots:
    kind, suffix = (ShortFields, "short") if short_steps else (MaskedDots, "dot")
    return kind(
        name=f"s8u{bits}_{suffix}", group=4, element=i8, weight_bits=bits, parts=8 // bits, weight_step=weight_step,
        weight_offset=1 << bits - 1, most_terms=NARROW_TERMS, input_element=i8, reads_unsigned=False,
        sums_apart=not short_steps, sums_blocks=weight_step == 1, short_steps=short_steps,
    )  # fmt: skip


U8S4_DOT, U8S2_DOT = _of_byte_data(4), _of_byte_data(2)

S8U4_DOT, S8U2_DOT = _unsigned(4), _unsigned(2)

S8U1_DOT = _unsigned(1, weight_step=2)
"""Weights of -1 or 1, stored as 0 or 2 (offset 1): one bit suffices."""

S8U4_SHORT, S8U2_SHORT = _unsigned(4, short_steps=4), _unsigned(2, short_steps=8)
"""Sums of 8 groups of 4-bit weights reach 8 * 2 * 15 * 128 = 30720, those of 32 groups of 2-bit weights 24576."""
