"""Rows of integers normalized, one by one in a body whose reductions make one number of a row.

The formulas are those of `qmlir.arithmetic.row_norms`, step by step. Sums of integers may be taken in any order: a
row is divided among lanes, and the root is computed once a row.
"""

from collections.abc import Sequence

from xdsl.dialects.builtin import f32, i64

from qmlir.arithmetic.row_norms import RowNorm
from qmlir.dialects.kernel.lowering.scalars import Scalar
from qmlir.dialects.kernel.ops import ReciprocalRootOp
from qmlir.dialects.kernel.rows import RowSumOp

_WORD = 1 << 31
"""Integers of 32 bits are smaller."""


def _sum_of_squares(d: Scalar, largest: int, count: int, row: Sequence[int]) -> Scalar:
    """`sum(d^2)` of `count` integers up to `largest`, in 64 bits; squares, and their sum, in 32 bits where these do."""
    narrow = d if largest**2 < _WORD else d.to(i64)
    squares = narrow * narrow
    return (squares if count * largest**2 < _WORD else squares.to(i64)).over_row(RowSumOp, row).to(i64)


def normalized(norm: RowNorm, d: Scalar, largest: int, row: Sequence[int]) -> Scalar:
    """`f32(f32(n d - t) * r)` for an integer `d` of 32 bits, up to `largest`, of a row along the iterators `row`."""
    squares, multiple = norm.count * _sum_of_squares(d, largest, norm.count, row), norm.count * d
    if norm.is_centred:
        total = d.over_row(RowSumOp, row)
        squares, multiple = squares - total.to(i64) * total.to(i64), multiple - total
    of_row = (squares << norm.shift) + norm.epsilon
    root = of_row.made(of_row.builder.insert(ReciprocalRootOp(of_row.value)), unsigned=False) * norm.factor
    return multiple.to(f32) * root
