"""`winograd`, `winograd_f4`, `winograd_f4_bytes`: 3x3 convolutions by Winograd's algorithms, as loops.

Each block of tiles goes through the input transform, the products and the output transform separately. Its intermediate
values, 16-bit transformed inputs and 32-bit products, are in scratch memory that stays in the L2 cache. A tile covers
2x2 or 4x4 elements of the result. If these don't divide the result, the last tile begins earlier, so that no input is
read out of bounds; it stores only elements that the previous tile didn't.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import i16, i32
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr

from qmlir.dialects.kernel.attributes import ScheduleAttr
from qmlir.dialects.kernel.ops import scalar_of, shaped
from qmlir.dialects.kernel.packed_ops import PackedOp, PackedWinogradOp
from qmlir.dialects.kernel.variants import WeightLayout
from qmlir.dialects.kernel.winograd import F2, F4, F4_BYTES, KERNEL_SIZE, Algorithm, Matrix
from qmlir.dialects.simd.base import tile_of
from qmlir.dialects.simd.lanes import TransposeOp
from qmlir.dialects.simd.memory import PrefetchOp
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.loops.emitter import (
    Emitter,
    Index,
    VectorEmitter,
    add,
    bits_of,
    emit_expression,
    row_major,
    times,
)
from qmlir.targets.cpu.loops.epilogue import Epilogue, SumTile
from qmlir.targets.cpu.loops.geometry import (
    Geometry,
    Operand,
    innermost_is_dense,
    load,
    load_tile,
    readings_of,
    store,
    store_tile,
    stride_along,
)
from qmlir.targets.cpu.loops.nests import collapse_axes
from qmlir.targets.cpu.loops.tiles import LINE_BYTES, LoopVariant, joined
from qmlir.targets.cpu.microkernels.broadcast_fma import I16_PAIRS

MOST_SHARES = 4
"""The most shares into which threads divide the channels of a single block.

