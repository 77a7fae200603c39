"""Decompositions of recurrent layers into component operations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, cast

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseIntOrFPElementsAttr, TensorType, f32, i8, i32
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.activations import ops as activations
from qmlir.dialects.nn.base import Kind, build, is_per_tensor, kind_of, plain_type
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.contraction.ops import MatMulOp
from qmlir.dialects.nn.decomposition import Decompose, Results, components_of, scalar
from qmlir.dialects.nn.dynamic.ops import STORAGES, DynamicQuantizeOp
from qmlir.dialects.nn.dynamic.products import SUM
from qmlir.dialects.nn.elementwise.ops import (
    AddOp,
    CastOp,
    ClipOp,
    GreaterOrEqualOp,
    LessOp,
    MulOp,
    SubOp,
    UnaryOp,
    WhereOp,
)
from qmlir.dialects.nn.movement.ops import ConcatOp, ReshapeOp, SliceOp, SplitOp, UnsqueezeOp
from qmlir.dialects.nn.recurrent import ops
from qmlir.dialects.quant.infer import broadcast_parameters
from qmlir.dialects.quant.ops import StorageCastOp
from qmlir.dialects.quant.types import StoredType, UniformQuantizedType
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.decomposition import Parts
from qmlir.text.elements import dense_dtype

# Gates of recurrent layers: constants that are sliced, and activation functions.


def _in_memory(value: SSAValue) -> ConstantOp | None:
    """Returns the constant that defines `value`, if its elements are in memory and floats or quantized."""
    constant = value.op if isinstance(value, OpResult) else None
    if not isinstance(constant, ConstantOp) or not isinstance(constant.value, DenseIntOrFPElementsAttr):
        return None
    return constant if kind_of(element_of(value)) in (Kind.FLOAT, Kind.QUANTIZED) else None


def _stored_as(element: StoredType) -> tuple[Attribute, int, int]:
    return element.storage, element.storage_min, element.storage_max


_OPERATIONS: dict[str, tuple[type[UnaryOp], tuple[str, ...]]] = {
    "Relu": (activations.ReluOp, ()),
    "Tanh": (activations.TanhOp, ()),
    "Sigmoid": (activations.SigmoidOp, ()),
    "Softsign": (activations.SoftsignOp, ()),
    "Softplus": (activations.SoftplusOp, ()),
    "LeakyRelu": (activations.LeakyReluOp, ("alpha",)),
    "Elu": (activations.EluOp, ("alpha",)),
    "HardSigmoid": (activations.HardSigmoidOp, ("alpha", "beta")),
}
"""Activation functions that are single operations, each with the parameters that become properties of the operation."""


def _affine(parts: Parts, gate: str, x: SSAValue, chosen: ops.Activation) -> SSAValue:
    product = parts.add(f"{gate}/affine_mul", MulOp(x, scalar(parts, f"{gate}/alpha", chosen.alpha or 0.0, x))).result
    return parts.add(f"{gate}/affine", AddOp(product, scalar(parts, f"{gate}/beta", chosen.beta or 0.0, x))).result


def _scaled_tanh(parts: Parts, gate: str, x: SSAValue, chosen: ops.Activation) -> SSAValue:
    inner = parts.add(f"{gate}/tanh_mul", MulOp(x, scalar(parts, f"{gate}/beta", chosen.beta or 0.0, x))).result
    curve = parts.add(f"{gate}/tanh", activations.TanhOp(inner)).result
    return parts.add(f"{gate}/scaled_tanh", MulOp(curve, scalar(parts, f"{gate}/alpha", chosen.alpha or 0.0, x))).result


def _thresholded_relu(parts: Parts, gate: str, x: SSAValue, chosen: ops.Activation) -> SSAValue:
    # Unlike `nn.thresholded_relu`, ONNX's recurrent layers keep a value equal to the threshold.
    threshold = scalar(parts, f"{gate}/threshold", chosen.alpha or 0.0, x)
    passes = parts.add(f"{gate}/passes", GreaterOrEqualOp(x, threshold)).result
    zero = scalar(parts, f"{gate}/zero", 0.0, x)
    return parts.add(f"{gate}/thresholded_relu", build(WhereOp, [passes, x, zero])).result


_SPELLED_OUT: dict[str, Callable[[Parts, str, SSAValue, ops.Activation], SSAValue]] = {
    "Affine": _affine,
    "ScaledTanh": _scaled_tanh,
    "ThresholdedRelu": _thresholded_relu,
}


def activated(parts: Parts, gate: str, x: SSAValue, chosen: ops.Activation) -> SSAValue:
    """Applies an activation function to `x`; the roles of its parts begin with `gate`."""
    if chosen.name in _SPELLED_OUT:
        return _SPELLED_OUT[chosen.name](parts, gate, x, chosen)
    operation, names = _OPERATIONS[chosen.name]
    properties = {name: getattr(chosen, name) for name in names}
    return parts.add(f"{gate}/{operation.name.partition('.')[2]}", build(operation, [x], properties)).results[0]


# Recurrent layers, unrolled over time: each gate has separate parts, with one role for all time steps.
#
#     forget_gate/input_matmul        W_f x for the whole sequence; `forget_gate/input_step` extracts one step
#     forget_gate/bias_add            the biases of W and R, folded if both are constants
#     forget_gate/recurrence_matmul   R_f h
#     forget_gate/sum                 then `peephole_mul`, `peephole_sum` and `clip`, if the layer has them
#     forget_gate/sigmoid             or another activation function
#
# The states are `cell/…` and `hidden/…`; the second direction of a bidirectional layer prefixes all roles with
# `backward/`. If `components` has a type for `hidden/rounded`, a part rounds the hidden state to that type before the
# products read it. Lengths become masks: after its end a sequence keeps its state, and its hidden states are 0. States
# are `[1, N, H]`, so that no step needs a reshape; an omitted initial state is a zero of `[1, 1, H]`.
#
# If the length is dynamic, the parts are an excerpt of two steps, one of which reads the initial states: further steps
# have the same roles and types. The same applies to sequences of more than `UNROLLED` steps, if the caller accepts an
# excerpt.

State = tuple[SSAValue, ...]
"""The hidden state, followed by the cell state of an LSTM."""


EXCERPT = 2
"""The number of steps in an excerpt: the first reads the initial states, and the second those of the first."""

ROUNDED = "hidden/rounded"
"""The role of the hidden state that the matrix products read, if it has a separate type."""

RECURRENCE = "recurrence_matmul"
"""The suffix of the roles of matrix products that read the hidden state."""

KEEPING = ("cell/forget_mul", "hidden/kept_mul")
"""The roles of the products of a gate and the state of the previous step."""

CELL = "cell/"
"""The prefix of the roles that compute the cell state of an LSTM."""

CELLS = ("cell/sum", "cell/kept")
"""The roles of the cell states that an LSTM passes from step to step."""


class AtTimeStep(Protocol):
    """A value for each position of the sequence."""

    def __getitem__(self, position: int, /) -> SSAValue: ...


def prefix_of(way: int) -> str:
    """Returns the role prefix of a direction; 0 is the first direction of a layer."""
    return "backward/" if way else ""


# Products with integer weights, whose other factor is quantized at run time by its own range.
#
# The factors become quantized values of scale 1, so that bytes are multiplied; the zero point, which is known at run
# time only, is corrected for: `sum (a - z) w = sum a w - z sum w`.

_DATA = UniformQuantizedType.per_tensor(STORAGES["u8"], f32, 1.0)


@dataclass
class DynamicProducts:
    """Builds the matrix products of a layer, and shares the quantized data and the weight parameters between them."""

    quantized: dict[SSAValue, tuple[SSAValue, SSAValue, SSAValue]] = field(
        default_factory=dict[SSAValue, tuple[SSAValue, SSAValue, SSAValue]]
    )
    """For each quantized float value: its integers as a quantized value, its scale, and its zero point as i32."""

    of_weights: dict[SSAValue, tuple[SSAValue, SSAValue]] = field(
        default_factory=dict[SSAValue, tuple[SSAValue, SSAValue]]
    )
    """For each slice of weights: the sums of its rows, and its scales."""

    def rows(self, walk: "Direction", role: str, value: SSAValue, number: int) -> SSAValue:
        """Slices gate `number` of constant weights `[D, rows, terms]`."""
        way, count = walk.way, walk.op.hidden_size.value.data
        constant, element = value.owner, cast(UniformQuantizedType, element_of(value))  # as the operation verifies
        if not isinstance(constant, ConstantOp):
            raise VerifyException(f"weights must be constant, but got '{value.type}'")
        rows, shape = slice(number * count, (number + 1) * count), shape_of(value)
        stored = constant.array[way, rows]
        scales, points = broadcast_parameters(element, shape)
        point = int(np.broadcast_to(points, shape)[way, 0, 0])
        by_row = np.broadcast_to(scales, shape)[way, rows, 0].astype(np.float32)
        scales = by_row if scales.ndim and scales.shape[1] > 1 else by_row[0]
        type_ = UniformQuantizedType.per_tensor(element.storage, f32, 1.0, point)
        weight = walk.add(role, ConstantOp.of(np.ascontiguousarray(stored), TensorType(type_, stored.shape)))
        total = (stored.astype(np.int64) - point).sum(axis=1).astype(np.int32)
        sums = walk.add(f"{role}_sum", ConstantOp.of(total, TensorType(i32, total.shape)))
        scale = walk.add(f"{role}_scale", ConstantOp.of(np.asarray(scales), TensorType(f32, scales.shape)))
        self.of_weights[weight] = sums, scale
        return weight

    def _quantized(self, walk: "Direction", role: str, value: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
        if value not in self.quantized:
            made = build(DynamicQuantizeOp, [value])
            walk.add(f"{role}/quantize", made)
            signless = _cast(walk, f"{role}/bytes", made.result, i8)
            stored = walk.add(f"{role}/stored", StorageCastOp(signless, TensorType(_DATA, shape_of(value))))
            self.quantized[value] = stored, made.scale, _cast(walk, f"{role}/zero_point", made.zero_point, i32)
        return self.quantized[value]

    def product(self, walk: "Direction", role: str, value: SSAValue, weight: SSAValue) -> SSAValue:
        """Quantizes `value` by its range, and multiplies it by a slice of weights that `rows` returned."""
        integers, scale, zero_point = self._quantized(walk, role, value)
        sums, weight_scale = self.of_weights[weight]
        shape = (*shape_of(value)[:-1], shape_of(weight)[0])
        product = MatMulOp(integers, weight, True, TensorType(SUM, shape))
        total = walk.add(f"{role}/sums", StorageCastOp(walk.add(role, product), TensorType(i32, shape)))
        total = walk.add(f"{role}/centred", SubOp(total, walk.add(f"{role}/correction", MulOp(zero_point, sums))))
        both = walk.add(f"{role}/scale", MulOp(scale, weight_scale))
        return walk.add(f"{role}/scaled", MulOp(_cast(walk, f"{role}/real", total, f32), both))


def _cast(walk: "Direction", role: str, value: SSAValue, element: Attribute) -> SSAValue:
    return walk.add(role, build(CastOp, [value], result_types=[TensorType(element, shape_of(value))]))


class StepParts(NamedTuple):
    """The range of a layer's parts that belong to one time step."""

    position: int
    start: int
    end: int
    """The end of the range: parts `start` to `end - 1` belong to the step."""

    before: State
    after: State
    output: SSAValue


