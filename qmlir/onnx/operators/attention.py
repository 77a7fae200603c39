"""Import and export of attention, its KV cache and rotary embedding. The importers move heads to a separate axis."""

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, i1, i64
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.attention import ops
from qmlir.dialects.nn.elementwise.ops import AddOp, ModOp
from qmlir.dialects.nn.indexing.ops import ScatterElementsOp
from qmlir.dialects.nn.movement.ops import ReshapeOp, TransposeOp, UnsqueezeOp, normalized_axis, regrouped_size
from qmlir.formats.one_to_one import attributes_of
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.onnx.export.emission import Exporter, NodeEmitter, data_type
from qmlir.onnx.node import Importer, Node
from qmlir.onnx.operators.shapes import expanded_as, position_indices, size_of

ATTENTION_SINCE, LENGTHS_SINCE, WINDOWS_SINCE = 23, 24, 25

_PLAIN, _WINDOWS = "scale is_causal softcap", "left_window_size=left_window right_window_size=right_window"
"""The attributes of Attention that become properties, and those added in version 25."""

_HEADS_FIRST = (0, 2, 1, 3)
"""The permutation from `[batch, sequence, heads, head size]` to `[batch, heads, sequence, head size]`, and back."""


def _reshaped(node: Node, value: SSAValue, target: list[int], shape: list[int]) -> SSAValue:
    """`value` reshaped to `target`, as ONNX Reshape reads it; `shape` are its sizes as far as they are known."""
    is_open = shape.count(DYNAMIC_INDEX) > 1
    return node.reshaped(value, shape, node.add_constant(np.array(target, np.int64), i64) if is_open else None)


def split_heads(node: Node, value: SSAValue, heads: int | None) -> SSAValue:
    """Reshapes `[batch, sequence, heads * head size]` to `[batch, heads, sequence, head size]`."""
    if not heads or heads < 0:
        raise node.error(f"requires the number of heads of {value.type}")
    batch, sequence, width = shape_of(value)
    if width != DYNAMIC_INDEX and width % heads:
        raise node.error(f"expected {heads} heads of one size, but got {value.type}")
    size = regrouped_size(width, heads)
    split = _reshaped(node, value, [0, 0, heads, -1], [batch, sequence, heads, size])
    return node.add(TransposeOp, split, permutation=_HEADS_FIRST).result


def joined_heads(node: Node, value: SSAValue) -> SSAValue:
    """Reshapes `[batch, heads, sequence, head size]` to `[batch, sequence, heads * head size]`."""
    batch, heads, sequence, size = shape_of(value)
    width = DYNAMIC_INDEX if DYNAMIC_INDEX in (heads, size) else heads * size
    moved = node.add(TransposeOp, value, permutation=_HEADS_FIRST).result
    return _reshaped(node, moved, [0, 0, -1], [batch, sequence, width])


def _mask(node: Node, query: SSAValue) -> SSAValue | None:
    """The mask, i1 or in the type of the query: ONNX adds numbers of any type."""
    mask = node.optional(3)
    return mask if mask is None or element_of(mask) == i1 else node.cast(mask, element_of(query))


def _attention(node: Node) -> list[SSAValue]:
    query, key, value = (node.input(position) for position in range(3))
    ranks = {len(shape_of(each)) for each in (query, key, value)}
    if ranks == {3}:
        heads, shared = node.attribute("q_num_heads"), node.attribute("kv_num_heads")
        query = split_heads(node, query, heads)
        key, value = split_heads(node, key, shared), split_heads(node, value, shared)
    precision = node.attribute("softmax_precision")
    mode = node.attribute("qk_matmul_output_mode")
    if mode not in range(len(ops.SCORES)):
        raise node.error(f"qk_matmul_output_mode must be in [0, {len(ops.SCORES) - 1}], but got {mode}")
    op = node.add(
        ops.AttentionOp,
        *(query, key, value, _mask(node, query), *(node.optional(position) for position in (4, 5, 6))),
        attributes=f"{_PLAIN} {_WINDOWS}" if node.version >= WINDOWS_SINCE else _PLAIN,
        softmax_precision=None if precision is None else node.element_type(precision),
        scores_are=ops.SCORES[mode],
    )
    result = joined_heads(node, op.result) if ranks == {3} else op.result
    return [result, op.present_key, op.present_value, op.scores]


def _rotary_embedding(node: Node) -> SSAValue:
    data, *others = node.input(), node.input(1), node.input(2), node.optional(3)
    is_flat = len(node.shape()) == 3
    if is_flat:
        data = split_heads(node, data, node.attribute("num_heads"))
    result = node.add(ops.RotaryEmbeddingOp, data, *others, attributes="rotary_embedding_dim=size interleaved").result
    return joined_heads(node, result) if is_flat else result


def _tensor_scatter(node: Node) -> SSAValue:
    """The cache with the updates of each sequence from its own place on, one after the other along `axis`."""
    cache, updates, start = node.input(), node.input(1), node.optional(2)
    rank = len(shape_of(cache))
    axis = normalized_axis(node.attribute("axis"), rank)
    index = position_indices(node, updates, axis)
    index = node.add(UnsqueezeOp, index, axes=[each for each in range(rank) if each != axis]).result
    if start is not None:
        start = node.add(UnsqueezeOp, start, axes=list(range(1, rank))).result
        index = node.add(AddOp, start, index).result
    if node.attribute("mode") == "circular":
        count = node.add(ReshapeOp, size_of(node, cache, axis), result_types=[TensorType(i64, ())]).result
        index = node.add(ModOp, index, count).result
    indices = expanded_as(node, index, updates)
    return node.add(ScatterElementsOp, cache, indices, updates, axis=axis).result


def _export_attention(out: NodeEmitter, op: ops.AttentionOp) -> None:
    out.needs(ATTENTION_SINCE, "Attention")
    given = attributes_of(op, _WINDOWS)
    windows = {name: window for name, window in given.items() if window != -1}
    if windows:
        out.needs(WINDOWS_SINCE, "Attention with windows")
    if op.lengths is not None:
        out.needs(LENGTHS_SINCE, "Attention with lengths")
    operands = [op.query, op.key, op.value, op.mask, op.past_key, op.past_value, op.lengths]
    precision = None if op.softmax_precision is None else data_type(op.softmax_precision)
    out.node(
        "Attention", [out.name(value) for value in operands], out.outputs,
        softmax_precision=precision, qk_matmul_output_mode=ops.SCORES.index(op.scores_are.data), **windows,
        **attributes_of(op, _PLAIN),
    )  # fmt: skip


IMPORTERS: dict[str, Importer] = {
    "Attention": _attention,
    "RotaryEmbedding": _rotary_embedding,
    "TensorScatter": _tensor_scatter,
}
EXPORTERS: dict[type[Operation], Exporter] = {ops.AttentionOp: _export_attention}
