"""The epilogue of a contraction: its region on whole registers, or on scalars where an operation has no vector form.

Both write the same operations on each element, so that every bit is the same.
"""

from collections.abc import Callable, Iterator, Sequence

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from qmlir.dialects.kernel.contraction import EpilogueOp
from qmlir.dialects.kernel.ops import YieldOp, shaped
from qmlir.targets.cpu.loops.contraction.forms import form_of, has_form, is_held, is_scalar, written_on
from qmlir.targets.cpu.loops.contraction.geometry import Geometry, OperandReading, innermost_is_dense, load, store
from qmlir.targets.cpu.loops.contraction.shortcuts import saturation_of, start_of
from qmlir.targets.cpu.loops.contraction.together import JointEpilogue, Registers
from qmlir.targets.cpu.loops.emitter import Emitter, Index, VectorEmitter, add, emit_place

_JOINED = 4
"""Registers of sums that become one of bytes: as wide as one of them."""


def _is_of_channels(reading: OperandReading, rank: int) -> bool:
    """Whether the lanes of a vector of channels lie beside each other in memory."""
    if not reading.map_.results:
        return False
    *leading, last = reading.map_.results
    apart = all(rank - 1 not in each.used_dims() for each in leading)
    return last == AffineDimExpr(rank - 1) and apart and innermost_is_dense(reading.memory)


def _last_of(rank: int) -> AffineMap:
    """From the dimensions of the result to the channel."""
    return AffineMap(rank, 0, (AffineDimExpr(rank - 1),))


def _is_of_positions(reading: OperandReading, rank: int) -> bool:
    return rank - 1 not in reading.map_.used_dims()


def is_vector_work(op: EpilogueOp, geometry: Geometry) -> bool:
    """Whether the whole epilogue works on registers."""
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
    """Write the operations of an epilogue on `arguments`; what it yields, or the value `last` in it."""
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
    """Whole registers by powers of two up to `most`, others alone: the first, how many, lanes of one that is not whole.

    `valid` lanes of all `count` registers are there.
    """
    first, whole = 0, valid // lanes
    while first < count:
        size = 1
        while size < most and first + 2 * size <= whole:
            size *= 2
        yield first, size, None if first < whole else valid - first * lanes
        first += size


