"""A batch norm after a convolution goes into its weights.

`(conv(x, w) + b - mean) * f + bias = conv(x, w * f) + (b - mean) * f + bias` for each output channel, with
`f = scale / sqrt(variance + epsilon)`. The sums are rounded in another order: the one canonicalization that may move
the last bits of a float, and the one that every runtime does. The new weights are computed in f64 and rounded once.
"""

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import Float32Type, TensorType
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.ops.constant import ConstantOp
from qmlir.dialects.nn.ops.contraction import ConvOp
from qmlir.dialects.nn.ops.normalization import BatchNormOp
from qmlir.ir.builtin_types import element_of
from qmlir.ir.provenance import hand_on, hand_on_fused
from qmlir.text.weights import ExternalWeightsAttr


def _constant(value: SSAValue) -> ConstantOp | None:
    owner = value.owner
    if not isinstance(owner, ConstantOp) or isinstance(owner.value, ExternalWeightsAttr):
        return None
    return owner if isinstance(element_of(value), Float32Type) else None


def _rounded(array: npt.NDArray[np.float64], like: SSAValue) -> ConstantOp:
    return ConstantOp.of(array.astype(np.float32), TensorType(element_of(like), array.shape))


class FoldBatchNormIntoConv(RewritePattern):
    """`batch_norm(conv(x, w, b)) -> conv(x, w', b')` with constant f32 weights and parameters, and no other user."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: BatchNormOp, rewriter: PatternRewriter, /) -> None:
        conv = op.data.owner
        if not isinstance(conv, ConvOp) or not conv.result.has_one_use():
            return
        weight = _constant(conv.weight)
        bias = None if conv.bias is None else _constant(conv.bias)
        parameters = [_constant(value) for value in (op.scale, op.bias, op.mean, op.variance)]
        found = [parameter for parameter in parameters if parameter is not None]
        if weight is None or len(found) != 4 or (conv.bias is not None and bias is None):
            return
        scale, offset, mean, variance = (_f64(parameter) for parameter in found)
        factor = scale / np.sqrt(variance + op.epsilon.value.data)
        weights = _f64(weight)
        new_weight = _rounded(weights * factor.reshape(-1, *(1,) * (weights.ndim - 1)), conv.weight)
        old_bias = 0.0 if bias is None else _f64(bias)
        new_bias = _rounded((old_bias - mean) * factor + offset, op.bias)
        hand_on((weight, op), new_weight)
        hand_on((*([] if bias is None else [bias]), op), new_bias)
        merged = ConvOp.create(
            operands=[conv.data, new_weight.result, new_bias.result],
            result_types=op.result_types,
            properties=dict(conv.properties),
            attributes=dict(conv.attributes),
        )
        hand_on_fused(conv, op, merged)
        rewriter.replace(op, [new_weight, new_bias, merged])


def _f64(constant: ConstantOp) -> Array:
    return constant.array.astype(np.float64)


PATTERNS: tuple[RewritePattern, ...] = (FoldBatchNormIntoConv(),)