@dataclass
class Direction:
    """One direction of a layer, which builds the gates and their inputs at each position of the sequence."""

    op: ops.Layer
    parts: Parts
    way: int
    dynamic: DynamicProducts = field(default_factory=DynamicProducts)
    """Builds matrix products whose factors are quantized at run time."""

    splits: list[SplitOp] = field(default_factory=list[SplitOp])
    """The parts that split a sequence into its positions."""

    running_at: list[SSAValue] = field(default_factory=list[SSAValue])
    """If the layer has lengths, the mask of the sequences that reach each position."""

    taken: list[StepParts] = field(default_factory=list[StepParts])
    """The time steps in the order in which they are computed."""

    @property
    def prefix(self) -> str:
        """The prefix of the roles of this direction."""
        return prefix_of(self.way)

    @property
    def steps(self) -> int:
        """The length of the sequence, or of the excerpt."""
        return EXCERPT if self.parts.is_excerpt else shape_of(self.op.data)[0]

    def at_steps(self, role: str, value: SSAValue) -> AtTimeStep:
        """Splits `value` `[T, N, H]` into one slice `[1, N, H]` for each position."""
        if self.steps == 1:
            return [value]
        split = build(SplitOp, [value], {"axis": 0}, results=self.steps)
        if self.parts.is_excerpt:  # the excerpt does not know the length of the sequence
            for result in tuple(split.results):
                open_type = TensorType(element_of(result), (DYNAMIC_INDEX, *shape_of(result)[1:]))
                Rewriter.replace_value_with_new_type(result, open_type)
        self.add(role, split)
        self.splits.append(split)
        return list(split.results)

    def running(self, column: SSAValue) -> AtTimeStep:
        """Returns the masks of the sequences that reach each position; `column` holds the lengths, `[1, N, 1]`."""
        self.running_at = [self.runs(self.number(position), column) for position in range(self.steps)]
        return self.running_at

    def number(self, position: int) -> SSAValue:
        return self.add("place", ConstantOp.of(np.array(position, np.int32), TensorType(i32, ())))

    def runs(self, number: SSAValue, column: SSAValue) -> SSAValue:
        return self.add("runs", LessOp(number, column))

    def add(self, role: str, op: Operation) -> SSAValue:
        return self.parts.add(self.prefix + role, op).results[0]

    def projected(self, gate: str, number: int, bias: SSAValue | None) -> AtTimeStep:
        """Returns `W x + b` of a gate at each step, `[1, N, H]`."""
        weight = self.rows(f"{gate}/input_weight", self.op.weight, number)
        value = self.product(f"{gate}/input_matmul", self.op.data, weight)
        if bias is not None:
            value = self.add(f"{gate}/bias_add", AddOp(value, bias))
        return self.at_steps(f"{gate}/input_step", value)

    def biases(self, gate: str, number: int) -> SSAValue | None:
        """Returns the sum of both biases of a gate."""
        return None if self.op.bias is None else self._bias_sum(f"{gate}/bias", self.op.bias, number)

    def recurrence(self, gate: str, number: int) -> SSAValue:
        return self.rows(f"{gate}/recurrence_weight", self.op.recurrence, number)

    def rows(self, role: str, value: SSAValue, number: int) -> SSAValue:
        """Returns the rows of gate `number` in this direction's weights `value`, as `product` reads them."""
        if isinstance(self.op, ops.DynamicLstmOp):
            return self.dynamic.rows(self, role, value, number)
        return self.sliced(role, value, number)

    def product(self, role: str, value: SSAValue, weight: SSAValue) -> SSAValue:
        """Returns the matrix product of `value` and the transpose of `weight`."""
        if isinstance(self.op, ops.DynamicLstmOp):
            return self.dynamic.product(self, role, value, weight)
        return self.add(role, MatMulOp(value, weight, True))

    # --- Slices of operands; slices of constants are folded to constants ------------------------------------------

    def _constant(self, role: str, source: ConstantOp, array: Array) -> SSAValue:
        return self.add(role, ConstantOp.of(array, TensorType(self._element(role, source), array.shape)))

    def _element(self, role: str, source: ConstantOp) -> Attribute:
        """Returns the element type of a constant's slice: its own, or for stored integers the one in `components`.

        Raises `VerifyException` if `components` has no type for it, or one with another storage.
        """
        own = element_of(source.result)
        if not isinstance(own, StoredType):
            return own
        role = self.prefix + role
        given = components_of(self.op).get(role)
        if given is None and is_per_tensor(own):
            return own
        if not isinstance(given, UniformQuantizedType):
            raise VerifyException(f"'components' must have a type for part '{role}', a constant of type '{own}'")
        if _stored_as(given) != _stored_as(own):
            raise VerifyException(f"component '{role}' must have the storage of '{own}', but got '{given}'")
        return given

    def sliced(self, role: str, value: SSAValue, number: int) -> SSAValue:
        """Returns rows `number * hidden_size` to `(number + 1) * hidden_size - 1` of `value` `[D, rows, …]` for this
        direction."""
        size = self.op.hidden_size.value.data
        start = number * size
        if (constant := _in_memory(value)) is not None:
            return self._constant(role, constant, constant.array[self.way, start : start + size])
        bounds = {"starts": [self.way, start], "ends": [self.way + 1, start + size]}
        part = value
        if shape_of(value)[:2] != (1, size):
            part = self.add(f"{role}/slice", build(SliceOp, [value], bounds))
        return self.add(role, ReshapeOp(part, shape_of(part)[1:]))

    def _bias_sum(self, role: str, bias: SSAValue, number: int) -> SSAValue:
        """Returns the sum of the biases of `W` and `R` for gate `number`; that of stored integers must be exact."""
        size, gates = self.op.hidden_size.value.data, self.op.GATES
        if (constant := _in_memory(bias)) is None:
            of_input = self.sliced(f"{role}/input", bias, number)
            return self.add(role, AddOp(of_input, self.sliced(f"{role}/recurrence", bias, gates + number)))
        first, second = constant.array[self.way].reshape(2, gates, size)[:, number]
        element = self._element(role, constant)
        if not isinstance(element, UniformQuantizedType):
            return self._constant(role, constant, (first + second).astype(first.dtype, copy=False))
        total = first.astype(np.int64) + second
        if element.zero_points.any() or (total < element.storage_min).any() or (total > element.storage_max).any():
            raise VerifyException(f"the sum of the biases for '{self.prefix}{role}' does not fit '{element}'")
        return self._constant(role, constant, total.astype(first.dtype))

    def initial_state(self, name: str) -> SSAValue:
        """Returns the initial state `name`."""
        given: SSAValue | None = getattr(self.op, f"initial_{name}")
        if given is None:
            element: Attribute = plain_type(element_of(self.op.data))
            zeros = np.zeros((1, 1, self.op.hidden_size.value.data), dense_dtype(element))
            return self.add(f"{name}/initial", ConstantOp.of(zeros, TensorType(element, zeros.shape)))
        if self.op.directions == 1:
            return given
        return self.add(f"{name}/initial", build(SliceOp, [given], {"starts": [self.way], "ends": [self.way + 1]}))

    # --- Steps --------------------------------------------------------------------------------------------------------

    def clipped(self, gate: str, value: SSAValue) -> SSAValue:
        if self.op.clip is None:
            return value
        bound = self.op.clip.value.data
        return self.add(f"{gate}/clip", ClipOp.between(value, -bound, bound))

    def function(self, number: int) -> ops.Activation:
        return self.op.activation_functions()[self.way * len(self.op.FUNCTIONS) + number]

    def activated(self, gate: str, value: SSAValue, number: int) -> SSAValue:
        return activated(self.parts, f"{self.prefix}{gate}", value, self.function(number))

    def read(self, hidden: SSAValue) -> SSAValue:
        """Returns the hidden state that matrix products read, rounded to a separate type if `components` has one."""
        if f"{self.prefix}{ROUNDED}" not in components_of(self.op):
            return hidden
        return self.add(ROUNDED, ClipOp.unbounded(hidden))

    def sum(self, gate: str, step: SSAValue, state: SSAValue, weight: SSAValue) -> SSAValue:
        """Returns `W x + b + R h` of a gate at one step."""
        product = self.product(f"{gate}/{RECURRENCE}", state, weight)
        return self.add(f"{gate}/sum", AddOp(step, product))


