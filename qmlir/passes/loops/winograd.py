"""`kernel.winograd` as loops: blocks of tiles go through input transform, products and output transform by themselves.

What a block has in between, transformed inputs of 16 bits and products of 32, is scratch memory that stays in the cache
nearest but one. A tile is two by two elements of the result. Where the result has an odd size, the last tile begins one
element earlier, so that nothing is read beyond the input, and stores only what the tile before did not.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import i16, i32
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.rewriter import InsertPoint

from qmlir.dialects.kernel.attributes import ScheduleAttr
from qmlir.dialects.kernel.ops import shaped
from qmlir.dialects.kernel.variants import WINOGRAD
from qmlir.dialects.kernel.winograd import INPUT, OUTPUT, SCALE_BITS, STEP, TILE, Matrix, WinogradOp
from qmlir.dialects.simd.ops import PrefetchOp, StoreOp
from qmlir.ir.diagnostics import op_error
from qmlir.passes.loops.affine import Index, emit_expression
from qmlir.passes.loops.contraction.epilogue import Epilogue
from qmlir.passes.loops.contraction.geometry import Geometry, Reading, add, innermost_is_dense, times
from qmlir.passes.loops.contraction.steps import STEPS, Operand, load
from qmlir.passes.loops.counted import carried, counted
from qmlir.passes.loops.emitter import Emitter, bits_of
from qmlir.passes.loops.nests import collapse_axes
from qmlir.passes.loops.vectors import VectorEmitter

Tile = list[list[SSAValue]]

_PAIRS = STEPS["i16_pairs"]

LINE_BYTES = 64
"""What one prefetch brings."""


@dataclass(frozen=True)
class Place:
    """Where a tile lies: its image and its first element, in the input as in the result, and where it would begin."""

    image: Index
    first: tuple[Index, Index]
    regular: tuple[Index, Index]


@dataclass(frozen=True)
class Stages:
    """What is in memory between the stages of a block: `[4, 4, tiles, channels]` before and after the products."""

    inputs: SSAValue
    products: SSAValue


def _quotient(emit: Emitter, value: Index, by: int) -> Index:
    return emit_expression(emit, AffineExpr.dimension(0) // by, [value], [1])


def _rest(emit: Emitter, value: Index, by: int) -> Index:
    return emit_expression(emit, AffineExpr.dimension(0) % by, [value], [1])


def _least(emit: Emitter, value: Index, limit: int) -> Index:
    if isinstance(value, int):
        return min(value, limit)
    return emit.binary(arith.MinSIOp, value, emit.index(limit))


def _combined(emit: VectorEmitter, row: Sequence[int], values: Sequence[SSAValue]) -> SSAValue:
    """The sum of registers by factors of 0, 1 and -1, the first that is not 0 of which may be either."""
    terms = sorted(zip(row, values, strict=True), key=lambda term: -term[0])  # those that are added come first
    total = terms[0][1]
    for factor, value in terms[1:]:
        if factor:
            total = emit.binary(arith.AddiOp if factor > 0 else arith.SubiOp, total, value)
    return total


def transform(emit: VectorEmitter, matrix: Matrix, tile: Tile) -> Tile:
    """`matrix @ tile @ matrix^T`, element by element."""
    columns = list(zip(*tile, strict=True))
    rows = [[_combined(emit, row, column) for column in columns] for row in matrix]
    return [[_combined(emit, row, values) for row in matrix] for values in rows]


class WinogradWriter:
    """Writes the loops of one operation with packed weights."""

    def __init__(self, op: WinogradOp):
        schedule = op.schedule
        if schedule is None or not schedule.packed or schedule.variant != WINOGRAD:
            raise op_error(op, f"is not packed for '{WINOGRAD}' loops: kernel-assign-schedule and kernel-pack do that")
        if not innermost_is_dense(op.x):
            raise op_error(op, f"reads runs of memory, found gaps in {op.x.type}: its last axis must lie as one")
        assert op.outs is not None
        self.op = op
        self.schedule: ScheduleAttr = schedule
        self.sizes = shaped(op.outs)[0][1:3]
        self.tiles = op.tiles
        self.steps = shaped(op.w)[0][-2]
        self.epilogue = Epilogue(op, self._geometry(op.outs))
        self.block = min(schedule.block, self.tile_count)
        self.weights: SSAValue | None = None
        """All packed weights in a row, where they are prefetched."""

    def _geometry(self, y: SSAValue) -> Geometry:
        """What an epilogue asks of a contraction: positions one by one, and channels."""
        op, shape = self.op, shaped(y)[0]
        pairs = zip(op.epilogue, op.epilogue_maps, strict=True)
        ones = (1,) * 3
        return Geometry(
            x=Operand(op.x, op.input_unsigned is not None, op.accumulator_type), w=op.w, y=y,
            readings=tuple(Reading(value, attribute.data) for value, attribute in pairs),
            positions=shape[:-1], strides=ones, taps=ones, dilations=ones, steps=self.steps, groups=1, batches=0,
            channels=shape[-1], terms=shaped(op.x)[0][-1], row=None,
        )  # fmt: skip

    @property
    def tile_count(self) -> int:
        """All tiles of all images."""
        batch, rows, columns = self.tiles
        return batch * rows * columns

    @property
    def width(self) -> int:
        """The channels of a block of weights."""
        return self.schedule.vectors * self.schedule.lanes

    def write(self, emit: Emitter) -> None:
        """Write all loops where `emit` stands."""
        vectors = VectorEmitter.of(emit, self.schedule.lanes)
        if self.schedule.prefetch:
            self.weights = collapse_axes(emit, self.op.w, [list(range(len(shaped(self.op.w)[0])))])
        blocks = -(-self.tile_count // self.block)
        counted(vectors, blocks, self._write_block, threads=self.schedule.threads and blocks > 1)

    def _write_block(self, emit: VectorEmitter, block: Index) -> None:
        first = times(emit, block, self.block)
        count: Index = self.block
        if self.tile_count % self.block:
            left = emit.binary(arith.SubiOp, emit.index(self.tile_count), emit.index(first))
            count = _least(emit, left, self.block)
        stages = self._scratch(emit)
        counted(emit, count, lambda inner, tile: self._write_input(inner, stages, first, tile))
        channels = shaped(self.op.target)[0][-1]
        whole, rest = divmod(channels, self.width)

        def write(inner: VectorEmitter, group: Index, valid: int) -> None:
            self._write_products(inner, stages, count, group, valid)
            channel = times(inner, group, self.width)
            counted(inner, count, lambda each, tile: self._write_output(each, stages, first, tile, channel, valid))

        if whole:
            counted(emit, whole, lambda inner, group: write(inner, group, self.width))
        if rest:
            write(emit, whole, rest)

    def _scratch(self, emit: VectorEmitter) -> Stages:
        """Memory for a block; each thread has its own. Tiles and channels are filled up to whole registers.

        An odd number of tiles, and a register more of channels, keep the 16 elements of a tile out of each other's way:
        at distances of a power of two they would have the same places in the cache.
        """
        rows, lanes = self.schedule.rows, 2 * self.schedule.lanes
        tiles, channels = -(-self.block // rows) * rows | 1, shaped(self.op.x)[0][-1]

        def memory(element: Attribute, depth: int) -> SSAValue:
            return emit.builder.insert(memref.AllocaOp.get(element, shape=[TILE, TILE, tiles, depth])).memref

        return Stages(memory(i16, -(-channels // lanes) * lanes + lanes), memory(i32, self.width))

    def _place(self, emit: VectorEmitter, first: Index, tile: Index) -> Place:
        _, rows, columns = self.tiles
        number = add(emit, first, tile)
        row = _quotient(emit, number, columns)
        image = _quotient(emit, row, rows) if self.tiles[0] > 1 else 0
        steps = (_rest(emit, row, rows) if self.tiles[0] > 1 else row), _rest(emit, number, columns)
        regular = times(emit, steps[0], STEP), times(emit, steps[1], STEP)
        begins = [
            _least(emit, place, size - STEP) if size % STEP else place
            for place, size in zip(regular, self.sizes, strict=True)
        ]
        return Place(image, (begins[0], begins[1]), regular)

    # --- Input --------------------------------------------------------------------------------------------------------

    def _write_input(self, emit: VectorEmitter, stages: Stages, first: Index, tile: Index) -> None:
        """The transform of the input of one tile, so many channels at a time as a register has places of 16 bits."""
        place, wide = self._place(emit, first, tile), emit.with_lanes(2 * self.schedule.lanes)
        whole, rest = divmod(shaped(self.op.x)[0][-1], wide.lanes)

        def write(inner: VectorEmitter, channel: Index, valid: int | None) -> None:
            seen = [
                [self._element(inner, place, (row, column), channel, valid) for column in range(TILE)]
                for row in range(TILE)
            ]
            for row, values in enumerate(transform(inner, INPUT, seen)):
                for column, value in enumerate(values):
                    indices = [inner.index(each) for each in (row, column, tile, channel)]
                    inner.builder.insert(StoreOp(value, stages.inputs, indices))

        if whole:
            counted(wide, whole, lambda inner, run: write(inner, times(inner, run, wide.lanes), None))
        if rest:
            write(wide, whole * wide.lanes, rest)

    def _element(
        self, emit: VectorEmitter, place: Place, inside: tuple[int, int], channel: Index, valid: int | None
    ) -> SSAValue:
        """The channels of an element of the tile, in 16 bits."""
        where = [add(emit, begin, offset) for begin, offset in zip(place.first, inside, strict=True)]
        value = load(emit, self.op.x, [place.image, *where, channel], emit.lanes, valid)
        if bits_of(value.type) == bits_of(i16):
            return value
        return emit.convert(arith.ExtSIOp if self.op.input_unsigned is None else arith.ExtUIOp, value, i16)

    # --- Products -----------------------------------------------------------------------------------------------------

    def _write_products(self, emit: VectorEmitter, stages: Stages, count: Index, group: Index, valid: int) -> None:
        """The 16 products of matrices of a block of tiles with a block of weights."""
        rows = self.schedule.rows
        groups = _quotient(emit, add(emit, count, rows - 1), rows)  # what is beyond the last tile is never read

        def element(inner: VectorEmitter, row: Index, column: Index) -> None:
            counted(
                inner,
                groups,
                lambda each, run: self._write_product(each, stages, (row, column), run, [0, group, row, column], valid),
            )

        counted(emit, TILE, lambda inner, row: counted(inner, TILE, lambda each, column: element(each, row, column)))

    def _write_product(
        self, emit: VectorEmitter, stages: Stages, element: tuple[Index, Index], run: Index, weights: list[Index],
        valid: int,
    ) -> None:  # fmt: skip
        """A run of tiles by a block of channels, one step of two terms after the other."""
        rows, lanes, group = self.schedule.rows, self.schedule.lanes, _PAIRS.group
        tile, ahead = times(emit, run, rows), self._ahead(emit, weights, run)
        vectors = -(-valid // lanes)
        source = Operand(stages.inputs, False, i32)

        def step(inner: VectorEmitter, number: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            factors = [
                load(inner, self.op.w, [*weights, number, vector * lanes * group], lanes * group)
                for vector in range(vectors)
            ]
            self._prefetch(inner, ahead, number)
            after: list[SSAValue] = []
            for row in range(rows):
                place = [*element, add(inner, tile, row), times(inner, number, group)]
                seen = _PAIRS.read(inner, source, place, None)
                own = sums[row * vectors : (row + 1) * vectors]
                after += [_PAIRS.add(inner, total, seen, factor) for total, factor in zip(own, factors, strict=True)]
            return after

        sums = carried(emit, self.steps, [emit.constant(0, i32)] * (rows * vectors), step)
        for number, total in enumerate(sums):
            row, vector = divmod(number, vectors)
            indices = [emit.index(each) for each in (*element, add(emit, tile, row), vector * lanes)]
            emit.builder.insert(StoreOp(total, stages.products, indices))

    @property
    def _share(self) -> int:
        """How many of the weights of the next product each step of a run of tiles asks for."""
        runs = -(-self.block // self.schedule.rows)
        return -(-self.width * _PAIRS.group // runs)

    def _ahead(self, emit: VectorEmitter, weights: Sequence[Index], run: Index) -> Index:
        """Where the weights of the next product that a run of tiles asks for begin: each run has its share of them."""
        if self.weights is None:
            return 0
        number: Index = 0
        for place, size in zip(weights[1:], (1, TILE, TILE), strict=True):
            number = add(emit, times(emit, number, size), place)
        next_ = times(emit, add(emit, number, 1), self.steps * self.width * _PAIRS.group)
        return add(emit, next_, times(emit, run, self._share * self.steps))

    def _prefetch(self, emit: VectorEmitter, ahead: Index, step: Index) -> None:
        """Ask for the weights that are due in a step; behind the last product there is nothing, which does no harm."""
        if self.weights is None:
            return
        for line in range(0, self._share, LINE_BYTES * 8 // bits_of(i16)):
            place = add(emit, add(emit, ahead, times(emit, step, self._share)), line)
            emit.builder.insert(PrefetchOp(self.weights, emit.index(place), self.schedule.prefetch))

    # --- Output -------------------------------------------------------------------------------------------------------

    def _write_output(
        self, emit: VectorEmitter, stages: Stages, first: Index, tile: Index, channel: Index, valid: int
    ) -> None:
        """The transform of the products of one tile, and the epilogue of its sums."""
        place, lanes = self._place(emit, first, tile), self.schedule.lanes
        for start in range(0, valid, lanes):
            seen = [
                [load(emit, stages.products, [row, column, tile, start], lanes) for column in range(TILE)]
                for row in range(TILE)
            ]
            amount = emit.constant(SCALE_BITS, i32)
            sums = [
                [emit.binary(arith.ShRSIOp, value, amount) for value in values]
                for values in transform(emit, OUTPUT, seen)
            ]
            own = add(emit, channel, start)
            self._store(emit, place, sums, own, min(valid - start, lanes))

    def _store(self, emit: VectorEmitter, place: Place, sums: Tile, channel: Index, valid: int) -> None:
        """Two rows of two sums, without those that an earlier tile has stored."""
        for row, values in enumerate(sums):

            def write_row(inner: VectorEmitter, row: int = row, values: list[SSAValue] = values) -> None:
                self._store_row(inner, place, row, values, channel, valid)

            self._where_new(emit, place, 0, row, write_row)

    def _store_row(
        self, emit: VectorEmitter, place: Place, row: int, values: list[SSAValue], channel: Index, valid: int
    ) -> None:
        positions = [place.image, add(emit, place.first[0], row)]
        if self.sizes[1] % STEP == 0:
            rows = [[value] for value in values]
            self.epilogue.write(emit, rows, [*positions, place.first[1]], channel, valid)
            return
        for column, value in enumerate(values):

            def write(inner: VectorEmitter, column: int = column, value: SSAValue = value) -> None:
                own = [*positions, add(inner, place.first[1], column)]
                self.epilogue.write(inner, [[value]], own, channel, valid)

            self._where_new(emit, place, 1, column, write)

    def _where_new(
        self, emit: VectorEmitter, place: Place, axis: int, number: int, write: Callable[[VectorEmitter], None]
    ) -> None:
        """`write`, of the first row or column of a tile only where the tile begins in its regular place."""
        if number or not self.sizes[axis] % STEP:
            write(emit)
            return
        begin, regular = (emit.index(each) for each in (place.first[axis], place.regular[axis]))
        is_new = emit.insert(arith.CmpiOp(begin, regular, "eq"))
        block = Block()
        inner = emit.at(Builder(InsertPoint.at_end(block)))
        write(inner)
        inner.builder.insert(scf.YieldOp())
        emit.builder.insert(scf.IfOp(is_new, [], Region(block)))
