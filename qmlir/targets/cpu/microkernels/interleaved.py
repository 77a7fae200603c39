"""`depthwise_dot` and `depthwise_pairs`: depthwise convolutions of bytes; a lane holds several rows of the window.

In `depthwise_dot`, a lane holds one byte from each of four rows of the window. In `depthwise_pairs`, it holds one byte
from each of two rows, widened to 16 bits, and the weights have 16 bits. A dot product sums each lane. To fill the
lanes, registers of consecutive channels, one per row, are interleaved within 128-bit blocks: four registers of bytes in
two rounds, two registers of 16-bit integers in one round. Channels stay in the resulting order until the end.

A column of the window is interleaved once and added to every position of the tile whose window contains it. Epilogue
operands with one element per channel are permuted to the order of the registers before the loop over positions. The
bytes that the epilogue returns are permuted back.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseArrayBase, VectorType, i8, i16, i32, i64
from xdsl.dialects.vector import ShuffleOp
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.kernel.ops import shaped
from qmlir.dialects.kernel.packed_ops import PackedOp
from qmlir.dialects.kernel.variants import WeightLayout
from qmlir.dialects.simd.base import bits_of, element_of, lanes_of, vector
from qmlir.dialects.simd.lanes import Conversion, ConvertOp, DotAccumulateOp, InterleaveHighOp, InterleaveLowOp, Signs
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.loops.emitter import Emitter, Index, VectorEmitter, add, emit_place, reinterpreted, times
from qmlir.targets.cpu.loops.epilogue import SumTile, write_body
from qmlir.targets.cpu.loops.geometry import EpilogueOperand, Operand, Place, load, store
from qmlir.targets.cpu.loops.tiles import TiledVariant, TileWriter

QUAD = 4
"""The number of bytes per 32-bit lane, and of lanes per 128-bit block."""

_IMAGE_AXES = 3
"""Batch, rows, columns: a window of a single position has one axis for all of them."""


def shuffled(emit: Emitter, a: SSAValue, b: SSAValue, lanes: Sequence[int]) -> SSAValue:
    """Emits the chosen lanes of two vectors, those of `b` counted after those of `a`."""
    mask = DenseArrayBase.from_list(i64, list(lanes))
    return emit.insert(ShuffleOp(a, b, mask, result_type=vector(len(lanes), element_of(a))))


def interleaved_channels(lanes: int, registers: int) -> Array:
    """Returns the channel of each lane, `[registers, lanes]`, relative to the first channel that was read.

    Raises `ValueError` if `lanes` is not a multiple of 4, the lanes of a 128-bit block.
    """
    if lanes % QUAD:
        raise ValueError(f"lanes must be a multiple of {QUAD} (blocks of 128 bits), but got {lanes}")
    block, position = np.divmod(np.arange(lanes), QUAD)
    return np.asarray(QUAD * registers * block + position + QUAD * np.arange(registers)[:, None])


def rows_there(rows: int, positions: int, stride: int, dilation: int) -> int:
    """Returns the number of rows of the last window, `dilation` apart, that lie inside the `rows` of `x`.

    There are `positions` windows, `stride` rows apart. Each window is padded to a multiple of the rows per lane; the
    weights of padding rows are zeros.
    """
    return (rows - 1 - (positions - 1) * stride) // dilation + 1


class InterleavedLayout(WeightLayout):
    """The layout of weights for interleaved rows: each lane holds a group of rows of the window of size `taps`."""

    @property
    def fault(self) -> str:
        if len(self.taps) != 2:
            return f"variant '{self.variant.name}' requires 2 spatial axes, but got {len(self.taps)}"
        if self.vectors != self.variant.group or self.lanes % QUAD:
            return (
                f"variant '{self.variant.name}' requires {self.variant.group} "
                f"vectors of a multiple of {QUAD} lanes, but "
                f"got {self.vectors} vectors of {self.lanes} lanes"
            )
        return ""

    @property
    def _row_groups(self) -> int:
        return -(-self.taps[0] // self.variant.group)

    @property
    def reads_past(self) -> bool:
        return False

    @property
    def shape(self) -> tuple[int, ...]:
        return (1, self.blocks, self._row_groups, self.taps[1], 1, self.width * self.variant.group)

    @property
    def unpadded(self) -> tuple[int, ...]:
        return (self.channels, *self.taps)

    @property
    def padded(self) -> tuple[int, ...]:
        return (self.blocks * self.width, self._row_groups * self.variant.group, self.taps[1])

    @property
    def split(self) -> tuple[int, ...]:
        # A channel index consists of a 128-bit block, a register, and a lane in the block.
        rows = (self._row_groups, self.variant.group)
        return (self.blocks, self.lanes // QUAD, self.vectors, QUAD, *rows, self.taps[1])

    @property
    def order(self) -> tuple[int, ...]:
        return (0, 4, 6, 2, 1, 3, 5)

    def unpack(self, packed: Array) -> Array:
        return super().unpack(packed).reshape(1, self.channels, *self.taps, 1)


@dataclass(frozen=True)
class _Block:
    """The values of a block of channels that all positions share."""

    channel: Index
    valid: int
    weights: list[list[list[SSAValue]]]
    """The registers of weights, indexed by group of rows, column and register."""

    initial: list[SSAValue]
    """The initial value of each register of sums."""

    parameters: list[list[SSAValue]] | None
    """The epilogue operands of each register; `None` if one of them varies between positions."""

    def count(self, width: int) -> int | None:
        """Returns the number of valid channels among `width`; `None` if all are valid."""
        return self.valid if self.valid < width else None


class DepthwiseWriter(TileWriter):
    """Emits the loops of a depthwise convolution whose packed weights hold several rows of the window per lane."""

    def __init__(self, op: PackedOp, variant: TiledVariant, emit: Emitter):
        super().__init__(op, variant, emit)
        self.group = variant.group
        """The number of window rows per lane; also the number of registers of sums."""
        if len(self.geometry.taps) != _IMAGE_AXES:
            raise op_error(op, f"variant '{variant.name}' requires a 2-D window")
        self.width = self.group * self.schedule.lanes
        geometry = self.geometry
        self.rows_there = rows_there(
            shaped(op.x)[0][1], geometry.positions[1], geometry.strides[1], geometry.dilations[1]
        )

    def write(self, emit: Emitter) -> None:
        vectors = VectorEmitter.of(emit, self.schedule.lanes)
        rows, blocks = math.prod(self.geometry.positions[:-1]), -(-self.geometry.channels // self.width)
        if self.threads and rows > blocks:  # more of them are easier to divide evenly
            self._over_rows(vectors, [], self._over_blocks)
        else:
            self._over_blocks(vectors, [])

    def _over_blocks(self, emit: VectorEmitter, done: list[Index]) -> None:
        """All blocks of channels, in the row `done` or in all rows."""
        whole, rest = divmod(self.geometry.channels, self.width)
        if whole:
            self._loop(emit, whole, lambda inner, block: self._write_pieces(inner, block, self.width, done))
        if rest:
            self._write_pieces(emit, whole, rest, done)

    def _write_pieces(self, emit: VectorEmitter, block: Index, valid: int, done: list[Index]) -> None:
        """The channels of a block, those that don't fill it in registers of half the size, and half of that."""
        first = 0
        while first < valid:
            lanes = self._lanes_for(valid - first)
            count = min(valid - first, self.group * lanes)
            self._write_channels(emit.with_lanes(lanes), block, first, count, done)
            first += count

    def _lanes_for(self, channels: int) -> int:
        """As many lanes as the schedule has, or half of them, and half again, where there are not so many channels."""
        lanes = self.schedule.lanes
        while lanes % (2 * QUAD) == 0 and channels < self.group * lanes:
            lanes //= 2
        return lanes

    def _write_channels(self, emit: VectorEmitter, block: Index, first: int, valid: int, done: list[Index]) -> None:
        """Channels of a block from `first` on, in the row `done` or in all of them."""
        channel = add(emit, times(emit, block, self.width), first)
        row_groups, columns = self.geometry.taps[1:]

        def registers(rows: int, column: int) -> list[SSAValue]:
            starts = [vector * self.width + first for vector in range(self.group)]
            places = [[0, block, rows, column, 0, start] for start in starts]
            return [load(emit, self.geometry.w, place, self.group * emit.lanes) for place in places]

        weights = [[registers(rows, column) for column in range(columns)] for rows in range(row_groups)]
        start = self.epilogue.start
        initial = [emit.constant(0, i32)] * self.group
        if start is not None:
            initial = self._parameter(emit, self.geometry.readings[start.operand], channel, valid)
        shared = _Block(channel, valid, weights, initial, self._parameters(emit, channel, valid))

        def write(inner: VectorEmitter, positions: list[Index], rows: int) -> None:
            self._write_columns(inner, shared, positions, rows)

        self._over_rows(emit, done, lambda inner, row: self._over_tiles(inner, row, write))

    def _parameters(self, emit: VectorEmitter, channel: Index, valid: int) -> list[list[SSAValue]] | None:
        """The epilogue operands of a block in the order of the sums, where each is of the channels alone."""
        axis = len(self.geometry.positions)
        readings = self.geometry.readings
        if not self.epilogue.is_vector_work or any(each.map_.used_dims() - {axis} for each in readings):
            return None
        return [self._parameter(emit, each, channel, valid) for each in readings]

    def _parameter(self, emit: VectorEmitter, reading: EpilogueOperand, channel: Index, valid: int) -> list[SSAValue]:
        dims: list[Index] = [*(0 for _ in self.geometry.positions), channel]
        position = emit_place(emit, reading.map_, dims, (*self.geometry.positions, self.geometry.channels))
        if not reading.map_.used_dims():
            return [emit.splat(emit.load(reading.memory, position))] * self.group
        width = self.group * emit.lanes
        whole = load(emit, reading.memory, position, width, valid if valid < width else None)
        return [shuffled(emit, whole, whole, row) for row in self._channels(emit).tolist()]

    def _write_columns(self, emit: VectorEmitter, block: _Block, positions: Sequence[Index], rows: int) -> None:
        """A tile: each column of its windows, added to the positions that have it."""
        sums = [block.initial for _ in range(rows)]
        stride, dilation = self.geometry.strides[-1], self.geometry.dilations[-1]
        uses: dict[int, list[tuple[int, int]]] = {}
        for row in range(rows):
            for tap in range(self.geometry.taps[-1]):
                uses.setdefault(row * stride + tap * dilation, []).append((row, tap))
        for column in sorted(uses):
            for rows_of_lane, weights in enumerate(block.weights):
                lanes = self._interleaved(emit, block, positions, rows_of_lane, column)
                for row, tap in uses[column]:
                    sums[row] = [
                        self.variant.add(emit, *each) for each in zip(sums[row], lanes, weights[tap], strict=True)
                    ]
        self._finish(emit, block, sums, positions)

    def _interleaved(
        self, emit: VectorEmitter, block: _Block, positions: Sequence[Index], group: int, column: int
    ) -> list[SSAValue]:
        """A group of rows of a column of `x`, counted from the first of the tile, as the lanes of as many registers."""
        read: list[SSAValue] = []
        for row in range(self.group * group, min(self.group * (group + 1), self.rows_there)):
            window = self.geometry.window_place(emit, positions, [0, row, 0], block.channel)
            position = window.column(emit, column)
            read.append(self.variant.read(emit, self.geometry.x, position, block.count(self.group * emit.lanes)))
        read += [read[-1]] * (self.group - len(read))  # whose weights are 0
        if self.group < QUAD:
            return self._halves(emit, read[0], read[1], 8)
        first, second = (self._halves(emit, read[pair], read[pair + 1], 16) for pair in (0, 2))
        pairs = zip(*([reinterpreted(emit, each, i16) for each in half] for half in (first, second)), strict=True)
        return [reinterpreted(emit, each, i8) for low, high in pairs for each in self._halves(emit, low, high, 8)]

    def _channels(self, emit: VectorEmitter) -> Array:
        """The channel of each lane of the registers of sums."""
        return interleaved_channels(emit.lanes, self.group)

    def _positions(self, emit: VectorEmitter) -> Array:
        """Where the channels of a block are, in order: lanes of interleaved registers, counted through all of them."""
        return np.asarray(np.argsort(self._channels(emit), axis=None))

    def _halves(self, emit: VectorEmitter, a: SSAValue, b: SSAValue, block: int) -> list[SSAValue]:
        return [emit.insert(kind(a, b, block)) for kind in (InterleaveLowOp, InterleaveHighOp)]

    def _finish(
        self, emit: VectorEmitter, block: _Block, sums: Sequence[Sequence[SSAValue]], positions: Sequence[Index]
    ) -> None:
        """The epilogue of a tile, on registers as they are interleaved where that is possible."""
        if block.parameters is None:
            count = -(-block.valid // emit.lanes)
            ordered = [self._in_order(emit, registers)[:count] for registers in sums]
            by_vector = chain.from_iterable(zip(*ordered, strict=True))
            total = emit.over(count, len(sums)).stacked(list(by_vector))
            self.epilogue.write(SumTile(emit, total, positions, block.channel, block.valid))
            return
        for row, registers in enumerate(sums):
            stored = self._result(emit, registers, block.parameters)
            position = [*positions[:-1], add(emit, positions[-1], row), block.channel]
            store(emit, stored, self.geometry.y, position, block.count(self.group * emit.lanes))

    def _result(
        self, emit: VectorEmitter, registers: Sequence[SSAValue], parameters: Sequence[Sequence[SSAValue]]
    ) -> SSAValue:
        """What becomes of the sums of one position, as one vector of channels in order."""
        start, saturation = self.epilogue.start, self.epilogue.saturation
        written = [
            write_body(
                emit, self.op.body.block, [register, *(each[vector] for each in parameters)],
                {} if start is None else {start.total: register}, None if saturation is None else saturation.value,
            )
            for vector, register in enumerate(registers)
        ]  # fmt: skip
        written = [each if isinstance(each.type, VectorType) else emit.splat(each) for each in written]
        if saturation is None:
            return self._joined(emit, written)
        saturated = saturation.write(emit, written)
        return shuffled(emit, saturated, saturated, self._positions(emit).tolist())

    def _in_order(self, emit: VectorEmitter, registers: Sequence[SSAValue]) -> list[SSAValue]:
        """Interleaved registers as registers of channels in order."""
        whole, lanes = self._joined(emit, registers), emit.lanes
        return [
            shuffled(emit, whole, whole, range(first, first + lanes)) for first in range(0, self.group * lanes, lanes)
        ]

    def _joined(self, emit: VectorEmitter, registers: Sequence[SSAValue]) -> SSAValue:
        """Interleaved registers as one of channels in order."""
        registers, step = _untruncated(emit, registers)
        register, lane = np.divmod(self._positions(emit), emit.lanes)
        # A shuffle of each pair of registers, with the same mask, moves its channels to their final positions. Then the
        # pairs are merged.
        mask = (register % 2 * lanes_of(registers[0]) + lane * step).tolist()
        pairs = [shuffled(emit, registers[first], registers[first + 1], mask) for first in range(0, self.group, 2)]
        if len(pairs) == 1:
            return pairs[0]
        positions = np.arange(register.size)
        return shuffled(
            emit, pairs[0], pairs[1], np.where(register < 2, positions, positions.size + positions).tolist()
        )


def _untruncated(emit: VectorEmitter, registers: Sequence[SSAValue]) -> tuple[list[SSAValue], int]:
    """Returns registers of truncated bytes as the bytes of the wider integers, and the number of bytes per integer.

    The shuffle that follows selects bytes of wider integers just as cheaply, so this saves the truncations.
    """
    owners = [each.owner for each in registers]
    truncations = [each for each in owners if isinstance(each, ConvertOp) and each.kind.data == Conversion.TRUNCI]
    if len(truncations) < len(registers) or element_of(registers[0]) != i8:
        return list(registers), 1
    wide = [each.value for each in truncations]
    for each in truncations:
        if not each.result.uses:
            Rewriter.erase_op(each)
    return [reinterpreted(emit, each, i8) for each in wide], bits_of(element_of(wide[0])) // 8


class Interleaved(TiledVariant):
    """A depthwise variant whose lanes hold several rows of the window."""

    def write(self, op: PackedOp, emit: Emitter) -> None:
        DepthwiseWriter(op, self, emit).write(emit)


class Interleave4(Interleaved):
    """Multiplies one unsigned byte from each of four rows of the window per lane."""

    def read(self, emit: VectorEmitter, x: Operand, position: Place, count: int | None) -> SSAValue:
        wide = emit.with_lanes(4 * emit.lanes)
        value = load(wide, x.memory, position, wide.lanes, count)
        return value if x.is_unsigned else wide.binary(arith.XOrIOp, value, wide.constant(-128, i8))

    def add(self, emit: VectorEmitter, sums: SSAValue, x: SSAValue, w: SSAValue) -> SSAValue:
        return emit.insert(DotAccumulateOp(sums, x, w, Signs.US))


class Interleave2(Interleaved):
    """Multiplies one byte from each of two rows of the window per lane, widened to 16 bits."""

    def read(self, emit: VectorEmitter, x: Operand, position: Place, count: int | None) -> SSAValue:
        wide = emit.with_lanes(2 * emit.lanes)
        kind = arith.ExtUIOp if x.is_unsigned else arith.ExtSIOp
        return wide.convert(kind, load(wide, x.memory, position, wide.lanes, count), i16)

    def add(self, emit: VectorEmitter, sums: SSAValue, x: SSAValue, w: SSAValue) -> SSAValue:
        return emit.insert(DotAccumulateOp(sums, x, w, Signs.SS))


DEPTHWISE_DOT = Interleave4(
    name="depthwise_dot", group=4, element=i8, input_element=i8, reads_unsigned=True, is_lanewise=True,
    is_interleaved=True, layout=InterleavedLayout,
)  # fmt: skip
DEPTHWISE_PAIRS = Interleave2(
    name="depthwise_pairs", group=2, element=i16, input_element=i8, is_lanewise=True, is_interleaved=True,
    layout=InterleavedLayout,
)  # fmt: skip
