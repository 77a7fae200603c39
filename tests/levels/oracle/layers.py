"""Recurrent layers of one direction and two, step by step as ONNX defines them."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from qmlir.arithmetic.functions import FUNCTIONS
from tests.levels.oracle.steps import F32, Array, Steps, UnknownError, Value


def _sigmoid(x: Array) -> Array:
    decay = FUNCTIONS["exp"](-np.abs(x))
    return np.where(x < 0, decay, F32(1)) / (F32(1) + decay)


# --- Recurrent layers -------------------------------------------------------------------------------------------------


class _Walk:
    """One direction of a layer: its weights, and the parts that all gates have."""

    def __init__(self, op: Any, way: int, values: Mapping[str, Value | None]) -> None:
        self.op, self.values, self.way = op, values, way
        self.hidden = op.hidden_size.value.data
        self.steps = Steps(op, {})
        self.steps.types = {
            role.removeprefix("backward/"): each
            for role, each in self.steps.types.items()
            if role.startswith("backward/") == bool(way)
        }
        self.x = self._needed("data")
        functions = op.activation_functions()
        each = len(functions) // op.directions
        self.functions = [function.name for function in functions[way * each : (way + 1) * each]]

    def _needed(self, name: str) -> Value:
        found = self.values[name]
        assert found is not None
        return found

    def rows(self, name: str, number: int) -> Value:
        return self._needed(name).at(self.way, slice(number * self.hidden, (number + 1) * self.hidden))

    def bias(self, first: int, second: int | None = None) -> Value | None:
        if self.values["bias"] is None:
            return None
        one = self.rows("bias", first)
        return one if second is None else Value(one.array + self.rows("bias", second).array, one.type)

    def initial(self, name: str) -> Value:
        given = self.values[f"initial_{name}"]
        if given is not None:
            return given.at(slice(self.way, self.way + 1))
        return self.steps.constant(f"{name}/initial", 0.0, (1, 1, self.hidden))

    def projected(self, gate: str, number: int, bias: Value | None) -> list[Value]:
        product = self.steps.matmul(f"{gate}/input_matmul", self.x, self.rows("weight", number))
        if bias is not None:
            product = self.steps.on_one_scale(f"{gate}/bias_add", np.add, product, bias)
        if product.own.scale.size > 1:
            raise UnknownError("a split of several scales")
        return [product.at(slice(position, position + 1)) for position in range(len(product.array))]

    def read(self, hidden: Value) -> Value:
        """The hidden state as its products read it."""
        if "hidden/rounded" not in self.steps.types:
            return hidden
        type_ = self.steps.type_of("hidden/rounded", hidden.array.shape)
        return self.steps.rescaled(hidden.integers, hidden.own.scale, type_, self.steps.mode_of(hidden))

    def total(self, gate: str, taken: Value, state: Value, number: int) -> Value:
        product = self.steps.matmul(f"{gate}/recurrence_matmul", state, self.rows("recurrence", number))
        return self.steps.on_one_scale(f"{gate}/sum", np.add, taken, product)

    def clipped(self, gate: str, value: Value) -> Value:
        if self.op.clip is None:
            return value
        bound = self.op.clip.value.data
        return self.steps.clip(f"{gate}/clip", value, -bound, bound)

    def activated(self, gate: str, value: Value, number: int) -> Value:
        match self.functions[number]:
            case "Sigmoid":
                return self.steps.in_floats(f"{gate}/sigmoid", _sigmoid, value)
            case "Tanh":
                return self.steps.named(f"{gate}/tanh", "tanh", value)
            case "Relu":
                type_ = self.steps.type_of(f"{gate}/relu", value.array.shape)
                mode = self.steps.mode_of(value)
                return self.steps.rescaled(np.maximum(value.integers, 0), value.own.scale, type_, mode)
            case name:
                raise UnknownError(name)

    def run(self, step: Callable[[int, tuple[Value, ...]], tuple[Value, ...]], names: tuple[str, ...]) -> Any:
        """The outputs of all places, and the last states."""
        state, outputs = tuple(self.initial(name) for name in names), dict[int, Value]()
        lengths, is_reversed = self.values["lengths"], self.op.walks[self.way]
        for position in range(len(self.x.array))[:: -1 if is_reversed else 1]:
            after = step(position, state)
            outputs[position] = after[0]
            if lengths is not None:
                runs = (position < lengths.array)[None, :, None]
                after = tuple(_kept(runs, new, old) for new, old in zip(after, state, strict=True))
                outputs[position] = _kept(runs, after[0], self.steps.constant("hidden/zero", 0.0))
            state = after
        return [outputs[position].array for position in range(len(self.x.array))], [each.array for each in state]


def _kept(runs: Array, new: Value, old: Value) -> Value:
    return Value(np.where(runs, new.array, old.array), new.type)


def _lstm_steps(walk: _Walk) -> Any:
    steps, is_coupled = walk.steps, bool(walk.op.input_forget.value.data)
    numbers = {"input_gate": 0, "output_gate": 1, "forget_gate": 2, "cell_gate": 3}
    peeps = {"input_gate": 0, "output_gate": 1, "forget_gate": 2}
    inputs = {
        gate: walk.projected(gate, number, walk.bias(number, 4 + number))
        for gate, number in numbers.items()
        if gate != "forget_gate" or not is_coupled
    }

    def gate_at(gate: str, position: int, state: tuple[Value, ...], cell: Value, function: int) -> Value:
        total = walk.total(gate, inputs[gate][position], walk.read(state[0]), numbers[gate])
        if walk.values["peepholes"] is not None and gate in peeps:
            peep = steps.mul(f"{gate}/peephole_mul", cell, walk.rows("peepholes", peeps[gate]))
            total = steps.on_one_scale(f"{gate}/peephole_sum", np.add, total, peep)
        return walk.activated(gate, walk.clipped(gate, total), function)

    def step(position: int, state: tuple[Value, ...]) -> tuple[Value, ...]:
        cell = state[1]
        into = gate_at("input_gate", position, state, cell, 0)
        if is_coupled:
            forget = steps.on_one_scale(
                "forget_gate/complement", np.subtract, steps.constant("forget_gate/one", 1.0), into
            )
        else:
            forget = gate_at("forget_gate", position, state, cell, 0)
        new = gate_at("cell_gate", position, state, cell, 1)
        kept, fresh = steps.mul("cell/forget_mul", forget, cell), steps.mul("cell/input_mul", into, new)
        cell = steps.on_one_scale("cell/sum", np.add, kept, fresh)
        out = gate_at("output_gate", position, state, cell, 0)
        return steps.mul("hidden/product", out, walk.activated("hidden", cell, 2)), cell

    return walk.run(step, ("hidden", "cell"))


def _gru_steps(walk: _Walk) -> Any:
    steps, is_linear = walk.steps, bool(walk.op.linear_before_reset.value.data)
    gates = ("update_gate", "reset_gate")
    inputs = [walk.projected(gate, number, walk.bias(number, 3 + number)) for number, gate in enumerate(gates)]
    fresh_inputs = walk.projected("hidden_gate", 2, walk.bias(2, None if is_linear else 5))

    def candidate(position: int, hidden: Value, reset: Value) -> Value:
        if not is_linear:
            scaled = steps.mul("hidden_gate/reset_mul", reset, hidden)
            return walk.total("hidden_gate", fresh_inputs[position], scaled, 2)
        product = steps.matmul("hidden_gate/recurrence_matmul", walk.read(hidden), walk.rows("recurrence", 2))
        bias = walk.bias(5)
        if bias is not None:
            product = steps.on_one_scale("hidden_gate/recurrence_bias_add", np.add, product, bias)
        scaled = steps.mul("hidden_gate/reset_mul", reset, product)
        return steps.on_one_scale("hidden_gate/sum", np.add, fresh_inputs[position], scaled)

    def step(position: int, state: tuple[Value, ...]) -> tuple[Value, ...]:
        (hidden,) = state
        read = walk.read(hidden)
        update, reset = (
            walk.activated(gate, walk.clipped(gate, walk.total(gate, inputs[number][position], read, number)), 0)
            for number, gate in enumerate(gates)
        )
        new = walk.activated("hidden_gate", walk.clipped("hidden_gate", candidate(position, hidden, reset)), 1)
        rest = steps.on_one_scale("hidden/complement", np.subtract, steps.constant("hidden/one", 1.0), update)
        mixed = steps.mul("hidden/new_mul", rest, new), steps.mul("hidden/kept_mul", update, hidden)
        return (steps.on_one_scale("hidden/sum", np.add, *mixed),)

    return walk.run(step, ("hidden",))


def _rnn_steps(walk: _Walk) -> Any:
    inputs = walk.projected("hidden", 0, walk.bias(0, 1))

    def step(position: int, state: tuple[Value, ...]) -> tuple[Value, ...]:
        total = walk.total("hidden", inputs[position], walk.read(state[0]), 0)
        return (walk.activated("hidden", walk.clipped("hidden", total), 0),)

    return walk.run(step, ("hidden",))


_OPERANDS = ("data", "weight", "recurrence", "bias", "lengths", "initial_hidden", "initial_cell", "peepholes")


def _layer(run: Callable[[_Walk], Any]) -> Callable[..., tuple[Value, ...]]:
    def evaluate(op: Any, *operands: Value | None) -> tuple[Value, ...]:
        values = dict.fromkeys(_OPERANDS) | dict(zip(_OPERANDS, operands, strict=False))
        ways = [run(_Walk(op, way, values)) for way in range(op.directions)]
        sequence = np.stack([np.concatenate(outputs) for outputs, _ in ways], 1)
        states = [np.concatenate(each) for each in zip(*(last for _, last in ways), strict=True)]
        return tuple(Value(each) for each in (sequence, *states))

    return evaluate


LAYERS: dict[str, Callable[..., tuple[Value, ...]]] = {
    "nn.rnn": _layer(_rnn_steps),
    "nn.lstm": _layer(_lstm_steps),
    "nn.gru": _layer(_gru_steps),
}
