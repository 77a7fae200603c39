"""Exporters of elementwise arithmetic: rows of tables, from operation to operator."""

from typing import Any

import numpy as np
from xdsl.ir import Operation

from qmlir.dialects.nn.ops import elementwise as ops
from qmlir.onnx.export.containers import data_type, is_integer
from qmlir.onnx.export.emission import Exporter, Outgoing, number

BIT_CAST_SINCE = 26


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


_SAME: dict[type[Operation], str] = {
    ops.AbsOp: "Abs", ops.NegOp: "Neg", ops.SqrtOp: "Sqrt", ops.ExpOp: "Exp", ops.LogOp: "Log",
    ops.ReciprocalOp: "Reciprocal", ops.ErfOp: "Erf", ops.SinOp: "Sin", ops.CosOp: "Cos", ops.TanOp: "Tan",
    ops.AsinOp: "Asin", ops.AcosOp: "Acos", ops.AtanOp: "Atan", ops.SinhOp: "Sinh", ops.CoshOp: "Cosh",
    ops.AsinhOp: "Asinh", ops.AcoshOp: "Acosh", ops.AtanhOp: "Atanh", ops.FloorOp: "Floor", ops.CeilOp: "Ceil",
    ops.RoundOp: "Round", ops.SignOp: "Sign", ops.AddOp: "Add", ops.SubOp: "Sub", ops.MulOp: "Mul", ops.DivOp: "Div",
    ops.PowOp: "Pow", ops.MinOp: "Min", ops.MaxOp: "Max", ops.EqualOp: "Equal", ops.GreaterOp: "Greater",
    ops.GreaterOrEqualOp: "GreaterOrEqual", ops.LessOp: "Less", ops.LessOrEqualOp: "LessOrEqual",
    ops.WhereOp: "Where",
}  # fmt: skip

EXPORTERS: dict[type[Operation], Any] = {
    **{operation: one_to_one(op_type) for operation, op_type in _SAME.items()},
    ops.ClipOp: _clip,
    ops.ModOp: _mod,
    ops.CastOp: _cast,
    ops.BitCastOp: _bit_cast,
}
