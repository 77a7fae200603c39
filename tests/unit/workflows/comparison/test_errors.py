"""Errors of arrays against NumPy's own sums, piece by piece; what is not finite; agreement of classes by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from qmlir.workflows.comparison.errors import ErrorSums, TopOne, sqnr


def summed(reference: list[float], found: list[float]) -> ErrorSums:
    sums = ErrorSums()
    sums.add(np.array(reference, np.float32), np.array(found, np.float32))
    return sums


def test_by_hand() -> None:
    sums = summed([3.0, -4.0, 0.0], [3.5, -4.0, -0.5])
    # Signal 9 + 16, noise .25 + .25: 10 log10 50.
    assert sums.sqnr_db == pytest.approx(16.9897, abs=1e-4)
    assert (sums.max_error, sums.largest, sums.elements) == (0.5, 4.0, 3)
    assert sums.mean(sums.sizes) == pytest.approx(1 / 3)
    assert sums.mean(sums.noise) == pytest.approx(0.5 / 3)


def test_a_tenth_of_the_amplitude_is_20_decibels() -> None:
    assert summed([10.0, -10.0], [11.0, -9.0]).sqnr_db == pytest.approx(20)


@pytest.mark.parametrize(
    ("signal", "noise", "expected"),
    [(1.0, 0.0, math.inf), (0.0, 0.0, math.inf), (0.0, 1.0, -math.inf), (1.0, math.inf, -math.inf), (100.0, 1.0, 20)],
)
def test_ends_of_the_ratio(signal: float, noise: float, expected: float) -> None:
    assert sqnr(signal, noise) == pytest.approx(expected)


def test_integers_of_one_sign_differ_by_their_difference() -> None:
    sums = ErrorSums()
    sums.add(np.array([1, 250], np.uint8), np.array([2, 249], np.uint8))
    assert sums.max_error == 1.0


def test_equal_infinities_and_nan_are_no_error() -> None:
    sums = summed([math.inf, math.nan, -math.inf, 2.0], [math.inf, math.nan, -math.inf, 2.0])
    assert (sums.sqnr_db, sums.max_error, sums.signal, sums.largest) == (math.inf, 0.0, 4.0, 2.0)


@pytest.mark.parametrize(("one", "other"), [(1.0, math.nan), (math.nan, 1.0), (math.inf, 1.0), (math.inf, -math.inf)])
def test_what_is_finite_on_one_side_only_is_an_infinite_error(one: float, other: float) -> None:
    sums = summed([one, 5.0], [other, 5.0])
    assert (sums.sqnr_db, sums.max_error) == (-math.inf, math.inf)


FLOATS = hnp.arrays(np.float32, st.integers(1, 30), elements=st.floats(-100, 100, width=32))


@given(FLOATS, st.integers(0, 30))
def test_pieces_make_the_whole(reference: np.ndarray, cut: int) -> None:
    found = np.roll(reference, 1)
    pieces = ErrorSums()
    pieces.add(reference[:cut], found[:cut])
    pieces.add(reference[cut:], found[cut:])
    difference = found.astype(np.float64) - reference
    assert pieces.elements == reference.size
    assert pieces.noise == pytest.approx(np.square(difference).sum())
    assert pieces.signal == pytest.approx(np.square(reference.astype(np.float64)).sum())
    assert pieces.max_error == np.abs(difference).max()
    assert pieces.mean(pieces.sizes) == pytest.approx(np.abs(difference).mean())
    assert pieces.largest == np.abs(reference).max()


def test_agreement_of_classes() -> None:
    top1 = TopOne()
    top1.add(np.array([[1.0, 2.0], [3.0, 0.0]]), np.array([[5.0, 6.0], [0.0, 1.0]]))
    top1.add(np.array([[0.0, 1.0]]), np.array([[0.0, 0.1]]))
    assert top1.share == pytest.approx(2 / 3)


@pytest.mark.parametrize("shape", [(), (1,), (4, 1), (2, 100_001)])
def test_what_is_no_row_of_scores_has_no_classes(shape: tuple[int, ...]) -> None:
    top1 = TopOne()
    top1.add(np.ones(shape), np.ones(shape))
    assert top1.share is None


def test_classes_are_along_the_last_axis() -> None:
    """One of six rows has another largest element: the third of 60, which is among the first 5%; and one the fourth."""
    reference = np.tile(np.arange(60.0), (2, 3, 1))
    found = reference.copy()
    found[0, 1, 57] = found[1, 2, 56] = 100
    top1 = TopOne()
    top1.add(reference, found)
    assert (top1.share, top1.rows, top1.wrong) == (pytest.approx(4 / 6), 6, 1)


def test_embeddings_of_length_1_are_directions() -> None:
    """One row of other scores tells that they are scores; probabilities of one class are."""
    top1 = TopOne()
    embeddings = np.array([[0.6, -0.8], [-1.0, 0.0]])
    top1.add(embeddings, embeddings)
    assert top1.are_directions
    top1.add(np.array([[2.0, -1.0]]), np.array([[-1.0, 2.0]]))
    assert not top1.are_directions
    assert top1.share == pytest.approx(2 / 3)
    certain = TopOne()
    certain.add(np.array([[1.0, 0.0]]), np.array([[0.9, 0.1]]))
    assert not certain.are_directions
    assert certain.share == 1
