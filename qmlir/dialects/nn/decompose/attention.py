"""Attention: scaled query and key, their product, cap, bias, softmax, and the weighted sum of the values.

What only selects keys (a Boolean mask, causality, windows) is the mask of the softmax, and no number that is added. A
past is joined with the keys and values after it. The queries of heads that share their keys are rows of one product.
Attention with lengths stays whole: what it selects depends on them.
"""

import math

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, i1
from xdsl.ir import Attribute, Operation, SSAValue

from qmlir.dialects.nn.base import plain_type
from qmlir.dialects.nn.building import build
from qmlir.dialects.nn.decompose.operands import Decompose, Results, cast, scalar
from qmlir.dialects.nn.ops.activations import TanhOp
from qmlir.dialects.nn.ops.attention import AttentionOp
from qmlir.dialects.nn.ops.constant import ConstantOp
from qmlir.dialects.nn.ops.contraction import MatMulOp
from qmlir.dialects.nn.ops.elementwise import AddOp, DivOp, EqualOp, MulOp, WhereOp
from qmlir.dialects.nn.ops.logic import AndOp
from qmlir.dialects.nn.ops.movement import ConcatOp, ReshapeOp
from qmlir.dialects.nn.ops.reduction import ReduceMaxOp
from qmlir.dialects.nn.ops.softmax import SoftmaxOp
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.decomposition import Parts


def _selects_by_place(op: AttentionOp) -> bool:
    windows = op.left_window.value.data, op.right_window.value.data
    return bool(op.is_causal.value.data) or max(windows) >= 0


def _has_parts(op: AttentionOp) -> bool:
    """Whether the attention is one that has parts here."""
    query, key, scores = (shape_of(value) for value in (op.query, op.key, op.scores))
    if op.lengths is not None or DYNAMIC_INDEX in (query[1], key[1], query[3]):
        return False
    # A reshape finds one unknown size; the rows of a product are those of several heads.
    if query[1] != key[1] and (query[2] == DYNAMIC_INDEX or scores.count(DYNAMIC_INDEX) > 1):
        return False
    if _selects_by_place(op) and DYNAMIC_INDEX in scores[2:]:
        return False
    # A mask that ends before the keys masks those after its end.
    return op.mask is None or shape_of(op.mask)[-1] == scores[3] != DYNAMIC_INDEX


def _keep(op: AttentionOp, parts: Parts) -> SSAValue | None:
    """The keys that each query sees (i1); `None` where it sees all. The sizes are known where places select."""
    mask = op.mask if op.mask is not None and element_of(op.mask) == i1 else None
    if not _selects_by_place(op):
        return mask
    queries, keys = shape_of(op.scores)[2:]
    past = 0 if op.past_key is None else keys - shape_of(op.key)[2]
    distance = np.arange(keys) - np.arange(queries)[:, None] - past
    seen = np.ones(distance.shape, np.bool_)
    left, right = op.left_window.value.data, op.right_window.value.data
    for is_bounded, inside in (
        (op.is_causal.value.data, distance <= 0), (right >= 0, distance <= right), (left >= 0, distance >= -left)
    ):  # fmt: skip
        seen &= inside | (not is_bounded)
    causal = parts.add("causal", ConstantOp.of(seen.astype(np.int8), TensorType(i1, seen.shape))).result
    return causal if mask is None else parts.add("keep", AndOp(causal, mask)).result


def _behind(parts: Parts, role: str, past: SSAValue | None, new: SSAValue) -> SSAValue:
    return new if past is None else parts.add(role, ConcatOp([past, new], 2)).result


