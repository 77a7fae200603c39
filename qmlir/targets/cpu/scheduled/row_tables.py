"""Tensors of floats that are looked up by a byte and the largest byte of its row: what `kernel-tabulate-rows` writes.

What reads such a tensor knows all numbers that there may be, and may ask the table itself instead of the tensor.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.builder import Builder
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import SSAValue

from qmlir.analysis.readings import Reading, defining, readings_of
from qmlir.dialects.kernel.ops import JoinOp
from qmlir.dialects.simd.memory import BYTE_VALUES
from qmlir.ir.builtin_types import as_dense
from qmlir.text.elements import dense_array

LEAST_BYTE = -128
"""The byte whose place in a table is the first."""


@dataclass(frozen=True)
class RowTable:
    """An operation each of whose elements is joined from one row of a constant table."""

    op: GenericOp
    byte: Reading
    """What says the place in a row."""
    largest: Reading
    """What says the row: the same for a whole row of the tensor."""
    constant: arith.ConstantOp
    """The bytes of the numbers, `[largest byte, place, byte]`."""
    numbers: npt.NDArray[np.float32]
    """The numbers, `[largest byte, byte]`."""


def row_table_of(value: SSAValue) -> RowTable | None:
    """The table that a tensor has its elements from."""
    op = defining(value)
    end = op.body.block.last_op if isinstance(op, GenericOp) and len(op.res) == 1 else None
    joined = None if end is None else defining(end.operands[0])
    if not isinstance(op, GenericOp) or not isinstance(joined, JoinOp):
        return None
    reads = [each for part in joined.parts if isinstance(each := defining(part), tensor.ExtractOp)]
    if len(reads) != JoinOp.COUNT or any(len(each.indices) != 3 for each in reads):
        return None
    first = reads[0]
    row, _, place = first.indices
    is_alike = all(each.tensor is first.tensor and (each.indices[0], each.indices[2]) == (row, place) for each in reads)
    if not is_alike or [_number(each.indices[1]) for each in reads] != list(range(JoinOp.COUNT)):
        return None
    constant = defining(first.tensor)
    if not isinstance(constant, arith.ConstantOp):
        return None
    found = as_dense(constant.value)
    if found is None or found.get_shape() != (BYTE_VALUES, JoinOp.COUNT, BYTE_VALUES):
        return None
    sources: dict[SSAValue | None, Reading] = {each.argument: each for each in readings_of(op)}
    byte, largest = sources.get(byte_of(place)), sources.get(byte_of(row))
    if byte is None or largest is None:
        return None
    bytes_ = np.ascontiguousarray(dense_array(found).transpose(0, 2, 1))
    return RowTable(op, byte, largest, constant, bytes_.view("<f4")[..., 0])


def _number(value: SSAValue) -> int | None:
    match defining(value):
        case arith.ConstantOp(value=IntegerAttr() as number):
            return number.value.data
        case _:
            return None


def byte_of(place: SSAValue) -> SSAValue | None:
    """The byte of a place in a table."""
    match defining(place):
        case arith.SubiOp() as op if _number(op.rhs) == LEAST_BYTE:
            cast = defining(op.lhs)
            return cast.input if isinstance(cast, arith.IndexCastOp) else None
        case _:
            return None


def place_of(builder: Builder, byte: SSAValue) -> SSAValue:
    """Write the place of a byte in a table."""
    number = builder.insert(arith.IndexCastOp(byte, IndexType())).result
    first = builder.insert(arith.ConstantOp(IntegerAttr(LEAST_BYTE, IndexType()))).result
    return builder.insert(arith.SubiOp(number, first)).result


MANTISSA = 53
"""The bits of a whole number that f64 holds."""


def lowest_bit(numbers: npt.NDArray[np.floating[Any]]) -> int:
    """The exponent of the largest power of two of which all numbers, finite and at least one not 0, are multiples."""
    fractions, exponents = np.frexp(numbers[numbers != 0].astype(np.float64))
    whole = np.ldexp(np.abs(fractions), MANTISSA).astype(np.int64)
    return int((exponents - MANTISSA + np.log2(whole & -whole).astype(np.int64)).min())
