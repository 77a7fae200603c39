"""Settings as people write them: names of other tools, recipes in place, and what should stay in float."""

import inspect
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qmlir
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.quantization.report import coverage
from qmlir.quantization.settings import QuantizeSettings, normalize_settings
from qmlir.text.printing import PrintOptions, Weights, module_text
from tests.support.classifiers import classifier

X = np.random.default_rng(0).standard_normal((8, 4)).astype(np.float32)


class QuantType(Enum):
    """As ONNX Runtime has it."""

    QInt8 = 0
    QUInt8 = 1


SPELLINGS = [
    ("weights", "int8", "i8"), ("weights", "QInt4", "i4"),
    ("weights", "Ternary", "i2<-1:1>"), ("weights", "BIPOLAR", "binary"),
    ("activations", "QUInt8", "u8"), ("weights", "s8", "i8"),
    ("activations", QuantType.QUInt8, "u8"), ("activations", np.uint8, "u8"), ("activations", "I16", "i16"),
    ("weights", "i8<-127:127>", "i8<-127:127>"), ("weights", "byte", "byte"),
    ("calibrator", "MinMax", "min_max"), ("calibrator", "minmax", "min_max"), ("calibrator", "Entropy", "entropy"),
    ("calibrator", "KL", "entropy"), ("calibrator", "gone", "gone"),
    ("granularity", "per_channel", "channel"), ("granularity", "per-tensor", "tensor"), ("granularity", "", ""),
    ("granularity", "group_size:32", "block:32"), ("granularity", "Block_32:FP16", "block:32:f16"),
    ("granularity", "block:32:bfloat16", "block:32:bf16"), ("granularity", "Block_32:K6", "block:32:k6"),
    ("granularity", "block:32:f64", "block:32:f64"),
    ("scheme", "sym", "symmetric"), ("weight_scheme", "Asymmetric", "asymmetric"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "meant"), SPELLINGS)
def test_values_as_other_tools_write_them(name: str, value: Any, meant: str) -> None:
    given: Any = {name: value}
    assert normalize_settings(given) == {name: meant}


REFUSED = [
    ({"weight_type": "QUInt8"}, "quantize has no setting 'weight_type'; use weights='u8' (available: "),
    (
        {"calibrate_method": "MinMax"},
        "quantize has no setting 'calibrate_method'; use calibrator='min_max' (available: ",
    ),
    ({"per_channel": True}, "quantize has no setting 'per_channel'; use granularity='channel' (available: "),
    ({"ignored_scope": ["a"]}, "quantize has no setting 'ignored_scope'; use exclude=['a'] (available: "),
    ({"subset_size": 300}, "quantize has no setting 'subset_size': all samples are used; pass fewer (available: "),
    ({"activation": "i8"}, "quantize has no setting 'activation'; did you mean 'activations'? (available: "),
]


@pytest.mark.parametrize(("settings", "message"), REFUSED)
def test_settings_of_other_tools_are_answered(settings: Any, message: str) -> None:
    with pytest.raises(TypeError) as caught:
        qmlir.quantize(qmlir.load(classifier()), X, **settings)
    assert str(caught.value).startswith(message)


def in_float(**settings: Any) -> set[str]:
    """The nodes that stay in float."""
    module = qmlir.quantize(qmlir.load(classifier()), X, validate=False, **settings).module
    return {row.key.partition("/")[0] for row in coverage(module).left_in_float}


def test_what_is_excluded_stays_in_float(tmp_path: Path) -> None:
    assert in_float() == set()
    assert in_float(exclude="*") == in_float(exclude="Gemm") == {"fine", "coarse[0]"}  # the operator of the model
    rule = {"node": "fine", "quantize": False}
    (tmp_path / "recipe.toml").write_text("[[rule]]\nnode = 'fine'\nquantize = false\n")
    for settings in ({"exclude": ["fi*"]}, {"recipe": {"rule": [rule]}}, {"recipe": [rule]}):
        given: Any = settings
        assert in_float(**given) == {"fine"}
    assert in_float(recipe=tmp_path / "recipe.toml", exclude="coarse*") == {"fine", "coarse[0]"}


