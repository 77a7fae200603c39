"""Products and shifts in the place of requantizations: the reference functions at every step and beside it, at random
places and, for 16 bits, everywhere; and wrong numbers are found out."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.requantization import requantize_f32, requantize_qlinear, requantize_single_round
from qmlir.arithmetic.step_functions import (
    IntegerSteps,
    StepPositions,
    fit_even_steps,
    fit_steps,
    steps_of,
    steps_on_grid,
)

LIMITS = {8: (-128, 127), 16: (-32768, 32767)}

WAYS: dict[str, Callable[..., Array]] = {"f32": requantize_f32, "qlinear": requantize_qlinear}


def apply_steps(steps: IntegerSteps, *integers: Any) -> Array:
    """The formula `clamp((sum of a * factor + addend) >> shift)` on integers that broadcast to `[channels, places]`."""
    return np.clip(_sums(steps, *integers) >> steps.shift, steps.low, steps.high)


def _sums(steps: IntegerSteps, *integers: Any) -> Array:
    products = zip(integers, steps.factors, strict=True)
    return steps.addends[:, None] + sum(np.asarray(each, np.int64) * factor[:, None] for each, factor in products)


def _requantization(way: str, multipliers: Array, zero_point: int, bits: int = 8) -> Callable[[Array], Array]:
    factors = multipliers.astype(np.float32)[:, None]
    return lambda accumulators: WAYS[way](accumulators, factors, zero_point, LIMITS[bits])


def _ends(range_: tuple[int, int], channels: int) -> tuple[Any, Any]:
    return np.full(channels, range_[0]), np.full(channels, range_[1])


def _around(steps: StepPositions, range_: tuple[int, int]) -> Array:
    """The steps and what is next to them."""
    positions = np.concatenate([steps.reached[0] + move for move in (-1, 0, 1)], axis=1)
    return np.clip(positions, *range_)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(12))
def test_what_is_found_is_the_reference_everywhere(way: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    found = 0
    for _ in range(8):
        channels = int(rng.choice([1, 3, 16]))
        range_ = -int(2 ** rng.uniform(3, 19)), int(2 ** rng.uniform(3, 19))
        multipliers = 2.0 ** rng.uniform(-2, 2, channels) * 256 / (range_[1] - range_[0]) * rng.choice([1, -1])
        function = _requantization(way, multipliers, int(rng.integers(-128, 128)))
        sign = int(np.sign(multipliers[0]))
        ends = sorted((range_[0] * sign, range_[1] * sign))
        steps = steps_of(lambda positions, f=function, s=sign: f(positions * s), *_ends((ends[0], ends[1]), channels))
        if steps is None or (fitted := fit_steps(steps)) is None:
            continue
        found += 1
        for positions in (_around(steps, (ends[0], ends[1])), rng.integers(ends[0], ends[1] + 1, (channels, 5000))):
            np.testing.assert_array_equal(apply_steps(fitted, positions), function(positions * sign))
    assert found >= 3  # of 8; the others have ties that no sum and shift has


def test_every_accumulator_of_16_bits() -> None:
    rng = np.random.default_rng(0)
    everything = np.arange(-(1 << 15), 1 << 15)[None]
    checked = 0
    for bits, shortest in ((8, -12), (16, -2)):
        for _ in range(12):
            multipliers = 2.0 ** rng.uniform(shortest, shortest + 4, 2)
            function = _requantization("f32", multipliers, int(rng.integers(-20, 20)), bits)
            steps = steps_of(function, *_ends((-(1 << 15), (1 << 15) - 1), 2))
            assert steps is not None
            if (fitted := fit_steps(steps)) is not None:
                checked += 1
                np.testing.assert_array_equal(apply_steps(fitted, everything), function(np.repeat(everything, 2, 0)))
    assert checked >= 12


def _mutants(steps: IntegerSteps) -> list[IntegerSteps]:
    """An addend that is off by what the interval leaves and one more, on both sides; a factor that is; a shift."""
    return [
        replace(steps, addends=steps.addends + (1 << steps.shift)),
        replace(steps, addends=steps.addends - (1 << steps.shift)),
        replace(steps, factors=[factor + (1 << 16) for factor in steps.factors]),
        replace(steps, shift=steps.shift + 1),
    ]


def test_wrong_numbers_are_found_out() -> None:
    function = _requantization("f32", np.array([0.0271828]), 5)
    steps = steps_of(function, *_ends((-9000, 9000), 1))
    assert steps is not None
    fitted = fit_steps(steps)
    assert fitted is not None
    positions = _around(steps, (-9000, 9000))
    assert (apply_steps(fitted, positions) == function(positions)).all()
    for mutant in _mutants(fitted):
        assert (apply_steps(mutant, positions) != function(positions)).any()


def test_an_addend_off_by_one_is_found_out_where_the_interval_ends() -> None:
    """Of a function that leaves one addend only: (7 a + 3) >> 3 over three channels' worth of residues."""
    positions = np.arange(-400, 401)[None]
    wanted = (positions * 7 + 3) >> 3
    steps = StepPositions(
        positions[None],
        wanted,
        positions[None],
        wanted + 1,
        int(wanted.min()) - 1,
        int(wanted.max()) + 1,
        [(-400, 400)],
    )
    exact = IntegerSteps([np.array([7])], np.array([3]), 3, 32, steps.low, steps.high, (-351, 351))
    np.testing.assert_array_equal(apply_steps(exact, positions), wanted)
    for off in (-1, 1):
        assert (apply_steps(replace(exact, addends=exact.addends + off), positions) != wanted).any()
    found = fit_steps(steps)
    assert found is not None
    np.testing.assert_array_equal(apply_steps(found, positions), wanted)


