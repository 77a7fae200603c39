"""Recurrent layers of every kind, for property tests: their text, operands, and the shapes of their results."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from qmlir.dialects.nn.recurrent.ops import ACTIVATIONS
from tests.support.composites import SEEDS, inline, module_of, tensor

GATES = {"rnn": 1, "lstm": 4, "gru": 3}
FUNCTIONS = {"rnn": 1, "lstm": 3, "gru": 2}


class Layer(NamedTuple):
    """A layer as an operation with properties, its operands (`None` for one left out), and its results' shapes."""

    operation: str
    operands: list[np.ndarray | None]
    shapes: list[tuple[int, ...]]

    @property
    def name(self) -> str:
        """The name of the operation."""
        return self.operation.partition(" ")[0]

    def module(self, constant_places: Sequence[int] = (), element: str = "f32") -> tuple[ModuleOp, list[np.ndarray]]:
        """A module of this layer alone, and its inputs; the operands at `constant_places` are constants in it."""
        types = [
            "_" if each is None else tensor(each.shape, "i32" if each.dtype == np.int32 else element)
            for each in self.operands
        ]
        constants = {
            position: inline(each) for position in constant_places if (each := self.operands[position]) is not None
        }
        module = module_of(self.operation, types, [tensor(shape, element) for shape in self.shapes], constants)
        given = [each for position, each in enumerate(self.operands) if each is not None and position not in constants]
        return module, given


def random(generator: np.random.Generator, *shape: int) -> np.ndarray:
    """Normally distributed f32."""
    return generator.standard_normal(shape).astype(np.float32)


@st.composite
def layers(draw: st.DrawFn) -> Layer:
    """A recurrent layer with any operands and properties."""
    kind = draw(st.sampled_from(sorted(GATES)))
    generator = np.random.default_rng(draw(SEEDS))
    time = draw(st.integers(1, 6))
    batch, width, size = (draw(st.integers(1, 4)) for _ in range(3))
    direction = draw(st.sampled_from(["forward", "reverse", "bidirectional"]))
    ways = 2 if direction == "bidirectional" else 1
    rows = GATES[kind] * size
    lengths = generator.integers(0, time + 1, batch).astype(np.int32)
    operands: list[np.ndarray | None] = [
        random(generator, time, batch, width),
        random(generator, ways, rows, width),
        random(generator, ways, rows, size),
        random(generator, ways, 2 * rows) if draw(st.booleans()) else None,
        lengths if draw(st.booleans()) else None,
        random(generator, ways, batch, size) if draw(st.booleans()) else None,
    ]
    properties = [f"hidden_size = {size}"]
    if direction != "forward":
        properties.append(f'direction = "{direction}"')
    if kind == "lstm":
        operands.append(random(generator, ways, batch, size) if draw(st.booleans()) else None)
        operands.append(random(generator, ways, 3 * size) if draw(st.booleans()) else None)
        properties += ["input_forget = true"] if draw(st.booleans()) else []
    if kind == "gru":
        properties += ["linear_before_reset = true"] if draw(st.booleans()) else []
    if draw(st.booleans()):
        properties.append("clip = 0.75")
    if draw(st.booleans()):
        names = draw(st.lists(st.sampled_from(sorted(ACTIVATIONS)), min_size=1, max_size=FUNCTIONS[kind]))
        names = (names * 3)[: FUNCTIONS[kind]] * ways
        alphas = ", ".join(repr(0.25 + 0.125 * position) for position in range(len(names)))
        properties.append(f"activations = [{', '.join(map('{!r}'.format, names))}]".replace("'", '"'))
        properties.append(f"activation_alpha = [{alphas}], activation_beta = [{alphas}]")
    states = 2 if kind == "lstm" else 1
    shapes = [(time, ways, batch, size), *[(ways, batch, size)] * states]
    return Layer(f"nn.{kind} {{{', '.join(properties)}}}", operands, shapes)
