"""Exporters of convolutions and matrix products."""

from typing import Any

from xdsl.ir import Operation

from qmlir.dialects.nn.ops import contraction as ops
from qmlir.ir.builtin_types import shape_of
from qmlir.onnx.export.emission import Outgoing, number
from qmlir.onnx.export.operators.elementwise import one_to_one

MATRIX = 2


def transposed(out: Outgoing, name: str, rank: int) -> str:
    """A value with its last two axes exchanged."""
    *outer, row, column = range(rank)
    return out.node("Transpose", [name], perm=[*outer, column, row])


def _matmul(out: Outgoing, op: ops.MatMulOp) -> None:
    """ONNX MatMul; with a transposed right factor Gemm where both are matrices, and a Transpose elsewhere."""
    lhs, rhs = out.inputs
    ranks = [len(shape_of(value)) for value in op.operands]
    if op.is_rhs_transposed and ranks == [MATRIX, MATRIX]:
        out.node("Gemm", [lhs, rhs], out.output, transB=1)
        return
    if op.is_rhs_transposed:
        rhs = transposed(out, rhs, ranks[1])
    out.node("MatMul", [lhs, rhs], out.output)


def _fully_connected(out: Outgoing, op: ops.FullyConnectedOp) -> None:
    out.node("Gemm", out.inputs, out.output, transB=1)


def window_attributes(op: ops.WindowedContractionOp) -> dict[str, Any]:
    """How the kernel slides; what is left out holds ONNX's default, which is ours."""
    return {name: number(getattr(op, name)) for name in ("strides", "dilations", "pads")}


def _conv(out: Outgoing, op: ops.ConvOp) -> None:
    out.node("Conv", out.inputs, out.output, group=op.group_count, **window_attributes(op))


EXPORTERS: dict[type[Operation], Any] = {
    ops.MatMulOp: _matmul,
    ops.FullyConnectedOp: _fully_connected,
    ops.ConvOp: _conv,
    ops.ConvTransposeOp: one_to_one("ConvTranspose", "strides", "dilations", "pads", "output_padding", group="groups"),
}
