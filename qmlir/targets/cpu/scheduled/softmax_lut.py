"""Lookup tables for rows of bytes: what a body computes of a byte and of the largest byte of its row."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.builder import Builder
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, TensorType, UnitAttr, f32, f64, i8, i32
from xdsl.dialects.linalg.ops import GenericOp, IndexOp, YieldOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import InterpretationError
from xdsl.utils.type import get_element_type_or_self

from qmlir.analysis.operand_accesses import (
    INTEGER_DIVISIONS,
    Reading,
    Structured,
    computes_only,
    defining,
    output_maps,
    points_of,
    ranges_of,
    readings_of,
)
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.kernel.ops import JoinOp
from qmlir.dialects.kernel.rows import RowMaxOp, RowReduceOp, RowSumOp
from qmlir.dialects.simd.memory import BYTE_VALUES
from qmlir.ir.builtin_types import as_dense, dense
from qmlir.ir.evaluation import evaluate
from qmlir.ir.provenance import origins_of, set_origins
from qmlir.passes.integer.kernel_tabulate import BYTES, chain_between, cost_of
from qmlir.targets.cpu.scheduled.row_fusion import RowSplit, Space, write_again
from qmlir.text.elements import dense_array

# Floats that a body computes of a byte and of the largest byte of its row: looked up in a table of all such pairs.
#
# The largest of a row of bytes that are widened in ascending order is the largest byte, widened. What the body makes
# of a byte and of that number depends on two bytes, so it is computed for all of them beforehand, by the meanings of
# the operations that it stands for. A row needs one part of the table, a kilobyte: four times 256 bytes, one for
# each byte of the result, which `kernel.join` puts together.

FEWEST_POINTS = 1 << 15
"""Elements from which on reading a table, a kilobyte for each largest byte that occurs, takes less than computing."""

LEAST_COST = 24
"""What the operations that a table saves cost at least: looking up four bytes and joining them takes half of that."""

MANTISSA = 53
"""The bits of a whole number that f64 holds."""

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class RowTable:
    """A float of a body that comes from a table."""

    value: SSAValue
    byte: SSAValue
    """What says the place in a part of the table."""
    largest: SSAValue
    """What says the part."""
    numbers: Floats
    """`[largest byte, byte]`; where the byte is larger than the largest, as if it were that."""


@dataclass(frozen=True)
class _Bytes:
    """The bytes of a tensor as it has them, or those that a table makes them of where they are written."""

    meanings: npt.NDArray[np.int8]
    """What the body reads where each byte stands."""
    yielded: SSAValue | None = None
    """What the body that writes them has looked up, and may write instead."""


def _bytes(value: SSAValue, reader: Operation) -> Iterator[_Bytes]:
    """How the bytes of a tensor may be written, the best first, where nobody but `reader` reads them."""
    written = defining(value)
    if isinstance(written, Structured) and all(use.operation is reader for use in value.uses):
        end = written.body.block.last_op
        read = defining(end.operands[0]) if end is not None and len(end.operands) == 1 else None
        constant = defining(read.tensor) if isinstance(read, tensor.ExtractOp) and len(read.indices) == 1 else None
        byte = _byte_of(read.indices[0]) if isinstance(read, tensor.ExtractOp) else None
        found = as_dense(constant.value) if isinstance(constant, arith.ConstantOp) else None
        if found is not None and byte is not None and byte.type == i8 and found.get_shape() == BYTES.shape:
            yield _Bytes(dense_array(found).astype(np.int8), byte)
    yield _Bytes(BYTES)


def _byte_of(place: SSAValue) -> SSAValue | None:
    """The byte of a place in a table."""
    match defining(place):
        case arith.SubiOp(
            lhs=SSAValue(owner=arith.IndexCastOp() as cast), rhs=SSAValue(owner=arith.ConstantOp() as first)
        ):
            is_first = isinstance(first.value, IntegerAttr) and first.value.value.data == BYTES[0]
            return cast.input if is_first else None
        case _:
            return None


def place_of(builder: Builder, byte: SSAValue) -> SSAValue:
    """Write the place of a byte in a table."""
    number = builder.insert(arith.IndexCastOp(byte, IndexType())).result
    first = builder.insert(arith.ConstantOp(IntegerAttr(int(BYTES[0]), IndexType()))).result
    return builder.insert(arith.SubiOp(number, first)).result


def _ascends(widened: Array) -> bool:
    """Whether the largest of some bytes is the largest widened. -0 is not the same as 0, though neither is larger."""
    return bool(
        (np.diff(widened) >= 0).all()
        and not np.isnan(widened).any()
        and not (np.signbit(widened) & (widened == 0)).any()
    )  # fmt: skip


def _computed(block: Block, known: Mapping[SSAValue, Any]) -> dict[SSAValue, Any]:
    """All values of a body that depend on those that are known alone, and that no operation refuses."""
    values = dict(known)
    for op in block.ops:
        is_known = all(operand in values for operand in op.operands) and not isinstance(op, RowReduceOp)
        if not is_known or op.regions or not op.results or not computes_only(op):
            continue
        try:
            with np.errstate(all="ignore"):  # among them are numbers that never occur
                results = evaluate(op, [values[operand] for operand in op.operands])
        except InterpretationError:
            continue
        if results is not None and op.results[0] not in values:
            values.update(zip(op.results, results, strict=True))
    return values


def _saved(target: SSAValue, block: Block) -> set[Operation]:
    """The operations of a body that nothing needs where `target` comes from elsewhere."""
    gone: set[Operation] = set()
    for op in reversed(list(block.ops)):
        users = [use.operation for result in op.results if result is not target for use in result.uses]
        if op.results and all(user in gone for user in users) and (users or target in op.results):
            gone.add(op)
    return gone


def look_up(op: GenericOp, rewriter: PatternRewriter) -> RowTable | None:
    """Let the body of `op` look up what it computes of a byte and the largest byte of the row; `None` if nothing."""
    block = op.body.block
    if points_of(op) < FEWEST_POINTS:
        return None
    for largest in [each for each in block.ops if isinstance(each, RowMaxOp) and each.value.type == f32]:
        for byte, value in _bytes_of(op):
            chain = chain_between(block, byte, largest.value)
            for bytes_ in _bytes(value, op) if chain is not None else ():
                widened = None if chain is None else chain.results(bytes_.meanings)
                table = None if widened is None or not _ascends(widened) else _table(op, largest, byte, bytes_, widened)
                if table is not None:
                    _write_before_the_table(value, bytes_, rewriter)
                    return _rewritten(op, largest, byte, *table, rewriter)
    return None


def _bytes_of(op: GenericOp) -> Iterator[tuple[SSAValue, SSAValue]]:
    """The bytes that a body reads, each with its tensor, and those that a mask chooses."""
    for reading in readings_of(op):
        if reading.argument is not None and reading.argument.type == i8:
            yield reading.argument, reading.value
    for each in op.body.block.ops:
        if isinstance(each, arith.SelectOp) and each.result.type == i8:
            yield each.result, each.result


def _table(
    op: GenericOp, largest: RowMaxOp, byte: SSAValue, bytes_: _Bytes, widened: Array
) -> tuple[SSAValue, Floats] | None:
    """The last float that depends on a byte and the largest of its row alone, where a table of it saves enough."""
    block, place = op.body.block, np.arange(len(BYTES))
    rows, columns = np.meshgrid(place, place, indexing="ij")
    values = _computed(block, {byte: bytes_.meanings[np.minimum(rows, columns)], largest.result: widened[rows]})
    for value in reversed(values):
        if value.type != f32 or isinstance(value, BlockArgument) or np.shape(values[value]) != rows.shape:
            continue
        gone = _saved(value, block)
        # The first byte of its own is no reason for a table: the largest number of the row has to go, too.
        if largest in gone and sum(map(cost_of, gone)) >= LEAST_COST:
            return value, np.ascontiguousarray(values[value], "<f4")
    return None


def _write_before_the_table(value: SSAValue, bytes_: _Bytes, rewriter: PatternRewriter) -> None:
    """Let a tensor have the bytes that are looked up in a table, and not those that the table has."""
    writer = defining(value)
    if bytes_.yielded is None or not isinstance(writer, Structured):
        return
    end = writer.body.block.last_op
    assert end is not None
    table = defining(end.operands[0])
    assert isinstance(table, tensor.ExtractOp)
    constant = defining(table.tensor)
    end.operands[0] = bytes_.yielded
    for each in reversed(list(writer.body.block.ops)):
        if each is not end and computes_only(each) and not any(result.uses for result in each.results):
            rewriter.erase(each)
    if constant is not None and not any(result.uses for result in constant.results):
        rewriter.erase(constant)
    rewriter.notify_op_modified(writer)


def _rewritten(
    op: GenericOp, largest: RowMaxOp, byte: SSAValue, value: SSAValue, numbers: Floats, rewriter: PatternRewriter
) -> RowTable:
    """Write the table, and what looks it up in the body."""
    parts = numbers.view(np.int8).reshape(*numbers.shape, JoinOp.COUNT).transpose(0, 2, 1)
    constant = arith.ConstantOp(dense(parts.tobytes(), TensorType(i8, parts.shape)))
    set_origins(constant, origins_of(op))
    rewriter.insert(constant)
    step = value.owner
    assert isinstance(step, Operation)
    builder = Builder(InsertPoint.before(step))
    near = builder.insert(RowMaxOp(byte, largest.row)).result
    places = [place_of(builder, each) for each in (byte, near)]
    numbered = [builder.insert(arith.ConstantOp(IntegerAttr(part, IndexType()))).result for part in range(JoinOp.COUNT)]
    read = [builder.insert(tensor.ExtractOp(constant.result, [places[1], each, places[0]], i8)) for each in numbered]
    joined = builder.insert(JoinOp([each.result for each in read], f32)).result
    gone = _saved(value, op.body.block)  # but for the byte, which is read now
    value.replace_all_uses_with(joined)
    for each in reversed(list(op.body.block.ops)):
        if each in gone:
            rewriter.erase(each)
    return RowTable(joined, byte, near, numbers)


# --- Sums -------------------------------------------------------------------------------------------------------------


def lowest_bit(numbers: npt.NDArray[np.floating[Any]]) -> int:
    """The exponent of the largest power of two of which all numbers, finite and at least one not 0, are multiples."""
    fractions, exponents = np.frexp(numbers[numbers != 0].astype(np.float64))
    whole = np.ldexp(np.abs(fractions), MANTISSA).astype(np.int64)
    return int((exponents - MANTISSA + np.log2(whole & -whole).astype(np.int64)).min())


def is_exact_in_any_order(numbers: Array, terms: int) -> bool:
    """Whether f64 holds every sum of up to so many of the numbers: all are whole multiples of one unit."""
    if not np.isfinite(numbers).all():
        return False
    if not numbers.any():
        return True
    largest = math.frexp(float(np.abs(numbers).max()) * terms)[1]
    return bool(largest - lowest_bit(numbers) <= MANTISSA)


def sums_of(table: RowTable) -> Sequence[RowSumOp]:
    """The sums, in f64, of the floats of a table over the row."""
    values = [table.value, *filter(None, map(_or_zero, (use.operation for use in table.value.uses)))]
    widened = [use.operation for value in values for use in value.uses if isinstance(use.operation, arith.ExtFOp)]
    users = [use.operation for each in widened for use in each.result.uses]
    return [each for each in users if isinstance(each, RowSumOp)]


def _or_zero(op: Operation) -> SSAValue | None:
    """What chooses a number, or 0: sums of it are exact where those of the numbers are."""
    zero = defining(op.rhs) if isinstance(op, arith.SelectOp) else None
    is_zero = isinstance(zero, arith.ConstantOp) and isinstance(zero.value, FloatAttr) and zero.value.value.data == 0
    return op.results[0] if is_zero else None


def mark_sums(op: GenericOp, table: RowTable) -> None:
    """Let sums of the floats of a table that are exact in any order say so."""
    ranges = ranges_of(op)
    for total in sums_of(table):
        if is_exact_in_any_order(np.unique(table.numbers), math.prod(ranges[dim] for dim in total.row)):
            total.reassoc = UnitAttr()


# Long rows of bytes: what a row becomes is computed for each of 256 bytes, and looked up; sums are of bytes.
#
# The floats of a row come from a table (`row_tables`), and their sum is exact in any order: its terms are whole
# multiples of one unit. So each byte of these whole numbers is looked up and summed by itself, and all sums
# together, times the unit, are that sum; four bytes go into one lane at a time. Behind the sum, the byte that an
# element becomes depends on its own byte and its row alone: it is computed for 256 bytes, from the row of the table,
# and looked up. The floats themselves are gone. That takes the same time for a row of any length.

FEWEST_IN_ROW = 256
"""Elements of a row from which on a table of 256 bytes, and sums of bytes, take less than they save.

