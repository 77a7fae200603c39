"""Long recurrent layers: types are decided on the parts of two steps, and are those that all steps would have."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from qmlir import quantize
from qmlir.dialects.nn.recurrent import ops as recurrent
from qmlir.interpreter.run import interpret
from qmlir.ir.builtin_types import element_of
from tests.support.recurrent import Layer, random
from tests.support.sampled import sampled

LAYERS = {
    "rnn": ("nn.rnn {hidden_size = 3", 1, 1),
    "lstm": ("nn.lstm {hidden_size = 3", 4, 2),
    "gru": ("nn.gru {linear_before_reset = true, hidden_size = 3", 3, 1),
}
"""How a layer begins, its gates and its states."""

TIME = 5


@pytest.fixture(autouse=True)
def _long_from_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Layers of `TIME` steps are long, which ordinary ones are from 9 on: parts of all steps take their time."""
    monkeypatch.setattr(recurrent, "UNROLLED", TIME - 1)


def _layer(name: str, direction: str, *, has_lengths: bool, has_initial: bool, time: int = TIME) -> Layer:
    start, gates, states = LAYERS[name]
    generator, ways = np.random.default_rng(3), 2 if direction == "bidirectional" else 1
    operands: list[np.ndarray | None] = [random(generator, time, 2, 4), random(generator, ways, gates * 3, 4)]
    operands += [random(generator, ways, gates * 3, 3), random(generator, ways, gates * 6)]
    operands += [np.array([time, 2], np.int32) if has_lengths else None]
    operands += [random(generator, ways, 2, 3) if has_initial else None] * states
    shapes = [(time, ways, 2, 3), *[(ways, 2, 3)] * states]
    return Layer(f'{start}, direction = "{direction}"}}', operands, shapes)


def _quantized(layer: Layer, **settings: Any) -> ModuleOp:
    module, inputs = layer.module((1, 2, 3))
    return quantize(module, [inputs], validate=False, **settings).module


def _whole(module: ModuleOp) -> Operation:
    """The only layer of `module`."""
    (layer,) = (op for op in module.walk() if isinstance(op, recurrent.RecurrentOp))
    return layer


@pytest.mark.parametrize(
    ("name", "direction", "has_lengths", "has_initial"),
    sampled(LAYERS, ["forward", "reverse", "bidirectional"], [False, True], [False, True]),
)
def test_types_are_those_of_all_steps(
    monkeypatch: pytest.MonkeyPatch, name: str, direction: str, has_lengths: bool, has_initial: bool
) -> None:
    layer = _layer(name, direction, has_lengths=has_lengths, has_initial=has_initial)
    found = _whole(_quantized(layer))
    monkeypatch.setattr(recurrent, "UNROLLED", TIME)
    expected = _whole(_quantized(layer))
    assert found.properties == expected.properties
    assert found.operand_types == expected.operand_types
    assert found.result_types == expected.result_types


def test_operations_do_not_grow_with_the_steps() -> None:
    counts = {
        time: len(list(_quantized(_layer("lstm", "forward", has_lengths=False, has_initial=False, time=time)).walk()))
        for time in (TIME, 5 * TIME)
    }
    assert len(set(counts.values())) == 1


def test_a_part_that_stays_in_float_unrolls_the_layer() -> None:
    """The parts of a whole layer are all quantized or all in float; parts of known steps decide by themselves."""
    layer = _layer("gru", "forward", has_lengths=False, has_initial=False)
    module, inputs = layer.module((1, 2, 3))
    made = quantize(module, [inputs], validate=False, exclude=["node/reset_gate/sigmoid"]).module
    gates = [op for op in made.walk() if op.name == "nn.sigmoid"]
    kinds = Counter(str(element_of(op.results[0])).partition("<")[0] for op in gates)
    assert kinds == {"f32": TIME, "!quant.uniform": TIME}
    expected = interpret(module, inputs)
    for name, found in interpret(made, inputs).items():
        assert np.abs(found - expected[name]).max() < 0.1
