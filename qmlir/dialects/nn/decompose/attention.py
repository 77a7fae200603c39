"""Attention: scaled query and key, their product, cap, bias, softmax, and the weighted sum of the values.

What only selects keys (a Boolean mask, causality, windows) is the mask of the softmax, and no number that is added. A
past is joined with the keys and values after it. Heads that share their keys are an axis of their own, `[batch, heads
of keys, heads that share them, sequence, …]`, from the queries to the result. Attention with lengths stays whole: what
it selects depends on them.
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
from qmlir.dialects.nn.ops.movement import ConcatOp, ReshapeOp, UnsqueezeOp
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
    # A reshape finds one unknown size.
    if query[1] != key[1] and (scores.count(DYNAMIC_INDEX) > 1 or not _has_groups_of_mask(op)):
        return False
    if _selects_by_place(op) and DYNAMIC_INDEX in scores[2:]:
        return False
    # A mask that ends before the keys masks those after its end.
    return op.mask is None or shape_of(op.mask)[-1] == scores[3] != DYNAMIC_INDEX


def _has_groups_of_mask(op: AttentionOp) -> bool:
    """Whether the heads of a mask can be an axis of those that share keys, too."""
    shape = () if op.mask is None else shape_of(op.mask)
    heads = shape[-3] if len(shape) > 2 else 1
    return heads == 1 or (heads != DYNAMIC_INDEX and shape.count(DYNAMIC_INDEX) < 2)


def _grouped(op: AttentionOp, parts: Parts, role: str, value: SSAValue) -> SSAValue:
    """`value` with its heads, the third axis from behind, as `[heads of keys, heads that share them]`."""
    heads, shared = shape_of(op.query)[1], shape_of(op.key)[1]
    shape = shape_of(value)
    if heads == shared or len(shape) < 3:
        return value
    *batch, own, rows, columns = shape
    split = (shared, heads // shared) if own == heads else (own, 1)  # those of keys, or one for all
    if shape.count(DYNAMIC_INDEX) > 1:
        return parts.add(role, build(UnsqueezeOp, [value], {"axes": [len(shape) - 2]})).result
    return parts.add(role, ReshapeOp(value, (*batch, *split, rows, columns))).result


def _ungrouped(op: AttentionOp, parts: Parts, role: str, value: SSAValue) -> SSAValue:
    """`value`, which has one row for each query, with one axis of heads again."""
    *batch, heads, queries, _ = shape_of(op.query)
    if heads == shape_of(op.key)[1]:
        return value
    return parts.add(role, ReshapeOp(value, (*batch, heads, queries, shape_of(value)[-1]))).result


def _keep(op: AttentionOp, parts: Parts, mask: SSAValue | None) -> SSAValue | None:
    """The keys that each query sees (i1); `None` where it sees all. The sizes are known where places select."""
    mask = mask if mask is not None and element_of(mask) == i1 else None
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


def _bias(mask: SSAValue | None) -> SSAValue | None:
    """The numbers that are added to the scores; `None` where there are none."""
    return None if mask is None or element_of(mask) == i1 else mask


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
    query = _grouped(op, parts, "query_heads", parts.add("query_scaled", MulOp(op.query, factor)).result)
    keys = _behind(parts, "keys", op.past_key, op.key)
    values = _behind(parts, "values", op.past_value, op.value)
    key = _grouped(op, parts, "key_heads", parts.add("key_scaled", MulOp(keys, factor)).result)
    raw = parts.add("query_key_matmul", MatMulOp(query, key, True)).result
    capped = _capped(op, parts, raw)
    mask = None if op.mask is None else _grouped(op, parts, "mask_heads", op.mask)
    bias, keep = _bias(mask), _keep(op, parts, mask)
    added = capped if bias is None else parts.add("bias_add", AddOp(capped, bias)).result
    biased = _biased(op, parts, added, keep)
    weights = _weights(op, parts, added, bias, keep)
    by_head = _grouped(op, parts, "value_heads", values)
    result = parts.add("value_matmul", MatMulOp(weights, by_head)).result
    scores = {"raw": raw, "capped": capped, "biased": biased, "softmax": weights}[op.scores_are.data]
    return [
        _ungrouped(op, parts, "result_heads", result), keys, values, _ungrouped(op, parts, "scores_heads", scores)
    ]  # fmt: skip


COMPOSITES: dict[type[Operation], Decompose] = {AttentionOp: _attention}
