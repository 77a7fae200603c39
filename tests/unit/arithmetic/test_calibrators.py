"""Calibrators against published constants, sorted values, sums over the values themselves and plain loops."""

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qmlir.arithmetic.calibrators import (
    SMOOTHING,
    Option,
    Range,
    calibrate,
    calibrator_names,
    clipping_factor,
    divergence,
    entropy,
    mse,
    options,
    percentile,
    squared_errors,
)
from qmlir.arithmetic.schemes import Grid, Parameters, RangeError, Scheme, Storage, parameters, scheme_names
from qmlir.arithmetic.statistics import Statistics
from qmlir.interpreter.observers import RunRanges
from qmlir.registry import Contribution, Package, PackageError, plugged
from qmlir.registry.faults import place_of

Values = npt.NDArray[np.float32]

SCHEMES = tuple(map(Scheme.parse, scheme_names()))
GRIDS = [Grid(Storage(bits), scheme) for bits in (4, 8) for scheme in SCHEMES] + [Grid(Storage(8, False))]


def data(name: str) -> Values:
    rng = np.random.default_rng(7)
    values = {
        "normal": lambda: rng.standard_normal(40_000),
        "laplace": lambda: rng.laplace(0.5, 2.0, 40_000),
        "relu": lambda: np.maximum(rng.standard_normal(40_000), 0),
        "relu6": lambda: np.clip(4 * rng.standard_normal(40_000), 0, 6),
        "outlier": lambda: np.append(rng.standard_normal(40_000), 30.0),
        "negative": lambda: -1 - rng.random(40_000),
        "few": lambda: np.array([-1.0, 0.0, 3.0]),
        "one": lambda: np.full(10, 2.5),
        "zeros": lambda: np.zeros(10),
    }
    return values[name]().astype(np.float32)


NAMES = ("normal", "laplace", "relu", "relu6", "outlier", "negative", "few", "one", "zeros")


def real_error(values: Values, chosen: Parameters, storage: Storage) -> float:
    """The mean squared error of quantizing and dequantizing each value."""
    scale, zero_point = float(chosen.scales), int(chosen.zero_points)
    stored = np.clip(np.rint(values.astype(np.float64) / scale) + zero_point, storage.minimum, storage.maximum)
    return float(np.mean((scale * (stored - zero_point) - values) ** 2))


def test_clipping_factors_are_the_published_ones() -> None:
    # Banner et al., table of optimal clipping values, by bits; nntool has 3.924 and 9.897 for 8.
    normal = {2: 1.71, 3: 2.15, 4: 2.55, 5: 2.93, 6: 3.28, 7: 3.61, 8: 3.92}
    laplace = {2: 2.83, 3: 3.89, 4: 5.03, 5: 6.20, 6: 7.41, 7: 8.64, 8: 9.89}
    for bits in normal:
        assert abs(clipping_factor("gauss", 2**bits) - normal[bits]) < 0.015
        assert abs(clipping_factor("laplace", 2**bits) - laplace[bits]) < 0.015
    assert round(clipping_factor("gauss", 256), 3) == 3.924
    assert round(clipping_factor("laplace", 256), 3) == 9.897


def over_batches(momentum: float, *batches: npt.ArrayLike) -> Statistics:
    """The statistics of all values, with the averages over the batches."""
    arrays, ranges = [np.asarray(batch, np.float32) for batch in batches], RunRanges(momentum)
    for array in arrays:
        ranges.add(float(array.min()), float(array.max()))
    return replace(Statistics.of(np.concatenate(arrays)), batches=ranges.batches)


@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_every_calibrator_gives_a_range_of_what_was_seen(name: str, grid: Grid) -> None:
    statistics = over_batches(0.1, data(name))
    for calibrator in calibrator_names():
        low, high = calibrate(calibrator, statistics, grid)
        assert min(statistics.minimum, 0) <= low <= high <= max(statistics.maximum, 0)
        assert parameters(low, high, grid).scales > 0


