"""Rows of composites that are spelled as parts, in the ways in which models spell them; each part has types of its own.

`nn-raise` makes many of them the composite again. Those of floats between casts are for `nn-recognize`.
"""

from collections.abc import Callable, Sequence

import numpy as np

from qmlir.dialects.nn.activations import ops as activations
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.contraction import ops as contraction
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.movement import ops as movement
from qmlir.dialects.nn.reduction import ops as reduction
from tests.levels.contractions import bias_of, need_sums_in_64_bits
from tests.levels.graph import MOST_PRODUCTS, Graph, Value
from tests.levels.row import Make, Row, need

MOST_HIDDEN = 3

_ADD, _SUB, _MUL, _DIV = elementwise.AddOp, elementwise.SubOp, elementwise.MulOp, elementwise.DivOp


def number(graph: Graph, like: Value, value: float) -> Value:
    """A scalar constant beside `like`: quantized where that is."""
    real = np.asarray(value, np.float32)
    if like.uniform is None:
        return graph.plain_constant(real)
    element = graph.symmetric(1.5 * abs(value) + 1e-6, graph.pick([8, 12, 16, 24]))
    stored = np.clip(np.rint(real / element.scale), element.storage_min, element.storage_max)
    return graph.constant(element, (), stored.astype(f"i{max(8, 1 << (element.bits - 1).bit_length()) // 8}"))


def _either(graph: Graph, kind: type[NnOp], left: Value, right: Value) -> Value:
    """A commutative operation, its operands in either order."""
    return graph.add(kind, [left, right] if graph.chance(0.5) else [right, left])


def _square(graph: Graph, x: Value) -> Value:
    if graph.chance(0.3):
        return graph.add(elementwise.PowOp, [x, graph.plain_constant(np.asarray(2, np.float32))])
    return graph.add(_MUL, [x, x])


def _row(kind: type[NnOp], graph: Graph, x: Value, axis: int) -> Value:
    """A reduction along `axis`, which stays; from the front or the back."""
    position = axis if graph.chance(0.5) else axis - len(x.shape)
    return graph.add(kind, [x], {"axes": [position], "keep_dims": True})


# --- Layers -----------------------------------------------------------------------------------------------------------


def product(graph: Graph, x: Value, columns: int, has_bias: bool) -> Value:
    """Rows of `x` times constant weights, with a bias or without: a product, a layer, or a product and a sum."""
    is_layer = graph.chance(0.5)
    is_turned = is_layer or graph.chance(0.5)
    terms = x.shape[-1]
    shape = (columns, terms) if is_turned else (terms, columns)
    w = graph.weights(shape, 0 if is_turned else 1, ())
    need_sums_in_64_bits(x, w, terms)
    need(np.prod(x.shape) * columns <= MOST_PRODUCTS, "too many products")
    bias = bias_of(graph, x, w, columns) if has_bias else None
    if is_layer:
        inside = bias if graph.chance(0.5) else None
        y = graph.add(contraction.FullyConnectedOp, [x, w, inside])
        return y if bias is None or inside is not None else _either(graph, _ADD, y, bias)
    y = graph.add(contraction.MatMulOp, [x, w], {"transpose_b": is_turned})
    return y if bias is None else _either(graph, _ADD, y, bias)


def _layer(graph: Graph, x: Value) -> Value:
    need(x.has_one_scale and len(x.shape) >= 2, "rows with one scale")
    return product(graph, x, graph.integer(1, 6), has_bias=True)


def _conv(graph: Graph, x: Value) -> Value:
    """A convolution without a bias, and the bias `[C, 1, …]` or `[1, C, 1, …]`."""
    need(x.has_one_scale and 3 <= len(x.shape) <= 4, "an image with one scale")
    out, kernel = graph.integer(1, 4), [1] * (len(x.shape) - 2)
    w = graph.weights((out, x.shape[1], *kernel), 0, [1])
    need_sums_in_64_bits(x, w, x.shape[1])
    y = graph.add(contraction.ConvOp, [x, w, None])
    shape = [out, *kernel] if graph.chance(0.5) else [1, out, *kernel]
    bias = graph.constant(graph.uniform(-2.0, 2.0, graph.storage()), shape)
    return _either(graph, _ADD, y, bias)


# --- Functions --------------------------------------------------------------------------------------------------------


def _sigmoid(graph: Graph, x: Value) -> Value:
    """`1 / (1 + e^-x)`."""
    power = graph.add(elementwise.ExpOp, [graph.add(elementwise.NegOp, [x])])
    whole = _either(graph, _ADD, power, number(graph, x, 1.0))
    if graph.chance(0.5):
        return graph.add(elementwise.ReciprocalOp, [whole])
    return graph.add(_DIV, [number(graph, x, 1.0), whole])


def _swish(graph: Graph, x: Value) -> Value:
    scaled = _either(graph, _MUL, x, number(graph, x, 1.5)) if graph.chance(0.3) else x
    return _either(graph, _MUL, x, graph.add(activations.SigmoidOp, [scaled]))