def test_exclusions_come_after_the_recipe_and_must_match() -> None:
    kept: Any = [{"node": "Gemm", "slot": "weight", "storage": "i4"}]
    assert in_float(recipe=kept, exclude="fine") == {"fine"}
    for settings, message in (
        ({"exclude": "fin"}, "these rules of the recipe have no effect: 'exclude', rule 1 .node = 'fin'.*'fine'"),
        ({"recipe": {"rules": kept}}, "'recipe': unknown key 'rules'; did you mean 'rule'"),
        ({"recipe": [{"ops": "relu"}]}, "'recipe', rule 1: unknown key 'ops'; did you mean 'op'"),
        ({"recipe": kept[0], "exclude": "fine"}, "'recipe': unknown key 'node'"),
        ({"weights": "byte"}, "storage must be iN or uN with 1 to 32 bits"),
        (
            {"requantize": "f23"},
            "must be one of f32, single_round, double_round, shift, litert_reference, litert_xnnpack, but got f23; "
            "did you mean 'f32'",
        ),
    ):
        given: Any = settings
        with pytest.raises(DiagnosticError, match=message):
            in_float(**given)


def test_names_of_other_tools_quantize_the_same() -> None:
    def text(**settings: Any) -> str:
        module = qmlir.quantize(qmlir.load(classifier()), X, validate=False, **settings).module
        return module_text(module, PrintOptions(weights=Weights.INLINE))

    ours = text(weights="i4", activations="u8", calibrator="min_max", granularity="channel")
    assert text(weights="QInt4", activations=QuantType.QUInt8, calibrator="MinMax", granularity="per_channel") == ours


def test_help_has_every_setting() -> None:
    shown = inspect.signature(qmlir.quantize).parameters
    assert set(QuantizeSettings.__annotations__) < set(shown)
    assert str(shown["weights"]) == "weights: str = <i8<-127:127>>"
    assert str(shown["data"]) == "data: Data | None = None"
    doc = inspect.getdoc(qmlir.quantize) or ""
    assert all(f"\n    {name}: " in doc for name in QuantizeSettings.__annotations__)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"keep_composites": 5}, "keep_composites must be names, but got 5"),
        ({"keep_composites": ["gelu", 5]}, "keep_composites must be names, but got ['gelu', 5]"),
        ({"exclude": {"a": 1}}, "exclude must be names, but got {'a': 1}"),
        ({"device": 3}, "device must be names, but got 3"),
        ({"states": ["x"]}, "state must be spelled input=output or past_*=present_*, but got 'x'"),
        ({"states": "x=y"}, "states must be names of outputs by the names of inputs, but got 'x=y'"),
        ({"accumulator_bits": "4},dce{"}, "accumulator_bits must be an integer from 16 to 32, but got '4},dce{'"),
        ({"accumulator_bits": 15}, "accumulator_bits must be an integer from 16 to 32, but got 15"),
        ({"accumulator_bits": 33}, "accumulator_bits must be an integer from 16 to 32, but got 33"),
        ({"accumulator_bits": 24.0}, "accumulator_bits must be an integer from 16 to 32, but got 24.0"),
        ({"accumulator_bits": 24, "accumulator_pairs": 2}, "accumulator_pairs has no effect on 24-bit accumulators"),
        ({"accumulator_bits": 16, "accumulator_pairs": 3}, "accumulator_pairs must be one of 1, 2, 4, but got 3"),
        ({"accumulator_pairs": 2}, "accumulator_pairs has no effect on 32-bit accumulators"),
        ({"calibrator": "percentil"}, "unknown calibrator 'percentil'; did you mean 'percentile'?"),
        ({"accumulator": "i32},dce{"}, "the options for slot 'accumulator': "),
        ({"granularity": "channels"}, "unknown granularity 'channels'; did you mean 'channel'?"),
        ({"weight_scheme": "symetric"}, "unknown scheme 'symetric'; did you mean 'symmetric'?"),
        (
            {"requantize": "shift:up ties=even"},
            "option 'ties' of pass 'quant-set-requantize' must be one of even, up, away",
        ),
        ({"device": "cpu},dce{"}, "unknown target 'cpu}'; did you mean 'cpu'?"),
    ],
)
def test_a_value_that_is_none_is_an_error_before_samples_are_run(settings: Any, message: str) -> None:
    def samples() -> Any:
        raise AssertionError("a sample was taken")
        yield

    with pytest.raises(DiagnosticError) as caught:
        qmlir.quantize(qmlir.load(classifier()), samples(), **settings)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