Step = Callable[[int, State], State]
"""A function that computes the state after the step at a position from the state before it."""


def _rnn(op: ops.RnnOp, walk: Direction) -> Step:
    inputs = walk.projected("hidden", 0, walk.biases("hidden", 0))
    weight = walk.recurrence("hidden", 0)

    def step(position: int, state: State) -> State:
        total = walk.sum("hidden", inputs[position], walk.read(state[0]), weight)
        return (walk.activated("hidden", walk.clipped("hidden", total), 0),)

    return step


_LSTM_GATES = ("input_gate", "output_gate", "forget_gate", "cell_gate")
_PEEPHOLES = {"input_gate": 0, "output_gate": 1, "forget_gate": 2}


def _lstm(op: ops.LstmLayer, walk: Direction) -> Step:
    is_coupled = bool(op.input_forget.value.data)
    gates = [gate for gate in _LSTM_GATES if gate != "forget_gate" or not is_coupled]
    numbers = {gate: _LSTM_GATES.index(gate) for gate in gates}
    inputs = {gate: walk.projected(gate, number, walk.biases(gate, number)) for gate, number in numbers.items()}
    weights = {gate: walk.recurrence(gate, number) for gate, number in numbers.items()}
    peepholes: dict[str, SSAValue] = {}
    if op.peepholes is not None:
        for gate in gates[:-1]:
            peepholes[gate] = walk.sliced(f"{gate}/peephole_weight", op.peepholes, _PEEPHOLES[gate])
    one = scalar(walk.parts, f"{walk.prefix}forget_gate/one", 1.0, op.data) if is_coupled else None

    def gate_at(gate: str, position: int, read: SSAValue, cell: SSAValue, function: int) -> SSAValue:
        total = walk.sum(gate, inputs[gate][position], read, weights[gate])
        if gate in peepholes:
            peep = walk.add(f"{gate}/peephole_mul", MulOp(cell, peepholes[gate]))
            total = walk.add(f"{gate}/peephole_sum", AddOp(total, peep))
        return walk.activated(gate, walk.clipped(gate, total), function)

    def step(position: int, state: State) -> State:
        hidden, cell = state
        read = walk.read(hidden)
        into = gate_at("input_gate", position, read, cell, 0)
        if one is not None:
            forget = walk.add("forget_gate/complement", SubOp(one, into))
        else:
            forget = gate_at("forget_gate", position, read, cell, 0)
        new = gate_at("cell_gate", position, read, cell, 1)
        kept = walk.add("cell/forget_mul", MulOp(forget, cell))
        cell = walk.add("cell/sum", AddOp(kept, walk.add("cell/input_mul", MulOp(into, new))))
        out = gate_at("output_gate", position, read, cell, 0)
        return walk.add("hidden/product", MulOp(out, walk.activated("hidden", cell, 2))), cell

    return step