Each share transforms all inputs again, which takes 3 of its 100 µs for 7x7x512.
"""


@dataclass(frozen=True)
class Place:
    """The position of a tile: its image, and the row and column of its first element.

    These are the same in the input and in the result. At the end of an axis, `first` is before `regular`, the multiple
    of the tile size at which the tile would begin if tiles didn't overlap.
    """

    image: Index
    first: tuple[Index, Index]
    regular: tuple[Index, Index]


@dataclass(frozen=True)
class Stages:
    """Scratch memory for the values between the stages of a block of tiles."""

    inputs: SSAValue
    """The transformed inputs, `[tile, tile, tiles, input channels]`."""
    products: tuple[SSAValue, ...]
    """The products of each part of the input channels, `[tile, tile, tiles, output channels]`."""


def _quotient(emit: Emitter, value: Index, by: int) -> Index:
    return emit_expression(emit, AffineExpr.dimension(0) // by, [value], [1])


def _rest(emit: Emitter, value: Index, by: int) -> Index:
    return emit_expression(emit, AffineExpr.dimension(0) % by, [value], [1])


def _least(emit: Emitter, value: Index, limit: int) -> Index:
    if isinstance(value, int):
        return min(value, limit)
    return emit.binary(arith.MinSIOp, value, emit.index(limit))


def batched(values: Sequence[SSAValue], size: int) -> Iterator[Sequence[SSAValue]]:
    """Yields `values` in batches of `size`; the last one may be shorter."""
    return (values[first : first + size] for first in range(0, len(values), size))


# Multiplies registers by a constant matrix of small integers, using sums, differences and left shifts.
#
# Coefficients are split into powers of two, and common subexpressions are emitted once. If two columns have equal or
# opposite coefficients in each row, the rows share the sum and the difference of the two registers. If two rows have
# equal or opposite coefficients in each column, they share the sum of the equal terms and the sum of the opposite ones.

Row = tuple[int, ...]


@dataclass(frozen=True)
class _Signed:
    """A register, or one that is subtracted instead of added."""

    value: SSAValue
    is_negative: bool = False


def _parts(row: Row) -> Mapping[int, Row]:
    """Splits a row into rows of 0, 1 and -1, by the power of two that scales them, highest first: -5 is -4 - 1."""
    bits = reversed(range(max(map(int.bit_length, row))))
    parts = {bit: tuple((abs(each) >> bit & 1) * (1 if each > 0 else -1) for each in row) for bit in bits}
    return {bit: part for bit, part in parts.items() if any(part)}


def _halves(first: Row, second: Row) -> tuple[Row, Row] | None:
    """Two parts, of no common column, whose sum and difference two rows are."""
    if all(abs(a) == abs(b) for a, b in zip(first, second, strict=True)):
        equal = tuple(a if a == b else 0 for a, b in zip(first, second, strict=True))
        opposite = tuple(a if a != b else 0 for a, b in zip(first, second, strict=True))
        if any(equal) and any(opposite):
            return equal, opposite
    return None


def _column_pairs(matrix: Sequence[Row]) -> list[tuple[int, int]]:
    """Pairs of columns, each in one of them, that are equal in some rows and opposite in others."""
    columns = list(zip(*matrix, strict=True))
    found: list[tuple[int, int]] = []
    for first, column in enumerate(columns):
        for second in range(first + 1, len(columns)):
            is_free = not any({first, second} & set(pair) for pair in found)
            if is_free and _halves(column, columns[second]) is not None:
                found.append((first, second))
    return found


class _Combiner:
    """Emits linear combinations of registers; each combination with factors 0, 1 and -1 is emitted once."""

    def __init__(self, emit: VectorEmitter, values: Sequence[SSAValue]):
        self.emit = emit
        self.values = values
        self._known: dict[Row, SSAValue] = {}

    def _add(self, a: _Signed, b: _Signed) -> _Signed:
        if a.is_negative == b.is_negative:
            return _Signed(self.emit.binary(arith.AddiOp, a.value, b.value), a.is_negative)
        plus, minus = (b, a) if a.is_negative else (a, b)
        return _Signed(self.emit.binary(arith.SubiOp, plus.value, minus.value))

    def _shifted(self, term: _Signed, bits: int) -> _Signed:
        if not bits:
            return term
        amount = self.emit.constant(bits, scalar_of(term.value.type))
        return _Signed(self.emit.binary(arith.ShLIOp, term.value, amount), term.is_negative)

    def _plain(self, row: Row) -> _Signed:
        """Emits a combination with factors 0, 1 and -1, or reuses an emitted one or its negation."""
        opposite = tuple(-each for each in row)
        if row not in self._known and opposite not in self._known:
            terms = [_Signed(value, factor < 0) for factor, value in zip(row, self.values, strict=True) if factor]
            total = terms[0]
            for term in terms[1:]:
                total = self._add(total, term)
            self._known[opposite if total.is_negative else row] = total.value
        return _Signed(self._known[row]) if row in self._known else _Signed(self._known[opposite], True)

    def signed(self, row: Row) -> _Signed:
        """Emits a combination with integer factors, not all 0, starting with the highest power of two."""
        total, last = None, 0
        for bit, part in _parts(row).items():
            own = self._plain(part)
            total, last = (own if total is None else self._add(self._shifted(total, last - bit), own)), bit
        assert total is not None
        return self._shifted(total, last)

    def whole(self, total: _Signed) -> SSAValue:
        """Returns the register itself, negated if it is marked as negative."""
        if not total.is_negative:
            return total.value
        return self.emit.binary(arith.SubiOp, self.emit.constant(0, scalar_of(total.value.type)), total.value)

    def rows(self, matrix: Sequence[Row]) -> list[SSAValue]:
        """Emits all rows; two rows that differ only in signs are the sum and difference of two shared parts."""
        found: dict[int, SSAValue] = {}
        for first, row in enumerate(matrix):
            if first in found:
                continue
            for second in range(first + 1, len(matrix)):
                halves = None if second in found else _halves(row, matrix[second])
                if halves is not None:
                    equal, opposite = (self.signed(part) for part in halves)
                    other = _Signed(opposite.value, not opposite.is_negative)
                    found[first] = self.whole(self._add(equal, opposite))
                    found[second] = self.whole(self._add(equal, other))
                    break
            else:
                found[first] = self.whole(self.signed(row))
        return [found[index] for index in range(len(matrix))]


def combined(emit: VectorEmitter, matrix: Sequence[Row], values: Sequence[SSAValue]) -> list[SSAValue]:
    """Emits `matrix @ values`; no row may be all 0."""
    pairs = _column_pairs(matrix)
    single = [index for index in range(len(values)) if not any(index in pair for pair in pairs)]
    reduced = [
        (
            *(row[index] for index in single),
            *(factor for a, b in pairs for factor in ((row[a], 0) if row[a] == row[b] else (0, row[a]))),
        )
        for row in matrix
    ]
    registers = [values[index] for index in single]
    for a, b in pairs:
        registers += [emit.binary(kind, values[a], values[b]) for kind in (arith.AddiOp, arith.SubiOp)]
    return _Combiner(emit, registers).rows(reduced)


def transform(emit: VectorEmitter, matrix: Matrix, tile: SSAValue) -> SSAValue:
    """Emits `matrix @ tile @ matrix^T`, transposed, for a tile `[rows, columns, lanes]`."""
    rows, columns = len(matrix), tile_of(tile)[1]
    half = combined(emit.over(columns), matrix, emit.each(tile))
    turned = emit.insert(TransposeOp(emit.over(rows, columns).stacked(half)))
    return emit.over(rows, rows).stacked(combined(emit.over(rows), matrix, emit.each(turned)))


# A block of tiles goes through all three stages before the next block begins, so that the values between the stages
# stay in the L2 cache:
#   input     B^T d B of each tile and channel, 16 bits: [tile, tile, tiles, channels]
#   products  for each of the tile * tile elements, a matmul over the channels, in 32 bits with wraparound
#   output    A^T m A, times the inverse of the odd factor, shifted, then the epilogue
# The products take nearly all of the time; they are plain matmuls of pairs of 16-bit integers. Their sums may wrap
# around: only the sum that is shifted must fit in 32 bits (see `qmlir/dialects/kernel/winograd.py`).
class WinogradWriter:
    """Emits the loops of one Winograd convolution with packed weights."""

    def __init__(self, op: PackedWinogradOp):
        if not innermost_is_dense(op.x):
            raise op_error(op, f"requires contiguous memory along the last axis, but got {op.x.type}")
        assert op.outs is not None
        self.op = op
        self.form = op.form
        self.schedule: ScheduleAttr = op.loops
        self.sizes = shaped(op.outs)[0][1:3]
        self.tiles = op.tiles
        self.steps = shaped(op.w)[0][2 if self.form.takes_bytes else -2]
        self.parts = op.part_count
        self.epilogue = Epilogue(op, self._geometry(op.outs))
        self.block = min(self.schedule.block, self.tile_count)
        self.weights: SSAValue | None = None
        """All packed weights, collapsed to one axis, if they are prefetched; else `None`."""

    def _geometry(self, y: SSAValue) -> Geometry:
        """Returns the geometry that the epilogue uses: positions, which are not joined, and channels."""
        op, shape = self.op, shaped(y)[0]
        ones = (1,) * 3
        return Geometry(
            x=Operand(op.x, op.input_unsigned is not None, op.accumulator_type), w=op.w, y=y,
            readings=readings_of(op), positions=shape[:-1], strides=ones, taps=ones, dilations=ones, steps=self.steps,
            groups=1, batches=0,
            channels=shape[-1], terms=shaped(op.x)[0][-1], row=None,
        )  # fmt: skip

    @property
    def tile_count(self) -> int:
        """The number of tiles in all images."""
        batch, rows, columns = self.tiles
        return batch * rows * columns

    @property
    def width(self) -> int:
        """The number of channels in a block of weights."""
        return self.schedule.vectors * self.schedule.lanes

    def write(self, emit: Emitter) -> None:
        """Emits all loops at the insertion point of `emit`."""
        vectors = VectorEmitter.of(emit, self.schedule.lanes)
        if self.schedule.prefetch:
            self.weights = collapse_axes(emit, self.op.w, [list(range(len(shaped(self.op.w)[0])))])
        blocks, shares = -(-self.tile_count // self.block), self.shares
        if shares > 1:
            with vectors.loop(shares, threads=True) as (inner, share):
                self._write_block(inner, 0, share)
        else:
            with vectors.loop(blocks, threads=self.schedule.threads) as (inner, block):
                self._write_block(inner, block)

    @property
    def shares(self) -> int:
        """The number of shares into which threads divide the channels if there is only one block, else 1.

        Each share transforms all inputs.
        """
        groups, rest = divmod(shaped(self.op.target)[0][-1], self.width)
        if not self.schedule.threads or self.tile_count > self.block or rest:
            return 1
        return max(shares for shares in range(1, MOST_SHARES + 1) if groups % shares == 0)

    def _write_block(self, emit: VectorEmitter, block: Index, share: Index = 0) -> None:
        first = times(emit, block, self.block)
        count: Index = self.block
        if self.tile_count % self.block:
            left = emit.binary(arith.SubiOp, emit.index(self.tile_count), emit.index(first))
            count = _least(emit, left, self.block)
        stages = self._scratch(emit)
        with emit.loop(count) as (inner, tile):
            self._write_input(inner, stages, first, tile)
        whole, rest = divmod(shaped(self.op.target)[0][-1], self.width)
        groups = whole // self.shares

        def write(inner: VectorEmitter, group: Index, valid: int) -> None:
            self._write_products(inner, stages, count, group, valid)
            channel = times(inner, group, self.width)
            with inner.loop(count) as (each, tile):
                self._write_output(each, stages, first, tile, channel, valid)

        if groups:
            begin = times(emit, share, groups)
            with emit.loop(groups) as (inner, group):
                write(inner, add(inner, begin, group), self.width)
        if rest:
            write(emit, whole, rest)

    def _scratch(self, emit: VectorEmitter) -> Stages:
        """Allocates scratch memory for a block, separately for each thread; tiles and channels are padded.

        They are padded to full registers, then to an odd number of tiles and by one more register of channels. If the
        elements of a tile were a power of two apart, they would compete for the same cache sets.
        """
        size, rows, lanes = self.form.tile, self.schedule.rows, 2 * self.schedule.lanes
        tiles, channels = -(-self.block // rows) * rows | 1, shaped(self.op.x)[0][-1]

        def memory(element: Attribute, depth: int) -> SSAValue:
            return emit.builder.insert(memref.AllocaOp.get(element, shape=[size, size, tiles, depth])).memref

        inputs = memory(i16, -(-channels // lanes) * lanes + lanes)
        return Stages(inputs, tuple(memory(i32, self.width) for _ in range(self.parts)))

    # If the size of the result is not a multiple of the step, the last tile of a row or column begins earlier and
    # overlaps the previous tile. Both compute the same elements from the same input, but only one stores them, since
    # different threads may run the two tiles.
    def _position(self, emit: VectorEmitter, first: Index, tile: Index) -> Place:
        _, rows, columns = self.tiles
        number = add(emit, first, tile)
        row = _quotient(emit, number, columns)
        image = _quotient(emit, row, rows) if self.tiles[0] > 1 else 0
        steps = (_rest(emit, row, rows) if self.tiles[0] > 1 else row), _rest(emit, number, columns)
        step = self.form.step
        regular = times(emit, steps[0], step), times(emit, steps[1], step)
        begins = [
            _least(emit, position, size - step) if size % step else position
            for position, size in zip(regular, self.sizes, strict=True)
        ]
        return Place(image, (begins[0], begins[1]), regular)

    # --- Input --------------------------------------------------------------------------------------------------------

    def _write_input(self, emit: VectorEmitter, stages: Stages, first: Index, tile: Index) -> None:
        """The transform of the input of one tile, so many channels at a time as a register has places of 16 bits."""
        position, wide = self._position(emit, first, tile), emit.with_lanes(2 * self.schedule.lanes)
        whole, rest = divmod(shaped(self.op.x)[0][-1], wide.lanes)

        def write(inner: VectorEmitter, channel: Index, valid: int | None) -> None:
            moved = transform(inner, self.form.input, self._tile_of_input(inner, position, channel, valid))
            rows, columns, *_ = row_major(shaped(stages.inputs)[0])
            store_tile(inner, moved, stages.inputs, [0, 0, tile, channel], (columns, rows))

        if whole:
            with wide.loop(whole) as (inner, run):
                write(inner, times(inner, run, wide.lanes), None)
        if rest:
            write(wide, whole * wide.lanes, rest)

    def _tile_of_input(self, emit: VectorEmitter, position: Place, channel: Index, valid: int | None) -> SSAValue:
        """The channels of all elements of the tile, in 16 bits."""
        size, strides = self.form.tile, [stride_along(self.op.x, axis) for axis in (1, 2)]
        over = emit.over(size, size)
        if valid is None and None not in strides:
            known = [stride for stride in strides if stride is not None]
            value = load_tile(over, self.op.x, [position.image, *position.first, channel], known)
        else:
            places = [
                [add(emit, begin, offset) for begin, offset in zip(position.first, inside, strict=True)]
                for inside in product(range(size), repeat=2)
            ]
            parts = [load(emit, self.op.x, [position.image, *place, channel], emit.lanes, valid) for place in places]
            value = over.stacked(parts)
        if bits_of(value.type) == bits_of(i16):
            return value
        return over.convert(arith.ExtSIOp if self.op.input_unsigned is None else arith.ExtUIOp, value, i16)

    # --- Products -----------------------------------------------------------------------------------------------------

    # The loops over elements of a tile are outermost, so that the weights of an element are read once for all tiles of
    # a block. A panel of weights that fits in the L1 cache is prefetched one panel ahead, since the elements are not
    # contiguous in memory.
    def _write_products(self, emit: VectorEmitter, stages: Stages, count: Index, group: Index, valid: int) -> None:
        """The products of matrices of a block of tiles with a block of weights."""
        rows, size = self.schedule.rows, self.form.tile
        runs = _quotient(emit, add(emit, count, rows - 1), rows)  # what is beyond the last tile is never read
        if self.form.takes_bytes:
            with emit.loop(runs) as (each, run):
                self._write_rows(each, stages, run, group, valid)
            return
        with emit.loop(size) as (outer, row), outer.loop(size) as (inner, column), inner.loop(runs) as (each, run):
            self._write_product(each, stages, (row, column), run, group, valid)

    def _write_product(
        self, emit: VectorEmitter, stages: Stages, element: tuple[Index, Index], run: Index, group: Index, valid: int
    ) -> None:
        """A run of tiles by a block of channels, one step of two terms after the other."""
        rows, lanes = self.schedule.rows, self.schedule.lanes
        weights, width = [0, group, *element], lanes * I16_PAIRS.group
        tile, ahead = times(emit, run, rows), self._ahead(emit, weights[1:], run)
        vectors = -(-valid // lanes)
        over = emit.over(vectors)

        # A row at a time: the inputs of all rows, besides sums and weights, are more registers than some CPUs have.
        def step(inner: VectorEmitter, number: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            own = inner.over(vectors)
            factors = load_tile(own.with_lanes(width), self.op.w, [*weights, number, 0], (width,))
            self._prefetch(inner, ahead, number)
            after: list[SSAValue] = []
            for row, total in enumerate(sums):
                seen = self._seen(inner, stages, [*element, add(inner, tile, row)], number)
                after.append(I16_PAIRS.add(own, total, own.extended(seen), factors))
            return after

        for products, sums in self._sums(emit, stages, [over.constant(0, i32)] * rows, step):
            for row, total in enumerate(sums):
                store_tile(emit, total, products, [*element, add(emit, tile, row), 0], (lanes,))

    def _write_rows(self, emit: VectorEmitter, stages: Stages, run: Index, group: Index, valid: int) -> None:
        """Emits the products of a run of tiles and a block of channels, for one row of a tile's elements at a time.

        The weights of a step are transformed in registers, once for all tiles of the run.
        """
        rows, size, lanes = self.schedule.rows, self.form.tile, self.schedule.lanes
        tile, vectors = times(emit, run, rows), -(-valid // lanes)
        positions = [(column, row) for column in range(size) for row in range(rows)]
        for line in range(size):
            ahead = self._ahead(emit, [group], add(emit, times(emit, run, size), line))

            def step(
                inner: VectorEmitter, number: Index, sums: Sequence[SSAValue], line: int = line, ahead: Index = ahead
            ) -> Sequence[SSAValue]:
                self._prefetch(inner, ahead, number)
                factors = [self._line_of_weights(inner, line, group, number, vector) for vector in range(vectors)]
                after: list[SSAValue] = []
                for (column, row), own in zip(positions, batched(sums, vectors), strict=True):
                    seen = self._seen(inner, stages, [line, column, add(inner, tile, row)], number)
                    after += [
                        I16_PAIRS.add(inner, total, seen, each[column])
                        for total, each in zip(own, factors, strict=True)
                    ]
                return after

            zeros = [emit.constant(0, i32)] * (len(positions) * vectors)
            for products, sums in self._sums(emit, stages, zeros, step):
                for (column, row), own in zip(positions, batched(sums, vectors), strict=True):
                    for vector, total in enumerate(own):
                        store(emit, total, products, [line, column, add(emit, tile, row), vector * lanes])

    # The common factor of each row of transformed weights is part of the output matrix, so that computing a row takes
    # only additions.
    def _line_of_weights(
        self, emit: VectorEmitter, line: int, group: Index, step: Index, vector: int
    ) -> Sequence[SSAValue]:
        """One row of the transformed weights of a step, in 16 bits, from those of its taps that count there."""
        wide, matrix = emit.with_lanes(I16_PAIRS.group * self.schedule.lanes), self.form.weights
        used = [row for row, factor in enumerate(matrix[line]) if factor]

        def tap(row: int, column: int) -> SSAValue:
            value = load(wide, self.op.w, [0, group, step, row, column, vector * wide.lanes], wide.lanes)
            return wide.convert(arith.ExtSIOp, value, i16)

        factors = tuple(matrix[line][row] for row in used)
        columns = [combined(wide, [factors], [tap(row, column) for row in used])[0] for column in range(KERNEL_SIZE)]
        return combined(wide, matrix, columns)

    def _seen(self, emit: VectorEmitter, stages: Stages, position: Sequence[Index], step: Index) -> SSAValue:
        """The transformed inputs that a step multiplies."""
        source = Operand(stages.inputs, False, i32)
        return I16_PAIRS.read(emit, source, [*position, times(emit, step, I16_PAIRS.group)], None)

    def _sums(
        self, emit: VectorEmitter, stages: Stages, zeros: Sequence[SSAValue],
        step: Callable[[VectorEmitter, Index, Sequence[SSAValue]], Sequence[SSAValue]],
    ) -> Iterator[tuple[SSAValue, Sequence[SSAValue]]]:  # fmt: skip
        """The sums of the steps of each part of the channels, and the memory for them."""
        steps = self.steps // self.parts
        for part, products in enumerate(stages.products):

            def shifted(
                inner: VectorEmitter, number: Index, sums: Sequence[SSAValue], first: int = part * steps
            ) -> Sequence[SSAValue]:
                return step(inner, add(inner, number, first), sums)

            yield products, emit.carried(steps, zeros, shifted)

    # --- Weights of the next products ---------------------------------------------------------------------------------

    @property
    def _elements(self) -> int:
        """The weights of a step."""
        return self.width * I16_PAIRS.group * (KERNEL_SIZE**2 if self.form.takes_bytes else 1)

    @property
    def _share(self) -> int:
        """How many of the next weights each step of a run of tiles, or of a row of its products, asks for."""
        runs = -(-self.block // self.schedule.rows)
        return -(-self._elements // (runs * self.form.tile if self.form.takes_bytes else runs))

    def _ahead(self, emit: VectorEmitter, weights: Sequence[Index], run: Index) -> Index:
        """Where the next weights that a run asks for begin: each has its share of them."""
        if self.weights is None:
            return 0
        number = joined(emit, weights, (1, self.form.tile, self.form.tile)[: len(weights)])
        next_ = times(emit, add(emit, number, 1), self.steps * self._elements)
        return add(emit, next_, times(emit, run, self._share * self.steps))

    def _prefetch(self, emit: VectorEmitter, ahead: Index, step: Index) -> None:
        """Ask for the weights that are due in a step; behind the last of all there is nothing, which does no harm."""
        if self.weights is None:
            return
        for line in range(0, self._share, LINE_BYTES * 8 // bits_of(self.form.weight_element)):
            position = add(emit, add(emit, ahead, times(emit, step, self._share)), line)
            emit.builder.insert(PrefetchOp(self.weights, emit.index(position), self.schedule.prefetch))

    # --- Output -------------------------------------------------------------------------------------------------------

    def _write_output(
        self, emit: VectorEmitter, stages: Stages, first: Index, tile: Index, channel: Index, valid: int
    ) -> None:
        """The transform of the products of one tile, and the epilogue of its sums."""
        position, lanes = self._position(emit, first, tile), self.schedule.lanes
        size, step = self.form.tile, self.form.step
        for start in range(0, valid, lanes):
            total: SSAValue | None = None
            for products in stages.products:
                strides = row_major(shaped(products)[0])[:2]
                loaded = load_tile(emit.over(size, size), products, [0, 0, tile, start], strides)
                own = self._unscaled(emit.over(step, step), transform(emit, self.form.output, loaded))
                total = own if total is None else emit.binary(arith.AddiOp, total, own)
            assert total is not None
            rows = emit.each(emit.insert(TransposeOp(total)))
            self._store(emit, position, rows, add(emit, channel, start), min(valid - start, lanes))

    def _unscaled(self, emit: VectorEmitter, value: SSAValue) -> SSAValue:
        """A sum of what is a multiple of it, modulo 2^32: an odd factor has an inverse, a power of two is a shift."""
        if self.form.inverse != 1:
            value = emit.binary(arith.MuliOp, value, emit.constant(self.form.inverse, i32))
        return emit.binary(arith.ShRSIOp, value, emit.constant(self.form.shift_of_sums, i32))

    def _store(
        self, emit: VectorEmitter, position: Place, sums: Sequence[SSAValue], channel: Index, valid: int
    ) -> None:
        """The rows of sums, without those that an earlier tile has stored."""

        def write(inner: VectorEmitter, first: int, last: int) -> None:
            for row in range(first, last):
                self._store_row(inner, position, row, sums[row], channel, valid)

        self._where_new(emit, position, 0, write)

    def _store_row(
        self, emit: VectorEmitter, position: Place, row: int, values: SSAValue, channel: Index, valid: int
    ) -> None:
        def write(inner: VectorEmitter, first: int, last: int) -> None:
            own = [position.image, add(inner, position.first[0], row), add(inner, position.first[1], first)]
            parts = [inner.at_place(values, column) for column in range(first, last)]
            sums = inner.over(1, last - first).stacked(parts)
            self.epilogue.write(SumTile(inner, sums, own, channel, valid))

        self._where_new(emit, position, 1, write)

    def _where_new(
        self, emit: VectorEmitter, position: Place, axis: int, write: Callable[[VectorEmitter, int, int], None]
    ) -> None:
        """`write`, the first rows or columns of a tile only where the tile begins in its regular place."""
        step = self.form.step
        old = -self.sizes[axis] % step
        if old:
            begin, regular = (emit.index(each) for each in (position.first[axis], position.regular[axis]))
            is_new = emit.insert(arith.CmpiOp(begin, regular, "eq"))
            block = Block()
            inner = emit.at_end(block)
            write(inner, 0, old)
            inner.builder.insert(scf.YieldOp())
            emit.builder.insert(scf.IfOp(is_new, [], Region(block)))
        write(emit, old, step)


class KernelMajorLayout(WeightLayout):
    """The layout of weights in which each step holds all taps, since the loops read and transform them together."""

    @property
    def shape(self) -> tuple[int, ...]:
        groups, blocks, *taps, steps, elements = super().shape
        return (groups, blocks, steps, *taps, elements)

    @property
    def order(self) -> tuple[int, ...]:
        groups, blocks, *taps, steps, channel, term = super().order
        return (groups, blocks, steps, *taps, channel, term)


class ByWinograd(LoopVariant):
    """Processes blocks of tiles: input transform, matmuls of 16-bit pairs, output transform and epilogue."""

    def write(self, op: PackedOp, emit: Emitter) -> None:
        if not isinstance(op, PackedWinogradOp):
            raise op_error(op, f"is packed for variant '{self.name}', which requires kernel.packed_winograd")
        WinogradWriter(op).write(emit)


def _of(form: Algorithm) -> ByWinograd:
    layout = KernelMajorLayout if form.takes_bytes else WeightLayout
    return ByWinograd(name=form.variant, group=I16_PAIRS.group, element=form.weight_element, layout=layout)


WINOGRAD, WINOGRAD_F4, WINOGRAD_F4_BYTES = map(_of, (F2, F4, F4_BYTES))
