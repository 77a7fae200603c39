"""Exporters of reductions and scans: rows of tables, from operation to operator."""

from typing import Any

from xdsl.ir import Operation

from qmlir.dialects.nn.ops import reduction as ops
from qmlir.onnx.export.emission import Exporter, Outgoing, number
from qmlir.onnx.export.operators.elementwise import one_to_one

CUM_PROD_SINCE = 26


def _reduce(op_type: str) -> Exporter:
    def exporter(out: Outgoing, op: ops.ReduceOp) -> None:
        flags: dict[str, Any] = {
            "keepdims": number(op.keep_dims),
            "noop_with_empty_axes": number(op.noop_with_empty_axes) or None,
        }
        out.node(op_type, [out.name(op.input), out.parameter("axes")], out.output, **flags)

    return exporter


def _scan(op_type: str, since: int = 0) -> Exporter:
    def exporter(out: Outgoing, op: ops.ScanOp) -> None:
        out.needs(since, op_type)
        axis = out.parameter("axis", is_scalar=True) or out.constant(0)
        flags: dict[str, Any] = {name: number(getattr(op, name)) or None for name in ("exclusive", "reverse")}
        out.node(op_type, [out.name(op.input), axis], out.output, **flags)

    return exporter


def _arg_extreme(op_type: str) -> Exporter:
    return one_to_one(op_type, "axis", "select_last_index", keepdims="keep_dims")


EXPORTERS: dict[type[Operation], Any] = {
    ops.ReduceSumOp: _reduce("ReduceSum"),
    ops.ReduceMeanOp: _reduce("ReduceMean"),
    ops.ReduceMaxOp: _reduce("ReduceMax"),
    ops.ReduceMinOp: _reduce("ReduceMin"),
    ops.ReduceProdOp: _reduce("ReduceProd"),
    ops.ReduceL1Op: _reduce("ReduceL1"),
    ops.ReduceL2Op: _reduce("ReduceL2"),
    ops.ReduceLogSumOp: _reduce("ReduceLogSum"),
    ops.ReduceLogSumExpOp: _reduce("ReduceLogSumExp"),
    ops.ReduceSumSquareOp: _reduce("ReduceSumSquare"),
    ops.ArgMaxOp: _arg_extreme("ArgMax"),
    ops.ArgMinOp: _arg_extreme("ArgMin"),
    ops.CumSumOp: _scan("CumSum"),
    ops.CumProdOp: _scan("CumProd", CUM_PROD_SINCE),
}
