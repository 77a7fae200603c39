"""Contractions with a bias: the products and their sum, then the bias."""

from xdsl.ir import Operation

from qmlir.dialects.nn.base import tensor_like
from qmlir.dialects.nn.decompose.operands import Decompose, Results, per_channel
from qmlir.dialects.nn.ops.contraction import ConvOp, FullyConnectedOp, MatMulOp
from qmlir.dialects.nn.ops.elementwise import AddOp
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.decomposition import COMPONENTS, Parts


def _fully_connected(op: FullyConnectedOp, parts: Parts) -> Results:
    """`x * w^T`, then `+ b`."""
    product = parts.add("matmul", MatMulOp(op.data, op.weight, True)).result
    return [product if op.bias is None else parts.add("bias_add", AddOp(product, op.bias)).result]


def _conv(op: ConvOp, parts: Parts) -> Results:
    """The correlation, then `+ b`. One without a bias is primitive."""
    if op.bias is None:
        return None
    properties = {name: value for name, value in op.properties.items() if name != COMPONENTS}
    correlation = ConvOp.create(
        operands=[op.data, op.weight],
        result_types=[tensor_like(op.data, shape_of(op.result))],
        properties=properties,
    )
    parts.add("correlation", correlation)
    bias = per_channel(parts, "bias", op.bias, len(shape_of(op.data)))
    return [parts.add("bias_add", AddOp(correlation.result, bias)).result]


COMPOSITES: dict[type[Operation], Decompose] = {FullyConnectedOp: _fully_connected, ConvOp: _conv}