On Zen 4, in ns a row of a softmax: 47, 90 and 176 for 128, 256 and 512 elements one by one, 63, 79 and 109 by tables.
"""

MOST_PLANES = 6
"""The bytes of a whole number that are summed one by one: those of more take as long as floats."""

MOST_IN_ROW = 1 << 23
"""Bytes, each of at most 255, whose sum a signed integer of 32 bits holds."""

_BASE = 1 << 8


@dataclass(frozen=True)
class Planes:
    """The numbers of a table as whole multiples of a unit, byte by byte."""

    bytes: npt.NDArray[np.uint8]
    """`[largest byte, place, byte]`, the highest place first."""
    unit: float

    @staticmethod
    def of(numbers: npt.NDArray[np.float32]) -> "Planes | None":
        """The bytes of all numbers; `None` where one is negative, or has too many."""
        if not np.isfinite(numbers).all() or np.signbit(numbers).any():
            return None
        lowest = lowest_bit(numbers) if numbers.any() else 0
        places = max(1, -(-(int(np.frexp(numbers.max())[1]) - lowest) // 8))
        if places > MOST_PLANES:
            return None
        multiples = np.ldexp(numbers.astype(np.float64), -lowest).astype("<u8")
        parts = np.ascontiguousarray(multiples).view(np.uint8).reshape(*numbers.shape, multiples.itemsize)
        highest_first = np.ascontiguousarray(parts[..., :places][..., ::-1].transpose(0, 2, 1))
        return Planes(highest_first, float(np.ldexp(1.0, lowest)))


@dataclass(frozen=True)
class LongRow:
    """A row whose sum goes byte by byte, and whose elements are looked up."""

    table: RowTable
    total: RowSumOp
    planes: Planes

    @staticmethod
    def of(split: RowSplit, table: RowTable) -> "LongRow | None":
        """The row of `split`, where it is long and becomes bytes of which all that is said above is true."""
        sums = sums_of(table)
        is_long = FEWEST_IN_ROW <= split.length <= MOST_IN_ROW and _is_dense(split)
        if (
            not is_long
            or table.byte not in split.stored
            or len(sums) != 1
            or sums[0].reassoc is None
            or not _is_of_values(split, table)
        ):
            return None
        planes = Planes.of(table.numbers)
        return None if planes is None else LongRow(table, sums[0], planes)

    def sum_bytes(self, split: RowSplit) -> None:
        """Sum each byte of the whole numbers by itself; all together, times the unit, are the sum of the row."""
        count, places = len(split.rest), self.planes.bytes.shape[1]
        space, rowwise = split.reducing(between=1), tuple(map(AffineExpr.dimension, range(len(split.rest))))
        place = AffineExpr.dimension(count)
        readings = [
            split.stored[each].through(space.dims, space.count) for each in (self.table.byte, self.table.largest)
        ]
        output = split.filled([*split.sizes, places], i32, 0)
        block = Block(arg_types=[i8, i8, i32])
        builder = Builder(InsertPoint.at_end(block))
        byte, largest = (place_of(builder, argument) for argument in block.args[:2])
        number = builder.insert(IndexOp(count)).result
        constant = _constant(split, self.planes.bytes, i8)
        part = builder.insert(tensor.ExtractOp(constant, [largest, number, byte], i8)).result
        wide = builder.insert(arith.ExtUIOp(part, i32)).result
        builder.insert(YieldOp(builder.insert(arith.AddiOp(block.args[2], wide)).result))
        parts = split.generic(readings, output, AffineMap(space.count, 0, (*rowwise, place)), space, block)
        block = Block(arg_types=[i32, f64])
        builder = Builder(InsertPoint.at_end(block))
        base = builder.insert(arith.ConstantOp(FloatAttr(_BASE, f64))).result
        unit = builder.insert(arith.ConstantOp(FloatAttr(self.planes.unit, f64))).result
        before = builder.insert(arith.MulfOp(block.args[1], base)).result
        units = builder.insert(arith.SIToFPOp(block.args[0], f64)).result
        here = builder.insert(arith.MulfOp(units, unit)).result
        builder.insert(YieldOp(builder.insert(arith.AddfOp(before, here)).result))
        joining = Space((), count + 1, reductions=1)
        whole = split.generic(
            [Reading(parts.res[0], AffineMap.identity(count + 1))], split.filled(split.sizes, f64, 0),
            AffineMap(count + 1, 0, rowwise), joining, block,
        )  # fmt: skip
        split.keep(self.total.result, whole.res[0])

    def look_up(self, split: RowSplit) -> GenericOp:
        """Compute the result for each byte that a row may have, and look it up for those that it has."""
        split.stored[self.table.value] = split.stored[self.table.byte]  # no step goes beyond the table
        steps = split.steps(split.yielded)
        used = {operand for step in steps for operand in step.operands} - {self.table.value}
        leaves = [self.table.largest, *(each for each in split.stored if each in used and each != self.table.largest)]
        space = split.rows(more=1)
        readings = [split.stored[each].through(space.dims, space.count) for each in leaves]
        block = Block(arg_types=[*(get_element_type_or_self(each.value.type) for each in readings), i8])
        builder = Builder(InsertPoint.at_end(block))
        largest = place_of(builder, block.args[0])
        number = builder.insert(IndexOp(space.count - 1)).result
        constant = _constant(split, self.table.numbers, f32)
        element = builder.insert(tensor.ExtractOp(constant, [largest, number], f32)).result
        values: dict[SSAValue, SSAValue] = {**dict(zip(leaves, block.args, strict=False)), self.table.value: element}
        write_again(builder, steps, values, space)
        builder.insert(YieldOp(values[split.yielded]))
        output = split.empty([*split.sizes, BYTE_VALUES], i8)
        every = split.generic(readings, output, AffineMap.identity(space.count), space, block)
        block = Block(arg_types=[i8, i8])
        builder = Builder(InsertPoint.at_end(block))
        numbers = [builder.insert(IndexOp(dim)).result for dim in split.rest]
        place = place_of(builder, block.args[0])
        builder.insert(YieldOp(builder.insert(tensor.ExtractOp(every.res[0], [*numbers, place], i8)).result))
        (map_,) = output_maps(split.op)
        return split.generic([split.stored[self.table.byte]], split.op.outputs[0], map_, split.elements(), block)


def _constant(split: RowSplit, parts: npt.NDArray[np.generic], element: Attribute) -> SSAValue:
    made = arith.ConstantOp(dense(parts.tobytes(), TensorType(element, parts.shape)))
    set_origins(made, origins_of(split.op))
    return split.rewriter.insert(made).result


def _is_dense(split: RowSplit) -> bool:
    """Whether neighbours in memory are neighbours in a row."""
    (map_,) = output_maps(split.op)
    real = [each for each in map_.results if isinstance(each, AffineDimExpr) and split.ranges[each.position] != 1]
    return bool(real) and real[-1].position in split.row


def _is_of_values(split: RowSplit, table: RowTable) -> bool:
    """Whether the result is a byte, made of the float of the table and of what is the same in a whole row."""
    split.stored[table.value] = split.stored[table.byte]
    steps = [each for each in split.steps(split.yielded) if split.by_row.isdisjoint(each.results)]
    del split.stored[table.value]
    alone: set[SSAValue] = {table.value, *split.by_row, *(value for each in steps for value in each.results)}
    return split.yielded.type == i8 and all(_is_computed(each, alone) for each in steps)


def _is_computed(op: Operation, alone: set[SSAValue]) -> bool:
    is_plain = not op.regions and not isinstance(op, (*INTEGER_DIVISIONS, IndexOp, tensor.ExtractOp))
    return is_plain and all(operand in alone for operand in op.operands)
