"""Statistics that merge, and fake quantization by the published formula."""

import numpy as np
from xdsl.dialects.builtin import BoolAttr, IntegerAttr, TensorType, f32, i64
from xdsl.utils.test_value import create_ssa_value

from qmlir.arithmetic.statistics import Statistics
from qmlir.dialects.calib.interpret import EVALUATORS
from qmlir.dialects.calib.ops import FakeQuantOp
from qmlir.dialects.calib.types import StatsAttr


def test_attribute_holds_the_summary_exactly() -> None:
    summary = Statistics.of(np.array([0.1, 0.2, 0.7])).summary
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
    return EVALUATORS[FakeQuantOp](op, x, (t,))[0].tolist()


def test_fake_quant_by_hand() -> None:
    # 3 bits signed, threshold 2^1: s = 2 / 4 = 0.5, steps -4 to 3. Ties go to even: 0.25 -> 0, 0.75 -> 1.0.
    assert _fake_quant([0.25, 0.75, 9.0, -9.0, -0.6], [1.0], 3, True) == [0.0, 1.0, 1.5, -2.0, -0.5]
    # The threshold is rounded up to a power of two: 2^0.3 counts as 2^1.
    assert _fake_quant([9.0], [0.3], 3, True) == [1.5]
    # Unsigned: s = 2 / 8 = 0.25, steps 0 to 7.
    assert _fake_quant([-1.0, 0.3, 9.0], [1.0], 3, False) == [0.0, 0.25, 1.75]
    # One threshold for each index of the axis.
    assert _fake_quant([9.0, 9.0], [0.0, 1.0], 3, True, axis=0) == [0.75, 1.5]