_GRU_GATES = ("update_gate", "reset_gate")


def _gru(op: ops.GruOp, walk: Direction) -> Step:
    is_linear = bool(op.linear_before_reset.value.data)
    inputs = [walk.projected(gate, number, walk.biases(gate, number)) for number, gate in enumerate(_GRU_GATES)]
    weights = [walk.recurrence(gate, number) for number, gate in enumerate(_GRU_GATES)]
    bias = recurrence_bias = None
    if op.bias is not None and is_linear:
        bias = walk.sliced("hidden_gate/bias", op.bias, 2)
        recurrence_bias = walk.sliced("hidden_gate/recurrence_bias", op.bias, 5)
    elif op.bias is not None:
        bias = walk.biases("hidden_gate", 2)
    new_inputs = walk.projected("hidden_gate", 2, bias)
    new_weight = walk.recurrence("hidden_gate", 2)
    one = scalar(walk.parts, f"{walk.prefix}hidden/one", 1.0, op.data)

    def candidate(position: int, hidden: SSAValue, read: SSAValue, reset: SSAValue) -> SSAValue:
        if not is_linear:
            scaled = walk.add("hidden_gate/reset_mul", MulOp(reset, hidden))
            return walk.sum("hidden_gate", new_inputs[position], scaled, new_weight)
        product = walk.add(f"hidden_gate/{RECURRENCE}", MatMulOp(read, new_weight, True))
        if recurrence_bias is not None:
            product = walk.add("hidden_gate/recurrence_bias_add", AddOp(product, recurrence_bias))
        scaled = walk.add("hidden_gate/reset_mul", MulOp(reset, product))
        return walk.add("hidden_gate/sum", AddOp(new_inputs[position], scaled))

    def step(position: int, state: State) -> State:
        (hidden,) = state
        read = walk.read(hidden)
        update, reset = (
            walk.activated(gate, walk.clipped(gate, walk.sum(gate, parts[position], read, weight)), 0)
            for gate, parts, weight in zip(_GRU_GATES, inputs, weights, strict=True)
        )
        new = walk.clipped("hidden_gate", candidate(position, hidden, read, reset))
        new = walk.activated("hidden_gate", new, 1)
        fresh = walk.add("hidden/new_mul", MulOp(walk.add("hidden/complement", SubOp(one, update)), new))
        return (walk.add("hidden/sum", AddOp(fresh, walk.add("hidden/kept_mul", MulOp(update, hidden)))),)

    return step


