"""Lookup tables for softmax-like rows of bytes, indexed by a byte and the maximum byte of its row."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.builder import Builder
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import IndexType, IntegerAttr, UnitAttr, f32, f64, i8, i32
from xdsl.dialects.linalg.ops import GenericOp, IndexOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from qmlir.analysis.operand_accesses import (
    INTEGER_DIVISIONS,
    Reading,
    Structured,
    computes_only,
    defining,
    erase_unused_in,
    has_uses,
    output_maps,
    points_of,
    ranges_of,
    readings_of,
)
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.kernel.lowering.lowering import Lowering, integer_types
from qmlir.dialects.kernel.lowering.scalars import ArithBuilder, Scalar, constant, extracted, position
from qmlir.dialects.kernel.ops import JoinOp
from qmlir.dialects.kernel.rows import RowMaxOp, RowReduceOp, RowSumOp
from qmlir.dialects.simd.memory import BYTE_VALUES
from qmlir.ir.builtin_types import as_dense
from qmlir.ir.evaluation import evaluate_if_defined
from qmlir.passes.integer.kernel_tabulate import BYTES, chain_between, cost_of, place_of, unused_without
from qmlir.passes.integer.scalar_simplification import known_float
from qmlir.targets.cpu.scheduled.row_fusion import RowSplit, write_again
from qmlir.text.elements import dense_array

# Floats that a body computes from a byte and the maximum of its row: looked up in a table of all pairs.
#
# If bytes are widened monotonically, the maximum of a row of widened bytes is the widened maximum byte. A value
# computed from a byte and that maximum depends on two bytes, so it is computed for all pairs at compile time, by
# evaluating the replaced operations. A row needs one part of the table, 1 KiB: four times 256 bytes, one for each byte
# of the f32 result, which `kernel.join` combines.

FEWEST_POINTS = 1 << 15
"""The fewest elements for which reading a table, 1 KiB per distinct row maximum, is cheaper than computing."""

LEAST_COST = 24
"""The lowest total cost of the saved operations: looking up four bytes and joining them costs half of that."""

MANTISSA = 53
"""The number of bits of an integer that f64 represents exactly."""

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class RowTable:
    """A float value of a body that is looked up in a table."""

    value: SSAValue
    byte: SSAValue
    """The byte that is the index in a part of the table."""
    largest: SSAValue
    """The row maximum, which selects the part."""
    numbers: Floats
    """The table `[row maximum, byte]`; a byte above the maximum is treated as equal to it."""


@dataclass(frozen=True)
class _Bytes:
    """The bytes of a tensor: as stored, or as they are before a table lookup in the operation that writes them."""

    meanings: npt.NDArray[np.int8]
    """The value that the body reads for each byte."""
    yielded: SSAValue | None = None
    """The index that the writing operation looks up, and could write instead."""


def _bytes(value: SSAValue, reader: Operation) -> Iterator[_Bytes]:
    """Yields the ways to store the bytes of a tensor, best first; the last one is to store them unchanged."""
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
    """Returns the byte from which a table index is computed, or `None`."""
    match defining(place):
        case arith.SubiOp(
            lhs=SSAValue(owner=arith.IndexCastOp() as cast), rhs=SSAValue(owner=arith.ConstantOp() as first)
        ):
            is_first = isinstance(first.value, IntegerAttr) and first.value.value.data == BYTES[0]
            return cast.input if is_first else None
        case _:
            return None


def _ascends(widened: Array) -> bool:
    """Returns true if widening is monotonic, so that it preserves maxima; excludes -0, which compares equal to 0."""
    return bool(
        (np.diff(widened) >= 0).all()
        and not np.isnan(widened).any()
        and not (np.signbit(widened) & (widened == 0)).any()
    )  # fmt: skip


def _computed(block: Block, known: Mapping[SSAValue, Any]) -> dict[SSAValue, Any]:
    """Evaluates all values of a body that depend only on `known` values."""
    values = dict(known)
    for op in block.ops:
        is_known = all(operand in values for operand in op.operands) and not isinstance(op, RowReduceOp)
        if not is_known or op.regions or not op.results or not computes_only(op) or op.results[0] in values:
            continue
        results = evaluate_if_defined(op, [values[operand] for operand in op.operands])
        if results is not None:
            values.update(zip(op.results, results, strict=True))
    return values


def look_up(op: GenericOp, rewriter: PatternRewriter) -> RowTable | None:
    """Replaces a value computed from a byte and the row maximum by a table lookup; returns `None` if there is none."""
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
    """Yields the bytes that a body reads, with their tensors, and bytes selected by a mask."""
    for reading in readings_of(op):
        if reading.argument is not None and reading.argument.type == i8:
            yield reading.argument, reading.value
    for each in op.body.block.ops:
        if isinstance(each, arith.SelectOp) and each.result.type == i8:
            yield each.result, each.result


def _table(
    op: GenericOp, largest: RowMaxOp, byte: SSAValue, bytes_: _Bytes, widened: Array
) -> tuple[SSAValue, Floats] | None:
    """Returns the last float that depends only on a byte and the row maximum, with its table, if that saves enough."""
    block, place = op.body.block, np.arange(len(BYTES))
    rows, columns = np.meshgrid(place, place, indexing="ij")
    values = _computed(block, {byte: bytes_.meanings[np.minimum(rows, columns)], largest.result: widened[rows]})
    for value in reversed(values):
        if value.type != f32 or isinstance(value, BlockArgument) or np.shape(values[value]) != rows.shape:
            continue
        gone = unused_without(value, block.ops)
        # A table only pays if it also makes the float maximum of the row superfluous.
        if largest in gone and sum(map(cost_of, gone)) >= LEAST_COST:
            return value, np.ascontiguousarray(values[value], "<f4")
    return None


def _write_before_the_table(value: SSAValue, bytes_: _Bytes, rewriter: PatternRewriter) -> None:
    """Makes the writer of a tensor store the index bytes instead of the result of its table lookup."""
    writer = defining(value)
    if bytes_.yielded is None or not isinstance(writer, Structured):
        return
    end = writer.body.block.last_op
    assert end is not None
    table = defining(end.operands[0])
    assert isinstance(table, tensor.ExtractOp)
    constant = defining(table.tensor)
    end.operands[0] = bytes_.yielded
    erase_unused_in(writer.body.block, rewriter)
    if constant is not None and not has_uses(constant):
        rewriter.erase(constant)
    rewriter.notify_op_modified(writer)


def _rewritten(
    op: GenericOp, largest: RowMaxOp, byte: SSAValue, value: SSAValue, numbers: Floats, rewriter: PatternRewriter
) -> RowTable:
    """Creates the table, and its lookup in the body."""
    parts = numbers.view(np.int8).reshape(*numbers.shape, JoinOp.COUNT).transpose(0, 2, 1)
    table = Lowering(op, rewriter, integer_types()).constant(parts, i8)
    step = value.owner
    assert isinstance(step, Operation)
    builder = ArithBuilder(Builder(InsertPoint.before(step)))
    near = Scalar(byte, builder).over_row(RowMaxOp, largest.row)
    place, row = place_of(Scalar(byte, builder)), place_of(near)
    numbered = [constant(builder, part, IndexType()) for part in range(JoinOp.COUNT)]
    read = [extracted(builder, table, [row, each, place]).value for each in numbered]
    joined = builder.insert(JoinOp(read, f32))
    value.replace_all_uses_with(joined)
    erase_unused_in(op.body.block, rewriter)
    return RowTable(joined, byte, near.value, numbers)


# --- Sums -------------------------------------------------------------------------------------------------------------


def lowest_bit(numbers: npt.NDArray[np.floating[Any]]) -> int:
    """Returns the exponent of the largest power of two that divides all numbers (finite, at least one not 0)."""
    fractions, exponents = np.frexp(numbers[numbers != 0].astype(np.float64))
    whole = np.ldexp(np.abs(fractions), MANTISSA).astype(np.int64)
    return int((exponents - MANTISSA + np.log2(whole & -whole).astype(np.int64)).min())


def is_exact_in_any_order(numbers: Array, terms: int) -> bool:
    """Returns true if f64 represents every sum of up to `terms` numbers exactly: all are multiples of one unit."""
    if not np.isfinite(numbers).all():
        return False
    if not numbers.any():
        return True
    largest = math.frexp(float(np.abs(numbers).max()) * terms)[1]
    return bool(largest - lowest_bit(numbers) <= MANTISSA)


def sums_of(table: RowTable) -> Sequence[RowSumOp]:
    """Returns the f64 sums of table values over the row."""
    values = [table.value, *filter(None, map(_or_zero, (use.operation for use in table.value.uses)))]
    widened = [use.operation for value in values for use in value.uses if isinstance(use.operation, arith.ExtFOp)]
    users = [use.operation for each in widened for use in each.result.uses]
    return [each for each in users if isinstance(each, RowSumOp)]


def _or_zero(op: Operation) -> SSAValue | None:
    """Returns the result of a select between a value and 0: its sums are exact if those of the value are."""
    return op.result if isinstance(op, arith.SelectOp) and known_float(op.rhs) == 0 else None


def mark_sums(op: GenericOp, table: RowTable) -> None:
    """Marks sums of table values as `reassoc` if they are exact in any order."""
    ranges = ranges_of(op)
    for total in sums_of(table):
        if is_exact_in_any_order(np.unique(table.numbers), math.prod(ranges[dim] for dim in total.row)):
            total.reassoc = UnitAttr()


# Long rows of bytes: the output byte is computed for all 256 input bytes and looked up; sums are computed by bytes.
#
# The floats of a row come from a table (`row_tables`), and their sum is exact in any order, since its terms are
# multiples of one unit. So each byte of these multiples is looked up and summed separately, and the sums, combined and
# multiplied by the unit, give that sum; a lane adds four bytes at a time. After the sum, an output byte depends only on
# its input byte and its row: it is computed for all 256 bytes, from the row's part of the table, and looked up. The
# floats themselves are eliminated. The lookup table takes the same time for a row of any length.

FEWEST_IN_ROW = 256
"""The fewest elements in a row for which a 256-byte table and byte sums pay.

