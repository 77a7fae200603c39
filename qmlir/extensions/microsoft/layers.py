"""Importers of ONNX Runtime's layers except attention (`com.microsoft`): of transformers, and with fused activations.

ONNX Runtime's graph optimizer and exporters of language models emit them instead of sums, activations and
normalizations. Each becomes the equivalent `nn` operations. SimplifiedLayerNormalization is an RMS normalization that
ONNX Runtime adds to ONNX's own domain.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, f32, i32, i64
from xdsl.ir import SSAValue

from qmlir.dialects.nn.activations import ops as activations
from qmlir.dialects.nn.attention import ops as attention
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.contraction import ops as contraction
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.indexing import ops as indexing
from qmlir.dialects.nn.movement import ops as movement
from qmlir.dialects.nn.normalization.ops import LayerNormOp, RmsNormOp
from qmlir.dialects.nn.reduction import ops as reduction
from qmlir.dialects.nn.shapes import ops as shapes
from qmlir.formats.node import attribute_names
from qmlir.ir.builtin_types import shape_of
from qmlir.onnx.export.emission import MICROSOFT
from qmlir.onnx.node import Importer, Node
from qmlir.onnx.one_to_one import ONE_TO_ONE
from qmlir.onnx.operators.attention import joined_heads, split_heads
from qmlir.onnx.operators.contraction import conv, gemm, max_pool
from qmlir.onnx.operators.normalization import layer_statistics, rms_norm, wanted
from qmlir.onnx.operators.shapes import position_indices, size_of


def refuse_attributes(node: Node, **accepted: Any) -> None:
    """Raises `DiagnosticError` if an attribute of `node` has a value other than the one in `accepted`."""
    for name, value in accepted.items():
        found = node.attribute(name, value)
        if found != value:
            raise node.unsupported(f"{name} must be {value}, but got {found}")


# --- Activations ------------------------------------------------------------------------------------------------------


def _gelu(node: Node, is_tanh: bool = False) -> SSAValue:
    value, bias = node.input(), node.optional(1)
    if bias is not None:
        value = node.part("bias_add").add(elementwise.AddOp, value, bias).result
    return node.add(activations.GeluOp, value, tanh_approximation=is_tanh).result


# --- Products ---------------------------------------------------------------------------------------------------------


def _fused_matmul(node: Node) -> SSAValue:
    """Imports FusedMatMul: `alpha` times the product of operands with permuted axes."""
    operands = [_in_order(node, position, side) for position, side in enumerate("AB")]
    product, alpha = node.add(contraction.MatMulOp, *operands).result, node.attribute("alpha", 1.0)
    if alpha == 1.0:
        return product
    return node.part("scaled").add(elementwise.MulOp, product, node.scalar(alpha, product)).result


def _in_order(node: Node, position: int, side: str) -> SSAValue:
    """Returns operand `position` with standard axes.

    With `transBatch`, its rows are the first axis; with `trans`, its columns precede its rows.
    """
    value = node.input(position)
    axes = list(range(len(shape_of(value))))
    if len(axes) < 2:
        return value
    if node.attribute(f"transBatch{side}", 0):
        axes = [*axes[1:-1], 0, axes[-1]]
    if node.attribute(f"trans{side}", 0):
        axes[-2:] = [axes[-1], axes[-2]]
    if axes == sorted(axes):
        return value
    return node.add(movement.TransposeOp, value, permutation=axes).result


# --- Normalizations ---------------------------------------------------------------------------------------------------


def _sum_with(node: Node, bias: SSAValue | None) -> SSAValue:
    total = node.part("sum").add(elementwise.AddOp, node.input(), node.input(1)).result
    return total if bias is None else node.part("bias_add").add(elementwise.AddOp, total, bias).result


def _skip_layer_norm(node: Node) -> list[SSAValue | None]:
    """Imports SkipLayerNormalization: the norm of `input + skip + bias`, its statistics, and the sum."""
    total, epsilon = _sum_with(node, node.optional(4)), node.attribute("epsilon", 1e-12)
    result = node.add(LayerNormOp, total, node.input(2), node.optional(3), axis=-1, epsilon=epsilon).result
    statistics = (None, None)
    if wanted(node, 1) or wanted(node, 2):
        statistics = layer_statistics(node, node.cast(total, f32), -1, epsilon)
    return [result, *statistics, total]


def _skip_rms_norm(node: Node) -> list[SSAValue | None]:
    """Imports SkipSimplifiedLayerNormalization: the norm of `input + skip + bias` without a mean, and the sum."""
    if wanted(node, 1):
        raise node.unsupported(
            "output 1 (mean) is not supported by this normalization; its inverse standard deviation is output 2"
        )
    total, epsilon = _sum_with(node, node.optional(3)), node.attribute("epsilon", 1e-12)
    result = node.add(RmsNormOp, total, node.input(2), axis=-1, epsilon=epsilon).result
    return [result, None, _inverse_rms(node, total, epsilon, [-1]) if wanted(node, 2) else None, total]


def _simplified_layer_norm(node: Node) -> list[SSAValue | None]:
    """Imports SimplifiedLayerNormalization: ONNX's RMSNormalization, and the inverse of its divisor."""
    axis = node.attribute("axis", -1)
    rank = len(node.shape())
    if not -rank <= axis < rank:
        raise node.error(f"axis {axis} is out of range for rank {rank}")
    epsilon = node.attribute("epsilon", 1e-5)
    result = rms_norm(node, axis=axis, epsilon=epsilon)
    axes = list(range(axis % rank, rank))
    return [result, _inverse_rms(node, node.input(), epsilon, axes) if wanted(node, 1) else None]


