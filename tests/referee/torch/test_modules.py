"""A model in training as a module of PyTorch: its integers, its gradients, and what PyTorch does with it."""

import importlib
from typing import Any

import numpy as np
import pytest

import qmlir
from qmlir.extensions.training.trainable import Trainable
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.signature import inputs_of
from qmlir.specialization.inputs import function_of
from qmlir.specialization.specialize import specialize
from tests.support.nets import Net

torch: Any = pytest.importorskip("torch", reason="needs torch: pip install -e '.[torch]'")
doors: Any = importlib.import_module("qmlir.torch")

RANDOM = np.random.default_rng(3)
IMAGES = RANDOM.standard_normal((6, 2, 6, 6)).astype(np.float32)


@pytest.fixture(scope="module")
def trained() -> Trainable:
    """A convolution and a layer, of batches of any size; a node's name has a dot."""
    net = Net()
    x = net.input(IMAGES, ["n", 2, 6, 6])
    weights = RANDOM.standard_normal((4, 2, 3, 3)).astype(np.float32) / 4
    conv = net.node("Relu", net.node("Conv", x, net.constant(weights), net.constant(np.full(4, 0.1, np.float32))))
    flat = net.node("Flatten", net.node("MaxPool", conv, kernel_shape=[2, 2], strides=[2, 2]))
    matrix = net.constant(RANDOM.standard_normal((16, 3)).astype(np.float32) / 4)
    model = net.model(net.node("MatMul", flat, matrix))
    return qmlir.trainable(qmlir.load(model), [{"x0": IMAGES}], weights="i4")


@pytest.fixture(scope="module")
def module(trained: Trainable) -> Any:
    return doors.Module(trained)


@pytest.mark.parametrize("batch", [pytest.param(1, marks=pytest.mark.sweep), 6])
def test_results_and_gradients_are_those_of_the_interpreter(trained: Trainable, module: Any, batch: int) -> None:
    x = torch.tensor(IMAGES[:batch], requires_grad=True)
    module.zero_grad()
    y = module(x)
    seed = RANDOM.standard_normal(y.shape).astype(np.float32)
    (y * torch.tensor(seed)).sum().backward()
    taken = qmlir.gradient(specialize(trained.module, {"x0": x.shape}), ["x0", *trained.parameters])
    values = {"x0": IMAGES[:batch], **trained.parameters}
    values |= qmlir.interpret(taken, values, function="forward")
    (result,) = qmlir.interpret(trained.freeze({}), {"x0": IMAGES[:batch]}).values()
    assert np.array_equal(y.detach().numpy(), result)
    reads = [port.name for port in inputs_of(function_of(taken, "backward"))]
    (output,) = (name for name in reads if name.startswith("gradient_"))
    values[output] = seed
    wanted = qmlir.interpret(taken, {name: values[name] for name in reads}, function="backward")
    own = dict(module.named_parameters())
    found = {name: own[module.names[name]].grad for name in trained.parameters} | {"x0": x.grad}
    assert {f"gradient_{name}" for name in found} == set(wanted)
    for name, gradient in found.items():
        assert gradient.shape == np.shape(wanted[f"gradient_{name}"])
        np.testing.assert_allclose(gradient, wanted[f"gradient_{name}"], rtol=1e-4, atol=1e-4)


def test_an_optimizer_trains_it_and_a_checkpoint_keeps_it(trained: Trainable) -> None:
    module = doors.Module(trained)
    scales = [each for name, each in module.named_parameters() if name.endswith("/scale")]
    weights = [each for name, each in module.named_parameters() if not name.endswith("/scale")]
    optimizer = torch.optim.Adam([{"params": weights, "lr": 0.02}, {"params": scales, "lr": 1e-4}])
    wanted, x = torch.tensor(RANDOM.standard_normal((6, 3)).astype(np.float32)), torch.tensor(IMAGES)
    losses: list[float] = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = (module(x) - wanted).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2
    other = doors.Module(trained)
    other.load_state_dict(module.state_dict())
    with torch.no_grad():
        (result,) = qmlir.interpret(other.freeze(), {"x0": IMAGES}).values()
        assert np.array_equal(module(x).numpy(), result)


def test_two_forwards_before_their_backwards(module: Any) -> None:
    first, second = torch.tensor(IMAGES[:1]), torch.tensor(IMAGES[1:2])
    gradients: list[Any] = []
    for results in ([first], [second], [first, second]):
        module.zero_grad()
        sum(each.sum() for each in [module(x) for x in results]).backward()
        gradients.append([each.grad.clone() for each in module.parameters()])
    for one, other, both in zip(*gradients, strict=True):
        torch.testing.assert_close(both, one + other, rtol=1e-4, atol=1e-4)


def test_what_is_no_input_is_told(module: Any) -> None:
    with pytest.raises(DiagnosticError, match="the model takes inputs x0, but got 0 in order, image"):
        module(image=torch.tensor(IMAGES))
    with pytest.raises(DiagnosticError, match="the input 'x0' must be float32, but got float64"):
        module(torch.tensor(IMAGES).double())
