"""Statistics against sums of fractions and bins counted one by one; in whatever order the data comes, the same."""

import json
import math
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from qmlir.arithmetic import statistics as module
from qmlir.arithmetic.statistics import SMALLEST_EXPONENT, Histogram, Moments, NotANumberError, Statistics, run_sums
from qmlir.interpreter.observers import RunRanges

Array = npt.NDArray[Any]

DTYPES = {
    np.float16: np.uint16,
    ml_dtypes.bfloat16: np.uint16,
    np.float32: np.uint32,
    np.float64: np.uint64,
}


@st.composite
def samples(draw: st.DrawFn, smallest: int = 0) -> Array:
    """Finite values of any float type: of every size that there is, or of one size, as in a network."""
    dtype, bits = draw(st.sampled_from(list(DTYPES.items())))
    if draw(st.booleans()):
        elements = st.integers(0, int(np.iinfo(bits).max))
        values = draw(arrays(bits, st.integers(smallest, 40), elements=elements)).view(dtype)
        return np.where(np.isfinite(values), values, dtype(0)).astype(dtype)
    values = draw(arrays(np.float32, st.integers(smallest, 40), elements=st.floats(-8, 8, width=32)))
    return values.astype(dtype)


def fractions(values: Array) -> list[Fraction]:
    return [Fraction(float(value)) for value in values.reshape(-1)]


def bins_by_hand(values: list[Fraction], limit: int) -> tuple[int, dict[int, int]]:
    """The smallest exponent at which the bins from the smallest value to the largest, and 0, are few enough."""
    exponent = SMALLEST_EXPONENT
    if any(values):
        exponent = math.frexp(max(map(abs, map(float, values))))[1] - limit.bit_length() - 2
        exponent = max(exponent, SMALLEST_EXPONENT)
    while True:
        indices = [math.floor(value / Fraction(2) ** exponent) for value in values]
        if max([*indices, 0]) - min([*indices, 0]) < limit:
            return exponent, {index: indices.count(index) for index in set(indices)}
        exponent += 1


def slack(exact: list[Fraction]) -> Fraction:
    """How far the mean may be from that of the fractions: half a unit of sums for each value, and the last division.

    The unit of so few is `2^-51` of a power of two that is at most twice the largest magnitude, or at least 2^-1000.
    """
    assert len(exact) < 1 << 10
    largest = max(*map(abs, exact), Fraction(2) ** -1000)
    return largest * Fraction(2) ** -51 + Fraction(2) ** -1074


@given(samples(1), st.sampled_from([2, 3, 16, 2048]))
def test_counts_are_exact_and_sums_are_close(values: Array, bins: int) -> None:
    found, exact = Statistics.of(values, bins=bins), fractions(values)
    count = len(exact)
    mean = sum(exact, Fraction()) / count
    assert (found.count, found.minimum, found.maximum) == (count, float(min(exact)), float(max(exact)))
    assert found.moments.zeros == exact.count(Fraction(0))
    near = slack(exact)
    assert abs(Fraction(found.mean) - mean) <= near
    assert found.minimum <= found.mean <= found.maximum
    largest = max(map(abs, exact))
    if 2.0**-500 < largest < 2.0**500:  # of others squares are no f64
        variance = sum(((value - mean) ** 2 for value in exact), Fraction()) / count
        assert abs(Fraction(found.deviation) ** 2 - variance) <= 8 * near * largest
    assert 0 <= found.deviation <= found.maximum / 2 - found.minimum / 2
    exponent, counts = bins_by_hand(exact, bins)
    histogram = found.histogram
    assert histogram.exponent == exponent
    numbered = {histogram.first + position: each for position, each in enumerate(histogram.counts.tolist()) if each}
    assert numbered == counts
    assert histogram.counts[0] > 0
    assert histogram.counts[-1] > 0
    assert histogram.counts.size <= bins


def without_sums(statistics: Statistics) -> Statistics:
    """Everything but sums: those of several arrays depend on the order in which they are added."""
    return replace(statistics, moments=Moments(statistics.count, statistics.moments.zeros))


@given(samples(), st.data(), st.sampled_from([2, 16, 2048]))
def test_division_and_order_change_nothing(values: Array, data: st.DataObject, bins: int) -> None:
    whole = Statistics.of(values, bins=bins)
    cuts = sorted(data.draw(st.lists(st.integers(0, values.size), max_size=5)))
    parts = [Statistics.of(part, bins=bins) for part in np.split(values, cuts)]
    order = data.draw(st.permutations(parts))
    left = reduce(Statistics.merged, order, Statistics())
    right = reduce(lambda later, earlier: earlier.merged(later), reversed(order), Statistics())
    if values.size:
        assert without_sums(left) == without_sums(right) == without_sums(whole)
        assert Statistics.from_dict(json.loads(json.dumps(left.to_dict()))) == left
    else:
        assert left.count == right.count == whole.count == 0


