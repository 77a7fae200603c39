"""What training found, as ONNX models in every form; quantized models of ONNX Runtime that go on training."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.arithmetic.arrays import Array
from qmlir.extensions.bench.peers import FORMS as PEER_FORMS
from qmlir.extensions.bench.peers import modern, quantize
from qmlir.extensions.training.trainable import Trainable
from tests.referee.onnxruntime.exported import FORMS
from tests.referee.onnxruntime.quantized_sheets import needs_onnxruntime
from tests.referee.onnxruntime.test_digits import MODELS, digits_input
from tests.support.unsigned_twins import run_exactly

pytestmark = [*needs_onnxruntime, pytest.mark.skipif(not MODELS.is_dir(), reason="the trained models are not here")]

IMAGES = 64
CNN = MODELS / "digits_cnn.onnx"


def _images() -> Array:
    return digits_input("digits_cnn")[:IMAGES]


def _moved(trained: Trainable) -> dict[str, Array]:
    """What training may find: everything a little elsewhere."""
    random = np.random.default_rng(4)
    return {
        name: (array * (1 + 0.05 * random.standard_normal(array.shape))).astype(np.float32)
        for name, array in trained.parameters.items()
    }


def _check_forms(module: ModuleOp) -> None:
    """Each logit is an integer times a scale: in all forms ONNX Runtime gives each bit of it."""
    wanted = qmlir.interpret(module, [_images()])["logits"]
    for settings in FORMS:
        model = qmlir.export_onnx(module, **settings)
        assert np.array_equal(run_exactly(model, {"input": _images()})["logits"], wanted), settings


def test_what_fine_tuning_found_in_every_form() -> None:
    data = digits_input("digits_cnn")[:512]
    found = qmlir.finetune(str(CNN), data, weights="i4", epochs=1, batch_size=32)
    _check_forms(found.module)


@pytest.mark.parametrize("settings", [{"weights": "i4", "activations": "u4"}, {"granularity": "tensor"}], ids=str)
def test_whatever_training_finds_in_every_form(settings: dict[str, str]) -> None:
    trained = qmlir.trainable(str(CNN), _images(), **settings)
    _check_forms(trained.freeze(_moved(trained)))


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("form", ["u8s8", "s8s8"])
def test_models_of_onnxruntime_go_on_training(form: str, per_channel: bool, tmp_path: Path) -> None:
    """From the integers that they have, without data."""
    source, target = tmp_path / "float.onnx", tmp_path / "quantized.onnx"
    onnx.save(modern(onnx.load(CNN)), source)
    quantize(source, target, PEER_FORMS[form], [{"input": _images()}], per_channel=per_channel)
    model = qmlir.load(target)
    trained = qmlir.trainable(model)
    begun = qmlir.interpret(trained.module, {"input": _images(), **trained.parameters})["logits"]
    assert np.array_equal(begun, qmlir.interpret(model, [_images()])["logits"])
    moved = _moved(trained)
    frozen = trained.freeze(moved)
    found = qmlir.interpret(trained.module, {"input": _images(), **moved})["logits"]
    assert np.array_equal(found, qmlir.interpret(frozen, [_images()])["logits"])
    assert not np.array_equal(found, begun)
    _check_forms(frozen)
