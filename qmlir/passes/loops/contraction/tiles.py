"""Register tiles: loops over blocks of channels and runs of positions, sums in registers, then the epilogue.

The order is groups, blocks of channels, positions, tiles: the weights of a block stay in the nearest cache while the
positions pass. What does not fill a tile is a smaller tile behind the loop, of a size that is known too.
"""

from collections.abc import Callable, Sequence

from xdsl.builder import Builder
from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

from qmlir.dialects.kernel.attributes import ScheduleAttr
from qmlir.dialects.kernel.ops import ContractionOp, shaped
from qmlir.passes.loops.affine import Index
from qmlir.passes.loops.contraction.epilogue import Epilogue
from qmlir.passes.loops.contraction.geometry import Geometry, Window, add, geometry_of, times
from qmlir.passes.loops.contraction.steps import STEPS, load
from qmlir.passes.loops.emitter import Emitter
from qmlir.passes.loops.vectors import VectorEmitter

Registers = list[list[SSAValue]]


class TileWriter:
    """Writes the loops of one contraction with packed weights."""

    def __init__(self, op: ContractionOp, emit: Emitter):
        assert op.schedule is not None
        self.op = op
        self.schedule: ScheduleAttr = op.schedule
        self.geometry: Geometry = geometry_of(op, emit)
        self.step = STEPS[op.schedule.variant]
        self.epilogue = Epilogue(op, self.geometry)
        self.threads = op.schedule.threads

    def write(self, emit: Emitter) -> None:
        """Write all loops where `emit` stands."""
        vectors = VectorEmitter.of(emit, self.schedule.lanes)
        self._loop(vectors, self.geometry.groups, self._write_group)

    def _loop(self, emit: VectorEmitter, count: int, write: Callable[[VectorEmitter, Index], None]) -> None:
        """`write` for 0 to below `count`; the outermost loop is the one that threads may divide."""
        if count == 1:
            write(emit, 0)
            return
        block = Block(arg_types=[IndexType()])
        bounds = emit.index(0), emit.index(count), emit.index(1)
        inner = emit.at(Builder(InsertPoint.at_end(block)))
        is_parallel, self.threads = self.threads, False
        write(inner, block.args[0])
        self.threads = is_parallel
        if is_parallel:
            inner.builder.insert(scf.ReduceOp())
            emit.builder.insert(scf.ParallelOp([bounds[0]], [bounds[1]], [bounds[2]], Region(block)))
        else:
            inner.builder.insert(scf.YieldOp())
            emit.builder.insert(scf.ForOp(*bounds, [], block))

    def _write_group(self, emit: VectorEmitter, group: Index) -> None:
        width = self.schedule.vectors * self.schedule.lanes
        channels = self.geometry.channels // self.geometry.groups
        whole, rest = divmod(channels, width)
        if whole:
            self._loop(emit, whole, lambda inner, block: self._write_block(inner, group, block, width))
        if rest:
            self._write_block(emit, group, whole, rest)

    def _write_block(self, emit: VectorEmitter, group: Index, block: Index, valid: int) -> None:
        """A block of channels, of which `valid` are there, at all positions."""

        def outer(inner: VectorEmitter, done: list[Index]) -> None:
            axis = len(done)
            if axis == self.geometry.tile_axis:
                self._write_tiles(inner, group, block, valid, done)
            else:
                self._loop(inner, self.geometry.positions[axis], lambda each, place: outer(each, [*done, place]))

        outer(emit, [])

    def _write_tiles(
        self, emit: VectorEmitter, group: Index, block: Index, valid: int, positions: Sequence[Index]
    ) -> None:
        rows = self.schedule.rows
        whole, rest = divmod(self.geometry.positions[-1], rows)
        if whole:
            self._loop(
                emit,
                whole,
                lambda inner, tile: self._write_tile(
                    inner, group, block, valid, [*positions, times(inner, tile, rows)], rows
                ),
            )
        if rest:
            self._write_tile(emit, group, block, valid, [*positions, whole * rows], rest)

    def _write_tile(
        self, emit: VectorEmitter, group: Index, block: Index, valid: int, positions: Sequence[Index], rows: int
    ) -> None:
        count = -(-valid // self.schedule.lanes)
        zero = emit.constant(0, self.op.accumulator_type)
        width = self.schedule.vectors * self.schedule.lanes
        channels = self.geometry.channels // self.geometry.groups
        channel = add(emit, times(emit, group, channels), times(emit, block, width))
        weights = self._weight_row(emit, group, block, positions)
        terms = self.geometry.terms // self.geometry.groups
        offset = channel if self.step.is_lanewise else times(emit, group, terms)
        sums = self._sum_taps(emit, [[zero] * count for _ in range(rows)], [], weights, positions, offset, valid)
        self.epilogue.write(emit, sums, positions, channel, valid)

    def _weight_row(self, emit: VectorEmitter, group: Index, block: Index, positions: Sequence[Index]) -> list[Index]:
        """The place of the weights of a block: its group, or the batch of the positions."""
        sizes = self.geometry.positions
        for axis in range(self.geometry.batches):
            group = add(emit, times(emit, group, sizes[axis]), positions[axis])
        return [group, block]

    def _carried(
        self,
        emit: VectorEmitter,
        count: int,
        sums: Registers,
        write: Callable[[VectorEmitter, Index, Registers], Registers],
    ) -> Registers:
        """`write` for 0 to below `count`, each with the sums of the one before."""
        if count == 1:
            return write(emit, 0, sums)
        flat = [register for row in sums for register in row]
        block = Block(arg_types=[IndexType(), *(register.type for register in flat)])
        inner = emit.at(Builder(InsertPoint.at_end(block)))
        after = write(inner, block.args[0], _like(sums, block.args[1:]))
        inner.builder.insert(scf.YieldOp(*(register for row in after for register in row)))
        loop = scf.ForOp(emit.index(0), emit.index(count), emit.index(1), flat, block)
        emit.builder.insert(loop)
        return _like(sums, loop.results)

    def _sum_taps(
        self, emit: VectorEmitter, sums: Registers, taps: list[Index], weights: list[Index],
        positions: Sequence[Index], offset: Index, valid: int,
    ) -> Registers:  # fmt: skip
        axis = len(taps)
        if axis < len(self.geometry.taps):
            return self._carried(
                emit,
                self.geometry.taps[axis],
                sums,
                lambda inner, tap, before: self._sum_taps(
                    inner, before, [*taps, tap], weights, positions, offset, valid
                ),
            )
        window = self.geometry.window_place(emit, positions, taps, offset)
        # A packed weight has the taps of the window only, and x has no axis of taps where positions were joined.
        count = len(shaped(self.op.w)[0]) - 4
        own: list[Index] = taps[-count:] if 0 < count <= len(taps) else [0] * count
        row = [*weights, *own]
        return self._carried(
            emit,
            self.geometry.steps,
            sums,
            lambda inner, step, before: self._step(inner, before, window, row, step, valid),
        )

    def _step(
        self, emit: VectorEmitter, sums: Registers, window: Window, weights: list[Index], step: Index, valid: int
    ) -> Registers:
        """One step of all sums: the weights of the block, and each row of `x`."""
        lanes, group = self.schedule.lanes, self.step.group
        loaded = [
            load(emit, self.geometry.w, [*weights, step, vector * lanes * group], lanes * group)
            for vector in range(len(sums[0]))
        ]
        moved = window.moved(emit, times(emit, step, group * self.step.parts))
        for part in range(self.step.parts):
            own = [self.step.part(emit, each, part) for each in loaded]
            sums = self._add_part(emit, sums, moved.moved(emit, part * group), own, valid)
        return sums

    def _add_part(
        self, emit: VectorEmitter, sums: Registers, window: Window, weights: list[SSAValue], valid: int
    ) -> Registers:
        """A group of terms added to all sums."""
        after: Registers = []
        for row, registers in enumerate(sums):
            place = window.row(emit, row)
            if self.step.is_lanewise:
                read = [self._read_channels(emit, place, vector, valid) for vector in range(len(registers))]
            else:
                read = [self.step.read(emit, self.geometry.x, place, None)] * len(registers)
            after.append([self.step.add(emit, *each) for each in zip(registers, read, weights, strict=True)])
        return after

    def _read_channels(self, emit: VectorEmitter, place: list[Index], vector: int, valid: int) -> SSAValue:
        first = vector * self.schedule.lanes
        count = valid - first if valid < first + self.schedule.lanes else None
        return self.step.read(emit, self.geometry.x, [*place[:-1], add(emit, place[-1], first)], count)


def _like(sums: Registers, flat: Sequence[SSAValue]) -> Registers:
    """The registers of `flat` by rows, as those of `sums` are."""
    width = len(sums[0])
    return [list(flat[start : start + width]) for start in range(0, len(flat), width)]