def test_chunks_are_added_up() -> None:
    rng = np.random.default_rng(0)
    values = (rng.standard_normal(200_001) * np.exp2(rng.integers(-30, 30, 200_001))).astype(np.float32)
    found, exact = Statistics.of(values), fractions(values)
    assert abs(Fraction(found.mean) - sum(exact, Fraction()) / len(exact)) <= 1e-16 * max(-found.minimum, found.maximum)
    assert math.isclose(found.moments.squares, sum((value**2 for value in exact), Fraction()), rel_tol=1e-11)
    assert found.histogram.total == values.size
    edges = found.histogram.edges
    assert found.histogram.counts.tolist() == np.histogram(values.astype(np.float64), edges)[0].tolist()
    wide = Statistics.of(values.astype(np.float64))
    assert (wide.mean, wide.deviation, wide.histogram.counts.tolist()) == (
        found.mean,
        found.deviation,
        found.histogram.counts.tolist(),
    )
    # numpy's own, in f64: about 2^18 roundings.
    assert math.isclose(found.deviation, float(values.astype(np.float64).std()), rel_tol=1e-10)


def test_equal_numbers_do_not_deviate() -> None:
    """The range bounds the deviation: it is not the rounding of squares, nor infinite where there are no squares."""
    assert Statistics.of(np.full(1000, 0.1, np.float32)).deviation == 0.0
    found = Statistics.of(np.array([1e300, 1e300, -1e300]))
    assert (found.mean, found.deviation) == (pytest.approx(1e300 / 3), 1e300)
    assert Statistics.from_dict(json.loads(json.dumps(found.to_dict(), allow_nan=False))) == found


@st.composite
def runs(draw: st.DrawFn) -> Array:
    """Finite f32, `[repeats, runs, elements]`, of every size that there is."""
    shape = draw(st.tuples(st.integers(1, 3), st.integers(1, 4), st.integers(1, 30)))
    bits = draw(arrays(np.uint32, shape)).view(np.float32)
    return np.where(np.isfinite(bits), bits, np.float32(0))


@given(runs(), st.randoms(use_true_random=False), st.sampled_from([1, 3, 8192]))
def test_sums_of_a_run_do_not_depend_on_the_order_or_on_other_runs(values: Array, random: Any, chunk: int) -> None:
    sizes = np.abs(values).max((0, 2)).astype(np.float64)
    expected = run_sums(values, sizes)
    for run in range(values.shape[1]):
        alone = values[:, run].reshape(-1)
        shuffled = alone[random.sample(range(alone.size), alone.size)]
        assert run_sums(shuffled[None, None], sizes[run : run + 1]).tolist() == expected[run : run + 1].tolist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_SUMMED_CHUNK", chunk)
        assert run_sums(values, sizes).tolist() == expected.tolist()


def test_sums_by_hand() -> None:
    """The unit of 3 values below 2^2 is 2^-49 of values, and 2^-47 of squares; ties go to even."""
    values = np.array([3.0, 2.0**-50, 3 * 2.0**-50], np.float32)[None, None]
    assert run_sums(values, np.array([3.0])).tolist() == [[3.0 + 2 * 2.0**-49, 9.0]]


def test_the_range_grows_by_adding_neighbours() -> None:
    small = Histogram.of(np.array([0.1, 0.3, 0.6, 0.9]), 0.1, 0.9, 4)
    assert (small.exponent, small.first, small.counts.tolist()) == (-2, 0, [1, 1, 1, 1])
    assert (small.coarsened(-1).exponent, small.coarsened(-1).counts.tolist()) == (-1, [2, 2])
    large = small.merged(Histogram.of(np.array([-3.0]), -3.0, -3.0, 4))
    assert (large.exponent, large.first, large.counts.tolist()) == (0, -3, [1, 0, 0, 4])
    assert large.edges.tolist() == [-3.0, -2.0, -1.0, 0.0, 1.0]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.bool_, np.int32])
def test_integers(dtype: type[np.generic]) -> None:
    found = Statistics.of(np.array([0, 1, 1], dtype))
    assert (found.mean, found.minimum, found.maximum) == (2 / 3, 0.0, 1.0)


def test_strided_and_scalar_arrays() -> None:
    values = np.arange(24, dtype=np.float32).reshape(4, 6)
    assert Statistics.of(values[::2, ::3].T) == Statistics.of(np.array([0.0, 3.0, 12.0, 15.0]))
    assert Statistics.of(np.float32(2.5)[...]) == Statistics.of(np.array([2.5]))


def test_negative_zero_is_zero() -> None:
    found = Statistics.of(np.array([[-0.0], [-0.0]], np.float32))
    assert "-0.0" not in json.dumps(found.to_dict())
    assert found == Statistics.of(np.zeros((2, 1), np.float32))


