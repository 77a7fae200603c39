"""A bias that fits: the smallest scales at which it does, found by a search, and integers by Python's fractions."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qmlir.arithmetic.requantization import LIMIT, fit_bias
from qmlir.arithmetic.schemes import RangeError

SCALES = st.floats(2.0**-20, 8.0, width=32)


def steps(bias: float, input_scale: float, weight_scale: float) -> float:
    """The integer of one bias, each operation rounded to f32."""
    scale = np.float32(input_scale) * np.float32(weight_scale)
    return float(np.rint(np.float32(bias) / scale))


def integers_of(bias: Sequence[float], scales: npt.NDArray[np.float64]) -> list[int]:
    """The integers of biases of the scales that `fit_bias` gave, the quotient rounded to f32 and then to even."""
    quotients = np.asarray(bias, np.float32) / scales.astype(np.float32)
    return [int(each) for each in np.rint(quotients.astype(np.float64))]


def test_a_bias_that_fits_changes_nothing() -> None:
    weight_scales = np.array([0.01, 0.02], np.float32)
    fitted = fit_bias([1.0, -3.0], [1.0, -3.0], 0.5, weight_scales)
    assert fitted.weight_scales.tolist() == weight_scales.tolist()
    assert fitted.raised.tolist() == [False, False]
    assert fitted.bias_scales.tolist() == [np.float32(0.5) * each for each in weight_scales]
    assert integers_of([1.0, -3.0], fitted.bias_scales) == [200, -300]


@given(
    st.floats(2.0**-10, 2.0**20, width=32),
    SCALES,
    st.floats(2.0**-40, 2.0**-10, width=32),
    st.sampled_from([LIMIT, 2**31 - 1, 100]),
)
def test_a_raised_scale_is_the_smallest(bias: float, input_scale: float, weight_scale: float, limit: int) -> None:
    fitted = fit_bias([bias, -bias], [bias, -bias], input_scale, [weight_scale, weight_scale], limit)
    found = float(fitted.weight_scales[0])
    assert fitted.weight_scales[1] == found >= weight_scale
    assert np.float32(found) == found
    assert abs(steps(bias, input_scale, found)) <= limit
    assert bool(fitted.raised[0]) == (steps(bias, input_scale, weight_scale) > limit)
    if found > weight_scale:
        below = float(np.nextafter(np.float32(found), np.float32(0)))
        assert steps(bias, input_scale, below) > limit
    integers = integers_of([bias, -bias], fitted.bias_scales)
    assert integers == [steps(bias, input_scale, found), -steps(bias, input_scale, found)]


def test_only_the_channel_that_needs_it_is_raised() -> None:
    weight_scales = [1e-9, 1e-9, 1e-9]
    fitted = fit_bias([0.0, 1e-4, 100.0], [0.0, 1e-4, 100.0], 1e-3, weight_scales)
    assert fitted.raised.tolist() == [False, False, True]
    # A bias of 0 leaves its filter alone: it must not underflow.
    assert fitted.weight_scales[:2].tolist() == [np.float32(1e-9)] * 2
    assert math.isclose(fitted.weight_scales[2], 100 / 2**29 / 1e-3, rel_tol=1e-6)


def test_a_profiled_range_and_one_scale_for_all_channels() -> None:
    fitted = fit_bias([-50.0, 0.0], [10.0, 7.0], 1.0, [1e-8, 1e-8])
    assert fitted.raised.tolist() == [True, True]
    assert math.isclose(fitted.weight_scales[0], 50 / 2**29, rel_tol=1e-6)
    assert math.isclose(fitted.weight_scales[1], 7 / 2**29, rel_tol=1e-6)
    together = fit_bias([-50.0, 0.0], [10.0, 7.0], 1.0, 1e-8)
    assert together.weight_scales == fitted.weight_scales[0]
    assert together.raised
    assert together.weight_scales.shape == together.bias_scales.shape == ()
    assert fit_bias([-50.0, 0.0], [10.0, 7.0], 1.0, [1e-8]).weight_scales.shape == (1,)


def test_room_for_the_sum_of_products() -> None:
    limits = np.array([2**31 - 1 - 10**9, 2**31 - 1])
    fitted = fit_bias([1.5, 1.5], [1.5, 1.5], 1.0, [2.0**-30, 2.0**-30], limits)
    assert fitted.raised.tolist() == [True, False]
    assert integers_of([1.5, 1.5], fitted.bias_scales)[1] == 3 * 2**29


def test_powers_of_two_stay_powers_of_two() -> None:
    fitted = fit_bias([3.0, 4.0], [3.0, 4.0], 1.0, [2.0**-30, 2.0**-30], is_power_of_two=True)
    # 3 * 2^28 is above 2^29 - 1, 3 * 2^27 is not; 4 / 2^-27 is 2^29 itself.
    assert fitted.weight_scales.tolist() == [2.0**-27, 2.0**-26]


def test_a_scale_that_underflows_is_raised_to_a_normal_number() -> None:
    fitted = fit_bias([0.0], [0.0], 1e-30, [1e-30])
    assert fitted.raised.tolist() == [True]
    assert float(np.finfo(np.float32).tiny) <= fitted.bias_scales[0] < 1.0001 * float(np.finfo(np.float32).tiny)


def test_what_has_no_fit() -> None:
    with pytest.raises(RangeError, match=r"element \[1\] is not"):
        fit_bias([0.0, math.nan], [0.0, 1.0], 1.0, [1.0, 1.0])
    with pytest.raises(RangeError, match="a bias of 1e\\+300 needs a weight scale beyond the range of f32"):
        fit_bias([1e300], [1e300], 1.0, [1.0])
    with pytest.raises(RangeError, match="positive and finite"):
        fit_bias([1.0], [1.0], 0.0, [1.0])
    with pytest.raises(ValueError, match="limit must be >= 1"):
        fit_bias([1.0], [1.0], 1.0, [1.0], 0)
    with pytest.raises(ValueError, match=r"shape \(3,\) does not match weight scales of shape \(2,\)"):
        fit_bias([1.0] * 3, [1.0] * 3, 1.0, [1.0] * 2)
