"""Weights that repairs leave what they are: binary ones, restored ones, those of two layers, short sums."""

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from qmlir.extensions.recovery.repairing import Repair
from qmlir.extensions.recovery.rounded_weights import rounded_weights
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.quantization.settings import QuantizeSettings
from qmlir.specialization.inputs import function_of
from qmlir.workflows.calibrated import stages_of
from qmlir.workflows.profiling import profile
from qmlir.workflows.quantizing import quantize
from tests.support.repairs import decided_by, samples_of_four, stored_weights, two_layers


@pytest.mark.parametrize(
    "settings",
    [
        {"effort": 2},
        {"effort": 3},
        {"effort": 1, "accumulator_bits": 16},
        {"accumulator_bits": 16, "accumulator_pairs": 4},
    ],
)
def test_binary_weights_stay_binary(settings: dict[str, Any]) -> None:
    made = quantize(two_layers("c"), {"x": samples_of_four()}, validate=False, weights="binary", **settings)
    codes = stored_weights(made.module)
    assert len(codes) == 2
    assert all(np.isin(each, (-1, 1)).all() for each in codes)


def test_restored_weights_are_those_that_were_rounded() -> None:
    """Of every layer, and binary ones stay so."""
    for weights in ("binary", "i3"):
        settings: QuantizeSettings = {"weights": weights}
        module = two_layers("c")
        run = stages_of(settings, module, repair="quant-gptq,quant-restore-weights")
        plain = stages_of(settings, module, repair="quant-restore-weights")
        found: list[ModuleOp] = []
        for each in (run, plain):
            lowered = module.clone()
            each(lowered, "target", "lower")
            each(lowered, "profile", "mask", "balance", taken=profile(lowered, {"x": samples_of_four()}))
            each(lowered, "decide", "propagate")
            each(lowered, "repair", samples={"x": samples_of_four()})
            found.append(lowered)
        for one, other in zip(*map(stored_weights, found), strict=True):
            assert np.array_equal(one, other)


def test_a_bias_of_several_layers_is_left_alone() -> None:
    """What makes up for the error of one layer would be an error of the other."""
    module, shared = two_layers("c"), two_layers("b")
    for each, is_corrected in ((module, True), (shared, False)):
        function = function_of(decided_by(each), "main")
        assert [weight.bias is not None for weight in rounded_weights(function)] == [is_corrected] * 2


@pytest.mark.parametrize("node", ["first", "last"])
def test_weights_of_two_layers_are_repaired_where_both_allow_it(node: str) -> None:
    rule = {"node": node, "slot": "weight", "repair": "none"}
    (weight,) = rounded_weights(function_of(decided_by(two_layers("c", "w"), [rule]), "main"))
    assert not weight.may_be_repaired("quant-gptq")
    (weight,) = rounded_weights(function_of(decided_by(two_layers("c", "w")), "main"))
    assert weight.may_be_repaired("quant-gptq")


def test_short_sums_are_no_repair_that_a_recipe_takes_away() -> None:
    rule = {"slot": "weight", "repair": "none"}
    for effort in (None, 0, 1, 2):
        made = quantize(
            two_layers("c"),
            {"x": samples_of_four()},
            validate=False,
            effort=effort,
            accumulator_bits=16,
            accumulator_pairs=4,
            recipe={"rule": [rule]},
        )
        for codes in stored_weights(
            made.module
        ):  # sums of two terms, of four here: those of one channel are a row or a column
            pairs = [each.astype(np.int64).reshape(4, 2, 2) for each in (codes, codes.T)]
            reach = [max(np.maximum(sign * each, 0).sum(2).max() for sign in (1, -1)) for each in pairs]
            assert min(reach) <= 128


def test_binary_weights_take_no_calibrator() -> None:
    recipe = {"rule": [{"slot": "weight", "calibrator": "percentile"}]}
    with pytest.raises(DiagnosticError, match=r"binary weights do not support calibrators .*, but got 'percentile'"):
        quantize(two_layers("c"), {"x": samples_of_four()}, weights="binary", recipe=recipe)


def test_short_sums_that_stay_without_their_repair_are_named() -> None:
    passes = "quant-fit-i16-accumulators,quant-correct-bias"
    left = Repair(passes, 4, "held out", 20.0, 19.0, required="quant-fit-i16-accumulators")
    what = f"{passes} by samples; quant-fit-i16-accumulators by the weights alone is kept"
    assert left.text().startswith(f"not repaired, which would lose ({what}): 20.0 dB")
    kept = Repair(passes, 4, "held out", 20.0, 21.0, required="quant-fit-i16-accumulators")
    assert kept.text() == f"repaired ({passes}): 20.0 dB without, 21.0 dB with, 4 samples held out\n"
