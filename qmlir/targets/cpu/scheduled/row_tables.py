"""Floats that a body computes of a byte and of the largest byte of its row: looked up in a table of all such pairs.

The largest of a row of bytes that are widened in ascending order is the largest byte, widened. What the body makes of a
byte and of that number depends on two bytes, so it is computed for all of them beforehand, by the meanings of the
operations that it stands for. A row needs one part of the table, a kilobyte: four times 256 bytes, one for each byte of
the result, which `kernel.join` puts together.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.builder import Builder
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, TensorType, UnitAttr, f32, i8
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import InterpretationError

from qmlir.analysis.readings import Structured, computes_only, defining, points_of, ranges_of, readings_of
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.kernel.ops import JoinOp
from qmlir.dialects.kernel.rows import RowMaxOp, RowReduceOp, RowSumOp
from qmlir.ir.builtin_types import as_dense, dense
from qmlir.ir.evaluation import evaluate
from qmlir.ir.provenance import origins_of, set_origins
from qmlir.passes.integer.kernel_tabulate import BYTES, chain_between, cost_of
from qmlir.text.elements import dense_array

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