@settings(max_examples=40)
@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=5), st.integers(1, 9))
def test_few_values_of_any_size_seen_in_any_batches_have_a_range(values: list[float], batches: int) -> None:
    statistics = over_batches(0.1, values, *[values[:1]] * batches)
    for name in ("min_max", "moving_average", "batch_mean", "percentile", "gauss", "laplace"):
        low, high = calibrate(name, statistics, Grid(Storage(4)))
        assert min(*values, 0.0) <= low <= high <= max(*values, 0.0), name


def test_ranges_by_hand() -> None:
    statistics = over_batches(0.5, [-1.0, 2.0], [-5.0, 4.0], [0.0, 12.0])
    grid = Grid(Storage(8))
    assert calibrate("min_max", statistics, grid) == (-5.0, 12.0)
    assert calibrate("moving_average", statistics, grid) == (-1.5, 7.5)  # -1, -3, -1.5 and 2, 3, 7.5
    assert calibrate("batch_mean", statistics, grid) == (-2.0, 6.0)
    # Mean 2, variance 190 / 6 - 4.
    reach = math.sqrt(190 / 6 - 4)
    low, high = calibrate("gauss", statistics, grid, {"deviations": 1.0})
    assert math.isclose(low, 2 - reach)
    assert math.isclose(high, 2 + reach)
    # Distances from 2: 3, 0, 7, 2, 2, 10; half a bin (2^-7) apart at most.
    low, high = calibrate("laplace", statistics, grid, {"deviations": 1})
    assert abs(low - (2 - 4)) <= statistics.histogram.width / 2
    assert abs(high - (2 + 4)) <= statistics.histogram.width / 2


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("percent", [100.0, 99.9, 90.0, 50.0, 0.9])
def test_percentile_holds_what_it_should_and_no_bin_more(name: str, percent: float) -> None:
    values = np.sort(data(name).astype(np.float64))
    statistics = Statistics.of(values)
    width, allowed = statistics.histogram.width, values.size * round(1000 - 10 * percent) / 2000
    low, high = percentile(statistics, Grid(Storage(8)), percent=percent)
    assert np.sum(values < low) <= allowed
    assert np.sum(values > high) <= allowed
    assert np.sum(values < low + width) > allowed
    assert np.sum(values >= high - width) > allowed
    low, high = percentile(statistics, Grid(Storage(8), Scheme.SYMMETRIC), percent=percent)
    end = max(-low, high)
    assert np.sum(np.abs(values) > end) <= 2 * allowed
    assert np.sum(np.abs(values) >= end - width) > 2 * allowed


def divergence_by_hand(counts: list[int], start: int, end: int, levels: int) -> float:
    """TensorRT's steps, one bin at a time."""
    window = counts[start:end]
    p = list(map(float, window))
    p[0] += sum(counts[:start])
    p[-1] += sum(counts[end:])
    size, q = len(window) // levels, [0.0] * len(window)
    for level in range(levels):
        group = range(level * size, len(window) if level == levels - 1 else (level + 1) * size)
        used = [position for position in group if p[position]]
        for position in used:
            q[position] = sum(window[each] for each in group) / len(used)
    total = 0.0
    smooth: list[list[float]] = []
    for distribution in (p, q):
        empty = distribution.count(0.0)
        taken = SMOOTHING * empty / (len(distribution) - empty)
        filled = [SMOOTHING if each == 0 else max(each - taken, SMOOTHING) for each in distribution]
        smooth.append([each / sum(filled) for each in filled])
    for one, other in zip(*smooth, strict=True):
        total += one * math.log(one / other)
    return total


@given(st.lists(st.integers(0, 50), min_size=8, max_size=40), st.integers(1, 8), st.integers(0, 10))
def test_divergence(counts: list[int], levels: int, start: int) -> None:
    start = min(start, len(counts) - levels)
    end = max(len(counts) - start, start + levels)
    found = divergence(np.array(counts, np.int64), start, end, levels)
    if any(counts[start:end]):
        assert math.isclose(found, divergence_by_hand(counts, start, end, levels), rel_tol=1e-9, abs_tol=1e-12)
    else:
        assert found == math.inf


