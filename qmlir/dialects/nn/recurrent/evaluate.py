"""Evaluation of recurrent layers, step by step; f16 and bf16 are computed in f32, and only the results are rounded.

A step costs the calls of its functions rather than their elements, so several runs are computed together, on arrays
`[S, N, …]`. Their products remain one product for each run, because the rounding of sums depends on the number of rows.
"""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any

import numpy as np
from xdsl.ir import Operation
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic.arrays import Array, clipped
from qmlir.arithmetic.functions import ON_ARRAYS
from qmlir.dialects.nn import formulas
from qmlir.dialects.nn.components import PARTS
from qmlir.dialects.nn.evaluation import widened
from qmlir.dialects.nn.recurrent import ops
from qmlir.ir.evaluation import Evaluator, Results, Together, apart

State = tuple[Array, ...]
"""The states passed from step to step, `[S, N, H]` each: the hidden state, followed by the cell state of an LSTM."""

Function = Callable[[Array], Array]

Step = Callable[[Array, State], State]
"""A function that computes the state after a step from `W x + b` at this step and the previous state."""


FORMULAS: dict[str, Callable[..., Any]] = {
    "Relu": formulas.relu,
    "Tanh": formulas.tanh,
    "Sigmoid": formulas.sigmoid,
    "Affine": formulas.affine,
    "LeakyRelu": formulas.leaky_relu,
    "ThresholdedRelu": formulas.kept_from,
    "ScaledTanh": formulas.scaled_tanh,
    "HardSigmoid": formulas.hard_sigmoid,
    "Elu": formulas.elu,
    "Softsign": formulas.softsign,
    "Softplus": formulas.softplus,
}
"""The activation functions by ONNX's names; each takes a value and its parameters."""


def _activation(chosen: ops.Activation) -> Function:
    numbers = [each for each in (chosen.alpha, chosen.beta) if each is not None]
    return lambda x: FORMULAS[chosen.name](ON_ARRAYS, x, *numbers).astype(x.dtype, copy=False)


def _of_gate(op: ops.Layer, function: Function) -> Function:
    """Wraps `function` to clip its input."""
    if op.clip is None:
        return function
    bound = op.clip.value.data
    return lambda x: function(clipped(x, -bound, bound))


def _rnn_step(op: ops.RnnOp, functions: Sequence[Function], recurrence: Array, bias: Array) -> Step:
    (f,) = (_of_gate(op, each) for each in functions)

    def step(part: Array, state: State) -> State:
        return (f(part + state[0] @ recurrence.T + bias),)

    return step


def _lstm_step(
    op: ops.LstmOp, peepholes: Array | None, functions: Sequence[Function], recurrence: Array, bias: Array
) -> Step:
    f, g, h = _of_gate(op, functions[0]), _of_gate(op, functions[1]), functions[2]
    size = op.hidden_size.value.data

    def renewed(cell: Array, into: Array, forget: Array, new: Array) -> Array:
        return (1 - into if op.input_forget.value.data else forget) * cell + into * g(new)

    def step(part: Array, state: State) -> State:
        hidden, cell = state
        gates = np.moveaxis((part + hidden @ recurrence.T + bias).reshape(*cell.shape[:-1], 4, size), -2, 0)
        if peepholes is None:
            into, out, forget = f(gates[:3])  # in one call, whose overhead exceeds the cost of small arrays
            cell = renewed(cell, into, forget, gates[3])
        else:
            peep_input, peep_output, peep_forget = np.split(peepholes, 3)
            cell = renewed(cell, f(gates[0] + peep_input * cell), f(gates[2] + peep_forget * cell), gates[3])
            out = f(gates[1] + peep_output * cell)
        return out * h(cell), cell

    return step


def _gru_step(op: ops.GruOp, functions: Sequence[Function], recurrence: Array, bias: Array) -> Step:
    f, g = (_of_gate(op, each) for each in functions)
    size = op.hidden_size.value.data
    gates, new = recurrence[: 2 * size].T, recurrence[2 * size :].T
    gates_bias, new_bias = bias[: 2 * size], bias[2 * size :]

    def step(part: Array, state: State) -> State:
        (hidden,) = state
        update, reset = np.split(f(part[..., : 2 * size] + hidden @ gates + gates_bias), 2, axis=-1)
        if op.linear_before_reset.value.data:
            fresh = g(part[..., 2 * size :] + reset * (hidden @ new + new_bias))
        else:
            fresh = g(part[..., 2 * size :] + (reset * hidden) @ new + new_bias)
        return ((1 - update) * fresh + update * hidden,)

    return step


def _checked_lengths(lengths: Array | None, time: int, batch: int) -> Array:
    if lengths is None:
        return np.full(batch, time)
    wrong = (lengths < 0) | (lengths > time)
    if wrong.any():
        raise InterpretationError(f"sequence length must be in [0, {time}], but got {lengths[wrong][0]}")
    return lengths


