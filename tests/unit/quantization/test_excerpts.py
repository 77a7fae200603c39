"""Long recurrent layers: types are decided on the parts of two steps, and are those that all steps would have.

Samples take their steps together, and have the bits that each has alone.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from qmlir import quantize
from qmlir.dialects.nn.recurrent import ops as recurrent
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.interpreter import interpreter
from qmlir.interpreter.run import interpret, interpret_all
from qmlir.ir import evaluation
from qmlir.ir.builtin_types import element_of
from tests.support.composites import inline, module_of, tensor
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


def test_parameters_are_read_once_for_all_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """An evaluator that reads scales at each step makes long sequences slow: the cost of a small step is its calls."""
    reads, read = [0], UniformQuantizedType.scales.fget
    assert read is not None

    def counted(element: UniformQuantizedType) -> Any:
        reads[0] += 1
        return read(element)

    counts: set[int] = set()
    for time in (TIME, 5 * TIME):
        layer = _layer("lstm", "forward", has_lengths=False, has_initial=False, time=time)
        module, inputs = _quantized(layer), layer.module((1, 2, 3))[1]
        with monkeypatch.context() as patch:
            patch.setattr(UniformQuantizedType, "scales", property(counted))
            interpret(module, inputs)
        counts.add(reads[0])
        reads[0] = 0
    (count,) = counts
    assert count


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


def _of_any_length(layer: Layer, times: Sequence[int]) -> tuple[ModuleOp, list[tuple[np.ndarray, ...]]]:
    """A module of the layer for sequences of any length, and one sample for each of `times`."""
    data, *others = layer.operands
    assert data is not None
    types = ["tensor<?x2x4xf32>"]
    types += [
        "_" if each is None else tensor(each.shape, "i32" if each.dtype == np.int32 else "f32") for each in others
    ]
    constants = {place: inline(each) for place in (1, 2, 3) if (each := layer.operands[place]) is not None}
    states = layer.shapes[1:]
    ways = layer.shapes[0][1]
    module = module_of(layer.operation, types, [f"tensor<?x{ways}x2x3xf32>", *map(tensor, states)], constants)
    generator = np.random.default_rng(4)
    samples: list[tuple[np.ndarray, ...]] = []
    for time in times:
        lengths = () if layer.operands[4] is None else (np.array([time, time // 2], np.int32),)
        initial = [random(generator, *each.shape) for each in layer.operands[5:] if each is not None]
        samples.append((random(generator, time, 2, 4), *lengths, *initial))
    return module, samples


@pytest.mark.parametrize(
    ("name", "direction", "has_lengths", "has_initial"),
    sampled(LAYERS, ["forward", "reverse", "bidirectional"], [False, True], [False, True]),
)
def test_samples_together_have_the_bits_of_each_alone(
    monkeypatch: pytest.MonkeyPatch, name: str, direction: str, has_lengths: bool, has_initial: bool
) -> None:
    layer = _layer(name, direction, has_lengths=has_lengths, has_initial=has_initial)
    module, samples = _of_any_length(layer, [6, 4, 9, 3, 6])

    def found() -> tuple[str, str, list[dict[str, np.ndarray]]]:
        made = quantize(module, samples, validate=False)
        outputs = [each for model in (module, made.module) for each in interpret_all(model, _named(samples))]
        return made.profile.to_text(), str(made.module), outputs

    together = found()
    monkeypatch.setattr(interpreter, "_RUNS", 1)
    *texts, outputs = found()
    assert together[:2] == tuple(texts)
    for one, other in zip(together[2], outputs, strict=True):
        assert {key: value.tobytes() for key, value in one.items()} == {
            key: value.tobytes() for key, value in other.items()
        }


def _named(samples: Sequence[Sequence[np.ndarray]]) -> list[dict[str, np.ndarray]]:
    return [{f"input{place}": value for place, value in enumerate(sample)} for sample in samples]


def test_eight_samples_take_the_steps_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluated, arguments_by = [0], evaluation.arguments_by

    def counted(*arguments: Any) -> list[Any]:
        evaluated[0] += 1
        return arguments_by(*arguments)

    monkeypatch.setattr(evaluation, "arguments_by", counted)
    module, samples = _of_any_length(_layer("lstm", "forward", has_lengths=False, has_initial=False), [20] * 8)
    counts: list[int] = []
    for count in (1, 8):
        quantize(module, samples[:count])
        counts.append(evaluated[0])
        evaluated[0] = 0
    assert counts[1] < 2 * counts[0]