def test_jeffreys_is_the_sum_of_both_directions() -> None:
    counts = np.array([5, 3, 1, 1], np.int64)
    # Two levels: 8 and 2, spread as 4, 4, 1, 1. No bin is empty: nothing is smoothed.
    p, q = np.array([5, 3, 1, 1]) / 10, np.array([4, 4, 1, 1]) / 10
    expected = (p * np.log(p / q)).sum() + (q * np.log(q / p)).sum()
    assert math.isclose(divergence(counts, 0, 4, 2, True), expected)


def test_entropy_keeps_an_even_distribution_and_cuts_a_tail() -> None:
    rng = np.random.default_rng(3)
    even = Statistics.of(rng.uniform(-4, 4, 100_000).astype(np.float32))
    tailed = Statistics.of(np.append(rng.standard_normal(100_000), [-60.0, 50.0]).astype(np.float32))
    for scheme in (Scheme.SYMMETRIC, Scheme.ASYMMETRIC):
        low, high = entropy(even, Grid(Storage(8), scheme))
        assert low < -3.9
        assert high > 3.9
        low, high = entropy(tailed, Grid(Storage(8), scheme))
        assert -8 < low < -2
        assert 2 < high < 8


def test_zeros_do_not_draw_the_range_of_entropy_to_them() -> None:
    values = data("relu")
    alone = entropy(Statistics.of(values[values > 0]), Grid(Storage(4)))
    assert entropy(Statistics.of(values), Grid(Storage(4))) == Range(0.0, alone.maximum)


def test_a_histogram_of_fewer_bins_than_levels_loses_nothing() -> None:
    statistics = Statistics.of(data("normal"))
    for scheme in SCHEMES:
        assert entropy(statistics, Grid(Storage(16), scheme)) == (statistics.minimum, statistics.maximum)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_expected_errors_are_those_of_the_values(name: str, grid: Grid) -> None:
    values = data(name)
    statistics = Statistics.of(values)
    ends = np.array([[-1.0, 1.0], [-0.3, 2.0], [0.0, 8.0], [-40.0, 40.0]])
    chosen = parameters(ends[:, 0], ends[:, 1], grid)
    found = squared_errors(statistics, chosen, grid.storage)
    for position in range(4):
        one = Parameters(chosen.scales[position], chosen.zero_points[position])
        # Which of the values of a bin was seen is chance: 40,000 values over a thousand bins and more.
        expected = real_error(values, one, grid.storage)
        tolerance = 0.02 if values.size > 100 else 0.35
        assert math.isclose(found[position], expected, rel_tol=tolerance, abs_tol=float(one.scales) ** 2 / 300)


def test_expected_errors_of_an_even_distribution() -> None:
    # In [0, 1), with a step of 1/4 from 0 to 3/4: (1/4)^2 / 12 up to 7/8, then up to (1/4)^2 at the end.
    values = (np.arange(4096) + 0.5) / 4096
    chosen = Parameters(np.array([0.25]), np.array([0]))
    found = squared_errors(Statistics.of(values), chosen, Storage(2, False))
    within, beyond = 7 / 8 * 0.25**2 / 12, (0.25**3 - 0.125**3) / 3
    assert math.isclose(found[0], within + beyond, rel_tol=2e-3)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_mse_is_the_best_of_its_candidates(name: str, grid: Grid) -> None:
    values = data(name)
    statistics = Statistics.of(values)
    found = mse(statistics, grid, candidates=20)
    low, high = min(statistics.minimum, 0.0), max(statistics.maximum, 0.0)
    fractions = np.linspace(1, 0.05, 20)
    best = real_error(values, parameters(*found, grid), grid.storage)
    together = [real_error(values, parameters(low * f, high * f, grid), grid.storage) for f in fractions]
    assert best <= min(together) * 1.02 + 1e-12
    assert best <= real_error(values, parameters(low, high, grid), grid.storage) * 1.01 + 1e-12


