"""Lowers contractions on memrefs to loops: over register tiles if their operands are packed, else over scalars."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, bf16, f16, f32, i16, i32
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import Rewriter
from xdsl.traits import is_side_effect_free

from qmlir import registry
from qmlir.dialects.kernel.attributes import ScheduleAttr
from qmlir.dialects.kernel.contraction import ContractionOp, ConvOp
from qmlir.dialects.kernel.lowering.scalars import Scalar
from qmlir.dialects.kernel.ops import shaped
from qmlir.dialects.kernel.packed_ops import PackedBlocksOp, PackedMatMulOp, PackedOp
from qmlir.dialects.kernel.variants import Variant
from qmlir.dialects.kernel.winograd import WinogradOp
from qmlir.dialects.simd.base import bits_of, tile_of
from qmlir.dialects.simd.memory import LoadGroupSplatOp, PrefetchOp
from qmlir.ir.builtin_types import integer_list
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.loops.emitter import Emitter, Index, VectorEmitter, add, reinterpreted, times
from qmlir.targets.cpu.loops.epilogue import Epilogue, SumTile, for_each, lanes_of_part, write_element
from qmlir.targets.cpu.loops.geometry import (
    Geometry,
    Operand,
    Place,
    Window,
    geometry_of,
    load_tile,
    readings_of,
)
from qmlir.targets.cpu.loops.nests import collapse_axes
from qmlir.targets.cpu.loops.structured import replace_by_loops

# Register tiles: loops over blocks of channels and runs of positions, sums in registers, then the epilogue.
#
# The loops are nested in the order groups, blocks of channels, positions, tiles. So the weights of a block stay in the
# L1 cache during the loop over positions, and the weights of the next block are prefetched meanwhile if the schedule
# says so. If the schedule divides the positions into panels (`block`), all blocks of channels are computed for a panel
# before the next one, so that the panel's rows of `x` stay in the L2 cache. Positions that don't fill a tile are a
# smaller tile of static size after the loop.

_EVEN = 14
"""Steps of a loop that threads may divide alone: their shares are about equal."""

_DIVIDED = 2
"""Loops that threads divide, as if they were one: blocks of channels alone may be too few to be shared evenly."""

LINE_BYTES = 64
"""The bytes that one prefetch loads: a cache line."""


class Channels(NamedTuple):
    """A block of the channels of a group, of which `valid` exist."""

    group: Index
    block: Index
    valid: int


class TileWriter:
    """Emits the loops of one contraction with packed weights."""

    def __init__(self, op: PackedOp, variant: "TiledVariant", emit: Emitter):
        self.op = op
        self.variant = variant
        self.schedule: ScheduleAttr = op.loops
        self.geometry: Geometry = self._geometry(emit)
        self.epilogue = Epilogue(op, self.geometry, is_started=self._apart == 1, spare=self.variant.spare)
        self.threads: int = _DIVIDED if self.schedule.threads else 0
        """The number of outermost loops, among those not emitted yet, that threads divide."""
        self.weights: SSAValue | None = None
        """All packed weights, collapsed to one axis, if they are prefetched; else `None`."""
        self.ahead: Index = 0
        """The index of the first weight that the current tile prefetches."""
        self.panel: Index | None = None
        """The first position of the current panel; `None` if there is only one panel."""

    def _geometry(self, emit: Emitter) -> Geometry:
        return geometry_of(self.op, emit)

    def write(self, emit: Emitter) -> None:
        """Emits all loops at the insertion point of `emit`."""
        vectors = VectorEmitter.of(emit, self.schedule.lanes)
        if self.schedule.prefetch:
            self.weights = collapse_axes(emit, self.geometry.w, [list(range(len(shaped(self.geometry.w)[0])))])
        self._loop(vectors, self.geometry.groups, self._write_group)

    def _loop(self, emit: VectorEmitter, count: int, write: Callable[[VectorEmitter, Index], None]) -> None:
        """`write` for 0 to below `count`; the outermost loops are those that threads may divide."""
        divided = self.threads
        with emit.loop(count, threads=bool(divided)) as (inner, position):
            self.threads = max(divided - (count > 1), 0)
            write(inner, position)
            self.threads = divided
        if count > 1 and divided == _DIVIDED and self._keeps_positions():
            loop = inner.builder.insertion_point.block.parent_op()
            assert isinstance(loop, scf.ParallelOp)
            _give_two_axes(loop)

    def _keeps_positions(self) -> bool:
        """Returns true if each thread gets some positions and all channels, instead of some channels of all positions.

        Then a thread reads inputs that it wrote itself, but every thread reads all weights. This is better if the
        weights are smaller than `x` and the result together.
        """
        x, y, w = (_bytes(value) for value in (self.op.x, self.geometry.y, self.geometry.w))
        return x + y > w

    def _write_group(self, emit: VectorEmitter, group: Index) -> None:
        width = self.schedule.vectors * self.schedule.lanes
        whole, rest = divmod(self.geometry.channels // self.geometry.groups, width)

        def write(inner: VectorEmitter, block: Index) -> None:
            self._write_block(inner, Channels(group, block, width))

        def write_panel(inner: VectorEmitter, panel: Index) -> None:
            self._loop(inner, whole, lambda inside, block: self._panel(inside, Channels(group, block, width), panel))

        if whole:
            panels = self._panels
            self._loop(emit, panels if panels > 1 else whole, write_panel if panels > 1 else write)
        if rest:
            self._write_block(emit, Channels(group, whole, rest))

    @property
    def _tiles(self) -> int:
        """The tiles of a run, the smaller one at its end among them."""
        return -(-self.geometry.positions[-1] // self.schedule.rows)

    @property
    def _panels(self) -> int:
        """Into how many panels the positions are cut: 1 where the schedule doesn't say so, or they are no one run."""
        block = self.schedule.block
        tiles = block // self.schedule.rows if block > 1 else 0
        return -(-self._tiles // tiles) if tiles and len(self.geometry.positions) == 1 else 1

    @property
    def _panel_tiles(self) -> int:
        """The tiles of a panel: the last one may have less."""
        return -(-self._tiles // self._panels)

    def _panel(self, emit: VectorEmitter, channels: Channels, panel: Index) -> None:
        """A block of channels at the positions of a panel."""
        rows, first = self.schedule.rows, times(emit, panel, self._panel_tiles)
        self.panel = times(emit, first, rows)
        last = emit.insert(arith.MinSIOp(emit.index(add(emit, first, self._panel_tiles)), emit.index(self._tiles)))
        with emit.loop(last, first) as (inner, tile):
            if self.geometry.positions[-1] % rows:
                self._write_any_tile(inner, channels, [], tile)
            else:
                self._write_tile(inner, channels, [times(inner, tile, rows)], rows)
        self.panel = None

    def _write_block(self, emit: VectorEmitter, channels: Channels) -> None:
        """A block of channels at all positions."""
        self._over_rows(emit, [], lambda inner, done: self._write_tiles(inner, channels, done))

    def _over_rows(
        self, emit: VectorEmitter, done: list[Index], write: Callable[[VectorEmitter, list[Index]], None]
    ) -> None:
        """`write` for each row of the result, of which the positions `done` are known."""
        axis = len(done)
        if axis == self.geometry.tile_axis:
            write(emit, done)
        else:
            count = self.geometry.positions[axis]
            self._loop(emit, count, lambda inner, position: self._over_rows(inner, [*done, position], write))

    def _write_tiles(self, emit: VectorEmitter, channels: Channels, done: Sequence[Index]) -> None:
        rows = self.schedule.rows
        whole, rest = divmod(self.geometry.positions[-1], rows)
        if whole and rest and self.threads:
            # Threads divide blocks and tiles together, so that the smaller tile is one more step of the loop.
            self._loop(emit, whole + 1, lambda inner, tile: self._write_any_tile(inner, channels, done, tile))
            return
        self._over_tiles(emit, done, lambda inner, place, count: self._write_tile(inner, channels, place, count))

    def _over_tiles(
        self, emit: VectorEmitter, done: Sequence[Index], write: Callable[[VectorEmitter, list[Index], int], None]
    ) -> None:
        """`write` for the first position of each tile of a run, and the number of its rows."""
        rows = self.schedule.rows
        whole, rest = divmod(self.geometry.positions[-1], rows)
        if whole:
            self._loop(emit, whole, lambda inner, tile: write(inner, [*done, times(inner, tile, rows)], rows))
        if rest:
            write(emit, [*done, whole * rows], rest)

    def _write_any_tile(self, emit: VectorEmitter, channels: Channels, done: Sequence[Index], tile: Index) -> None:
        """A tile of a run, of which the last one is smaller."""
        rows = self.schedule.rows
        whole, rest = divmod(self.geometry.positions[-1], rows)
        regions: list[Region] = []
        for position, count in ((times(emit, tile, rows), rows), (whole * rows, rest)):
            branch = Block()
            inside = emit.at_end(branch)
            self._write_tile(inside, channels, [*done, position], count)
            inside.builder.insert(scf.YieldOp())
            regions.append(Region(branch))
        is_whole = emit.insert(arith.CmpiOp(emit.index(tile), emit.index(whole), "slt"))
        emit.builder.insert(scf.IfOp(is_whole, [], regions[0], regions[1]))

    def _write_tile(self, emit: VectorEmitter, channels: Channels, positions: Sequence[Index], rows: int) -> None:
        geometry, (group, block, valid) = self.geometry, channels
        width = self.schedule.vectors * self.schedule.lanes
        channel = add(emit, times(emit, group, geometry.channels // geometry.groups), times(emit, block, width))
        weights = self._weight_row(emit, channels, positions)
        terms = geometry.terms // geometry.groups
        offset = channel if self.variant.is_lanewise else times(emit, group, terms)
        self.ahead = self._ahead(emit, weights, positions)
        over = emit.over(-(-valid // emit.lanes), rows)
        begun = [self.epilogue.initial(over, channel, valid), *self._zeros(over, self._apart - 1)]
        begun += self._zeros(emit.over(over.tile[0], 1), self._counts)
        total = self._exact(over, self._sum_taps(emit, begun, [], weights, positions, offset, valid))
        self.epilogue.write(SumTile(emit, total, positions, channel, valid))

    @property
    def _apart(self) -> int:
        """The sums of each lane: those of the weights that share a byte, one for each, or one for all."""
        return self.variant.parts if self.variant.sums_apart else 1

    def _zeros(self, emit: VectorEmitter, count: int) -> list[SSAValue]:
        return [emit.constant(0, self.op.product_type)] * count if count else []

    @property
    def offset(self) -> int:
        """The offset of the elements of `x`: the sums of weights that it is multiplied by are an additional row."""
        return self.op.offset.value.data if isinstance(self.op, PackedBlocksOp | PackedMatMulOp) else 0

    @property
    def _counts(self) -> int:
        """The additional sums of weights times 1."""
        return self._apart if self.offset else 0

    def _exact(self, emit: VectorEmitter, sums: Sequence[SSAValue]) -> SSAValue:
        """The sums of a tile, minus `offset` times the sums of the weights."""
        assert self.epilogue.start is None or self._apart == 1
        (total, *others), counts = sums[: self._apart], sums[self._apart :]
        if self.epilogue.start is None:
            total = self.variant.total(emit, [total, *others])
        if counts:
            own = emit.over(*tile_of(counts[0]))
            less = own.binary(arith.MuliOp, self.variant.total(own, counts), own.constant(self.offset, i32))
            total = emit.binary(arith.SubiOp, total, emit.extended(less))
        return total

    def _weight_row(self, emit: VectorEmitter, channels: Channels, positions: Sequence[Index]) -> list[Index]:
        """The place of the weights of a block: its group, or the batch of the positions."""
        sizes, (group, block, _) = self.geometry.positions, channels
        for axis in range(self.geometry.batches):
            group = add(emit, times(emit, group, sizes[axis]), positions[axis])
        return [group, block]

    @property
    def _block_size(self) -> int:
        """The packed weights of a block of channels."""
        return math.prod(shaped(self.geometry.w)[0][2:])

    @property
    def _due(self) -> int:
        """How many of the weights of the next block each position that this one is used for asks for."""
        count = math.prod(self.geometry.positions)
        return -(-self._block_size // (count if self._panels == 1 else self._panel_tiles * self.schedule.rows))

    def _ahead(self, emit: VectorEmitter, weights: Sequence[Index], positions: Sequence[Index]) -> Index:
        """Where the weights of the next block that a tile asks for begin: each position has its share of them."""
        if self.weights is None:
            return 0
        block = joined(emit, weights, shaped(self.geometry.w)[0][:2])
        next_ = times(emit, add(emit, block, 1), self._block_size)
        position = joined(emit, positions, self.geometry.positions)
        if self.panel is not None:
            position = emit.insert(arith.SubiOp(emit.index(position), emit.index(self.panel)))
        return add(emit, next_, times(emit, position, self._due))

    def _prefetch(self, emit: VectorEmitter, step: Sequence[Index], rows: int) -> None:
        """Ask for what is due in a step of a tile; behind the last block there is nothing, which does no harm."""
        if self.weights is None:
            return
        sizes = shaped(self.geometry.w)[0][2:-1]
        due = -(-self._due * rows // math.prod(sizes))
        first = add(emit, self.ahead, times(emit, joined(emit, step, sizes), due))
        for line in range(0, due, LINE_BYTES * 8 // bits_of(shaped(self.weights)[1])):
            emit.builder.insert(PrefetchOp(self.weights, emit.index(add(emit, first, line)), self.schedule.prefetch))

    def _prefetch_rows(self, emit: VectorEmitter, window: Window, step: Index, rows: int) -> None:
        """Ask for what is due of the next tile's rows of `x`, which are no longer in the nearest cache."""
        x, row = self.geometry.x.memory, self.geometry.row
        if self.panel is None or row is None or not self.schedule.prefetch:
            return
        due = -(-rows * row // self.geometry.steps)
        first = add(emit, add(emit, window.last, rows * row), times(emit, step, due))
        for line in range(0, due, LINE_BYTES * 8 // bits_of(self.geometry.x.element)):
            emit.builder.insert(PrefetchOp(x, emit.index(add(emit, first, line)), self.schedule.prefetch))

    def _sum_taps(
        self, emit: VectorEmitter, sums: Sequence[SSAValue], taps: list[Index], weights: list[Index],
        positions: Sequence[Index], offset: Index, valid: int,
    ) -> Sequence[SSAValue]:  # fmt: skip
        axis = len(taps)
        if axis < len(self.geometry.taps):
            return emit.carried(
                self.geometry.taps[axis],
                sums,
                lambda inner, tap, before: self._sum_taps(
                    inner, before, [*taps, tap], weights, positions, offset, valid
                ),
            )
        window = self.geometry.window_place(emit, positions, taps, offset)
        # Packed weights have axes only for the taps of the window, and x has no axis of taps if positions were joined.
        count = len(shaped(self.op.w)[0]) - 4
        own: list[Index] = taps[-count:] if 0 < count <= len(taps) else [0] * count
        return self._sum_steps(emit, sums, window, [*weights, *own], valid)

    def _sum_steps(
        self, emit: VectorEmitter, sums: Sequence[SSAValue], window: Window, weights: list[Index], valid: int
    ) -> Sequence[SSAValue]:
        """The steps of one run of terms."""
        return emit.carried(
            self.geometry.steps,
            sums,
            lambda inner, step, before: self._step(inner, before, window, weights, step, valid),
        )

    def _step(
        self, emit: VectorEmitter, sums: Sequence[SSAValue], window: Window, weights: list[Index], step: Index,
        valid: int,
    ) -> Sequence[SSAValue]:  # fmt: skip
        """One step of all sums: the weights of the block, and each row of `x`."""
        group, after = self.variant.group, list(sums)
        loaded = self._step_weights(emit, tile_of(sums[0]), weights, step)
        self._prefetch_rows(emit, window, step, tile_of(sums[0])[1])
        moved = window.moved(emit, times(emit, step, group * self.variant.parts))
        for part in range(self.variant.parts):
            own = self.variant.part(emit.over(*tile_of(loaded)), loaded, part)
            after = self._add_part(emit, after, moved.moved(emit, part * group), own, valid, part)
        return after

    def _step_weights(self, emit: VectorEmitter, tile: tuple[int, ...], weights: list[Index], step: Index) -> SSAValue:
        """The weights of a step, a register for each vector of channels: `[vectors, 1, lanes * group]`."""
        width, (vectors, rows) = self.schedule.lanes * self.variant.group, tile
        loaded = self._read_once(emit, [*weights, step, 0], vectors, width)
        self._prefetch(emit, [*weights[2:], step], rows)
        return loaded

    def _read_once(self, emit: VectorEmitter, position: list[Index], vectors: int, width: int) -> SSAValue:
        """Loads registers of `width` elements of the packed weights, and prefetches those at the distance `ahead`."""
        memory = self.geometry.w
        if self.schedule.ahead:
            shape, element = shaped(memory)
            flat = collapse_axes(emit, memory, [list(range(len(shape)))])
            lane = LINE_BYTES * 8 // bits_of(element)
            first = joined(emit, position, shape)
            for line in range(0, vectors * width, lane):
                ahead = add(emit, first, line + self.schedule.ahead // LINE_BYTES * lane)
                emit.builder.insert(PrefetchOp(flat, emit.index(ahead), 1))
        return load_tile(emit.with_lanes(width).over(vectors, 1), memory, position, (width, 0))

    def _add_part(
        self, emit: VectorEmitter, sums: list[SSAValue], window: Window, weights: SSAValue, valid: int, part: int
    ) -> list[SSAValue]:
        """A group of terms added to all sums."""
        own = part if self._apart > 1 else 0
        over = emit.over(*tile_of(sums[own]))
        if self.variant.is_lanewise:
            read = self._read_channels(over, window, valid)
        else:
            read = over.extended(self.variant.read_rows(emit.over(over.tile[1]), self.geometry.x, window))
        after = [*sums[:own], self.variant.add(over, sums[own], read, over.extended(weights)), *sums[own + 1 :]]
        if self._counts:
            place = self._apart + own
            alone = emit.over(*tile_of(sums[place]))
            ones = alone.with_lanes(emit.lanes * self.variant.group).constant(1, self.geometry.x.element)
            after[place] = self.variant.add(alone, sums[place], ones, weights)
        return after

    def _read_channels(self, emit: VectorEmitter, window: Window, valid: int) -> SSAValue:
        alone, (vectors, rows) = emit.over(), emit.tile
        places = [(vector, window.row(emit, row)) for vector in range(vectors) for row in range(rows)]
        return emit.stacked(
            [
                self.variant.read(
                    alone, self.geometry.x, [*place[:-1], add(emit, place[-1], vector * emit.lanes)],
                    lanes_of_part(valid, vector, emit.lanes),
                )
                for vector, place in places
            ]
        )  # fmt: skip


class LoopVariant(Variant):
    """A variant that also emits its loops; all variants in the registry are of this class."""

    def write(self, op: PackedOp, emit: Emitter) -> None:
        """Emits the loops of a contraction with packed weights at the insertion point of `emit`."""
        raise NotImplementedError


class TiledVariant(LoopVariant):
    """A variant defined by one step of a sum: the values that it reads, and the update of an accumulator.

    It describes vector operations, not instruction sets: operations without an instruction are expanded later.
    """

    def write(self, op: PackedOp, emit: Emitter) -> None:
        TileWriter(op, self, emit).write(emit)

    def write_blocks(self, op: PackedBlocksOp, emit: Emitter) -> None:
        """Emits the loops of a matmul whose weights have a scale for each block of terms."""
        BlockWriter(op, self, emit).write(emit)

    def read(self, emit: VectorEmitter, x: Operand, position: Place, count: int | None) -> SSAValue:
        """Reads the values of `x` for a step: one for all vectors of channels, or one per vector.

        `count` is the number of valid channels of a vector; `None` means all.
        """
        raise NotImplementedError

    def read_rows(self, emit: VectorEmitter, x: Operand, window: Window) -> SSAValue:
        """Reads the values of `x` for a step and for each row of a tile: `[rows, lanes]`, the shape of `emit`."""
        alone = emit.over()
        return emit.stacked([self.read(alone, x, window.row(emit, row), None) for row in range(*emit.tile)])

    def add(self, emit: VectorEmitter, sums: SSAValue, x: SSAValue, w: SSAValue) -> SSAValue:
        """Adds the products of a step to the accumulators of a tile, or to one of them."""
        raise NotImplementedError

    def part(self, emit: VectorEmitter, weights: SSAValue, part: int) -> SSAValue:
        """Extracts the weights at index `part` from bytes that each hold several weights."""
        return weights

    def total(self, emit: VectorEmitter, sums: Sequence[SSAValue]) -> SSAValue:
        """Returns the sums of a tile, given its accumulators after the last step: one tile, or one for each part."""
        (found,) = sums
        return found


class GroupVariant(TiledVariant):
    """A variant that multiplies weights by a group of elements of `x` of 32 bits, repeated across a register."""

    def read(self, emit: VectorEmitter, x: Operand, position: Place, count: int | None) -> SSAValue:
        return self.read_groups(emit, x, position)

    def read_rows(self, emit: VectorEmitter, x: Operand, window: Window) -> SSAValue:
        if window.stride is None:
            return super().read_rows(emit, x, window)
        return self.read_groups(emit, x, window.row(emit, 0), (window.stride,))

    def read_groups(self, emit: VectorEmitter, x: Operand, position: Place, strides: Sequence[int] = ()) -> SSAValue:
        """Reads a group for each register of a tile of the shape of `emit`; the groups are `strides` elements apart."""
        wide, indices = emit.with_lanes(self.group * emit.lanes), [emit.index(each) for each in position]
        assert self.input_element is not None
        type_ = wide.typed(self.input_element)
        return self.moved(emit, x, wide.insert(LoadGroupSplatOp(x.memory, indices, type_, strides)))

    def moved(self, emit: VectorEmitter, x: Operand, value: SSAValue) -> SSAValue:
        """Returns elements of `x` in the range that the products require."""
        return value


def joined(emit: Emitter, position: Sequence[Index], sizes: Sequence[int]) -> Index:
    """Emits the row-major linear index of `position` in an array of shape `sizes`."""
    number: Index = 0
    for each, size in zip(position, sizes, strict=True):
        number = add(emit, times(emit, number, size), each)
    return number


def _bytes(value: SSAValue) -> int:
    shape, element = shaped(value)
    return math.prod(shape) * max(bits_of(element) // 8, 1)


def _give_two_axes(outer: scf.ParallelOp) -> None:
    """Make a loop with nothing but another one of enough steps in it one loop of two axes: threads divide the last."""
    inner = next((op for op in outer.body.block.ops if isinstance(op, scf.ParallelOp)), None)
    if inner is None or not isinstance(inner.next_op, scf.ReduceOp) or _steps_of(inner) < _EVEN:
        return
    if not all(op is inner or op is inner.next_op or is_side_effect_free(op) for op in outer.body.block.ops):
        return
    low, high = [*outer.lowerBound, *inner.lowerBound], [*outer.upperBound, *inner.upperBound]
    step = [*outer.step, *inner.step]
    block, region = outer.body.block, inner.body.block
    end = inner.next_op
    inner.detach()
    Rewriter.erase_op(end)
    region.args[0].replace_all_uses_with(block.insert_arg(IndexType(), 1))
    for op in list(region.ops):
        op.detach()
        block.add_op(op)
    inner.erase()
    Rewriter.replace_op(outer, scf.ParallelOp(low, high, step, outer.detach_region(0)))


def _steps_of(loop: scf.ParallelOp) -> int:
    """The steps of a loop from 0 on, by 1."""
    end = loop.upperBound[0].owner
    assert isinstance(end, arith.ConstantOp)
    assert isinstance(end.value, IntegerAttr)
    return end.value.value.data


# Register tiles of matmuls whose weights have a scale for each block of terms.
#
# For each sum, a tile has two registers instead of one: the exact sum of the current block, and the f32 total, to which
# each block adds its sum times its scale. The weights of a block and then its scales follow one another in memory, so
# that addresses only ascend, and the hardware prefetcher sees one stream. Scales of super-blocks, which precede their
# blocks, are read before these and stay in registers. See `docs/lab/contractions.md`.
#
# The elements of `x` that the loops read are `offset` more than their real values. So `offset` times the sum of the
# block's weights is subtracted from the sum of products. The weights are summed in the same loop, as an additional row
# whose elements are all 1. Precomputed sums of weights would take as much memory as the scales.


class BlockWriter(TileWriter):
    """Emits the loops of a matmul whose weights have a scale for each block of terms."""

    def _geometry(self, emit: Emitter) -> Geometry:
        op = self._blocks_op
        assert op.outs is not None
        (_, rows, terms), channels = shaped(op.x)[0], op.channels()
        x = Operand(collapse_axes(emit, op.x, [[0], [1, 2]]), op.input_unsigned is not None, op.product_type)
        return Geometry(
            x, op.w, op.outs, readings_of(op), (rows,), (1,), (), (), op.weights().steps, 1, 0, channels, terms, terms
        )

    @property
    def _blocks_op(self) -> PackedBlocksOp:
        assert isinstance(self.op, PackedBlocksOp)
        return self.op

    def _step_weights(self, emit: VectorEmitter, tile: tuple[int, ...], weights: list[Index], step: Index) -> SSAValue:
        width = self.schedule.lanes * self.variant.group
        (*block, first), own = weights, times(emit, step, self.schedule.vectors * width)
        return self._read_once(emit, [*block, add(emit, first, own)], tile[0], width)

    def _write_tile(self, emit: VectorEmitter, channels: Channels, positions: Sequence[Index], rows: int) -> None:
        (group, block, valid), (row,) = channels, positions
        over = emit.over(-(-valid // emit.lanes), rows)
        first, op = times(emit, row, self.geometry.terms), self._blocks_op

        def add_run(outer: VectorEmitter, run: Index, before: Sequence[SSAValue]) -> Sequence[SSAValue]:
            weights: list[Index] = [group, block, run]
            head = self._scales(outer.over(*over.tile), [*weights, 0]) if op.head else None
            return outer.carried(
                op.run, before,
                lambda inner, place, totals: add_block(
                    inner, add(inner, times(inner, run, op.run), place),
                    [*weights, add(inner, times(inner, place, op.stride), op.head)], head, totals[0],
                ),
            )  # fmt: skip

        def add_block(
            inner: VectorEmitter, number: Index, weights: list[Index], head: SSAValue | None, before: SSAValue
        ) -> Sequence[SSAValue]:
            within = inner.over(*over.tile)
            begun = [self._started(within, number, row), *self._zeros(within, self._apart - 1)]
            begun += self._zeros(inner.over(over.tile[0], 1), self._counts)
            found = self._sum_steps(inner, begun, Window(self.geometry, (number,), first), weights, valid)
            sums = self._exact(within, found)
            return [self._scaled(within, sums, self._block_scales(within, weights, head), before)]

        (total,) = emit.carried(shaped(op.w)[0][2], [over.constant(0, f32)], add_run)
        channel = times(emit, block, self.schedule.vectors * self.schedule.lanes)
        self.epilogue.write(SumTile(emit, total, positions, channel, valid))

    def _started(self, emit: VectorEmitter, number: Index, row: Index) -> SSAValue:
        """The first value of the sums of a block."""
        if self._blocks_op.starts is None:
            return emit.constant(0, self.op.product_type)
        rows, position = emit.over(emit.tile[1]), [emit.index(number), emit.index(row)]
        return emit.extended(rows.insert(LoadGroupSplatOp(self._blocks_op.starts, position, rows.typed(i32), (1,))))

    def _block_scales(self, emit: VectorEmitter, weights: list[Index], head: SSAValue | None) -> SSAValue:
        """The scales of a block, by channel: behind its weights, times those of its super-block, if there are any."""
        (*block, first), alone, factor = weights, emit.over(emit.tile[0], 1), self._blocks_op.scale_factor
        place = [*block, add(emit, first, self._blocks_op.scales_place)]
        if head is None:
            scales = self._scales(emit, place)
        else:
            factors = alone.convert(arith.ExtUIOp, self._read_once(emit, place, emit.tile[0], emit.lanes), i32)
            scales = alone.binary(arith.MulfOp, head, alone.convert(arith.SIToFPOp, factors, f32))
        if factor is None:
            return scales
        return alone.binary(arith.MulfOp, alone.constant(factor.value.data, f32), scales)

    def _scales(self, emit: VectorEmitter, place: list[Index]) -> SSAValue:
        """Numbers of `scale_type` as f32."""
        held, alone = self._blocks_op.scale_type, emit.over(emit.tile[0], 1)
        loaded = self._read_once(emit, place, emit.tile[0], held.size * emit.lanes)
        return _finite_f32(alone, reinterpreted(emit, loaded, f32 if held == f32 else i16), held)

    def _scaled(self, emit: VectorEmitter, sums: SSAValue, scales: SSAValue, before: SSAValue) -> SSAValue:
        """The totals with one block more."""
        number = sums if self.op.product_type == f32 else emit.convert(arith.SIToFPOp, sums, f32)
        return emit.binary(arith.AddfOp, before, emit.binary(arith.MulfOp, emit.extended(scales), number))


_F16_SHIFT, _F16_BITS = 13, -(1 << 31) | (1 << 28) - 1
"""The bits of the significand of f32 below those of f16, and the bits that f16 fills, shifted by so many."""


def _finite_f32(emit: VectorEmitter, value: SSAValue, held: Attribute) -> SSAValue:
    """Widens finite numbers of type `held`, given as integers of their bits, to f32."""
    if held == f32:
        return value
    wide = emit.convert(arith.ExtSIOp, value, i32)
    shift = _F16_SHIFT if held == f16 else 16
    wide = emit.binary(arith.ShLIOp, wide, emit.constant(shift, i32))
    if held == bf16:
        return reinterpreted(emit, wide, f32)
    found = reinterpreted(emit, emit.binary(arith.AndIOp, wide, emit.constant(_F16_BITS, i32)), f32)
    return emit.binary(arith.MulfOp, found, emit.constant(2.0**112, f32))  # the difference of the exponents' biases


# Scalar loops, which support operands of any layout and process one element at a time.


class ScalarWriter:
    """Emits the scalar loops of one contraction: element by element, terms in row-major order."""

    def __init__(self, op: ContractionOp):
        assert op.outs is not None
        self.op = op
        self.y = op.outs
        self.accumulator: Attribute = op.accumulator_type
        self.readings = readings_of(op)

    def write(self, emit: Emitter) -> None:
        """Emits all loops at the insertion point of `emit`."""
        for_each(emit, shaped(self.y)[0], self._write_element)

    def _write_element(self, emit: Emitter, position: Sequence[Index]) -> None:
        zero = emit.constant(0, self.accumulator)
        total = self._sum(emit, zero, position, [], shaped(self.op.w)[0][self._terms_axis() :])
        write_element(emit, self.op, self.readings, self.y, total, position)

    def _terms_axis(self) -> int:
        return 1 if isinstance(self.op, ConvOp) else len(shaped(self.op.w)[0]) - 1

    def _sum(
        self, emit: Emitter, total: SSAValue, position: Sequence[Index], terms: list[Index], sizes: Sequence[int]
    ) -> SSAValue:
        if not sizes:
            return self._added(emit, total, position, terms)

        def write(inner: Emitter, term: Index, before: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return [self._sum(inner, before[0], position, [*terms, term], sizes[1:])]

        return emit.carried(sizes[0], [total], write)[0]

    def _added(self, emit: Emitter, total: SSAValue, position: Sequence[Index], terms: list[Index]) -> SSAValue:
        op, zero_points = self.op, self.op.weight_zero_points
        x_place, w_place = self._positions(emit, position, terms)
        x = self._read(emit, op.x, x_place, is_unsigned=op.input_unsigned is not None)
        if (offset := op.input_zero_point.value.data) and not x.is_float:
            x = x - offset
        center = (
            op.weight_zero_point.value.data if zero_points is None else self._read(emit, zero_points, [position[-1]])
        )
        w = self._read(emit, op.w, w_place, is_unsigned=op.weight_unsigned is not None)
        if isinstance(center, Scalar) or (center and not w.is_float):
            w = w - center
        return (Scalar(total, emit) + x * w).value

    def _read(self, emit: Emitter, memory: SSAValue, position: Sequence[Index], *, is_unsigned: bool = False) -> Scalar:
        """Loads an element and converts it to the type of the sum."""
        return Scalar(emit.load(memory, position), emit, is_unsigned).to(self.accumulator)

    def _positions(
        self, emit: Emitter, index: Sequence[Index], terms: Sequence[Index]
    ) -> tuple[list[Index], list[Index]]:
        op = self.op
        if not isinstance(op, ConvOp):
            return [*index[:-1], *terms], [*index[: len(shaped(op.w)[0]) - 2], index[-1], *terms]
        moved = [
            add(emit, times(emit, position, stride), times(emit, tap, dilation))
            for position, stride, tap, dilation in zip(
                index[1:-1], integer_list(op.strides), terms[:-1], integer_list(op.dilations), strict=True
            )
        ]
        channel: Index = terms[-1]
        if op.group_count > 1:
            size = op.channels() // op.group_count
            group = emit.binary(arith.DivUIOp, emit.index(index[-1]), emit.index(size))
            channel = add(emit, times(emit, group, shaped(op.w)[0][-1]), channel)
        return [index[0], *moved, channel], [index[-1], *terms]


class ContractionToLoops(RewritePattern):
    """Lowers a contraction on memrefs to scalar loops."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ContractionOp, rewriter: PatternRewriter, /) -> None:
        if op.outs is None:
            return
        if isinstance(op, WinogradOp):
            raise op_error(op, f"is not packed for variant '{op.form.variant}'; run kernel-pack")
        replace_by_loops(op, rewriter, ScalarWriter(op).write)


class PackedToLoops(RewritePattern):
    """Lowers a contraction with packed operands on memrefs to the loops of its variant."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: PackedOp, rewriter: PatternRewriter, /) -> None:
        if op.outs is not None:
            variant = registry.named("variants")[op.layout.variant.name].load(LoopVariant)
            if isinstance(op, PackedBlocksOp):
                assert isinstance(variant, TiledVariant)
                tiled = variant
                replace_by_loops(op, rewriter, lambda emit: tiled.write_blocks(op, emit))
            else:
                replace_by_loops(op, rewriter, lambda emit: variant.write(op, emit))


PATTERNS = (ContractionToLoops(), PackedToLoops())
"""The patterns for contractions."""
