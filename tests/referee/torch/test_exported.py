"""Models that PyTorch exports in training: with dropout and batch statistics, and with fake quantization as QDQ."""

import io
from typing import Any

import numpy as np
import onnx
import pytest

import qmlir
from qmlir.arithmetic.arrays import Array

torch: Any = pytest.importorskip("torch", reason="needs torch: pip install -e '.[torch]'")

pytestmark = [
    pytest.mark.referee,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

RANDOM = np.random.default_rng(9)


def exported(net: Any, x: Array, **options: Any) -> onnx.ModelProto:
    file = io.BytesIO()
    torch.onnx.export(net, (torch.tensor(x),), file, input_names=["x"], output_names=["y"], dynamo=False, **options)
    return onnx.load_from_string(file.getvalue())


def of_torch(net: Any, x: Array) -> Array:
    return net(torch.tensor(x)).detach().numpy()


def test_a_model_in_training_mode() -> None:
    """As torch computes it in training where nothing is dropped, stripped as in evaluation."""
    torch.manual_seed(1)
    nn = torch.nn
    net = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.4), nn.Flatten(), nn.Linear(144, 3)
    )
    x = RANDOM.standard_normal((5, 1, 8, 8)).astype(np.float32)
    of_torch(net, x)  # moves the running statistics
    options = {"training": torch.onnx.TrainingMode.TRAINING, "do_constant_folding": False}
    model = exported(net, x, **options)
    assert {"Dropout", "BatchNormalization"} <= {node.op_type for node in model.graph.node}
    net.eval()
    found = qmlir.interpret(qmlir.load(model, strip_training=True), [x])["y"]
    np.testing.assert_allclose(found, of_torch(net, x), rtol=1e-5, atol=1e-6)
    net.train()
    net[3].p = 0.0
    model = exported(net, x, **options)
    np.testing.assert_allclose(qmlir.interpret(qmlir.load(model), [x])["y"], of_torch(net, x), rtol=1e-4, atol=1e-5)


def test_a_model_of_quantization_aware_training_goes_on_training() -> None:
    """Without data, from the integers that torch's fake quantization gives."""
    quantization, nn = torch.ao.quantization, torch.nn
    torch.manual_seed(2)
    net = nn.Sequential(
        quantization.QuantStub(), nn.Conv2d(2, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16, 3),
        quantization.DeQuantStub(),
    )  # fmt: skip
    fake = quantization.FakeQuantize.with_args
    net.qconfig = quantization.QConfig(
        activation=fake(
            observer=quantization.MovingAverageMinMaxObserver, quant_min=0, quant_max=255, dtype=torch.quint8,
            qscheme=torch.per_tensor_affine,
        ),
        weight=fake(
            observer=quantization.MovingAveragePerChannelMinMaxObserver, quant_min=-128, quant_max=127,
            dtype=torch.qint8, qscheme=torch.per_channel_symmetric, ch_axis=0,
        ),
    )  # fmt: skip
    net = quantization.prepare_qat(quantization.fuse_modules_qat(net.train(), [["1", "2"]]))
    x = RANDOM.standard_normal((16, 2, 6, 6)).astype(np.float32)
    optimizer, labels = torch.optim.SGD(net.parameters(), 0.05), torch.tensor(RANDOM.integers(0, 3, 16))
    for _ in range(20):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(torch.tensor(x)), labels).backward()
        optimizer.step()
    net.apply(quantization.disable_observer)
    model = qmlir.load(exported(net.eval(), x, opset_version=17))
    trained = qmlir.trainable(model)
    assert {"1.weight", "1.bias", "5.weight", "5.bias", "5.weight.scale"} <= set(trained.parameters)
    begun = qmlir.interpret(trained.module, {"x": x, **trained.parameters})["y"]
    assert np.array_equal(begun, qmlir.interpret(model, [x])["y"])
    # torch adds floats up and rounds these: where that is a tie, the neighbour.
    step = max(np.diff(np.unique(begun)).min(), 1e-6)
    assert np.abs(begun - of_torch(net, x)).max() < 1.5 * step
    moved = {name: (array * np.float32(0.97)).astype(np.float32) for name, array in trained.parameters.items()}
    found = qmlir.interpret(trained.module, {"x": x, **moved})["y"]
    assert np.array_equal(found, qmlir.interpret(trained.freeze(moved), [x])["y"])
