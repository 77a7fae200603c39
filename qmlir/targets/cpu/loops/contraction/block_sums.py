"""Register tiles of products whose weights have a scale for each block of terms.

A tile has two registers where others have one: the exact sum of the block that is read, and the total in f32 to which
each block adds what its scale makes of its sum. Weights and scales lie in the order in which they are read.

What the loops read of `x` is `offset` more than it counts. The sum of products less `offset` times the sum of the
weights of a block is the exact one; those are summed beside, as one more row whose elements are all 1: read from memory
they would take as much of it as the scales.
"""

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from qmlir.dialects.kernel.ops import shaped
from qmlir.dialects.kernel.packed_ops import PackedBlocksOp
from qmlir.dialects.simd.base import bits_of
from qmlir.dialects.simd.memory import PrefetchOp
from qmlir.targets.cpu.loops.contraction.geometry import Geometry, Operand, Window, load, readings_of
from qmlir.targets.cpu.loops.contraction.tiles import LINE_BYTES, Registers, TileWriter, joined
from qmlir.targets.cpu.loops.emitter import Emitter, Index, VectorEmitter, add, times
from qmlir.targets.cpu.loops.nests import collapse_axes

AHEAD = 4096
"""The bytes from what is read to what is asked for meanwhile.

The processor foresees the weights of plain sums, but not these: on Zen 5 products of 1x4096x11008 take 2.2 times the
time of reading their weights without asking, and 1.57, 1.41, 1.38, 1.47 and 1.57 asking 1, 2, 4, 8 and 16 KB ahead.
"""

NEAREST = 1
"""The cache that it is asked into: into the second one they take 1.53."""


class BlockWriter(TileWriter):
    """Writes the loops of products by blocks of terms."""

    def _geometry(self, emit: Emitter) -> Geometry:
        op = self.op
        assert op.outs is not None
        (_, rows, terms), channels = shaped(op.x)[0], op.channels()
        x = Operand(collapse_axes(emit, op.x, [[0], [1, 2]]), op.input_unsigned is not None, op.product_type)
        return Geometry(
            x, op.w, op.outs, readings_of(op), (rows,), (1,), (), (), shaped(op.w)[0][-2], 1, 0, channels, terms, terms
        )

    @property
    def _is_read_once(self) -> bool:
        """Whether one tile has all rows: what it reads of the weights comes from far away, and is used once."""
        return self.geometry.positions[0] <= self.schedule.rows

    def _ask_ahead(self, emit: VectorEmitter, memory: SSAValue, place: Sequence[Index]) -> None:
        """Ask for what is read later where the elements from `place` on, along the last axis, are read now."""
        if not self._is_read_once:
            return
        shape, element = shaped(memory)
        flat = collapse_axes(emit, memory, [list(range(len(shape)))])
        lane = LINE_BYTES * 8 // bits_of(element)
        first = times(emit, joined(emit, place, shape[:-1]), shape[-1])
        for line in range(0, shape[-1], lane):
            ahead = add(emit, first, line + AHEAD // LINE_BYTES * lane)
            emit.builder.insert(PrefetchOp(flat, emit.index(ahead), NEAREST))

    def _step(
        self, emit: VectorEmitter, sums: Registers, window: Window, weights: list[Index], step: Index, valid: int
    ) -> Registers:
        self._ask_ahead(emit, self.geometry.w, [*weights, step])
        return super()._step(emit, sums, window, weights, step, valid)

    @property
    def _offset(self) -> int:
        assert isinstance(self.op, PackedBlocksOp)
        return self.op.offset.value.data

    def _write_tile(
        self, emit: VectorEmitter, group: Index, block: Index, valid: int, positions: Sequence[Index], rows: int
    ) -> None:
        count, (row,) = -(-valid // emit.lanes), positions
        first = times(emit, row, self.geometry.terms)

        def add_block(inner: VectorEmitter, number: Index, before: Registers) -> Registers:
            zeros = [[inner.constant(0, self.op.product_type)] * count for _ in range(rows + bool(self._offset))]
            window = Window(self.geometry, (number,), first)
            found = self._sum_steps(inner, zeros, window, [group, block, number], valid)
            return self._scaled(inner, self._exact(inner, found, rows), [block, number], before)

        start = [[emit.constant(0, f32)] * count for _ in range(rows)]
        totals = self._carried(emit, shaped(self.op.x)[0][0], start, add_block)
        channel = times(emit, block, self.schedule.vectors * self.schedule.lanes)
        self.epilogue.write(emit, totals, positions, channel, valid)

    def _add_part(
        self, emit: VectorEmitter, sums: Registers, window: Window, weights: list[SSAValue], valid: int
    ) -> Registers:
        if not self._offset:
            return super()._add_part(emit, sums, window, weights, valid)
        *rows, own = sums
        ones = emit.with_lanes(emit.lanes * self.variant.group).constant(1, self.geometry.x.element)
        added = [self.variant.add(emit, before, ones, each) for before, each in zip(own, weights, strict=True)]
        return [*super()._add_part(emit, rows, window, weights, valid), added]

    def _exact(self, emit: VectorEmitter, sums: Registers, rows: int) -> Registers:
        """The sums of a block, without what its weights add by the offset."""
        if self._offset:
            offset = emit.constant(self._offset, i32)
            less = [emit.binary(arith.MuliOp, each, offset) for each in sums[rows]]
            sums = [[emit.binary(arith.SubiOp, *pair) for pair in zip(row, less, strict=True)] for row in sums[:rows]]
        return self.variant.totals(emit, sums)

    def _scaled(self, emit: VectorEmitter, sums: Registers, place: list[Index], before: Registers) -> Registers:
        """The totals with one block more."""
        assert isinstance(self.op, PackedBlocksOp)
        self._ask_ahead(emit, self.op.scales, place)
        scales = [
            load(emit, self.op.scales, [*place, vector * emit.lanes], emit.lanes) for vector in range(len(before[0]))
        ]

        def added(total: SSAValue, sum_: SSAValue, scale: SSAValue) -> SSAValue:
            number = sum_ if self.op.product_type == f32 else emit.convert(arith.SIToFPOp, sum_, f32)
            return emit.binary(arith.AddfOp, total, emit.binary(arith.MulfOp, scale, number))

        return [
            [added(*each) for each in zip(totals, own, scales, strict=True)]
            for totals, own in zip(before, sums, strict=True)
        ]
