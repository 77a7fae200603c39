"""Exporters of recurrent layers, whose sequences have the batch second as ONNX's own layout has."""

from collections.abc import Sequence
from typing import Any

from xdsl.ir import Operation

from qmlir.dialects.nn.ops import recurrent as ops
from qmlir.onnx.export.emission import Exporter, Outgoing, number


def _given(op: ops.RecurrentOp, numbers: str, parameter: str) -> list[float] | None:
    """The parameters of the functions that have one, in their order, which is how ONNX assigns them."""
    if getattr(op, numbers) is None:
        return None
    functions = op.activation_functions()
    return [
        getattr(each, parameter) for each in functions if getattr(ops.ACTIVATIONS[each.name], parameter) is not None
    ]


def _recurrent(op_type: str, states: Sequence[str], flag: str = "") -> Exporter:
    """The exporter of a layer with these operands behind the lengths, and its own `flag`."""

    def exporter(out: Outgoing, op: Any) -> None:
        names = ("data", "weight", "recurrence", "bias", "lengths", *states)
        attributes: dict[str, Any] = {"hidden_size": number(op.hidden_size), "direction": number(op.direction)}
        if op.activations is not None:
            attributes["activations"] = [each.data for each in op.activations]
            attributes["activation_alpha"] = _given(op, "activation_alpha", "alpha") or None
            attributes["activation_beta"] = _given(op, "activation_beta", "beta") or None
        if flag:
            attributes[flag] = number(getattr(op, flag)) or None
        out.node(
            op_type, [out.name(getattr(op, name)) for name in names], out.outputs, clip=number(op.clip), **attributes
        )

    return exporter


EXPORTERS: dict[type[Operation], Any] = {
    ops.RnnOp: _recurrent("RNN", ("initial_hidden",)),
    ops.LstmOp: _recurrent("LSTM", ("initial_hidden", "initial_cell", "peepholes"), "input_forget"),
    ops.GruOp: _recurrent("GRU", ("initial_hidden",), "linear_before_reset"),
}
