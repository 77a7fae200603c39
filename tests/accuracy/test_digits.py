"""Trained classifiers in 8 bits: top-1 is that of the float model but for 0.4 points (all: `make bench-accuracy`)."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from benchmarks.accuracy import MODELS, Digits, measure_layers
from qmlir.quantization.report import coverage

pytestmark = pytest.mark.skipif(not MODELS.is_dir(), reason="the trained models are not here")


@cache
def digits(name: str) -> Digits:
    return Digits.of(name)


@cache
def quantized(name: str, granularity: str, calibrator: str) -> ModuleOp:
    return digits(name).quantized(granularity=granularity, calibrator=calibrator)


# Of the recurrent models those that leave some room: one image is 0.19 points, and see `docs/lab/accuracy.md`.
CASES = [
    *(
        (name, granularity, calibrator)
        for name in ("digits_mlp", "digits_cnn")
        for granularity in ("tensor", "channel")
        for calibrator in ("min_max", "percentile", "entropy", "mse")
    ),
    ("digits_lstm", "tensor", "min_max"),
    ("digits_lstm", "channel", "mse"),
    *(
        pytest.param("digits_gru", granularity, calibrator, marks=[] if calibrator == "mse" else pytest.mark.sweep)
        for granularity in ("tensor", "channel")
        for calibrator in ("min_max", "percentile", "entropy", "mse")
    ),
]


@pytest.mark.parametrize(("name", "granularity", "calibrator"), CASES)
def test_top1(name: str, granularity: str, calibrator: str) -> None:
    model = digits(name)
    logits = model.run(quantized(name, granularity, calibrator))
    score = model.score(logits, "qmlir", granularity, calibrator, 1.0)
    assert score.meets_the_bar, score
    assert score.sqnr > 27, score


_GRU_STATE = 8 * 3 * 64 * 64 + 640
"""Products that the state of the GRU enters: the hidden parts of 8 steps of 3 gates, and the last layer."""


@pytest.mark.parametrize(
    ("name", "products"),
    [
        # By hand: 64 x 128 + 128 x 64 + 64 x 10.
        ("digits_mlp", 17_024),
        # 8 steps of 4 gates (3 of a GRU) of 64 units, each on 8 pixels and 64 units; then 64 x 10.
        ("digits_lstm", 8 * 4 * 64 * (8 + 64) + 640),
        ("digits_gru", 8 * 3 * 64 * (8 + 64) + 640),
    ],
)
def test_every_product_has_weights_of_i8(name: str, products: int) -> None:
    """Of all gates of the LSTM and the GRU, too. The state of the GRU has 16 bits, and enters products with them."""
    assert coverage(digits(name).module).multiply_adds == products
    found = coverage(quantized(name, "channel", "mse"))
    wide = _GRU_STATE if name == "digits_gru" else 0
    assert found.multiply_adds_by_elements == {"i8 x i8": products - wide} | ({"i16 x i8": wide} if wide else {})
    assert found.integer_share == 1.0
    assert not any(row.multiply_adds for row in found.left_in_float)


@pytest.mark.parametrize("granularity", ["tensor", "channel"])
def test_a_sum_of_32_bits_before_the_bias_is_better_than_one_of_8(granularity: str) -> None:
    """A fully connected layer adds its bias to the exact sum, unless a recipe rounds the sum first."""
    model = digits("digits_mlp")
    exact, rounded = (
        model.sqnr(model.run(model.quantized(granularity=granularity, accumulator=storage))) for storage in ("", "i8")
    )
    assert exact > rounded + 1


def test_gates_and_cell_have_16_bits_for_a_reason(tmp_path: Path) -> None:
    """In 8 bits the cell is rounded three times at each of 8 steps, and goes into the next."""
    recipe = tmp_path / "recipe.toml"
    roles = ("*cell/*", "*gate/sum")
    recipe.write_text("".join(f'[[rule]]\nrole = "{role}"\nslot = "output"\nstorage = "i8"\n' for role in roles))
    model = digits("digits_lstm")
    narrow = model.run(model.quantized(recipe=str(recipe)))
    assert model.sqnr(model.run(quantized("digits_lstm", "channel", "min_max"))) > model.sqnr(narrow) + 6


def test_the_error_grows_along_the_network() -> None:
    found = {each.key: each for each in measure_layers(digits("digits_mlp"), "channel", "min_max").values}
    # An input from 0 to 1 in 256 steps: half a step is the largest error.
    assert found["input"].max_error <= 0.5 / 255 * 1.001
    assert found["input"].sqnr_db > found["/n/n.1/Relu"].sqnr_db > found["/n/n.4/Gemm/bias_add"].sqnr_db > 35
    assert found["/n/n.0/Gemm/bias_add"].is_limited
    assert not found["/n/n.1/Relu"].is_limited
    logits = measured_by_hand()
    assert found["/n/n.4/Gemm/bias_add"].max_error == pytest.approx(
        logits, rel=1e-5
    )  # samples one by one: other roundings


def measured_by_hand() -> float:
    """The largest error of the logits, from the outputs alone."""
    model = digits("digits_mlp")
    return float(np.abs(model.run(quantized("digits_mlp", "channel", "min_max")) - model.logits).max())
