"""A quantized module against itself below the quantized level: equal, and a fault is seen in its layer."""

import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.workflows.comparison.compare import compare
from qmlir.workflows.comparison.subjects import CompiledSubject, LoweredSubject, ModuleSubject, with_values
from tests.support.nets import Net

RANDOM = np.random.default_rng(3)
WEIGHTS = [RANDOM.normal(0, 0.5, shape).astype(np.float32) for shape in ((4, 2, 3, 3), (3, 4, 1, 1))]
IMAGES = RANDOM.uniform(-1, 1, (8, 1, 2, 5, 6)).astype(np.float32)


@cache
def quantized(second: float = 1.0, activations: str = "") -> ModuleOp:
    """Two convolutions with relus; the weights of the second one times a factor."""
    net = Net()
    x = net.input(IMAGES[0])
    hidden = net.node("Relu", net.node("Conv", x, net.constant(WEIGHTS[0]), pads=[1, 1, 1, 1]))
    output = net.node("Relu", net.node("Conv", hidden, net.constant(WEIGHTS[1] * np.float32(second))))
    return qmlir.quantize(
        qmlir.load(net.model(output)), iter([[image] for image in IMAGES]), activations=activations
    ).module


def data() -> object:
    return iter([[image] for image in IMAGES[:2]])


@pytest.mark.parametrize("activations", ["", "u8", "i4", "u4", "i16"])
@pytest.mark.parametrize("level", ["integer", "loops"])
def test_every_value_that_is_left_is_the_same(level: str, activations: str) -> None:
    module = quantized(activations=activations)
    found = compare(ModuleSubject(module), LoweredSubject(module, level), data())
    relus = [each for each in found.values if each.operation == "nn.relu"]
    assert len(relus) == 2
    assert {each.sqnr_db for each in (*found.values, *found.outputs)} == {math.inf}
    assert all(each.largest > 0 for each in relus)
    assert relus[0].elements == 2 * 4 * 5 * 6
    # The first relu is fused into its convolution; before that each has its value.
    convolutions = [each.key for each in found.values if each.operation == "nn.conv"]
    assert convolutions == (["Conv0", "Conv2"] if level == "integer" else ["Conv2"])


@pytest.mark.parametrize("level", ["integer", "loops"])
def test_a_fault_is_seen_in_its_layer(level: str) -> None:
    found = compare(ModuleSubject(quantized()), LoweredSubject(quantized(second=1.25), level), data())
    first, second = (each for each in found.values if each.operation == "nn.relu")
    assert first.sqnr_db == math.inf
    # A quarter more in every number: 20 log10 4 is 12 dB, but for what is rounded.
    assert second.sqnr_db < 14


def test_a_level_that_nobody_knows() -> None:
    with pytest.raises(DiagnosticError, match="unknown level 'loop'; did you mean 'loops'"):
        LoweredSubject(quantized(), "loop")


def test_a_program_and_its_values_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QMLIR_CACHE_DIR", str(tmp_path))
    module = quantized()
    found = compare(ModuleSubject(module), CompiledSubject(module), data())
    assert [each.operation for each in found.values] == ["quant.qcast", "nn.conv", "nn.relu", "nn.conv", "nn.relu"]
    assert {each.sqnr_db for each in (*found.values, *found.outputs)} == {math.inf}
    assert found.unmatched == ()


def test_values_as_outputs() -> None:
    module = quantized()
    before = str(module)
    watched, positions = with_values(module)
    assert str(module) == before
    outputs = qmlir.interpret(watched, [IMAGES[0]])
    names = [name for steps in positions.values() for name, _ in steps]
    assert list(outputs)[1:] == names
    assert len(names) == 5
    expected = qmlir.interpret(module, [IMAGES[0]])
    assert np.array_equal(next(iter(outputs.values())), next(iter(expected.values())))
