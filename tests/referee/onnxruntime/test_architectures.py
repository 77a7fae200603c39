"""Real architectures with random weights: import, run, and compare with ONNX Runtime."""

import numpy as np
import pytest

import qmlir
from benchmarks.architectures import ARCHITECTURES, random_inputs, with_random_weights

onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install -e '.[peers]'")

pytestmark = pytest.mark.referee

# Both sides compute in f32 in other orders, through up to 120 layers: of the largest output, the difference is about
# 1e-6; the bar is the project's.
BOUND = 1e-4


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_architecture(name: str) -> None:
    model = with_random_weights(name)
    inputs = random_inputs(model)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    expected = session.run(None, inputs)
    found = list(qmlir.interpret(qmlir.load(model), inputs).values())
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.shape == theirs.shape
        assert np.abs(ours - theirs).max() <= BOUND * np.abs(theirs).max()