def _walk(
    parts: Sequence[Array], lengths: Sequence[Array], is_reversed: bool, step: Step, state: State
) -> tuple[list[Array], State]:
    """Returns all hidden states of each run, `[T, N, H]`, and the last states of all; a sequence is walked from its
    start or its end. Each run has its own `T`, and the `lengths [N]` of its sequences."""
    time, ends = max(map(len, parts)), np.stack(lengths)
    laid_out = np.zeros((time, *ends.shape, parts[0].shape[-1]), parts[0].dtype)
    positions: list[Array] = []
    for number, (own, length) in enumerate(zip(parts, lengths, strict=True)):
        steps = np.arange(len(own))[:, None]
        # The position of each step in each sequence; the permutation is its own inverse, so it also restores the order.
        order = np.where((steps < length) & is_reversed, length - 1 - steps, steps)[:, :, None]
        laid_out[: len(own), number] = np.take_along_axis(own, order, axis=0)
        positions.append(order)
    hidden = np.zeros((time, *state[0].shape), state[0].dtype)
    for index in range(time):
        runs = (index < ends)[:, :, None]
        after = step(laid_out[index], state)
        state = tuple(np.where(runs, new, old) for new, old in zip(after, state, strict=True))
        hidden[index] = np.where(runs, state[0], 0)
    found = [np.take_along_axis(hidden[: len(order), each], order, axis=0) for each, order in enumerate(positions)]
    return found, state


MakeStep = Callable[[Sequence[Function], Array, Array], Step]
"""Creates the step function of one direction from its activation functions, `R [G*H, H]`, and the bias of `R`."""


def _layer(
    op: ops.Layer, makers: Sequence[MakeStep], weight: Array, recurrence: Array, bias: Array | None,
    data: Sequence[Array], lengths: Sequence[Array | None], *initial: Sequence[Array | None],
) -> list[tuple[Array, ...]]:  # fmt: skip
    """Returns for each run all hidden states `[T, D, N, H]`, and the last states `[D, N, H]`; `makers` has one entry
    per direction, and the last arguments one for each run."""
    sequences = [widened(each) for each in data]
    batch, dtype = sequences[0].shape[1], sequences[0].dtype
    size, count = op.hidden_size.value.data, op.directions
    rows = op.GATES * size
    biases = np.zeros((count, 2 * rows), dtype) if bias is None else widened(bias)
    zeros = np.zeros((count, batch, size), dtype)
    states = [np.stack([zeros if own is None else widened(own) for own in each]) for each in initial]
    functions = [_activation(each) for each in op.activation_functions()]
    own = len(op.FUNCTIONS)
    ends = [_checked_lengths(each, len(x), batch) for each, x in zip(lengths, sequences, strict=True)]
    hidden: list[list[Array]] = []
    last: list[State] = []
    with np.errstate(over="ignore", invalid="ignore"):  # IEEE results are kept
        for way, (is_reversed, make) in enumerate(zip(op.walks, makers, strict=True)):
            parts = [x @ widened(weight[way]).T + biases[way, :rows] for x in sequences]
            step = make(functions[way * own : (way + 1) * own], widened(recurrence[way]), biases[way, rows:])
            found, state = _walk(parts, ends, is_reversed, step, tuple(each[:, way] for each in states))
            hidden.append(found)
            last.append(state)
    results = [
        (np.stack(ways, axis=1), *(np.stack([state[run] for state in each]) for each in zip(*last, strict=True)))
        for run, ways in enumerate(zip(*hidden, strict=True))
    ]
    return [tuple(each.astype(data[0].dtype, copy=False) for each in found) for found in results]


def _together(evaluate: Callable[[Any, Sequence[Sequence[Any]]], Sequence[Results]]) -> Together:
    """Computes the runs together that have equal batches and share all operands but sequences and initial states."""

    def key(arguments: Sequence[Any]) -> Hashable:
        data, weight, recurrence, bias, _, *states = arguments
        peepholes = states.pop() if len(states) > 2 else None
        return data.shape[1:], data.dtype, *map(id, (weight, recurrence, bias, peepholes))

    return Together(apart(key, evaluate))


def _of_hidden_state(make: Callable[..., Step]) -> Evaluator:
    """Returns the evaluator of a layer whose only state is the hidden one, with the steps of `make`."""

    def evaluate(op: ops.HiddenStateOp, runs: Sequence[Sequence[Any]]) -> Sequence[Results]:
        data, weight, recurrence, bias, lengths, states = zip(*runs, strict=True)
        return _layer(op, [partial(make, op)] * op.directions, weight[0], recurrence[0], bias[0], data, lengths, states)

    return _together(evaluate)


def _lstm(op: ops.LstmOp, runs: Sequence[Sequence[Any]]) -> Sequence[Results]:
    data, weight, recurrence, bias, lengths, hidden, cell, peepholes = zip(*runs, strict=True)
    peeps = [None] * op.directions if peepholes[0] is None else widened(peepholes[0])
    makers = [partial(_lstm_step, op, each) for each in peeps]
    return _layer(op, makers, weight[0], recurrence[0], bias[0], data, lengths, hidden, cell)


EVALUATORS: dict[type[Operation], Evaluator] = {
    ops.RnnOp: _of_hidden_state(_rnn_step),
    ops.LstmOp: _together(_lstm),
    ops.GruOp: _of_hidden_state(_gru_step),
    ops.DynamicLstmOp: PARTS,  # a different rounding could change a range, and thus all integers
}