def _hard_sigmoid(graph: Graph, x: Value) -> Value:
    scaled = _either(graph, _MUL, x, number(graph, x, 0.2))
    return graph.add(
        elementwise.ClipOp, [_either(graph, _ADD, scaled, number(graph, x, 0.5))], {"minimum": 0.0, "maximum": 1.0}
    )


def _hard_swish(graph: Graph, x: Value) -> Value:
    if graph.chance(0.3):
        return _either(graph, _MUL, x, graph.add(activations.HardSigmoidOp, [x], {"alpha": 1 / 6, "beta": 0.5}))
    moved = _either(graph, _ADD, x, number(graph, x, 3.0))
    bounded = graph.add(elementwise.ClipOp, [moved], {"minimum": 0.0, "maximum": 6.0})
    if graph.chance(0.5):
        return _either(graph, _MUL, x, graph.add(_DIV, [bounded, number(graph, x, 6.0)]))
    return graph.add(_DIV, [_either(graph, _MUL, x, bounded), number(graph, x, 6.0)])


def _mish(graph: Graph, x: Value) -> Value:
    return _either(graph, _MUL, x, graph.add(activations.TanhOp, [graph.add(activations.SoftplusOp, [x])]))


def _gelu(graph: Graph, x: Value) -> Value:
    if graph.chance(0.5):
        argument = graph.add(_DIV, [x, number(graph, x, float(np.sqrt(2)))])
        curve = graph.add(elementwise.ErfOp, [argument])
    else:
        cube = _either(graph, _MUL, _square(graph, x), x)
        inner = _either(graph, _ADD, x, _either(graph, _MUL, cube, number(graph, x, 0.044715)))
        argument = _either(graph, _MUL, inner, number(graph, x, float(np.sqrt(2 / np.pi))))
        curve = graph.add(activations.TanhOp, [argument])
    gate = _either(graph, _ADD, curve, number(graph, x, 1.0))
    if graph.chance(0.5):
        return _either(graph, _MUL, _either(graph, _MUL, x, gate), number(graph, x, 0.5))
    return _either(graph, _MUL, _either(graph, _MUL, x, number(graph, x, 0.5)), gate)


# --- Rows of numbers --------------------------------------------------------------------------------------------------


def _softmax(graph: Graph, x: Value) -> Value:
    need(bool(x.shape), "a row")
    axis = graph.integer(0, len(x.shape) - 1)
    shifted = graph.add(_SUB, [x, _row(reduction.ReduceMaxOp, graph, x, axis)]) if graph.chance(0.7) else x
    power = graph.add(elementwise.ExpOp, [shifted])
    total = _row(reduction.ReduceSumOp, graph, power, axis)
    if graph.chance(0.4):
        return graph.add(_SUB, [shifted, graph.add(elementwise.LogOp, [total])])
    return graph.add(_DIV, [power, total])


def _norm(graph: Graph, x: Value) -> Value:
    """A layer norm or an RMS norm of the last axis, or of channels."""
    need(bool(x.shape), "a row")
    axis = graph.pick([len(x.shape) - 1, graph.integer(0, len(x.shape) - 1)])
    is_centered = graph.chance(0.6)
    data = graph.add(_SUB, [x, _row(reduction.ReduceMeanOp, graph, x, axis)]) if is_centered else x
    variance = _row(reduction.ReduceMeanOp, graph, _square(graph, data), axis)
    root = graph.add(elementwise.SqrtOp, [_either(graph, _ADD, variance, number(graph, x, graph.pick([1e-3, 0.1])))])
    if graph.chance(0.6):
        y = graph.add(_DIV, [data, root])
    else:
        y = _either(graph, _MUL, data, graph.add(elementwise.ReciprocalOp, [root]))
    shape = [x.shape[axis], *(1,) * (len(x.shape) - 1 - axis)]
    if graph.chance(0.8):
        y = _either(graph, _MUL, y, _parameter(graph, x, shape))
    return _either(graph, _ADD, y, _parameter(graph, x, shape)) if is_centered and graph.chance(0.7) else y


def _parameter(graph: Graph, like: Value, shape: Sequence[int]) -> Value:
    if like.uniform is None:
        return graph.plain_constant(graph.random.uniform(0.5, 1.5, shape).astype(np.float32))
    return graph.constant(graph.uniform(-2.0, 2.0, graph.storage()), shape)


def _lp_norm(graph: Graph, x: Value) -> Value:
    need(bool(x.shape), "a row")
    axis = graph.integer(0, len(x.shape) - 1)
    kind = graph.pick([reduction.ReduceL1Op, reduction.ReduceL2Op]) if x.uniform is None else None
    if kind is not None:
        norm = _row(kind, graph, x, axis)
    else:
        norm = graph.add(elementwise.SqrtOp, [_row(reduction.ReduceSumOp, graph, _square(graph, x), axis)])
    bounded = graph.add(elementwise.ClipOp, [norm], {"minimum": 0.01})
    return graph.add(_DIV, [x, bounded])


# --- Cells of recurrent layers ----------------------------------------------------------------------------------------


