"""Trained models, imported and interpreted, against ONNX Runtime: the same logits, and the same digits."""

from pathlib import Path

import numpy as np
import pytest

import qmlir
from tests.referee.onnxruntime.quantized_sheets import needs_onnxruntime

MODELS = Path(__file__).parents[4] / "shared" / "models"
"""The models lie beside the repository, not in it."""

pytestmark = [*needs_onnxruntime, pytest.mark.skipif(not MODELS.is_dir(), reason="the trained models are not here")]

# Both compute in f32, in other orders: a relative difference of 1e-4 of each logit, and of the largest one where terms
# cancel, is a hundred times what rounding explains.
RELATIVE = 1e-4
CANCELLED = 1e-6


def digits_input(model: str) -> np.ndarray:
    """All images of the test set as the model takes them."""
    images = np.load(MODELS / "digits_eval.npz")["x_test"]
    match model:
        case "digits_cnn":
            return images[:, None]
        case "digits_mlp":
            return images.reshape(len(images), -1)
        case _:
            return np.ascontiguousarray(images.transpose(1, 0, 2))  # one row of the image is one step


@pytest.mark.parametrize("model", ["digits_cnn", "digits_mlp", "digits_lstm", "digits_gru"])
def test_logits(model: str) -> None:
    import onnxruntime  # noqa: PLC0415 - absent where the referee is skipped

    path = MODELS / f"{model}.onnx"
    values = digits_input(model)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (wanted,) = session.run(None, {"input": values})
    found = qmlir.interpret(qmlir.load(path), {"input": values})["logits"]
    np.testing.assert_allclose(found, wanted, rtol=RELATIVE, atol=CANCELLED * float(np.abs(wanted).max()))
    assert found.argmax(axis=1).tolist() == wanted.argmax(axis=1).tolist()
