"""Requantization against its formulas, written out with Python's integers, fractions and single f32 steps."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qmlir.arithmetic.requantization import (
    Mode,
    Ties,
    accumulator_scale,
    f32_multiplier,
    fixed_point,
    requantize,
    requantize_double_round,
    requantize_f32,
    requantize_shift,
    requantize_single_round,
    saturate,
    to_f32,
)

ACCUMULATORS = st.integers(-(2**31), 2**31 - 1)
SMALL = st.integers(-3000, 3000)
BITS = st.integers(1, 32)


@st.composite
def results(draw: st.DrawFn) -> tuple[int, tuple[int, int]]:
    """A zero point and the limits of a storage type of 1 to 32 bits, narrow ones included."""
    bits, is_signed = draw(BITS), draw(st.booleans())
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if is_signed else (0, 2**bits - 1)
    low = draw(st.sampled_from([low, min(low + 1, high - 1)]))
    return draw(st.integers(low, high)), (low, high)


def clamp(value: int, limits: tuple[int, int]) -> int:
    return min(max(value, limits[0]), limits[1])


def half_even(value: Fraction) -> int:
    return round(value)  # Python rounds fractions half to even, exactly


def as_f32(value: Fraction | int) -> np.float32:
    """Rounded once to f32, by a search among the neighbours of a first guess."""
    exact = Fraction(value)
    guess = np.float32(float(exact))
    near = [np.nextafter(guess, np.float32(-np.inf)), guess, np.nextafter(guess, np.float32(np.inf))]

    def distance(candidate: np.float32) -> tuple[Fraction, int]:
        return abs(Fraction(float(candidate)) - exact), int(candidate.view(np.int32)) & 1

    return min((each for each in near if np.isfinite(each)), key=distance)


@given(st.integers(-(2**80), 2**80))
def test_integers_round_once_to_f32(value: int) -> None:
    held = np.array([value], np.int64 if abs(value) < 2**63 else object)
    assert to_f32(held)[0] == as_f32(value)
    assert to_f32(np.array([value], object))[0] == as_f32(value)


def test_f32_would_be_rounded_twice_through_f64() -> None:
    # 2^60 + 2^36 is half-way between two f32 numbers; 1 more is above it, which f64 does not see.
    value = 2**60 + 2**36 + 1
    assert to_f32(np.array([value], object))[0] == np.float32(2.0**60 + 2.0**37)
    assert to_f32(np.array([value << 10], object))[0] == np.float32(2.0**70 + 2.0**47)


FACTORS = st.one_of(
    st.floats(2**-40, 2**20, width=32),
    st.builds(lambda odd, power: odd * 2.0**power, st.sampled_from([1, 3, 5, 7]), st.integers(-12, 2)),
)


@given(st.one_of(ACCUMULATORS, SMALL), FACTORS.filter(lambda factor: factor != 1), results())
def test_f32(value: int, factor: float, result: tuple[int, tuple[int, int]]) -> None:
    zero_point, limits = result
    # One rounding of the accumulator, one of the product, then half to even, then the zero point.
    product = as_f32(Fraction(float(as_f32(value))) * Fraction(float(np.float32(factor))))
    wanted = clamp(half_even(Fraction(float(product))) + zero_point, limits)
    assert requantize_f32(np.array([value]), np.float32(factor), zero_point, limits).tolist() == [wanted]


@given(ACCUMULATORS, results())
def test_f32_of_the_same_scale_keeps_the_integer(value: int, result: tuple[int, tuple[int, int]]) -> None:
    zero_point, limits = result
    wanted = clamp(value + zero_point, limits)
    assert requantize_f32(np.array([value]), 1.0, zero_point, limits).tolist() == [wanted]
    assert requantize(np.array([value]), 0.1, 0.1, zero_point, limits).tolist() == [wanted]


def test_f32_by_hand() -> None:
    accumulator = np.array([-5, -3, -1, 1, 3, 5])
    assert requantize_f32(accumulator, 0.5, 3, (-128, 127)).tolist() == [1, 1, 3, 3, 5, 5]
    assert requantize_f32(accumulator, [0.5, 1, 2, 0.25, 100, -0.0], 1, (-8, 7)).tolist() == [-1, -2, -1, 1, 7, 1]
    # f32 leaves out 2^24 + 1: it becomes 2^24 before it is halved.
    assert requantize_f32(np.array([2**24 + 3]), 0.5, 0, (-(2**31), 2**31 - 1)).tolist() == [2**23 + 2]
    assert requantize_f32(np.array([2**31 - 1]), 3e38, -7, (-128, 127)).tolist() == [127]
    assert requantize_f32(np.zeros((0, 3), np.int64), 0.5, 3, (-128, 127)).shape == (0, 3)
    scalar = requantize_f32(np.array(7), 0.5, 3, (-128, 127))
    assert (type(scalar), scalar.shape, scalar.item()) == (np.ndarray, (), 7)


def test_parameters_are_rounded_at_each_step() -> None:
    x, w, y = np.float32(0.1), np.float32(0.7), np.float32(0.3)
    assert accumulator_scale(0.1, [0.7]).tolist() == [np.float32(x * w)]
    assert f32_multiplier(accumulator_scale(0.1, 0.7), 0.3) == np.float32(np.float32(x * w) / y)
    assert f32_multiplier(0.1, accumulator_scale(0.3, 49)) == np.float32(x / np.float32(y * np.float32(49)))
    with pytest.raises(ValueError, match="beyond the range of f32"):
        f32_multiplier(1e30, 1e-30)


@given(st.floats(2**-126, 2**126, width=32), st.integers(-3, 3))
def test_a_multiplier_is_1_for_equal_scales_alone(scale: float, steps: int) -> None:
    other = (np.float32(scale).view(np.int32) + np.int32(steps)).view(np.float32)
    assert (f32_multiplier(scale, other) == 1) == (steps == 0)


@given(st.floats(2**-32, 2**28))
def test_fixed_point(multiplier: float) -> None:
    q, shift = (int(each) for each in fixed_point(multiplier))
    assert 2**30 <= q < 2**31
    assert 2 <= shift <= 62
    # 31 bits: half a unit in the last place, twice that below the next power of two.
    assert abs(Fraction(q, 2**shift) - Fraction(multiplier)) <= Fraction(1, 2 ** (shift + 1))


def test_fixed_point_at_the_ends() -> None:
    assert [each.tolist() for each in fixed_point([0.5, 1.0, 3.0, 2**-32])] == [
        [2**30, 2**30, 3 * 2**29, 2**30],
        [31, 30, 29, 62],
    ]
    almost = np.nextafter(1.0, 0.0)
    assert [int(each) for each in fixed_point(almost)] == [2**30, 30]
    assert [int(each) for each in fixed_point(2**-33)] == [0, 62]
    with pytest.raises(ValueError, match="multiplier must be below 2\\^29"):
        fixed_point(2.0**29)


FIXED_POINTS = st.tuples(st.integers(2**30, 2**31 - 1), st.integers(2, 62))


def tosa_rescale(value: int, multiplier: int, shift: int, double_round: bool) -> int:
    """`apply_scale_32` of the TOSA specification."""
    nudge = 1 << (shift - 1)
    if double_round and shift > 31:
        nudge += (1 << 30) if value >= 0 else -(1 << 30)
    return (value * multiplier + nudge) >> shift


@given(st.one_of(ACCUMULATORS, SMALL), FIXED_POINTS, results())
def test_integer_modes_are_tosa(value: int, fixed: tuple[int, int], result: tuple[int, tuple[int, int]]) -> None:
    zero_point, limits = result
    for double, function in ((False, requantize_single_round), (True, requantize_double_round)):
        wanted = clamp(tosa_rescale(value, *fixed, double) + zero_point, limits)
        assert function(np.array([value]), *fixed, zero_point, limits).tolist() == [wanted]


def tflite(value: int, multiplier: int, shift: int) -> int:
    """`MultiplyByQuantizedMultiplier` of TFLite's reference: a doubling high product, then a rounding shift."""
    left, right = max(31 - shift, 0), max(shift - 31, 0)
    product = (value << left) * multiplier
    high = int(Fraction(product + (2**30 if product >= 0 else 1 - 2**30), 2**31))  # towards zero
    rest, half = high & ((1 << right) - 1), ((1 << right) - 1) >> 1
    return (high >> right) + (rest > half + (high < 0))


