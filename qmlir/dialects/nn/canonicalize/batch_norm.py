"""Folds per-channel scaling after a convolution, its transpose or a fully connected layer into the weights.

`(conv(x, w) + b - mean) * f + bias = conv(x, w * f) + (b - mean) * f + bias` for each output channel, with
`f = scale / sqrt(variance + epsilon)`. The sums are rounded in another order: this is the one canonicalization that may
change the last bits of a float, and every runtime performs it. The new weights are computed in f64 and rounded once.

The scaling is a batch norm, or the per-channel factor to which exporters reduce a frozen one. The following addition
needs no rewrite, since it accepts accumulators.
"""

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import Float32Type, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.contraction.ops import BiasedContractionOp
from qmlir.dialects.nn.elementwise.ops import MulOp
from qmlir.dialects.nn.normalization.ops import BatchNormOp
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.provenance import describe, hand_on, hand_on_fused
from qmlir.text.weights import ExternalWeightsAttr


def _fault(value: SSAValue) -> str | None:
    """Returns why `value` is not a constant with available elements; `None` if it is."""
    owner = value.owner
    if not isinstance(owner, ConstantOp):
        return "is no constant"
    if isinstance(owner.value, ExternalWeightsAttr):
        return "is stored in a file that was not loaded"
    return None if isinstance(element_of(value), Float32Type) else f"has type '{value.type}' instead of f32"


def _rounded(array: npt.NDArray[np.float64], like: SSAValue) -> ConstantOp:
    return ConstantOp.of(array.astype(np.float32), TensorType(element_of(like), array.shape))


def _layer_before(data: SSAValue) -> BiasedContractionOp | None:
    """Returns the layer whose output channels are along axis 1 of `data`."""
    layer = data.owner
    if isinstance(layer, BiasedContractionOp) and layer.quantization_slots().result_channel_axis == 1:
        return layer
    return None


def _reason(layer: BiasedContractionOp, values: Mapping[str, SSAValue | None]) -> str | None:
    """Returns why `values`, by name, cannot be folded into the weights of `layer`; `None` if they can."""
    named = {f"weight of {describe(layer)}": layer.weight, f"bias of {describe(layer)}": layer.bias, **values}
    for name, value in named.items():
        if value is not None and (fault := _fault(value)) is not None:
            return f"the {name} {fault}"
    return None if layer.result.has_one_use() else f"{describe(layer)} has other users"


def unfolded_reason(op: BatchNormOp) -> str | None:
    """Returns why a batch norm after a layer cannot be folded into its weights; `None` if it can, or if there is no
    layer."""
    layer = _layer_before(op.data)
    names = ("scale", "bias", "mean", "variance")
    return None if layer is None else _reason(layer, {name: getattr(op, name) for name in names})


def _merge(
    layer: BiasedContractionOp, op: Operation, factor: Array, new_bias: Array | None, by: PatternRewriter
) -> None:
    """Replaces `op` by its `layer` with the weights times `factor`, and another bias."""
    made = [_rounded(_f64(layer.weight) * layer.beside_weights(factor), layer.weight)]
    if new_bias is not None:
        made.append(_rounded(new_bias, layer.weight))
    for old, new in zip((layer.weight, layer.bias), made, strict=False):
        hand_on((*([old.owner] if old is not None and isinstance(old.owner, ConstantOp) else []), op), new)
    merged = type(layer).create(
        operands=[layer.data, *(each.result for each in made)],
        result_types=op.result_types,
        properties=dict(layer.properties),
        attributes=dict(layer.attributes),
    )
    hand_on_fused(layer, op, merged)
    by.replace(op, [*made, merged])


class FoldBatchNorm(RewritePattern):
    """Folds `batch_norm(conv(x, w, b)) -> conv(x, w', b')` with constant f32 weights and parameters, and no other
    user."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: BatchNormOp, rewriter: PatternRewriter, /) -> None:
        layer = _layer_before(op.data)
        if layer is None or unfolded_reason(op) is not None:
            return
        factor, offset = _f64(op.scale), _f64(op.bias)
        mean = 0.0 if op.mean is None else _f64(op.mean)
        if op.variance is not None:
            factor = factor / np.sqrt(_f64(op.variance) + op.epsilon.value.data)
        old_bias = 0.0 if layer.bias is None else _f64(layer.bias)
        _merge(layer, op, factor, (old_bias - mean) * factor + offset, rewriter)


class FoldFactor(RewritePattern):
    """Folds `conv(x, w, b) * f -> conv(x, w * f, b * f)` with constant f32 weights, a per-channel `f`, and no other
    user."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MulOp, rewriter: PatternRewriter, /) -> None:
        for data, factor in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            layer = _layer_before(data)
            if layer is None or _reason(layer, {"factor": factor}) is not None or op.result.type != data.type:
                continue
            # The factor has one element per channel, or a single one: all its sizes are 1 except along axis 1.
            sizes = (1,) * (len(shape_of(data)) - len(shape_of(factor))) + tuple(shape_of(factor))
            channels = layer.output_channels()
            if sizes[1] in (1, channels) and math.prod(sizes) == sizes[1]:
                each = np.broadcast_to(_f64(factor).reshape(-1), (channels,))
                _merge(layer, op, each, None if layer.bias is None else _f64(layer.bias) * each, rewriter)
                return


def _f64(value: SSAValue) -> Array:
    assert isinstance(value.owner, ConstantOp)
    return value.owner.array.astype(np.float64)


PATTERNS: tuple[RewritePattern, ...] = (FoldBatchNorm(), FoldFactor())