def test_mse_finds_the_factor_of_the_normal_distribution() -> None:
    statistics = Statistics.of(np.random.default_rng(5).standard_normal(500_000))
    low, high = mse(statistics, Grid(Storage(4), Scheme.SYMMETRIC), candidates=200)
    assert abs(max(-low, high) - 2.55) < 0.1


def test_what_has_no_range() -> None:
    for name in calibrator_names():
        with pytest.raises(RangeError, match="no values were observed"):
            calibrate(name, Statistics(), Grid(Storage(8)))
    with pytest.raises(ValueError, match="profile with a momentum"):
        calibrate("moving_average", Statistics.of(np.ones(3)), Grid(Storage(8)))


def test_options_have_names_types_and_bounds() -> None:
    assert options("min_max") == {}
    assert options("percentile") == {"percent": 99.999}
    assert options("entropy") == {"levels": 0, "jeffreys": False}
    assert options("mse") == {"candidates": 100}
    assert options("gauss") == options("laplace") == {"deviations": 0.0}
    statistics, grid = Statistics.of(np.ones(3)), Grid(Storage(8))
    for name, given_options, message in (
        ("median", {}, "unknown calibrator 'median' \\(available: min_max, moving_average"),
        ("percentile", {"percnt": 1.0}, "no option 'percnt' \\(available: percent\\)"),
        ("min_max", {"percent": 1.0}, "calibrator 'min_max' has no option 'percent' \\(available: none\\)"),
        ("entropy", {"levels": 1.5}, "'levels' of calibrator 'entropy' must be of type int, but got 1.5"),
        ("entropy", {"jeffreys": 1}, "must be of type bool, but got 1"),
        ("percentile", {"percent": 0}, "percent must be in \\(0, 100\\], but got 0"),
        ("entropy", {"levels": -1}, "levels must be >= 1, or 0 for half of the storage range, but got -1"),
        ("mse", {"candidates": 0}, "candidates must be >= 1, but got 0"),
    ):
        with pytest.raises(ValueError, match=message):
            calibrate(name, statistics, grid, given_options)


def between(statistics: Statistics, grid: Grid, /, *, low: float = 0.0, high: float = 0.0) -> Range:
    """Whatever the options say."""
    return Range(low, high)


def one_end(statistics: Statistics, grid: Grid, /) -> tuple[float]:
    return (1.0,)


def lost(statistics: Statistics, grid: Grid, /) -> Range:
    raise KeyError("lost")


def place_nothing(low: Values, high: Values, grid: Grid) -> None:
    return None


def of_channels(name: str, scales: list[float], zero_points: list[int], *, is_strict: bool) -> Scheme:
    """A scheme that knows its parameters beforehand; a strict one is symmetric, of powers of two."""

    def place(low: object, high: object, grid: object) -> Parameters:
        return Parameters(np.array(scales), np.array(zero_points))

    return Scheme(name, is_symmetric=is_strict, is_power_of_two=is_strict, place=place)


GOOD = of_channels("GOOD", [1.0, 2.0], [0, 0], is_strict=True)
ONE = of_channels("ONE", [1.0], [0], is_strict=False)
TINY = of_channels("TINY", [1.0, 2.0**-140], [0, 0], is_strict=False)
FINE = of_channels("FINE", [1.0, 0.1], [0, 0], is_strict=False)
OUTSIDE = of_channels("OUTSIDE", [1.0, 1.0], [0, 128], is_strict=False)
THIRD = of_channels("THIRD", [1.0, 3.0], [0, 0], is_strict=True)
MOVED = of_channels("MOVED", [1.0, 2.0], [0, 1], is_strict=True)

