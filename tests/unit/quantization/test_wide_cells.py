"""LSTM layers in which one unit counts the steps: the other units, which share its scale, keep their accuracy."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qmlir
from qmlir import quantize
from qmlir.interpreter.differences import first_changed
from qmlir.interpreter.run import interpret
from qmlir.ir.passes import EVERY_BIT
from qmlir.workflows.quantized import Quantized
from tests.support.composites import decomposed
from tests.support.recurrent import Layer
from tests.unit.dialects.nn.lower.driver import lowered

Array = np.ndarray

BATCH, WIDTH = 4, 3
NARROW = [{"wide_cell": True, "slot": "output", "storage": "i16"}]
GATES = ("input", "output", "forget", "cell")
ON = 9.0
"""A bias that brings a gate close to 1."""


class Counting(NamedTuple):
    """A layer whose unit 0 starts at `begin`, and adds almost 1 in each step."""

    time: int
    ways: int
    size: int
    seed: int
    begin: float
    has_peepholes: bool

    def operands(self) -> list[Array | None]:
        """Data, weights and recurrence that 8 bits hold exactly, bias, no lengths, states, and peepholes."""
        random = np.random.default_rng(self.seed)
        rows = len(GATES) * self.size

        def exact(width: int) -> Array:
            numbers = random.integers(-127, 128, (self.ways, rows, width))
            numbers[..., 0] = 127
            return numbers / 256

        data = random.normal(0, 1, (self.time, BATCH, WIDTH))
        weight, recurrence, bias = exact(WIDTH), exact(self.size), np.zeros((self.ways, 2 * rows))
        weight[:, :: self.size] = recurrence[:, :: self.size] = 0
        bias[:, [0, 2 * self.size]] = ON
        bias[:, 3 * self.size] = 2.0
        hidden, cell = random.normal(0, 0.5, (2, self.ways, BATCH, self.size))
        cell[..., 0] = self.begin
        peepholes = random.uniform(-1, 1, (self.ways, 3 * self.size))
        peepholes[:, :: self.size] = [0, 0.004, 0]
        found = [data, weight, recurrence, bias, None, hidden, cell, peepholes if self.has_peepholes else None]
        return [None if each is None else each.astype(np.float32) for each in found]

    def quantized(self, **options: Any) -> tuple[Quantized, list[Array]]:
        """The quantized layer, and its data and initial states."""
        direction = "bidirectional" if self.ways == 2 else "forward"
        shapes = [(self.time, self.ways, BATCH, self.size), *[(self.ways, BATCH, self.size)] * 2]
        text = f'nn.lstm {{hidden_size = {self.size}, direction = "{direction}"}}'
        operands = self.operands()
        positions = [position for position in (1, 2, 3, 7) if operands[position] is not None]
        module, inputs = Layer(text, operands, shapes).module(positions)
        return quantize(module, [inputs], validate=False, **options), inputs


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _hidden(layer: Counting) -> Array:
    """All hidden states `[T, D, N, H]`, in f64 by the definition of the layer."""
    operands = [np.zeros(0) if each is None else each.astype(np.float64) for each in layer.operands()]
    data, weight, recurrence, bias, _, first_hidden, first_cell, peepholes = operands
    found = np.zeros((layer.time, layer.ways, BATCH, layer.size))
    for way in range(layer.ways):
        hidden, cell = first_hidden[way], first_cell[way]
        peep = np.split(peepholes[way], 3) if layer.has_peepholes else [np.zeros(1)] * 3
        added = bias[way].reshape(2, -1).sum(0)
        for position in range(layer.time)[:: -1 if way else 1]:
            into, out, forget, new = np.split(
                data[position] @ weight[way].T + hidden @ recurrence[way].T + added, 4, axis=-1
            )
            into, forget = _sigmoid(into + peep[0] * cell), _sigmoid(forget + peep[2] * cell)
            cell = forget * cell + into * np.tanh(new)
            hidden = _sigmoid(out + peep[1] * cell) * np.tanh(cell)
            found[position, way] = hidden
    return found


def _decibels(layer: Counting, made: Quantized, inputs: list[Array], units: Any = np.s_[..., 1:]) -> float:
    """The SQNR of the hidden states of `units`: by default all but the one that counts."""
    exact, found = _hidden(layer)[units], next(iter(interpret(made.module, inputs).values()))[units]
    return float(10 * np.log10(np.square(exact).sum() / np.square(exact - found).sum()))


LAYERS = st.builds(
    Counting,
    time=st.integers(2, 6),
    ways=st.integers(1, 2),
    size=st.integers(2, 4),
    seed=st.integers(0, 2**32 - 1),
    begin=st.sampled_from([-120.0, 120.0, 400.0]),
    has_peepholes=st.booleans(),
)


@settings(deadline=None, max_examples=6)
@given(LAYERS)
def test_a_unit_that_counts_does_not_cost_the_others_their_accuracy(layer: Counting) -> None:
    made, inputs = layer.quantized(activations="i16")
    assert "32 bits: cells of an LSTM" in made.text()
    wide, narrow = (
        _decibels(layer, each, inputs) for each in (made, layer.quantized(activations="i16", recipe=NARROW)[0])
    )
    assert wide > max(62, narrow + 6)
    for other in (decomposed(made.module), lowered(made.module, "convert-nn-to-kernel")):
        changed = first_changed(interpret(made.module, inputs), interpret(other, inputs), EVERY_BIT)
        assert changed is None, changed


@pytest.mark.parametrize(
    "settings",
    [
        {"requantize": "double_round"},
        {"requantize": "single_round"},
        {"requantize": "shift", "scheme": "symmetric_pow2"},
    ],
)
def test_wide_cells_have_an_exact_arithmetic(settings: dict[str, Any]) -> None:
    made, inputs = Counting(4, 2, 3, 0, 120.0, has_peepholes=True).quantized(**settings)
    assert "32 bits: cells of an LSTM" in made.text()
    changed = first_changed(interpret(made.module, inputs), qmlir.compile(made, codegen="llvm")(inputs), EVERY_BIT)
    assert changed is None, changed


def test_other_cells_have_16_bits() -> None:
    made, _ = Counting(6, 1, 3, 0, 1.0, has_peepholes=False).quantized()
    assert "16 bits: the cell of an LSTM" in made.text()
    assert "32 bits" not in made.text()


def test_peepholes_have_16_bits() -> None:
    """A unit of 400 makes an error of 2^-9 in its peephole weight one of 0.8 in a gate."""
    layer = Counting(6, 1, 3, 0, 400.0, has_peepholes=True)
    rule = {"role": "*gate/peephole_mul", "slot": "input", "storage": "i8"}
    wide, narrow = (_decibels(layer, *layer.quantized(recipe=each), np.s_[..., 0]) for each in ([], [rule]))
    assert wide > 35
    assert narrow < 30