On Zen 4, in ns per softmax row of 128, 256 and 512 elements: 47, 90 and 176 elementwise, 63, 79 and 109 with tables.
"""

MOST_PLANES = 6
"""The most bytes per number that are summed separately: with more, floats are as fast."""

MOST_IN_ROW = 1 << 23
"""The most bytes whose sum fits a signed 32-bit integer."""

_BASE = 1 << 8


@dataclass(frozen=True)
class Planes:
    """The numbers of a table as integer multiples of a unit, split into bytes."""

    bytes: npt.NDArray[np.uint8]
    """Bytes `[row maximum, byte position, input byte]`, highest position first."""
    unit: float

    @staticmethod
    def of(numbers: npt.NDArray[np.float32]) -> "Planes | None":
        """Splits all numbers into bytes; returns `None` if one is negative or needs too many bytes."""
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
    """A row whose sum is computed byte by byte, and whose output bytes are looked up."""

    table: RowTable
    total: RowSumOp
    planes: Planes

    @staticmethod
    def of(split: RowSplit, table: RowTable) -> "LongRow | None":
        """Returns the row of `split` if it is long and satisfies the conditions above; else `None`."""
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
        """Creates the separate sums of bytes, and the row sum computed from them and the unit."""
        count, places = len(split.rest), self.planes.bytes.shape[1]
        space, rowwise = split.reducing(between=1), tuple(map(AffineExpr.dimension, range(len(split.rest))))
        place = AffineExpr.dimension(count)
        readings = [
            split.stored[each].through(space.dims, space.count) for each in (self.table.byte, self.table.largest)
        ]
        output = split.filled([*split.sizes, places], i32, 0)
        table = split.at.constant(self.planes.bytes, i8)

        def add_byte(byte: Scalar, largest: Scalar, so_far: Scalar) -> Scalar:
            column, row = place_of(byte), place_of(largest)
            indices = [row, position(byte.builder, count), column]
            return so_far + extracted(byte.builder, table, indices, unsigned=True).to(i32)

        def add_part(part: Scalar, so_far: Scalar) -> Scalar:
            base, unit = (so_far.constant(each) for each in (_BASE, self.planes.unit))
            return so_far * base + part.to(f64) * unit

        parts = split.generic(readings, output, AffineMap(space.count, 0, (*rowwise, place)), add_byte)
        bytewise = [Reading(parts, AffineMap.identity(count + 1))]
        whole = split.generic(bytewise, split.filled(split.sizes, f64, 0), AffineMap(count + 1, 0, rowwise), add_part)
        split.keep(self.total.result, whole)

    def look_up(self, split: RowSplit) -> SSAValue:
        """Creates the computation of the result for all 256 bytes of a row, and the lookup of each element."""
        split.stored[self.table.value] = split.stored[self.table.byte]  # steps start at the table value
        steps = split.steps(split.yielded)
        used = {operand for step in steps for operand in step.operands} - {self.table.value}
        leaves = [self.table.largest, *(each for each in split.stored if each in used and each != self.table.largest)]
        space = split.rows(more=1)
        readings = [split.stored[each].through(space.dims, space.count) for each in leaves]
        table = split.at.constant(self.table.numbers, f32)

        def body(largest: Scalar, *others: Scalar) -> Scalar:
            builder, given = largest.builder, (each.value for each in (largest, *others))
            values: dict[SSAValue, SSAValue] = dict(zip(leaves, given, strict=False))
            place = [place_of(largest), position(builder, space.count - 1)]
            values[self.table.value] = extracted(builder, table, place).value
            write_again(builder, steps, values, space)
            return largest.made(values[split.yielded])

        def look_up(byte: Scalar, _: Scalar) -> Scalar:
            rows = [position(byte.builder, dim) for dim in split.rest]
            return extracted(byte.builder, every, [*rows, place_of(byte)])

        output = split.at.empty([*split.sizes, BYTE_VALUES], i8)
        every = split.generic(readings, output, AffineMap.identity(space.count), body)
        (map_,) = output_maps(split.op)
        return split.generic([split.stored[self.table.byte]], split.op.outputs[0], map_, look_up)


def _is_dense(split: RowSplit) -> bool:
    """Returns true if the row is the innermost axis in memory."""
    (map_,) = output_maps(split.op)
    real = [each for each in map_.results if isinstance(each, AffineDimExpr) and split.ranges[each.position] != 1]
    return bool(real) and real[-1].position in split.row


def _is_of_values(split: RowSplit, table: RowTable) -> bool:
    """Returns true if the result is a byte that depends only on the table's float and values constant along the row."""
    split.stored[table.value] = split.stored[table.byte]
    steps = [each for each in split.steps(split.yielded) if split.by_row.isdisjoint(each.results)]
    del split.stored[table.value]
    alone: set[SSAValue] = {table.value, *split.by_row, *(value for each in steps for value in each.results)}
    return split.yielded.type == i8 and all(_is_computed(each, alone) for each in steps)


def _is_computed(op: Operation, alone: set[SSAValue]) -> bool:
    is_plain = not op.regions and not isinstance(op, (*INTEGER_DIVISIONS, IndexOp, tensor.ExtractOp))
    return is_plain and all(operand in alone for operand in op.operands)