@given(SMALL, FIXED_POINTS)
def test_double_round_is_tflite(value: int, fixed: tuple[int, int]) -> None:
    if abs(value) << max(31 - fixed[1], 0) >= 2**31:
        return  # TFLite's shift to the left saturates there
    assert requantize_double_round(np.array([value]), *fixed, 0, (-(2**40), 2**40)).tolist() == [tflite(value, *fixed)]


def rounded(value: Fraction, ties: Ties) -> int:
    match ties:
        case Ties.EVEN:
            return half_even(value)
        case Ties.UP:
            return math.floor(value + Fraction(1, 2))
        case Ties.AWAY:
            return int(math.copysign(math.floor(abs(value) + Fraction(1, 2)), value))


@given(
    st.one_of(ACCUMULATORS, SMALL, st.integers(-(2**70), 2**70)), st.integers(-40, 80), st.sampled_from(Ties), results()
)
def test_shift(value: int, shift: int, ties: Ties, result: tuple[int, tuple[int, int]]) -> None:
    zero_point, limits = result
    wanted = clamp(rounded(Fraction(value) / Fraction(2) ** shift, ties) + zero_point, limits)
    held = np.array([value], np.int64 if abs(value) < 2**63 else object)
    assert requantize_shift(held, shift, ties, zero_point, limits).tolist() == [wanted]
    assert requantize_shift(held[0:1].reshape(()), shift, ties, zero_point, limits).item() == wanted


