"""Long rows of bytes: what a row becomes is computed for each of 256 bytes, and looked up; sums are of bytes.

The floats of a row come from a table (`row_tables`), and their sum is exact in any order: its terms are whole multiples
of one unit. So each byte of these whole numbers is looked up and summed by itself, and all sums together, times the
unit, are that sum; four bytes go into one lane at a time. Behind the sum, the byte that an element becomes depends on
its own byte and its row alone: it is computed for 256 bytes, from the row of the table, and looked up. The floats
themselves are gone. That takes the same time for a row of any length.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from xdsl.builder import Builder
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import FloatAttr, TensorType, f32, f64, i8, i32
from xdsl.dialects.linalg.ops import GenericOp, IndexOp, YieldOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint
from xdsl.utils.type import get_element_type_or_self

from qmlir.analysis.readings import INTEGER_DIVISIONS, Reading, output_maps
from qmlir.dialects.kernel.rows import RowSumOp
from qmlir.dialects.simd.memory import BYTE_VALUES
from qmlir.ir.builtin_types import dense
from qmlir.ir.provenance import origins_of, set_origins
from qmlir.targets.cpu.scheduled.row_split import RowSplit, Space, write_again
from qmlir.targets.cpu.scheduled.row_tables import RowTable, lowest_bit, place_of, sums_of

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