def _joined(parts: Parts, role: str, values: Sequence[SSAValue], axis: int) -> SSAValue:
    return values[0] if len(values) == 1 else parts.add(role, ConcatOp(values, axis)).result


def _with_direction(whole: SSAValue, *, is_open: bool) -> ReshapeOp | UnsqueezeOp:
    """Reshapes `[T, N, H]` to `[T, 1, N, H]`."""
    if is_open:
        return build(UnsqueezeOp, [whole], {"axes": [1]})
    steps, *state = shape_of(whole)
    return ReshapeOp(whole, (steps, 1, *state))


class Walk(NamedTuple):
    """The recurrence of a layer: `make(op, direction)` returns the step function, and `states` names the states."""

    make: Callable[..., Step]
    states: tuple[str, ...]

    def step(self, direction: Direction) -> Callable[[int, State], tuple[State, SSAValue]]:
        """Returns a function that computes the new state and the hidden state to output at a position.

        A sequence that has ended keeps its old state, and its output is 0.
        """
        take, lengths = self.make(direction.op, direction), direction.op.lengths
        if lengths is None:

            def whole_step(position: int, state: State) -> tuple[State, SSAValue]:
                after = take(position, state)
                return after, after[0]

            return whole_step
        (count,) = shape_of(lengths)
        runs = direction.running(direction.add("lengths", ReshapeOp(lengths, (1, count, 1))))
        zero = scalar(direction.parts, f"{direction.prefix}hidden/zero", 0.0, direction.op.data)

        def choose(role: str, position: int, running: SSAValue, ended: SSAValue) -> SSAValue:
            return direction.add(role, build(WhereOp, [runs[position], running, ended]))

        def step(position: int, state: State) -> tuple[State, SSAValue]:
            pairs = zip(self.states, take(position, state), state, strict=True)
            kept = tuple(choose(f"{name}/kept", position, new, old) for name, new, old in pairs)
            return kept, choose("hidden/output", position, kept[0], zero)

        return step


