"""A batch norm after a convolution, its transpose or a fully connected layer goes into the weights.

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
from qmlir.dialects.nn.ops.contraction import BiasedContractionOp
from qmlir.dialects.nn.ops.normalization import BatchNormOp
from qmlir.ir.builtin_types import element_of
from qmlir.ir.provenance import describe, hand_on, hand_on_fused
from qmlir.text.weights import ExternalWeightsAttr


def _fault(value: SSAValue) -> str | None:
    """Why `value` is no constant whose elements can be computed with."""
    owner = value.owner
    if not isinstance(owner, ConstantOp):
        return "is no constant"
    if isinstance(owner.value, ExternalWeightsAttr):
        return "lies in a file that is not here"
    return None if isinstance(element_of(value), Float32Type) else f"is of type {value.type}, accepted is f32"


def _rounded(array: npt.NDArray[np.float64], like: SSAValue) -> ConstantOp:
    return ConstantOp.of(array.astype(np.float32), TensorType(element_of(like), array.shape))


def _layer_before(op: BatchNormOp) -> BiasedContractionOp | None:
    """The layer whose output channels the norm takes."""
    layer = op.data.owner
    if isinstance(layer, BiasedContractionOp) and layer.quantization_slots().result_channel_axis == 1:
        return layer
    return None


def unfolded_reason(op: BatchNormOp) -> str | None:
    """Why a batch norm after a layer does not go into its weights; `None` where it does, or is after none."""
    layer = _layer_before(op)
    if layer is None:
        return None
    values = {
        f"weight of {describe(layer)}": layer.weight,
        f"bias of {describe(layer)}": layer.bias,
        **{name: getattr(op, name) for name in ("scale", "bias", "mean", "variance")},
    }
    faults = ((name, _fault(value)) for name, value in values.items() if value is not None)
    for name, fault in faults:
        if fault is not None:
            return f"the {name} {fault}"
    return None if layer.result.has_one_use() else f"{describe(layer)} has other users"


class FoldBatchNorm(RewritePattern):
    """`batch_norm(conv(x, w, b)) -> conv(x, w', b')` with constant f32 weights and parameters, and no other user."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: BatchNormOp, rewriter: PatternRewriter, /) -> None:
        layer = _layer_before(op)
        if layer is None or unfolded_reason(op) is not None:
            return
        weight, bias = (value.owner if value is not None else None for value in (layer.weight, layer.bias))
        factor, offset = _f64(op.scale), _f64(op.bias)
        mean = 0.0 if op.mean is None else _f64(op.mean)
        if op.variance is not None:
            factor = factor / np.sqrt(_f64(op.variance) + op.epsilon.value.data)
        new_weight = _rounded(_f64(layer.weight) * layer.beside_weights(factor), layer.weight)
        old_bias = 0.0 if layer.bias is None else _f64(layer.bias)
        new_bias = _rounded((old_bias - mean) * factor + offset, op.bias)
        for old, new in ((weight, new_weight), (bias, new_bias)):
            hand_on((*([old] if isinstance(old, ConstantOp) else []), op), new)
        merged = type(layer).create(
            operands=[layer.data, new_weight.result, new_bias.result],
            result_types=op.result_types,
            properties=dict(layer.properties),
            attributes=dict(layer.attributes),
        )
        hand_on_fused(layer, op, merged)
        rewriter.replace(op, [new_weight, new_bias, merged])


def _f64(value: SSAValue) -> Array:
    assert isinstance(value.owner, ConstantOp)
    return value.owner.array.astype(np.float64)


PATTERNS: tuple[RewritePattern, ...] = (FoldBatchNorm(),)