def _rows(graph: Graph, x: Value) -> Value:
    """`x` where it is a few rows, or an input that is."""
    if x.has_one_scale and len(x.shape) == 2 and x.shape[0] * x.shape[1] <= 16:
        return x
    need(graph.chance(0.5), "few rows")
    return graph.input(graph.uniform(-2.0, 2.0, graph.storage()), graph.shape(2, 3))


def _gates(graph: Graph, x: Value, state: Value, count: int) -> list[Value]:
    """The sums of two products for each gate: of shared products, or each of its own."""
    hidden = state.shape[-1]

    def total(columns: int) -> Value:
        first = product(graph, x, columns, has_bias=graph.chance(0.6))
        second = product(graph, state, columns, has_bias=graph.chance(0.2))
        return _either(graph, _ADD, first, second)

    if graph.chance(0.3):
        return [total(hidden) for _ in range(count)]
    whole = total(count * hidden)
    order = graph.random.permutation(count)
    if graph.chance(0.5):
        axis = graph.pick([1, -1])
        graph.add(movement.SplitOp, [whole], {"axis": axis, "split": [hidden] * count}, results=count)
        pieces = graph.values[-count:]
    else:
        pieces = [
            graph.add(
                movement.SliceOp, [whole],
                {"starts": [position * hidden], "ends": [(position + 1) * hidden], "axes": [1], "steps": [1]},
            )
            for position in range(count)
        ]  # fmt: skip
    return [pieces[position] for position in order]


def _state(graph: Graph, rows: int, hidden: int) -> Value:
    return graph.input(graph.uniform(-1.0, 1.0, graph.storage()), (rows, hidden))


def _lstm(graph: Graph, x: Value) -> Value:
    x, hidden = _rows(graph, x), graph.integer(1, MOST_HIDDEN)
    h, c = (_state(graph, x.shape[0], hidden) for _ in range(2))
    for _ in range(graph.integer(1, 2)):
        into, out, forget, new = _gates(graph, x, h, 4)
        opened = [graph.add(activations.SigmoidOp, [each]) for each in (into, out, forget)]
        kept = _either(graph, _MUL, opened[2], c)
        fresh = _either(graph, _MUL, opened[0], graph.add(activations.TanhOp, [new]))
        c = _either(graph, _ADD, kept, fresh)
        h = _either(graph, _MUL, opened[1], graph.add(activations.TanhOp, [c]))
    return h


def _gru(graph: Graph, x: Value) -> Value:
    x, hidden = _rows(graph, x), graph.integer(1, MOST_HIDDEN)
    h = _state(graph, x.shape[0], hidden)
    update, reset = (graph.add(activations.SigmoidOp, [each]) for each in _gates(graph, x, h, 2))
    scaled = _either(graph, _MUL, reset, h)
    new = graph.add(activations.TanhOp, [_gates(graph, x, scaled, 1)[0]])
    if graph.chance(0.5):
        left = graph.add(_SUB, [number(graph, x, 1.0), update])
        return _either(graph, _ADD, _either(graph, _MUL, left, new), _either(graph, _MUL, update, h))
    return _either(graph, _ADD, new, _either(graph, _MUL, update, graph.add(_SUB, [h, new])))


def _rnn(graph: Graph, x: Value) -> Value:
    x, hidden = _rows(graph, x), graph.integer(1, MOST_HIDDEN)
    h = _state(graph, x.shape[0], hidden)
    for _ in range(graph.integer(1, 2)):
        h = graph.add(graph.pick([activations.TanhOp, activations.ReluOp]), [_gates(graph, x, h, 1)[0]])
    return h


# --- The table --------------------------------------------------------------------------------------------------------


def _quantized(make: Make) -> Make:
    def spelled(graph: Graph, x: Value) -> Value:
        need(x.has_one_scale, "one scale")
        return make(graph, x)

    return spelled


def _between_casts(make: Make) -> Make:
    """The same on floats, quantized again."""

    def spelled(graph: Graph, x: Value) -> Value:
        need(x.uniform is not None, "takes quantized values")
        found = make(graph, graph.dequantized(x))
        need(bool(np.isfinite(found.array).all()), "finite numbers")
        return graph.quantized(found)

    return spelled


_FUNCTIONS: dict[str, Callable[[Graph, Value], Value]] = {
    "sigmoid": _sigmoid,
    "swish": _swish,
    "hard_sigmoid": _hard_sigmoid,
    "hard_swish": _hard_swish,
    "mish": _mish,
    "gelu": _gelu,
    "softmax": _softmax,
    "norm": _norm,
    "lp_norm": _lp_norm,
}

SPELLED: tuple[Row, ...] = (
    Row("spelled_layer", _layer, 1.5),
    Row("spelled_conv", _conv),
    *(Row(f"spelled_{name}", _quantized(make), 0.6) for name, make in _FUNCTIONS.items()),
    *(Row(f"spelled_{name}_of_floats", _between_casts(make), 0.25) for name, make in _FUNCTIONS.items()),
    Row("spelled_lstm", _lstm, 1.5),
    Row("spelled_gru", _gru, 0.7),
    Row("spelled_rnn", _rnn, 0.7),
)
"""Every composite that models spell as parts, quantized and of floats."""
