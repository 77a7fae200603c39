"""Importers of reductions and scans: rows of tables, from operator to operation."""

from typing import Any

from xdsl.ir import SSAValue

from qmlir.dialects.nn.ops import reduction as ops
from qmlir.dialects.nn.ops.movement import list_length
from qmlir.onnx.node import Importer, Node
from qmlir.onnx.operators.movement import single


def _takes_quantized(operation: type[ops.ReduceOp]) -> bool:
    return operation.SLOTS.shares_parameters


def _reduce(operation: type[ops.ReduceOp]) -> Importer:
    """The importer of a reduction; its axes are an attribute, or an input in later versions."""

    def importer(node: Node) -> SSAValue:
        axes = node.axes()
        if isinstance(axes, SSAValue) and list_length(axes) == 0:
            axes = ()
        properties: dict[str, Any] = {
            "keep_dims": bool(node.attribute("keepdims")),
            "noop_with_empty_axes": bool(node.attribute("noop_with_empty_axes", 0)),
        }
        value = node.quantized() if _takes_quantized(operation) else node.input()
        return node.add(operation, value, axes=axes or None, **properties).result

    return importer


def _arg_extreme(operation: type[ops.ArgExtremeOp]) -> Importer:
    def importer(node: Node) -> SSAValue:
        properties: dict[str, Any] = {
            "axis": node.attribute("axis"),
            "keep_dims": bool(node.attribute("keepdims")),
            "select_last_index": bool(node.attribute("select_last_index", 0)),
        }
        return node.add(operation, node.input(), **properties).result

    return importer


def _scan(operation: type[ops.ScanOp]) -> Importer:
    def importer(node: Node) -> SSAValue:
        flags: dict[str, Any] = {name: bool(node.attribute(name)) for name in ("exclusive", "reverse")}
        return node.add(operation, node.input(), axis=single(node, 1), **flags).result

    return importer


IMPORTERS: dict[str, Importer] = {
    **{
        name: _reduce(operation)
        for name, operation in {
            "ReduceSum": ops.ReduceSumOp, "ReduceMean": ops.ReduceMeanOp, "ReduceMax": ops.ReduceMaxOp,
            "ReduceMin": ops.ReduceMinOp, "ReduceProd": ops.ReduceProdOp, "ReduceL1": ops.ReduceL1Op,
            "ReduceL2": ops.ReduceL2Op, "ReduceLogSum": ops.ReduceLogSumOp,
            "ReduceLogSumExp": ops.ReduceLogSumExpOp, "ReduceSumSquare": ops.ReduceSumSquareOp,
        }.items()
    },
    "ArgMax": _arg_extreme(ops.ArgMaxOp),
    "ArgMin": _arg_extreme(ops.ArgMinOp),
    "CumSum": _scan(ops.CumSumOp),
    "CumProd": _scan(ops.CumProdOp),
}  # fmt: skip
