"""`i16_dots`, `i16_rows`, `i16_shifted_rows` and `u16_rows`: products of a few rows with matrices of unpacked bytes.

A decoder multiplies one query of each head by a cache of keys, and its probabilities by a cache of values. Packing such
a matrix takes several times as long as multiplying it, so these loops read each of its bytes once, in ascending order:

- `i16_dots`: the terms of a channel are adjacent, as in keys. The lanes of a register add terms of one channel, and are
  added up at the end, a register of channels at a time.
- `i16_rows`: the channels of a term are adjacent, as in values. Two rows of bytes are interleaved and widened, so that
  each lane adds two products.
- `i16_shifted_rows`: the same for elements of `x` that only fit in 16 bits with an offset. An additional row of ones
  sums the weights, by which the offset is multiplied.
- `u16_rows`: the same for elements of `x` that fit in 16 unsigned bits, such as probabilities. Four rows of bytes are
  interleaved. The high and the low bytes of `x` have separate sums, so that no weight is widened.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import i8, i16, i32
from xdsl.ir import SSAValue

from qmlir.dialects.kernel.packed_ops import PackedOp
from qmlir.dialects.kernel.variants import WeightLayout
from qmlir.dialects.simd.base import element_of, tile_of
from qmlir.dialects.simd.lanes import DotAccumulateOp, InterleaveHighOp, InterleaveLowOp, Signs
from qmlir.targets.cpu.loops.emitter import Emitter, Index, VectorEmitter, add, reinterpreted, times
from qmlir.targets.cpu.loops.epilogue import SumTile
from qmlir.targets.cpu.loops.geometry import Place, Window, load
from qmlir.targets.cpu.loops.tiles import Channels, TileWriter
from qmlir.targets.cpu.microkernels.broadcast_fma import Pairs
from qmlir.targets.cpu.microkernels.byte_dots import ByteDots
from qmlir.targets.cpu.microkernels.interleaved import QUAD, shuffled

PAIR = 2
"""The terms that a 32-bit lane adds at once."""

BYTES_OF_LANE = 4
"""The bytes of a 32-bit lane: one for each of the rows that are interleaved, or channels of one row."""

BLOCK_BYTES = QUAD * BYTES_OF_LANE
"""The bytes of a 128-bit block, within which bytes are interleaved."""

UNROLLED_STEPS = 8
"""The most registers of terms that are multiplied without a loop: those of a head of 128 elements."""


@dataclass(frozen=True)
class DotLayout(WeightLayout):
    """A matrix `[channels, terms]`, whose terms are divided into registers of 16-bit integers."""

    @property
    def fault(self) -> str:
        step = PAIR * self.lanes
        if self.taps or self.run % step:
            return f"variant '{self.variant.name}' requires a multiple of {step} terms, but got {self.run}"
        return ""

    @property
    def steps(self) -> int:
        return self.run // (PAIR * self.lanes)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.groups, self.channels, self.steps, PAIR * self.lanes)

    @property
    def padded(self) -> tuple[int, ...]:
        return self.unpadded

    @property
    def split(self) -> tuple[int, ...]:
        return self.shape

    @property
    def order(self) -> tuple[int, ...]:
        return (0, 1, 2, 3)


@dataclass(frozen=True)
class RowLayout(WeightLayout):
    """A matrix `[terms, channels]`; a step reads `Variant.group` rows."""

    @property
    def least(self) -> int:
        """The number that channels must be a multiple of."""
        return self.lanes

    @property
    def fault(self) -> str:
        if self.taps or self.run % self.variant.group or self.channels % self.least:
            return (
                f"variant '{self.variant.name}' requires a multiple of {self.variant.group} terms, and a multiple of "
                f"{self.least} channels, but got {self.run} and {self.channels}"
            )
        return ""

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.groups, 1, self.steps, self.variant.group * self.channels)

    @property
    def padded(self) -> tuple[int, ...]:
        return self.unpadded

    @property
    def split(self) -> tuple[int, ...]:
        return (self.groups, self.channels, self.steps, self.variant.group)

    @property
    def order(self) -> tuple[int, ...]:
        return (0, 2, 3, 1)


@dataclass(frozen=True)
class WideRowLayout(RowLayout):
    """A matrix `[terms, channels]`, whose rows are divided into registers of bytes."""

    @property
    def least(self) -> int:
        return BYTES_OF_LANE * self.lanes

    @property
    def fault(self) -> str:
        if self.vectors % BYTES_OF_LANE:
            return (
                f"variant '{self.variant.name}' requires a multiple of {BYTES_OF_LANE} vectors, but got {self.vectors}"
            )
        return super().fault


class DotWriter(TileWriter):
    """Emits the loops of `i16_dots`: channel after channel, so that weights are read in ascending order."""

    def _write_tile(self, emit: VectorEmitter, channels: Channels, positions: Sequence[Index], rows: int) -> None:
        lanes, valid = self.schedule.lanes, channels.valid
        first = times(emit, channels.block, self.schedule.vectors * lanes)
        matrix, _ = self._weight_row(emit, channels, positions)
        window = self.geometry.window_place(emit, positions, [0] * len(positions), 0)
        found = list[SSAValue]()
        for number in range(-(-valid // lanes)):
            own = range(number * lanes, min((number + 1) * lanes, valid))
            for row in range(rows):
                place = window.row(emit, row)
                dots = [self._dot(emit, place, [matrix, add(emit, first, channel)]) for channel in own]
                found.append(_sums_of_registers(emit.over(), dots))
        over = emit.over(len(found) // rows, rows)
        begun = self.epilogue.initial(over, first, valid)
        total = over.binary(arith.AddiOp, begun, over.stacked(found))
        self.epilogue.write(SumTile(emit, total, positions, first, valid))

    def _dot(self, emit: VectorEmitter, x: Place, weights: list[Index]) -> SSAValue:
        """The products of a row by a channel, as a register of partial sums."""
        lanes = PAIR * self.schedule.lanes

        def added(inner: VectorEmitter, step: Index, before: Sequence[SSAValue]) -> Sequence[SSAValue]:
            read = load(inner, self.geometry.w, [*weights, step, 0], lanes)
            wide = inner.with_lanes(lanes).convert(arith.ExtSIOp, read, i16)
            known = load(inner, self.geometry.x.memory, [*x[:-1], add(inner, x[-1], times(inner, step, lanes))], lanes)
            return [inner.insert(DotAccumulateOp(before[0], known, wide, Signs.SS))]

        alone, sums = emit.over(), [emit.over().constant(0, self.op.accumulator_type)]
        if self.geometry.steps > UNROLLED_STEPS:
            return alone.carried(self.geometry.steps, sums, added)[0]
        for step in range(self.geometry.steps):
            sums = list(added(alone, step, sums))
        return sums[0]


def _sums_of_registers(emit: VectorEmitter, registers: Sequence[SSAValue]) -> SSAValue:
    """Returns a register whose lanes are the sums of all lanes of the `registers`, and 0 behind them.

    Two neighbors become one register. Each of its halves is the sum of the halves of one of them; then quarters are
    added up, and so on.
    """
    part = lanes = emit.lanes
    left = [*registers, *[emit.constant(0, element_of(registers[0]))] * (lanes - len(registers))]
    while part > 1:
        part //= 2
        starts = range(0, 2 * lanes, 2 * part)
        low, high = ([start + at + lane for start in starts for lane in range(part)] for at in (0, part))
        left = [
            emit.binary(arith.AddiOp, shuffled(emit, a, b, low), shuffled(emit, a, b, high))
            for a, b in zip(left[::2], left[1::2], strict=True)
        ]
    return left[0]


class RowWriter(TileWriter):
    """Emits the loops of `i16_rows`."""

    def _step_weights(self, emit: VectorEmitter, tile: tuple[int, ...], weights: list[Index], step: Index) -> SSAValue:
        (vectors, _), lanes = tile, self.schedule.lanes
        (matrix, block, *_), width = weights, (2 if vectors % 2 == 0 else 1) * lanes
        alone, found = emit.over(), list[SSAValue]()
        for first in range(0, vectors * lanes, width):
            channel = add(emit, times(emit, block, self.schedule.vectors * lanes), first)
            rows = [
                load(emit, self.geometry.w, [matrix, 0, step, add(emit, channel, row * self.geometry.channels)], width)
                for row in range(PAIR)
            ]
            for start in range(0, width, lanes):
                pairs = [side * width + start + lane for lane in range(lanes) for side in range(PAIR)]
                both = shuffled(emit, rows[0], rows[1], pairs)
                found.append(alone.with_lanes(PAIR * lanes).convert(arith.ExtSIOp, both, i16))
        return emit.with_lanes(PAIR * lanes).over(vectors, 1).stacked(found)


class ByteRowWriter(TileWriter):
    """Emits the loops of `u16_rows`.

    Bytes are interleaved within 128-bit blocks, each of which holds 16 channels of a row: the blocks of the interleaved
    registers have four channels each. So the lanes of sums are channels in another order until `_exact`.
    """

    @property
    def _apart(self) -> int:
        return 2

    def _step(
        self, emit: VectorEmitter, sums: Sequence[SSAValue], window: Window, weights: list[Index], step: Index,
        valid: int,
    ) -> Sequence[SSAValue]:  # fmt: skip
        over = emit.over(*tile_of(sums[0]))
        loaded = over.extended(self._step_weights(emit, over.tile, weights, step))
        moved, rows = window.moved(emit, times(emit, step, self.variant.group)), emit.over(over.tile[1])
        halves = zip(*(self._bytes(emit, moved.row(emit, row)) for row in range(over.tile[1])), strict=True)
        return [
            self.variant.add(over, total, over.extended(rows.stacked(half)), loaded)
            for total, half in zip(sums, halves, strict=True)
        ]

    def _bytes(self, emit: VectorEmitter, position: Place) -> list[SSAValue]:
        """Returns the low and the high bytes of the elements of `x` of a step, repeated across a register."""
        group, memory = self.variant.group, self.geometry.x.memory
        few = emit.over().with_lanes(group)
        signed = load(few, memory, position, group)
        half = few.constant(-(1 << 15), i16)
        both = reinterpreted(few, few.binary(arith.XOrIOp, signed, half), i8)
        orders = ([2 * term + byte for _ in range(emit.lanes) for term in range(group)] for byte in range(2))
        return [shuffled(few, both, both, order) for order in orders]

    def _step_weights(self, emit: VectorEmitter, tile: tuple[int, ...], weights: list[Index], step: Index) -> SSAValue:
        (vectors, _), lanes = tile, self.schedule.lanes
        (matrix, block, *_), width, found = weights, BYTES_OF_LANE * lanes, list[SSAValue]()
        wide, pairs = emit.over().with_lanes(width), emit.over().with_lanes(width // 2)
        for first in range(0, vectors * lanes, width):
            channel = add(emit, times(emit, block, self.schedule.vectors * lanes), first)
            places = [add(emit, channel, row * self.geometry.channels) for row in range(self.variant.group)]
            rows = [load(wide, self.geometry.w, [matrix, 0, step, place], width) for place in places]
            mixed = [
                [reinterpreted(wide, wide.insert(kind(a, b, BLOCK_BYTES)), i16) for a, b in (rows[:2], rows[2:])]
                for kind in (InterleaveLowOp, InterleaveHighOp)
            ]
            found += [
                reinterpreted(pairs, pairs.insert(kind(a, b, BLOCK_BYTES // 2)), i8)
                for a, b in mixed
                for kind in (InterleaveLowOp, InterleaveHighOp)
            ]
        return wide.over(vectors, 1).stacked(found)

    def _exact(self, emit: VectorEmitter, sums: Sequence[SSAValue]) -> SSAValue:
        low, high = sums
        total = emit.binary(arith.AddiOp, low, emit.binary(arith.ShLIOp, high, emit.constant(8, i32)))
        registers, rows = emit.each(total), emit.over(emit.tile[1])
        groups = [registers[first : first + BYTES_OF_LANE] for first in range(0, len(registers), BYTES_OF_LANE)]
        return emit.stacked([each for group in groups for each in self._in_order(rows, group)])

    def _in_order(self, emit: VectorEmitter, registers: Sequence[SSAValue]) -> Iterator[SSAValue]:
        """Yields registers of consecutive channels: block `l` of register `j` has channels `16 l + 4 j` to `+ 3`."""
        quads = self.schedule.lanes // QUAD
        for vector in range(len(registers)):
            places = [divmod(vector * quads + quad, BYTES_OF_LANE) for quad in range(quads)]
            parts = [emit.part(registers[register], block * QUAD, QUAD) for block, register in places]
            while len(parts) > 1:
                parts = [emit.joined(a, b) for a, b in zip(parts[::2], parts[1::2], strict=True)]
            yield parts[0]


class Dots(Pairs):
    """Adds products of terms that are adjacent in both operands."""

    def write(self, op: PackedOp, emit: Emitter) -> None:
        DotWriter(op, self, emit).write(emit)


class UnpackedPairs(Pairs):
    """Multiplies two rows of weights by a pair of elements of `x`."""

    def write(self, op: PackedOp, emit: Emitter) -> None:
        RowWriter(op, self, emit).write(emit)


class WordRows(ByteDots):
    """Multiplies four rows of weights by four elements of `x`, byte by byte."""

    def write(self, op: PackedOp, emit: Emitter) -> None:
        ByteRowWriter(op, self, emit).write(emit)


I16_DOTS = Dots(
    name="i16_dots", group=PAIR, element=i8, input_element=i16, is_centered=True, is_unpacked=True, layout=DotLayout
)
I16_ROWS = UnpackedPairs(
    name="i16_rows", group=PAIR, element=i8, input_element=i16, is_centered=True, is_unpacked=True, layout=RowLayout
)
I16_SHIFTED_ROWS = UnpackedPairs(
    name="i16_shifted_rows", group=PAIR, element=i8, input_element=i16, subtracts_offset=True, is_unpacked=True,
    layout=RowLayout,
)  # fmt: skip
U16_ROWS = WordRows(
    name="u16_rows", group=BYTES_OF_LANE, element=i8, input_element=i16, reads_unsigned=True, is_unpacked=True,
    layout=WideRowLayout,
)  # fmt: skip
