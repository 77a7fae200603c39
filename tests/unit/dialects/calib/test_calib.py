"""Statistics that merge, and fake quantization by the published formula."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from xdsl.dialects.builtin import BoolAttr, IntegerAttr, TensorType, f32, i64
from xdsl.utils.test_value import create_ssa_value

from qmlir.arithmetic.statistics import Summary
from qmlir.dialects.calib.interpret import MEANINGS
from qmlir.dialects.calib.ops import FakeQuantOp
from qmlir.dialects.calib.types import StatsAttr

VALUES = arrays(np.float64, st.integers(1, 30), elements=st.floats(-1e6, 1e6))


@given(VALUES, VALUES)
def test_merged_summary_is_that_of_all_values(left: np.ndarray, right: np.ndarray) -> None:
    merged = Summary.of(left).merged(Summary.of(right))
    everything = np.concatenate([left, right])
    assert (merged.count, merged.minimum, merged.maximum) == (everything.size, everything.min(), everything.max())
    # The two orders of f64 sums differ by at most a few roundings of the largest magnitude, 1e6.
    assert math.isclose(merged.mean, everything.mean(), abs_tol=1e-8)
    # Squares are up to 1e12: an error of 60 * 2^-53 of that is 7e-3 at worst under the root of a zero deviation.
    assert math.isclose(merged.deviation, everything.std(), abs_tol=1e-2)


def test_summary_refuses_what_has_no_statistics() -> None:
    with pytest.raises(ValueError, match="finite"):
        Summary.of(np.array([1.0, np.nan]))
    with pytest.raises(ValueError, match="no values"):
        Summary.of(np.array([]))


def test_attribute_holds_the_summary_exactly() -> None:
    summary = Summary.of(np.array([0.1, 0.2, 0.7]))
    assert StatsAttr.of(summary).summary == summary
    per_axis = StatsAttr.of(summary, 1, [0.1, 0.2], [0.2, 0.7])
    assert per_axis.axis_minima.tolist() == [0.1, 0.2]


def _fake_quant(
    values: list[float], threshold: list[float], bits: int, signed: bool, axis: int | None = None
) -> list[float]:
    x = np.array(values, dtype=np.float32)
    t = np.array(threshold[0] if axis is None else threshold, dtype=np.float32)
    types = [TensorType(f32, each.shape) for each in (x, t)]
    properties = {"bits": IntegerAttr(bits, i64), "signed": BoolAttr.from_bool(signed)}
    if axis is not None:
        properties["axis"] = IntegerAttr(axis, i64)
    op = FakeQuantOp.create(
        operands=[create_ssa_value(type_) for type_ in types], result_types=types[:1], properties=properties
    )
    op.verify_()
    return MEANINGS[FakeQuantOp](op, x, t)[0].tolist()


def test_fake_quant_by_hand() -> None:
    # 3 bits signed, threshold 2^1: s = 2 / 4 = 0.5, steps -4 to 3. Ties go to even: 0.25 -> 0, 0.75 -> 1.0.
    assert _fake_quant([0.25, 0.75, 9.0, -9.0, -0.6], [1.0], 3, True) == [0.0, 1.0, 1.5, -2.0, -0.5]
    # The threshold is rounded up to a power of two: 2^0.3 counts as 2^1.
    assert _fake_quant([9.0], [0.3], 3, True) == [1.5]
    # Unsigned: s = 2 / 8 = 0.25, steps 0 to 7.
    assert _fake_quant([-1.0, 0.3, 9.0], [1.0], 3, False) == [0.0, 0.25, 1.75]
    # One threshold for each index of the axis.
    assert _fake_quant([9.0, 9.0], [0.0, 1.0], 3, True, axis=0) == [0.75, 1.5]