def test_the_integer_mode_is_found_again() -> None:
    """What is a sum and a shift is found as one, whatever its numbers are."""
    function = lambda positions: requantize_single_round(positions, 1518500250, 39, -3, (-128, 127))  # noqa: E731
    steps = steps_of(function, *_ends((-100_000, 100_000), 1))
    assert steps is not None
    fitted = fit_steps(steps, offset=-3)
    assert fitted is not None
    positions = np.arange(-100_000, 100_001)[None]
    np.testing.assert_array_equal(apply_steps(fitted, positions), function(positions))


def test_any_32_bit_accumulator_has_a_formula() -> None:
    """The integer mode is a product and a shift for every accumulator; a wider input is rejected."""
    function = lambda positions: requantize_single_round(positions, 47453133 << 5, 55, -3, (-128, 127))  # noqa: E731
    range_ = -(1 << 31), (1 << 31) - 1
    steps = steps_of(function, *_ends(range_, 1))
    assert steps is not None
    fitted = fit_steps(steps, offset=-3)
    assert fitted is not None
    positions = _around(steps, range_)
    np.testing.assert_array_equal(apply_steps(fitted, positions), function(positions))
    wider = steps_of(function, *_ends((range_[0] - 1, range_[1]), 1))
    assert wider is not None
    assert fit_steps(wider, offset=-3) is None


def test_ties_to_even_have_no_sum_and_shift() -> None:
    steps = steps_of(_requantization("f32", np.array([0.5]), 0), *_ends((-200, 200), 1))
    assert steps is not None
    assert fit_steps(steps) is None


def _even(steps: IntegerSteps, accumulators: Array) -> Array:
    """The formula with ties to even, by Python's own rounding of exact fractions."""
    low, high = (-(1 << steps.input_bits - 1), (1 << steps.input_bits - 1) - 1) if steps.input_bits else (None, None)
    sums = _sums(steps, np.clip(accumulators, low, high)) >> steps.shift

    def rounded(place: int) -> int:
        number = int(place)
        if steps.is_short and (lost := abs(number).bit_length() - 24) > 0:
            number = round(Fraction(number, 1 << lost)) << lost
        return round(Fraction(number, 1 << steps.fraction)) + steps.offset

    return np.clip(np.vectorize(rounded)(sums), steps.low, steps.high)


@pytest.mark.parametrize(
    ("multipliers", "range_", "is_short"),
    [
        ([0.5], (-200, 200), False),
        ([0.31], (-1000, 1000), False),
        ([0.001753051, 0.000711], (-1_225_785, 958_800), False),
        (2.0 ** np.random.default_rng(5).uniform(-11.5, -9.5, 64), (-2_298_570, 1_473_645), True),
    ],
)
def test_ties_to_even_have_a_rounding(multipliers: Array, range_: tuple[int, int], is_short: bool) -> None:
    """The last case needs 24 significant bits, and accumulators that are clamped first to fit in 32 bits."""
    factors = np.asarray(multipliers, np.float32).astype(np.float64)
    function = _requantization("f32", factors, -5)
    steps = steps_of(function, *_ends(range_, len(factors)))
    assert steps is not None
    fitted = fit_even_steps(steps, factors, -5)
    assert fitted is not None
    assert fitted.is_short == (fitted.input_bits > 0) == is_short
    positions = np.concatenate([_around(steps, range_), np.tile(range_, (len(factors), 1))], axis=1)
    np.testing.assert_array_equal(_even(fitted, positions), function(positions))
    other = replace(fitted, offset=fitted.offset + 1)
    assert not np.array_equal(_even(other, positions), function(positions))
    assert int(np.abs(_sums(fitted, positions) >> fitted.shift).max()) < 1 << 31 or is_short


def test_ties_to_even_are_of_one_integer_and_rising() -> None:
    steps = steps_of(_requantization("f32", np.array([0.5]), 0), *_ends((-200, 200), 1))
    assert steps is not None
    assert fit_even_steps(steps, np.array([-0.5]), 0) is None
    assert fit_even_steps(steps, np.array([0.47]), 0) is None  # not the function's
    grid = [np.arange(-4, 4), np.arange(-4, 4)]
    both = steps_on_grid((grid[0] + grid[1])[None], grid)
    assert both is not None
    assert fit_even_steps(both, np.array([1.0]), 0) is None