def _product(op: AttentionOp, parts: Parts, role: str, value: SSAValue, by_head: SSAValue, columns: int) -> SSAValue:
    """`value` times what each head has, transposed for keys; heads that share it are rows of one product."""
    heads, shared = shape_of(op.query)[1], shape_of(op.key)[1]
    is_keys = role == "query_key_matmul"
    if heads == shared:
        return parts.add(role, MatMulOp(value, by_head, is_keys)).result
    batch, _, queries, width = shape_of(value)
    rows = ReshapeOp(value, (batch, shared, heads // max(shared, 1) * queries, width))
    product = parts.add(role, MatMulOp(parts.add(f"{role}_rows", rows).result, by_head, is_keys)).result
    return parts.add(f"{role}_heads", ReshapeOp(product, (batch, heads, queries, columns))).result


def _bias(op: AttentionOp) -> SSAValue | None:
    """The numbers that are added to the scores; `None` where there are none."""
    return None if op.mask is None or element_of(op.mask) == i1 else op.mask


def _never(op: AttentionOp, parts: Parts) -> SSAValue:
    return scalar(parts, "masked", -math.inf, op.query)


def _biased(op: AttentionOp, parts: Parts, scores: SSAValue, keep: SSAValue | None) -> SSAValue:
    """The scores as ONNX has them after its mask: minus infinity where a key is masked."""
    if keep is None or op.scores_are.data != "biased":
        return scores
    nothing, never = scalar(parts, "zero", 0.0, op.query), _never(op, parts)
    return parts.add(
        "masked_scores", AddOp(scores, parts.add("mask", build(WhereOp, [keep, nothing, never])).result)
    ).result


def _capped(op: AttentionOp, parts: Parts, scores: SSAValue) -> SSAValue:
    """`cap * tanh(x / cap)`."""
    if not op.softcap.value.data:
        return scores
    cap = scalar(parts, "cap", op.softcap.value.data, op.query)
    curve = parts.add("cap_tanh", TanhOp(parts.add("cap_div", DivOp(scores, cap)).result)).result
    return parts.add("cap_mul", MulOp(curve, cap)).result


def _weights(op: AttentionOp, parts: Parts, scores: SSAValue, bias: SSAValue | None, keep: SSAValue | None) -> SSAValue:
    """The softmax of the scores of the keys in `keep`, 0 for a query whose keys are all masked."""
    element: Attribute = plain_type(element_of(op.query))
    staged = scores if op.softmax_precision is None else cast(parts, "stage", scores, op.softmax_precision)
    probabilities = parts.add("softmax", build(SoftmaxOp, [staged, keep])).result
    probabilities = cast(parts, "rounded", probabilities, element)
    if bias is None:
        return probabilities
    never = _never(op, parts)
    seen = bias if keep is None else parts.add("seen_bias", build(WhereOp, [keep, bias, never])).result
    largest = parts.add("largest_bias", ReduceMaxOp(seen, [len(shape_of(seen)) - 1])).result
    blind = parts.add("is_masked", EqualOp(largest, never)).result
    return parts.add(
        "weights", build(WhereOp, [blind, scalar(parts, "no_weight", 0.0, op.query), probabilities])
    ).result


def _attention(op: AttentionOp, parts: Parts) -> Results:
    """`softmax(cap(q k^T) + bias) v`, query and key both multiplied by the root of the scale."""
    if not _has_parts(op):
        return None
    size = shape_of(op.query)[3]
    scale = 1 / math.sqrt(size or 1) if op.scale is None else op.scale.value.data
    if scale < 0:
        return None
    factor = scalar(parts, "scale", math.sqrt(scale), op.query)
    query = parts.add("query_scaled", MulOp(op.query, factor)).result
    keys = _behind(parts, "keys", op.past_key, op.key)
    values = _behind(parts, "values", op.past_value, op.value)
    key = parts.add("key_scaled", MulOp(keys, factor)).result
    raw = _product(op, parts, "query_key_matmul", query, key, shape_of(op.scores)[3])
    capped = _capped(op, parts, raw)
    bias, keep = _bias(op), _keep(op, parts)
    added = capped if bias is None else parts.add("bias_add", AddOp(capped, bias)).result
    biased = _biased(op, parts, added, keep)
    weights = _weights(op, parts, added, bias, keep)
    result = _product(op, parts, "value_matmul", weights, values, shape_of(op.value)[3])
    scores = {"raw": raw, "capped": capped, "biased": biased, "softmax": weights}[op.scores_are.data]
    return [result, keys, values, scores]


COMPOSITES: dict[type[Operation], Decompose] = {AttentionOp: _attention}
