"""Parameters against the tables and formulas of those who defined them, written out for one range at a time."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from qmlir.arithmetic.schemes import (
    Arithmetic,
    Grid,
    RangeError,
    Scheme,
    Storage,
    TwoLevelScales,
    are_powers_of_two,
    parameters,
    power_of_two_ceiling,
    scale_type_of,
    scheme_names,
)

SCHEMES = tuple(map(Scheme.parse, scheme_names()))

STORAGES = [
    Storage(8),
    Storage(8, False),
    Storage(8, True, (-127, 127)),
    Storage(8, True, (-64, 63)),
    Storage(16),
    Storage(16, False),
    Storage(4),
    Storage(4, False),
    Storage(2, True, (-1, 1)),
    Storage(2, False),
    Storage(24),
    Storage(32),
    Storage(32, False),
]
GLOW = [
    # range, asymmetric scale and zero point, symmetric scale, power of two: Glow's own numbers for int8
    ((0.0, 6.0), (0.0235294, -128), 0.0472441, 0.0625),
    ((-2.0, 5.0), (0.0274510, -55), 0.0393701, 0.0625),
    ((-8.0, -2.0), (0.0313726, 127), 0.0625, 0.0625),
]


@pytest.mark.parametrize(("ends", "asymmetric", "symmetric", "power_of_two"), GLOW)
def test_glow(ends: tuple[float, float], asymmetric: tuple[float, int], symmetric: float, power_of_two: float) -> None:
    expected = {
        Scheme.ASYMMETRIC: asymmetric,
        Scheme.SYMMETRIC: (symmetric, 0),
        Scheme.SYMMETRIC_POW2: (power_of_two, 0),
    }
    for scheme, (scale, zero_point) in expected.items():
        found = parameters(*ends, Grid(Storage(8), scheme, Arithmetic.GLOW))
        assert (round(found.scales.item(), 7), found.zero_points.item()) == (scale, zero_point)


def by_hand(low: float, high: float, storage: Storage, scheme: Scheme) -> tuple[float, int]:
    """The default rule for storage that has as many integers on both sides of the middle, or one more."""
    qmin, qmax = storage.minimum, storage.maximum
    low, high = min(low, 0.0), max(high, 0.0)
    middle = 0 if storage.is_signed else (qmin + qmax + 1) // 2
    match scheme:
        case Scheme.ASYMMETRIC:
            scale = (high - low) / (qmax - qmin)
            zero_point = round(qmin - low / scale)
        case Scheme.SYMMETRIC:
            scale = 2 * max(-low, high) / (qmax - qmin)
            zero_point = middle
        case Scheme.ASYMMETRIC_POW2:
            scale = 2.0 ** math.ceil(math.log2((high - low) / (qmax - qmin)))
            zero_point = round(qmin - low / scale)
        case Scheme.SYMMETRIC_POW2:
            scale = 2.0 ** math.ceil(math.log2(max(low / (qmin - middle), high / (qmax - middle))))
            zero_point = middle
    return float(np.float32(scale)), zero_point


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
@pytest.mark.parametrize("storage", STORAGES, ids=lambda s: f"{s.bits}{s.is_signed}{s.minimum}")
def test_formulas(scheme: Scheme, storage: Storage) -> None:
    rng = np.random.default_rng(storage.bits)
    ends = np.sort(rng.standard_normal((10_000, 2)) * np.exp2(rng.integers(-20, 20, (10_000, 1))), axis=1)
    found = parameters(ends[:, 0], ends[:, 1], Grid(storage, scheme))
    expected = [by_hand(low, high, storage, scheme) for low, high in ends.tolist()]
    assert list(zip(found.scales.tolist(), found.zero_points.tolist(), strict=True)) == expected


@pytest.mark.parametrize("storage", STORAGES, ids=lambda s: f"{s.bits}{s.is_signed}{s.minimum}")
def test_glow_formulas(storage: Storage) -> None:
    rng = np.random.default_rng(storage.bits)
    ends = np.sort(rng.standard_normal((2_000, 2)), axis=1)
    qmin, qmax = storage.minimum, storage.maximum
    if storage == Storage(32):
        qmin, qmax = -(2**29), 2**29 - 1
    asymmetric = parameters(*ends.T, Grid(storage, Scheme.ASYMMETRIC, Arithmetic.GLOW))
    symmetric = parameters(*ends.T, Grid(storage, Scheme.SYMMETRIC, Arithmetic.GLOW))
    for position, (low, high) in enumerate(ends.tolist()):
        low, high = min(low, 0.0), max(high, 0.0)
        scale = (high - low) / (qmax - qmin)
        sides = [(abs(q) + abs(r / scale), q - r / scale) for q, r in ((qmin, low), (qmax, high))]
        zero_point = sides[0][1] if sides[0][0] < sides[1][0] else sides[1][1]
        nearest = math.floor(abs(zero_point) + 0.5) * (1 if zero_point > 0 else -1)
        assert asymmetric.zero_points[position] == min(max(nearest, qmin), qmax)
        assert asymmetric.scales[position] == np.float32(scale)
        if storage.is_signed:
            expected = (max(low / qmin, high / qmax), 0)
        elif low >= 0:
            expected = (scale, 0)
        else:
            middle = (qmax + 1) // 2
            expected = (max(low / -middle, high / (qmax - middle)), middle)
        assert (symmetric.scales[position], symmetric.zero_points[position]) == (np.float32(expected[0]), expected[1])


def test_glow_puts_a_range_about_zero_at_zero() -> None:
    found = parameters(-1.0, 1.0, Grid(Storage(8), Scheme.ASYMMETRIC, Arithmetic.GLOW))
    assert (found.scales, found.zero_points) == (np.float32(2 / 255), 0)


ENDS = st.floats(-1e30, 1e30, allow_subnormal=False)


@st.composite
def storages(draw: st.DrawFn) -> Storage:
    """Storage of 1 to 32 bits, with limits that are narrower at random."""
    bits, is_signed = draw(st.integers(1, 32)), draw(st.booleans())
    whole = Storage(bits, is_signed)
    if draw(st.booleans()):
        return whole
    low = draw(st.integers(whole.minimum, whole.maximum - 1))
    return Storage(bits, is_signed, (low, draw(st.integers(low + 1, whole.maximum))))


def is_one_sided(storage: Storage) -> bool:
    """Whether zero point 0, or what lies nearest to it, leaves a side of 0 without integers."""
    return storage.is_signed and storage.bits > 1 and (storage.minimum >= 0 or storage.maximum <= 0)


@given(ENDS, ENDS, st.floats(0, 1), storages(), st.sampled_from(SCHEMES), st.sampled_from(Arithmetic))
def test_the_range_is_covered(
    one: float, other: float, between: float, storage: Storage, scheme: Scheme, rule: Arithmetic
) -> None:
    low, high = min(one, other), max(one, other)
    assume(not (scheme.is_symmetric and is_one_sided(storage)))
    found = parameters(low, high, Grid(storage, scheme, rule))
    zero_point, scale = int(found.zero_points), Fraction(float(found.scales))
    assert storage.minimum <= zero_point <= storage.maximum  # so 0 is represented exactly
    assert scale > 0
    assert np.float32(float(scale)) == float(scale)
    if scheme.is_power_of_two:
        assert math.frexp(float(scale))[0] == 0.5
    if scheme.is_symmetric and storage.is_signed and storage.minimum <= 0 <= storage.maximum:
        assert zero_point == 0
    if storage == Storage(32) and rule is Arithmetic.GLOW:
        return  # a quarter of the range is used, rounded
    # The scale is rounded to f32 by up to 2^-24 of itself, at every step of the grid; the zero point in f64.
    slack = Fraction(1, 2) + Fraction(storage.levels, 2**24) + Fraction(1, 2**20)
    for value in (low, high, low + (high - low) * between):
        exact = Fraction(min(max(value, low), high)) / scale + zero_point
        stored = min(max(round(exact), storage.minimum), storage.maximum)
        assert abs(stored - exact) <= slack


@given(ENDS, ENDS, storages(), st.sampled_from([Scheme.SYMMETRIC_POW2, Scheme.ASYMMETRIC_POW2]))
def test_powers_of_two_are_the_smallest(one: float, other: float, storage: Storage, scheme: Scheme) -> None:
    low, high = sorted((one, other))
    assume(not (scheme.is_symmetric and is_one_sided(storage)))
    found = parameters(low, high, Grid(storage, scheme))
    assume(found.scales != 1)  # perhaps a degenerate range
    # With half the scale the grid would be too narrow.
    half = Fraction(float(found.scales)) / 2
    below, above = (Fraction(limit - int(found.zero_points)) for limit in (storage.minimum, storage.maximum))
    low, high = min(low, 0.0), max(high, 0.0)
    if scheme is Scheme.ASYMMETRIC_POW2:
        assert half * (storage.levels - 1) * (1 - Fraction(1, 2**50)) < Fraction(high) - Fraction(low)
    elif below and above:
        assert half * below * (1 - Fraction(1, 2**50)) > Fraction(low) or half * above < Fraction(high)


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_a_degenerate_range(scheme: Scheme) -> None:
    for storage in STORAGES:
        found = parameters([0.0, -0.0, 1e-42], [0.0, 0.0, 1.1e-42], Grid(storage, scheme))
        middle = 0 if storage.is_signed else (storage.maximum + 1) // 2
        assert found.scales.tolist() == [1.0] * 3
        assert found.zero_points.tolist() == [middle if scheme.is_symmetric else 0] * 3
    assert parameters(0.0, 0.0, Grid(Storage(8, True, (5, 9)), scheme)).zero_points == 5


def test_a_threshold_of_tqt() -> None:
    # Trained quantization thresholds: t = 2^3 has s = 2^3 / 2^7, and the grid ends at t - s.
    found = parameters(-8.0, 8.0 - 0.0625, Grid(Storage(8), Scheme.SYMMETRIC_POW2))
    assert (found.scales, found.zero_points) == (0.0625, 0)
    assert [found.scales * (code - found.zero_points) for code in (-128, 127)] == [-8.0, 7.9375]


def test_lopsided_signed_storage_keeps_zero_at_zero() -> None:
    found = parameters([-1.0, -1.0], [1.0, 5.0], Grid(Storage(8, True, (-10, 100)), Scheme.SYMMETRIC))
    assert found.zero_points.tolist() == [0, 0]
    assert found.scales.tolist() == [np.float32(0.1), np.float32(0.1)]
    with pytest.raises(RangeError, match=r"range \[-1.0, 2.0\] lies on the side of 0 that the storage cannot"):
        parameters(-1.0, 2.0, Grid(Storage(8, True, (0, 100)), Scheme.SYMMETRIC))


@pytest.mark.parametrize(
    ("low", "high", "message"),
    [
        (math.nan, 1.0, r"the range \[nan, 1.0\] is not finite"),
        ([0.0, -math.inf], [1.0, 1.0], r"the range \[-inf, 1.0\] at index 1 is not finite"),
        ([[0.0, 2.0]], [[1.0, 1.0]], r"the range \[2.0, 1.0\] at index 0, 1 descends"),
        (-1e300, 1e300, r"needs a scale above 3.4028234663852886e\+38"),
        (-1.7e308, 1.7e308, "needs a scale above"),
    ],
)
def test_what_is_no_range(low: float, high: float, message: str) -> None:
    for scheme in SCHEMES:
        with pytest.raises(RangeError, match=message):
            parameters(low, high, Grid(Storage(8), scheme))


def test_what_is_no_storage() -> None:
    for bits, limits in ((0, None), (33, None), (8, (-129, 0)), (8, (0, 128)), (8, (3, 3))):
        with pytest.raises(ValueError, match=r"storage must have 1 to 32 bits|must ascend"):
            Storage(bits, True, limits)
    with pytest.raises(ValueError, match="must ascend within \\[0, 255\\]"):
        Storage(8, False, (-1, 5))


@given(st.integers(-1022, 1023), st.floats(1.0, 2.0, exclude_min=True, exclude_max=True))
def test_which_are_powers_of_two(exponent: int, other: float) -> None:
    power = math.ldexp(1.0, exponent)
    assert are_powers_of_two([[power, power * other]]).tolist() == [[True, False]]


@given(st.floats(5e-324, 8e307))
def test_power_of_two_ceiling(value: float) -> None:
    found = float(power_of_two_ceiling(value))
    assert math.frexp(found)[0] == 0.5
    assert Fraction(found) / 2 < Fraction(value) <= Fraction(found)


@pytest.mark.parametrize(
    ("scales", "held"),
    [
        ([0.5, 1 + 2.0**-10, 0], "f16"),
        ([2.0**-14, 65504], "f16"),
        ([2.0**-14, 2.0**-15], "bf16"),  # subnormal in f16
        ([2.0**-14 * (1 - 2.0**-10)], "f32"),  # subnormal in f16, and too many bits for bf16
        ([2.0**-126, 2.0**17], "bf16"),
        ([2.0**-127], "f32"),  # subnormal everywhere
        ([2.0**-126 * (1 + 2.0**-20)], "f32"),
        ([1.0, np.inf], "f32"),
        ([0.0], "f16"),
    ],
)
def test_scales_are_held_as_normal_numbers(scales: list[float], held: str) -> None:
    assert scale_type_of(np.array(scales, np.float32)) == held


@given(st.data(), st.sampled_from([4, 6, 8]))
def test_two_levels_of_scales_are_exact(data: st.DataObject, bits: int) -> None:
    """Multiples of f16 numbers: the factors fit in a byte, and the steps in f16."""
    bounds = st.floats(2.0**-14, 256, width=16), st.integers(0, (1 << bits) - 1)
    numbers = np.array(data.draw(st.lists(bounds[0], min_size=1, max_size=3)), np.float32)
    factors = [data.draw(st.lists(bounds[1], min_size=4, max_size=4)) for _ in numbers]
    scales = (numbers[:, None] * np.array(factors)).astype(np.float32)
    found = TwoLevelScales.of(scales)
    assert found is not None
    np.testing.assert_array_equal(found.steps[:, None] * found.factors, scales)
    np.testing.assert_array_equal(found.steps.astype(np.float16), found.steps)


@pytest.mark.parametrize(
    ("scales", "levels"),
    [
        ([0, 3, 0, 6], (3.0, [0, 1, 0, 2])),
        ([1, 255], (1.0, [1, 255])),
        ([1, 256], None),
        ([1, 1 + 2.0**-9], None),
        ([65535, 65535], (21845 / 17, [51, 51])),  # 16 bits: 17 * 3855, and 51 * 1285 has a step of 11
        ([65537, 65537], None),  # a prime of 17 bits
        ([0, 0], (0.0, [0, 0])),
        ([-1, 1], None),
        ([np.inf, 1], None),
        ([2.0**-126, 3 * 2.0**-127], None),  # the step would be subnormal
    ],
)
def test_two_levels_of_scales(scales: list[float], levels: tuple[float, list[int]] | None) -> None:
    found = TwoLevelScales.of(np.array(scales, np.float32))
    assert (None if found is None else (float(found.steps), found.factors.tolist())) == levels
