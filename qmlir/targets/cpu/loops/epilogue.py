"""Emits the epilogue of a contraction on vector registers or scalars."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import AnyFloat, IndexType, MemRefType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from qmlir.analysis.operand_accesses import first_addition, is_inside, known_integer, slice_of
from qmlir.arithmetic.arrays import integer_limits
from qmlir.dialects.kernel.contraction import EpilogueOp
from qmlir.dialects.kernel.ops import YieldOp, scalar_of, shaped
from qmlir.dialects.simd.base import bits_of, tile_of
from qmlir.dialects.simd.lanes import NarrowOp
from qmlir.dialects.simd.memory import is_byte_table
from qmlir.ir.control_flow import reached, terminator_of
from qmlir.targets.cpu.loops.emitter import Emitter, Index, VectorEmitter, add, emit_place
from qmlir.targets.cpu.loops.geometry import (
    EpilogueOperand,
    Geometry,
    innermost_is_dense,
    load,
    load_tile,
    store,
    store_tile,
    stride_along,
    stride_of_dim,
)
from qmlir.targets.cpu.loops.vector_lowerings import form_of, has_form, is_held, is_scalar, written_on

# Epilogue steps that vector code can avoid: adding the bias (sums start with it) and the saturation at the end
# (a saturating narrowing replaces it).


_MOST_AT_ONCE = 40
"""The largest number of operations of a body that is emitted for all registers of a tile at once."""


@dataclass(frozen=True)
class Start:
    """A bias that accumulators can start with instead of 0."""

    operand: int
    """The index of the epilogue operand: one integer per channel."""

    total: SSAValue
    """The result of the addition that becomes superfluous, since integer addition modulo 2^N is associative."""

    addend: SSAValue
    """The value that the bias is added to: the sum, or the shifted sum."""

    def known(self, register: SSAValue) -> dict[SSAValue, SSAValue]:
        """Returns the values of the body that equal an accumulator register that started with the bias."""
        return {self.total: register, self.addend: register}


def _shifted(sums: SSAValue, spare: int) -> SSAValue | None:
    """Returns the result of `sums << spare` if that shift is the only use of `sums`, else `None`."""
    shift = sums.get_user_of_unique_use()
    is_shift = isinstance(shift, arith.ShLIOp) and shift.lhs is sums and known_integer(shift.rhs) == spare
    return shift.results[0] if shift is not None and is_shift else None


def start_of(block: Block, spare: int = 0) -> Start | None:
    """Returns the bias: the operand that the body adds to the sum (times `2^spare`) first; `None` if there is none."""
    sums = _shifted(block.args[0], spare) if spare else block.args[0]
    if sums is None:
        return None
    found = first_addition(sums, block)
    return None if found is None else Start(found[1], found[0].result, sums)


@dataclass(frozen=True)
class Saturation:
    """The end of an epilogue: a clamp and truncation to a narrower integer, and the elementwise operations after it."""

    value: SSAValue
    """The value before the clamp."""

    narrowed: SSAValue
    """The result of the truncation."""

    tail: Sequence[Operation]
    """Operations on `narrowed` and constants only. A table lookup among them handles a full register of bytes."""

    result: SSAValue
    """The value that the body yields."""

    def write(self, emit: VectorEmitter, registers: Sequence[SSAValue]) -> SSAValue:
        """Returns one vector with the concatenated results of `registers`."""
        values = {self.narrowed: emit.insert(NarrowOp(registers, self.narrowed.type))}
        together = emit.with_lanes(emit.lanes * len(registers))
        for op in self.tail:
            values[op.results[0]] = written_on(together, op, values)
        return values[self.result]


_EXTREMES = (arith.MaxSIOp, arith.MinSIOp)


def saturation_of(block: Block) -> Saturation | None:
    """Returns the saturation at the end of an epilogue body; operations that use only its result may follow it."""
    last = block.last_op
    if not isinstance(last, YieldOp):
        return None
    for op in reversed(list(block.ops)):
        if isinstance(op, arith.TruncIOp) and (tail := _tail(block, op.result, last.operands[0])) is not None:
            value = saturated_by(op)
            return None if value is None else Saturation(value, op.result, tail, last.operands[0])
    return None


def _tail(block: Block, start: SSAValue, end: SSAValue) -> Sequence[Operation] | None:
    """Returns the operations from `start` to the yielded `end` if they depend on nothing else and keep the type."""
    found, others = slice_of(block, end, {start})
    is_all = all(use.operation in found for use in start.uses) or start is end
    return found if not others and is_all and all(map(has_form, found)) and end.type == start.type else None


def saturated_by(truncated: arith.TruncIOp) -> SSAValue | None:
    """Returns the value before the clamp to the 8-bit or 16-bit result range of `truncated`; `None` without a clamp."""
    value, element = truncated.input, truncated.result.type
    if isinstance(value.type, AnyFloat) or bits_of(element) not in (8, 16):
        return None
    low, high = integer_limits(bits_of(element))
    wanted: dict[type[Operation], int] = {arith.MaxSIOp: low, arith.MinSIOp: high}
    while isinstance(extreme := value.owner, _EXTREMES) and type(extreme) in wanted:
        if known_integer(extreme.rhs) != wanted.pop(type(extreme)):
            return None
        value = extreme.lhs
    return None if wanted else value


# Epilogue operations that several accumulator registers share: narrow values around 256-byte tables.
#
# A register of 32-bit sums holds a quarter of the elements of a register of bytes. A table lookup handles a full
# register of bytes, so narrow values around a lookup are computed once for up to four accumulators.

_NARROW = 16
"""The widest values, in bits, that accumulators share: indices into a table that was split have 16 bits."""


def _is_narrow(value: SSAValue) -> bool:
    if isinstance(value.type, AnyFloat | MemRefType):
        return False
    return isinstance(value.type, IndexType) or bits_of(value.type) <= _NARROW  # an index into a table fits a byte


def _operands(op: Operation, block: Block) -> list[SSAValue]:
    """Returns the operands of `op` that vary by element: values of the body other than constants."""
    return [each for each in op.operands if is_inside(each, block) and not isinstance(each.owner, arith.ConstantOp)]


def _looks_up(op: Operation) -> bool:
    return isinstance(op, memref.LoadOp) and len(op.indices) == 1 and is_byte_table(op.memref)


@dataclass(frozen=True)
class JointEpilogue:
    """The values of an epilogue body that are computed once for several accumulators of a row."""

    narrowed: Mapping[SSAValue, SSAValue]
    """Maps each saturated value to its value before the clamp. Accumulators are joined at these values."""

    values: frozenset[SSAValue]
    """All shared values: the keys of `narrowed`, narrow epilogue operands, and values computed only from these."""

    look_ups: frozenset[Operation]
    """The lookups in tables of bytes."""

    @classmethod
    def of(cls, block: Block, readable: Sequence[BlockArgument]) -> "JointEpilogue | None":
        """Returns the shared part of an epilogue body, or `None` if the body has no lookup in a 256-byte table.

        `readable` are the block arguments whose elements are contiguous in memory.
        """
        narrowed: dict[SSAValue, SSAValue] = {}
        sources: dict[SSAValue, list[SSAValue]] = {each: [] for each in readable if _is_narrow(each)}
        look_ups, behind = set[Operation](), set[SSAValue]()
        for op in block.ops:
            operands = _operands(op, block)
            if isinstance(op, YieldOp) or not operands:
                continue
            if isinstance(op, arith.TruncIOp) and (before := saturated_by(op)) is not None:
                narrowed[op.result], sources[op.result] = before, []
            elif all(each in sources for each in operands) and has_form(op) and all(map(_is_narrow, op.results)):
                (result,) = op.results
                sources[result] = operands
                if _looks_up(op):
                    look_ups.add(op)
                if _looks_up(op) or any(each in behind for each in operands):
                    behind.add(result)
        if not look_ups:
            return None
        wanted = [*behind, *(each for each in terminator_of(block).operands if each in sources)]
        found = frozenset(reached(wanted, sources.__getitem__))
        needed = {value: before for value, before in narrowed.items() if value in found}
        return cls(needed, found, frozenset(look_ups))


@dataclass(frozen=True)
class Registers:
    """Emits an epilogue body for some accumulators of a row; each value is emitted on first use."""

    emit: VectorEmitter
    block: Block
    together: JointEpilogue
    known: Sequence[dict[SSAValue, SSAValue]]
    """For each accumulator, the values of the body that have been emitted."""

    read: Callable[[BlockArgument, int, int], SSAValue]
    """Reads elements of an epilogue operand: `read(argument, first register, number of registers)`."""

    _shared: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def results(self) -> list[SSAValue]:
        """Returns the yielded values: one wide vector if it is a shared value, otherwise one vector per accumulator."""
        (result,) = terminator_of(self.block).operands
        if result in self.together.values:
            return [self.all(result)]
        return [self.one(result, position) for position in range(len(self.known))]

    def all(self, value: SSAValue) -> SSAValue:
        """Returns a shared value as one vector with the concatenated lanes of all accumulators."""
        if value not in self._shared:
            self._shared[value] = self._written(value)
        return self._shared[value]

    def _written(self, value: SSAValue) -> SSAValue:
        if value in self.together.narrowed:
            before = self.together.narrowed[value]
            return self.emit.insert(
                NarrowOp([self.one(before, position) for position in range(len(self.known))], value.type)
            )
        if isinstance(value, BlockArgument):
            return self.read(value, 0, len(self.known))
        assert isinstance(value.owner, Operation)
        return self._write(self.emit.with_lanes(self.emit.lanes * len(self.known)), value.owner, self.all)

    def one(self, value: SSAValue, position: int) -> SSAValue:
        """Returns a value for the accumulator at index `position`."""
        known = self.known[position]
        if value not in known:
            if value in self.together.values:
                lanes = self.emit.lanes
                known[value] = self.emit.part(self.all(value), position * lanes, lanes)
            elif isinstance(value, BlockArgument):
                known[value] = self.read(value, position, 1)
            else:
                assert isinstance(value.owner, Operation)
                known[value] = self._write(self.emit, value.owner, lambda each: self.one(each, position))
        return known[value]

    def _write(self, emit: VectorEmitter, op: Operation, ask: Callable[[SSAValue], SSAValue]) -> SSAValue:
        values: dict[SSAValue, SSAValue] = {}
        for each in op.operands:
            if isinstance(each.owner, arith.ConstantOp) and is_inside(each, self.block):
                values[each] = written_on(emit, each.owner, {})
            elif is_inside(each, self.block):
                values[each] = ask(each)
        result = written_on(emit, op, values)
        return emit.splat(result) if scalar_of(result.type) == result.type else result


# The vector and scalar epilogues emit the same operations for each element, so their results are bit-identical.

_JOINED = 4
"""The number of 32-bit accumulators whose results fill one register of bytes."""


def _is_of_channels(reading: EpilogueOperand, rank: int) -> bool:
    """Returns true if the elements of consecutive channels are contiguous in memory."""
    if not reading.map_.results:
        return False
    *leading, last = reading.map_.results
    apart = all(rank - 1 not in each.used_dims() for each in leading)
    return last == AffineDimExpr(rank - 1) and apart and innermost_is_dense(reading.memory)


def _last_of(rank: int) -> AffineMap:
    """Returns the map from the dimensions of the result to its channel, the last one."""
    return AffineMap(rank, 0, (AffineDimExpr(rank - 1),))


def _is_of_positions(reading: EpilogueOperand, rank: int) -> bool:
    return rank - 1 not in reading.map_.used_dims()


def is_vector_work(op: EpilogueOp, geometry: Geometry) -> bool:
    """Returns true if the whole epilogue can be emitted on vector registers."""
    rank = len(geometry.positions) + 1
    elements = (shaped(geometry.y)[1], *(shaped(reading.memory)[1] for reading in geometry.readings))
    return (
        all(has_form(each) for each in op.body.block.ops if not isinstance(each, YieldOp))
        and all(_is_of_channels(each, rank) or _is_of_positions(each, rank) for each in geometry.readings)
        and all(is_held(element, in_memory=True) for element in elements)
        and innermost_is_dense(geometry.y)
    )


def write_body(
    emit: Emitter, block: Block, arguments: Sequence[SSAValue], values: dict[SSAValue, SSAValue],
    last: SSAValue | None = None,
) -> SSAValue:  # fmt: skip
    """Emits the operations of an epilogue on `arguments`; returns the yielded value, or that of `last` if given."""
    values = {**values, **dict(zip(block.args, arguments, strict=True))}
    for op in block.ops:
        if last is not None and last in values:
            return values[last]
        if op.results and op.results[0] in values:
            continue
        operands = [values.get(operand, operand) for operand in op.operands]
        if isinstance(op, YieldOp):
            return operands[0]
        form = form_of(op)
        if isinstance(emit, VectorEmitter):
            values[op.results[0]] = written_on(emit, op, values)
        elif form is not None and form.writes_scalars:
            values[op.results[0]] = form.write(emit, op, operands)
        else:
            emit.builder.insert(op.clone(values))
    raise AssertionError("an epilogue must end in kernel.yield")


def _groups(count: int, valid: int, lanes: int, most: int) -> Iterator[tuple[int, int, int | None]]:
    """Yields groups of registers: the first register, their number, and the lanes of a partial register.

    Full registers form groups of a power of two, up to `most`, with `None` as their lanes. A partial register is a
    group by itself. `valid` lanes of all `count` registers hold elements.
    """
    first, whole = 0, valid // lanes
    while first < count:
        size = 1
        while size < most and first + 2 * size <= whole:
            size *= 2
        yield first, size, None if first < whole else valid - first * lanes
        first += size


def lanes_of_part(valid: int, vector: int, lanes: int) -> int | None:
    """Returns the number of lanes of the register at index `vector` that hold `valid` channels; `None` if all do."""
    return valid - vector * lanes if valid < (vector + 1) * lanes else None


@dataclass(frozen=True)
class SumTile:
    """A tile of sums, `[vectors, rows, lanes]`; the rows are the positions from `positions` on along the last axis.

    The first register of a row begins at `channel`; `valid` channels of a row exist.
    """

    emit: VectorEmitter
    sums: SSAValue
    positions: Sequence[Index]
    channel: Index
    valid: int
    shared: dict[tuple[int, ...], SSAValue] = field(default_factory=dict[tuple[int, ...], SSAValue])
    """The registers of epilogue operands that all rows read, by operand, register and lanes."""

    @property
    def vectors(self) -> int:
        """The number of registers of a row."""
        return tile_of(self.sums)[0]

    @property
    def rows(self) -> int:
        """The number of positions."""
        return tile_of(self.sums)[1]

    @property
    def is_whole(self) -> bool:
        """True if all lanes hold channels that exist."""
        return self.valid == self.vectors * self.emit.lanes

    def registers(self, row: int) -> list[SSAValue]:
        """Returns the sums of a row."""
        return [self.emit.at_place(self.sums, vector, row) for vector in range(self.vectors)]

    def place_of(self, row: int) -> list[Index]:
        """Returns the position of a row."""
        return [*self.positions[:-1], add(self.emit, self.positions[-1], row)]

    def channel_of(self, vector: int) -> Index:
        """Returns the first channel of a register."""
        return add(self.emit, self.channel, vector * self.emit.lanes)


class Epilogue:
    """Emits the epilogue of a tile of sums and stores the results."""

    def __init__(self, op: EpilogueOp, geometry: Geometry, *, is_started: bool = False, spare: int = 0):
        """If `is_started`, the sums begin with `initial`; the body shifts them left by `spare`."""
        self.op = op
        self.geometry = geometry
        self.is_vector_work = is_vector_work(op, geometry)
        self.rank = len(geometry.positions) + 1
        self.ranges = (*geometry.positions, geometry.channels)
        self.saturation = saturation_of(op.body.block) if self.is_vector_work else None
        start = start_of(op.body.block, spare) if self.is_vector_work and is_started else None
        is_by_channel = start is not None and geometry.readings[start.operand].map_ == _last_of(self.rank)
        self.start = start if is_by_channel else None
        self.together = self._together() if self.is_vector_work else None
        self.is_long = len(op.body.block.ops) > _MOST_AT_ONCE

    def _together(self) -> JointEpilogue | None:
        """Returns the values that registers of a row share; `None` if the tail of the saturation covers all lookups."""
        arguments = zip(self.op.body.block.args[1:], self.geometry.readings, strict=True)
        readable = [argument for argument, reading in arguments if _is_of_channels(reading, self.rank)]
        found = JointEpilogue.of(self.op.body.block, readable)
        behind = set[Operation]() if self.saturation is None else set(self.saturation.tail)
        return None if found is None or found.look_ups <= behind else found

    def initial(self, emit: VectorEmitter, channel: Index, valid: int) -> SSAValue:
        """Returns the initial accumulators of a tile of the shape of `emit`: 0, or the bias."""
        lanes, vectors = emit.lanes, emit.tile[0]
        if self.start is None:
            return emit.constant(0, self.op.accumulator_type)
        memory = self.geometry.readings[self.start.operand].memory
        if valid == vectors * lanes:
            return emit.extended(load_tile(emit.over(vectors, 1), memory, [channel], (lanes, 0)))
        parts = [
            load(emit, memory, [add(emit, channel, vector * lanes)], lanes, lanes_of_part(valid, vector, lanes))
            for vector in range(vectors)
        ]
        return emit.extended(emit.over(vectors, 1).stacked(parts))

    def write(self, tile: SumTile) -> None:
        """Stores the results of a tile."""
        is_at_once = self.together is None and tile.is_whole
        if not self.is_vector_work:
            self._write_scalars(tile)
        elif is_at_once and self.is_long and tile.rows > 1:
            self._write_by_rows(tile)
        elif is_at_once:
            self._write_whole(tile)
        else:
            for row in range(tile.rows):
                registers, position = tile.registers(row), tile.place_of(row)
                if self.together is not None:
                    self._write_together(tile, self.together, registers, position)
                else:
                    written = [self._body(tile, each, vector, position) for vector, each in enumerate(registers)]
                    self._store(tile, written, position)

    def _write_whole(self, tile: SumTile) -> None:
        """Stores the results of a tile without partial registers; all of its registers are computed at once."""
        emit, start = tile.emit.over(tile.vectors, tile.rows), self.start
        known = {} if start is None else start.known(tile.sums)
        elements = [
            tile.sums if start is not None and start.operand == index else self._elements(tile, emit, index)
            for index in range(len(self.geometry.readings))
        ]
        last = None if self.saturation is None else self.saturation.value
        result = write_body(emit, self.op.body.block, [tile.sums, *elements], known, last)
        columns = tile.emit.each(emit.splat(result) if is_scalar(result) else result)
        rows, most = tile.emit.over(tile.rows), 1 if self.saturation is None else _JOINED
        for first, count, _ in _groups(tile.vectors, tile.valid, rows.lanes, most):
            group = columns[first : first + count]
            value = group[0] if self.saturation is None else self.saturation.write(rows, group)
            self._store_rows(tile, value, first)

    def _write_by_rows(self, tile: SumTile) -> None:
        """Stores the results of a tile in a loop over its rows, since a long body of all rows would spill registers."""
        emit, strides = tile.emit, (tile.emit.lanes, tile.emit.lanes * tile.vectors)
        scratch = self._scratch(tile)
        with Emitter(emit.builder, emit.constants).loop(tile.rows) as (inner, row):
            alone = VectorEmitter.of(inner, emit.lanes)
            sums = load_tile(alone.over(tile.vectors, 1), scratch, [row, 0], strides)
            position = [*tile.positions[:-1], add(inner, tile.positions[-1], row)]
            self._write_whole(SumTile(alone, sums, position, tile.channel, tile.valid))

    def _scratch(self, tile: SumTile) -> SSAValue:
        """Stores the sums of a tile in memory, a row of the tile in each row."""
        emit, width = tile.emit, tile.emit.lanes * tile.vectors
        # Allocate inside the loops, so that threads that divide a loop have separate scratch memory.
        made = memref.AllocaOp.get(self.op.accumulator_type, shape=[tile.rows, width])
        scratch = emit.builder.insert(made).memref
        store_tile(emit, tile.sums, scratch, [0, 0], (emit.lanes, width))
        return scratch

    def _store_rows(self, tile: SumTile, value: SSAValue, first: int) -> None:
        """Stores registers of all rows, which begin at the channel of register `first`."""
        stride = stride_along(self.geometry.y, self.rank - 2)
        if stride is not None:
            place = [*tile.place_of(0), tile.channel_of(first)]
            store_tile(tile.emit, value, self.geometry.y, place, (stride,))
            return
        for row in range(tile.rows):
            place = [*tile.place_of(row), tile.channel_of(first)]
            store(tile.emit, tile.emit.at_place(value, row), self.geometry.y, place)

    def _elements(self, tile: SumTile, emit: VectorEmitter, index: int) -> SSAValue:
        """Reads an epilogue operand for all registers of a tile."""
        reading = self.geometry.readings[index]
        used, (vectors, rows) = reading.map_.used_dims(), emit.tile
        is_of_rows, is_of_channels = self.rank - 2 in used, self.rank - 1 in used
        dims = [*tile.place_of(0), tile.channel]
        if not is_of_channels and not is_of_rows:
            return emit.splat(emit.load(reading.memory, emit_place(emit, reading.map_, dims, self.ranges)))
        stride = stride_of_dim(reading, self.rank - 2) if is_of_rows else 0
        if is_of_channels and stride is not None:
            place = emit_place(emit, reading.map_, dims, self.ranges)
            narrow = emit.over(vectors, rows if is_of_rows else 1)
            return emit.extended(load_tile(narrow, reading.memory, place, (emit.lanes, stride)))
        places = [(vector, row) for vector in range(vectors if is_of_channels else 1) for row in range(rows)]
        parts = [
            self._vector(tile, tile.emit, index, [*tile.place_of(row), tile.channel_of(vector)], vector, None)
            for vector, row in places
        ]
        return emit.extended(emit.over(vectors if is_of_channels else 1, rows).stacked(parts))

    def _write_together(
        self, tile: SumTile, together: JointEpilogue, registers: Sequence[SSAValue], position: Sequence[Index]
    ) -> None:
        """Stores the results of a row of accumulators; shared values are computed once for several of them."""
        emit, block = tile.emit, self.op.body.block
        total = block.args[0] if self.start is None else self.start.total
        for first, count, rest in _groups(len(registers), tile.valid, emit.lanes, _JOINED):

            def read(
                argument: BlockArgument, vector: int, width: int, first: int = first, rest: int | None = rest
            ) -> SSAValue:
                wide, dims = emit.with_lanes(width * emit.lanes), [*position, tile.channel_of(first + vector)]
                return self._vector(tile, wide, argument.index - 1, dims, first + vector, rest)

            known = [{total: register} for register in registers[first : first + count]]
            for vector, value in enumerate(Registers(emit, block, together, known, read).results(), first):
                store(emit, value, self.geometry.y, [*position, tile.channel_of(vector)], rest)

    def _body(self, tile: SumTile, register: SSAValue, vector: int, position: Sequence[Index]) -> SSAValue:
        """Returns the result of one accumulator, without the saturation at the end."""
        emit, count = tile.emit, lanes_of_part(tile.valid, vector, tile.emit.lanes)
        known = {} if self.start is None else self.start.known(register)
        dims = [*position, tile.channel_of(vector)]
        elements = [
            register if self.start is not None and self.start.operand == index
            else self._vector(tile, emit, index, dims, vector, count)
            for index in range(len(self.geometry.readings))
        ]  # fmt: skip
        last = None if self.saturation is None else self.saturation.value
        result = write_body(emit, self.op.body.block, [register, *elements], known, last)
        return emit.splat(result) if is_scalar(result) else result

    def _store(self, tile: SumTile, registers: Sequence[SSAValue], position: Sequence[Index]) -> None:
        """Stores the registers of a row; full registers are saturated together, in groups of a power of two."""
        most = 1 if self.saturation is None else _JOINED
        for first, count, rest in _groups(len(registers), tile.valid, tile.emit.lanes, most):
            group = registers[first : first + count]
            value = group[0] if self.saturation is None else self.saturation.write(tile.emit, group)
            store(tile.emit, value, self.geometry.y, [*position, tile.channel_of(first)], rest)

    def _vector(
        self, tile: SumTile, emit: VectorEmitter, index: int, dims: Sequence[Index], vector: int, count: int | None
    ) -> SSAValue:
        """Reads an epilogue operand for one register; operands indexed only by channel are read once for all rows."""
        reading = self.geometry.readings[index]
        used = reading.map_.used_dims()
        is_of_channels = bool(used) and not _is_of_positions(reading, self.rank)
        key = index, vector if is_of_channels else -1, emit.lanes
        if used <= {self.rank - 1} and key in tile.shared:
            return tile.shared[key]
        position = emit_place(emit, reading.map_, dims, self.ranges)
        if is_of_channels:
            value = load(emit, reading.memory, position, emit.lanes, count)
        else:
            value = emit.splat(emit.load(reading.memory, position))
        if used <= {self.rank - 1}:
            tile.shared[key] = value
        return value

    def _write_scalars(self, tile: SumTile) -> None:
        emit, positions, scratch = tile.emit, tile.positions, self._scratch(tile)

        def element(inner: Emitter, position: Sequence[Index]) -> None:
            row, column = position
            dims = [*positions[:-1], add(inner, positions[-1], row), add(inner, tile.channel, column)]
            write_element(
                inner, self.op, self.geometry.readings, self.geometry.y, inner.load(scratch, [row, column]), dims
            )

        for_each(Emitter(emit.builder, emit.constants), (tile.rows, tile.valid), element)


def write_element(
    emit: Emitter,
    op: EpilogueOp,
    readings: Sequence[EpilogueOperand],
    y: SSAValue,
    total: SSAValue,
    dims: Sequence[Index],
) -> None:
    """Emits the epilogue of the element of `y` at index `dims`."""
    ranges = shaped(y)[0]
    elements = [
        emit.load(reading.memory, emit_place(emit, reading.map_, dims, ranges)) if argument.uses else total
        for reading, argument in zip(readings, op.body.block.args[1:], strict=True)
    ]
    emit.store(write_body(emit, op.body.block, [total, *elements], {}), y, dims)


def for_each(
    emit: Emitter,
    sizes: Sequence[int],
    write: Callable[[Emitter, Sequence[Index]], None],
    position: Sequence[Index] = (),
) -> None:
    """Emits loops over `sizes`, the last one innermost; `write` emits the body for an index."""
    if not sizes:
        write(emit, position)
        return
    with emit.loop(sizes[0]) as (inner, each):
        for_each(inner, sizes[1:], write, [*position, each])
