"""Exporters of recurrent layers, whose sequences have the batch second as ONNX's own layout has."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.ops import recurrent as ops
from qmlir.dialects.quant.infer import spread
from qmlir.dialects.quant.types import Granularity
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.onnx.export.containers import container, plain_proto
from qmlir.onnx.export.emission import MICROSOFT, Exporter, Outgoing, number
from qmlir.onnx.export.forms.casts import uniform
from qmlir.onnx.export.operators.contraction import transposed

Array = npt.NDArray[Any]


def _given(op: ops.RecurrentOp, numbers: str, parameter: str) -> list[float] | None:
    """The parameters of the functions that have one, in their order, which is how ONNX assigns them."""
    if getattr(op, numbers) is None:
        return None
    functions = op.activation_functions()
    return [
        getattr(each, parameter) for each in functions if getattr(ops.ACTIVATIONS[each.name], parameter) is not None
    ]


def _attributes(op: Any, flag: str) -> dict[str, Any]:
    """The attributes of a layer, its own `flag` among them."""
    found: dict[str, Any] = {"hidden_size": number(op.hidden_size), "direction": number(op.direction)}
    if op.activations is not None:
        found["activations"] = [each.data for each in op.activations]
        found["activation_alpha"] = _given(op, "activation_alpha", "alpha") or None
        found["activation_beta"] = _given(op, "activation_beta", "beta") or None
    if flag:
        found[flag] = number(getattr(op, flag)) or None
    return found | {"clip": number(op.clip)}


def _recurrent(op_type: str, states: Sequence[str], flag: str = "") -> Exporter:
    """The exporter of a layer with these operands behind the lengths, and its own `flag`."""

    def exporter(out: Outgoing, op: Any) -> None:
        names = ("data", "weight", "recurrence", "bias", "lengths", *states)
        out.node(op_type, [out.name(getattr(op, name)) for name in names], out.outputs, **_attributes(op, flag))

    return exporter


def _by_rows(out: Outgoing, weight: SSAValue, values: Array) -> Array:
    """Parameters `values` of weights `[D, rows, terms]`: one for each direction, or for each of its rows."""
    element = uniform(out, element_of(weight))
    if element.granularity is not Granularity.BLOCK:
        values = spread(element, shape_of(weight), values)
    rows = np.broadcast_to(values[..., 0] if values.ndim else values, shape_of(weight)[:2])
    return rows[:, 0] if (rows == rows[:, :1]).all() else rows


def _dynamic_lstm(out: Outgoing, op: ops.DynamicLstmOp) -> None:
    """ONNX Runtime's operator has weights `[D, terms, rows]`, and per row no zero points of signed ones."""
    weights: list[str] = []
    parameters: list[str] = []
    for weight in (op.weight, op.recurrence):
        element = uniform(out, element_of(weight))
        scales, points = (_by_rows(out, weight, each) for each in (element.scales, element.zero_points))
        if scales.ndim > points.ndim:
            points = np.broadcast_to(points[:, None], scales.shape)
        expected = 0 if element.is_signed else points.flat[0]
        if points.ndim > scales.ndim or (points.ndim > 1 and (points != expected).any()):
            raise out.error(f"has weights of {element}: DynamicQuantizeLSTM has one zero point a direction")
        weights.append(transposed(out, out.name(weight), 3))
        # Each of its own: ONNX Runtime makes them unsigned under a name of theirs, and fails where two have one.
        held = container(element)
        parameters.append(out.constant(scales, f32))
        parameters.append(out.tensor(plain_proto(out.fresh("c"), points, held)))
    states = [out.name(value) for value in (op.initial_hidden, op.initial_cell, op.peepholes)]
    inputs = [out.name(op.data), *weights, out.name(op.bias), out.name(op.lengths), *states, *parameters]
    out.node("DynamicQuantizeLSTM", inputs, out.outputs, domain=MICROSOFT, **_attributes(op, "input_forget"))


EXPORTERS: dict[type[Operation], Any] = {
    ops.RnnOp: _recurrent("RNN", ("initial_hidden",)),
    ops.LstmOp: _recurrent("LSTM", ("initial_hidden", "initial_cell", "peepholes"), "input_forget"),
    ops.GruOp: _recurrent("GRU", ("initial_hidden",), "linear_before_reset"),
    ops.DynamicLstmOp: _dynamic_lstm,
}
