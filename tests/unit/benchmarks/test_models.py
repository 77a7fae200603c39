"""The models of the benchmarks are valid, always the same, as large as their papers say, and ONNX Runtime agrees."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import pytest
from onnx import ModelProto

import qmlir
from benchmarks.accuracy import NAMES
from benchmarks.architectures import random_inputs
from benchmarks.contest import BARS, GAIN_BARS, ratio_rows
from benchmarks.models import BENCH_MODELS, Decoder, convnet, detector, encoder, lstm, mlp, mobilenet_v2, speech, vision
from benchmarks.starts import STARTED
from benchmarks.subjects import FLOAT, INT8, PEER_FORMS
from qmlir.extensions.bench.peers import FORMS, OPSET
from qmlir.extensions.report.inspecting import inspect
from qmlir.extensions.report.timing import Times
from qmlir.targets.runtimes import onnx_runtime
from qmlir.targets.runtimes.packages import is_installed

OWN = {
    "mlp": mlp,
    "lstm": lstm,
    "mobilenetv2": mobilenet_v2,
    "encoder": encoder,
    "convnet": convnet,
    "vision": vision,
    "speech": speech,
    "detector": detector,
}


@pytest.mark.parametrize("build", OWN.values(), ids=OWN)
def test_a_builder_gives_the_same_valid_model_each_time(build: Callable[[], ModelProto]) -> None:
    model, checker = build(), cast(Any, onnx.checker)  # its types say less than pyright wants
    checker.check_model(model, full_check=True)  # with the shapes that it infers: those of the output are ours
    assert [each.version for each in model.opset_import] == [OPSET]
    assert model == build()


def test_a_decoder_has_its_weights_beside_it(tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    decoder, path = Decoder(layers=2, width=128, hidden=192, vocabulary=300, past=5), tmp_path / "decoder.onnx"
    decoder.write(path)
    assert (tmp_path / "decoder.data").stat().st_size == 4 * decoder.parameters
    inputs = {**random_inputs(onnx.load(path)), "token": np.array([[7]])}
    wanted = runtime.InferenceSession(path).run(None, inputs)
    assert [each.shape for each in wanted] == [(1, 2, 6, 64)] * 4 + [(1, 1, 300)]
    for mine, theirs in zip(qmlir.interpret(qmlir.load(path), inputs).values(), wanted, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-3, atol=1e-4)


def fire(inputs: int, squeezed: int, expanded: int) -> int:
    """Multiply-adds a pixel of a module of SqueezeNet: 1x1, then 1x1 and 3x3 side by side."""
    return squeezed * inputs + expanded * squeezed * (1 + 9)


MULTIPLY_ADDS = {
    "resnet50": 4_089_184_256,  # torchvision: 4.09 G
    "mobilenetv2": 300_774_272,  # torchvision: 0.30 G
    # Version 1.1, 0.35 G in torchvision: images of 111, 55, 27 and 13 pixels.
    "squeezenet": 111**2 * 64 * 3 * 9
    + 55**2 * (fire(64, 16, 64) + fire(128, 16, 64))
    + 27**2 * (fire(128, 32, 128) + fire(256, 32, 128))
    + 13**2 * (fire(256, 48, 192) + fire(384, 48, 192) + fire(384, 64, 256) + fire(512, 64, 256) + 512 * 1000),
    "mlp": 784 * 512 + 512 * 256 + 256 * 10,
    "lstm": 32 * 4 * 256 * (64 + 256) + 256 * 10,  # four gates a step, of input and state
    "encoder": 6 * (64 * 12 * 384 * 384 + 2 * 64 * 64 * 384),  # of 4 projections, 2 of four times the width; attention
}


@pytest.mark.parametrize("name", BENCH_MODELS)
def test_multiply_adds(name: str) -> None:
    assert inspect(qmlir.load(BENCH_MODELS[name].build())).multiply_adds == MULTIPLY_ADDS[name]


def test_a_batch_multiplies_the_work() -> None:
    image = 32**2 * 3 * 32 * 9 + 16**2 * (32 * 64 + 64 * 64) * 9 + 8**2 * (64 * 128 + 128 * 128) * 9 + 128 * 10
    assert inspect(qmlir.load(convnet(batch=3))).multiply_adds == 3 * image
    assert inspect(qmlir.load(mlp(batch=3))).multiply_adds == 3 * MULTIPLY_ADDS["mlp"]


SMALL = {
    "mlp": mlp,
    "convnet": partial(convnet, batch=2, size=8),
    "lstm": lstm,
    "encoder": partial(encoder, layers=2, width=48, heads=4, sequence=8),
}


@pytest.mark.skipif(not is_installed(onnx_runtime.PACKAGE), reason="onnxruntime is not installed")
@pytest.mark.parametrize("build", SMALL.values(), ids=SMALL)
def test_onnx_runtime_computes_the_same(build: Callable[[], ModelProto]) -> None:
    model = build()
    inputs = random_inputs(model)
    expected = onnx_runtime.OrtSession(model.SerializeToString())(inputs)
    found = qmlir.interpret(qmlir.load(model), inputs)
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].shape == array.shape
        assert np.abs(found[name] - array).max() <= 1e-4 * np.abs(array).max()  # sums in other orders, of f32
        assert 0.1 < array.std() < 10  # nothing has died, and nothing has exploded


def test_bars_and_forms_are_of_models_and_forms_that_exist() -> None:
    names = {*BENCH_MODELS, *NAMES}
    assert {name for name, *_ in (*BARS, *GAIN_BARS)} <= names
    assert set(STARTED) <= set(BENCH_MODELS)
    assert {each.peer_form for each in BENCH_MODELS.values()} <= set(PEER_FORMS)
    assert {form for peers in PEER_FORMS.values() for forms in peers.values() for form in forms} <= set(FORMS)


def ratios(name: str, seconds: Mapping[str, float], threads: int = 1) -> list[tuple[str, float, float | None]]:
    timings = {key: Times(each, each, each) for key, each in seconds.items()}
    return [(row.title, row.figure, row.bar) for row in ratio_rows(name, timings, threads)]


def test_ratios_are_to_the_fastest_of_those_that_ran() -> None:
    ours = {INT8: 2.0, FLOAT: 6.0}
    static = ratios("mlp", ours | {"ONNX Runtime f32": 4.0, "ONNX Runtime u8s8": 8.0, "OpenVINO u8s8": 5.0})
    assert static == [
        ("mlp: int8 over ONNX Runtime f32", 0.5, None),
        ("mlp: int8 over the faster u8s8", 0.4, 0.6),
        ("mlp: f32 over ONNX Runtime f32", 1.5, None),
    ]
    dynamic = ratios("lstm", ours | {"ONNX Runtime dynamic": 4.0, "OpenVINO f32": 1.0})
    assert dynamic == [("lstm: int8 over ONNX Runtime dynamic int8", 0.5, 0.8)]
    assert ratios("encoder", ours) == []


def test_bars_belong_to_a_number_of_threads() -> None:
    seconds = {INT8: 1.0, FLOAT: 6.0, "OpenVINO u8s8": 4.0}
    bars = [ratios("resnet50", seconds, threads)[0][2] for threads in (1, 2, 3)]
    assert bars == [0.85, 0.9, None]
