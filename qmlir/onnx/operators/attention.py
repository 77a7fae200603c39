"""Importers of attention and rotary embedding: heads that lie side by side become an axis of their own."""

from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, i1, i64
from xdsl.ir import SSAValue

from qmlir.dialects.nn.ops import attention as ops
from qmlir.dialects.nn.ops.movement import ReshapeOp, TransposeOp
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.onnx.node import Importer, Node
from qmlir.onnx.operators.normalization import cast

_HEADS_FIRST = (0, 2, 1, 3)
"""From `[batch, sequence, heads, head size]` to `[batch, heads, sequence, head size]`, and back."""


def _reshaped(node: Node, value: SSAValue, target: list[int], shape: list[int]) -> SSAValue:
    """`value` reshaped to `target`, as ONNX understands it, whose sizes are `shape` as far as they are known."""
    numbers = None
    if shape.count(DYNAMIC_INDEX) > 1:
        numbers = node.add_constant(np.array(target, np.int64), i64)
    return node.add(ReshapeOp, value, numbers, result_types=[TensorType(element_of(value), shape)]).result


def _split_heads(node: Node, value: SSAValue, heads: int | None) -> SSAValue:
    """`[batch, sequence, heads * head size]` as `[batch, heads, sequence, head size]`."""
    if not heads or heads < 0:
        raise node.error(f"needs the number of heads of {value.type}")
    batch, sequence, width = shape_of(value)
    if width != DYNAMIC_INDEX and width % heads:
        raise node.error(f"takes {heads} heads of one size, found {value.type}")
    size = DYNAMIC_INDEX if width == DYNAMIC_INDEX else width // heads
    split = _reshaped(node, value, [0, 0, heads, -1], [batch, sequence, heads, size])
    return node.add(TransposeOp, split, permutation=_HEADS_FIRST).result


def _joined_heads(node: Node, value: SSAValue) -> SSAValue:
    """The other way round."""
    batch, heads, sequence, size = shape_of(value)
    width = DYNAMIC_INDEX if DYNAMIC_INDEX in (heads, size) else heads * size
    moved = node.add(TransposeOp, value, permutation=_HEADS_FIRST).result
    return _reshaped(node, moved, [0, 0, -1], [batch, sequence, width])


def _mask(node: Node, query: SSAValue) -> SSAValue | None:
    """The mask, i1 or in the type of the query: ONNX adds numbers of any type."""
    mask = node.optional(3)
    return mask if mask is None or element_of(mask) == i1 else cast(node, mask, element_of(query))


def _attention(node: Node) -> list[SSAValue]:
    query, key, value = (node.input(place) for place in range(3))
    ranks = {len(shape_of(each)) for each in (query, key, value)}
    if ranks == {3}:
        heads, shared = node.attribute("q_num_heads"), node.attribute("kv_num_heads")
        query = _split_heads(node, query, heads)
        key, value = _split_heads(node, key, shared), _split_heads(node, value, shared)
    precision = node.attribute("softmax_precision")
    mode = node.attribute("qk_matmul_output_mode")
    if mode not in range(len(ops.SCORES)):
        raise node.error(f"qk_matmul_output_mode is {mode}, accepted are 0 to {len(ops.SCORES) - 1}")
    properties: dict[str, Any] = {
        "scale": node.attribute("scale"),
        "is_causal": bool(node.attribute("is_causal")),
        "softcap": node.attribute("softcap"),
        "softmax_precision": None if precision is None else node.element_type(precision),
        "scores_are": ops.SCORES[mode],
    }
    properties |= {
        f"{side}_window": node.attribute(f"{side}_window_size") for side in ("left", "right") if node.version >= 25
    }
    operands = [query, key, value, _mask(node, query), *(node.optional(place) for place in (4, 5, 6))]
    op = node.add(ops.AttentionOp, *operands, **properties)
    result = _joined_heads(node, op.result) if ranks == {3} else op.result
    return [result, op.present_key, op.present_value, op.scores]


def _rotary_embedding(node: Node) -> SSAValue:
    data = node.input()
    is_flat = len(node.shape()) == 3
    if is_flat:
        data = _split_heads(node, data, node.attribute("num_heads"))
    result = node.add(
        ops.RotaryEmbeddingOp,
        data,
        node.input(1),
        node.input(2),
        node.optional(3),
        size=node.attribute("rotary_embedding_dim"),
        interleaved=bool(node.attribute("interleaved")),
    ).result
    return _joined_heads(node, result) if is_flat else result


IMPORTERS: dict[str, Importer] = {"Attention": _attention, "RotaryEmbedding": _rotary_embedding}
