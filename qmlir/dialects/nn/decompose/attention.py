"""Attention: scaled query and key, their product, cap, bias, softmax, and the weighted sum of the values.

Attention over a past, with windows, with lengths, or with heads that share their keys stays whole.
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
from qmlir.dialects.nn.ops.reduction import ReduceMaxOp
from qmlir.dialects.nn.ops.softmax import SoftmaxOp
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.decomposition import Parts
from qmlir.text.elements import dense_dtype


def _is_plain(op: AttentionOp) -> bool:
    """Whether the attention is one that has parts here."""
    query, key = shape_of(op.query), shape_of(op.key)
    has_windows = op.left_window.value.data >= 0 or op.right_window.value.data >= 0
    if op.past_key is not None or op.lengths is not None or has_windows:
        return False
    if DYNAMIC_INDEX in (query[1], key[1], query[3]) or query[1] != key[1]:
        return False
    # A mask that ends before the keys masks those after its end.
    return op.mask is None or shape_of(op.mask)[-1] == key[2] != DYNAMIC_INDEX


def _causal(op: AttentionOp, parts: Parts) -> SSAValue | None:
    """Minus infinity for the keys after each query; `None` where a size is not known."""
    queries, keys = shape_of(op.query)[2], shape_of(op.key)[2]
    element: Attribute = plain_type(element_of(op.query))
    dtype = dense_dtype(element)
    if DYNAMIC_INDEX in (queries, keys) or dtype is None:
        return None
    bias = np.where(np.arange(keys) > np.arange(queries)[:, None], -np.inf, 0.0).astype(dtype)
    return parts.add("causal_bias", ConstantOp.of(bias, TensorType(element, bias.shape))).result


def _mask(op: AttentionOp, mask: SSAValue, parts: Parts) -> SSAValue:
    """The bias that a mask stands for."""
    if element_of(mask) != i1:
        return mask
    nothing, never = scalar(parts, "zero", 0.0, op.query), scalar(parts, "masked", -math.inf, op.query)
    return parts.add("mask_bias", build(WhereOp, [mask, nothing, never])).result


def _bias(op: AttentionOp, parts: Parts) -> SSAValue | None:
    """What is added to the scores; `None` where nothing is."""
    causal = _causal(op, parts) if op.is_causal.value.data else None
    if op.mask is None:
        return causal
    mask = _mask(op, op.mask, parts)
    return mask if causal is None else parts.add("bias", AddOp(causal, mask)).result


def _capped(op: AttentionOp, parts: Parts, scores: SSAValue) -> SSAValue:
    """`cap * tanh(x / cap)`."""
    if not op.softcap.value.data:
        return scores
    cap = scalar(parts, "cap", op.softcap.value.data, op.query)
    curve = parts.add("cap_tanh", TanhOp(parts.add("cap_div", DivOp(scores, cap)).result)).result
    return parts.add("cap_mul", MulOp(curve, cap)).result


def _weights(op: AttentionOp, parts: Parts, scores: SSAValue, bias: SSAValue | None) -> SSAValue:
    """The softmax of the scores, 0 for a query whose keys are all masked."""
    element: Attribute = plain_type(element_of(op.query))
    staged = scores if op.softmax_precision is None else cast(parts, "stage", scores, op.softmax_precision)
    probabilities = parts.add("softmax", build(SoftmaxOp, [staged])).result
    probabilities = cast(parts, "rounded", probabilities, element)
    if op.mask is None or bias is None:  # causality alone leaves every query a key
        return probabilities
    largest = parts.add("largest_bias", ReduceMaxOp(bias, [len(shape_of(bias)) - 1])).result
    never = scalar(parts, "all_masked", -math.inf, op.query)
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
    bias = _bias(op, parts)
    if bias is None and op.is_causal.value.data:
        return None
    biased = capped if bias is None else parts.add("bias_add", AddOp(capped, bias)).result
    weights = _weights(op, parts, biased, bias)
    result = parts.add("value_matmul", MatMulOp(weights, op.value)).result
    scores = {"raw": raw, "capped": capped, "biased": biased, "softmax": weights}[op.scores_are.data]
    return [result, op.key, op.value, scores]


COMPOSITES: dict[type[Operation], Decompose] = {AttentionOp: _attention}