def unrolled(walk: Walk, walked: list[Direction] | None = None) -> Decompose:
    """Returns the decomposition of a layer into the parts of all its steps; appends its directions to `walked`."""

    def decompose(op: ops.Layer, parts: Parts) -> Results:
        width = shape_of(op.data)[2]
        if shape_of(op.data)[0] == 0 or DYNAMIC_INDEX in (width, op.hidden_size.value.data):
            return None
        parts.is_excerpt = op.is_open or (parts.may_be_excerpt and op.is_long)
        sequences: list[SSAValue] = []
        ends: list[State] = []
        for way, is_reversed in enumerate(op.walks):
            direction = Direction(op, parts, way)
            step = walk.step(direction)
            state: State = tuple(direction.initial_state(name) for name in walk.states)
            outputs: dict[int, SSAValue] = {}
            for position in range(direction.steps)[:: -1 if is_reversed else 1]:
                before, start = state, len(parts.operations)
                state, outputs[position] = step(position, before)
                made = StepParts(position, start, len(parts.operations), before, state, outputs[position])
                direction.taken.append(made)
            if walked is not None:
                walked.append(direction)
            role = f"{direction.prefix}hidden/sequence"
            whole = _joined(parts, role, [outputs[position] for position in range(direction.steps)], 0)
            sequences.append(direction.add("hidden/reshape", _with_direction(whole, is_open=parts.is_excerpt)))
            ends.append(state)
        last = [
            _joined(parts, f"{name}/last", [end[number] for end in ends], 0) for number, name in enumerate(walk.states)
        ]
        return [_joined(parts, "hidden/directions", sequences, 1), *last]

    return decompose


WALKS: dict[type[Operation], Walk] = {
    ops.RnnOp: Walk(_rnn, ("hidden",)),
    ops.LstmOp: Walk(_lstm, ("hidden", "cell")),
    ops.GruOp: Walk(_gru, ("hidden",)),
    ops.DynamicLstmOp: Walk(_lstm, ("hidden", "cell")),
}
"""The recurrence of each layer class."""

COMPOSITES: dict[type[Operation], Decompose] = {operation: unrolled(walk) for operation, walk in WALKS.items()}
