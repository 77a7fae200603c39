"""Recurrent layers as loops: floats like the layer's own meaning, quantized parts bit for bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from xdsl.dialects.builtin import ModuleOp

from qmlir import quantize
from qmlir.interpreter.differences import first_changed
from qmlir.interpreter.run import interpret
from qmlir.ir.passes import EVERY_BIT, Preservation
from tests.support.composites import decomposed
from tests.support.recurrent import Layer, layers
from tests.support.sampled import sampled
from tests.unit.dialects.nn.lower.driver import check, lowered

# Sums in another order, over at most six steps: see the bound of the composites' parts.
CLOSE = Preservation(relative=2e-5)

WEIGHTS = (1, 2, 3, 7)


def names_in(module: ModuleOp) -> list[str]:
    """The names of all operations."""
    return [op.name for op in module.walk()]


@settings(deadline=None, max_examples=40)
@given(layers())
def test_float_layers(layer: Layer) -> None:
    module, inputs = layer.module()
    after = lowered(module, "convert-nn-to-kernel")
    assert names_in(after).count("scf.for") == layer.shapes[1][0]
    changed = first_changed(interpret(module, inputs), interpret(after, inputs), CLOSE)
    assert changed is None, changed


HALF = {"f16": 1e-3, "bf16": 1e-2, "f64": 1e-12}


@pytest.mark.parametrize("element", HALF)
@pytest.mark.parametrize(("name", "gates", "states"), [("rnn", 1, 1), ("lstm", 4, 2), ("gru", 3, 1)])
def test_other_floats(name: str, gates: int, states: int, element: str) -> None:
    operands = [f"tensor<3x2x4x{element}>", f"tensor<1x{gates * 2}x4x{element}>", f"tensor<1x{gates * 2}x2x{element}>"]
    results = [f"tensor<3x1x2x2x{element}>", *[f"tensor<1x2x2x{element}>"] * states]
    check(f"nn.{name} {{hidden_size = 2}}", operands, results, preservation=Preservation(relative=HALF[element]))


def test_sequence_without_steps() -> None:
    operands = ["tensor<0x2x4xf32>", "tensor<1x2x4xf32>", "tensor<1x2x2xf32>", "_", "_", "tensor<1x2x2xf32>"]
    check("nn.rnn {hidden_size = 2}", operands, ["tensor<0x1x2x2xf32>", "tensor<1x2x2xf32>"])


def _quantized(layer: Layer) -> tuple[ModuleOp, list[np.ndarray]]:
    module, inputs = layer.module([position for position in WEIGHTS if position < len(layer.operands)])
    return quantize(module, [inputs]).module, inputs


def _check_quantized(layer: Layer) -> None:
    module, inputs = _quantized(layer)
    after = lowered(module, "convert-nn-to-kernel")
    is_whole = layer.name in names_in(module)
    assert names_in(after).count("scf.for") == (layer.shapes[1][0] if is_whole else 0)
    for other in (after, decomposed(module)):
        changed = first_changed(interpret(module, inputs), interpret(other, inputs), EVERY_BIT)
        assert changed is None, changed


@settings(deadline=None, max_examples=10)
@given(layers())
def test_quantized_layers_are_what_their_parts_are(layer: Layer) -> None:
    _check_quantized(layer)


@pytest.mark.sweep
@settings(deadline=None, max_examples=200)
@given(layers())
def test_many_quantized_layers_are_what_their_parts_are(layer: Layer) -> None:
    _check_quantized(layer)


LAYERS = {
    "rnn": ("nn.rnn {hidden_size = 3", 1, 1),
    "lstm": ("nn.lstm {hidden_size = 3", 4, 2),
    "gru": ("nn.gru {hidden_size = 3", 3, 1),
    "gru reset": ("nn.gru {linear_before_reset = true, hidden_size = 3", 3, 1),
}
"""How a layer begins, its gates and its states."""


@pytest.mark.parametrize(
    ("layer", "direction", "has_initial", "has_lengths"),
    sampled(LAYERS, ["forward", "reverse", "bidirectional"], [False, True], [False, True]),
)
def test_quantized_layers_are_raised_and_become_loops(
    layer: str, direction: str, has_initial: bool, has_lengths: bool
) -> None:
    properties, gates, states = LAYERS[layer]
    generator = np.random.default_rng(7)
    ways = 2 if direction == "bidirectional" else 1

    def random(*shape: int) -> np.ndarray:
        return generator.standard_normal(shape).astype(np.float32)

    rows = gates * 3
    operands: list[np.ndarray | None] = [random(4, 2, 5), random(ways, rows, 5), random(ways, rows, 3)]
    operands += [random(ways, 2 * rows), np.array([4, 2], np.int32) if has_lengths else None]
    operands += [random(ways, 2, 3) / 4 if has_initial else None] * states
    made = Layer(f'{properties}, direction = "{direction}"}}', operands, [(4, ways, 2, 3), *[(ways, 2, 3)] * states])
    module, inputs = _quantized(made)
    assert names_in(module).count(made.name) == 1
    after = lowered(module, "convert-nn-to-kernel")
    assert names_in(after).count("scf.for") == ways
    changed = first_changed(interpret(module, inputs), interpret(after, inputs), EVERY_BIT)
    assert changed is None, changed


FINE, STATE, SIGN = "i15:f32, 3.0517578125e-05", "u4:f32, 1.562500e-02:8", "i2:f32, 2.0"


@pytest.mark.parametrize("mode", ["f32", "single_round", "double_round", "shift, even"])
@pytest.mark.parametrize("initial", ["_", f"dense<0> : tensor<2x1x2xi15> -> tensor<2x1x2x!quant.uniform<{FINE}>>"])
@pytest.mark.parametrize("time", [1, 3])
def test_zeros_in_front_of_the_first_step_have_their_own_type(mode: str, initial: str, time: int) -> None:
    """A sum in an integer mode rounds both terms to a scale that depends on the type of either, zeros included."""
    parts = {"initial": FINE, "sum": "i6:f32, 3.906250e-03", "tanh": STATE}
    components = ", ".join(
        f'"{way}hidden/{part}" = !quant.uniform<{type_}>' for way in ("", "backward/") for part, type_ in parts.items()
    )
    recurrence = "dense<[[[-1, 0], [-1, 0]], [[0, -1], [-1, -1]]]> : tensor<2x2x2xi2>"
    check(
        f'nn.rnn {{hidden_size = 2, direction = "bidirectional", components = {{{components}}}, '
        f"requantize = #kernel.requantize<{mode}>}}",
        [
            f"tensor<{time}x1x4x!quant.uniform<i1:f32, 4.0>>",
            "tensor<2x2x4x!quant.uniform<i9<-255:255>:f32, 6.103515625e-05>>",
            f"{recurrence} -> tensor<2x2x2x!quant.uniform<{SIGN}>>",
            "_",
            "_",
            initial,
        ],
        [f"tensor<{time}x2x1x2x!quant.uniform<{STATE}>>", f"tensor<2x1x2x!quant.uniform<{STATE}>>"],
    )
