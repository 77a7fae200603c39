"""Random quantized graphs: a seed gives a module of 2 to 12 operations, and inputs for it.

The module verifies and can be interpreted; the rest is chance: shapes, types, schemes, what follows what.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp

from qmlir.interpreter.random_inputs import random_inputs
from qmlir.interpreter.run import interpret
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.verification import verify
from tests.levels.graph import BITS, UP_TO_16, WIDE, Graph, RejectedError, Value
from tests.levels.oracle import knows
from tests.levels.row import Row
from tests.levels.rows import PLAIN, ROWS, rows_named

MOST_OPERATIONS = 12
FEW = 0.28
"""The parameter of the geometric distribution of the number of operations: 4 or 5 on average."""

ATTEMPTS = 200
"""So many draws are made for a graph before it is taken as it is."""

OTHER_SEED = 1_000_003
"""From a seed to the next one that is tried in its place."""

_INPUT_ATTEMPTS = 3
"""So often other inputs than the sample of the generation are tried: an arc sine may be given what it does not take."""

_RANKS = (1, 2, 2, 3, 4, 4, 4, 4, 5)
"""Ranks of inputs; most operations that computers spend their time on take images."""


@dataclass(frozen=True)
class Case:
    """A graph and inputs for it."""

    seed: int
    module: ModuleOp
    inputs: dict[str, Any]


def _input(graph: Graph) -> Value:
    """A quantized input, or a float one behind a cast."""
    shape = graph.shape(graph.pick(_RANKS), 6)
    low, high = -float(graph.random.exponential(2)), float(graph.random.exponential(2)) + 0.01
    element = graph.uniform(low, high, graph.storage())
    if graph.chance(0.3):
        return graph.quantized(graph.input(f32, shape), element)
    return graph.input(element, shape)


def _draw(graph: Graph) -> Value:
    """A value to go on from, the last ones most often."""
    usable = [value for value in graph.values if value.uniform is not None]
    position = int(graph.random.geometric(0.5))
    return usable[-min(position, len(usable))]


def graph_of(
    seed: int, rows: tuple[Row, ...] = PLAIN, operations: int | None = None, bits: Sequence[int] = UP_TO_16
) -> Graph:
    """The graph of a seed, made of `rows`; of so many `operations`, or of any number, in storage of `bits`."""
    graph = Graph(seed, bits=bits)
    _input(graph)
    weights = np.array([row.weight for row in rows])
    wanted, made = operations or graph.integer(2, MOST_OPERATIONS), 0
    for _ in range(ATTEMPTS):
        if made == wanted:
            break
        row = rows[int(graph.random.choice(len(rows), p=weights / weights.sum()))]
        try:
            row.make(graph, _draw(graph))
            made += 1
        except RejectedError:
            if graph.chance(0.03 if operations is None else 0.3):
                _input(graph)
    return graph


def case_of(
    seed: int, rows: tuple[Row, ...] = PLAIN, operations: int | None = None, bits: Sequence[int] = UP_TO_16
) -> Case:
    """The graph of a seed with inputs: ends of ranges and zero points are among them."""
    graph = graph_of(seed, rows, operations, bits)
    module = graph.module()
    verify(module)
    (function,) = (op for op in module.ops if isinstance(op, FuncOp))
    for attempt in range(_INPUT_ATTEMPTS):
        inputs = random_inputs(function, seed + attempt)
        with suppress(DiagnosticError):
            interpret(module, inputs)
            return Case(seed, module, inputs)
    return Case(seed, module, graph.sample())


def _few(seed: int) -> int:
    """How many operations the graph of a seed has where there are many graphs."""
    return min(1 + int(np.random.default_rng(seed).geometric(FEW)), MOST_OPERATIONS)


def case_of_any(seed: int) -> Case:
    """A graph of operations, spelled composites and control flow, in storage of 1 to 32 bits."""
    return case_of(seed, ROWS, _few(seed), BITS)


def case_of_wide(seed: int, names: Sequence[str] = ()) -> Case:
    """A graph in storage of more than 16 bits, of one operation of one of these rows, or of any."""
    return case_of(seed, rows_named(names), 1, WIDE) if names else case_of(seed, ROWS, _few(seed), WIDE)


def case_of_one(seed: int, names: Sequence[str]) -> Case:
    """A graph of one operation, of one of the rows of these names: one that the oracle knows."""
    rows = rows_named(names)
    for attempt in range(ATTEMPTS):
        case = case_of(seed + attempt * OTHER_SEED, rows, operations=1)
        if knows(case.module, case.inputs):
            break
    return replace(case, seed=seed)
