"""What the table of schedules knows of the operands of a contraction."""

import numpy as np
import pytest
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IntegerType, TensorType

from qmlir.ir.builtin_types import dense
from qmlir.passes.scheduled.schedule_table import integer_range


@pytest.mark.parametrize(
    ("bits", "is_unsigned", "expected"), [(4, False, (-8, 7)), (4, True, (1, 15)), (8, False, (1, 15))]
)
def test_the_range_of_a_constant_is_that_of_its_bits(bits: int, is_unsigned: bool, expected: tuple[int, int]) -> None:
    """Whoever wrote the attribute may have left the bits above the fourth as he liked: 15 is -1 there, 8 is -8."""
    type_ = TensorType(IntegerType(bits), [4])
    constant = ConstantOp(dense(np.array([1, 15, 8, 7], np.int8).tobytes(), type_), type_)
    assert integer_range(constant.result, is_unsigned=is_unsigned) == expected
