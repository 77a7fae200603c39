"""Parameters and ranges against ONNX Runtime's quantizer, whose Python functions take ranges and histograms."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from qmlir.arithmetic.calibrators import entropy, percentile
from qmlir.arithmetic.schemes import Grid, Scheme, Storage, parameters
from qmlir.arithmetic.statistics import Statistics

pytestmark = pytest.mark.referee
calibrate = pytest.importorskip("onnxruntime.quantization.calibrate")
quant_utils = pytest.importorskip("onnxruntime.quantization.quant_utils")

BINS = 2048
STORAGES = [
    (Storage(8), np.int8),
    (Storage(8, True, (-127, 127)), np.int8),
    (Storage(8, True, (-64, 64)), np.int8),
    (Storage(8, False), np.uint8),
    (Storage(8, False, (0, 127)), np.uint8),
    (Storage(16), np.int16),
    (Storage(16, True, (-32767, 32767)), np.int16),
    (Storage(16, False), np.uint16),
    (Storage(4), np.int8),
    (Storage(4, False), np.uint8),
]


@pytest.mark.parametrize("scheme", [Scheme.ASYMMETRIC, Scheme.SYMMETRIC])
@pytest.mark.parametrize(("storage", "dtype"), STORAGES, ids=str)
def test_parameters_are_the_same(storage: Storage, dtype: type[np.integer[Any]], scheme: Scheme) -> None:
    rng = np.random.default_rng(storage.maximum)
    ends = np.sort(rng.standard_normal((1000, 2)) * np.exp2(rng.integers(-30, 30, (1000, 1))), axis=1)
    ends = ends.astype(np.float32)
    found = parameters(ends[:, 0], ends[:, 1], Grid(storage, scheme))
    limits = (np.array(storage.minimum, dtype), np.array(storage.maximum, dtype))
    for position, (low, high) in enumerate(ends):
        expected = quant_utils.compute_scale_zp(np.array(low), np.array(high), *limits, scheme.is_symmetric)
        assert (found.zero_points[position], found.scales[position]) == tuple(each.item() for each in expected)


def data(name: str) -> npt.NDArray[np.float32]:
    rng = np.random.default_rng(11)
    values = {
        "normal": rng.standard_normal,
        "laplace": rng.laplace,
        "student": lambda size: rng.standard_t(4, size),
        "uniform": lambda size: rng.uniform(-1, 1, size),
        "one_sided": lambda size: np.abs(rng.standard_normal(size)) + 0.5,
    }
    call: Any = values[name]
    return call(size=100_000).astype(np.float32)


def centered(statistics: Statistics) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """Counts and edges with 0 in the middle, which ONNX Runtime expects."""
    histogram = statistics.histogram
    half = max(-histogram.first, histogram.first + histogram.counts.size)
    counts = np.zeros(2 * half, np.int64)
    counts[histogram.first + half :][: histogram.counts.size] = histogram.counts
    return counts, (np.arange(-half, half + 1) * histogram.width).astype(np.float32)


def collector(method: str, is_symmetric: bool, percent: float = 100.0) -> Any:
    return calibrate.HistogramCollector(method, is_symmetric, BINS, 128, percent, "same")


@pytest.mark.parametrize("name", ["normal", "laplace", "student", "uniform", "one_sided"])
@pytest.mark.parametrize("percent", [99.999, 99.0, 80.0])
def test_percentiles_are_a_bin_apart_at_most(name: str, percent: float) -> None:
    statistics = Statistics.of(data(name), bins=BINS)
    width = statistics.histogram.width
    ends = (np.float32(statistics.minimum), np.float32(statistics.maximum))
    judge = collector("percentile", False, percent)
    judge.histogram_dict = {"x": (statistics.histogram.counts, statistics.histogram.edges.astype(np.float32), *ends)}
    low, high = (float(each) for each in judge.compute_percentile()["x"][:2])
    found = percentile(statistics, Grid(Storage(8)), percent=percent)
    # Ours takes the upper edge of the bin that holds the percentile, ONNX Runtime's the lower edge at both ends.
    # Where as many values lie below an edge as may be cut off, ours cuts them off.
    assert low - 1e-6 <= found.minimum <= low + width + 1e-6
    assert high - 1e-6 <= found.maximum <= high + width + 1e-6


@pytest.mark.parametrize(("name", "tolerance"), [("normal", 0.2), ("uniform", 0.0), ("laplace", 0.2), ("student", 0.2)])
def test_entropy_is_near(name: str, tolerance: float) -> None:
    # ONNX Runtime spreads groups over empty bins, cuts off fractions, and its last group lacks the bins left over: the
    # divergences differ, and they are flat about their minimum.
    statistics = Statistics.of(data(name), bins=BINS)
    counts, edges = centered(statistics)
    ends = (np.float32(statistics.minimum), np.float32(statistics.maximum))
    judge = collector("entropy", True)
    low, high = (float(each) for each in judge.get_entropy_threshold((counts, edges, *ends), 128))
    found = entropy(statistics, Grid(Storage(8), Scheme.SYMMETRIC))
    assert np.allclose(found, (low, high), rtol=tolerance, atol=1e-6)
