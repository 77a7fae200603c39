"""The epilogue of a contraction: its region on whole registers, or on scalars where an operation has no vector form.

Both write the same operations on each element, so that every bit is the same.
"""

from collections.abc import Callable, Sequence

from xdsl.builder import Builder
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineDimExpr
from xdsl.rewriter import InsertPoint

from qmlir.dialects.kernel.ops import ContractionOp, YieldOp, scalar_of, shaped
from qmlir.dialects.simd.ops import StoreOp, StorePartialOp
from qmlir.passes.loops.affine import Index, emit_place
from qmlir.passes.loops.contraction.forms import form_of, has_form, is_held
from qmlir.passes.loops.contraction.geometry import Geometry, Reading, add, innermost_is_dense
from qmlir.passes.loops.contraction.steps import load
from qmlir.passes.loops.emitter import Emitter
from qmlir.passes.loops.vectors import VectorEmitter


def _is_of_channels(reading: Reading, rank: int) -> bool:
    """Whether the lanes of a vector of channels lie beside each other in memory."""
    if not reading.map_.results:
        return False
    *leading, last = reading.map_.results
    apart = all(rank - 1 not in each.used_dims() for each in leading)
    return last == AffineDimExpr(rank - 1) and apart and innermost_is_dense(reading.memory)


def _is_of_positions(reading: Reading, rank: int) -> bool:
    return rank - 1 not in reading.map_.used_dims()


def is_vector_work(op: ContractionOp, geometry: Geometry) -> bool:
    """Whether the whole epilogue works on registers."""
    rank = len(geometry.positions) + 1
    elements = (shaped(geometry.y)[1], *(shaped(reading.memory)[1] for reading in geometry.readings))
    return (
        all(has_form(each) for each in op.body.block.ops if not isinstance(each, YieldOp))
        and all(_is_of_channels(each, rank) or _is_of_positions(each, rank) for each in geometry.readings)
        and all(is_held(element, in_memory=True) for element in elements)
        and innermost_is_dense(geometry.y)
    )


def _write_body(
    emit: Emitter, block: Block, arguments: Sequence[SSAValue], values: dict[SSAValue, SSAValue]
) -> SSAValue:
    """Write the operations of an epilogue on `arguments`; what it yields."""
    values = {**values, **dict(zip(block.args, arguments, strict=True))}
    for op in block.ops:
        operands = [values.get(operand, operand) for operand in op.operands]
        if isinstance(op, YieldOp):
            return operands[0]
        form = form_of(op)
        if isinstance(emit, VectorEmitter):
            assert form is not None
            # What comes from outside the region is the same for all lanes; a table stays what it is.
            operands = [
                emit.splat(value) if _is_scalar(value) and not form.reads_memory else value for value in operands
            ]
            values[op.results[0]] = form.write(emit, op, operands)
        elif form is not None and form.writes_scalars:
            values[op.results[0]] = form.write(emit, op, operands)
        else:
            emit.builder.insert(op.clone(values))
    raise AssertionError("an epilogue ends in kernel.yield")


def _is_scalar(value: SSAValue) -> bool:
    return scalar_of(value.type) == value.type and not isinstance(value.type, MemRefType)


class Epilogue:
    """Writes what becomes of the sums of a tile."""

    def __init__(self, op: ContractionOp, geometry: Geometry):
        self.op = op
        self.geometry = geometry
        self.is_vector_work = is_vector_work(op, geometry)
        self.rank = len(geometry.positions) + 1
        self.ranges = (*geometry.positions, geometry.channels)

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
        lanes = emit.lanes
        shared: dict[tuple[int, int], SSAValue] = {}
        for row, registers in enumerate(sums):
            place = [*positions[:-1], add(emit, positions[-1], row)]
            for vector, register in enumerate(registers):
                dims = [*place, add(emit, channel, vector * lanes)]
                count = valid - vector * lanes if valid < (vector + 1) * lanes else None
                elements = [
                    self._vector(emit, index, dims, count, shared, vector)
                    for index in range(len(self.geometry.readings))
                ]
                result = _write_body(emit, self.op.body.block, [register, *elements], {})
                if _is_scalar(result):
                    result = emit.splat(result)
                indices = [emit.index(each) for each in dims]
                if count is None:
                    emit.builder.insert(StoreOp(result, self.geometry.y, indices))
                else:
                    emit.builder.insert(StorePartialOp(result, self.geometry.y, indices, emit.index(count)))

    def _vector(
        self, emit: VectorEmitter, index: int, dims: Sequence[Index], count: int | None,
        shared: dict[tuple[int, int], SSAValue], vector: int,
    ) -> SSAValue:  # fmt: skip
        """An epilogue operand of one register; those of the channels alone are read once for all rows."""
        reading = self.geometry.readings[index]
        used = reading.map_.used_dims()
        is_of_channels = bool(used) and not _is_of_positions(reading, self.rank)
        key = index, vector if is_of_channels else -1
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
                indices = [emit.index(row), emit.index(vector * emit.lanes)]
                emit.builder.insert(StoreOp(register, scratch, indices))

        def element(inner: Emitter, row: SSAValue, column: SSAValue) -> None:
            dims = [*positions[:-1], add(inner, positions[-1], row), add(inner, channel, column)]
            write_element(
                inner, self.op, self.geometry.readings, self.geometry.y, inner.load(scratch, [row, column]), dims
            )

        scalars = Emitter(emit.builder, emit.constants)
        for_each(scalars, (len(sums), valid), lambda inner, place: element(inner, *place))


def write_element(
    emit: Emitter, op: ContractionOp, readings: Sequence[Reading], y: SSAValue, total: SSAValue, dims: Sequence[Index]
) -> None:
    """Write the epilogue of the element of `y` at `dims`."""
    ranges = shaped(y)[0]
    elements = [
        emit.load(reading.memory, emit_place(emit, reading.map_, dims, ranges)) if argument.uses else total
        for reading, argument in zip(readings, op.body.block.args[1:], strict=True)
    ]
    emit.store(_write_body(emit, op.body.block, [total, *elements], {}), y, dims)


def for_each(
    emit: Emitter,
    sizes: Sequence[int],
    write: Callable[[Emitter, list[SSAValue]], None],
    place: Sequence[SSAValue] = (),
) -> None:
    """Loops over `sizes`, the last one innermost, around what `write` writes for a place."""
    if not sizes:
        write(emit, list(place))
        return
    block = Block(arg_types=[IndexType()])
    emit.builder.insert(scf.ForOp(emit.index(0), emit.index(sizes[0]), emit.index(1), [], block))
    inner = emit.at(Builder(InsertPoint.at_end(block)))
    for_each(inner, sizes[1:], write, [*place, block.args[0]])
    inner.builder.insert(scf.YieldOp())
