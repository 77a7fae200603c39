"""The network that peers train is that of the ONNX file: `benchmarks.training_peers` compares like with like."""

from typing import Any

import numpy as np
import pytest

import qmlir
from benchmarks.accuracy import MODELS
from benchmarks.training_peers import FloatLayers, arrays, fill, resnet8, weights_of

torch: Any = pytest.importorskip("torch", reason="needs torch: pip install -e '.[torch]'")

PATH = MODELS / "resnet8_cifar.onnx"


@pytest.mark.referee
@pytest.mark.skipif(not PATH.exists(), reason=f"needs {PATH.name}")
def test_the_network_is_that_of_the_file() -> None:
    net = fill(torch, resnet8(FloatLayers(torch.nn)), weights_of(PATH)).eval()
    images = np.random.default_rng(0).uniform(-2, 2, (2, 3, 32, 32)).astype(np.float32)
    (wanted,) = qmlir.interpret(qmlir.load(PATH), {"image": images}).values()
    np.testing.assert_allclose(arrays(torch, net)(images), wanted, rtol=1e-4, atol=1e-4)
