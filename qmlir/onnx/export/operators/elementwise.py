"""Exporters of elementwise arithmetic, and of all operations that are one operator both ways (`MIRRORED`)."""

from typing import Any

import numpy as np
from xdsl.dialects.builtin import Signedness
from xdsl.ir import Operation

from qmlir.dialects.nn.ops import elementwise as ops
from qmlir.dialects.nn.ops.activations import PReluOp
from qmlir.dialects.nn.ops.logic import BitShiftOp
from qmlir.ir.builtin_types import as_integer
from qmlir.onnx.export.containers import data_type, is_integer
from qmlir.onnx.export.emission import Exporter, Outgoing, number
from qmlir.onnx.mirrored import MIRRORED

BIT_CAST_SINCE = 26
SIGNED_SHIFT_SINCE = 28


def one_to_one(op_type: str, *properties: str, domain: str = "", since: int = 0, **renamed: str) -> Exporter:
    """The exporter to an operator whose inputs are the operands and whose attributes are these properties.

    `renamed` gives the property for an attribute of another name, `since` the operator set that has it first.
    """
    pairs = {**{name: name for name in properties}, **renamed}

    def exporter(out: Outgoing, op: Operation) -> None:
        out.needs(since, op_type)
        attributes = {name: number(getattr(op, source)) for name, source in pairs.items()}
        out.node(op_type, out.inputs, out.outputs, domain=domain, **attributes)

    return exporter


def _clip(out: Outgoing, op: ops.ClipOp) -> None:
    element = out.element(op.input)
    bounds = [
        "" if bound is None else out.constant(np.array(bound.value.data), element) for bound in (op.minimum, op.maximum)
    ]
    out.node("Clip", [*out.inputs, *bounds], out.output)


def _mod(out: Outgoing, op: ops.ModOp) -> None:
    """ONNX Mod, which for floats is C's alone: a remainder of the other sign gets the divisor added."""
    by_truncation = bool(op.fmod.value.data)
    element = out.element(op.lhs)
    if by_truncation or is_integer(element):
        out.node("Mod", out.inputs, out.output, fmod=1 if by_truncation else None)
        return
    zero, (lhs, rhs) = out.constant(np.array(0.0), element), out.inputs
    rest = out.node("Mod", [lhs, rhs], fmod=1)
    differ = out.node("Less", [out.node("Mul", [out.node("Sign", [rest]), out.node("Sign", [rhs])]), zero])
    out.node("Where", [differ, out.node("Add", [rest, rhs]), rest], out.output)


def _cast(out: Outgoing, op: ops.CastOp) -> None:
    kind = data_type(out.element(op.result))
    mode = None if op.round_mode is None else op.round_mode.data
    out.node("Cast", out.inputs, out.output, to=kind, saturate=None if op.saturates else 0, round_mode=mode)


def _bit_cast(out: Outgoing, op: ops.BitCastOp) -> None:
    out.needs(BIT_CAST_SINCE, "BitCast")
    out.node("BitCast", out.inputs, out.output, to=data_type(out.element(op.result)))


def _bit_shift(out: Outgoing, op: BitShiftOp) -> None:
    element = as_integer(out.element(op.lhs))
    if element is None or element.signedness.data is not Signedness.UNSIGNED:
        out.needs(SIGNED_SHIFT_SINCE, "BitShift of signed integers")
    out.node("BitShift", out.inputs, out.output, direction=op.direction.data.upper())


_PLAIN: dict[type[Operation], str] = {ops.PowOp: "Pow", ops.MinOp: "Min", ops.MaxOp: "Max", PReluOp: "PRelu"}
"""Operations of two operands whose operators take more than that."""

EXPORTERS: dict[type[Operation], Any] = {
    **{row.operation: one_to_one(op_type, *row.attributes) for op_type, row in MIRRORED.items()},
    **{operation: one_to_one(op_type) for operation, op_type in _PLAIN.items()},
    ops.ClipOp: _clip,
    ops.ModOp: _mod,
    ops.CastOp: _cast,
    ops.BitCastOp: _bit_cast,
    BitShiftOp: _bit_shift,
}