def test_shift_ties_by_hand() -> None:
    halves = np.array([-5, -3, -1, 1, 3, 5])
    limits = (-128, 127)
    assert requantize(halves, 1.0, 2.0, 0, limits, Mode.SHIFT).tolist() == [-2, -2, 0, 0, 2, 2]
    assert requantize(halves, 1.0, 2.0, 0, limits, Mode.SHIFT, Ties.UP).tolist() == [-2, -1, 0, 1, 2, 3]
    assert requantize(halves, 1.0, 2.0, 0, limits, Mode.SHIFT, Ties.AWAY).tolist() == [-3, -2, -1, 1, 2, 3]
    with pytest.raises(ValueError, match="requires a power of two"):
        requantize(halves, 1.0, 3.0, 0, limits, Mode.SHIFT)


@given(st.lists(SMALL, min_size=3, max_size=3), st.sampled_from(Mode))
def test_parameters_for_each_channel(values: list[int], mode: Mode) -> None:
    scales, zero_points, limits = [0.5, 0.25, 4.0], [3, -1, 0], (-100, 90)
    together = requantize(np.array([values]), scales, 2.0, np.array(zero_points), limits, mode)
    alone = [
        requantize(np.array([value]), scale, 2.0, zero_point, limits, mode).item()
        for value, scale, zero_point in zip(values, scales, zero_points, strict=True)
    ]
    assert together.tolist() == [alone]


@pytest.mark.parametrize("mode", [Mode.SINGLE_ROUND, Mode.DOUBLE_ROUND])
def test_modes_with_a_multiplier_saturate_to_32_bits_first(mode: Mode) -> None:
    wide = np.array([2**32, -(2**40), 2**31 - 1, 2**80], object)
    found = requantize(wide, 1.0, 2.0, 0, (-(2**31), 2**31 - 1), mode)
    assert found.tolist() == [2**30, -(2**30), 2**30, 2**30]


def test_saturation_never_wraps() -> None:
    limits = (-(2**31), 2**31 - 1)
    assert saturate(np.array([2**63 - 1, -(2**63)]), 2**31 - 1, limits).tolist() == [2**31 - 1, -(2**31)]
    assert saturate(np.array([np.inf, -np.inf]), -5, limits).tolist() == [2**31 - 1, -(2**31)]
    assert saturate(np.array([2**90], object), 5, (0, 15)).tolist() == [15]


def test_a_multiplier_of_1_keeps_the_integers_of_its_channel_alone() -> None:
    """f32 has no 2^24 + 1; half of 2^24 + 2 is exact, half of 2^24 + 3 is that of its neighbour 2^24 + 4."""
    large = np.array([[2**24 + 1, 2**24 + 2], [2**24 + 3, 2**24 + 3]])
    found = requantize_f32(large, np.array([1.0, 0.5], np.float32), 0, (-(2**31), 2**31 - 1))
    assert found.tolist() == [[2**24 + 1, 2**23 + 1], [2**24 + 3, 2**23 + 2]]