def _inverse_rms(node: Node, value: SSAValue, epsilon: float, axes: list[int]) -> SSAValue:
    value = node.cast(value, f32)
    mean = node.add(reduction.ReduceMeanOp, node.add(elementwise.MulOp, value, value).result, axes=axes).result
    shifted = node.add(elementwise.AddOp, mean, node.scalar(epsilon, mean)).result
    return node.add(elementwise.ReciprocalOp, node.add(elementwise.SqrtOp, shifted).result).result


# --- Embeddings -------------------------------------------------------------------------------------------------------


def _embed_layer_norm(node: Node) -> list[SSAValue]:
    """Imports EmbedLayerNormalization: the norm of the sum of word, position and segment embeddings.

    Also returns the lengths of the masks, and the sum.
    """
    ids, segments, table = node.input(), node.optional(1), node.optional(4)
    if (segments is None) != (table is None):
        raise node.error("segments and segment embeddings must be given together")
    positions = node.optional(8)
    where = position_indices(node, ids, 1) if positions is None else positions
    rows = {"words": (node.input(2), ids), "positions": (node.input(3), where)}
    if segments is not None and table is not None:
        rows["segments"] = (table, segments)
    total: SSAValue | None = None
    for role, (data, indices) in rows.items():
        row = node.part(role).add(indexing.GatherOp, data, indices, axis=0).result
        total = row if total is None else node.part(f"with_{role}").add(elementwise.AddOp, total, row).result
    assert total is not None
    epsilon = node.attribute("epsilon", 1e-12)
    result = node.add(LayerNormOp, total, node.input(5), node.input(6), axis=-1, epsilon=epsilon).result
    return [result, _mask_lengths(node, ids), total]


def _mask_lengths(node: Node, ids: SSAValue) -> SSAValue:
    """Returns the number of ones in each row of the mask; 0 without a mask."""
    mask = node.optional(7)
    zero = node.add_constant(np.array(0, np.int32), i32)
    one = node.add_constant(np.array(1, np.int32), i32)
    if mask is None:
        count = node.add(shapes.ShapeOp, ids, end=1).result
        return node.add(shapes.ExpandOp, zero, count, result_types=[TensorType(i32, shape_of(ids)[:1])]).result
    ones = node.add(elementwise.WhereOp, node.add(elementwise.EqualOp, mask, one).result, one, zero).result
    return node.add(reduction.ReduceSumOp, ones, axes=[1], keep_dims=False).result


