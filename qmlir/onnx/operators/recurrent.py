"""Import and export of recurrent layers. The batch is the second axis; `layout = 1` (batch first) adds transposes."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, StringAttr, f32, i8
from xdsl.ir import Operation, SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.movement.ops import TransposeOp
from qmlir.dialects.nn.recurrent import ops
from qmlir.dialects.quant.infer import spread
from qmlir.dialects.quant.types import Granularity
from qmlir.formats.one_to_one import attributes_of, number
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.onnx.export.casts import uniform
from qmlir.onnx.export.emission import MICROSOFT, Exporter, NodeEmitter, container, plain_proto
from qmlir.onnx.export.signed_as_unsigned import UNSIGNED, offset, shifted
from qmlir.onnx.node import Importer, Node

_BATCH_SECOND = (1, 0, 2)
"""The permutation from `[batch, time, …]` to `[time, batch, …]` and back; for states, it swaps batch and directions."""

_BATCH_FIRST_OF_ALL = (2, 0, 1, 3)
"""The permutation of all hidden states, `[time, directions, batch, hidden]`, that moves the batch to the front."""

_STATES = ("initial_hidden", "initial_cell")
LSTM_OPERANDS = (*_STATES, "peepholes")

_PARAMETERS = ("alpha", "beta")
"""The parameters of activation functions."""

_BY_LOWER_CASE = {name.lower(): name for name in ops.ACTIVATIONS}


def _activations(node: Node, operation: type[ops.RecurrentOp], directions: int) -> dict[str, Any]:
    """The properties of activation functions that are not the layer's own."""
    given: list[str] = node.attribute("activations", None) or []
    names = [_BY_LOWER_CASE.get(name.lower(), name) for name in given]
    own = list(operation.FUNCTIONS) * directions
    # The schema of RNN has a default of two functions, of which one direction takes the first.
    if not names or names[: len(own)] == own:
        return {}
    unknown = [name for name in names if name not in ops.ACTIVATIONS]
    if unknown:
        raise node.error(f"activation must be one of {list(ops.ACTIVATIONS)}, but got '{unknown[0]}'")
    functions = [ops.ACTIVATIONS[name] for name in names]
    properties: dict[str, Any] = {"activations": ArrayAttr([StringAttr(name) for name in names])}
    for parameter in _PARAMETERS:
        if numbers := node.attribute(f"activation_{parameter}", None):
            rest = iter(numbers)  # of the functions that have the parameter, the first ones
            defaults = (getattr(each, parameter) for each in functions)
            properties[f"activation_{parameter}"] = [0.0 if each is None else next(rest, each) for each in defaults]
    return properties


def recurrent(
    operation: type[ops.RecurrentOp],
    others: Sequence[str],
    flag: str = "",
    weights: Callable[[Node, int], SSAValue] = Node.input,
) -> Importer:
    """Returns the importer of a recurrent layer.

    `others` are the operands for input 5 and the inputs after it, and `flag` is the name of a boolean attribute.
    `weights` returns the weights of the data (input 1) and of the states (input 2).
    """

    def importer(node: Node) -> list[SSAValue]:
        is_batch_first = bool(node.attribute("layout", 0))

        def batch_second(value: SSAValue, permutation: Sequence[int] = _BATCH_SECOND) -> SSAValue:
            """Moves the batch to the second axis, or in results back, if it is the first axis in the model."""
            return node.add(TransposeOp, value, permutation=permutation).result if is_batch_first else value

        data = node.input()
        hidden_size = node.attribute("hidden_size") or shape_of(node.input(2))[-1]
        if hidden_size == DYNAMIC_INDEX:
            raise node.unsupported(f"requires hidden_size, which does not follow from {node.input(2).type}")
        direction = node.attribute("direction") or "forward"
        if direction not in ops.DIRECTIONS:
            raise node.error(f"direction must be one of {list(ops.DIRECTIONS)}, but got '{direction}'")
        data = batch_second(data)
        given = [
            batch_second(value) if value is not None and name in _STATES else value
            for name, value in zip(others, map(node.optional, range(5, 5 + len(others))), strict=True)
        ]
        properties = _activations(node, operation, len(ops.DIRECTIONS[direction]))
        operands = [data, weights(node, 1), weights(node, 2), node.optional(3), node.optional(4), *given]
        properties |= {"hidden_size": hidden_size, "direction": direction}
        hidden, *last = node.add(operation, *operands, attributes=f"clip {flag}", **properties).results
        return [batch_second(hidden, _BATCH_FIRST_OF_ALL), *map(batch_second, last)]

    return importer


