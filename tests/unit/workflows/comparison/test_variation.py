"""Signal over noise about what samples have in common, by hand, and what is left out of it."""

import math

import numpy as np
import pytest

from qmlir.workflows.comparison import errors
from qmlir.workflows.comparison.errors import ratios_of, thinned

RANDOM = np.random.default_rng(0)
SAMPLES = RANDOM.normal(size=(9, 1, 40, 5))
NOISE = 0.1 * RANDOM.normal(size=SAMPLES.shape)


def _decibels(signal: float, noise: float) -> float:
    return 10 * math.log10(signal / noise)


def test_by_hand() -> None:
    """Three samples about their median 2: squares of 1, 0 and 9, times 3/2; the second has the signal of the median."""
    references, founds = ([np.array([each]) for each in row] for row in ((1.0, 2.0, 5.0), (1.5, 2.5, 5.5)))
    plain, varying = ratios_of(references, founds)
    assert plain.samples == pytest.approx([_decibels(1, 0.25), _decibels(4, 0.25), _decibels(25, 0.25)])
    assert varying.samples == pytest.approx([_decibels(1.5, 0.25), _decibels(1.5, 0.25), _decibels(13.5, 0.25)])
    assert varying.pooled == pytest.approx(_decibels(15, 0.75))
    assert (varying.median, varying.worst) == (1, 0)


@pytest.mark.parametrize("offset", [0.0, 300.0, 1e6])
def test_an_offset_is_no_signal(offset: float) -> None:
    _, varying = ratios_of(list(SAMPLES + offset), list(SAMPLES + offset + NOISE))
    assert varying.pooled == pytest.approx(20, abs=0.7)


def test_one_spoiled_sample_is_no_signal_of_the_others() -> None:
    spoiled = SAMPLES * np.array([1e4] + 8 * [1.0])[:, None, None, None]
    _, varying = ratios_of(list(spoiled), list(np.where(np.abs(spoiled) > 50, spoiled, 0)))
    assert varying.samples[varying.median] == pytest.approx(0, abs=1)
    assert varying.pooled > 50


@pytest.mark.parametrize("fill", [-1e4, -1e9, 1e9, -100.0, float(np.finfo(np.float32).min), -math.inf])
def test_a_fill_is_no_signal(fill: float) -> None:
    mask = RANDOM.random(SAMPLES.shape) < 0.3
    reference, found = np.where(mask, fill, SAMPLES), np.where(mask, fill, SAMPLES + NOISE)
    assert ratios_of(list(reference), list(found))[1].pooled == pytest.approx(20, abs=0.7)
    assert ratios_of(list(reference), list(np.where(mask, fill, 0.0)))[1].pooled == pytest.approx(0, abs=0.7)


def test_a_fill_that_is_lost_is_noise() -> None:
    mask = RANDOM.random(SAMPLES.shape) < 0.3
    lost = ratios_of(list(np.where(mask, -1e4, SAMPLES)), list(np.where(mask, -4.0, SAMPLES)))[1]
    assert lost.pooled < -30


def test_large_numbers_that_are_no_fill() -> None:
    """Widths of boxes, of all sizes up to 2e5, are signal."""
    widths = np.exp(SAMPLES * 4)
    assert ratios_of(list(widths), list(widths * 1.1))[1].pooled == pytest.approx(20, abs=1)


def test_samples_of_several_lengths_have_the_last_axis_in_common() -> None:
    offset = np.array([0, 10, 100, 1000, 1e4])
    references = [(each + offset)[:, : 40 - position] for position, each in enumerate(SAMPLES)]
    founds = [each + noise[:, : each.shape[1]] for each, noise in zip(references, NOISE, strict=True)]
    assert ratios_of(references, founds)[1].pooled == pytest.approx(20, abs=0.7)


@pytest.mark.parametrize("samples", [1, 9])
def test_what_does_not_vary_is_measured_about_0(samples: int) -> None:
    references, founds = [SAMPLES[0]] * samples, [SAMPLES[0] + NOISE[0]] * samples
    plain, varying = ratios_of(references, founds)
    assert plain == varying
    assert plain.pooled == pytest.approx(_decibels(float((SAMPLES[0] ** 2).sum()), float((NOISE[0] ** 2).sum())))


def test_a_small_error_of_a_probability_changes_no_answer() -> None:
    likely = 0.99 + 1e-4 * SAMPLES
    plain, varying = ratios_of(list(likely), list(likely + 0.05 * NOISE))
    assert plain == varying
    plain, varying = ratios_of(list(likely), list(likely + 0.3))
    assert varying.pooled < -50 < 10 < plain.pooled


@pytest.mark.parametrize(("spread", "is_lost"), [(1e-3, True), (5.0, False)])
def test_an_error_as_large_as_the_margins_of_classes_is_one(spread: float, is_lost: bool) -> None:
    """Ten classes of nearly the same probability are told apart by less than 2%."""
    random = np.random.default_rng(0)
    scores = np.exp(spread * random.normal(size=(16, 1, 10)))
    wanted = scores / scores.sum(-1, keepdims=True)
    found = np.clip(wanted + random.uniform(-0.004, 0.004, wanted.shape), 0, 1)
    plain, varying = ratios_of(list(wanted.astype(np.float32)), list(found.astype(np.float32)))
    assert (varying.pooled < 0) == is_lost
    assert plain.pooled > 25


def test_large_outputs_are_thinned(monkeypatch: pytest.MonkeyPatch) -> None:
    """By rows of the last axis, of all places of the other ones."""
    monkeypatch.setattr(errors, "MOST_ELEMENTS", 100)
    array = np.arange(4 * 60 * 5).reshape(4, 60, 5)
    found = thinned(array)
    assert found.shape == (19, 5)  # every 13th of 240 rows: 12, the least distance, would meet each 5th of the 60 only
    assert set((found[:, 0] // 300).tolist()) == {0, 1, 2, 3}
    assert thinned(array[:1, :10]).shape == (1, 10, 5)


def test_samples_of_shapes_that_have_nothing_in_common() -> None:
    plain, varying = ratios_of([np.ones((1, 2)), np.ones((1, 3))], [np.ones((1, 2)) * 1.1, np.ones((1, 3)) * 1.1])
    assert plain == varying
    assert plain.samples == pytest.approx([20, 20])