# --- Rotary embedding -------------------------------------------------------------------------------------------------


def _rotary_embedding(node: Node) -> SSAValue:
    """Imports RotaryEmbedding, with a position for each token, or only that of the first one."""
    refuse_attributes(node, is_packed_batching=0, scale=1.0)
    data, positions = node.input(), node.input(1)
    size, heads = node.attribute("rotary_embedding_dim", 0), node.attribute("num_heads", 0)
    if size and not heads:
        raise node.error("rotary_embedding_dim requires num_heads")
    is_flat = len(node.shape()) == 3
    if is_flat:
        width, half = node.shape()[-1], node.shape(2)[-1]
        if not heads and DYNAMIC_INDEX in (width, half):
            raise node.unsupported("requires num_heads, or static sizes of the data and cos_cache")
        data = split_heads(node, data, heads or width // (2 * half))
    if len(shape_of(positions)) == 1:
        positions = node.add(elementwise.AddOp, positions, position_indices(node, data, 2)).result
    positions = _for_each(node, positions, data)
    result = turned(node, data, node.input(2), node.input(3), positions, size, bool(node.attribute("interleaved", 0)))
    return joined_heads(node, result) if is_flat else result


def turned(
    node: Node, data: SSAValue, cosines: SSAValue, sines: SSAValue, positions: SSAValue, size: int, interleaved: bool
) -> SSAValue:
    """Applies a rotary embedding to heads `[batch, heads, sequence, size]` at `positions` `[batch, sequence]`."""
    half, whole = shape_of(cosines)[-1], shape_of(data)[-1]
    if not size and DYNAMIC_INDEX not in (half, whole) and 2 * half != whole:
        size = 2 * half
    op = node.add(attention.RotaryEmbeddingOp, data, cosines, sines, positions, size=size, interleaved=interleaved)
    return op.result


def _for_each(node: Node, positions: SSAValue, data: SSAValue) -> SSAValue:
    """Expands positions `[sequence]` or `[batch, sequence]` to `[batch, sequence]`."""
    batch, sequence = shape_of(data)[0], shape_of(data)[2]
    if len(shape_of(positions)) == 2:
        return positions
    if batch != DYNAMIC_INDEX and sequence != DYNAMIC_INDEX:
        return node.add(shapes.ExpandOp, positions, shape=[batch, sequence]).result
    sizes = node.add(movement.ConcatOp, [size_of(node, data, 0), size_of(node, data, 2)], axis=0).result
    return node.add(shapes.ExpandOp, positions, sizes, result_types=[TensorType(i64, [batch, sequence])]).result


# --- Fused activations, and channels last -----------------------------------------------------------------------------
#
# Models saved by ONNX Runtime (`optimized_model_filepath`) contain them: FusedConv and FusedGemm at the optimization
# level *extended* or higher, and channels-last layers at the level *layout* or higher. Based on
# onnxruntime/contrib_ops/cpu/ (fused_activation.cc, fused_gemm.cc) and core/optimizer/nhwc_transformer.cc: the weights
# of a channels-last convolution have the layout of ONNX's Conv.

_ONE_TO_ONE = (
    "Celu", "Elu", "HardSigmoid", "LeakyRelu", "Relu", "Selu", "Sigmoid", "Softplus", "Softsign", "Tanh",
    "ThresholdedRelu",
)  # fmt: skip

_ACTIVATIONS: Mapping[str, tuple[type[NnOp], tuple[str, ...]]] = {
    "Clip": (elementwise.ClipOp, ("minimum", "maximum")),
    "Silu": (activations.SwishOp, ()),
    **{
        row.op_type: (cast(type[NnOp], row.operation), tuple(attribute_names(row.attributes).values()))
        for row in ONE_TO_ONE
        if row.op_type in _ONE_TO_ONE
    },
}
"""Maps the attribute `activation` to an operation and its properties, in the order of `activation_params`."""


def _activated(node: Node, value: SSAValue, parameters: Callable[[Sequence[str]], Mapping[str, Any]]) -> SSAValue:
    """Applies the activation of a layer, if it has one; `parameters` returns its properties, given their names."""
    name = node.attribute("activation", "")
    if not name:
        return value
    if name not in _ACTIVATIONS:
        raise node.unsupported(f"activation must be one of {', '.join(sorted(_ACTIVATIONS))}, but got '{name}'")
    operation, names = _ACTIVATIONS[name]
    return node.add(operation, value, **parameters(names)).results[0]


def channels_first(node: Node, importer: Importer, *positions: int) -> SSAValue:
    """Imports a `node` whose inputs at indices `positions` have channels last, and returns its channels-last result."""

    def moved(value: SSAValue) -> SSAValue:
        rank = len(shape_of(value))
        return node.add(movement.TransposeOp, value, permutation=[0, rank - 1, *range(1, rank - 1)]).result

    inputs = (
        moved(value) if position in positions and value is not None else value
        for position, value in enumerate(node.inputs)
    )
    found = importer(replace(node, inputs=tuple(inputs)))
    result = found if isinstance(found, SSAValue) else found[0]
    assert result is not None
    rank = len(shape_of(result))
    return node.add(movement.TransposeOp, result, permutation=[0, *range(2, rank), 1]).result


def _fused_conv(node: Node) -> SSAValue:
    """Imports FusedConv: `activation(conv(X, W) + B + Z)`."""

    def parameters(names: Sequence[str]) -> Mapping[str, Any]:
        numbers: Sequence[float] = node.attribute("activation_params", None) or []
        if len(numbers) != len(names):
            raise node.error(
                f"activation_params must have {len(names)} numbers for {node.attribute('activation')}, but got "
                f"{len(numbers)}"
            )
        return dict(zip(names, numbers, strict=True))

    found, added = conv(node.part("conv")), node.optional(3)
    if added is not None:
        found = node.part("sum").add(elementwise.AddOp, found, added).result
    return _activated(node, found, parameters)


def _fused_gemm(node: Node) -> SSAValue:
    """Imports FusedGemm: `activation(alpha * A' * B' + beta * C)`; `activation_alpha` is the activation's `alpha`."""
    found = gemm(node.part("gemm"))
    return _activated(node, found, lambda names: {name: node.attribute(f"activation_{name}") for name in names})


_LAYERS: dict[str, Importer] = {
    "Gelu": _gelu,
    "BiasGelu": _gelu,
    "FastGelu": lambda node: _gelu(node, is_tanh=True),
    "QuickGelu": lambda node: node.add(activations.SwishOp, node.input(), alpha=node.attribute("alpha", 1.702)).result,
    "FusedMatMul": _fused_matmul,
    "TransposeMatMul": _fused_matmul,
    "SkipLayerNormalization": _skip_layer_norm,
    "SkipSimplifiedLayerNormalization": _skip_rms_norm,
    "EmbedLayerNormalization": _embed_layer_norm,
    "RotaryEmbedding": _rotary_embedding,
    "FusedConv": _fused_conv,
    "FusedGemm": _fused_gemm,
    "NhwcFusedConv": lambda node: channels_first(node, _fused_conv, 0, 3),
    "NhwcMaxPool": lambda node: channels_first(node, max_pool, 0),
}

IMPORTERS: dict[str, Importer] = {
    "SimplifiedLayerNormalization": _simplified_layer_norm,
    **{f"{MICROSOFT}::{operator}": importer for operator, importer in _LAYERS.items()},
}
