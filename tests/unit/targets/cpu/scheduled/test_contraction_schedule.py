"""What the table of schedules knows of the operands of a contraction, and how it cuts the result into tiles."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IntegerType, TensorType

from qmlir.analysis.contraction_ranges import stored_elements
from qmlir.ir.builtin_types import dense
from qmlir.targets.cpu.scheduled.schedule import tile_rows


@pytest.mark.parametrize(
    ("bits", "is_unsigned", "expected"), [(4, False, (-8, 7)), (4, True, (1, 15)), (8, False, (1, 15))]
)
def test_the_range_of_a_constant_is_that_of_its_bits(bits: int, is_unsigned: bool, expected: tuple[int, int]) -> None:
    """Whoever wrote the attribute may have left the bits above the fourth as he liked: 15 is -1 there, 8 is -8."""
    type_ = TensorType(IntegerType(bits), [4])
    constant = ConstantOp(dense(np.array([1, 15, 8, 7], np.int8).tobytes(), type_), type_)
    found = stored_elements(constant.result, is_unsigned=is_unsigned)
    assert found is not None
    assert (found.min(), found.max()) == expected


@given(positions=st.integers(0, 4096), most=st.integers(1, 16))
@example(positions=2, most=1)
@example(positions=7, most=6)
def test_the_rows_of_tiles(positions: int, most: int) -> None:
    """At most as many as there is room and use for, and more than half of the room; what is left over is nothing, or
    the most that there can be.
    """
    rows, rest = tile_rows(positions, most), positions % tile_rows(positions, most)
    assert 1 <= rows <= min(most, max(positions, 1))
    if positions <= most:
        assert rest == 0
        return
    assert 2 * rows > most
    others = {each: positions % each for each in range(most // 2 + most % 2 + 1, most + 1)}
    if rest:
        assert all(0 < each <= rest for each in others.values())
    assert all(each < rows for each, left in others.items() if left == rest and each != rows)