class Epilogue:
    """Writes what becomes of the sums of a tile."""

    def __init__(self, op: EpilogueOp, geometry: Geometry, *, is_started: bool = False, spare: int = 0):
        """`is_started`: the sums that come begin with `initial`, where the body takes them `2^spare` times as large."""
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

    def _together(self) -> JointEpilogue | None:
        """What the registers of a row share beside a saturation at the end, and what follows that."""
        arguments = zip(self.op.body.block.args[1:], self.geometry.readings, strict=True)
        readable = [argument for argument, reading in arguments if _is_of_channels(reading, self.rank)]
        found = JointEpilogue.of(self.op.body.block, readable)
        behind = set[Operation]() if self.saturation is None else set(self.saturation.tail)
        return None if found is None or found.look_ups <= behind else found

    def initial(self, emit: VectorEmitter, channel: Index, valid: int) -> list[SSAValue]:
        """What the sums of a block of channels begin with: 0, or what would be added to them."""
        lanes = emit.lanes
        count = -(-valid // lanes)
        if self.start is None:
            return [emit.constant(0, self.op.accumulator_type)] * count
        memory = self.geometry.readings[self.start.operand].memory
        return [
            load(
                emit, memory, [add(emit, channel, vector * lanes)], lanes,
                valid - vector * lanes if valid < (vector + 1) * lanes else None,
            )
            for vector in range(count)
        ]  # fmt: skip

    def write(
        self, emit: VectorEmitter, sums: Sequence[Sequence[SSAValue]], positions: Sequence[Index], channel: Index,
        valid: int,
    ) -> None:  # fmt: skip
        """Store the tile whose first element lies at `positions` and `channel`; `valid` of its channels are there."""
        if self.is_vector_work:
            self._write_vectors(emit, sums, positions, channel, valid)
        else:
            self._write_scalars(emit, sums, positions, channel, valid)

    def _write_vectors(
        self, emit: VectorEmitter, sums: Sequence[Sequence[SSAValue]], positions: Sequence[Index], channel: Index,
        valid: int,
    ) -> None:  # fmt: skip
        shared: dict[tuple[int, ...], SSAValue] = {}
        for row, registers in enumerate(sums):
            place = [*positions[:-1], add(emit, positions[-1], row)]
            if self.together is not None:
                self._write_together(emit, self.together, registers, place, channel, valid, shared)
                continue
            written = [
                self._body(emit, register, vector, [*place, add(emit, channel, vector * emit.lanes)], valid, shared)
                for vector, register in enumerate(registers)
            ]
            self._store(emit, written, place, channel, valid)

    def _write_together(
        self, emit: VectorEmitter, together: JointEpilogue, registers: Sequence[SSAValue], place: Sequence[Index],
        channel: Index, valid: int, shared: dict[tuple[int, ...], SSAValue],
    ) -> None:  # fmt: skip
        """Store what becomes of the registers of a row, what they share computed once for several of them."""
        lanes, block = emit.lanes, self.op.body.block
        total = block.args[0] if self.start is None else self.start.total
        for first, count, rest in _groups(len(registers), valid, lanes, _JOINED):

            def place_of(vector: int, first: int = first) -> list[Index]:
                return [*place, add(emit, channel, (first + vector) * lanes)]

            def read(
                argument: BlockArgument, vector: int, width: int,
                place_of: Callable[[int], list[Index]] = place_of, first: int = first, rest: int | None = rest,
            ) -> SSAValue:  # fmt: skip
                wide = emit.with_lanes(width * lanes)
                return self._vector(wide, argument.index - 1, place_of(vector), rest, shared, first + vector)

            known = [{total: register} for register in registers[first : first + count]]
            for vector, value in enumerate(Registers(emit, block, together, known, read).results()):
                store(emit, value, self.geometry.y, place_of(vector), rest)

    def _body(
        self, emit: VectorEmitter, register: SSAValue, vector: int, dims: Sequence[Index], valid: int,
        shared: dict[tuple[int, ...], SSAValue],
    ) -> SSAValue:  # fmt: skip
        """What becomes of one register, but for the saturation at the end."""
        block, lanes = self.op.body.block, emit.lanes
        count = valid - vector * lanes if valid < (vector + 1) * lanes else None
        known = {} if self.start is None else self.start.known(register)
        elements = [
            register if self.start is not None and self.start.operand == index
            else self._vector(emit, index, dims, count, shared, vector)
            for index in range(len(self.geometry.readings))
        ]  # fmt: skip
        last = None if self.saturation is None else self.saturation.value
        result = write_body(emit, block, [register, *elements], known, last)
        return emit.splat(result) if is_scalar(result) else result

    def _store(
        self, emit: VectorEmitter, registers: Sequence[SSAValue], place: Sequence[Index], channel: Index, valid: int
    ) -> None:
        """Write the registers of a row; whole ones that are saturated go together, by powers of two."""
        most = 1 if self.saturation is None else _JOINED
        for first, count, rest in _groups(len(registers), valid, emit.lanes, most):
            group = registers[first : first + count]
            value = group[0] if self.saturation is None else self.saturation.write(emit, group)
            store(emit, value, self.geometry.y, [*place, add(emit, channel, first * emit.lanes)], rest)

    def _vector(
        self, emit: VectorEmitter, index: int, dims: Sequence[Index], count: int | None,
        shared: dict[tuple[int, ...], SSAValue], vector: int,
    ) -> SSAValue:  # fmt: skip
        """An epilogue operand of one register; those of the channels alone are read once for all rows."""
        reading = self.geometry.readings[index]
        used = reading.map_.used_dims()
        is_of_channels = bool(used) and not _is_of_positions(reading, self.rank)
        key = index, vector if is_of_channels else -1, emit.lanes
        if used <= {self.rank - 1} and key in shared:
            return shared[key]
        place = emit_place(emit, reading.map_, dims, self.ranges)
        if is_of_channels:
            value = load(emit, reading.memory, place, emit.lanes, count)
        else:
            value = emit.splat(emit.load(reading.memory, place))
        if used <= {self.rank - 1}:
            shared[key] = value
        return value

    def _write_scalars(
        self, emit: VectorEmitter, sums: Sequence[Sequence[SSAValue]], positions: Sequence[Index], channel: Index,
        valid: int,
    ) -> None:  # fmt: skip
        width = emit.lanes * len(sums[0])
        type_ = MemRefType(self.op.accumulator_type, [len(sums), width])
        # Inside the loops: threads that divide one of them have scratch of their own.
        scratch = emit.builder.insert(memref.AllocaOp.get(self.op.accumulator_type, shape=[len(sums), width])).memref
        assert scratch.type == type_
        for row, registers in enumerate(sums):
            for vector, register in enumerate(registers):
                store(emit, register, scratch, [row, vector * emit.lanes])

        def element(inner: Emitter, row: Index, column: Index) -> None:
            dims = [*positions[:-1], add(inner, positions[-1], row), add(inner, channel, column)]
            write_element(
                inner, self.op, self.geometry.readings, self.geometry.y, inner.load(scratch, [row, column]), dims
            )

        scalars = Emitter(emit.builder, emit.constants)
        for_each(scalars, (len(sums), valid), lambda inner, place: element(inner, *place))


def write_element(
    emit: Emitter,
    op: EpilogueOp,
    readings: Sequence[OperandReading],
    y: SSAValue,
    total: SSAValue,
    dims: Sequence[Index],
) -> None:
    """Write the epilogue of the element of `y` at `dims`."""
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
    place: Sequence[Index] = (),
) -> None:
    """Loops over `sizes`, the last one innermost, around what `write` writes for a place."""
    if not sizes:
        write(emit, place)
        return
    with emit.loop(sizes[0]) as (inner, each):
        for_each(inner, sizes[1:], write, [*place, each])