def _attributes(op: Any, flag: str) -> dict[str, Any]:
    """Returns the ONNX attributes of a layer, including its `flag`."""
    found = attributes_of(op, "hidden_size direction clip")
    if op.activations is not None:
        found["activations"] = number(op.activations)
        functions = op.activation_functions()
        for name in (each for each in _PARAMETERS if getattr(op, f"activation_{each}") is not None):
            # ONNX assigns the numbers, in their order, to the functions that have the parameter.
            having = (each for each in functions if getattr(ops.ACTIVATIONS[each.name], name) is not None)
            found[f"activation_{name}"] = [getattr(each, name) for each in having] or None
    if flag:
        found[flag] = number(getattr(op, flag)) or None
    return found


def _exported(op_type: str, states: Sequence[str], flag: str, out: NodeEmitter, op: Any) -> None:
    """Exports a layer with these operands after the lengths, and its `flag`."""
    names = ("data", "weight", "recurrence", "bias", "lengths", *states)
    out.node(op_type, [out.name(getattr(op, name)) for name in names], out.outputs, **_attributes(op, flag))


def _by_rows(out: NodeEmitter, weight: SSAValue, values: Array) -> Array:
    """Returns parameters of weights `[D, rows, terms]`: one per direction, or one per row of each direction."""
    element = uniform(out, element_of(weight))
    if element.granularity is not Granularity.BLOCK:
        values = spread(element, shape_of(weight), values)
    rows = np.broadcast_to(values[..., 0] if values.ndim else values, shape_of(weight)[:2])
    return rows[:, 0] if (rows == rows[:, :1]).all() else rows


def _dynamic_lstm(out: NodeEmitter, op: ops.DynamicLstmOp) -> None:
    """Exports DynamicQuantizeLSTM of ONNX Runtime, with weights of shape `[D, terms, rows]`.

    The operator doesn't support per-row zero points of signed weights. Both weights must have the same type: if only
    one of them is signed, it is converted to unsigned.
    """
    weights: list[str] = []
    parameters: list[str] = []
    both = [container(uniform(out, element_of(weight))) for weight in (op.weight, op.recurrence)]
    for weight, held in zip((op.weight, op.recurrence), both, strict=True):
        element = uniform(out, element_of(weight))
        scales, points = (_by_rows(out, weight, each) for each in (element.scales, element.zero_points))
        if scales.ndim > points.ndim:
            points = np.broadcast_to(points[:, None], scales.shape)
        expected = 0 if element.is_signed else points.flat[0]
        if points.ndim > scales.ndim or (points.ndim > 1 and (points != expected).any()):
            raise out.error(f"DynamicQuantizeLSTM requires one zero point per direction, but got weights of {element}")
        name = out.name(weight)
        if held == i8 and both.count(i8) == 1:
            name, held, points = shifted(out, name, element, up=True), UNSIGNED, points + offset(element)
        weights.append(out.transposed(name, 3))
        # Not shared: ONNX Runtime makes each unsigned under a name derived from its own, and fails if two have one.
        parameters.append(out.constant(scales, f32))
        parameters.append(out.tensor(plain_proto(out.fresh("c"), points, held)))
    states = [out.name(value) for value in (op.initial_hidden, op.initial_cell, op.peepholes)]
    inputs = [out.name(op.data), *weights, out.name(op.bias), out.name(op.lengths), *states, *parameters]
    out.node("DynamicQuantizeLSTM", inputs, out.outputs, domain=MICROSOFT, **_attributes(op, "input_forget"))


_LAYERS: dict[str, tuple[type[ops.RecurrentOp], tuple[str, ...], str]] = {
    "RNN": (ops.RnnOp, ("initial_hidden",), ""),
    "LSTM": (ops.LstmOp, LSTM_OPERANDS, "input_forget"),
    "GRU": (ops.GruOp, ("initial_hidden",), "linear_before_reset"),
}
"""For each operator: the operation, its operands after the lengths, and its flag."""

IMPORTERS: dict[str, Importer] = {op_type: recurrent(*row) for op_type, row in _LAYERS.items()}

EXPORTERS: dict[type[Operation], Exporter] = {
    **{row[0]: partial(_exported, op_type, *row[1:]) for op_type, row in _LAYERS.items()},
    ops.DynamicLstmOp: _dynamic_lstm,
}
