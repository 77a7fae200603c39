"""Importers of pools."""

from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from qmlir.dialects.nn.ops import pooling as ops
from qmlir.onnx.node import Importer, Node
from qmlir.onnx.operators.contraction import auto_pad, window_properties


def pool_properties(node: Node) -> dict[str, Any]:
    """The kernel and how it slides."""
    kernel = node.attribute("kernel_shape")
    if kernel is None:
        raise node.error("lacks the attribute 'kernel_shape'")
    # With `auto_pad`, the number of windows is the same in both modes.
    is_ceil = bool(node.attribute("ceil_mode", 0)) and auto_pad(node) == "NOTSET"
    return {"kernel": kernel, "ceil_mode": is_ceil, **window_properties(node, kernel)}


def _max_pool(node: Node) -> Sequence[SSAValue]:
    properties = pool_properties(node)
    if len(node.proto.output) < 2 or not node.proto.output[1]:
        return [node.add(ops.MaxPoolOp, node.quantized(), **properties).result]
    is_column_major = bool(node.attribute("storage_order"))
    op = node.add(ops.MaxPoolWithIndicesOp, node.quantized(), column_major=is_column_major, **properties)
    return [op.result, op.indices]


def _average_pool(node: Node) -> SSAValue:
    count_include_pad = bool(node.attribute("count_include_pad"))
    properties = pool_properties(node)
    return node.add(ops.AveragePoolOp, node.input(), count_include_pad=count_include_pad, **properties).result


def _lp_pool(node: Node) -> SSAValue:
    return node.add(ops.LpPoolOp, node.input(), p=node.attribute("p"), **pool_properties(node)).result


IMPORTERS: dict[str, Importer] = {
    "MaxPool": _max_pool,
    "AveragePool": _average_pool,
    "LpPool": _lp_pool,
}