REFUSED = {
    "ONE": r"parameters whose shape is not that of the ranges, \(2,\)",
    "TINY": "a scale that is not a positive normal f32",
    "FINE": "a scale that is not a positive normal f32",
    "OUTSIDE": "a zero point outside i8",
    "THIRD": "a scale that is not a power of two",
    "MOVED": "a zero point that is not symmetric",
}
"""Schemes that give the second of two channels what they may not give, and what is said of it."""

NOWHERE, LOST = Scheme("nowhere", place=place_nothing), Scheme("lost", place=lost)  # pyright: ignore[reportArgumentType]

SPOILT = Package(
    "spoilt",
    "1.0",
    contributions=(
        Contribution(
            calibrators={name: f"{__name__}:{name}" for name in ("between", "one_end", "lost")},
            schemes={
                **{"nowhere": f"{__name__}:NOWHERE", "lost": f"{__name__}:LOST"},
                **{name: f"{__name__}:{name}" for name in ("GOOD", *REFUSED)},
            },
        ),
    ),
)


def test_a_range_of_a_package_ascends_inside_what_was_observed_and_zero() -> None:
    grid = Grid(Storage(8))
    for values, low, high in (([-1.5, 2.0], -1.5, 2.0), ([1.0, 2.0], 0.0, 2.0), ([-3.0, -2.0], -3.0, 0.0)):
        statistics = Statistics.of(np.array(values, np.float32))
        with plugged([SPOILT]):
            for ends in ((low, high), (low, low), (high, high), (0.0, 0.0)):
                given_options: dict[str, Option] = {"low": ends[0], "high": ends[1]}
                assert calibrate("between", statistics, grid, given_options) == Range(*ends)
            below, above = float(np.nextafter(low, -4)), float(np.nextafter(high, 4))
            for ends in (
                (below, high), (low, above), (high, low), (below, below), (above, above),
                (math.nan, high), (low, math.nan), (math.nan, math.nan), (-math.inf, high), (low, math.inf),
            ):  # fmt: skip
                given_options: dict[str, Option] = {"low": ends[0], "high": ends[1]}
                with pytest.raises(PackageError) as refused:
                    calibrate("between", statistics, grid, given_options)
                assert str(refused.value) == (
                    f"calibrator 'between' of package 'spoilt 1.0': returned the range [{ends[0]}, {ends[1]}], "
                    f"but it must be ascending and within [{low}, {high}], the observed range extended to 0 "
                    f"({place_of(between)})"
                )


def test_what_a_calibrator_or_a_scheme_of_a_package_raises_names_it() -> None:
    statistics, grid = Statistics.of(np.ones(3)), Grid(Storage(8))
    with plugged([SPOILT]):
        for name, why in (
            ("one_end", r"must return a range \(minimum, maximum\), but returned \(1.0,\)"),
            ("lost", "it raises KeyError: 'lost'"),
        ):
            with pytest.raises(PackageError, match=f"^calibrator '{name}' of package 'spoilt 1.0': {why}"):
                calibrate(name, statistics, grid)
        for name, why in (("nowhere", "must return Parameters, but returned None"), ("lost", "it raises TypeError: ")):
            with pytest.raises(PackageError, match=f"^scheme '{name}' of package 'spoilt 1.0': {why}"):
                parameters(0.0, 1.0, Grid(Storage(8), Scheme.parse(name)))


def test_parameters_of_a_scheme_of_a_package_are_held_to_what_it_says_for_each_channel() -> None:
    low, high = np.array([-1.0, -1.0]), np.array([1.0, 1.0])
    with plugged([SPOILT]):
        assert parameters(low, high, Grid(Storage(8), Scheme.parse("GOOD"))).scales.tolist() == [1.0, 2.0]
        for name, why in REFUSED.items():
            with pytest.raises(PackageError, match=f"^scheme '{name}' of package 'spoilt 1.0': returned {why}"):
                parameters(low, high, Grid(Storage(8), Scheme.parse(name)))
