"""`i16_dots`, `i16_rows` and `i16_shifted_rows`: products of a few rows with matrices of unpacked bytes.

A decoder multiplies one query of each head by a cache of keys, and its probabilities by a cache of values. Packing such
a matrix takes several times as long as multiplying it, so these loops read each of its bytes once, in ascending order:

- `i16_dots`: the terms of a channel are adjacent, as in keys. The lanes of a register add terms of one channel, and are
  added up at the end, a register of channels at a time.
- `i16_rows`: the channels of a term are adjacent, as in values. Two rows of bytes are interleaved and widened, so that
  each lane adds two products.
- `i16_shifted_rows`: the same for elements of `x` that only fit in 16 bits with an offset. An additional row of ones
  sums the weights, by which the offset is multiplied.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import i8, i16
from xdsl.ir import SSAValue

from qmlir.dialects.kernel.packed_ops import PackedOp
from qmlir.dialects.kernel.variants import WeightLayout
from qmlir.dialects.simd.base import element_of
from qmlir.dialects.simd.lanes import DotAccumulateOp, Signs
from qmlir.targets.cpu.loops.emitter import Emitter, Index, VectorEmitter, add, times
from qmlir.targets.cpu.loops.epilogue import SumTile
from qmlir.targets.cpu.loops.geometry import Place, load
from qmlir.targets.cpu.loops.tiles import Channels, TileWriter
from qmlir.targets.cpu.microkernels.broadcast_fma import Pairs
from qmlir.targets.cpu.microkernels.interleaved import shuffled

PAIR = 2
"""The terms that a 32-bit lane adds at once."""

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
    """A matrix `[terms, channels]`; a step reads two rows."""

    @property
    def fault(self) -> str:
        if self.taps or self.run % PAIR or self.channels % self.lanes:
            return (
                f"variant '{self.variant.name}' requires an even number of terms, and a multiple of {self.lanes} "
                f"channels, but got {self.run} and {self.channels}"
            )
        return ""

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.groups, 1, self.steps, PAIR * self.channels)

    @property
    def padded(self) -> tuple[int, ...]:
        return self.unpadded

    @property
    def split(self) -> tuple[int, ...]:
        return (self.groups, self.channels, self.steps, PAIR)

    @property
    def order(self) -> tuple[int, ...]:
        return (0, 2, 3, 1)


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


class Dots(Pairs):
    """Adds products of terms that are adjacent in both operands."""

    def write(self, op: PackedOp, emit: Emitter) -> None:
        DotWriter(op, self, emit).write(emit)


class UnpackedPairs(Pairs):
    """Multiplies two rows of weights by a pair of elements of `x`."""

    def write(self, op: PackedOp, emit: Emitter) -> None:
        RowWriter(op, self, emit).write(emit)


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
