"""Attention: scaled query and key, their product, cap, bias, softmax, and the weighted sum of the values.

What only selects keys (a Boolean mask, causality) is the mask of the softmax, and no number that is added. Attention
over a past, with windows, with lengths, or with heads that share their keys stays whole.
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
from qmlir.dialects.nn.ops.reduction import ReduceMaxOp
from qmlir.dialects.nn.ops.softmax import SoftmaxOp
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.decomposition import Parts


def _is_plain(op: AttentionOp) -> bool:
    """Whether the attention is one that has parts here."""
    query, key = shape_of(op.query), shape_of(op.key)
    has_windows = op.left_window.value.data >= 0 or op.right_window.value.data >= 0
    if op.past_key is not None or op.lengths is not None or has_windows:
        return False
    if DYNAMIC_INDEX in (query[1], key[1], query[3]) or query[1] != key[1]:
        return False
    if op.is_causal.value.data and DYNAMIC_INDEX in (query[2], key[2]):
        return False
    # A mask that ends before the keys masks those after its end.
    return op.mask is None or shape_of(op.mask)[-1] == key[2] != DYNAMIC_INDEX


def _keep(op: AttentionOp, parts: Parts) -> SSAValue | None:
    """The keys that each query sees (i1); `None` where it sees all. The sizes are known where it is causal."""
    mask = op.mask if op.mask is not None and element_of(op.mask) == i1 else None
    if not op.is_causal.value.data:
        return mask
    queries, keys = shape_of(op.query)[2], shape_of(op.key)[2]
    before = (np.arange(keys) <= np.arange(queries)[:, None]).astype(np.int8)
    causal = parts.add("causal", ConstantOp.of(before, TensorType(i1, before.shape))).result
    return causal if mask is None else parts.add("keep", AndOp(causal, mask)).result


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
    if not _is_plain(op):
        return None
    size = shape_of(op.query)[3]
    scale = 1 / math.sqrt(size or 1) if op.scale is None else op.scale.value.data
    if scale < 0:
        return None
    factor = scalar(parts, "scale", math.sqrt(scale), op.query)
    query = parts.add("query_scaled", MulOp(op.query, factor)).result
    key = parts.add("key_scaled", MulOp(op.key, factor)).result
    raw = parts.add("query_key_matmul", MatMulOp(query, key, True)).result
    capped = _capped(op, parts, raw)
    bias, keep = _bias(op), _keep(op, parts)
    added = capped if bias is None else parts.add("bias_add", AddOp(capped, bias)).result
    biased = _biased(op, parts, added, keep)
    weights = _weights(op, parts, added, bias, keep)
    result = parts.add("value_matmul", MatMulOp(weights, op.value)).result
    scores = {"raw": raw, "capped": capped, "biased": biased, "softmax": weights}[op.scores_are.data]
    return [result, op.key, op.value, scores]


COMPOSITES: dict[type[Operation], Decompose] = {AttentionOp: _attention}
