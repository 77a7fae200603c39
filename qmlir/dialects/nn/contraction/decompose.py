"""Decomposition of biased contractions into a contraction without bias and an addition."""

from xdsl.ir import Operation

from qmlir.dialects.nn.base import tensor_like
from qmlir.dialects.nn.contraction.ops import ConvOp, ConvTransposeOp, FullyConnectedOp, MatMulOp, WindowedContractionOp
from qmlir.dialects.nn.decomposition import Decompose, Results, per_channel
from qmlir.dialects.nn.elementwise.ops import AddOp
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.decomposition import COMPONENTS, Parts


def _fully_connected(op: FullyConnectedOp, parts: Parts) -> Results:
    """Decomposes to `x * w^T`, then `+ b`."""
    product = parts.add("matmul", MatMulOp(op.data, op.weight, True)).result
    return [product if op.bias is None else parts.add("bias_add", AddOp(product, op.bias)).result]


def _conv(op: WindowedContractionOp, parts: Parts) -> Results:
    """Decomposes to the convolution, or transposed convolution, then `+ b`; without a bias it is primitive."""
    if op.bias is None:
        return None
    properties = {name: value for name, value in op.properties.items() if name != COMPONENTS}
    correlation = type(op).create(
        operands=[op.data, op.weight],
        result_types=[tensor_like(op.data, shape_of(op.results[0]))],
        properties=properties,
    )
    product = parts.add("correlation", correlation).results[0]
    bias = per_channel(parts, "bias", op.bias, len(shape_of(op.data)))
    return [parts.add("bias_add", AddOp(product, bias)).result]


COMPOSITES: dict[type[Operation], Decompose] = {
    FullyConnectedOp: _fully_connected,
    ConvOp: _conv,
    ConvTransposeOp: _conv,
}
