"""Rows of recurrent layers: quantized, they are always what their parts are, whose types are drawn by role."""

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, StringAttr

from qmlir.dialects.nn.recurrent.ops import ACTIVATIONS, GruOp, LstmOp, RecurrentOp, RnnOp
from tests.levels.graph import Graph, RejectedError, Value

MOST_STEPS = 3
MOST_HIDDEN = 3
BIAS_BITS = 20

PEEPHOLES = 3
"""The gates of an LSTM that may look at the cell."""


def _sequence(graph: Graph, x: Value) -> Value:
    """`x` where it is a small sequence, or an input that is one."""
    if x.has_one_scale and len(x.shape) == 3 and x.shape[0] <= MOST_STEPS and x.shape[1] * x.shape[2] <= 16:
        return x
    if not graph.chance(0.5):
        raise RejectedError("no small sequence")
    shape = (graph.integer(1, MOST_STEPS), graph.integer(1, 3), graph.integer(1, 4))
    return graph.input(graph.uniform(-2.0, 2.0, graph.storage()), shape)


def _weights(graph: Graph, shape: tuple[int, ...], bits: int | None = None) -> Value:
    """Weights of one scale and, for sums of them, of zero point 0."""
    reach = float(np.exp(graph.random.uniform(-1.5, 0.5)))
    make = graph.constant if graph.chance(0.7) else graph.input
    if bits is None:
        return make(graph.uniform(-reach, reach, graph.storage()), shape)
    element = graph.symmetric(reach, bits)
    half = 1 << (bits - 2)  # two of them can be added
    stored = graph.random.integers(-half, half, shape).astype(np.int32)
    return graph.constant(element, shape, stored)


def _activations(graph: Graph, properties: dict[str, Any], count: int) -> None:
    if graph.chance(0.3):
        names = [name for name in ACTIVATIONS if name != "Affine"]
        properties["activations"] = ArrayAttr([StringAttr(graph.pick(names)) for _ in range(count)])
    if graph.chance(0.2):
        properties["clip"] = float(np.float32(graph.random.uniform(0.3, 3)))


def layer(kind: type[RecurrentOp]) -> Callable[[Graph, Value], Value]:
    """The row of a layer."""

    def make(graph: Graph, given: Value) -> Value:
        x = _sequence(graph, given)
        _, batch, width = x.shape
        hidden = graph.integer(1, MOST_HIDDEN)
        direction = graph.pick(["forward", "forward", "reverse", "bidirectional"])
        ways = 2 if direction == "bidirectional" else 1
        properties: dict[str, Any] = {"hidden_size": hidden, "direction": direction}
        _activations(graph, properties, ways * len(kind.FUNCTIONS))
        rows = kind.GATES * hidden
        state = (ways, batch, hidden)
        operands = [
            x,
            _weights(graph, (ways, rows, width)),
            _weights(graph, (ways, rows, hidden)),
            _weights(graph, (ways, 2 * rows), BIAS_BITS) if graph.chance(0.6) else None,
            graph.plain_constant(graph.random.integers(0, x.shape[0] + 1, batch).astype(np.int32))
            if graph.chance(0.2)
            else None,
            _weights(graph, state) if graph.chance(0.4) else None,
        ]
        if kind is LstmOp:
            operands += [
                _weights(graph, state) if graph.chance(0.4) else None,
                _weights(graph, (ways, PEEPHOLES * hidden)) if graph.chance(0.3) else None,
            ]
            properties["input_forget"] = graph.chance(0.2)
        if kind is GruOp:
            properties["linear_before_reset"] = graph.chance(0.5)
        return graph.add(kind, operands, properties, results=3 if kind is LstmOp else 2)

    return make


LAYERS: tuple[type[RecurrentOp], ...] = (RnnOp, LstmOp, GruOp)
