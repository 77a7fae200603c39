"""Real models quantized from the statistics that they carry: the same text as from the data that made these."""

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from benchmarks.accuracy import MODELS, Digits
from benchmarks.architectures import random_inputs, with_random_weights
from benchmarks.subjects import batch_axis
from qmlir.interpreter.samples import Data
from qmlir.passmanager.manager import run_pipeline
from qmlir.pipelines import QUANTIZE, quantize_lowering

SAMPLES = 8


def hold_same(module: ModuleOp, data: Data) -> None:
    """By way of an ONNX file with statistics, as `qmlir profile -o model.onnx` writes it."""
    carrying = run_pipeline(module.clone(), quantize_lowering(module))
    profile = qmlir.profile(carrying, data)
    run_pipeline(carrying, QUANTIZE.passes("profile"), taken=profile)
    again = qmlir.load(qmlir.export_onnx(carrying))
    for calibrator in ("min_max", "entropy"):
        from_data = qmlir.quantize(module, profile=profile, calibrator=calibrator).module
        assert str(qmlir.quantize(again, calibrator=calibrator).module) == str(from_data)


@pytest.mark.skipif(not MODELS.is_dir(), reason="the trained models are not here")
@pytest.mark.parametrize(
    "name", ["digits_mlp", "digits_cnn", "digits_lstm", pytest.param("digits_gru", marks=pytest.mark.sweep)]
)
def test_digits(name: str) -> None:
    digits, axis = Digits.of(name), batch_axis(name)
    samples = [{"input": np.ascontiguousarray(digits.calibration.take([each], axis))} for each in range(SAMPLES)]
    hold_same(qmlir.load(digits.path, shapes={"input": samples[0]["input"].shape}), samples)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.referee if name == "squeezenet" else pytest.mark.sweep)
        for name in ("squeezenet", "shufflenet", "resnet50")
    ],
)
def test_architectures(name: str) -> None:
    model = with_random_weights(name)
    hold_same(qmlir.load(model), [random_inputs(model)])
