"""Sums of accumulators: the step in which they count, and how large their integers become, by hand."""

import numpy as np
from xdsl.dialects.builtin import IntegerType, f32

from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.quantization.types import SumBound, sum_of

I32 = IntegerType(32)


def _tensor(scale: float, bound: float) -> SumBound:
    return SumBound(UniformQuantizedType.per_tensor(I32, f32, scale), bound)


def _axis(axis: int, scales: list[float], bound: float) -> SumBound:
    return SumBound(UniformQuantizedType.per_axis(I32, f32, axis, np.array(scales)), bound)


def test_of_one_step_integers_are_added() -> None:
    assert sum_of([_tensor(0.5, 10), _tensor(0.5, 3)], [_tensor(0.5, 1)]) == _tensor(0.5, 14)


def test_the_coarsest_step_counts() -> None:
    """100 steps of 0.5 are 50 of 1, and rounding adds less than one."""
    assert sum_of([_tensor(0.5, 100), _tensor(1.0, 7)], []) == _tensor(1.0, 50 + 1 + 7)


def test_the_coarsest_step_of_each_channel_counts() -> None:
    """Of the first sum, 100 steps of 8 may be 200 of 4 (what channel it is of, the bound does not know)."""
    found = sum_of([_axis(1, [2.0, 8.0], 100), _tensor(4.0, 7)], [])
    assert found.type_ == UniformQuantizedType.per_axis(I32, f32, 1, np.array([4.0, 8.0]))
    assert found.bound >= 100 * 8 / 8 + 7 * 4 / 4


def test_channels_of_several_axes_have_one_step() -> None:
    found = sum_of([_axis(0, [0.5, 2.0], 100), _axis(1, [1.0, 0.25, 1.0], 40)], [])
    assert found == _tensor(2.0, (100 * 2 / 2 + 1) + (40 * 1 / 2 + 1))
