"""Single layers and products of the benchmarks: ours equal ONNX Runtime's, and each size is that of its title."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import qmlir
from benchmarks import compiled
from benchmarks.contest import Contest
from benchmarks.growth import SECTIONS, exponent, growth_rows, slope_rows
from benchmarks.layers import LAYERS, Convolution, Layer, Product
from benchmarks.narrow import STORED, FloatProduct, Stored, product
from benchmarks.peak import measure_peak
from benchmarks.rows import Section
from benchmarks.shifts import convolutions
from qmlir.extensions.report.inspecting import inspect
from qmlir.extensions.report.timing import Times
from tests.support.unsigned_twins import run_exactly

SMALL: list[Layer] = [
    Convolution(6, 8, 16, 3),
    Convolution(7, 8, 16, 3, 2),
    Convolution(6, 8, 24),
    Convolution(9, 3, 8, 7, 2),
    Convolution(8, 16, 16, 3, 2, 16),
    Convolution(6, 16, 16, 5, 1, 16),
    Product(3, 32, 20),
]


@pytest.mark.parametrize("layer", SMALL, ids=lambda layer: layer.title)
def test_both_models_compute_the_same(layer: Layer) -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    generator = np.random.default_rng(0)
    ours, theirs = layer.models(generator)
    inputs = layer.inputs_of(generator)
    expected = run_exactly(theirs, inputs)["y"]
    np.testing.assert_array_equal(qmlir.interpret(qmlir.load(ours), inputs)["y"], expected)
    assert 20 < expected.std() < 80  # nothing has died, and most do not saturate


@pytest.mark.parametrize("layer", SMALL, ids=lambda layer: layer.title)
def test_multiply_adds_are_those_of_the_module(layer: Layer) -> None:
    ours, _ = layer.models(np.random.default_rng(0))
    assert inspect(qmlir.load(ours)).multiply_adds == layer.multiply_adds


def test_titles_are_of_one_layer_each() -> None:
    layers = [layer for kind in LAYERS.values() for layer, _ in kind]
    assert len({layer.title for layer in layers}) == len(layers)
    assert Convolution(56, 64, 64, 3).multiply_adds == 56**2 * 64 * 64 * 9
    assert replace(Convolution(56, 64, 64, 3), stride=2).title == "3x3 stride 2, 56x56, 64→64"


def test_weights_of_4_and_8_bits_give_the_same_product() -> None:
    weights = np.random.default_rng(0).integers(-7, 8, (32, 24))
    rows = np.random.default_rng(1).integers(-128, 128, (3, 32)).astype(np.int8)
    narrow, wide = product(3, weights, "i4"), product(3, weights, "i8")
    output = qmlir.interpret(narrow, {"x": rows})["y"]
    np.testing.assert_array_equal(output, qmlir.interpret(wide, {"x": rows})["y"])
    # By hand: (x - 3) w, whose weight scales rise from 0.5 to 1, in steps of what `product` takes for the output.
    step = np.float32(np.sqrt(32) * weights.std() * 256 / np.sqrt(12) / 40)
    expected = (rows.astype(np.int64) - 3) @ weights * np.linspace(0.5, 1, 24) / step
    assert np.abs(output - np.clip(expected, -128, 127)).max() <= 0.5 + 1e-3
    assert any(op.name == "nn.matmul" for op in narrow.walk())
    assert not any(op.name == "quant.dcast" for op in narrow.walk())  # integers are multiplied


@pytest.mark.parametrize("stored", STORED, ids=lambda stored: stored.name)
@pytest.mark.parametrize("of", [FloatProduct(3, 64, 16), FloatProduct(1, 32, 8, image=5)], ids=lambda of: of.title)
def test_weights_that_are_stored_in_few_bits_are_near_those_in_f32(of: FloatProduct, stored: Stored) -> None:
    x = np.random.default_rng(1).standard_normal(of.input_shape).astype(np.float32)
    floats, module = qmlir.load(of.model(None)), qmlir.load(of.model(stored))
    assert inspect(module).multiply_adds == inspect(floats).multiply_adds
    assert inspect(module).multiply_adds == of.multiply_adds
    assert "quant.dcast" in {op.name for op in module.walk()}
    wanted, found = (qmlir.interpret(each, {"x": x})["y"] for each in (floats, module))
    # An error of at most half a step of the mantissa, of 1 bit for f4: a quarter of the weight.
    assert np.abs(found - wanted).std() < (0.25 if stored.name == "MXFP4" else 0.15) * wanted.std()


def test_growth_is_told_by_its_exponent_and_its_worst_steps() -> None:
    assert exponent([1, 10, 100], [3, 300, 30_000]) == pytest.approx(2)
    costs = {1: 4.0, 2: 2.0, 4: 1.0, 8: 1.5, 16: 1.2}
    sizes = {size: (size, Times.of([cost * size])) for size, cost in costs.items()}
    power, step, beyond = growth_rows("matmul", sizes)
    assert power.figure < 1
    assert (step.what, step.figure) == ("worst step, 4 to 8: time per multiply-add", 1.5)
    assert beyond.what == "4 fills the machine; worst beyond, 8: time per multiply-add"
    assert beyond.figure == 1.5


def test_a_bend_is_the_steepest_step_over_the_first() -> None:
    slope, bend = slope_rows("time", {1: 3, 2: 5, 3: 7}, 1.5, "s")
    assert (slope.figure, slope.verdict, bend.figure, bend.verdict) == (pytest.approx(2), "MISSED", 1, "met")
    for figures in ({1.0: 1.0, 2: 2, 4: 5}, {1.0: 1.0, 2: 2, 4: 5, 8: 5}):  # a bend at the end, and a cliff between
        _, bend = slope_rows("time", figures, 1.5, "s")
        assert (bend.figure, bend.verdict, bend.is_required) == (1.5, "MISSED", True)
    _, bend = slope_rows("time", {1: 1, 2: 1, 4: 5}, None, "s")
    assert bend.verdict == "MISSED"


def test_a_bend_fails_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    steps: dict[float, float] = {}

    def section(contest: Contest) -> Section:
        return Section("Growth", list(slope_rows("time", steps, None, "s")))

    monkeypatch.setitem(SECTIONS, "cache", section)
    arguments = ["bench-compiled", "--only", "growth", "--growth", "cache", "--folder", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", arguments)
    for last, code in ((3, 0), (4, 1)):
        steps.update({1: 1, 2: 2, 3: last})
        assert compiled.main() == code


def test_the_peak_is_that_of_a_processor() -> None:
    one = measure_peak()
    assert 1e8 < one.f32 < 1e12  # multiply-adds a second of one core: from no vectors to more than there are
    assert one.f32 / 4 < one.int8 < 1e13


def test_convolutions_to_compare_shift_or_do_not() -> None:
    inputs = {"x": np.random.default_rng(0).integers(-128, 128, (1, 2, 2, 64)).astype(np.int8)}
    for is_shift in (False, True):
        module = convolutions(2, is_shift=is_shift)
        found = [op for op in module.walk() if op.name == "nn.conv"]
        assert [("requantize" in op.properties) for op in found] == [is_shift] * 2
        output = qmlir.interpret(module, inputs)["y"]
        assert output.dtype == np.int8
        assert np.unique(output).size > 20  # neither is mostly saturated
