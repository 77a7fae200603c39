"""Evaluation of recurrent layers, step by step; f16 and bf16 are computed in f32, and only the results are rounded."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from xdsl.ir import Operation
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic.arrays import Array, clipped
from qmlir.arithmetic.functions import ON_ARRAYS
from qmlir.dialects.nn import formulas
from qmlir.dialects.nn.components import of_parts
from qmlir.dialects.nn.evaluation import widened
from qmlir.dialects.nn.recurrent import ops
from qmlir.ir.evaluation import Evaluator

State = tuple[Array, ...]
"""The states passed from step to step, `[N, H]` each: the hidden state, followed by the cell state of an LSTM."""

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


def _lstm_step(op: ops.LstmOp, peepholes: Array, functions: Sequence[Function], recurrence: Array, bias: Array) -> Step:
    f, g, h = _of_gate(op, functions[0]), _of_gate(op, functions[1]), functions[2]
    peep_input, peep_output, peep_forget = np.split(peepholes, 3)

    def step(part: Array, state: State) -> State:
        hidden, cell = state
        into, out, forget, new = np.split(part + hidden @ recurrence.T + bias, 4, axis=-1)
        into = f(into + peep_input * cell)
        forget = 1 - into if op.input_forget.value.data else f(forget + peep_forget * cell)
        cell = forget * cell + into * g(new)
        return f(out + peep_output * cell) * h(cell), cell

    return step


def _gru_step(op: ops.GruOp, functions: Sequence[Function], recurrence: Array, bias: Array) -> Step:
    f, g = (_of_gate(op, each) for each in functions)
    size = op.hidden_size.value.data
    gates, new = recurrence[: 2 * size].T, recurrence[2 * size :].T
    gates_bias, new_bias = bias[: 2 * size], bias[2 * size :]

    def step(part: Array, state: State) -> State:
        (hidden,) = state
        update, reset = np.split(f(part[:, : 2 * size] + hidden @ gates + gates_bias), 2, axis=-1)
        if op.linear_before_reset.value.data:
            fresh = g(part[:, 2 * size :] + reset * (hidden @ new + new_bias))
        else:
            fresh = g(part[:, 2 * size :] + (reset * hidden) @ new + new_bias)
        return ((1 - update) * fresh + update * hidden,)

    return step


def _checked_lengths(lengths: Array | None, time: int, batch: int) -> Array:
    if lengths is None:
        return np.full(batch, time)
    wrong = (lengths < 0) | (lengths > time)
    if wrong.any():
        raise InterpretationError(f"sequence length must be in [0, {time}], but got {lengths[wrong][0]}")
    return lengths


def _walk(parts: Array, lengths: Array, is_reversed: bool, step: Step, state: State) -> tuple[Array, State]:
    """Returns all hidden states `[T, N, H]` and the last state, walking from the start or the end of each sequence."""
    time = len(parts)
    steps = np.arange(time)[:, None]
    # The position of each step in each sequence; the permutation is its own inverse, so it also restores the order.
    positions = np.where((steps < lengths) & is_reversed, lengths - 1 - steps, steps)[:, :, None]
    parts = np.take_along_axis(parts, positions, axis=0)
    hidden = np.zeros((time, *state[0].shape), state[0].dtype)
    for index in range(time):
        runs = (index < lengths)[:, None]
        after = step(parts[index], state)
        state = tuple(np.where(runs, new, old) for new, old in zip(after, state, strict=True))
        hidden[index] = np.where(runs, state[0], 0)
    return np.take_along_axis(hidden, positions, axis=0), state


MakeStep = Callable[[Sequence[Function], Array, Array], Step]
"""Creates the step function of one direction from its activation functions, `R [G*H, H]`, and the bias of `R`."""


def _layer(
    op: ops.Layer, makers: Sequence[MakeStep], data: Array, weight: Array, recurrence: Array, bias: Array | None,
    lengths: Array | None, *initial: Array | None,
) -> tuple[Array, ...]:  # fmt: skip
    """Returns all hidden states `[T, D, N, H]`, and the last states `[D, N, H]`; `makers` has one entry per
    direction."""
    x = widened(data)
    time, batch = x.shape[:2]
    size, count = op.hidden_size.value.data, op.directions
    rows = op.GATES * size
    biases = np.zeros((count, 2 * rows), x.dtype) if bias is None else widened(bias)
    states = [np.zeros((count, batch, size), x.dtype) if each is None else widened(each) for each in initial]
    functions = [_activation(each) for each in op.activation_functions()]
    own = len(op.FUNCTIONS)
    ends = _checked_lengths(lengths, time, batch)
    hidden: list[Array] = []
    last: list[State] = []
    with np.errstate(over="ignore", invalid="ignore"):  # IEEE results are kept
        for way, (is_reversed, make) in enumerate(zip(op.walks, makers, strict=True)):
            parts = x @ widened(weight[way]).T + biases[way, :rows]
            step = make(functions[way * own : (way + 1) * own], widened(recurrence[way]), biases[way, rows:])
            found, state = _walk(parts, ends, is_reversed, step, tuple(each[way] for each in states))
            hidden.append(found)
            last.append(state)
    results = (np.stack(hidden, axis=1), *(np.stack(each) for each in zip(*last, strict=True)))
    return tuple(each.astype(data.dtype, copy=False) for each in results)


def _of_hidden_state(make: Callable[..., Step]) -> Evaluator:
    """Returns the evaluator of a layer whose only state is the hidden one, with the steps of `make`."""

    def evaluator(op: ops.HiddenStateOp, data: Array, *operands: Any) -> tuple[Array, ...]:
        return _layer(op, [partial(make, op)] * op.directions, data, *operands)

    return evaluator


def _lstm(op: ops.LstmOp, data: Array, *operands: Any) -> tuple[Array, ...]:
    *others, peepholes = operands
    shape = (op.directions, 3 * op.hidden_size.value.data)
    peeps = np.zeros(shape, data.dtype) if peepholes is None else peepholes
    return _layer(op, [partial(_lstm_step, op, widened(each)) for each in peeps], data, *others)


EVALUATORS: dict[type[Operation], Evaluator] = {
    ops.RnnOp: _of_hidden_state(_rnn_step),
    ops.LstmOp: _lstm,
    ops.GruOp: _of_hidden_state(_gru_step),
    ops.DynamicLstmOp: of_parts,  # a different rounding could change a range, and thus all integers
}