def test_what_is_not_a_number_is_counted_and_found() -> None:
    values = np.ones((2, 3), np.float32)
    values[1] = [np.inf, np.nan, -np.inf]
    with pytest.raises(NotANumberError, match=r"1 of 6 are NaN \(the first at index 4\)") as caught:
        Statistics.of(values)
    assert (caught.value.nans, caught.value.first) == (1, 4)
    for dtype in DTYPES:
        with pytest.raises(NotANumberError, match=r"1 of 2 are NaN \(the first at index 1\)"):
            Statistics.of(np.array([0, np.nan], dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_infinities_are_counted_apart(dtype: Any) -> None:
    values = np.array([[-np.inf, 1, -3], [np.inf, -np.inf, 2]], dtype)
    found = Statistics.of(values)
    finite = Statistics.of(np.array([1, -3, 2], dtype))
    assert (found.minimum, found.maximum, found.count, found.infinities) == (-3.0, 2.0, 3, (2, 1))
    assert {**found.to_dict(), "infinities": [0, 0]} == finite.to_dict()
    parts = [Statistics.of(values[row, [column]]) for row in (1, 0) for column in range(3)]
    merged = Statistics()
    for part in parts:
        merged = merged.merged(part)
    assert merged == found == Statistics.from_dict(json.loads(json.dumps(found.to_dict())))
    assert found != finite
    nothing = Statistics.of(np.full(4, -np.inf, dtype))
    assert (nothing.count, nothing.infinities, nothing.merged(finite).infinities) == (0, (4, 0), (4, 0))


def test_no_values() -> None:
    nothing = Statistics.of(np.zeros((0, 3), np.float32))
    assert (nothing.count, nothing.minimum, nothing.maximum) == (0, math.inf, -math.inf)
    some = Statistics.of(np.ones((1, 3), np.float32))
    assert nothing.merged(some) == some.merged(nothing) == Statistics().merged(some) == some
    assert Statistics.from_dict(Statistics().to_dict()) == Statistics()
    for name in ("mean", "deviation", "spread", "summary"):
        with pytest.raises(ValueError, match="cannot summarize zero values"):
            getattr(nothing, name)


def test_averages_over_runs() -> None:
    rng = np.random.default_rng(1)
    batches = [rng.standard_normal(10) for _ in range(200)]  # their exact sums are taken in several turns
    low, high = float(batches[0].min()), float(batches[0].max())
    for batch in batches[1:]:  # ONNX Runtime: old + averaging_constant * (new - old)
        low, high = low + 0.25 * (float(batch.min()) - low), high + 0.25 * (float(batch.max()) - high)
    runs = RunRanges(0.25)
    for batch in batches:
        runs.add(float(batch.min()), float(batch.max()))
    found = runs.batches
    assert np.allclose(found.moving, (low, high), rtol=1e-14)
    assert (found.count, found.first) == (200, (float(batches[0].min()), float(batches[0].max())))
    assert found.mean == (
        float(sum(Fraction(float(batch.min())) for batch in batches) / 200),
        float(sum(Fraction(float(batch.max())) for batch in batches) / 200),
    )
    whole = replace(Statistics.of(np.concatenate(batches)), batches=found)
    assert Statistics.from_dict(json.loads(json.dumps(whole.to_dict()))) == whole


def test_ranges_along_one_axis_merge() -> None:
    values = np.array([[[1, 2], [3, 4]], [[0, 9], [-5, 3]]], np.float32)
    parts = [
        replace(
            Statistics.of(each), axis=0, axis_minima=each.min(1).astype(float), axis_maxima=each.max(1).astype(float)
        )
        for each in values
    ]
    merged = parts[0].merged(parts[1])
    assert (merged.axis, merged.axis_minima.tolist(), merged.axis_maxima.tolist()) == (0, [0, -5], [9, 4])


def test_what_does_not_merge() -> None:
    values = np.ones((2, 3), np.float32)
    known = Statistics.of(values)
    averaged, along = RunRanges(0.5), replace(known, axis=0, axis_minima=np.ones(2), axis_maxima=np.ones(2))
    averaged.add(1.0, 1.0)
    with pytest.raises(ValueError, match="cannot merge statistics with per-batch averages"):
        replace(known, batches=averaged.batches).merged(known)
    with pytest.raises(ValueError, match="ranges along different axes, 0 and None"):
        along.merged(known)
    with pytest.raises(ValueError, match="cannot merge histograms of 4 and 8 bins"):
        Statistics.of(values, bins=4).merged(Statistics.of(values, bins=8))


def test_what_is_no_option() -> None:
    values = np.ones((2, 3), np.float32)
    with pytest.raises(ValueError, match="number of histogram bins must be in \\[2, 65536\\], but got 1"):
        Statistics.of(values, bins=1)
    with pytest.raises(ValueError, match=r"momentum must be in \(0, 1\], but got 0"):
        _ = RunRanges(0).batches
    with pytest.raises(ValueError, match='missing field "moments"'):
        Statistics.from_dict({})


def test_the_spread_is_that_of_the_values_to_half_a_bin() -> None:
    values = np.random.default_rng(2).laplace(1.0, 3.0, 10_000)
    found = Statistics.of(values)
    assert abs(found.spread - np.abs(values - values.mean()).mean()) <= found.histogram.width / 2