def test_channels_share_an_addend_where_they_may() -> None:
    multipliers = np.array([0.00271, 0.00917, 0.03141])
    steps = steps_of(_requantization("f32", multipliers, 7), *_ends((-20_000, 20_000), 3))
    assert steps is not None
    fitted = fit_steps(steps, offset=7)
    assert fitted is not None
    assert len(fitted.factors[0]) == 3
    assert fitted.addends.tolist() == [(7 << fitted.shift) + (1 << fitted.shift - 1)]


def test_a_channel_that_never_comes_so_far_is_held_at_its_ends() -> None:
    """One of two channels has few steps: it is neither clamped nor free."""
    function = _requantization("f32", np.array([0.8137, 0.00113]), 0)
    steps = steps_of(function, *_ends((-500, 500), 2))
    assert steps is not None
    fitted = fit_steps(steps)
    assert fitted is not None
    positions = np.repeat(np.arange(-500, 501)[None], 2, axis=0)
    np.testing.assert_array_equal(apply_steps(fitted, positions), function(positions))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(4))
def test_channels_of_one_value_or_few_beside_others(way: str, seed: int) -> None:
    """A pruned channel has its bias alone: one accumulator, near 0 or far from it, and nearly pruned ones have few.

    Whatever the others need, numbers are found that words of 32 bits hold, and that are exact in each channel.
    """
    rng = np.random.default_rng(seed)
    found = 0
    for _ in range(6):
        whole = int(2 ** rng.uniform(8, 20))
        position = int(2 ** rng.uniform(0, 20)) * int(rng.choice([1, -1]))
        spans = np.array([0, 0, int(rng.integers(1, 4)), whole, int(rng.integers(1, 2 * whole))])
        low = np.array([position, 0, int(rng.integers(-9, 9)), -whole // 2, -int(rng.integers(0, whole))])
        # The scale of a dead channel is as small as any: its bias may be clamped, or go to any integer.
        multipliers = 2.0 ** rng.uniform(-2, 1, 5) * 256 / np.array([*(abs(position) + 1,) * 3, whole, whole])
        zero_point = int(rng.integers(-128, 128))
        function = _requantization(way, multipliers, zero_point)
        steps = steps_of(function, low, low + spans)
        assert steps is not None
        if (fitted := fit_steps(steps, zero_point)) is None:
            continue
        found += 1
        assert all(np.abs(factors).max() < 1 << 31 for factors in fitted.factors)
        bits = 1 << fitted.bits - 1
        assert -bits <= fitted.addends.min() <= fitted.addends.max() < bits
        inside = low[:, None] + rng.integers(0, spans[:, None] + 1, (5, 4000))
        for positions in (low[:, None], (low + spans)[:, None], inside):
            sums = _sums(fitted, positions)
            assert -bits <= sums.min() <= sums.max() < bits
            np.testing.assert_array_equal(apply_steps(fitted, positions), function(positions))
    assert found >= 3  # of 6; in the others a channel of few values needs so large a factor that the rest has too few


def test_constants_have_no_steps() -> None:
    assert steps_of(_requantization("f32", np.array([1e-9]), 3), *_ends((-500, 500), 1)) is None
    assert steps_on_grid(np.full((1, 9), 4), [np.arange(9)]) is None


@pytest.mark.parametrize("seed", range(3))
def test_sums_of_two_bytes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = (each.reshape(-1) for each in np.meshgrid(np.arange(-128, 128), np.arange(-100, 156), indexing="ij"))
    scales = (2.0 ** rng.uniform(-7, -5, 3)).astype(np.float32)
    total = a.astype(np.float32) * scales[0] + b.astype(np.float32) * scales[1]
    wanted = np.clip(np.rint(total / scales[2]), -90, 90).astype(np.int64)[None]
    steps = steps_on_grid(wanted, [a, b])
    assert steps is not None
    fitted = fit_steps(steps)
    assert fitted is not None
    np.testing.assert_array_equal(apply_steps(fitted, a[None], b[None]), wanted)


@pytest.mark.parametrize(
    ("low", "high", "function"),
    [
        (-(1 << 63), (1 << 63) - 1, lambda positions: np.clip(positions >> 56, -100, 100)),
        (0, 3, lambda positions: np.where(positions == 0, -(1 << 63), positions)),
        (0, 3, lambda positions: np.where(positions == 3, (1 << 63) - 1, (1 << 63) - 4)),
    ],
)
def test_differences_that_64_bits_do_not_hold(low: int, high: int, function: Callable[[Any], Any]) -> None:
    assert steps_of(function, *_ends((low, high), 1)) is None
    positions = np.array([low, low + 1, high])
    assert steps_on_grid(function(positions)[None], [positions]) is None
