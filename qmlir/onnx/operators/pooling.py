"""Importers of pools."""

from typing import Any

from xdsl.ir import SSAValue

from qmlir.dialects.nn.ops import pooling as ops
from qmlir.onnx.node import Importer, Node
from qmlir.onnx.operators.contraction import window_properties


def _pool(operation: type[ops.PoolOp], *attributes: str) -> Importer:
    def importer(node: Node) -> SSAValue:
        kernel = node.attribute("kernel_shape")
        properties: dict[str, Any] = {name: bool(node.attribute(name, 0)) for name in ("ceil_mode", *attributes)}
        properties |= window_properties(node, kernel)
        return node.add(operation, node.quantized(), kernel=kernel, **properties).results[0]

    return importer


def _global_average_pool(node: Node) -> SSAValue:
    return node.add(ops.GlobalAveragePoolOp, node.input()).result


IMPORTERS: dict[str, Importer] = {
    "MaxPool": _pool(ops.MaxPoolOp),
    "AveragePool": _pool(ops.AveragePoolOp, "count_include_pad"),
    "GlobalAveragePool": _global_average_pool,
}
