"""The programs of a model in training: sums of integers, the values that the backward reads, and one compilation."""

import numpy as np
import pytest

import qmlir
from qmlir.arithmetic.arrays import Array
from qmlir.extensions.training import trainable
from qmlir.extensions.training.trainable import Trainable, TrainingPrograms
from qmlir.ir.signature import inputs_of, outputs_of
from qmlir.specialization.inputs import function_of
from tests.support.nets import Net

RANDOM = np.random.default_rng(5)
IMAGES = RANDOM.standard_normal((2, 3, 6, 6)).astype(np.float32)


@pytest.fixture(scope="module")
def trained() -> Trainable:
    """A convolution, a pool and a layer."""
    net = Net()
    weights = net.constant(RANDOM.standard_normal((4, 3, 3, 3)).astype(np.float32) / 4)
    bias = net.constant(RANDOM.standard_normal(4).astype(np.float32) / 4)
    conv = net.node("Relu", net.node("Conv", net.input(IMAGES), weights, bias, pads=[1, 1, 1, 1]))
    flat = net.node("Flatten", net.node("MaxPool", conv, kernel_shape=[2, 2], strides=[2, 2]))
    matrix = net.constant(RANDOM.standard_normal((36, 3)).astype(np.float32) / 6)
    return qmlir.trainable(qmlir.load(net.model(net.node("MatMul", flat, matrix))), [{"x0": IMAGES}], weights="i4")


@pytest.fixture(scope="module")
def programs(trained: Trainable) -> TrainingPrograms:
    return TrainingPrograms(trained, {"x0": IMAGES.shape})


def _moved(trained: Trainable, factor: float) -> dict[str, Array]:
    return {name: (array * np.float32(factor)).astype(np.float32) for name, array in trained.parameters.items()}


@pytest.mark.parametrize("factor", [1.0, 0.9, 1.2])
def test_nothing_is_compiled_when_parameters_move(
    trained: Trainable, programs: TrainingPrograms, factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the forward gives and keeps is that of floats, bit for bit, and the gradients are those of floats."""
    monkeypatch.setattr(trainable, "compile", None)
    parameters = _moved(trained, factor)
    found = programs.forward({"x0": IMAGES}, parameters)
    on_floats = qmlir.gradient(trained.module, list(trained.parameters), recompute=True)
    wanted = {"x0": IMAGES, **parameters}
    wanted |= qmlir.interpret(on_floats, wanted, function="forward")
    assert set(found) == set(wanted)
    assert any(name.startswith("kept") for name in found)
    for name, array in wanted.items():
        assert np.array_equal(found[name], array), name
    (result,) = programs.outputs
    (frozen,) = qmlir.interpret(trained.freeze(parameters), {"x0": IMAGES}).values()
    assert np.array_equal(found[result], frozen)
    wanted[f"gradient_{result}"] = gradient = np.ones((2, 3), np.float32)
    reads = [port.name for port in inputs_of(function_of(on_floats, "backward"))]
    gradients = qmlir.interpret(on_floats, {name: wanted[name] for name in reads}, function="backward")
    for name, array in programs.backward(found, {result: gradient}).items():
        np.testing.assert_allclose(array, gradients[f"gradient_{name}"], rtol=1e-3, atol=1e-3)


def test_nan_is_refused_where_it_comes_in(trained: Trainable, programs: TrainingPrograms) -> None:
    name = next(iter(trained.parameters))
    spoilt = {**trained.parameters, name: np.full_like(trained.parameters[name], np.nan)}
    with pytest.raises(qmlir.InputError, match=f"input '{name}' is NaN"):
        programs.forward({"x0": IMAGES}, spoilt)


def test_a_parameter_has_no_name_of_an_output() -> None:
    """Nodes without names are called like what they give: the gradients are those of the model whose nodes have names.

    Weights and result are square, so that neither can be told from the other by its shape.
    """
    random = np.random.default_rng(7)
    net = Net()
    x, dy = random.standard_normal((2, 8, 8)).astype(np.float32)
    matrices = [net.constant(random.standard_normal((8, 8)).astype(np.float32)) for _ in range(2)]
    biases = [net.constant(random.standard_normal(8).astype(np.float32)) for _ in range(2)]
    hidden = net.node("Relu", net.node("Gemm", net.input(x), matrices[0], biases[0]))
    result = net.node("Gemm", hidden, matrices[1], biases[1])
    found: list[list[Array]] = []
    for name in ("node{}", ""):
        model = net.model(result)
        for position, node in enumerate(model.graph.node):
            node.name = name.format(position)
        trained = qmlir.trainable(qmlir.load(model), [{"x0": x}])
        outputs = outputs_of(function_of(trained.watched().module, "main"))
        assert not trained.parameters.keys() & {port.name for port in outputs}
        programs = TrainingPrograms(trained, {"x0": x.shape})
        values = programs.forward({"x0": x}, trained.parameters)
        gradients = programs.backward(values, {result: dy})
        found.append([values[result], *(gradients[each] for each in trained.parameters)])
    for named, unnamed in zip(*found, strict=True):
        assert np.array_equal(named, unnamed)
