"""Exporters of elementwise logic: rows of a table, from operation to operator."""

from typing import Any

from xdsl.dialects.builtin import Signedness
from xdsl.ir import Operation

from qmlir.dialects.nn.ops import logic as ops
from qmlir.ir.builtin_types import as_integer
from qmlir.onnx.export.emission import Outgoing
from qmlir.onnx.export.operators.elementwise import one_to_one

SIGNED_SINCE = 28


def _bit_shift(out: Outgoing, op: ops.BitShiftOp) -> None:
    element = as_integer(out.element(op.lhs))
    if element is None or element.signedness.data is not Signedness.UNSIGNED:
        out.needs(SIGNED_SINCE, "BitShift of signed integers")
    out.node("BitShift", out.inputs, out.output, direction=op.direction.data.upper())


EXPORTERS: dict[type[Operation], Any] = {
    ops.AndOp: one_to_one("And"),
    ops.OrOp: one_to_one("Or"),
    ops.XorOp: one_to_one("Xor"),
    ops.NotOp: one_to_one("Not"),
    ops.BitwiseAndOp: one_to_one("BitwiseAnd"),
    ops.BitwiseOrOp: one_to_one("BitwiseOr"),
    ops.BitwiseXorOp: one_to_one("BitwiseXor"),
    ops.BitwiseNotOp: one_to_one("BitwiseNot"),
    ops.BitShiftOp: _bit_shift,
    ops.IsNaNOp: one_to_one("IsNaN"),
    ops.IsInfOp: one_to_one("IsInf", "detect_negative", "detect_positive"),
}
